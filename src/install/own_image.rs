//! Images of the user's own: another's memory after one more warm-up. Nothing is compiled, and nothing fetched.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::{InstallError, Installer, Known, State, Step, image};
use crate::Limits;
use crate::runtime::record::{DriverRecord, Record, Thoroughness};
use crate::runtime::{CatalogError, digest, find, is_plain_name};
use crate::sandbox::{InputFile, WarmUp};

/// An image to make from another.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OwnImage {
    /// Its name: lower-case letters, digits and `-`.
    pub name: String,
    /// The image it starts from, which is installed.
    pub from: String,
    /// The text to run on it, in the runtime's language. What that leaves in memory is there in every call.
    pub warm_up: String,
    /// Files in the working directory of the warm-up, and of no call.
    pub files: Vec<InputFile>,
    /// When the warm-up is stopped. Default: 60 s.
    pub timeout: Duration,
}

impl OwnImage {
    /// An image of this name, from another after this warm-up.
    pub fn new(name: impl Into<String>, from: impl Into<String>, warm_up: impl Into<String>) -> OwnImage {
        OwnImage {
            name: name.into(),
            from: from.into(),
            warm_up: warm_up.into(),
            files: Vec::new(),
            timeout: Duration::from_secs(60),
        }
    }

    fn problem(&self, problem: impl Into<String>) -> InstallError {
        InstallError::WarmUp { image: self.name.clone(), problem: problem.into() }
    }

    fn limits(&self) -> Limits {
        Limits { timeout: Some(self.timeout), fuel: None, memory_bytes: 2 << 30, ..Limits::default() }
    }

    /// What decides what becomes of it.
    fn digest(&self, from: &str) -> String {
        let files = self
            .files
            .iter()
            .flat_map(|file| [digest::of_bytes(file.path.as_bytes()), digest::of_bytes(&file.content)]);
        let parts = [from.to_owned(), digest::of_bytes(self.warm_up.as_bytes())].into_iter().chain(files);
        digest::of_bytes(parts.collect::<Vec<_>>().join("\n").as_bytes())
    }
}

impl Installer {
    /// Makes an image of the user's own, in about the time that its warm-up takes, without awaiting. One of the same
    /// name is replaced. After an error nothing has changed.
    ///
    /// The image stays as it is when the one it was made from is installed anew, and is outdated with a new version of
    /// the engine.
    pub fn build_image(&self, own: &OwnImage, progress: &mut dyn FnMut(Step)) -> Result<(), InstallError> {
        if !is_plain_name(&own.name) {
            return Err(own.problem("its name is not one of lower-case letters, digits and `-`, 64 at most"));
        }
        if self.descends_from(&own.from, &own.name) {
            return Err(own.problem(format!("`{}` is the image itself, or was made from it", own.from)));
        }
        let by = match self.known(&own.name) {
            Ok(Known::Recipe(recipe)) => Some(recipe.manifest.name.clone()),
            Ok(Known::Record(record)) => record.made_from.is_none().then_some(record.name),
            Err(_) => None,
        };
        if let Some(by) = by {
            return Err(CatalogError::Taken { value: own.name.clone(), by }.into());
        }
        let lock = self.home.lock(&own.name, || progress(Step::Waiting))?;
        let base = self.base(own)?;
        let partial = self.partial(&own.name, &lock)?;
        progress(Step::Warm { image: own.name.clone() });

        let from = &base.images[&own.from];
        let globals: Vec<String> = from.globals.iter().map(|global| global.export.clone()).collect();
        let limits = own.limits();
        let maker = image::Maker { home: &self.home, partial: partial.path(), limits: &limits, globals: &globals };
        // A text that begins with a brace would be taken for a call's.
        let shift = if own.warm_up.starts_with('{') { "\n" } else { "" };
        let texts = [format!("{shift}{}", own.warm_up)];
        let image = maker.run(&base, &own.name, from, &WarmUp::again(&texts, &own.files))?;

        let mut record = base.clone();
        record.name = own.name.clone();
        record.made_from = Some(own.from.clone());
        record.recipe = own.digest(&from.memory.sha256);
        record.folder = self.link_folder(own, &base, partial.path())?;
        record.images = BTreeMap::from([(own.name.clone(), image)]);
        record.write(&self.home).map_err(self.io(&self.home.record(&own.name)))?;
        self.remove_other_folders(&own.name, &record.folder);
        self.sweep_unused(&lock);
        Ok(())
    }

    /// The record of the image that `own` starts from, which must be as it was installed.
    fn base(&self, own: &OwnImage) -> Result<Record, InstallError> {
        // An unknown name is said as one, not as an image that is missing.
        self.known(&own.from)?;
        let record = find(&self.home, &own.from).map_err(|error| own.problem(error.to_string()))?;
        let Some(record) = record else {
            let from = &own.from;
            return Err(own.problem(format!("`{from}` is not installed: run `ampoule runtime install {from}`")));
        };
        match self.check(&record, Thoroughness::Quick)? {
            State::Ready if record.driver == DriverRecord::Turn => Ok(record),
            State::Ready => Err(own.problem(format!("`{}` is a WASI command, which has no warm-up", own.from))),
            State::Damaged(error) => Err(own.problem(error.to_string())),
            _ => Err(own.problem(format!("`{0}` is outdated: run `ampoule runtime install {0}`", own.from))),
        }
    }

    /// The base's own files in a folder of the image's, so that a new install of the base takes nothing away from it.
    fn link_folder(&self, own: &OwnImage, base: &Record, partial: &Path) -> Result<String, InstallError> {
        let copy = partial.join("files");
        link_all(&base.folder(&self.home), &copy).map_err(self.io(&copy))?;
        self.place_folder(&own.name, &copy, &own.digest(&base.recipe))
    }
}

/// The files and folders below `from` under `to`: links to the same files where the system can, else copies.
fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            link_all(&entry.path(), &place)?;
        } else if fs::hard_link(entry.path(), &place).is_err() {
            fs::copy(entry.path(), &place)?;
        }
    }
    Ok(())
}

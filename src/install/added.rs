//! Runtimes that users describe themselves: their manifests and files are copied into the home, so that what is added
//! does not change with the folder that it came from.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use super::{From, InstallError, Installer, Step, ignore_missing};
use crate::runtime::{Catalog, CatalogError, Recipe};

impl Installer {
    /// Adds the runtime whose `runtime.toml` is at `path`, or in the folder there, to the home's catalog, and installs
    /// it. Returns its name. After an error it is not there.
    pub fn add(&mut self, path: &Path, progress: &mut dyn FnMut(Step)) -> Result<String, InstallError> {
        let folder = match path.file_name() {
            Some(name) if name == OsStr::new("runtime.toml") => path.parent().unwrap_or(Path::new("")),
            _ => path,
        };
        let recipe = Recipe::from_folder(folder)?;
        let name = recipe.manifest.name.clone();
        // Before anything is written: a name that is taken, a file that is missing.
        self.catalog.clone().with(recipe.clone())?;
        recipe.digest()?;

        let lock = self.home.lock(&name, || progress(Step::Waiting))?;
        let partial = self.partial(&name, &lock)?;
        let copy = partial.path().join("recipe");
        copy_recipe(&recipe, folder, &copy)?;
        let place = self.home.added().join(&name);
        // What a process that was killed in the middle left has no place in the catalog that was asked above.
        ignore_missing(fs::remove_dir_all(&place)).map_err(self.io(&place))?;
        fs::rename(&copy, &place).map_err(self.io(&place))?;
        drop(lock);

        let before = std::mem::replace(&mut self.catalog, Catalog::of(&self.home));
        let installed = self.install(&name, &From::Manifest, progress);
        if installed.is_err() {
            self.catalog = before;
            ignore_missing(fs::remove_dir_all(&place)).map_err(self.io(&place))?;
        }
        installed.map(|()| name)
    }

    /// Takes a runtime out of the home's catalog. Returns whether it was one that the user had added.
    pub(super) fn forget(&mut self, name: &str) -> Result<bool, InstallError> {
        let place = self.home.added().join(name);
        if !place.exists() {
            return Ok(false);
        }
        fs::remove_dir_all(&place).map_err(self.io(&place))?;
        self.catalog = Catalog::of(&self.home);
        Ok(true)
    }
}

/// Copies the manifest and every file that an install of it reads.
fn copy_recipe(recipe: &Recipe, from: &Path, to: &Path) -> Result<(), InstallError> {
    for file in recipe.manifest.files_beside().iter().map(String::as_str).chain(["runtime.toml"]) {
        let (source, target) = (from.join(file), to.join(file));
        let copied = target.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| copy_file(&source, &target));
        copied.map_err(|error| CatalogError::File { path: source, error })?;
    }
    Ok(())
}

/// Copies a file and nothing else: reading a device or a pipe might not end.
fn copy_file(source: &Path, target: &Path) -> io::Result<()> {
    if !fs::metadata(source)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    fs::copy(source, target).map(drop)
}

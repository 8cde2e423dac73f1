//! One install, step by step.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Compiler, From, InstallError, Installer, Step, archive, fetch, image};
use crate::Limits;
use crate::runtime::graft::graft;
use crate::runtime::record::{FileRecord, Record, Thoroughness, write_atomically};
use crate::runtime::split::{Split, split};
use crate::runtime::{Beside, Manifest, Recipe, Source, digest, engine};

/// One install.
pub(super) struct Install<'a> {
    pub installer: &'a Installer,
    pub recipe: &'a Recipe,
    /// What compiles the module.
    pub compiler: &'a Compiler,
    /// What making the images may use.
    pub limits: Limits,
    /// A folder for what is not finished, removed with the install.
    pub partial: &'a Path,
    pub progress: &'a mut dyn FnMut(Step),
}

impl Install<'_> {
    pub fn run(&mut self, from: &From) -> Result<(), InstallError> {
        let home = &self.installer.home;
        let manifest = &self.recipe.manifest;
        let source = self.source(from)?;
        (self.progress)(Step::Extract);
        let module = self.grafted(source.read(&manifest.module)?)?;
        let folder = self.extract(&source)?;

        let refused = |error| InstallError::Module { module: manifest.module.clone(), error };
        let split = split(&module, &manifest.exports).map_err(refused)?;
        drop(module);
        let engine = engine::compiler().map_err(|error| self.installer.engine_error(self.recipe, error))?;
        let fingerprint = engine::fingerprint(&engine);
        let code = self.compile(&fingerprint, &split)?;

        let folder = self.installer.place_folder(&manifest.name, &folder, &self.recipe.digest()?)?;
        let mut record = Record::new(manifest, self.recipe.digest()?, fingerprint, folder, code, BTreeMap::new());
        let earlier = Record::read(home, &manifest.name).ok().flatten();
        let written = self
            .images(&split, &mut record)
            .and_then(|()| record.write(home).map_err(self.installer.io(&home.record(&manifest.name))));
        if let Err(error) = written {
            self.undo(&record, earlier.as_ref());
            return Err(error);
        }
        self.installer.remove_other_folders(&manifest.name, &record.folder);
        if let Some(earlier) = &earlier {
            self.installer.remove_unused(earlier);
        }
        Ok(())
    }

    /// Removes what was made for a record that was never written.
    fn undo(&self, record: &Record, earlier: Option<&Record>) {
        self.installer.remove_unused(record);
        let name = &self.recipe.manifest.name;
        self.installer.remove_other_folders(name, earlier.map_or("", |earlier| &earlier.folder));
        // Stays unless it is empty.
        let _ = fs::remove_dir(self.installer.home.runtime(name));
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
                Beside::Program(module) => archive::Files::Program(module.clone()),
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

    fn compile(&mut self, fingerprint: &str, split: &Split) -> Result<FileRecord, InstallError> {
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
        let name = &self.recipe.manifest.name;
        let compiled = self.compiler.compile(&split.code);
        let compiled = compiled.map_err(|error| InstallError::Compile { name: name.clone(), error })?;
        write_atomically(&path, |file| io::Write::write_all(file, &compiled)).map_err(self.installer.io(&path))?;
        FileRecord::of(home, &path).map_err(self.installer.io(&path))
    }

    fn images(&mut self, split: &Split, record: &mut Record) -> Result<(), InstallError> {
        let manifest: &Manifest = &self.recipe.manifest;
        let maker = image::Maker {
            home: &self.installer.home,
            partial: self.partial,
            limits: &self.limits,
            globals: &split.globals,
        };
        let base = maker.base(split, record)?;
        for name in manifest.image_names() {
            (self.progress)(Step::Warm { image: name.to_owned() });
            let spec = &manifest.images[name];
            let texts = spec.warm_up.iter().map(|file| self.recipe.text(file)).collect::<Result<Vec<_>, _>>()?;
            let image = maker.warm(split, record, name, &base, &texts)?;
            record.images.insert(name.to_owned(), image);
        }
        Ok(())
    }
}

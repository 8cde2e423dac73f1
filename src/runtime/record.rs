//! `installed.json`: the files that make up an installed runtime, and how to tell whether they are still what was
//! written.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};

use super::manifest::{Driver, Mount};
use super::{Home, Transform, digest, is_inside, is_plain_name};

/// Raised when the meaning of a record changes; a record of another format counts as not installed.
const FORMAT: u32 = 3;

/// What was installed: everything a call needs to know, and nothing that is only needed to install.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    format: u32,
    pub name: String,
    pub version: String,
    /// The digest of the manifest and the files beside it: another one means the runtime is out of date.
    pub recipe: String,
    /// The engine's fingerprint that `code` was compiled for.
    pub fingerprint: String,
    pub driver: DriverRecord,
    /// What comes before a script's own arguments; empty in records that are older than this.
    #[serde(default)]
    pub arguments: Vec<String>,
    pub default_script_name: String,
    /// Whether a call's text has random bits in it.
    #[serde(default)]
    pub seed: bool,
    pub extensions: Vec<String>,
    #[serde(default)]
    pub transforms: Vec<Transform>,
    pub environment: BTreeMap<String, String>,
    /// The runtime's own folder, relative to `runtimes/<name>`.
    pub folder: String,
    pub mounts: Vec<Mount>,
    pub code: FileRecord,
    pub images: BTreeMap<String, ImageRecord>,
    /// For an image of the user's own: the image that it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_from: Option<String>,
}

/// [`Driver`], in the record's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum DriverRecord {
    Command,
    Program,
    Turn,
}

impl From<Driver> for DriverRecord {
    fn from(driver: Driver) -> Self {
        match driver {
            Driver::Command => DriverRecord::Command,
            Driver::Program => DriverRecord::Program,
            Driver::Turn => DriverRecord::Turn,
        }
    }
}

/// One image: its memory, its globals, and a buffer in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImageRecord {
    pub memory: FileRecord,
    pub globals: Vec<GlobalRecord>,
    /// A buffer that the guest allocated before the image was taken, for the text of a turn.
    pub buffer: Option<Buffer>,
    /// Where the memory holds the name of the call's directory; each call puts its own there.
    pub directory_names: Vec<u32>,
}

/// A mutable global's value, as the bits of its type.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GlobalRecord {
    pub export: String,
    pub value: GlobalValue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum GlobalValue {
    I32(i32),
    I64(i64),
    F32(u32),
    F64(u64),
    V128(u128),
}

/// A range of a guest's memory.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Buffer {
    pub pointer: u32,
    pub bytes: u32,
}

/// A file as it was when it was written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileRecord {
    /// Relative to the home.
    pub path: PathBuf,
    pub bytes: u64,
    pub sha256: String,
    /// The file's modification time in nanoseconds since 1970: while it and the length are the same, the content is
    /// not hashed again at every start.
    modified_ns: u128,
}

/// Why an installed runtime cannot be used as it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A file is not there, or not what was written.
    #[error("`{}` is damaged: {problem}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// It was compiled for another version or configuration of the engine.
    #[error("it was compiled for another version of the engine ({found}, not {wanted})")]
    OtherEngine {
        /// The fingerprint in the record.
        found: String,
        /// This engine's.
        wanted: String,
    },
}

impl Record {
    pub fn new(
        manifest: &super::Manifest,
        recipe: String,
        fingerprint: String,
        folder: String,
        code: FileRecord,
        images: BTreeMap<String, ImageRecord>,
    ) -> Record {
        Record {
            format: FORMAT,
            name: manifest.name.clone(),
            version: manifest.version.clone(),
            recipe,
            fingerprint,
            driver: manifest.driver.into(),
            arguments: manifest.arguments.clone(),
            default_script_name: manifest.default_script_name.clone(),
            seed: manifest.seed,
            extensions: manifest.extensions.clone(),
            transforms: manifest.transforms.clone(),
            environment: manifest.environment.clone(),
            folder,
            mounts: manifest.mounts.clone(),
            code,
            images,
            made_from: None,
        }
    }

    /// All records that can be read, in the order of their names. The others are returned as what is wrong with them.
    pub fn all(home: &Home) -> (Vec<Record>, Vec<RecordError>) {
        let mut names: Vec<_> = fs::read_dir(home.runtimes()).into_iter().flatten().flatten().collect();
        names.sort_by_key(fs::DirEntry::file_name);
        let (mut records, mut damaged) = (Vec::new(), Vec::new());
        for name in names {
            match Record::read(home, &name.file_name().to_string_lossy()) {
                Ok(record) => records.extend(record),
                Err(error) => damaged.push(error),
            }
        }
        (records, damaged)
    }

    /// The record of the runtime `name`; none when it is not installed, or by an incompatible version of this crate.
    pub fn read(home: &Home, name: &str) -> Result<Option<Record>, RecordError> {
        if !is_plain_name(name) {
            return Ok(None);
        }
        let path = home.record(name);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(RecordError::Damaged { path, problem: error.to_string() }),
        };
        let damaged =
            |error: serde_json::Error| RecordError::Damaged { path: path.clone(), problem: error.to_string() };
        let value: serde_json::Value = serde_json::from_str(&text).map_err(damaged)?;
        if value["format"] != FORMAT {
            return Ok(None);
        }
        let record: Record = serde_json::from_value(value).map_err(damaged)?;
        match record.path_outside() {
            None => Ok(Some(record)),
            Some(outside) => {
                let problem = format!("it names `{outside}`, which is no path inside the home");
                Err(RecordError::Damaged { path, problem })
            }
        }
    }

    /// A path in the record that leads out of the folder it is relative to, if there is one.
    fn path_outside(&self) -> Option<String> {
        let files = self.cached().map(|path| path.display().to_string().replace(std::path::MAIN_SEPARATOR, "/"));
        let folders = std::iter::once(&self.folder).chain(self.mounts.iter().map(|mount| &mount.folder)).cloned();
        files.chain(folders).find(|path| !is_inside(path))
    }

    /// The files that the record keeps in the home's `code` and `images`, relative to the home.
    pub fn cached(&self) -> impl Iterator<Item = &Path> {
        let images = self.images.values().map(|image| &image.memory);
        std::iter::once(&self.code).chain(images).map(|file| file.path.as_path())
    }

    /// Writes the record, all or nothing: from then on the runtime is installed.
    pub fn write(&self, home: &Home) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self)?;
        write_atomically(&home.record(&self.name), |file| io::Write::write_all(file, &text))
    }

    /// Checks every file: that it is there and has its length and, where its modification time differs from the one
    /// written down (or `thoroughly`), its digest.
    pub fn check_files(&self, home: &Home, thoroughly: Thoroughness) -> Result<(), RecordError> {
        self.code.check(home, thoroughly)?;
        for image in self.images.values() {
            image.memory.check(home, thoroughly)?;
        }
        let folder = self.folder(home);
        if !folder.is_dir() {
            return Err(RecordError::Damaged { path: folder, problem: "the folder is missing".into() });
        }
        Ok(())
    }

    /// Checks that the code was compiled for the engine with this fingerprint.
    pub fn check_engine(&self, fingerprint: &str) -> Result<(), RecordError> {
        if self.fingerprint == fingerprint {
            return Ok(());
        }
        Err(RecordError::OtherEngine { found: self.fingerprint.clone(), wanted: fingerprint.to_owned() })
    }

    /// The runtime's own folder.
    pub fn folder(&self, home: &Home) -> PathBuf {
        home.runtime(&self.name).join(&self.folder)
    }

    /// The bytes that the runtime takes on disk.
    pub fn bytes(&self) -> u64 {
        self.code.bytes + self.images.values().map(|image| image.memory.bytes).sum::<u64>()
    }
}

/// How closely files are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thoroughness {
    /// Length and modification time; the digest only where the time differs.
    Quick,
    /// The digest of each file.
    Full,
}

impl FileRecord {
    /// The record of the file at `path` inside `home`.
    pub fn of(home: &Home, path: &Path) -> io::Result<FileRecord> {
        let metadata = fs::metadata(path)?;
        Ok(FileRecord {
            path: path.strip_prefix(home.root()).unwrap_or(path).to_owned(),
            bytes: metadata.len(),
            sha256: digest::of_file(path)?,
            modified_ns: modified_ns(&metadata),
        })
    }

    /// Where the file is.
    pub fn path(&self, home: &Home) -> PathBuf {
        home.root().join(&self.path)
    }

    pub fn check(&self, home: &Home, thoroughly: Thoroughness) -> Result<(), RecordError> {
        let path = self.path(home);
        let damaged = |problem: String| Err(RecordError::Damaged { path: path.clone(), problem });
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) => return damaged(error.to_string()),
        };
        if metadata.len() != self.bytes {
            return damaged(format!("it holds {} bytes, but {} were written", metadata.len(), self.bytes));
        }
        if thoroughly == Thoroughness::Full || modified_ns(&metadata) != self.modified_ns {
            match digest::of_file(&path) {
                Err(error) => return damaged(error.to_string()),
                Ok(found) if found != self.sha256 => {
                    return damaged(format!("its SHA-256 is {found}, but {} was written", self.sha256));
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }
}

fn modified_ns(metadata: &fs::Metadata) -> u128 {
    let since_1970 = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since_1970.map_or(0, |duration| duration.as_nanos())
}

/// Writes a file under a temporary name beside `path`, then renames it: `path` holds all of it or is as it was.
pub(crate) fn write_atomically(path: &Path, write: impl FnOnce(&mut fs::File) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::NamedTempFile::with_prefix_in(".partial-", folder)?;
    write(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_found_even_when_its_length_is_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        let path = dir.path().join("file");
        fs::write(&path, b"one").unwrap();
        let record = FileRecord::of(&home, &path).unwrap();
        record.check(&home, Thoroughness::Full).unwrap();

        // A new time alone is no damage: the digest decides.
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(UNIX_EPOCH + std::time::Duration::from_secs(1)).unwrap();
        record.check(&home, Thoroughness::Quick).unwrap();

        fs::write(&path, b"two").unwrap();
        let error = record.check(&home, Thoroughness::Full).unwrap_err().to_string();
        assert!(error.contains("its SHA-256 is"), "{error}");
        fs::write(&path, b"longer").unwrap();
        let error = record.check(&home, Thoroughness::Quick).unwrap_err().to_string();
        assert!(error.contains("holds 6 bytes, but 3 were written"), "{error}");
        fs::remove_file(&path).unwrap();
        assert!(record.check(&home, Thoroughness::Quick).is_err());
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_file_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, b"old").unwrap();
        write_atomically(&path, |_| Err(io::ErrorKind::StorageFull.into())).unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

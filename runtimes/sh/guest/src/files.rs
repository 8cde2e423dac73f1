//! The files a script sees: those in the directories that the host gave, and a few that are always there.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use bashkit::{DirEntry, FileSystem, FileSystemExt, FileType, Metadata, Result, async_trait, normalize_path};

use crate::devices::{self, Device};
use crate::fifos::Fifos;
use crate::links;
use crate::modes::Modes;

/// WASI's number for "not within what the host gave".
const NOT_CAPABLE: i32 = 76;

/// The folders above the host's directories. The host shows what is in them, not them.
const ABOVE: [(&str, &[&str]); 3] =
    [("/", &["dev", "scratch", "tmp"]), ("/scratch", &[]), (devices::FOLDER, &devices::NAMES)];

/// The file system over WASI's directories.
#[derive(Default)]
pub struct Files {
    modes: Modes,
    fifos: Fifos,
}

/// An error as a shell reports it: a path outside of what the host gave is one that does not exist.
fn plain(error: io::Error) -> bashkit::Error {
    let (kind, text) = match (error.kind(), error.raw_os_error()) {
        (_, Some(NOT_CAPABLE)) => (ErrorKind::NotFound, "not found"),
        (ErrorKind::NotFound, _) => (ErrorKind::NotFound, "not found"),
        (ErrorKind::AlreadyExists, _) => (ErrorKind::AlreadyExists, "File exists"),
        (ErrorKind::DirectoryNotEmpty, _) => (ErrorKind::DirectoryNotEmpty, "Directory not empty"),
        (ErrorKind::IsADirectory, _) => (ErrorKind::IsADirectory, "is a directory"),
        (ErrorKind::NotADirectory, _) => (ErrorKind::NotADirectory, "not a directory"),
        (ErrorKind::PermissionDenied, _) => (ErrorKind::PermissionDenied, "Permission denied"),
        (ErrorKind::StorageFull, _) => (ErrorKind::StorageFull, "No space left on device"),
        _ => return error.into(),
    };
    io::Error::new(kind, text).into()
}

fn refused(kind: ErrorKind, text: &str) -> bashkit::Error {
    io::Error::new(kind, text).into()
}

fn above(path: &Path) -> Option<&'static [&'static str]> {
    ABOVE.iter().find(|(folder, _)| path == Path::new(folder)).map(|(_, names)| *names)
}

fn folder_metadata(mode: u32) -> Metadata {
    Metadata { file_type: FileType::Directory, size: 4096, mode, ..Metadata::default() }
}

impl Files {
    fn metadata(&self, path: &Path, metadata: &fs::Metadata) -> Metadata {
        let kind = metadata.file_type();
        let (file_type, usual) = if kind.is_dir() {
            (FileType::Directory, 0o755)
        } else if kind.is_symlink() {
            (FileType::Symlink, 0o777)
        } else if kind.is_file() && !self.fifos.has(path) {
            (FileType::File, 0o644)
        } else {
            (FileType::Fifo, 0o666)
        };
        let modified = metadata.modified().unwrap_or(std::time::UNIX_EPOCH);
        let mode = self.modes.get(path).unwrap_or(usual);
        Metadata { file_type, size: metadata.len(), mode, modified, created: modified }
    }

    fn look(&self, path: &Path) -> Result<Metadata> {
        if Device::at(path).is_some() {
            return Ok(Device::metadata());
        }
        match fs::symlink_metadata(path) {
            Ok(metadata) => Ok(self.metadata(path, &metadata)),
            Err(_) if above(path).is_some() => Ok(folder_metadata(0o755)),
            Err(error) => Err(plain(error)),
        }
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.look(path).is_ok_and(|metadata| metadata.file_type.is_dir())
    }

    fn write(&self, path: &Path, content: &[u8], append: bool) -> Result<()> {
        let path = normalize_path(path);
        if Device::at(&path).is_some() {
            return Ok(());
        }
        let append = append || self.fifos.has(&path);
        let mut options = fs::OpenOptions::new();
        options.create(true).append(append).write(true).truncate(!append);
        match options.open(&path).and_then(|mut file| file.write_all(content)) {
            Ok(()) => Ok(()),
            Err(_) if self.is_folder(&path) => Err(refused(ErrorKind::IsADirectory, "is a directory")),
            Err(error) => Err(plain(error)),
        }
    }
}

/// The names in a folder that the host gave.
fn list(path: &Path) -> io::Result<Vec<(String, fs::Metadata)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        // A name that is no text cannot be spoken of in a script.
        if let (Ok(name), Ok(metadata)) = (entry.file_name().into_string(), entry.metadata()) {
            entries.push((name, metadata));
        }
    }
    Ok(entries)
}

#[async_trait]
impl FileSystemExt for Files {
    async fn mkfifo(&self, path: &Path, mode: u32) -> Result<()> {
        let path = normalize_path(path);
        fs::OpenOptions::new().write(true).create_new(true).open(&path).map_err(plain)?;
        self.modes.set(&path, mode & 0o777 & !0o022);
        self.fifos.add(&path);
        Ok(())
    }
}

#[async_trait]
impl FileSystem for Files {
    async fn read_file(&self, path: &Path) -> Result<Vec<u8>> {
        let path = normalize_path(path);
        if let Some(device) = Device::at(&path) {
            return Ok(device.read());
        }
        if self.fifos.has(&path) {
            return self.fifos.take(&path).await.map_err(plain);
        }
        match fs::read(&path) {
            Ok(bytes) => Ok(bytes),
            Err(_) if self.is_folder(&path) => Err(refused(ErrorKind::IsADirectory, "is a directory")),
            Err(error) => Err(plain(error)),
        }
    }

    async fn write_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        self.write(path, content, false)
    }

    async fn append_file(&self, path: &Path, content: &[u8]) -> Result<()> {
        self.write(path, content, true)
    }

    async fn mkdir(&self, path: &Path, recursive: bool) -> Result<()> {
        let path = normalize_path(path);
        if recursive && self.is_folder(&path) {
            return Ok(());
        }
        if above(&path).is_some() || Device::at(&path).is_some() {
            return Err(refused(ErrorKind::AlreadyExists, "File exists"));
        }
        let made = if recursive { fs::create_dir_all(&path) } else { fs::create_dir(&path) };
        made.map_err(plain)
    }

    async fn remove(&self, path: &Path, recursive: bool) -> Result<()> {
        let path = normalize_path(path);
        if Device::at(&path).is_some() {
            return Err(refused(ErrorKind::PermissionDenied, "Permission denied"));
        }
        let removed = if !self.is_folder(&path) {
            fs::remove_file(&path)
        } else if recursive {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_dir(&path)
        };
        removed.map_err(plain)?;
        self.modes.removed(&path);
        self.fifos.removed(&path);
        Ok(())
    }

    async fn stat(&self, path: &Path) -> Result<Metadata> {
        self.look(&normalize_path(path))
    }

    async fn read_dir(&self, path: &Path) -> Result<Vec<DirEntry>> {
        let path = normalize_path(path);
        let names = match list(&path) {
            Ok(entries) => {
                let entry = |(name, metadata): (String, fs::Metadata)| {
                    let metadata = self.metadata(&path.join(&name), &metadata);
                    DirEntry { name, metadata }
                };
                return Ok(entries.into_iter().map(entry).collect());
            }
            Err(error) => match above(&path) {
                Some(names) => names,
                None if self.look(&path).is_ok_and(|metadata| !metadata.file_type.is_dir()) => {
                    return Err(refused(ErrorKind::NotADirectory, "not a directory"));
                }
                None => return Err(plain(error)),
            },
        };
        let entry = |name: &&str| {
            let metadata = self.look(&path.join(name)).ok()?;
            Some(DirEntry { name: (*name).to_owned(), metadata })
        };
        Ok(names.iter().filter_map(entry).collect())
    }

    async fn exists(&self, path: &Path) -> Result<bool> {
        Ok(self.look(&normalize_path(path)).is_ok())
    }

    async fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let (from, to) = (normalize_path(from), normalize_path(to));
        fs::rename(&from, &to).map_err(plain)?;
        self.modes.renamed(&from, &to);
        Ok(())
    }

    async fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        let (from, to) = (normalize_path(from), normalize_path(to));
        if let Some(device) = Device::at(&from) {
            return self.write(&to, &device.read(), false);
        }
        if Device::at(&to).is_some() {
            return Ok(());
        }
        fs::copy(&from, &to).map_err(plain)?;
        if let Some(mode) = self.modes.get(&from) {
            self.modes.set(&to, mode);
        }
        Ok(())
    }

    async fn symlink(&self, target: &Path, link: &Path) -> Result<()> {
        let link = normalize_path(link);
        links::make(target, &link).map_err(plain)
    }

    async fn read_link(&self, path: &Path) -> Result<PathBuf> {
        fs::read_link(normalize_path(path)).map_err(plain)
    }

    async fn chmod(&self, path: &Path, mode: u32) -> Result<()> {
        let path = normalize_path(path);
        self.look(&path)?;
        self.modes.set(&path, mode & 0o7777);
        Ok(())
    }

    async fn set_modified_time(&self, path: &Path, time: std::time::SystemTime) -> Result<()> {
        let file = fs::File::open(normalize_path(path)).map_err(plain)?;
        file.set_modified(time).map_err(plain)
    }
}

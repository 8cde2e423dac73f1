//! Reading a source: a zip archive (a wheel is one) or a folder, and archives inside it.

use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zip::ZipArchive;
use zip::result::ZipError;

use crate::runtime::{Extract, is_inside};

/// Why a file could not be taken from a source.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The source cannot be read.
    #[error("`{origin}` cannot be read: {error}")]
    Read {
        /// The source, or a file in it.
        origin: String,
        /// Why.
        error: io::Error,
    },
    /// The file is not in the source.
    #[error("`{origin}` holds no file `{member}`")]
    Missing {
        /// The source.
        origin: String,
        /// The file.
        member: String,
    },
    /// A member's name could lead out of the folder it is unpacked to.
    #[error("`{origin}` holds the member `{member}`, whose name leaves the archive")]
    Escapes {
        /// The archive.
        origin: String,
        /// The member.
        member: String,
    },
    /// A member is larger than anything a runtime has.
    #[error("`{origin}` holds `{member}` of {bytes} bytes, but {LARGEST} are taken at most")]
    TooLarge {
        /// The archive.
        origin: String,
        /// The member.
        member: String,
        /// Its size.
        bytes: u64,
    },
    /// A file cannot be written.
    #[error("`{}` cannot be written: {error}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The largest member that is taken out of an archive: 1 GiB.
const LARGEST: u64 = 1 << 30;

/// The files of a source.
pub(super) enum Files {
    Zip {
        origin: String,
        path: PathBuf,
    },
    Folder(PathBuf),
    BuiltIn(&'static [(&'static str, &'static [u8])]),
    /// One module, whatever it is called.
    Program(Arc<[u8]>),
}

impl Files {
    /// The members of the zip archive at `path`.
    pub fn zip(path: &Path) -> Result<Files, ArchiveError> {
        let origin = path.display().to_string();
        open(&origin, path)?;
        Ok(Files::Zip { origin, path: path.to_owned() })
    }

    /// The files below `path`.
    pub fn folder(path: &Path) -> Files {
        Files::Folder(path.to_owned())
    }

    /// The content of a file. `a.zip!b` is the member `b` of the archive `a.zip`.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, ArchiveError> {
        let (path, inner) = match path.split_once('!') {
            Some((path, inner)) => (path, Some(inner)),
            None => (path, None),
        };
        let content = match self {
            Files::Zip { origin, path: archive } => member(origin, &mut open(origin, archive)?, path)?,
            Files::Folder(folder) => {
                let origin = folder.join(path);
                fs::read(&origin).map_err(|error| ArchiveError::Read { origin: origin.display().to_string(), error })?
            }
            Files::Program(module) => module.to_vec(),
            Files::BuiltIn(files) => {
                let found = files.iter().find(|(name, _)| *name == path);
                let missing = || ArchiveError::Missing { origin: "this program".to_owned(), member: path.to_owned() };
                found.ok_or_else(missing)?.1.to_vec()
            }
        };
        match inner {
            None => Ok(content),
            Some(inner) => member(path, &mut in_memory(path, content)?, inner),
        }
    }

    /// Puts what `extract` names into `folder`.
    pub fn extract(&self, extract: &Extract, folder: &Path) -> Result<(), ArchiveError> {
        let content = self.read(&extract.from)?;
        let target = folder.join(&extract.to);
        if extract.unpack {
            unpack(&extract.from, &mut in_memory(&extract.from, content)?, &target)
        } else {
            write(&target, &content)
        }
    }
}

type Archive<R> = ZipArchive<R>;

fn open(origin: &str, path: &Path) -> Result<Archive<BufReader<File>>, ArchiveError> {
    let file = File::open(path).map_err(|error| read_error(origin, error))?;
    ZipArchive::new(BufReader::new(file)).map_err(|error| read_error(origin, error.into()))
}

fn in_memory(origin: &str, content: Vec<u8>) -> Result<Archive<Cursor<Vec<u8>>>, ArchiveError> {
    ZipArchive::new(Cursor::new(content)).map_err(|error| read_error(origin, error.into()))
}

fn read_error(origin: &str, error: io::Error) -> ArchiveError {
    ArchiveError::Read { origin: origin.to_owned(), error }
}

fn member<R: Read + Seek>(origin: &str, archive: &mut Archive<R>, name: &str) -> Result<Vec<u8>, ArchiveError> {
    let mut member = match archive.by_name(name) {
        Ok(member) => member,
        Err(ZipError::FileNotFound) => {
            return Err(ArchiveError::Missing { origin: origin.to_owned(), member: name.to_owned() });
        }
        Err(error) => return Err(read_error(origin, error.into())),
    };
    content(origin, &mut member)
}

/// The declared size is the archive's word: no more is reserved or read than the largest member may hold.
fn content<R: Read>(origin: &str, member: &mut zip::read::ZipFile<'_, R>) -> Result<Vec<u8>, ArchiveError> {
    let (name, bytes) = (member.name().to_owned(), member.size());
    if bytes > LARGEST {
        return Err(ArchiveError::TooLarge { origin: origin.to_owned(), member: name, bytes });
    }
    let mut content = Vec::with_capacity(bytes as usize);
    member.take(LARGEST).read_to_end(&mut content).map_err(|error| read_error(&format!("{origin}!{name}"), error))?;
    Ok(content)
}

fn unpack<R: Read + Seek>(origin: &str, archive: &mut Archive<R>, folder: &Path) -> Result<(), ArchiveError> {
    for index in 0..archive.len() {
        let mut member = archive.by_index(index).map_err(|error| read_error(origin, error.into()))?;
        let name = member.name().to_owned();
        if !is_inside(name.trim_end_matches('/')) {
            return Err(ArchiveError::Escapes { origin: origin.to_owned(), member: name });
        }
        if member.is_file() {
            write(&folder.join(&name), &content(origin, &mut member)?)?;
        }
    }
    Ok(())
}

fn write(path: &Path, content: &[u8]) -> Result<(), ArchiveError> {
    let parent = path.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(parent).and_then(|()| fs::write(path, content));
    written.map_err(|error| ArchiveError::Write { path: path.to_owned(), error })
}

//! A folder of the host that was opened once.
//!
//! A path is looked up anew each time it is used, and somebody may exchange a folder on the way for a link between two
//! looks. What was looked at is therefore held open here from the look on, and it is this folder that a guest is given,
//! whatever lies at its path by then.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;

/// An open folder, and the path that it was found at. Clones are the same handle.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    dir: Arc<Dir>,
    path: PathBuf,
}

/// Which folder it is, whatever path leads to it.
#[cfg(unix)]
pub(crate) type Identity = (u64, u64);
/// Elsewhere the system does not say which folder it is; an open one can be neither renamed nor removed there.
#[cfg(all(not(unix), feature = "host"))]
pub(crate) type Identity = PathBuf;

impl Opened {
    /// Opens a folder whose path the host vouches for, following links.
    pub fn at(path: &Path) -> io::Result<Opened> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Opened { dir: Arc::new(dir), path: path.to_owned() })
    }

    /// Whether it can be listed.
    pub fn check(&self) -> io::Result<()> {
        self.dir.entries().map(drop)
    }

    /// Which folder it is.
    #[cfg(any(unix, feature = "host"))]
    pub fn identity(&self) -> io::Result<Identity> {
        #[cfg(unix)]
        {
            let found = self.dir.dir_metadata()?;
            Ok((cap_std::fs::MetadataExt::dev(&found), cap_std::fs::MetadataExt::ino(&found)))
        }
        #[cfg(not(unix))]
        self.path.canonicalize()
    }

    /// The path by which the engine, which takes only paths, opens it once more. On Linux that is the open folder itself;
    /// elsewhere it is the path, and [`number`](Opened::number) says whether it still led here.
    pub fn door(&self) -> PathBuf {
        #[cfg(target_os = "linux")]
        {
            let descriptor = std::os::fd::AsRawFd::as_raw_fd(&*self.dir);
            let door = PathBuf::from(format!("/proc/self/fd/{descriptor}"));
            // A system may come without `/proc`.
            if door.exists() {
                return door;
            }
        }
        self.path.clone()
    }

    /// The number by which the engine knows it, where there is one: wasmtime-wasi hashes device and inode like this.
    /// Should it ever do otherwise, then no folder is given any more, which the tests of folders see.
    pub fn number(&self) -> io::Result<Option<u64>> {
        #[cfg(unix)]
        {
            use std::hash::{DefaultHasher, Hash, Hasher};
            let mut hasher = DefaultHasher::new();
            self.identity()?.hash(&mut hasher);
            Ok(Some(hasher.finish()))
        }
        #[cfg(not(unix))]
        Ok(None)
    }
}

/// What permissions ask of a folder.
#[cfg(feature = "host")]
impl Opened {
    /// Opens a folder in this one. Nothing leads out: what would is an error.
    pub fn beneath(&self, rest: &Path) -> io::Result<Opened> {
        let here = rest.as_os_str().is_empty();
        let dir = self.dir.open_dir(if here { Path::new(".") } else { rest })?;
        let path = if here { self.path.clone() } else { self.path.join(rest) };
        Ok(Opened { dir: Arc::new(dir), path })
    }

    /// Where it was found.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Says that this path leads to it, if it does.
    pub fn found_at(mut self, path: PathBuf) -> io::Result<Opened> {
        if Opened::at(&path)?.identity()? != self.identity()? {
            return Err(io::Error::other("it was exchanged for another while it was looked at"));
        }
        self.path = path;
        Ok(self)
    }

    /// It and the folders that hold it, up to the root. They are found from the open folder, and not by its path.
    pub fn above(&self) -> io::Result<Vec<Identity>> {
        let mut above = vec![self.identity()?];
        #[cfg(unix)]
        {
            let mut up = PathBuf::new();
            loop {
                up.push("..");
                let found = rustix::fs::statat(&*self.dir, &up, rustix::fs::AtFlags::empty())?;
                #[allow(clippy::unnecessary_cast, reason = "a device's number is of another type on macOS")]
                let found = (found.st_dev as u64, found.st_ino as u64);
                if above.last() == Some(&found) {
                    return Ok(above);
                }
                above.push(found);
            }
        }
        #[cfg(not(unix))]
        {
            let own = above[0].clone();
            above.extend(own.ancestors().skip(1).map(Path::to_owned));
            Ok(above)
        }
    }
}

#[cfg(all(test, unix, feature = "host"))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn an_open_folder_stays_what_it_was_whatever_comes_to_lie_at_its_path() {
        let top = tempfile::tempdir().unwrap();
        let (path, moved) = (top.path().join("data"), top.path().join("moved"));
        fs::create_dir(&path).unwrap();
        let opened = Opened::at(top.path()).unwrap().beneath(Path::new("data")).unwrap();
        let (identity, above) = (opened.identity().unwrap(), opened.above().unwrap());
        fs::rename(&path, &moved).unwrap();
        symlink("/", &path).unwrap();
        assert_eq!((opened.identity().unwrap(), opened.above().unwrap()), (identity, above.clone()));
        assert_eq!(above[1], Opened::at(top.path()).unwrap().identity().unwrap());
        assert_eq!(above.last(), Some(&Opened::at(Path::new("/")).unwrap().identity().unwrap()));
        assert!(opened.found_at(path).unwrap_err().to_string().contains("exchanged"));
    }

    #[test]
    fn nothing_beneath_a_folder_leads_out_of_it() {
        let top = tempfile::tempdir().unwrap();
        fs::create_dir_all(top.path().join("in/deep")).unwrap();
        symlink("/", top.path().join("in/out")).unwrap();
        symlink("deep", top.path().join("in/link")).unwrap();
        let opened = Opened::at(&top.path().join("in")).unwrap();
        for out in ["out", "..", "deep/../..", "out/etc", "/"] {
            assert!(opened.beneath(Path::new(out)).is_err(), "{out}");
        }
        let deep = opened.beneath(Path::new("deep")).unwrap().identity().unwrap();
        assert_eq!(opened.beneath(Path::new("link")).unwrap().identity().unwrap(), deep);
        assert_eq!(opened.beneath(Path::new("")).unwrap().identity().unwrap(), opened.identity().unwrap());
    }
}

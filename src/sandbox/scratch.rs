//! The one place a guest can write: a temporary directory made for the call and removed with it.
//!
//! No guest path is joined to a host path here or anywhere else. What the host does with the guest's files it does
//! through a directory handle that does not follow links out (cap-std).

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, OpenOptions};

use crate::runtime::create_private_dir;

/// Where the guest sees the directory that holds its own.
pub(super) const SCRATCH: &str = "/scratch";

/// Where the guest sees its own directory by a name that is always the same.
pub(super) const TMP: &str = "/tmp";

/// The folder of one executor that its calls' directories are made in.
pub(crate) struct ScratchRoot {
    path: PathBuf,
    /// Locked for as long as this process lives: who finds it unlocked may remove the folder.
    _alive: File,
}

const PREFIX: &str = "ampoule-";
const ALIVE: &str = "alive";

impl ScratchRoot {
    /// Makes a folder inside `parent`, after removing those that dead processes left there.
    pub fn new(parent: &Path) -> io::Result<ScratchRoot> {
        sweep(parent);
        let path = parent.join(format!("{PREFIX}{:016x}", rand::random::<u64>()));
        create_private_dir(&path)?;
        let alive = File::create_new(path.join(ALIVE))?;
        alive.try_lock().map_err(io::Error::from)?;
        Ok(ScratchRoot { path, _alive: alive })
    }

    /// Makes a call's directory.
    pub fn scratch(&self) -> io::Result<Scratch> {
        let id = format!("{:016x}", rand::random::<u64>());
        let outer = self.path.join(&id);
        create_private_dir(&outer)?;
        let scratch = Scratch { inner: outer.join(&id), guest_path: format!("{SCRATCH}/{id}"), outer, removed: false };
        create_private_dir(&scratch.inner)?;
        Ok(scratch)
    }
}

impl Drop for ScratchRoot {
    fn drop(&mut self) {
        remove_tree(&self.path);
    }
}

/// Removes the folders of processes that are no more. What cannot be removed is left for the next.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with(PREFIX) || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        // A folder without the file is being made right now, or is somebody else's.
        let Ok(alive) = File::open(entry.path().join(ALIVE)) else { continue };
        if alive.try_lock().is_ok() {
            remove_tree(&entry.path());
        }
    }
}

/// One call's directory. The guest sees it twice: as `/scratch/<id>`, a path that no other call has, and as `/tmp`.
pub(crate) struct Scratch {
    /// Seen as `/scratch`; holds only `inner`.
    outer: PathBuf,
    inner: PathBuf,
    guest_path: String,
    removed: bool,
}

impl Scratch {
    /// The host folder behind `/scratch`.
    pub fn outer(&self) -> &Path {
        &self.outer
    }

    /// The host folder behind `/tmp` and the guest's working directory.
    pub fn inner(&self) -> &Path {
        &self.inner
    }

    /// The guest's working directory, as the guest sees it.
    pub fn guest_path(&self) -> &str {
        &self.guest_path
    }

    /// Puts a file of the host's into the directory. The path was checked to stay inside.
    pub fn place(&self, path: &str, content: &[u8]) -> io::Result<()> {
        let dir = Dir::open_ambient_dir(&self.inner, ambient_authority())?;
        if let Some(parent) = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty()) {
            dir.create_dir_all(parent)?;
        }
        dir.open_with(path, OpenOptions::new().write(true).create_new(true))?.write_all(content)
    }

    /// Copies the files and folders that the guest left to `target`, which is made if it is missing. Links and whatever
    /// else is no regular file are left out; their number is returned. An existing file is not overwritten.
    pub fn keep(&self, target: &Path) -> io::Result<u64> {
        fs::create_dir_all(target)?;
        let from = Dir::open_ambient_dir(&self.inner, ambient_authority())?;
        let to = Dir::open_ambient_dir(target, ambient_authority())?;
        let mut left_out = 0;
        let mut folders = VecDeque::from([PathBuf::from(".")]);
        while let Some(folder) = folders.pop_front() {
            for entry in from.read_dir(&folder)? {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    match to.create_dir(&path) {
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                        _ => folders.push_back(path),
                    }
                } else if kind.is_file() {
                    let mut source = from.open(&path)?;
                    let mut target =
                        to.open_with(&path, OpenOptions::new().write(true).create_new(true)).map_err(|error| {
                            io::Error::new(error.kind(), format!("{}: {error}", target.join(&path).display()))
                        })?;
                    io::copy(&mut source, &mut target)?;
                } else {
                    left_out += 1;
                }
            }
        }
        Ok(left_out)
    }

    /// Removes the directory if the guest left nothing in it, which is quick; says whether it is gone.
    pub fn remove_if_empty(&mut self) -> bool {
        self.removed |= fs::remove_dir(&self.inner).is_ok() && fs::remove_dir(&self.outer).is_ok();
        self.removed
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.removed && !self.remove_if_empty() {
            remove_tree(&self.outer);
        }
    }
}

/// Removes a folder and everything in it, however deep, without following links: sub-folders are moved up to the top
/// before they are emptied, so that neither recursion nor open handles grow with the depth.
fn remove_tree(path: &Path) {
    let flatten = || {
        let top = Dir::open_ambient_dir(path, ambient_authority())?;
        let mut folders = remove_files(&top)?;
        let mut moved = 0_u64;
        while let Some(name) = folders.pop() {
            let folder = top.open_dir(&name)?;
            for inner in remove_files(&folder)? {
                let fresh = OsString::from(format!("{:016x}{moved}", rand::random::<u64>()));
                moved += 1;
                folder.rename(&inner, &top, &fresh)?;
                folders.push(fresh);
            }
            top.remove_dir(&name)?;
        }
        fs::remove_dir(path)
    };
    match flatten() {
        Err(error) if path.exists() => {
            tracing::warn!(path = %path.display(), %error, "a temporary directory could not be removed");
        }
        _ => {}
    }
}

/// Removes what is no folder and returns the folders' names.
fn remove_files(dir: &Dir) -> io::Result<Vec<OsString>> {
    // Listed first: removing entries while a directory is read may skip some.
    let entries: Vec<DirEntry> = dir.entries()?.collect::<io::Result<_>>()?;
    let mut folders = Vec::new();
    for entry in entries {
        if entry.file_type()?.is_dir() {
            folders.push(entry.file_name());
        } else {
            dir.remove_file(entry.file_name())?;
        }
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> (tempfile::TempDir, ScratchRoot) {
        let parent = tempfile::tempdir().unwrap();
        let root = ScratchRoot::new(parent.path()).unwrap();
        (parent, root)
    }

    #[test]
    fn a_directory_is_gone_with_its_call_and_the_folder_with_its_executor() {
        let (parent, root) = root();
        let scratch = root.scratch().unwrap();
        fs::create_dir(scratch.inner().join("d")).unwrap();
        fs::write(scratch.inner().join("d/f"), "x").unwrap();
        let outer = scratch.outer().to_owned();
        drop(scratch);
        assert!(!outer.exists());
        drop(root);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_tree_deeper_than_any_path_may_be_is_removed() {
        let (_parent, root) = root();
        let scratch = root.scratch().unwrap();
        let mut dir = Dir::open_ambient_dir(scratch.inner(), ambient_authority()).unwrap();
        for _ in 0..3000 {
            dir.create_dir("deep").unwrap();
            dir.write("file", "x").unwrap();
            dir = dir.open_dir("deep").unwrap();
        }
        let outer = scratch.outer().to_owned();
        drop((dir, scratch));
        assert!(!outer.exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_removed_and_left_out_of_what_is_kept_and_never_followed() {
        let (parent, root) = root();
        let outside = parent.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("precious"), "x").unwrap();
        let scratch = root.scratch().unwrap();
        std::os::unix::fs::symlink(&outside, scratch.inner().join("link")).unwrap();
        fs::create_dir(scratch.inner().join("d")).unwrap();
        fs::write(scratch.inner().join("d/f"), "kept").unwrap();
        let target = parent.path().join("target");
        assert_eq!(scratch.keep(&target).unwrap(), 1);
        assert_eq!(fs::read(target.join("d/f")).unwrap(), b"kept");
        assert!(!target.join("link").exists());
        drop(scratch);
        assert!(outside.join("precious").exists());
    }

    #[test]
    fn keeping_does_not_overwrite_a_file() {
        let (parent, root) = root();
        let scratch = root.scratch().unwrap();
        fs::write(scratch.inner().join("f"), "new").unwrap();
        fs::write(parent.path().join("f"), "old").unwrap();
        assert!(scratch.keep(parent.path()).unwrap_err().to_string().contains('f'));
        assert_eq!(fs::read(parent.path().join("f")).unwrap(), b"old");
    }

    #[test]
    fn what_a_dead_process_left_is_swept_and_what_a_living_one_uses_is_not() {
        let (parent, alive) = root();
        let dead = parent.path().join(format!("{PREFIX}dead"));
        fs::create_dir_all(dead.join("x/y")).unwrap();
        fs::write(dead.join(ALIVE), "").unwrap();
        let _other = ScratchRoot::new(parent.path()).unwrap();
        assert!(!dead.exists());
        assert!(alive.path.exists());
    }
}

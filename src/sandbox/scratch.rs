//! The one place a guest can write: a temporary directory made for the call and removed with it.
//!
//! No guest path is joined to a host path here or anywhere else. What the host does with the guest's files it does
//! through a directory handle that does not follow links out (cap-std).

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry, OpenOptions};

use super::InputFile;
use crate::runtime::create_private_dir;

/// The name of a call's directory while an image is made. The image holds it where the guest's C library keeps the
/// directories it was given, and each call puts its own name there instead: see [`Id::put`].
const PLACEHOLDER: Id = Id(*b"ampoule-call-dir");

/// The name of one call's directory, the same length for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id([u8; 16]);

impl Id {
    fn random() -> Id {
        let mut id = Id([0; 16]);
        let digits = format!("{:016x}", rand::random::<u64>());
        id.0.copy_from_slice(digits.as_bytes());
        id
    }

    /// Where a memory holds this name.
    pub fn places(self, memory: &[u8]) -> Vec<u32> {
        let found = memchr::memmem::find_iter(memory, &self.0);
        found.filter_map(|at| u32::try_from(at).ok()).collect()
    }

    /// The name, as bytes of its fixed length.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The path at which the guest sees the directory.
    pub fn guest_path(self) -> String {
        format!("/scratch/{}", String::from_utf8_lossy(&self.0))
    }
}

/// Where the guest sees its own directory by a name that is always the same.
pub(super) const TMP: &str = "/tmp";

/// The folder of one executor that its calls' directories are made in.
pub(crate) struct ScratchRoot(Arc<Root>);

struct Root {
    path: PathBuf,
    /// Locked for as long as this process lives: who finds it unlocked may remove the folder.
    _alive: File,
    /// Directories that no guest changed anything in. Making and removing one takes longer than many a call does: some
    /// file systems wait for the disk. The guest never sees the name that a directory has here.
    idle: Mutex<Vec<PathBuf>>,
    made: AtomicU64,
    process: u32,
}

const PREFIX: &str = "ampoule-";
const ALIVE: &str = "alive";

/// Deeper folders are not kept: what holds them has a path of its own, and the two together must not be too long.
const LONGEST_PATH: usize = 2048;

/// Idle directories that are kept.
const KEPT: usize = 64;

impl ScratchRoot {
    /// Makes a folder inside `parent`, after removing those that dead processes left there.
    pub fn new(parent: &Path) -> io::Result<ScratchRoot> {
        sweep(parent);
        loop {
            let path = parent.join(format!("{PREFIX}{:016x}", rand::random::<u64>()));
            create_private_dir(&path)?;
            let alive = match File::create_new(path.join(ALIVE)) {
                Ok(alive) => alive,
                // Another process took it for a dead one's, before it could be locked: once more.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let _ = fs::remove_dir(&path);
                    return Err(error);
                }
            };
            if alive.try_lock().is_ok() && path.join(ALIVE).exists() {
                let (idle, made, process) = (Mutex::default(), AtomicU64::new(0), std::process::id());
                return Ok(ScratchRoot(Arc::new(Root { path, _alive: alive, idle, made, process })));
            }
        }
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Whether this is the process that made it, and not a copy of that one (`fork`).
    pub fn is_of_this_process(&self) -> bool {
        self.0.process == std::process::id()
    }

    /// An empty directory for a call, which the guest sees under a name that no call had before.
    pub fn scratch(&self) -> io::Result<Scratch> {
        self.named(Id::random())
    }

    /// An empty directory under the name that an image holds.
    pub fn placeholder(&self) -> io::Result<Scratch> {
        self.named(PLACEHOLDER)
    }

    fn named(&self, id: Id) -> io::Result<Scratch> {
        let idle = self.0.idle().pop();
        let path = match idle {
            Some(path) => path,
            None => {
                let path = self.0.path.join(self.0.made.fetch_add(1, Ordering::Relaxed).to_string());
                create_private_dir(&path)?;
                path
            }
        };
        Ok(Scratch { root: self.0.clone(), path, id, given_back: false })
    }
}

impl Root {
    fn idle(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        // A poisoned lock means a panic between two list operations, each of which leaves the list whole.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            remove_tree(&self.path);
        }
    }
}

/// Removes the folders of processes that are no more. What cannot be removed is left for the next.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if !name.to_string_lossy().starts_with(PREFIX) || !entry.metadata().is_ok_and(|found| is_ours(&found)) {
            continue;
        }
        // A folder without the file is being made right now, or is somebody else's.
        let Ok(alive) = File::open(entry.path().join(ALIVE)) else { continue };
        if alive.try_lock().is_ok() {
            remove_tree(&entry.path());
        }
    }
}

/// Whether a folder in a place that others share is this user's. One that is cannot be exchanged for a link by anybody
/// else: such places (mode 1777) let only the owner rename or remove it.
fn is_ours(found: &fs::Metadata) -> bool {
    #[cfg(unix)]
    let own = std::os::unix::fs::MetadataExt::uid(found) == rustix::process::geteuid().as_raw();
    #[cfg(not(unix))]
    let own = true;
    found.is_dir() && own
}

/// One call's directory. The guest sees it twice: as `/scratch/<id>`, a path that no other call has, and as `/tmp`.
pub(crate) struct Scratch {
    root: Arc<Root>,
    path: PathBuf,
    id: Id,
    given_back: bool,
}

impl Scratch {
    /// The directory on the host.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name by which the guest knows it.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Puts a file of the host's into the directory. The path was checked to stay inside.
    pub fn place(&self, path: &str, content: &[u8]) -> io::Result<()> {
        let dir = open_folder(&self.path)?;
        if let Some(parent) = Path::new(path).parent().filter(|parent| !parent.as_os_str().is_empty()) {
            dir.create_dir_all(parent)?;
        }
        dir.open_with(path, OpenOptions::new().write(true).create_new(true))?.write_all(content)
    }

    /// Makes an empty folder in the directory, and those on the way to it. The path was checked to stay inside.
    pub fn place_folder(&self, path: &str) -> io::Result<()> {
        open_folder(&self.path)?.create_dir_all(path)
    }

    /// Copies the files and folders that the guest left to `target`, which is made if it is missing. Files that were
    /// placed and that the guest did not change are the caller's own and are left out, and so are their folders. Links
    /// and whatever else is no regular file are left out, and so is what cannot be read (a path may be too long) or is
    /// more than `bytes` in all: a file that has many names is copied for each, holes and all. The number of what was
    /// left out is returned. An existing file is not overwritten.
    pub fn keep(&self, target: &Path, placed: &[InputFile], mut bytes: u64) -> io::Result<u64> {
        fs::create_dir_all(target)?;
        let given: HashMap<&Path, &InputFile> = placed.iter().map(|file| (Path::new(&file.path), file)).collect();
        let given_folders: HashSet<&Path> = given.keys().flat_map(|path| path.ancestors().skip(1)).collect();
        let from = open_folder(&self.path)?;
        let to = Dir::open_ambient_dir(target, ambient_authority())?;
        let mut left_out = 0;
        let mut folders = VecDeque::from([PathBuf::from(".")]);
        while let Some(folder) = folders.pop_front() {
            let Ok(entries) = from.read_dir(&folder) else {
                left_out += 1;
                continue;
            };
            for entry in entries {
                let entry = entry?;
                let path = folder.join(entry.file_name());
                let kind = entry.file_type()?;
                let name = path.strip_prefix(".").unwrap_or(&path);
                if kind.is_dir() {
                    if path.as_os_str().len() > LONGEST_PATH {
                        left_out += 1;
                        continue;
                    }
                    if !given_folders.contains(name) {
                        to.create_dir_all(&path)?;
                    }
                    folders.push_back(path);
                } else if kind.is_file() {
                    if given.get(name).is_some_and(|file| is_unchanged(&from, &path, &file.content)) {
                        continue;
                    }
                    let Ok(source) = from.open_with(&path, &reading()) else {
                        left_out += 1;
                        continue;
                    };
                    let found = source.metadata()?;
                    let length = found.len();
                    // It may have become something else since it was listed.
                    if !found.is_file() || length > bytes {
                        left_out += 1;
                        continue;
                    }
                    bytes -= length;
                    to.create_dir_all(&folder)?;
                    let mut target =
                        to.open_with(&path, OpenOptions::new().write(true).create_new(true)).map_err(|error| {
                            io::Error::new(error.kind(), format!("{}: {error}", target.join(&path).display()))
                        })?;
                    io::copy(&mut source.take(length), &mut target)?;
                } else {
                    left_out += 1;
                }
            }
        }
        Ok(left_out)
    }
}

impl Scratch {
    /// Keeps the directory for another call. Only for one that no guest changed anything in.
    pub fn give_back(mut self) {
        let mut idle = self.root.idle();
        if idle.len() < KEPT {
            idle.push(std::mem::take(&mut self.path));
            self.given_back = true;
        }
    }

    /// Removes the directory and all that is in it.
    pub fn remove(mut self) {
        remove_tree(&self.path);
        self.given_back = true;
    }
}

/// A call that was cancelled or dropped ends at once: what takes longer is removed on a thread for blocking work.
impl Drop for Scratch {
    fn drop(&mut self) {
        if self.given_back {
            return;
        }
        let (root, path) = (self.root.clone(), std::mem::take(&mut self.path));
        if holds_little(&path) {
            return remove_tree(&path);
        }
        // Where there is no such thread, what is left is swept with the executor's folder.
        let remove = move || {
            remove_tree(&path);
            drop(root);
        };
        match tokio::runtime::Handle::try_current() {
            Ok(host) => drop(catch_unwind(AssertUnwindSafe(|| host.spawn_blocking(remove)))),
            Err(_) => remove(),
        }
    }
}

/// Whether there is so little in a directory, and in those in it, that removing it takes no longer than handing it to
/// another thread.
fn holds_little(path: &Path) -> bool {
    const FEW: usize = 16;
    let (mut folders, mut seen) = (vec![path.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            if seen > FEW {
                return false;
            }
            // A link is none, wherever it leads.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    true
}

/// Opens a folder of ours. One that somebody exchanged for a link is not followed.
fn open_folder(path: &Path) -> io::Result<Dir> {
    #[cfg(unix)]
    {
        use rustix::fs::{CWD, Mode, OFlags, openat};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = openat(CWD, path, flags, Mode::empty())?;
        Ok(Dir::from_std_file(folder.into()))
    }
    #[cfg(not(unix))]
    {
        // There a link to a folder takes a right that users do not have.
        Dir::open_ambient_dir(path, ambient_authority())
    }
}

/// To read a file, and not to wait for the other end of one that became a pipe.
pub(crate) fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    cap_std::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    options
}

/// Whether a file still holds what was placed there. One that cannot be read is left to the copy to report.
fn is_unchanged(dir: &Dir, path: &Path, content: &[u8]) -> bool {
    let Ok(file) = dir.open_with(path, &reading()) else { return false };
    let same_length = file.metadata().is_ok_and(|found| found.is_file() && found.len() == content.len() as u64);
    let mut found = Vec::new();
    same_length && file.take(content.len() as u64 + 1).read_to_end(&mut found).is_ok() && found == content
}

/// Removes a folder and everything in it, however deep, without following links: sub-folders are moved up to the top
/// before they are emptied, so that neither recursion nor open handles grow with the depth.
fn remove_tree(path: &Path) {
    let flatten = || {
        let top = open_folder(path)?;
        let mut folders = remove_files(&top)?;
        let mut moved = 0_u64;
        while let Some(name) = folders.pop() {
            let folder = match top.open_dir(&name) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    unlock(&top, &name)?;
                    top.open_dir(&name)?
                }
                folder => folder?,
            };
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
    match remove_listed(dir) {
        // A folder may be removed by who owns it, whatever its rights say.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            make_private(dir)?;
            remove_listed(dir)
        }
        removed => removed,
    }
}

/// The same for a folder that cannot even be opened. Its name is looked up below `dir` alone.
fn unlock(dir: &Dir, name: &OsStr) -> io::Result<()> {
    #[cfg(unix)]
    {
        use cap_std::fs::{Permissions, PermissionsExt};
        dir.set_permissions(name, Permissions::from_mode(0o700))
    }
    #[cfg(not(unix))]
    {
        let mut permissions = dir.symlink_metadata(name)?.permissions();
        permissions.set_readonly(false);
        dir.set_permissions(name, permissions)
    }
}

/// Gives a folder's owner every right to it, and nobody else any.
fn make_private(dir: &Dir) -> io::Result<()> {
    #[cfg(unix)]
    rustix::fs::fchmod(dir, rustix::fs::Mode::RWXU)?;
    #[cfg(not(unix))]
    let _ = dir;
    Ok(())
}

fn remove_listed(dir: &Dir) -> io::Result<Vec<OsString>> {
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
        fs::create_dir(scratch.path().join("d")).unwrap();
        fs::write(scratch.path().join("d/f"), "x").unwrap();
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
        drop(root);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_was_given_back_comes_again_under_another_name() {
        let (_parent, root) = root();
        let first = root.scratch().unwrap();
        let (path, id) = (first.path().to_owned(), first.id());
        first.give_back();
        let second = root.scratch().unwrap();
        assert_eq!(second.path(), path);
        assert_ne!(second.id(), id);
        assert!(path.is_dir());
    }

    #[test]
    fn every_place_that_holds_the_name_is_found() {
        let id = PLACEHOLDER;
        let memory = [b"12345", id.bytes(), b"x", id.bytes(), &id.bytes()[..9]].concat();
        assert_eq!(id.places(&memory), [5, 22]);
    }

    #[test]
    fn a_tree_deeper_than_any_path_may_be_is_removed() {
        let (_parent, root) = root();
        let scratch = root.scratch().unwrap();
        let mut dir = Dir::open_ambient_dir(scratch.path(), ambient_authority()).unwrap();
        for _ in 0..3000 {
            dir.create_dir("deep").unwrap();
            dir.write("file", "x").unwrap();
            dir = dir.open_dir("deep").unwrap();
        }
        let path = scratch.path().to_owned();
        drop((dir, scratch));
        assert!(!path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_removed_and_left_out_of_what_is_kept_and_never_followed() {
        let (parent, root) = root();
        let outside = parent.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("precious"), "x").unwrap();
        let scratch = root.scratch().unwrap();
        std::os::unix::fs::symlink(&outside, scratch.path().join("link")).unwrap();
        fs::create_dir(scratch.path().join("d")).unwrap();
        fs::write(scratch.path().join("d/f"), "kept").unwrap();
        let target = parent.path().join("target");
        assert_eq!(scratch.keep(&target, &[], u64::MAX).unwrap(), 1);
        assert_eq!(fs::read(target.join("d/f")).unwrap(), b"kept");
        assert!(!target.join("link").exists());
        drop(scratch);
        assert!(outside.join("precious").exists());
    }

    #[test]
    fn keeping_does_not_overwrite_a_file() {
        let (parent, root) = root();
        let scratch = root.scratch().unwrap();
        fs::write(scratch.path().join("f"), "new").unwrap();
        fs::write(parent.path().join("f"), "old").unwrap();
        assert!(scratch.keep(parent.path(), &[], u64::MAX).unwrap_err().to_string().contains('f'));
        assert_eq!(fs::read(parent.path().join("f")).unwrap(), b"old");
    }

    #[test]
    fn what_was_placed_is_kept_only_where_the_guest_changed_it() {
        let (parent, root) = root();
        let scratch = root.scratch().unwrap();
        let placed = ["m.py", "d/same", "d/changed", "e/same"]
            .map(|path| InputFile { path: path.into(), content: "given".into() });
        for file in &placed {
            scratch.place(&file.path, &file.content).unwrap();
        }
        fs::write(scratch.path().join("d/changed"), "GIVEN").unwrap();
        fs::create_dir_all(scratch.path().join("f/empty")).unwrap();
        let target = parent.path().join("target");
        scratch.keep(&target, &placed, u64::MAX).unwrap();
        assert_eq!(fs::read(target.join("d/changed")).unwrap(), b"GIVEN");
        assert!(target.join("f/empty").is_dir());
        for left_out in ["m.py", "d/same", "e"] {
            assert!(!target.join(left_out).exists(), "{left_out}");
        }
    }

    #[test]
    fn no_more_bytes_are_kept_than_the_limit_however_many_names_a_file_has() {
        let (parent, root) = root();
        let scratch = root.scratch().unwrap();
        fs::write(scratch.path().join("0"), [0; 1000]).unwrap();
        for name in 1..10 {
            fs::hard_link(scratch.path().join("0"), scratch.path().join(name.to_string())).unwrap();
        }
        let target = parent.path().join("target");
        assert_eq!(scratch.keep(&target, &[], 2999).unwrap(), 8);
        assert_eq!(fs::read_dir(&target).unwrap().count(), 2);
    }

    #[test]
    fn a_copy_of_the_process_neither_serves_calls_nor_removes_what_is_the_other_s() {
        let (parent, root) = root();
        assert!(root.is_of_this_process());
        let path = root.0.path.clone();
        let (alive, idle) = (File::open(path.join(ALIVE)).unwrap(), Mutex::default());
        let process = std::process::id() + 1;
        let copy = Root { path: path.clone(), _alive: alive, idle, made: AtomicU64::new(0), process };
        let copy = ScratchRoot(Arc::new(copy));
        assert!(!copy.is_of_this_process());
        drop(copy);
        assert!(path.is_dir());
        drop(root);
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_call_s_directory_is_its_user_s_alone() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let (_parent, root) = root();
        let scratch = root.scratch().unwrap();
        for path in [scratch.path(), &root.0.path] {
            let found = fs::metadata(path).unwrap();
            assert_eq!(found.permissions().mode() & 0o777, 0o700);
            assert_eq!(found.uid(), rustix::process::geteuid().as_raw());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_was_exchanged_for_a_link_is_neither_emptied_nor_kept_nor_filled() {
        let (parent, root) = root();
        let outside = parent.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("precious"), "x").unwrap();
        let scratch = root.scratch().unwrap();
        fs::remove_dir(scratch.path()).unwrap();
        std::os::unix::fs::symlink(&outside, scratch.path()).unwrap();
        assert!(scratch.place("f", b"x").is_err());
        let target = parent.path().join("target");
        assert!(scratch.keep(&target, &[], u64::MAX).is_err());
        drop(scratch);
        assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn folders_without_rights_are_removed_and_what_cannot_be_read_is_left_out() {
        use std::os::unix::fs::PermissionsExt;
        let (parent, root) = root();
        let scratch = root.scratch().unwrap();
        let path = scratch.path().to_owned();
        fs::create_dir_all(path.join("a/b/c")).unwrap();
        fs::write(path.join("a/b/c/f"), "x").unwrap();
        for (name, mode) in [("a/b/c/f", 0), ("a/b/c", 0), ("a/b", 0o500), ("a", 0)] {
            fs::set_permissions(path.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        scratch.keep(&parent.path().join("target"), &[], u64::MAX).unwrap();
        drop(scratch);
        assert!(!path.exists());
    }

    /// Pipes are made by no guest; the host's user could put one there.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_that_becomes_a_pipe_a_link_or_a_folder_while_it_is_kept_is_not_waited_for_or_followed() {
        use std::sync::atomic::AtomicBool;
        let (parent, root) = root();
        let outside = parent.path().join("precious");
        fs::write(&outside, "precious").unwrap();
        let scratch = root.scratch().unwrap();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let path = scratch.path().join("f");
                let gone = |path: &Path| fs::remove_file(path).or_else(|_| fs::remove_dir(path));
                while !ended.load(Ordering::Relaxed) {
                    fs::write(&path, "own").unwrap();
                    gone(&path).unwrap();
                    let mode = rustix::fs::Mode::RWXU;
                    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
                    gone(&path).unwrap();
                    std::os::unix::fs::symlink(&outside, &path).unwrap();
                    gone(&path).unwrap();
                    fs::create_dir(&path).unwrap();
                    gone(&path).unwrap();
                }
            });
            for round in 0..500 {
                let target = parent.path().join(format!("target{round}"));
                // What became something else in the middle may be an error.
                let _ = scratch.keep(&target, &[], u64::MAX);
                if let Ok(found) = fs::symlink_metadata(target.join("f")) {
                    assert!(found.is_file() || found.is_dir());
                    assert!(!fs::read_to_string(target.join("f")).is_ok_and(|text| text.contains("precious")));
                }
            }
            ended.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn many_that_start_at_once_do_not_sweep_each_other() {
        let parent = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let root = ScratchRoot::new(parent.path()).unwrap();
                        root.scratch().unwrap();
                    }
                });
            }
        });
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_looks_like_a_dead_process_s_folder_is_not_followed() {
        let parent = tempfile::tempdir().unwrap();
        let precious = parent.path().join("precious");
        fs::create_dir(&precious).unwrap();
        fs::write(precious.join(ALIVE), "").unwrap();
        std::os::unix::fs::symlink(&precious, parent.path().join(format!("{PREFIX}link"))).unwrap();
        let _root = ScratchRoot::new(parent.path()).unwrap();
        assert!(precious.join(ALIVE).exists());
    }

    #[test]
    fn what_a_dead_process_left_is_swept_and_what_a_living_one_uses_is_not() {
        let (parent, alive) = root();
        let dead = parent.path().join(format!("{PREFIX}dead"));
        fs::create_dir_all(dead.join("x/y")).unwrap();
        fs::write(dead.join(ALIVE), "").unwrap();
        let _other = ScratchRoot::new(parent.path()).unwrap();
        assert!(!dead.exists());
        assert!(alive.0.path.exists());
    }
}

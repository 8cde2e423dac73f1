//! Host folders inside a call's directory.
//!
//! A reactor's C library learnt which directories it has when its image was made; a folder that one call is given cannot
//! be among them. So it shows inside the call's own directory: an empty folder of its name lies there, and what asks for
//! a path in it is answered from the real folder, by another descriptor. Nothing is joined to a host path, and whoever
//! asks the real folder cannot leave it: the engine sees to that, as it does for every directory.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use wasmtime_wasi::p1::types::{Errno, Fd};
use wasmtime_wasi::p1::wasi_snapshot_preview1::WasiSnapshotPreview1;
use wiggle::{GuestMemory, GuestPtr};

use super::quota::FileId;
use super::roots::Roots;
use super::wasi::{Guarded, Memory, Result};

/// What the guest imports: [`Guarded`], with the folders of this call in its directory.
pub(crate) struct Mounted {
    pub(super) inner: Guarded,
    pub(super) mounts: Mounts,
    pub(super) roots: Roots,
}

/// The folders of one call.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    folders: Vec<Mount>,
    /// The call's directory, under no parts, and the folders in it that hold a mounted one.
    holders: HashMap<FileId, Vec<String>>,
    /// The empty folders that lie where the mounted ones show.
    empty: HashSet<FileId>,
    /// A descriptor of the call's directory, and the root that all of them have.
    top: u32,
    own: u32,
}

#[derive(Debug)]
struct Mount {
    /// Its path in the call's directory.
    parts: Vec<String>,
    descriptor: u32,
}

/// Where a path really leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    dir: u32,
    path: String,
    /// It is a mounted folder itself, or one that holds it: such a name cannot be moved or removed.
    fixed: bool,
}

impl Place {
    /// The descriptor from which it is looked up.
    pub fn dir(&self) -> Fd {
        self.dir.into()
    }

    /// A memory that holds the path, in the guest's stead.
    pub fn parts(self) -> (Vec<u8>, Fd, u32) {
        let length = self.path.len() as u32;
        (self.path.into_bytes(), self.dir.into(), length)
    }
}

impl Mounts {
    /// Finds where `path` leads from a folder of the call's directory. Nothing when no mounted folder has to do with it.
    fn find(&self, from: &[String], path: &str) -> Option<Place> {
        if path.starts_with('/') {
            return None;
        }
        let mut parts: Vec<&str> = from.iter().map(String::as_str).collect();
        let mut crossed = false;
        for part in path.split('/') {
            match part {
                "" | "." => {}
                // Out of the directory: for the engine to refuse.
                ".." => drop(parts.pop()?),
                part => parts.push(part),
            }
            crossed |= self.holding(&parts).is_some();
        }
        match self.holding(&parts) {
            Some(mount) => {
                let rest = &parts[mount.parts.len()..];
                let (path, fixed) = if rest.is_empty() { (".".to_owned(), true) } else { (rest.join("/"), false) };
                Some(Place { dir: mount.descriptor, path, fixed })
            }
            None => {
                let holds = !parts.is_empty() && self.folders.iter().any(|mount| starts_with(&mount.parts, &parts));
                (crossed || holds).then(|| {
                    let path = if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
                    Place { dir: self.top, path, fixed: holds }
                })
            }
        }
    }

    /// Whether this is a folder that shows a mounted one, or holds one that does, by whatever path it was reached.
    fn is_fixed(&self, file: FileId) -> bool {
        self.empty.contains(&file) || self.holders.get(&file).is_some_and(|parts| !parts.is_empty())
    }

    /// A descriptor was closed: a folder that was mounted by it shows no more.
    pub fn closed(&mut self, descriptor: Fd) {
        self.folders.retain(|mount| mount.descriptor != u32::from(descriptor));
    }

    /// A descriptor got another number. What had that number was closed.
    pub fn renumbered(&mut self, from: Fd, to: Fd) {
        if u32::from(from) == u32::from(to) {
            return;
        }
        self.closed(to);
        let moved = self.folders.iter_mut().map(|mount| &mut mount.descriptor).chain([&mut self.top]);
        for descriptor in moved.filter(|descriptor| **descriptor == u32::from(from)) {
            *descriptor = to.into();
        }
    }

    /// The mounted folder that these parts lead to, or into.
    fn holding(&self, parts: &[&str]) -> Option<&Mount> {
        self.folders.iter().find(|mount| {
            mount.parts.len() <= parts.len() && mount.parts.iter().zip(parts).all(|(mine, part)| mine == part)
        })
    }
}

fn starts_with(path: &[String], beginning: &[&str]) -> bool {
    beginning.len() <= path.len() && path.iter().zip(beginning).all(|(mine, part)| mine == part)
}

impl Mounted {
    pub fn new(inner: Guarded) -> Mounted {
        Mounted { inner, mounts: Mounts::default(), roots: Roots::default() }
    }

    /// Says what the call's first descriptors are: the runtime's folders, the call's directory by each of its names, and
    /// behind them so many folders of the host.
    pub fn given(&mut self, runtime: Range<u32>, own: Range<u32>, folders: usize) {
        for descriptor in runtime.chain((own.end..).take(folders)) {
            self.roots.given(descriptor, descriptor);
        }
        for descriptor in own.clone() {
            self.roots.given(descriptor, own.start);
        }
    }

    /// Shows these folders in the call's directory, of which `top` is a descriptor: each by its path there, with its own
    /// descriptor. The empty folders of their names are there already.
    pub async fn mount(&mut self, top: u32, folders: impl Iterator<Item = (String, u32)>) -> Result<()> {
        (self.mounts.top, self.mounts.own) = (top, top);
        for (path, descriptor) in folders {
            let parts: Vec<String> = path.split('/').map(str::to_owned).collect();
            for depth in 0..parts.len() {
                let holder = match depth {
                    0 => ".".to_owned(),
                    depth => parts[..depth].join("/"),
                };
                let stat = self.stat(top, &holder).await?;
                self.mounts.holders.insert(stat, parts[..depth].to_vec());
            }
            let empty = self.stat(top, &path).await?;
            self.mounts.empty.insert(empty);
            self.mounts.folders.push(Mount { parts, descriptor });
        }
        Ok(())
    }

    async fn stat(&mut self, dir: u32, path: &str) -> Result<FileId> {
        // The engine gives each host call its own, and this is none of the guest's.
        self.inner.set_hostcall_fuel(4096 + 2 * path.len());
        let mut text = path.as_bytes().to_vec();
        let pointer = GuestPtr::<str>::new((0, text.len() as u32));
        let mut memory = GuestMemory::Unshared(&mut text);
        let found = self.inner.at(&mut memory, dir.into(), pointer).await.ok_or(Errno::Noent)?;
        Ok(found.ino)
    }

    /// Where a path of the guest's leads, if not where it says.
    pub(super) async fn place(
        &mut self,
        memory: Memory<'_, '_>,
        dir: Fd,
        path: GuestPtr<str>,
    ) -> Result<Option<Place>> {
        if self.mounts.folders.is_empty() {
            return Ok(None);
        }
        self.inner.check_path(path)?;
        // Only the call's own directory has folders mounted in it.
        if self.roots.of(dir) != Some(self.mounts.own) {
            return Ok(None);
        }
        let Ok(from) = self.inner.fd_filestat_get(memory, dir).await else { return Ok(None) };
        let Some(from) = self.mounts.holders.get(&from.ino) else { return Ok(None) };
        let text = memory.as_cow_str(path)?;
        Ok(self.mounts.find(from, &text))
    }

    /// The same for a path whose name is to be made, moved or removed.
    pub(super) async fn place_of_name(
        &mut self,
        memory: Memory<'_, '_>,
        dir: Fd,
        path: GuestPtr<str>,
    ) -> Result<Option<Place>> {
        let place = self.place(memory, dir, path).await?;
        let fixed = match &place {
            Some(place) => place.fixed,
            None if self.mounts.empty.is_empty() => false,
            // Links may lead to it by a path that does not say so.
            None => self.inner.at(memory, dir, path).await.is_some_and(|found| self.mounts.is_fixed(found.ino)),
        };
        if fixed { Err(Errno::Busy.into()) } else { Ok(place) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts() -> Mounts {
        let mount = |path: &str, descriptor| Mount { parts: path.split('/').map(str::to_owned).collect(), descriptor };
        Mounts { folders: vec![mount("data", 7), mount("a/b", 8)], top: 4, ..Mounts::default() }
    }

    fn found(from: &[&str], path: &str) -> Option<(u32, String, bool)> {
        let from: Vec<String> = from.iter().map(|part| (*part).to_owned()).collect();
        mounts().find(&from, path).map(|place| (place.dir, place.path, place.fixed))
    }

    #[test]
    fn a_path_into_a_mounted_folder_leads_to_its_descriptor() {
        assert_eq!(found(&[], "data/x/y"), Some((7, "x/y".into(), false)));
        assert_eq!(found(&[], "./data//x/./y/"), Some((7, "x/y".into(), false)));
        assert_eq!(found(&[], "data"), Some((7, ".".into(), true)));
        assert_eq!(found(&[], "data/x/../.."), Some((4, ".".into(), false)));
        assert_eq!(found(&["a"], "b/z"), Some((8, "z".into(), false)));
        assert_eq!(found(&["a"], "../data/z"), Some((7, "z".into(), false)));
    }

    #[test]
    fn a_path_that_has_nothing_to_do_with_a_mounted_folder_stays_as_it_is() {
        for path in ["x", "database/x", "x/data", "a/c", "/data", "..", "data/../../x", ""] {
            assert_eq!(found(&[], path), None, "{path}");
        }
    }

    #[test]
    fn a_mounted_folder_follows_its_descriptor_and_is_gone_with_it() {
        let mut mounts = mounts();
        mounts.renumbered(7.into(), 9.into());
        mounts.renumbered(9.into(), 9.into());
        let found = |mounts: &Mounts, path: &str| mounts.find(&[], path).map(|place| place.dir);
        assert_eq!((found(&mounts, "data/x"), found(&mounts, "a/b/x")), (Some(9), Some(8)));
        mounts.renumbered(9.into(), 8.into());
        assert_eq!((found(&mounts, "data/x"), found(&mounts, "a/b/x")), (Some(8), None));
        mounts.closed(8.into());
        assert_eq!(found(&mounts, "data/x"), None);
    }

    #[test]
    fn what_holds_a_mounted_folder_is_fixed() {
        assert_eq!(found(&[], "a"), Some((4, "a".into(), true)));
        assert_eq!(found(&[], "a/b/.."), Some((4, "a".into(), true)));
    }
}

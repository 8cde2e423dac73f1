//! Paths of the guest, and how deep its folders lie.

use wasmtime_wasi::p1::types::{Errno, Error, Fd, Filestat, Filetype, Lookupflags};
use wasmtime_wasi::p1::wasi_snapshot_preview1::WasiSnapshotPreview1;
use wiggle::{GuestMemory, GuestPtr};

use super::opened::Opened;
use super::quota::FileId;
use super::tree::TooDeep;
use super::wasi::{Guarded, Memory, Result};

impl From<TooDeep> for Error {
    fn from(_: TooDeep) -> Error {
        Errno::Nametoolong.into()
    }
}

impl Guarded {
    /// Refuses a path that is longer than its limit.
    pub(super) fn check_path(&mut self, path: GuestPtr<str>) -> Result<()> {
        if path.len() as usize > self.path_bytes {
            return Err(Errno::Nametoolong.into());
        }
        self.used.path_bytes = self.used.path_bytes.max(path.len().into());
        Ok(())
    }

    /// What is at a path, not following a link in its last part; nothing when there is nothing.
    pub(super) async fn at(&mut self, memory: Memory<'_, '_>, dir: Fd, path: GuestPtr<str>) -> Option<Filestat> {
        self.inner.path_filestat_get(memory, dir, Lookupflags::empty(), path).await.ok()
    }

    /// The folder that holds what a path names, or would.
    pub(super) async fn holder(&mut self, memory: Memory<'_, '_>, dir: Fd, path: GuestPtr<str>) -> Result<FileId> {
        let text = memory.as_cow_str(path)?;
        let holder = text.trim_end_matches('/').rfind('/').map(|end| end + 1);
        drop(text);
        let stat = match holder {
            None => self.inner.fd_filestat_get(memory, dir).await?,
            Some(length) => {
                let holder = GuestPtr::<str>::new((path.offset_base(), length as u32));
                self.inner.path_filestat_get(memory, dir, Lookupflags::SYMLINK_FOLLOW, holder).await?
            }
        };
        Ok(stat.ino)
    }

    /// Writes down where the folders lie that the host put into the call's directory, of which `dir` is one descriptor.
    pub(crate) async fn placed(&mut self, dir: u32, folders: impl Iterator<Item = &str>) -> Result<()> {
        for folder in folders {
            // The engine gives each host call its own, and this is none of the guest's.
            self.inner.set_hostcall_fuel(2 * folder.len());
            let mut text = folder.as_bytes().to_vec();
            let path = GuestPtr::<str>::new((0, text.len() as u32));
            let mut memory = GuestMemory::Unshared(&mut text);
            let dir = Fd::from(dir);
            let holder = self.holder(&mut memory, dir, path).await?;
            if let Some(stat) = self.at(&mut memory, dir, path).await {
                self.tree.made(stat.ino, holder);
            }
        }
        Ok(())
    }

    /// Checks that a descriptor is of this folder: it was opened by a path, which may lead elsewhere by now.
    pub(super) async fn is_the_one(&mut self, descriptor: u32, folder: &Opened) -> std::io::Result<()> {
        let mut memory = GuestMemory::Unshared(&mut []);
        let found = self.inner.fd_filestat_get(&mut memory, descriptor.into()).await.map_err(std::io::Error::other)?;
        match folder.number()? {
            Some(number) if number != found.ino => {
                Err(std::io::Error::other("another lies at its path by now; try again, or leave it where it is"))
            }
            _ => Ok(()),
        }
    }

    /// The file and its length, if `stat` is a file or a link with one name left.
    pub(super) fn last_name(stat: &Filestat) -> Option<(FileId, u64)> {
        let counts = matches!(stat.filetype, Filetype::RegularFile | Filetype::SymbolicLink);
        (counts && stat.nlink <= 1).then_some((stat.ino, stat.size))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

    use super::super::quota::Quota;
    use super::*;
    use crate::Limits;

    #[tokio::test]
    async fn a_descriptor_is_known_for_the_folder_that_was_looked_at_and_for_no_other() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut builder = WasiCtxBuilder::new();
        builder.preopened_dir(one.path(), "/", FsPerms::ReadOnly).unwrap();
        let mut wasi = Guarded::new(builder.build_p1(), Quota::new(0, 0, 9), &Limits::default());
        let (one, other) = (Opened::at(one.path()).unwrap(), Opened::at(other.path()).unwrap());
        wasi.is_the_one(3, &one).await.unwrap();
        assert!(wasi.is_the_one(3, &other).await.unwrap_err().to_string().contains("another lies at its path"));
    }
}

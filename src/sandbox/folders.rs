//! Paths of the guest, and how deep its folders lie.

use wasmtime_wasi::p1::types::{Errno, Error, Fd, Filestat, Filetype, Lookupflags};
use wasmtime_wasi::p1::wasi_snapshot_preview1::WasiSnapshotPreview1;
use wiggle::{GuestMemory, GuestPtr};

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

    /// The file and its length, if `stat` is a file or a link with one name left.
    pub(super) fn last_name(stat: &Filestat) -> Option<(FileId, u64)> {
        let counts = matches!(stat.filetype, Filetype::RegularFile | Filetype::SymbolicLink);
        (counts && stat.nlink <= 1).then_some((stat.ino, stat.size))
    }
}

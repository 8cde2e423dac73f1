//! WASI preview 1 as the guest sees it: wasmtime-wasi's, with the limits it does not have.
//!
//! [`Guarded`] implements the same trait and hands every call on, after asking the [`Quota`] where a call could take
//! disk, descriptors or memory of the host. Answered here are `proc_exit`, because every exit code is a script's
//! right; a lone clock in `poll_oneoff`, because a sleep must be one that can be given up; `fd_sync`, because nobody can
//! give up a disk, and what is removed after the call need not be on it; and the socket calls. Reads and writes are made
//! in pieces (see `transfer`), and a directory is listed once (see `listing`).

use std::time::Duration;

use wasmtime_wasi::WasiView;
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::p1::types::{self, Errno, Error, Fd, Filestat, Filetype, Lookupflags, Oflags};
use wasmtime_wasi::p1::wasi_snapshot_preview1::WasiSnapshotPreview1;
use wiggle::{GuestMemory, GuestPtr};

use super::hand_on::{hand_on, hand_on_the_rest};
use super::listing::Listing;
use super::quota::{Full, Quota};
use super::transfer::Offset;
use super::tree::Tree;
use super::used::Used;
use crate::Limits;

/// The guest ended itself with this code.
#[derive(Debug, thiserror::Error)]
#[error("exit code {0}")]
pub(super) struct Exit(pub u32);

impl From<Full> for Error {
    fn from(_: Full) -> Error {
        Errno::Nospc.into()
    }
}

/// A WASI context with limits.
pub(super) struct Guarded {
    pub(super) inner: WasiP1Ctx,
    pub(super) quota: Quota,
    pub(super) tree: Tree,
    pub(super) used: Used,
    /// The directory that is being read, by its descriptor. One is enough: who reads two by turns waits longer.
    listing: Option<(u32, Listing)>,
    /// Whether it sees folders of the host that are neither the call's nor the runtime's.
    pub(super) sees_host_folders: bool,
    poll_subscriptions: u32,
    pub(super) path_bytes: usize,
    pub(super) hostcall_bytes: usize,
}

pub(super) type Result<T> = std::result::Result<T, Error>;
pub(super) type Memory<'a, 'b> = &'a mut GuestMemory<'b>;

impl Guarded {
    pub fn new(mut inner: WasiP1Ctx, quota: Quota, limits: &Limits) -> Guarded {
        // A file takes one entry while it is open, a subscription one or two for the time of a poll, and the standard
        // streams, the mounted directories and whatever one call needs take the rest.
        let subscriptions = 2 * limits.poll_subscriptions as usize;
        inner.ctx().table.set_max_capacity(limits.open_files.saturating_add(subscriptions).saturating_add(64));
        Guarded {
            inner,
            quota,
            tree: Tree::new(limits.scratch_depth),
            used: Used::default(),
            listing: None,
            sees_host_folders: false,
            poll_subscriptions: limits.poll_subscriptions,
            path_bytes: limits.path_bytes,
            hostcall_bytes: limits.hostcall_bytes,
        }
    }

    /// Forgets what was listed of a directory, for one whose descriptor is gone.
    fn forget_listing(&mut self, fd: u32) {
        self.listing.take_if(|(listed, _)| *listed == fd);
    }
}

/// Whether opening a file of this kind, in a folder of the host's, ends by itself.
fn can_be_opened(kind: Filetype) -> bool {
    matches!(kind, Filetype::RegularFile | Filetype::Directory | Filetype::SymbolicLink)
}

impl WasiSnapshotPreview1 for Guarded {
    hand_on_the_rest!();

    fn random_get(&mut self, memory: Memory<'_, '_>, buffer: GuestPtr<u8>, len: types::Size) -> Result<()> {
        self.inner.random_get(memory, buffer, len)?;
        self.used.random_bytes += u64::from(len);
        Ok(())
    }

    async fn fd_sync(&mut self, memory: Memory<'_, '_>, fd: Fd) -> Result<()> {
        // It says whether there is such a file.
        self.inner.fd_tell(memory, fd).map(drop).map_err(|_| Errno::Badf.into())
    }

    async fn fd_datasync(&mut self, memory: Memory<'_, '_>, fd: Fd) -> Result<()> {
        self.fd_sync(memory, fd).await
    }

    async fn fd_readdir(
        &mut self,
        memory: Memory<'_, '_>,
        fd: Fd,
        buffer: GuestPtr<u8>,
        len: types::Size,
        cookie: types::Dircookie,
    ) -> Result<types::Size> {
        let descriptor = u32::from(fd);
        if cookie == 0 || self.listing.as_ref().is_none_or(|(listed, _)| *listed != descriptor) {
            self.listing = Some((descriptor, self.list(fd).await?));
        }
        let piece = self.listing.as_ref().map_or(&[][..], |(_, listing)| listing.piece(cookie, len as usize));
        memory.copy_from_slice(piece, buffer.as_array(piece.len() as u32))?;
        Ok(piece.len() as u32)
    }

    async fn path_filestat_get(
        &mut self,
        memory: Memory<'_, '_>,
        dir: Fd,
        flags: Lookupflags,
        path: GuestPtr<str>,
    ) -> Result<Filestat> {
        self.check_path(path)?;
        self.inner.path_filestat_get(memory, dir, flags, path).await
    }

    async fn path_readlink(
        &mut self,
        memory: Memory<'_, '_>,
        dir: Fd,
        path: GuestPtr<str>,
        buffer: GuestPtr<u8>,
        len: types::Size,
    ) -> Result<types::Size> {
        self.check_path(path)?;
        self.inner.path_readlink(memory, dir, path, buffer, len).await
    }

    async fn fd_read(&mut self, memory: Memory<'_, '_>, fd: Fd, buffers: types::IovecArray) -> Result<types::Size> {
        self.read(memory, fd, buffers, Offset::Current).await
    }

    async fn fd_pread(
        &mut self,
        memory: Memory<'_, '_>,
        fd: Fd,
        buffers: types::IovecArray,
        offset: types::Filesize,
    ) -> Result<types::Size> {
        self.read(memory, fd, buffers, Offset::At(offset)).await
    }

    async fn fd_write(&mut self, memory: Memory<'_, '_>, fd: Fd, buffers: types::CiovecArray) -> Result<types::Size> {
        self.write(memory, fd, buffers, Offset::Current).await
    }

    async fn fd_pwrite(
        &mut self,
        memory: Memory<'_, '_>,
        fd: Fd,
        buffers: types::CiovecArray,
        offset: types::Filesize,
    ) -> Result<types::Size> {
        self.write(memory, fd, buffers, Offset::At(offset)).await
    }

    async fn fd_filestat_set_size(&mut self, memory: Memory<'_, '_>, fd: Fd, size: types::Filesize) -> Result<()> {
        let length = self.inner.fd_filestat_get(memory, fd).await?.size;
        self.quota.may_grow(length, size)?;
        self.inner.fd_filestat_set_size(memory, fd, size).await?;
        self.quota.resized(length, size);
        Ok(())
    }

    async fn fd_filestat_set_times(
        &mut self,
        memory: Memory<'_, '_>,
        fd: Fd,
        atim: types::Timestamp,
        mtim: types::Timestamp,
        flags: types::Fstflags,
    ) -> Result<()> {
        self.quota.touch();
        self.inner.fd_filestat_set_times(memory, fd, atim, mtim, flags).await
    }

    async fn path_filestat_set_times(
        &mut self,
        memory: Memory<'_, '_>,
        dir: Fd,
        lookup: Lookupflags,
        path: GuestPtr<str>,
        atim: types::Timestamp,
        mtim: types::Timestamp,
        flags: types::Fstflags,
    ) -> Result<()> {
        self.check_path(path)?;
        self.quota.touch();
        self.inner.path_filestat_set_times(memory, dir, lookup, path, atim, mtim, flags).await
    }

    async fn fd_close(&mut self, memory: Memory<'_, '_>, fd: Fd) -> Result<()> {
        let descriptor = fd.into();
        let length = match self.quota.file(descriptor) {
            Some(_) => self.inner.fd_filestat_get(memory, fd).await.map_or(0, |stat| stat.size),
            None => 0,
        };
        self.inner.fd_close(memory, fd).await?;
        self.forget_listing(descriptor);
        self.quota.closed(descriptor, length);
        Ok(())
    }

    async fn fd_renumber(&mut self, memory: Memory<'_, '_>, from: Fd, to: Fd) -> Result<()> {
        let length = self.inner.fd_filestat_get(memory, to).await?.size;
        self.inner.fd_renumber(memory, from, to).await?;
        if u32::from(from) != u32::from(to) {
            self.forget_listing(from.into());
            self.forget_listing(to.into());
            self.quota.closed(to.into(), length);
            self.quota.renumbered(from.into(), to.into());
        }
        Ok(())
    }

    async fn path_open(
        &mut self,
        memory: Memory<'_, '_>,
        dir: Fd,
        lookup: Lookupflags,
        path: GuestPtr<str>,
        how: Oflags,
        base: types::Rights,
        inheriting: types::Rights,
        flags: types::Fdflags,
    ) -> Result<Fd> {
        self.check_path(path)?;
        self.quota.may_open().map_err(|Full| Errno::Mfile)?;
        let found = self.inner.path_filestat_get(memory, dir, lookup, path).await.ok();
        // Opening a pipe waits for its other end, and a device for whatever it likes: no timeout would end that. A guest
        // makes none, so that it is not one by the time it is opened, unless the host exchanges it.
        if found.as_ref().is_some_and(|found| !can_be_opened(found.filetype)) {
            return Err(Errno::Acces.into());
        }
        let creates = how.contains(Oflags::CREAT) && found.is_none();
        if creates {
            self.quota.may_create(0)?;
        }
        let fd = self.inner.path_open(memory, dir, lookup, path, how, base, inheriting, flags).await?;
        let file = self.inner.fd_filestat_get(memory, fd).await.map_or(0, |stat| stat.ino);
        self.quota.opened(fd.into(), file);
        if creates {
            self.quota.created();
        }
        if let Some(before) = found
            && how.contains(Oflags::TRUNC)
            && before.filetype == Filetype::RegularFile
        {
            self.quota.resized(before.size, 0);
        }
        Ok(fd)
    }

    async fn path_create_directory(&mut self, memory: Memory<'_, '_>, dir: Fd, path: GuestPtr<str>) -> Result<()> {
        self.check_path(path)?;
        self.quota.may_create(0)?;
        let holder = self.holder(memory, dir, path).await?;
        self.tree.may_make(holder)?;
        self.inner.path_create_directory(memory, dir, path).await?;
        self.quota.created();
        if let Some(folder) = self.at(memory, dir, path).await {
            self.tree.made(folder.ino, holder);
        }
        Ok(())
    }

    async fn path_link(
        &mut self,
        memory: Memory<'_, '_>,
        from: Fd,
        flags: Lookupflags,
        old: GuestPtr<str>,
        to: Fd,
        new: GuestPtr<str>,
    ) -> Result<()> {
        self.check_path(old)?;
        self.check_path(new)?;
        self.quota.may_create(0)?;
        self.inner.path_link(memory, from, flags, old, to, new).await?;
        self.quota.created();
        Ok(())
    }

    async fn path_symlink(
        &mut self,
        memory: Memory<'_, '_>,
        target: GuestPtr<str>,
        dir: Fd,
        path: GuestPtr<str>,
    ) -> Result<()> {
        self.check_path(target)?;
        self.check_path(path)?;
        let bytes = u64::from(target.len());
        self.quota.may_create(bytes)?;
        self.inner.path_symlink(memory, target, dir, path).await?;
        self.quota.created();
        self.quota.resized(0, bytes);
        Ok(())
    }

    async fn path_rename(
        &mut self,
        memory: Memory<'_, '_>,
        from: Fd,
        old: GuestPtr<str>,
        to: Fd,
        new: GuestPtr<str>,
    ) -> Result<()> {
        self.check_path(old)?;
        self.check_path(new)?;
        let moved = self.at(memory, from, old).await;
        let replaced = self.at(memory, to, new).await;
        let folder = match &moved {
            Some(moved) if moved.filetype == Filetype::Directory => {
                let holder = self.holder(memory, to, new).await?;
                self.tree.may_move(moved.ino, holder)?;
                Some((moved.ino, holder))
            }
            _ => None,
        };
        self.inner.path_rename(memory, from, old, to, new).await?;
        self.quota.touch();
        if let (Some(moved), Some(replaced)) = (moved, replaced)
            && moved.ino != replaced.ino
        {
            self.quota.removed(Guarded::last_name(&replaced));
            self.tree.removed(replaced.ino);
        }
        if let Some((folder, holder)) = folder {
            self.tree.moved(folder, holder);
        }
        Ok(())
    }

    async fn path_unlink_file(&mut self, memory: Memory<'_, '_>, dir: Fd, path: GuestPtr<str>) -> Result<()> {
        self.check_path(path)?;
        let removed = self.at(memory, dir, path).await;
        self.inner.path_unlink_file(memory, dir, path).await?;
        self.quota.removed(removed.as_ref().and_then(Guarded::last_name));
        Ok(())
    }

    async fn path_remove_directory(&mut self, memory: Memory<'_, '_>, dir: Fd, path: GuestPtr<str>) -> Result<()> {
        self.check_path(path)?;
        let removed = self.at(memory, dir, path).await;
        self.inner.path_remove_directory(memory, dir, path).await?;
        self.quota.removed(None);
        if let Some(removed) = removed {
            self.tree.removed(removed.ino);
        }
        Ok(())
    }

    async fn poll_oneoff(
        &mut self,
        memory: Memory<'_, '_>,
        subscriptions: GuestPtr<types::Subscription>,
        events: GuestPtr<types::Event>,
        count: types::Size,
    ) -> Result<types::Size> {
        if count > self.poll_subscriptions {
            return Err(Errno::Inval.into());
        }
        self.used.poll_subscriptions = self.used.poll_subscriptions.max(count.into());
        if count == 1 {
            let subscription = memory.read(subscriptions)?;
            if let types::SubscriptionU::Clock(clock) = &subscription.u
                && !clock.flags.contains(types::Subclockflags::SUBSCRIPTION_CLOCK_ABSTIME)
            {
                // wasmtime-wasi would put the thread to sleep here, and nothing could wake it.
                tokio::time::sleep(Duration::from_nanos(clock.timeout)).await;
                let event = types::Event {
                    userdata: subscription.userdata,
                    error: Errno::Success,
                    type_: types::Eventtype::Clock,
                    fd_readwrite: types::EventFdReadwrite { nbytes: 0, flags: types::Eventrwflags::empty() },
                };
                memory.write(events, event)?;
                return Ok(1);
            }
        }
        self.inner.poll_oneoff(memory, subscriptions, events, count).await
    }

    // wasmtime-wasi gives the same answer, but logs a line each time, and a guest can ask without end.

    fn sock_accept(&mut self, _: Memory<'_, '_>, _: Fd, _: types::Fdflags) -> Result<Fd> {
        Err(Errno::Notsock.into())
    }

    fn sock_recv(
        &mut self,
        _: Memory<'_, '_>,
        _: Fd,
        _: types::IovecArray,
        _: types::Riflags,
    ) -> Result<(types::Size, types::Roflags)> {
        Err(Errno::Notsock.into())
    }

    fn sock_send(&mut self, _: Memory<'_, '_>, _: Fd, _: types::CiovecArray, _: types::Siflags) -> Result<types::Size> {
        Err(Errno::Notsock.into())
    }

    fn sock_shutdown(&mut self, _: Memory<'_, '_>, _: Fd, _: types::Sdflags) -> Result<()> {
        Err(Errno::Notsock.into())
    }

    fn proc_exit(&mut self, _: Memory<'_, '_>, code: types::Exitcode) -> wiggle::error::Error {
        Exit(code).into()
    }
}

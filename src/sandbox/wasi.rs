//! WASI preview 1 as the guest sees it: wasmtime-wasi's, with the limits it does not have.
//!
//! [`Guarded`] implements the same trait and hands every call on, after asking the [`Quota`] where a call could take
//! disk, descriptors or memory of the host. Answered here are `proc_exit`, because every exit code is a script's
//! right; a lone clock in `poll_oneoff`, because a sleep must be one that can be given up; and the socket calls.

use std::time::Duration;

use wasmtime_wasi::WasiView;
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::p1::types::{self, Errno, Error, Fd, Filestat, Filetype, Lookupflags, Oflags};
use wasmtime_wasi::p1::wasi_snapshot_preview1::WasiSnapshotPreview1;
use wiggle::{GuestMemory, GuestPtr};

use super::quota::{FileId, Full, Quota};
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
    inner: WasiP1Ctx,
    quota: Quota,
    poll_subscriptions: u32,
}

type Result<T> = std::result::Result<T, Error>;
type Memory<'a, 'b> = &'a mut GuestMemory<'b>;

impl Guarded {
    pub fn new(mut inner: WasiP1Ctx, quota: Quota, limits: &Limits) -> Guarded {
        // A file takes one entry while it is open, a subscription one or two for the time of a poll, and the standard
        // streams, the mounted directories and whatever one call needs take the rest.
        let subscriptions = 2 * limits.poll_subscriptions as usize;
        inner.ctx().table.set_max_capacity(limits.open_files.saturating_add(subscriptions).saturating_add(64));
        Guarded { inner, quota, poll_subscriptions: limits.poll_subscriptions }
    }

    pub fn quota(&self) -> &Quota {
        &self.quota
    }

    /// What is at a path, not following a link in its last part; nothing when there is nothing.
    async fn at(&mut self, memory: Memory<'_, '_>, dir: Fd, path: GuestPtr<str>) -> Option<Filestat> {
        self.inner.path_filestat_get(memory, dir, Lookupflags::empty(), path).await.ok()
    }

    /// The file and its length, if `stat` is a file with one name left.
    fn last_name(stat: &Filestat) -> Option<(FileId, u64)> {
        (stat.filetype == Filetype::RegularFile && stat.nlink <= 1).then_some((stat.ino, stat.size))
    }

    /// Asks the quota for a write of what is in `buffers`. None for a standard stream, which has a cap of its own.
    async fn before_write(
        &mut self,
        memory: Memory<'_, '_>,
        fd: Fd,
        buffers: types::CiovecArray,
        offset: Offset,
    ) -> Result<Option<Write>> {
        if self.quota.file(fd.into()).is_none() {
            return Ok(None);
        }
        let length = self.inner.fd_filestat_get(memory, fd).await?.size;
        let appends = self.inner.fd_fdstat_get(memory, fd).await?.fs_flags.contains(types::Fdflags::APPEND);
        let start = match offset {
            _ if appends => length,
            Offset::At(offset) => offset,
            Offset::Current => self.inner.fd_tell(memory, fd)?,
        };
        let write = Write { start, length };
        self.quota.may_grow(length, write.length_after(first_buffer(memory, buffers)?))?;
        Ok(Some(write))
    }

    fn after_write(&mut self, write: Option<Write>, written: types::Size) {
        if let Some(write) = write
            && written > 0
        {
            self.quota.wrote(written.into());
            self.quota.resized(write.length, write.length_after(written.into()));
        }
    }
}

/// A write to a file: where it starts, and the file's length before it.
struct Write {
    start: u64,
    length: u64,
}

impl Write {
    fn length_after(&self, bytes: u64) -> u64 {
        if bytes == 0 { self.length } else { self.length.max(self.start.saturating_add(bytes)) }
    }
}

#[derive(Clone, Copy)]
enum Offset {
    Current,
    At(u64),
}

/// The length of the first buffer that is not empty: one call writes no more than that.
fn first_buffer(memory: &GuestMemory<'_>, buffers: types::CiovecArray) -> Result<u64> {
    for buffer in buffers.iter() {
        let buffer = memory.read(buffer?)?;
        if buffer.buf_len > 0 {
            return Ok(buffer.buf_len.into());
        }
    }
    Ok(0)
}

/// Hands calls on as they are.
macro_rules! hand_on {
    ($(async $name:ident($($arg:ident: $ty:ty),*) -> $out:ty;)*) => {
        $(async fn $name(&mut self, memory: Memory<'_, '_>, $($arg: $ty),*) -> Result<$out> {
            self.inner.$name(memory, $($arg),*).await
        })*
    };
    ($($name:ident($($arg:ident: $ty:ty),*) -> $out:ty;)*) => {
        $(fn $name(&mut self, memory: Memory<'_, '_>, $($arg: $ty),*) -> Result<$out> {
            self.inner.$name(memory, $($arg),*)
        })*
    };
}

impl WasiSnapshotPreview1 for Guarded {
    fn set_hostcall_fuel(&mut self, fuel: usize) {
        self.inner.set_hostcall_fuel(fuel);
    }

    hand_on! {
        args_get(argv: GuestPtr<GuestPtr<u8>>, buffer: GuestPtr<u8>) -> ();
        args_sizes_get() -> (types::Size, types::Size);
        environ_get(environ: GuestPtr<GuestPtr<u8>>, buffer: GuestPtr<u8>) -> ();
        environ_sizes_get() -> (types::Size, types::Size);
        clock_res_get(id: types::Clockid) -> types::Timestamp;
        clock_time_get(id: types::Clockid, precision: types::Timestamp) -> types::Timestamp;
        fd_allocate(fd: Fd, offset: types::Filesize, len: types::Filesize) -> ();
        fd_fdstat_set_flags(fd: Fd, flags: types::Fdflags) -> ();
        fd_fdstat_set_rights(fd: Fd, base: types::Rights, inheriting: types::Rights) -> ();
        fd_prestat_get(fd: Fd) -> types::Prestat;
        fd_prestat_dir_name(fd: Fd, path: GuestPtr<u8>, len: types::Size) -> ();
        fd_tell(fd: Fd) -> types::Filesize;
        proc_raise(signal: types::Signal) -> ();
        sched_yield() -> ();
        random_get(buffer: GuestPtr<u8>, len: types::Size) -> ();
    }

    hand_on! {
        async fd_advise(fd: Fd, offset: types::Filesize, len: types::Filesize, advice: types::Advice) -> ();
        async fd_datasync(fd: Fd) -> ();
        async fd_fdstat_get(fd: Fd) -> types::Fdstat;
        async fd_filestat_get(fd: Fd) -> Filestat;
        async fd_read(fd: Fd, buffers: types::IovecArray) -> types::Size;
        async fd_pread(fd: Fd, buffers: types::IovecArray, offset: types::Filesize) -> types::Size;
        async fd_seek(fd: Fd, offset: types::Filedelta, whence: types::Whence) -> types::Filesize;
        async fd_sync(fd: Fd) -> ();
        async fd_readdir(fd: Fd, buffer: GuestPtr<u8>, len: types::Size, cookie: types::Dircookie) -> types::Size;
        async path_filestat_get(dir: Fd, flags: Lookupflags, path: GuestPtr<str>) -> Filestat;
        async path_readlink(dir: Fd, path: GuestPtr<str>, buffer: GuestPtr<u8>, len: types::Size) -> types::Size;
    }

    async fn fd_write(&mut self, memory: Memory<'_, '_>, fd: Fd, buffers: types::CiovecArray) -> Result<types::Size> {
        let write = self.before_write(memory, fd, buffers, Offset::Current).await?;
        let written = self.inner.fd_write(memory, fd, buffers).await?;
        self.after_write(write, written);
        Ok(written)
    }

    async fn fd_pwrite(
        &mut self,
        memory: Memory<'_, '_>,
        fd: Fd,
        buffers: types::CiovecArray,
        offset: types::Filesize,
    ) -> Result<types::Size> {
        let write = self.before_write(memory, fd, buffers, Offset::At(offset)).await?;
        let written = self.inner.fd_pwrite(memory, fd, buffers, offset).await?;
        self.after_write(write, written);
        Ok(written)
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
        self.quota.closed(descriptor, length);
        Ok(())
    }

    async fn fd_renumber(&mut self, memory: Memory<'_, '_>, from: Fd, to: Fd) -> Result<()> {
        let length = self.inner.fd_filestat_get(memory, to).await?.size;
        self.inner.fd_renumber(memory, from, to).await?;
        if u32::from(from) != u32::from(to) {
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
        self.quota.may_open().map_err(|Full| Errno::Mfile)?;
        let before = if how.intersects(Oflags::CREAT | Oflags::TRUNC) {
            self.inner.path_filestat_get(memory, dir, lookup, path).await.ok()
        } else {
            None
        };
        let creates = how.contains(Oflags::CREAT) && before.is_none();
        if creates {
            self.quota.may_create()?;
        }
        let fd = self.inner.path_open(memory, dir, lookup, path, how, base, inheriting, flags).await?;
        let file = self.inner.fd_filestat_get(memory, fd).await.map_or(0, |stat| stat.ino);
        self.quota.opened(fd.into(), file);
        if creates {
            self.quota.created();
        }
        if let Some(before) = before
            && how.contains(Oflags::TRUNC)
            && before.filetype == Filetype::RegularFile
        {
            self.quota.resized(before.size, 0);
        }
        Ok(fd)
    }

    async fn path_create_directory(&mut self, memory: Memory<'_, '_>, dir: Fd, path: GuestPtr<str>) -> Result<()> {
        self.quota.may_create()?;
        self.inner.path_create_directory(memory, dir, path).await?;
        self.quota.created();
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
        self.quota.may_create()?;
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
        self.quota.may_create()?;
        self.inner.path_symlink(memory, target, dir, path).await?;
        self.quota.created();
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
        let moved = self.at(memory, from, old).await;
        let replaced = self.at(memory, to, new).await;
        self.inner.path_rename(memory, from, old, to, new).await?;
        self.quota.touch();
        if let (Some(moved), Some(replaced)) = (moved, replaced)
            && moved.ino != replaced.ino
        {
            self.quota.removed(Guarded::last_name(&replaced));
        }
        Ok(())
    }

    async fn path_unlink_file(&mut self, memory: Memory<'_, '_>, dir: Fd, path: GuestPtr<str>) -> Result<()> {
        let removed = self.at(memory, dir, path).await;
        self.inner.path_unlink_file(memory, dir, path).await?;
        self.quota.removed(removed.as_ref().and_then(Guarded::last_name));
        Ok(())
    }

    async fn path_remove_directory(&mut self, memory: Memory<'_, '_>, dir: Fd, path: GuestPtr<str>) -> Result<()> {
        self.inner.path_remove_directory(memory, dir, path).await?;
        self.quota.removed(None);
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

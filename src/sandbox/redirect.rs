//! The imports of [`Mounted`]: paths are looked up among the call's folders first, and everything else is handed on.

use wasmtime_wasi::p1::types::{self, Errno, Fd, Filestat, Lookupflags, Oflags};
use wasmtime_wasi::p1::wasi_snapshot_preview1::WasiSnapshotPreview1;
use wiggle::{GuestMemory, GuestPtr};

use super::hand_on::{hand_on, hand_on_the_rest};
use super::mounts::{Mounted, Place};
use super::wasi::{Memory, Result};

/// Runs `$call` with the directory and the path as the guest gave them or, for a path in a mounted folder, with its own.
macro_rules! redirect {
    ($place:expr, $memory:ident, $dir:ident, $path:ident, $call:expr) => {
        match $place {
            None => $call,
            Some(place) => {
                let (mut text, $dir, length) = place.parts();
                let $path = GuestPtr::<str>::new((0, length));
                let $memory = &mut GuestMemory::Unshared(&mut text);
                $call
            }
        }
    };
}

/// A memory with both paths of a call that takes two, each where it really leads.
struct Two {
    text: Vec<u8>,
    dirs: [Fd; 2],
    lengths: [u32; 2],
}

impl Two {
    fn paths(&self) -> [GuestPtr<str>; 2] {
        let [first, second] = self.lengths;
        [GuestPtr::new((0, first)), GuestPtr::new((first, second))]
    }
}

impl Mounted {
    /// Both paths of a call, if one of them leads elsewhere. Neither may be a mounted folder's own.
    async fn two(&mut self, memory: Memory<'_, '_>, names: [(Fd, GuestPtr<str>); 2]) -> Result<Option<Two>> {
        let mut places: [Option<Place>; 2] = [None, None];
        for (place, (dir, path)) in places.iter_mut().zip(names) {
            *place = self.place_of_name(memory, dir, path).await?;
        }
        if places.iter().all(Option::is_none) {
            return Ok(None);
        }
        let mut two = Two { text: Vec::new(), dirs: names.map(|(dir, _)| dir), lengths: [0; 2] };
        for (at, (place, (_, path))) in places.into_iter().zip(names).enumerate() {
            let text = match place {
                Some(place) => {
                    let (text, dir, _) = place.parts();
                    two.dirs[at] = dir;
                    text
                }
                None => memory.as_cow_str(path)?.as_bytes().to_vec(),
            };
            two.lengths[at] = text.len() as u32;
            two.text.extend(text);
        }
        Ok(Some(two))
    }
}

impl WasiSnapshotPreview1 for Mounted {
    hand_on_the_rest!();

    hand_on! {
        random_get(buffer: GuestPtr<u8>, len: types::Size) -> ();
        sock_accept(fd: Fd, flags: types::Fdflags) -> Fd;
        sock_recv(fd: Fd, data: types::IovecArray, flags: types::Riflags) -> (types::Size, types::Roflags);
        sock_send(fd: Fd, data: types::CiovecArray, flags: types::Siflags) -> types::Size;
        sock_shutdown(fd: Fd, how: types::Sdflags) -> ();
    }

    hand_on! {
        async fd_datasync(fd: Fd) -> ();
        async fd_filestat_set_size(fd: Fd, size: types::Filesize) -> ();
        async fd_filestat_set_times(fd: Fd, atim: types::Timestamp, mtim: types::Timestamp, flags: types::Fstflags) -> ();
        async fd_pread(fd: Fd, buffers: types::IovecArray, offset: types::Filesize) -> types::Size;
        async fd_pwrite(fd: Fd, buffers: types::CiovecArray, offset: types::Filesize) -> types::Size;
        async fd_read(fd: Fd, buffers: types::IovecArray) -> types::Size;
        async fd_readdir(fd: Fd, buffer: GuestPtr<u8>, len: types::Size, cookie: types::Dircookie) -> types::Size;
        async fd_sync(fd: Fd) -> ();
        async fd_write(fd: Fd, buffers: types::CiovecArray) -> types::Size;
        async poll_oneoff(
            subscriptions: GuestPtr<types::Subscription>, events: GuestPtr<types::Event>, count: types::Size
        ) -> types::Size;
    }

    async fn fd_close(&mut self, memory: Memory<'_, '_>, fd: Fd) -> Result<()> {
        self.inner.fd_close(memory, fd).await?;
        self.roots.closed(fd);
        self.mounts.closed(fd);
        Ok(())
    }

    async fn fd_renumber(&mut self, memory: Memory<'_, '_>, from: Fd, to: Fd) -> Result<()> {
        self.inner.fd_renumber(memory, from, to).await?;
        self.roots.renumbered(from, to);
        self.mounts.renumbered(from, to);
        Ok(())
    }

    async fn path_filestat_get(
        &mut self,
        memory: Memory<'_, '_>,
        dir: Fd,
        flags: Lookupflags,
        path: GuestPtr<str>,
    ) -> Result<Filestat> {
        let place = self.place(memory, dir, path).await?;
        redirect!(place, memory, dir, path, self.inner.path_filestat_get(memory, dir, flags, path).await)
    }

    async fn path_readlink(
        &mut self,
        memory: Memory<'_, '_>,
        dir: Fd,
        path: GuestPtr<str>,
        buffer: GuestPtr<u8>,
        len: types::Size,
    ) -> Result<types::Size> {
        let Some(place) = self.place(memory, dir, path).await? else {
            return self.inner.path_readlink(memory, dir, path, buffer, len).await;
        };
        let (mut own, dir, length) = place.parts();
        // No link is longer than a path may be; what the guest has room for beyond that stays as it is.
        let room = len.min(self.inner.path_bytes as u32);
        own.resize(length as usize + room as usize, 0);
        let target = GuestPtr::<u8>::new(length);
        let path = GuestPtr::<str>::new((0, length));
        let read = self.inner.path_readlink(&mut GuestMemory::Unshared(&mut own), dir, path, target, room).await?;
        let link = &own[length as usize..][..read as usize];
        memory.copy_from_slice(link, buffer.as_array(read))?;
        Ok(read)
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
        let place = self.place(memory, dir, path).await?;
        redirect!(
            place,
            memory,
            dir,
            path,
            self.inner.path_filestat_set_times(memory, dir, lookup, path, atim, mtim, flags).await
        )
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
        let place = self.place(memory, dir, path).await?;
        let from = place.as_ref().map_or(dir, Place::dir);
        let opened = redirect!(
            place,
            memory,
            dir,
            path,
            self.inner.path_open(memory, dir, lookup, path, how, base, inheriting, flags).await
        )?;
        self.roots.opened(opened, from);
        Ok(opened)
    }

    async fn path_create_directory(&mut self, memory: Memory<'_, '_>, dir: Fd, path: GuestPtr<str>) -> Result<()> {
        // The engine says that a mounted folder is there.
        let place = self.place(memory, dir, path).await?;
        redirect!(place, memory, dir, path, self.inner.path_create_directory(memory, dir, path).await)
    }

    async fn path_unlink_file(&mut self, memory: Memory<'_, '_>, dir: Fd, path: GuestPtr<str>) -> Result<()> {
        let place = self.place_of_name(memory, dir, path).await?;
        redirect!(place, memory, dir, path, self.inner.path_unlink_file(memory, dir, path).await)
    }

    async fn path_remove_directory(&mut self, memory: Memory<'_, '_>, dir: Fd, path: GuestPtr<str>) -> Result<()> {
        let place = self.place_of_name(memory, dir, path).await?;
        redirect!(place, memory, dir, path, self.inner.path_remove_directory(memory, dir, path).await)
    }

    async fn path_symlink(
        &mut self,
        memory: Memory<'_, '_>,
        target: GuestPtr<str>,
        dir: Fd,
        path: GuestPtr<str>,
    ) -> Result<()> {
        let Some(place) = self.place_of_name(memory, dir, path).await? else {
            return self.inner.path_symlink(memory, target, dir, path).await;
        };
        self.inner.check_path(target)?;
        let (mut text, dir, length) = place.parts();
        let target = memory.as_cow_str(target)?;
        text.extend(target.as_bytes());
        let target = GuestPtr::<str>::new((length, target.len() as u32));
        let path = GuestPtr::<str>::new((0, length));
        self.inner.path_symlink(&mut GuestMemory::Unshared(&mut text), target, dir, path).await
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
        let two = self.two(memory, [(from, old), (to, new)]).await?;
        // One file with a name inside and one outside would outlive the call.
        if self.roots.differ(two.as_ref().map_or([from, to], |two| two.dirs)) {
            return Err(Errno::Xdev.into());
        }
        let Some(mut two) = two else {
            return self.inner.path_link(memory, from, flags, old, to, new).await;
        };
        let ([from, to], [old, new]) = (two.dirs, two.paths());
        self.inner.path_link(&mut GuestMemory::Unshared(&mut two.text), from, flags, old, to, new).await
    }

    async fn path_rename(
        &mut self,
        memory: Memory<'_, '_>,
        from: Fd,
        old: GuestPtr<str>,
        to: Fd,
        new: GuestPtr<str>,
    ) -> Result<()> {
        let two = self.two(memory, [(from, old), (to, new)]).await?;
        // As between two file systems, which the folders are to the script: it copies instead.
        if self.roots.differ(two.as_ref().map_or([from, to], |two| two.dirs)) {
            return Err(Errno::Xdev.into());
        }
        let Some(mut two) = two else {
            return self.inner.path_rename(memory, from, old, to, new).await;
        };
        let ([from, to], [old, new]) = (two.dirs, two.paths());
        self.inner.path_rename(&mut GuestMemory::Unshared(&mut two.text), from, old, to, new).await
    }

    fn proc_exit(&mut self, memory: Memory<'_, '_>, code: types::Exitcode) -> wiggle::error::Error {
        self.inner.proc_exit(memory, code)
    }
}

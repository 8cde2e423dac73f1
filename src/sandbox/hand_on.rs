//! The functions of WASI that a context hands on to the one in it.
//!
//! The trait has every function, so one that is new and in neither list does not compile.

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

/// The functions that nobody here has a say in.
macro_rules! hand_on_the_rest {
    () => {
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
        }

        hand_on! {
            async fd_advise(fd: Fd, offset: types::Filesize, len: types::Filesize, advice: types::Advice) -> ();
            async fd_fdstat_get(fd: Fd) -> types::Fdstat;
            async fd_filestat_get(fd: Fd) -> Filestat;
            async fd_seek(fd: Fd, offset: types::Filedelta, whence: types::Whence) -> types::Filesize;
        }
    };
}

pub(super) use {hand_on, hand_on_the_rest};

//! `path_open` for guests that ask for more than there is.
//!
//! The engine's own takes its flags apart before anybody is asked and ends the guest over a bit that it does not know. Yet
//! programs ask for all rights by setting every bit, and a wrong flag is an error like any other.

use wasmtime::{AsContextMut, Caller, Extern, Linker};
use wasmtime_wasi::p1::types::{Errno, Fdflags, Lookupflags, Oflags, Rights};
use wasmtime_wasi::p1::wasi_snapshot_preview1::{self, WasiSnapshotPreview1};
use wiggle::GuestMemory;

use super::guest::Guest;

/// The arguments of `path_open`.
type Arguments = (i32, i32, i32, i32, i32, i64, i64, i32, i32);

/// Puts our `path_open` before the engine's.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    linker.func_wrap_async(
        "wasi_snapshot_preview1",
        "path_open",
        |mut caller: Caller<'_, Guest>,
         (dir, lookup, path, length, how, base, inheriting, flags, opened): Arguments| {
            Box::new(async move {
                if !known(lookup, how, flags) {
                    return Ok(Errno::Inval as i32);
                }
                let Some(Extern::Memory(memory)) = caller.get_export("memory") else {
                    wasmtime::bail!("missing required memory export");
                };
                let fuel = caller.as_context_mut().hostcall_fuel();
                let (memory, guest) = memory.data_and_store_mut(&mut caller);
                guest.wasi.set_hostcall_fuel(fuel);
                let mut memory = GuestMemory::Unshared(memory);
                // Rights are not kept by this engine: one that it does not know is as good as none.
                let [base, inheriting] = [base, inheriting].map(|rights| rights & Rights::all().bits() as i64);
                let wasi = &mut guest.wasi;
                wasi_snapshot_preview1::path_open(
                    wasi,
                    &mut memory,
                    dir,
                    lookup,
                    path,
                    length,
                    how,
                    base,
                    inheriting,
                    flags,
                    opened,
                )
                .await
            })
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

/// Whether the engine knows each of these flags.
fn known(lookup: i32, how: i32, flags: i32) -> bool {
    let [lookup, how, flags] = [lookup, how, flags].map(|bits| bits as u32);
    lookup & !Lookupflags::all().bits() == 0
        && how & !u32::from(Oflags::all().bits()) == 0
        && flags & !u32::from(Fdflags::all().bits()) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_there_is_is_known_and_no_other() {
        assert!(known(1, 0b1111, 0b1_1111));
        for (lookup, how, flags) in [(2, 0, 0), (0, 16, 0), (0, 0, 32), (-1, 0, 0), (0, 1 << 16, 0), (0, 0, i32::MIN)] {
            assert!(!known(lookup, how, flags), "{lookup} {how} {flags}");
        }
    }
}

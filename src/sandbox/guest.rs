//! What a store holds: the guest's WASI context and the limits the engine asks about.

use wasmtime::{Linker, ResourceLimiter};
use wasmtime_wasi::p1::wasi_snapshot_preview1;

use super::mounts::Mounted;
use super::rights;
use crate::Limits;

/// The state of one call's store.
pub(crate) struct Guest {
    pub(super) wasi: Mounted,
    pub(super) limiter: Limiter,
}

/// Defines everything a guest can import.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    wasi_snapshot_preview1::add_to_linker(linker, |guest: &mut Guest| &mut guest.wasi)?;
    rights::link(linker)?;
    // CPython's build has a door to functions of its host. There are none here: the answer is "no host".
    linker.func_wrap("host", "call", |_: i32, _: i32, _: i32, _: i32| -1_i32)?;
    Ok(())
}

/// Answers the engine when a guest wants more memory or a larger table.
pub(super) struct Limiter {
    memory_bytes: usize,
    table_elements: usize,
    tables: usize,
    /// The most linear memory so far.
    pub peak_memory_bytes: usize,
    /// The most elements of one table so far.
    pub peak_table_elements: usize,
}

impl Limiter {
    pub fn new(limits: &Limits, image_bytes: usize) -> Limiter {
        Limiter {
            memory_bytes: usize::try_from(limits.memory_bytes).unwrap_or(usize::MAX),
            table_elements: limits.table_elements,
            tables: limits.tables,
            peak_memory_bytes: image_bytes,
            peak_table_elements: 0,
        }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, _: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        // The engine asks before it looks at the module's own maximum, and what that refuses is no peak.
        let allowed = desired <= self.memory_bytes && maximum.is_none_or(|maximum| desired <= maximum);
        if allowed {
            self.peak_memory_bytes = self.peak_memory_bytes.max(desired);
        }
        Ok(allowed)
    }

    fn table_growing(&mut self, _: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = desired <= self.table_elements && maximum.is_none_or(|maximum| desired <= maximum);
        if allowed {
            self.peak_table_elements = self.peak_table_elements.max(desired);
        }
        Ok(allowed)
    }

    // One module is instantiated once, and images hold one memory; the second memory is the engine's heap for
    // exception objects.
    fn instances(&self) -> usize {
        1
    }

    fn tables(&self) -> usize {
        self.tables
    }

    fn memories(&self) -> usize {
        2
    }
}

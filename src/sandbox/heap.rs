//! Tidying a guest's heap before its image is taken.
//!
//! A warm-up leaves gaps all over the heap. A call allocates in them, so that a hundred small objects touch a hundred
//! pages, and each page that a call writes is copied back after it. With the gaps taken, what a call allocates lies
//! together at the heap's end.

use wasmtime::{Instance, Store, TypedFunc};

use super::Guest;

/// The heap of a module that exports its C library's `malloc` and `free`.
pub(super) struct Heap {
    malloc: TypedFunc<u32, u32>,
    free: TypedFunc<u32, ()>,
}

/// Free memory at the heap's end that an image holds, so that a usual call need not grow its memory.
const SLACK_BYTES: u32 = 4 << 20;

/// Blocks up to this size fill the gaps. A gap of more than a page is as good as the end.
const LARGEST_BLOCK: u32 = 4096;

/// Allocators hand out memory in steps no smaller than this.
const STEP: u32 = 8;

impl Heap {
    /// The heap of a module that exports what it takes.
    pub fn of(store: &mut Store<Guest>, instance: &Instance) -> Option<Heap> {
        let malloc = instance.get_typed_func(&mut *store, "malloc").ok()?;
        let free = instance.get_typed_func(&mut *store, "free").ok()?;
        Some(Heap { malloc, free })
    }

    /// Allocates blocks of every size, the largest first, each until they come from the heap's end. Those stay taken
    /// that lay in gaps. A guest that answers nonsense spoils its own image and nothing else.
    pub async fn fill_gaps(&self, store: &mut Store<Guest>) -> wasmtime::Result<()> {
        let end = self.malloc.call_async(&mut *store, SLACK_BYTES).await?;
        self.free.call_async(&mut *store, end).await?;
        // Given back when all is done: before that, they would be taken again ahead of the gaps.
        let mut beyond = Vec::new();
        for size in (STEP..=LARGEST_BLOCK).rev().step_by(STEP as usize) {
            let enough = if size > 256 { LARGEST_BLOCK } else { 16 * LARGEST_BLOCK };
            let mut in_a_row = 0;
            while in_a_row < enough {
                let block = self.malloc.call_async(&mut *store, size).await?;
                if block == 0 {
                    break;
                }
                if block >= end {
                    beyond.push(block);
                    in_a_row += size;
                } else {
                    in_a_row = 0;
                }
            }
        }
        while let Some(block) = beyond.pop() {
            self.free.call_async(&mut *store, block).await?;
        }
        Ok(())
    }
}

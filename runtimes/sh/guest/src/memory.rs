//! Memory that runs out ends the shell with a line that says so, not with the trap and the text of Rust's own handler.
#![allow(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout, System};

use crate::failure;

/// The system's allocator, whose requests are granted or end the shell.
struct GrantedOrEnd;

#[global_allocator]
static ALLOCATOR: GrantedOrEnd = GrantedOrEnd;

fn granted(block: *mut u8) -> *mut u8 {
    if block.is_null() {
        failure::end_without_memory();
    }
    block
}

// SAFETY: every call is the system allocator's, with what it was called with.
unsafe impl GlobalAlloc for GrantedOrEnd {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        granted(unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        granted(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise.
        granted(unsafe { System.realloc(block, layout, size) })
    }
}

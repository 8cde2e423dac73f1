//! The functions that the host calls.
#![allow(unsafe_code, reason = "exported functions and the text that the host writes into memory")]

use std::cell::RefCell;

use crate::failure::{self, Failure};
use crate::request::Request;
use crate::shell::Shell;

thread_local! {
    /// The shell that calls start from. It is part of the image.
    static SHELL: RefCell<Option<Shell>> = const { RefCell::new(None) };
}

/// Memory for `length` bytes, to be handed back with [`turn`].
#[unsafe(no_mangle)]
pub extern "C" fn host_alloc(length: usize) -> *mut u8 {
    Box::leak(vec![0_u8; length].into_boxed_slice()).as_mut_ptr()
}

/// Runs the text at `pointer` and returns its exit status.
///
/// # Safety
///
/// `pointer` is what [`host_alloc`] returned for at least `length` bytes, and the text is not used after the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn turn(pointer: *const u8, length: usize) -> i32 {
    // SAFETY: the caller's promise. The memory is never freed: an instance serves one call.
    let text = unsafe { std::slice::from_raw_parts(pointer, length) };
    SHELL.with_borrow_mut(|shell| {
        let shell = shell.get_or_insert_with(|| {
            failure::install_panic_hook();
            Shell::new()
        });
        match text {
            [b'{', ..] => {
                Request::parse(text).map_or_else(|failure| failure.report("sh"), |request| shell.run(request))
            }
            _ => match std::str::from_utf8(text) {
                Ok(text) => shell.prepare(text),
                Err(_) => Failure::usage("the warm-up is not UTF-8").report("sh"),
            },
        }
    })
}

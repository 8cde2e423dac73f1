//! The directory of the call that an instance serves.
//!
//! While the image is made it has another name, of the same length, and the host writes the call's over it wherever the
//! memory holds it. A shell whose working directory it is from the start need not change it in each call.
#![allow(unsafe_code, reason = "Rust's library has no list of the directories that a program is given")]

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn fd_prestat_get(descriptor: u32, answer: *mut [u32; 2]) -> u32;
    fn fd_prestat_dir_name(descriptor: u32, path: *mut u8, length: usize) -> u32;
}

/// The first descriptor after the standard streams.
const FIRST: u32 = 3;

/// The path of the last directory the host gave, which is the call's own.
pub fn of_call() -> Option<String> {
    (FIRST..).map_while(name).last()
}

fn name(descriptor: u32) -> Option<String> {
    let mut answer = [0; 2];
    // SAFETY: `answer` is as large as WASI's `prestat`, a tag and a length.
    if unsafe { fd_prestat_get(descriptor, &raw mut answer) } != 0 {
        return None;
    }
    let mut path = vec![0; answer[1] as usize];
    // SAFETY: `path` has the length that is given with it.
    if unsafe { fd_prestat_dir_name(descriptor, path.as_mut_ptr(), path.len()) } != 0 {
        return None;
    }
    String::from_utf8(path).ok()
}

//! Making symbolic links.
#![allow(unsafe_code, reason = "Rust's stable library cannot make a link on WASI; the C library that it uses can")]

use std::ffi::{CString, c_char, c_int};
use std::io;
use std::path::{Path, PathBuf};

unsafe extern "C" {
    fn symlink(target: *const c_char, link: *const c_char) -> c_int;
}

/// Makes `link` point to `target`.
pub fn make(target: &Path, link: &Path) -> io::Result<()> {
    let target = CString::new(from_folder(target, link).into_os_string().into_encoded_bytes())?;
    let link = CString::new(link.as_os_str().as_encoded_bytes())?;
    // SAFETY: both are texts that end with a NUL and live until the call returns.
    match unsafe { symlink(target.as_ptr(), link.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A link's target as WASI takes it, which is never from the root: the way from the link's folder.
fn from_folder(target: &Path, link: &Path) -> PathBuf {
    let (Ok(wanted), Some(folder)) = (target.strip_prefix("/"), link.parent()) else { return target.to_owned() };
    let folder: Vec<_> = folder.components().skip(1).collect();
    let wanted: Vec<_> = wanted.components().collect();
    let shared = folder.iter().zip(&wanted).take_while(|(left, right)| left == right).count();
    let mut path: PathBuf = std::iter::repeat_n("..", folder.len() - shared).collect();
    path.extend(&wanted[shared..]);
    path
}

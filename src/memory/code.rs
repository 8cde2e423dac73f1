//! The one call that loads compiled code.

use std::path::Path;

use wasmtime::{Engine, Module};

/// Maps a file of compiled code into the process.
///
/// The file is native code. The caller, [`crate::runtime::code`], vouches that it lies in a folder that only this user
/// can write, that no guest is ever given, and that its digest is the one written down when it was compiled.
pub(crate) fn load_code(engine: &Engine, path: &Path) -> wasmtime::Result<Module> {
    // SAFETY: the file was written by `Engine::precompile_module` of this crate and has not changed since: the caller
    // checked owner, mode and digest (see above). The engine itself refuses a file of another version or
    // configuration.
    unsafe { Module::deserialize_file(engine, path) }
}

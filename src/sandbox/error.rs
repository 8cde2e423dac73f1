//! Why a call did not come to an outcome.

use std::io;
use std::path::PathBuf;

use super::CallError;

/// What can go wrong in a call that is not the script's doing.
#[derive(Debug)]
pub(crate) enum RunError {
    /// The caller cancelled the call.
    Cancelled,
    /// The call itself cannot be made.
    Refused(CallError),
    /// The temporary directory could not be made or filled.
    Scratch(io::Error),
    /// What the script left could not be copied to `target`.
    Keep { target: PathBuf, error: io::Error },
    /// The engine failed.
    Engine(wasmtime::Error),
}

impl From<CallError> for RunError {
    fn from(error: CallError) -> RunError {
        RunError::Refused(error)
    }
}

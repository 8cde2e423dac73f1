//! Why a call did not come to an outcome.

use std::io;
use std::path::PathBuf;

use super::{CallError, InputFile};

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

/// A file that could not be placed. That a name cannot be is known to the system alone, which may take `a` and `A` for
/// one, or a name for a device's; then it is the call that is wrong.
pub(super) fn not_placed(file: &InputFile, error: io::Error) -> RunError {
    use io::ErrorKind::{AlreadyExists, InvalidFilename, InvalidInput, IsADirectory, NotADirectory};
    match error.kind() {
        AlreadyExists | InvalidFilename | InvalidInput | IsADirectory | NotADirectory => {
            CallError::FileName { path: file.path.clone(), problem: error.to_string() }.into()
        }
        _ => RunError::Scratch(error),
    }
}

impl From<CallError> for RunError {
    fn from(error: CallError) -> RunError {
        RunError::Refused(error)
    }
}

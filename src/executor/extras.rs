//! What a call may be given beyond the contract's request.

use crate::sandbox::{Folder, InputFile, Sink};

/// What a call is given beyond a [`ScriptRequest`](crate::ScriptRequest), which has none of it. Default: nothing.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Extras {
    /// Arguments behind the script's name.
    pub arguments: Vec<String>,
    /// Variables besides those that every script has.
    pub environment: Vec<(String, String)>,
    /// Files in the working directory.
    pub files: Vec<InputFile>,
    /// Host folders in the working directory.
    pub folders: Vec<Folder>,
    /// Where standard output goes as it comes, instead of into the outcome.
    pub stdout: Option<Sink>,
    /// Where standard error goes as it comes, instead of into the outcome.
    pub stderr: Option<Sink>,
}

impl Extras {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        let Extras { arguments, environment, files, folders, stdout, stderr } = self;
        arguments.is_empty()
            && environment.is_empty()
            && files.is_empty()
            && folders.is_empty()
            && stdout.is_none()
            && stderr.is_none()
    }
}

//! Why a task did not run.

use std::path::PathBuf;

use crate::host::HostError;
use crate::install::InstallError;

/// Why a task did not run, or nobody knows what came of it. A task that fails is a [`TaskResult`](super::TaskResult).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// There is no such task.
    #[error("there is no task `{id}`; there are: {known}")]
    Unknown {
        /// Its id.
        id: String,
        /// Those there are.
        known: String,
    },
    /// A file of the task is missing, leads out of the folder, or is no text.
    #[error(
        "the task `{task}`: `{}` cannot be read in the folder of the tasks, `{}`: {error}; it must be a file there, and no \
         link out of it",
        path.display(), folder.display()
    )]
    File {
        /// The task.
        task: String,
        /// The file.
        path: PathBuf,
        /// The folder.
        folder: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A call gives something that cannot be.
    #[error("the call of the task `{task}`: {what} is {value:?}, but {expected}")]
    Call {
        /// The task.
        task: String,
        /// What.
        what: &'static str,
        /// Its value.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// A variable of the host that the task was promised is no text.
    #[error(
        "the task `{task}`: the host's variable `{variable}` is not UTF-8 text, which no script can be given; leave it out"
    )]
    Variable {
        /// The task.
        task: String,
        /// The variable.
        variable: String,
    },
    /// The program was not made ready.
    #[error(
        "the task `{task}`: its program is not ready; compile it with `TaskSet::program` and give it to the runner"
    )]
    NotReady {
        /// The task.
        task: String,
    },
    /// The program is not the one that was compiled.
    #[error("the task `{task}`: `{}` is not the program that was compiled (SHA-256 {found}, was {compiled}); start again", path.display())]
    Changed {
        /// The task.
        task: String,
        /// The program.
        path: PathBuf,
        /// Its digest now.
        found: String,
        /// Its digest then.
        compiled: String,
    },
    /// The program cannot be compiled.
    #[error("the task `{task}`: {problem}")]
    Text {
        /// The task.
        task: String,
        /// What is wrong with its text.
        problem: String,
    },
    /// The program cannot be compiled.
    #[error("the task `{task}`: {error}")]
    Program {
        /// The task.
        task: String,
        /// Why.
        error: Box<InstallError>,
    },
    /// The host denied it, or could not write it down.
    #[error("the task `{task}` was not run: {error}")]
    Host {
        /// The task.
        task: String,
        /// Why.
        error: Box<HostError>,
    },
}

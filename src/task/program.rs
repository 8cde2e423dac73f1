//! Programs: a task's WASI program, compiled ahead of its first run.

use super::{Task, TaskError, TaskRuntime, TaskSet};
use crate::install::{Compiler, Installer, Step};

/// A task's program, compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskProgram {
    /// The task.
    pub task: String,
    /// The value that an executor's allow-list has to map to `image`.
    pub interpreter: String,
    /// The image that the program was compiled to.
    pub image: String,
    /// The digest of its file.
    pub(super) sha256: String,
}

impl TaskSet {
    /// Compiles the program of an `executable` task, unless that was done before; text (`.wat`) is made a module first.
    /// Nothing for a task that is a script. Takes seconds, without awaiting.
    pub fn program(
        &self,
        task: &Task,
        installer: &Installer,
        compiler: &Compiler,
        progress: &mut dyn FnMut(Step),
    ) -> Result<Option<TaskProgram>, TaskError> {
        if task.runtime != TaskRuntime::Executable {
            return Ok(None);
        }
        let file = self.read(task, &task.entrypoint)?;
        let module = crate::assembled(&file)
            .map_err(|error| TaskError::Text { task: task.id.clone(), problem: error.to_string() })?;
        let image = installer
            .program(&module, compiler, progress)
            .map_err(|error| TaskError::Program { task: task.id.clone(), error: Box::new(error) })?;
        let interpreter = format!("program/{}", task.id);
        Ok(Some(TaskProgram { task: task.id.clone(), interpreter, image, sha256: digest(&file) }))
    }
}

/// The digest of a program's file.
pub(super) fn digest(file: &[u8]) -> String {
    use sha2::Digest;
    crate::runtime::digest::hex(&sha2::Sha256::digest(file))
}

//! The tasks of a folder, from its `tasks.toml`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::{Task, TaskDefinitionError, TaskError, TaskRuntime};
use crate::permissions::Permissions;
use crate::sandbox::reading;

/// The tasks of a folder. Their entrypoints lie in it, and no path or link leads out.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSet {
    folder: PathBuf,
    /// Where they were read from.
    file: Option<PathBuf>,
    tasks: BTreeMap<String, Task>,
}

/// Why a `tasks.toml` cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskSetError {
    /// It cannot be read.
    #[error("the tasks `{}` cannot be read: {error}; name the file with --tasks FILE", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is no TOML, or has a key or a value that cannot be.
    #[error("the tasks cannot be understood: {0}")]
    Parse(toml::de::Error),
    /// A task that cannot be meant.
    #[error(transparent)]
    Task(#[from] TaskDefinitionError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    tasks: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    description: Option<String>,
    #[serde(default)]
    runtime: TaskRuntime,
    entrypoint: PathBuf,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    files: Vec<PathBuf>,
    #[serde(default, deserialize_with = "duration")]
    timeout: Option<Duration>,
    #[serde(default)]
    retries: u32,
    #[serde(default, deserialize_with = "duration")]
    retry_delay: Option<Duration>,
    #[serde(default)]
    permissions: Permissions,
    #[serde(default)]
    metadata: Map<String, Value>,
    #[serde(default)]
    disabled: bool,
}

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let wrong = |_| serde::de::Error::custom(format!("{text:?} is no duration; write \"5s\", \"250ms\" or \"5m\""));
    humantime::parse_duration(&text).map(Some).map_err(wrong)
}

/// The largest file that is read for a task: what the sandbox takes as a script by default.
const FILE_BYTES: u64 = 64 << 20;

impl TaskSet {
    /// Tasks whose files are in `folder`. Of two with one id the later counts.
    pub fn new(folder: impl Into<PathBuf>, tasks: impl IntoIterator<Item = Task>) -> TaskSet {
        TaskSet {
            folder: folder.into(),
            file: None,
            tasks: tasks.into_iter().map(|task| (task.id.clone(), task)).collect(),
        }
    }

    /// Reads TOML: a table `[tasks.ID]` for each task. Unknown keys are refused, and so is the whole when one task is.
    pub fn from_toml(text: &str, folder: impl Into<PathBuf>) -> Result<TaskSet, TaskSetError> {
        let file: File = toml::from_str(text).map_err(TaskSetError::Parse)?;
        let tasks = file.tasks.into_iter().map(|(id, entry)| {
            let mut builder = Task::builder(id)
                .runtime(entry.runtime)
                .args(entry.args)
                .permissions(entry.permissions)
                .retries(entry.retries, entry.retry_delay.unwrap_or_default())
                .disabled(entry.disabled)
                .entrypoint(entry.entrypoint);
            if let Some(description) = entry.description {
                builder = builder.description(description);
            }
            if let Some(timeout) = entry.timeout {
                builder = builder.timeout(timeout);
            }
            builder = entry.env.into_iter().fold(builder, |builder, (name, value)| builder.env(name, value));
            builder = entry.files.into_iter().fold(builder, |builder, file| builder.file(file));
            builder = entry.metadata.into_iter().fold(builder, |builder, (key, value)| builder.metadata(key, value));
            builder.build()
        });
        Ok(TaskSet::new(folder, tasks.collect::<Result<Vec<_>, _>>()?))
    }

    /// Reads a file; its folder is that of the tasks.
    pub fn from_file(path: impl AsRef<Path>) -> Result<TaskSet, TaskSetError> {
        let read = |error| TaskSetError::Read { path: path.as_ref().to_owned(), error };
        let text = std::fs::read_to_string(&path).map_err(read)?;
        let path = std::path::absolute(&path).map_err(read)?;
        let mut set = TaskSet::from_toml(&text, path.parent().unwrap_or(Path::new("/")))?;
        set.file = Some(path);
        Ok(set)
    }

    /// The file that says what each task may do, if there is one.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The folder of the tasks.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All of them, by their ids.
    pub fn tasks(&self) -> impl Iterator<Item = &Task> {
        self.tasks.values()
    }

    /// The task of this id. The error lists what there is.
    pub fn get(&self, id: &str) -> Result<&Task, TaskError> {
        self.tasks.get(id).ok_or_else(|| {
            let known: Vec<&str> = self.tasks.keys().map(String::as_str).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            TaskError::Unknown { id: id.to_owned(), known }
        })
    }

    /// Reads a file of the folder, through a handle that no link leads out of.
    pub(super) fn read(&self, task: &Task, path: &Path) -> Result<Vec<u8>, TaskError> {
        let failed = |error| TaskError::File {
            task: task.id.clone(),
            path: path.to_owned(),
            folder: self.folder.clone(),
            error,
        };
        let folder = Dir::open_ambient_dir(&self.folder, ambient_authority()).map_err(failed)?;
        // One of another kind, such as a pipe, must not be waited for.
        let file = folder.open_with(path, &reading()).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(failed(std::io::Error::other("it is no file, but a folder, a pipe or a device")));
        }
        let mut bytes = Vec::new();
        file.take(FILE_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > FILE_BYTES {
            return Err(failed(std::io::Error::other(format!("it has more than {FILE_BYTES} bytes"))));
        }
        Ok(bytes)
    }

    /// The text of a task's script.
    pub(super) fn source(&self, task: &Task) -> Result<String, TaskError> {
        String::from_utf8(self.read(task, &task.entrypoint)?).map_err(|error| TaskError::File {
            task: task.id.clone(),
            path: task.entrypoint.clone(),
            folder: self.folder.clone(),
            error: std::io::Error::new(
                std::io::ErrorKind::InvalidData,
                format!("it is not UTF-8 text: byte {} begins no character", error.utf8_error().valid_up_to()),
            ),
        })
    }
}

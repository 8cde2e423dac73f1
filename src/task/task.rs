//! A task: what runs, on what, with what, and what it may do.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::TaskRuntime;
use crate::permissions::Permissions;

/// A task. [`Task::builder`] makes one.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Task {
    /// Its name: letters, digits, `-`, `_` and `.`.
    pub id: String,
    /// What it is for.
    pub description: Option<String>,
    /// What it runs on. Default: JavaScript.
    pub runtime: TaskRuntime,
    /// Its script or program: a path in the folder of the tasks.
    pub entrypoint: PathBuf,
    /// Arguments; those of a call come behind them.
    pub args: Vec<String>,
    /// Variables; those of a call win over them.
    pub env: BTreeMap<String, String>,
    /// Files of the folder that lie in the working directory, under the same paths.
    pub files: Vec<PathBuf>,
    /// When it is stopped. Default: 300 s.
    #[serde(rename = "timeoutMs", serialize_with = "milliseconds")]
    pub timeout: Duration,
    /// How often it is tried again when it fails or is stopped at its timeout. Default: never.
    pub retries: u32,
    /// The wait before it is tried again. Default: none.
    #[serde(rename = "retryDelayMs", serialize_with = "milliseconds")]
    pub retry_delay: Duration,
    /// What it may do. Default: nothing.
    pub permissions: Permissions,
    /// Whatever else its owner keeps with it.
    pub metadata: Map<String, Value>,
    /// Whether it is skipped instead of run.
    pub disabled: bool,
}

fn milliseconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(duration.as_millis()).unwrap_or(u64::MAX))
}

/// The time after which a task is stopped that says nothing else.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(300);

/// A [`TaskBuilder`] that lacks its entrypoint, and so has no `build`.
#[derive(Debug)]
pub enum NoEntrypoint {}

/// A [`TaskBuilder`] that has its entrypoint.
#[derive(Debug)]
pub enum WithEntrypoint {}

/// Builds a [`Task`].
///
/// `build` is there once the entrypoint is set:
///
/// ```
/// use ampoule::task::{Task, TaskRuntime};
///
/// let task = Task::builder("hello").runtime(TaskRuntime::Python).entrypoint("hello.py").build().unwrap();
/// assert_eq!(task.timeout.as_secs(), 300);
/// ```
///
/// and not before:
///
/// ```compile_fail,E0599
/// ampoule::task::Task::builder("hello").build();
/// ```
#[derive(Debug)]
pub struct TaskBuilder<State> {
    task: Task,
    state: PhantomData<State>,
}

/// A task that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the task `{task}`: {field} is {value:?}, but {expected}")]
#[non_exhaustive]
pub struct TaskDefinitionError {
    /// The task.
    pub task: String,
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What it should be, or what to do.
    pub expected: String,
}

impl Task {
    /// Begins a task of this name.
    pub fn builder(id: impl Into<String>) -> TaskBuilder<NoEntrypoint> {
        let task = Task {
            id: id.into(),
            description: None,
            runtime: TaskRuntime::default(),
            entrypoint: PathBuf::new(),
            args: Vec::new(),
            env: BTreeMap::new(),
            files: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            retries: 0,
            retry_delay: Duration::ZERO,
            permissions: Permissions::none(),
            metadata: Map::new(),
            disabled: false,
        };
        TaskBuilder { task, state: PhantomData }
    }

    /// What a host's allow-list is asked for: the extension of the entrypoint, or of the runtime's files where that says
    /// nothing.
    pub fn extension(&self) -> String {
        self.runtime.extension(&self.entrypoint)
    }

    fn check(&self) -> Result<(), TaskDefinitionError> {
        let refuse = |field, value: String, expected: &str| {
            Err(TaskDefinitionError { task: self.id.clone(), field, value, expected: expected.to_owned() })
        };
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.id.is_empty() || self.id.len() > 128 || !self.id.chars().all(is_name) {
            return refuse("its id", self.id.clone(), "an id has 1 to 128 letters, digits, `-`, `_` and `.`");
        }
        let path = |path: &Path| path.display().to_string();
        for (field, given) in
            std::iter::once(("entrypoint", &self.entrypoint)).chain(self.files.iter().map(|file| ("a file", file)))
        {
            if !stays_inside(given) {
                return refuse(field, path(given), "it must be a path inside the folder of the tasks, without `..`");
            }
        }
        match TaskRuntime::of(&self.entrypoint) {
            Some(other) if other != self.runtime => {
                let expected = format!(
                    "the runtime is {}, which does not run such files: set runtime = \"{}\"",
                    self.runtime.name(),
                    other.name()
                );
                return refuse("entrypoint", path(&self.entrypoint), &expected);
            }
            _ => {}
        }
        if self.timeout.is_zero() {
            return refuse("timeout", format!("{:?}", self.timeout), "it must be longer than nothing");
        }
        if self.retries > MOST_RETRIES {
            return refuse("retries", self.retries.to_string(), "it may be 100 at most");
        }
        if let Some(name) = self.env.keys().find(|name| !is_variable(name)) {
            return refuse("a variable's name", name.clone(), "a name is not empty and holds no `=`");
        }
        Ok(())
    }
}

/// A task that fails this often will fail again.
const MOST_RETRIES: u32 = 100;

pub(super) fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

fn stays_inside(path: &Path) -> bool {
    let mut parts = path.components().filter(|part| *part != Component::CurDir).peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

impl TaskBuilder<NoEntrypoint> {
    /// Sets the script or program, a path in the folder of the tasks.
    pub fn entrypoint(mut self, entrypoint: impl Into<PathBuf>) -> TaskBuilder<WithEntrypoint> {
        self.task.entrypoint = entrypoint.into();
        TaskBuilder { task: self.task, state: PhantomData }
    }
}

impl TaskBuilder<WithEntrypoint> {
    /// Checks that the task can be meant.
    pub fn build(self) -> Result<Task, TaskDefinitionError> {
        self.task.check()?;
        Ok(self.task)
    }
}

impl<State> TaskBuilder<State> {
    /// Says what it is for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.task.description = Some(description.into());
        self
    }

    /// Sets what it runs on.
    pub fn runtime(mut self, runtime: TaskRuntime) -> Self {
        self.task.runtime = runtime;
        self
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.task.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a variable.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.task.env.insert(name.into(), value.into());
        self
    }

    /// Adds a file of the folder to the working directory.
    pub fn file(mut self, file: impl Into<PathBuf>) -> Self {
        self.task.files.push(file.into());
        self
    }

    /// Sets when it is stopped.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.task.timeout = timeout;
        self
    }

    /// Sets how often it is tried again, and after which wait.
    pub fn retries(mut self, retries: u32, delay: Duration) -> Self {
        (self.task.retries, self.task.retry_delay) = (retries, delay);
        self
    }

    /// Sets what it may do.
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.task.permissions = permissions;
        self
    }

    /// Keeps something with it.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.task.metadata.insert(key.into(), value.into());
        self
    }

    /// Has it skipped instead of run.
    pub fn disabled(mut self, disabled: bool) -> Self {
        self.task.disabled = disabled;
        self
    }
}

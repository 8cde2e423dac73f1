//! What a task runs on.

use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

/// What a task runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TaskRuntime {
    /// JavaScript and TypeScript: the default. Also written `deno`, `js`, `typescript` and `ts`.
    #[default]
    JavaScript,
    /// Python.
    Python,
    /// A POSIX shell. Also written `sh`.
    Shell,
    /// Any WASI program, `.wasm` or its text `.wat`. Also written `wasm` and `wasi`.
    Executable,
}

/// A runtime that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// One that cannot be sealed.
    #[error(
        "the runtime `{name}` is not there: {name} scripts run only on a system of their own, which a sandbox is not; {instead}"
    )]
    NotSealed {
        /// Which.
        name: String,
        /// What to use.
        instead: &'static str,
    },
    /// One that nobody knows.
    #[error(
        "there is no runtime `{0}`; there are javascript, typescript, python, shell and executable (a WASI program)"
    )]
    Unknown(String),
}

impl FromStr for TaskRuntime {
    type Err = RuntimeError;

    fn from_str(name: &str) -> Result<TaskRuntime, RuntimeError> {
        let not_sealed = |instead| Err(RuntimeError::NotSealed { name: name.to_owned(), instead });
        match name {
            "javascript" | "js" | "typescript" | "ts" | "deno" => Ok(TaskRuntime::JavaScript),
            "python" => Ok(TaskRuntime::Python),
            "shell" | "sh" => Ok(TaskRuntime::Shell),
            "executable" | "wasm" | "wasi" => Ok(TaskRuntime::Executable),
            "powershell" | "pwsh" | "cmd" => not_sealed("write it for `shell` (POSIX sh), `python` or `javascript`"),
            "dotnet" | "csharp" => not_sealed(
                "build it as a WASI program and run that as `executable`, or write it for `python` or `javascript`",
            ),
            _ => Err(RuntimeError::Unknown(name.to_owned())),
        }
    }
}

impl<'de> Deserialize<'de> for TaskRuntime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TaskRuntime, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl TaskRuntime {
    /// Its name in a `tasks.toml`.
    pub fn name(self) -> &'static str {
        match self {
            TaskRuntime::JavaScript => "javascript",
            TaskRuntime::Python => "python",
            TaskRuntime::Shell => "shell",
            TaskRuntime::Executable => "executable",
        }
    }

    /// The image that runs it; none for a program, which is its own.
    pub fn image(self) -> Option<&'static str> {
        match self {
            TaskRuntime::JavaScript => Some("javascript"),
            TaskRuntime::Python => Some("python"),
            TaskRuntime::Shell => Some("sh"),
            TaskRuntime::Executable => None,
        }
    }

    /// The extensions of its files; the first stands for a file that has another.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            TaskRuntime::JavaScript => &["js", "mjs", "cjs", "ts", "mts", "cts"],
            TaskRuntime::Python => &["py"],
            TaskRuntime::Shell => &["sh"],
            TaskRuntime::Executable => &["wasm", "wat"],
        }
    }

    /// All of them.
    pub const ALL: [TaskRuntime; 4] =
        [TaskRuntime::JavaScript, TaskRuntime::Python, TaskRuntime::Shell, TaskRuntime::Executable];

    /// The runtime whose file this is, by its extension.
    pub(super) fn of(entrypoint: &Path) -> Option<TaskRuntime> {
        let extension = entrypoint.extension()?.to_str()?.to_ascii_lowercase();
        TaskRuntime::ALL.into_iter().find(|runtime| runtime.extensions().contains(&extension.as_str()))
    }

    /// What a host's allow-list is asked for.
    pub(super) fn extension(self, entrypoint: &Path) -> String {
        let own = entrypoint.extension().and_then(|extension| extension.to_str()).map(str::to_ascii_lowercase);
        let own = own.filter(|own| self.extensions().contains(&own.as_str()));
        own.unwrap_or_else(|| self.extensions()[0].to_owned())
    }
}

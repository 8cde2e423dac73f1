//! One attempt at a task.

use std::time::{Instant, SystemTime};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::environment::merged;
use super::lines::Lines;
use super::program::digest;
use super::runner::Inner;
use super::trace::TraceContext;
use super::{StreamName, Task, TaskCall, TaskError, TaskEvent, TaskResult, TaskRuntime, TaskStatus};
use crate::executor::{ExecuteError, Extras};
use crate::host::{HostError, Script, ScriptCall};
use crate::permissions::Granted;
use crate::sandbox::{Access, InputFile, Sink};

/// One attempt at a task.
pub(super) struct Attempt<'a> {
    pub inner: &'a Inner,
    pub task: &'a Task,
    pub call: &'a TaskCall,
    pub trace: TraceContext,
    pub number: u32,
}

/// Pieces of output that wait to be taken apart.
const PIECES: usize = 4;

impl Attempt<'_> {
    /// Runs it to its end. What the task itself did wrong is a result; what kept it from running is an error.
    pub async fn run(
        self,
        cancel: &CancellationToken,
        events: &mpsc::Sender<TaskEvent>,
        status: &watch::Sender<TaskStatus>,
    ) -> Result<TaskResult, TaskError> {
        let Attempt { inner, task, number, .. } = &self;
        let (mut call, timeout) = self.host_call()?;
        let cap = inner.host.config().max_output_bytes;
        let (stdout, from_stdout) = Sink::channel(PIECES);
        let (stderr, from_stderr) = Sink::channel(PIECES);
        (call.extras.stdout, call.extras.stderr) = (Some(stdout), Some(stderr));
        let read = |name, pieces| Lines::new(name, events.clone(), cap).read(pieces);

        let (started_at, start) = (SystemTime::now(), Instant::now());
        status.send_replace(TaskStatus::Running);
        let (ran, stdout, stderr) = tokio::join!(
            inner.host.run(call, cancel),
            read(StreamName::Stdout, from_stdout),
            read(StreamName::Stderr, from_stderr),
        );
        let mut result = TaskResult {
            stdout,
            stderr,
            duration: start.elapsed(),
            started_at,
            completed_at: SystemTime::now(),
            attempt: *number,
            traceparent: Some(self.trace.traceparent()),
            ..TaskResult::without_run(&task.id, TaskStatus::Failed, None)
        };
        match ran {
            Ok(ran) => result.ended(&ran.outcome, timeout),
            Err(HostError::Cancelled) => {
                (result.status, result.error) = (TaskStatus::Cancelled, Some("it was cancelled".into()));
            }
            // What the executor refuses never ran.
            Err(
                error @ HostError::Execute(
                    ExecuteError::Refused(_) | ExecuteError::NotAllowed { .. } | ExecuteError::Unsupported,
                ),
            ) => {
                return Err(TaskError::Host { task: task.id.clone(), error: Box::new(error) });
            }
            Err(HostError::Execute(error)) => result.error = Some(format!("the sandbox failed: {error}")),
            Err(error) => return Err(TaskError::Host { task: task.id.clone(), error: Box::new(error) }),
        }
        Ok(result)
    }

    /// The call that the host is to make, and its timeout.
    fn host_call(&self) -> Result<(ScriptCall, std::time::Duration), TaskError> {
        let Attempt { inner, task, call, trace, number } = self;
        let timeout = call.timeout.unwrap_or(task.timeout);
        // What is not given is refused by the host, so that it is written down.
        let ceiling = &inner.host.config().max_permissions;
        let protected = inner.host.protected().clone();
        // Who may change it may give itself more the next time.
        let protected = match inner.tasks.file() {
            Some(file) => protected.readable("the tasks", file),
            None => protected,
        };
        let (granted, refused) = match task.permissions.within(ceiling, inner.tasks.folder(), &protected) {
            Ok(granted) => (granted, None),
            Err(error) => (Granted::default(), Some(format!("the task `{}`: {error}", task.id))),
        };
        let environment = merged(task, call, &granted.variables, trace)?;
        let arguments: Vec<String> = task.args.iter().chain(&call.args).cloned().collect();
        if let Some(value) = arguments.iter().find(|argument| argument.contains('\0')) {
            let (task, value) = (task.id.clone(), value.clone());
            return Err(TaskError::Call { task, what: "an argument", value, expected: "it may hold no NUL byte" });
        }
        let mut host_call = ScriptCall::new(&inner.tenant, &inner.skill, &task.id).timeout(timeout);
        host_call.run = call.run.clone();
        host_call.arguments = call.stdin.clone();
        host_call.detail = detail(*number, &arguments, &environment, &granted);
        host_call.given = Some(self.script(&mut host_call)?);
        host_call.refused = refused;
        let mut extras = Extras { arguments, environment, folders: granted.folders, ..Extras::default() };
        for path in &task.files {
            let content = inner.tasks.read(task, path)?.into();
            // Its parts are plain: the task was checked.
            let parts: Vec<_> = path.iter().filter(|part| *part != ".").map(|part| part.to_string_lossy()).collect();
            extras.files.push(InputFile { path: parts.join("/"), content });
        }
        host_call.extras = extras;
        Ok((host_call, timeout))
    }

    /// The script as the host's gates see it.
    fn script(&self, host_call: &mut ScriptCall) -> Result<Script, TaskError> {
        let Attempt { inner, task, .. } = self;
        let name = task.entrypoint.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut script = match task.runtime {
            TaskRuntime::Executable => {
                let ready =
                    inner.programs.get(&task.id).ok_or_else(|| TaskError::NotReady { task: task.id.clone() })?;
                let found = digest(&inner.tasks.read(task, &task.entrypoint)?);
                if found != ready.sha256 {
                    return Err(TaskError::Changed {
                        task: task.id.clone(),
                        path: task.entrypoint.clone(),
                        found,
                        compiled: ready.sha256.clone(),
                    });
                }
                host_call.detail.insert("programSha256".into(), found);
                let mut script = Script::file(&inner.skill, name, "");
                script.interpreter = Some(ready.interpreter.clone());
                script
            }
            _ => Script::file(&inner.skill, name, inner.tasks.source(task)?),
        };
        script.extension = Some(task.extension());
        script.source_path = Some(inner.tasks.folder().join(&task.entrypoint));
        Ok(script)
    }
}

/// What the audit says besides: how many arguments, which variables and folders, never their contents.
fn detail(
    attempt: u32,
    arguments: &[String],
    environment: &[(String, String)],
    granted: &Granted,
) -> std::collections::BTreeMap<String, String> {
    let names: Vec<&str> = environment.iter().map(|(name, _)| name.as_str()).collect();
    let folders: Vec<String> = granted
        .folders
        .iter()
        .map(|folder| {
            let access = if folder.access == Access::ReadWrite { "write" } else { "read" };
            format!("{access} {} as {}", folder.host.display(), folder.guest)
        })
        .collect();
    let mut detail = std::collections::BTreeMap::from([
        ("attempt".to_owned(), attempt.to_string()),
        ("argumentCount".to_owned(), arguments.len().to_string()),
        ("argumentsSha256".to_owned(), digest(&serde_json::to_vec(arguments).unwrap_or_default())),
        ("variables".to_owned(), names.join(" ")),
    ]);
    if !folders.is_empty() {
        detail.insert("folders".to_owned(), folders.join("; "));
    }
    detail
}

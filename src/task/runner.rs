//! Running tasks through a host.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::attempt::Attempt;
use super::trace::TraceContext;
use super::{Task, TaskError, TaskEvent, TaskProgram, TaskResult, TaskRun, TaskSet, TaskStatus};
use crate::host::ScriptHost;

/// What one call of a task gives it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TaskCall {
    /// Arguments behind the task's own.
    pub args: Vec<String>,
    /// Variables, which win over the task's own.
    pub env: BTreeMap<String, String>,
    /// When it is stopped. Default: the task's.
    pub timeout: Option<Duration>,
    /// Standard input. Default: none.
    pub stdin: Option<String>,
    /// The trace that the call belongs to. Default: a new one.
    pub trace: Option<TraceContext>,
    /// The run that the call is part of, for the audit.
    pub run: Option<String>,
}

impl TaskCall {
    /// Nothing beyond the task's own.
    pub fn new() -> TaskCall {
        TaskCall::default()
    }

    /// Adds arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<String>>) -> TaskCall {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Adds a variable.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> TaskCall {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets when it is stopped.
    pub fn timeout(mut self, timeout: Duration) -> TaskCall {
        self.timeout = Some(timeout);
        self
    }

    /// Sets standard input.
    pub fn stdin(mut self, stdin: impl Into<String>) -> TaskCall {
        self.stdin = Some(stdin.into());
        self
    }

    /// Sets the trace.
    pub fn trace(mut self, trace: TraceContext) -> TaskCall {
        self.trace = Some(trace);
        self
    }
}

/// Runs the tasks of a set. Clones are the same runner.
#[derive(Clone, Debug)]
pub struct TaskRunner(Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    pub host: ScriptHost,
    pub tasks: TaskSet,
    pub programs: HashMap<String, TaskProgram>,
    pub tenant: String,
    pub skill: String,
}

/// Builds a [`TaskRunner`].
#[derive(Debug)]
pub struct TaskRunnerBuilder(Inner);

/// Events that are kept for a reader that is slow.
const EVENTS: usize = 64;

impl TaskRunner {
    /// A runner of these tasks, for the tenant `local`. To the host they are the scripts of the skill `tasks`, named by
    /// their ids, for which it needs a grant.
    pub fn builder(host: ScriptHost, tasks: TaskSet) -> TaskRunnerBuilder {
        let (tenant, skill) = ("local".to_owned(), "tasks".to_owned());
        TaskRunnerBuilder(Inner { host, tasks, programs: HashMap::new(), tenant, skill })
    }

    /// The tasks.
    pub fn tasks(&self) -> &TaskSet {
        &self.0.tasks
    }

    /// Starts a task. It runs on by itself, as far as its events are read.
    ///
    /// Awaited or not, it needs a tokio runtime with its timer on. Errors: there is no such task.
    pub fn start(&self, id: &str, call: TaskCall, cancel: &CancellationToken) -> Result<TaskRun, TaskError> {
        let task = self.0.tasks.get(id)?.clone();
        let cancel = cancel.child_token();
        let (events, received) = mpsc::channel(EVENTS);
        let (status, seen) = watch::channel(TaskStatus::Pending);
        let (inner, token) = (self.0.clone(), cancel.clone());
        let end = tokio::spawn(async move {
            let result = inner.run(&task, call, &token, &events, &status).await;
            status.send_replace(result.as_ref().map_or(TaskStatus::Failed, |result| result.status));
            result
        });
        Ok(TaskRun {
            task: id.to_owned(),
            events: received,
            status: seen,
            end,
            dropped: cancel.clone().drop_guard(),
            cancel,
        })
    }

    /// Runs a task to its end.
    pub async fn run(&self, id: &str, call: TaskCall, cancel: &CancellationToken) -> Result<TaskResult, TaskError> {
        self.start(id, call, cancel)?.result().await
    }
}

impl TaskRunnerBuilder {
    /// Adds a program that [`TaskSet::program`] made ready.
    pub fn program(mut self, program: TaskProgram) -> Self {
        self.0.programs.insert(program.task.clone(), program);
        self
    }

    /// Sets whose calls they are. Default: `local`.
    pub fn tenant(mut self, tenant: impl Into<String>) -> Self {
        self.0.tenant = tenant.into();
        self
    }

    /// Sets the skill that the tasks are the scripts of. Default: `tasks`.
    pub fn skill(mut self, skill: impl Into<String>) -> Self {
        self.0.skill = skill.into();
        self
    }

    /// The runner.
    pub fn build(self) -> TaskRunner {
        TaskRunner(Arc::new(self.0))
    }
}

impl Inner {
    /// Runs a task until it completes or has no attempt left.
    async fn run(
        &self,
        task: &Task,
        call: TaskCall,
        cancel: &CancellationToken,
        events: &mpsc::Sender<TaskEvent>,
        status: &watch::Sender<TaskStatus>,
    ) -> Result<TaskResult, TaskError> {
        if cancel.is_cancelled() {
            return Ok(TaskResult::without_run(
                &task.id,
                TaskStatus::Cancelled,
                Some("it was cancelled before it began".into()),
            ));
        }
        if task.disabled {
            let error = Some("it is switched off (`disabled = true`)".into());
            return Ok(TaskResult::without_run(&task.id, TaskStatus::Skipped, error));
        }
        let trace = call.trace.clone().unwrap_or_else(TraceContext::root);
        let mut attempt = 1;
        loop {
            // Each is a step of its own in the trace.
            let run = Attempt { inner: self, task, call: &call, trace: trace.child(), number: attempt };
            let result = run.run(cancel, events, status).await?;
            let again = matches!(result.status, TaskStatus::Failed | TaskStatus::Timeout) && attempt <= task.retries;
            if !again {
                return Ok(result);
            }
            attempt += 1;
            let retry = TaskEvent::Retry { attempt, delay: task.retry_delay, error: result.error.clone() };
            let waited = async {
                let _ = events.send(retry).await;
                tokio::time::sleep(task.retry_delay).await;
            };
            status.send_replace(TaskStatus::Pending);
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    return Ok(TaskResult { status: TaskStatus::Cancelled, error: Some("it was cancelled before it was tried again".into()), ..result });
                }
                () = waited => {}
            }
        }
    }
}

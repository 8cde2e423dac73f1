//! A task that runs: its events as they come, and its result.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{TaskError, TaskResult, TaskStatus};
use crate::host::HostError;

/// Which of the two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamName {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// What happens while a task runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskEvent {
    /// It wrote a line. One of more than 64 KiB comes in several.
    Line {
        /// Where.
        stream: StreamName,
        /// The line, without its end; bytes that are no UTF-8 are replaced.
        text: String,
    },
    /// It failed, or was stopped at its timeout, and is tried again.
    Retry {
        /// The attempt that is about to begin: 2 or more.
        attempt: u32,
        /// The wait before it.
        delay: Duration,
        /// What went wrong.
        error: Option<String>,
    },
}

/// A task that runs: a stream of its events, which ends when the task does.
///
/// A bounded number of events is kept: whoever reads slowly makes the script wait, and nothing piles up. Dropping it
/// cancels the task.
#[derive(Debug)]
pub struct TaskRun {
    pub(super) task: String,
    pub(super) events: mpsc::Receiver<TaskEvent>,
    pub(super) status: watch::Receiver<TaskStatus>,
    pub(super) end: JoinHandle<Result<TaskResult, TaskError>>,
    pub(super) cancel: CancellationToken,
    pub(super) dropped: DropGuard,
}

impl TaskRun {
    /// Cancels it, while it waits as well as while it runs.
    pub fn abort(&self) {
        self.cancel.cancel();
    }

    /// Where it is.
    pub fn status(&self) -> TaskStatus {
        *self.status.borrow()
    }

    /// Waits for the result, letting go of the events that nobody read.
    pub async fn result(mut self) -> Result<TaskResult, TaskError> {
        while self.next().await.is_some() {}
        let result = self.end.await;
        self.dropped.disarm();
        match result {
            Ok(result) => result,
            Err(error) => {
                Err(TaskError::Host { task: self.task, error: Box::new(HostError::Fault(error.to_string())) })
            }
        }
    }
}

impl Stream for TaskRun {
    type Item = TaskEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<TaskEvent>> {
        self.events.poll_recv(context)
    }
}

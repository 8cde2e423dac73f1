//! The watchdog: an executor is called once, and waited for no longer than it may take.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::executor::{ExecuteError, Extras, ScriptExecutor};
use crate::script::{Outcome, ScriptRequest, Status};

/// What came of an executor's call.
pub(super) struct Watched {
    pub result: Result<Outcome, ExecuteError>,
    /// The executor did not end by itself when it should have.
    pub given_up: bool,
}

/// A spawned call, which is ended when nobody waits for it any more.
struct Spawned(JoinHandle<Result<Outcome, ExecuteError>>);

/// Dropping a future takes no longer, unless it blocks its thread.
const DROPPED_WITHIN: Duration = Duration::from_secs(1);

impl Spawned {
    /// Has the executor's future dropped, so that what it holds is free before its slot is. One that blocks its thread
    /// is not waited for.
    async fn end(&mut self) {
        self.0.abort();
        let _ = tokio::time::timeout(DROPPED_WITHIN, &mut self.0).await;
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Calls an executor on a task of its own, so that one that ignores its cancellation cannot hold anybody up.
///
/// Beyond the request's timeout it is given `grace`, and so it is after a cancellation.
pub(super) async fn watch(
    executor: Arc<dyn ScriptExecutor>,
    request: ScriptRequest,
    extras: Extras,
    grace: Duration,
    cancel: &CancellationToken,
) -> Watched {
    let longest = request.timeout.saturating_add(grace);
    let stop = cancel.child_token();
    let call = {
        let stop = stop.clone();
        async move { executor.execute_with(request, extras, stop).await }
    };
    let mut spawned = Spawned(tokio::spawn(tracing::Instrument::in_current_span(call)));
    tokio::select! {
        biased;
        done = &mut spawned.0 => Watched { result: ended(done), given_up: false },
        () = tokio::time::sleep(longest) => {
            stop.cancel();
            spawned.end().await;
            Watched { result: Ok(Outcome::new(Status::TimedOut, "", "")), given_up: true }
        }
        () = cancel.cancelled() => match tokio::time::timeout(grace, &mut spawned.0).await {
            Ok(done) => Watched { result: ended(done), given_up: false },
            Err(_) => {
                spawned.end().await;
                Watched { result: Err(ExecuteError::Cancelled), given_up: true }
            }
        },
    }
}

fn ended(done: Result<Result<Outcome, ExecuteError>, tokio::task::JoinError>) -> Result<Outcome, ExecuteError> {
    done.unwrap_or_else(|error| Err(ExecuteError::Other(error.into())))
}

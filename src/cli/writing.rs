//! Threads that write what a script wrote to our own output: a terminal or pipe that is slow must not keep the clock from
//! being looked at.

use std::thread::JoinHandle;
use std::time::Duration;

use ampoule::CancellationToken;

/// How long a reader is given to take the rest, once this process is asked to end.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Waits until a thread has written everything. None: it was asked to end, and whoever reads takes nothing.
pub async fn done<T: Send + 'static>(writer: JoinHandle<T>, cancel: &CancellationToken) -> Option<T> {
    let joined = tokio::task::spawn_blocking(move || writer.join());
    let asked_to_end = async {
        cancel.cancelled().await;
        tokio::time::sleep(LAST_WORDS).await;
    };
    tokio::select! {
        biased;
        joined = joined => match joined {
            Ok(Ok(written)) => Some(written),
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => None,
        },
        () = asked_to_end => None,
    }
}

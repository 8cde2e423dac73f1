//! Which connections wait for a request, and for how long: when there are too many, the oldest of them is closed.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tokio_util::sync::CancellationToken;

/// The connections that are idle, the one that has been so for the longest first.
#[derive(Clone, Default)]
pub(super) struct Idle(Arc<Mutex<Queue>>);

#[derive(Default)]
struct Queue {
    next: u64,
    waiting: BTreeMap<u64, CancellationToken>,
}

/// A connection. It starts as idle, and is forgotten when dropped.
#[derive(Clone)]
pub(super) struct Guest(Arc<Inner>);

struct Inner {
    idle: Idle,
    /// Its place in the queue and since when it has it, while it is idle.
    place: Mutex<Option<(u64, Instant)>>,
    /// Cancelled when it is to be closed.
    leave: CancellationToken,
}

impl Idle {
    pub fn guest(&self) -> Guest {
        let leave = CancellationToken::new();
        let guest = Guest(Arc::new(Inner { idle: self.clone(), place: Mutex::new(None), leave }));
        guest.0.rest();
        guest
    }

    /// Closes the connection that has been idle for the longest. Whether there was one.
    pub fn close_one(&self) -> bool {
        let first = self.lock().waiting.pop_first();
        first.map(|(_, leave)| leave.cancel()).is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guest {
    /// Resolves when the connection is to be closed, with the time for which it has been idle.
    pub async fn leaves(&self) -> Duration {
        self.0.leave.cancelled().await;
        let place = self.0.place.lock().unwrap_or_else(PoisonError::into_inner);
        place.map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }

    /// A request begins. The connection is busy until the value is dropped.
    pub fn busy(&self) -> Busy {
        self.0.wake();
        Busy(self.0.clone())
    }
}

/// While it is there, a connection has a request.
pub(super) struct Busy(Arc<Inner>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.rest();
    }
}

impl Inner {
    fn rest(&self) {
        let mut queue = self.idle.lock();
        let place = queue.next;
        queue.next += 1;
        queue.waiting.insert(place, self.leave.clone());
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some((place, Instant::now()));
    }

    fn wake(&self) {
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((place, _)) = place {
            self.idle.lock().waiting.remove(&place);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.wake();
    }
}

/// A response's body: its connection is busy until it is sent.
pub(super) struct Sending {
    pub body: Body,
    pub _busy: Busy,
}

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_idle_connection_is_closed_and_a_busy_one_never() {
        let idle = Idle::default();
        let (first, second, third) = (idle.guest(), idle.guest(), idle.guest());
        let busy = first.busy();
        drop(third);
        assert!(idle.close_one());
        assert!(second.0.leave.is_cancelled() && !first.0.leave.is_cancelled());
        assert!(!idle.close_one());
        drop(busy);
        assert!(idle.close_one());
        assert!(first.0.leave.is_cancelled());
        drop((first, second));
        assert!(idle.lock().waiting.is_empty());
    }
}

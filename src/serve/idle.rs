//! Which connections wait for a request, and for how long: when there are too many, the oldest of them is closed.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
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
    /// Connections that were told to close, and are still there.
    leaving: usize,
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
        let mut queue = self.lock();
        let first = queue.waiting.pop_first();
        queue.leaving += usize::from(first.is_some());
        drop(queue);
        first.map(|(_, leave)| leave.cancel()).is_some()
    }

    /// Whether a connection is on its way out.
    pub fn is_leaving(&self) -> bool {
        self.lock().leaving > 0
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
        if self.leave.is_cancelled() {
            self.idle.lock().leaving -= 1;
        }
    }
}

/// A response's body: its connection is busy until it is sent. It goes out in pieces, of which hyper takes no more than
/// the client does: what belongs to the body, such as its room in memory, is not given up before its bytes are.
pub(super) struct Sending {
    body: Body,
    rest: Bytes,
    _busy: Busy,
}

const PIECE: usize = 64 << 10;

impl Sending {
    pub fn new(body: Body, busy: Busy) -> Sending {
        Sending { body, rest: Bytes::new(), _busy: busy }
    }
}

impl http_body::Body for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)).map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => self.rest = data,
                Some(Ok(Err(trailers))) => return Poll::Ready(Some(Ok(trailers))),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let length = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (of_body, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower() + rest);
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper + rest);
        }
        hint
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
        assert!(idle.is_leaving());
        drop((first, second));
        assert!(idle.lock().waiting.is_empty() && !idle.is_leaving());
    }
}

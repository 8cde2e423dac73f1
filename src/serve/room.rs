//! Memory for what is held of requests or of answers: so many bytes in all, and for one caller no more than a share, so
//! that nobody takes the others' room.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use axum::response::Response;
use http_body::{Frame, SizeHint};

use super::problem::Problem;
use super::tokens::Caller;

/// Bytes that may be held.
#[derive(Clone)]
pub(super) struct Room(Arc<Inner>);

struct Inner {
    /// What it is for, as a problem says it.
    what: &'static str,
    all: usize,
    share: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    all: usize,
    /// Those that hold something, by the names of their tokens.
    callers: HashMap<String, usize>,
}

/// Bytes that count as held until the value is dropped.
pub(super) struct Place {
    room: Room,
    caller: String,
    bytes: usize,
}

impl Room {
    /// `share` is one caller's.
    pub fn new(what: &'static str, all: usize, share: usize) -> Room {
        Room(Arc::new(Inner { what, all, share: share.min(all), held: Mutex::default() }))
    }

    /// Room for so many bytes of this caller.
    pub fn take(&self, caller: &Caller, bytes: usize) -> Result<Place, Problem> {
        let mut place = Place { room: self.clone(), caller: caller.name.clone(), bytes: 0 };
        place.grow(bytes)?;
        Ok(place)
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes more room.
    pub fn grow(&mut self, more: usize) -> Result<(), Problem> {
        let Inner { what, all, share, .. } = &*self.room.0;
        let mut held = self.room.lock();
        let own = held.callers.get(&self.caller).copied().unwrap_or(0);
        if held.all.saturating_add(more) > *all {
            return Err(Problem::busy(format!(
                "{what} that are being served take all the memory there is for them, {all} bytes: try again later"
            )));
        }
        if own.saturating_add(more) > *share {
            return Err(Problem::caller_busy(format!(
                "{what} of this token that are being served take its share of the memory, {share} bytes: try again later"
            )));
        }
        held.all += more;
        *held.callers.entry(self.caller.clone()).or_default() += more;
        self.bytes += more;
        Ok(())
    }

    /// Counts as held until the response is sent or given up.
    pub fn until_sent(self, response: Response) -> Response {
        response.map(|body| Body::new(Counted { body, _place: self }))
    }
}

/// A response's body with its place.
struct Counted {
    body: Body,
    _place: Place,
}

impl http_body::Body for Counted {
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

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.room.lock();
        held.all -= self.bytes;
        if let Some(own) = held.callers.get_mut(&self.caller) {
            *own -= self.bytes;
            if *own == 0 {
                held.callers.remove(&self.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::tokens::Tenants;

    #[test]
    fn a_caller_takes_no_more_than_its_share_and_all_of_them_no_more_than_there_is() {
        let room = Room::new("the bodies", 100, 60);
        let caller = |name: &str| Caller { name: name.into(), tenants: Tenants::Any };
        let status = |place: Result<Place, Problem>| place.map(drop).map_err(|problem| problem.status().as_u16());
        let mut first = room.take(&caller("a"), 50).unwrap();
        first.grow(10).unwrap();
        assert_eq!(status(room.take(&caller("a"), 1)), Err(429));
        let other = room.take(&caller("b"), 40).unwrap();
        assert_eq!(status(room.take(&caller("c"), 1)), Err(503));
        drop(first);
        assert_eq!(status(room.take(&caller("c"), 60)), Ok(()));
        drop(other);
        assert!(room.lock().callers.is_empty() && room.lock().all == 0);
    }
}

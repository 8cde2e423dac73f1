//! A request's body, read under caps: its own length, the length of all that are held at once, and the time it takes.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, EXPECT};
use futures_util::StreamExt;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Requests;
use super::problem::Problem;

/// Reads bodies, and knows how many bytes of them are held.
#[derive(Clone)]
pub(super) struct Bodies {
    room: Arc<Semaphore>,
    most: usize,
    time: Duration,
}

/// A body, which counts as held until the value is dropped.
pub(super) struct Held {
    pub bytes: Bytes,
    pub _room: OwnedSemaphorePermit,
}

/// What the room for all bodies is counted in: a semaphore has 32 bits.
const UNIT: usize = 1 << 10;

/// How long the rest of a body that is too large is read and dropped: who is still sending would otherwise see the
/// connection reset, and not the answer.
const DRAINED_FOR: Duration = Duration::from_secs(5);

impl Bodies {
    pub fn new(requests: &Requests) -> Bodies {
        let units = requests.bodies_bytes.div_ceil(UNIT).min(Semaphore::MAX_PERMITS).min(u32::MAX as usize);
        Bodies { room: Arc::new(Semaphore::new(units)), most: requests.body_bytes, time: requests.body_time }
    }

    pub async fn read(&self, headers: &HeaderMap, body: Body) -> Result<Held, Problem> {
        // Who waits to be told to go on sends nothing.
        let is_coming = !headers.contains_key(EXPECT);
        let drop_rest = |stream| {
            if is_coming {
                drain(stream);
            }
        };
        let declared = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        let mut stream = body.into_data_stream();
        if declared.is_some_and(|length| length > self.most) {
            drop_rest(stream);
            return Err(Problem::body_too_large(self.most));
        }
        let mut room = match self.take(declared.unwrap_or(0).max(1)) {
            Ok(room) => room,
            Err(problem) => {
                drop_rest(stream);
                return Err(problem);
            }
        };
        let read = async {
            let mut bytes = Vec::with_capacity(declared.unwrap_or(0));
            while let Some(piece) = stream.next().await {
                let piece = piece.map_err(|_| Problem::bad_request(None, "the body breaks off"))?;
                if bytes.len() + piece.len() > self.most {
                    return Err(Problem::body_too_large(self.most));
                }
                bytes.extend_from_slice(&piece);
                let held = room.num_permits() * UNIT;
                if bytes.len() > held {
                    room.merge(self.take(bytes.len() - held)?);
                }
            }
            Ok(Bytes::from(bytes))
        };
        let read = tokio::time::timeout(self.time, read).await;
        match read {
            Ok(Ok(bytes)) => Ok(Held { bytes, _room: room }),
            Ok(Err(problem)) => {
                drain(stream);
                Err(problem)
            }
            Err(_) => Err(Problem::slow_body(self.time)),
        }
    }

    fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Problem> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let full = |_| {
            let detail = "the bodies of the requests that are being served take all the memory there is for them";
            Problem::busy(format!("{detail}: try again later"))
        };
        self.room.clone().try_acquire_many_owned(units).map_err(full)
    }
}

fn drain(mut stream: axum::body::BodyDataStream) {
    tokio::spawn(tokio::time::timeout(DRAINED_FOR, async move { while let Some(Ok(_)) = stream.next().await {} }));
}

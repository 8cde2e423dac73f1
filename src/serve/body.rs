//! A request's body, read under caps: its own length, the length of all that are held at once, and the time it takes.

use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::{CONTENT_LENGTH, EXPECT};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::StreamExt;

use super::Requests;
use super::api::App;
use super::problem::Problem;
use super::room::{Place, Room};
use super::tokens::Caller;
use crate::runner::Runner;

/// Reads bodies, and knows how many bytes of them are held.
#[derive(Clone)]
pub(super) struct Bodies {
    room: Room,
    most: usize,
    time: Duration,
}

/// A body, which counts as held as long as its place does.
pub(super) struct Held {
    pub bytes: Bytes,
    pub place: Place,
}

/// How long the rest of a body that is too large is read and dropped: who is still sending would otherwise see the
/// connection reset, and not the answer.
const DRAINED_FOR: Duration = Duration::from_secs(5);

impl Bodies {
    /// `are_known`: whether callers can be told apart, by their tokens.
    pub fn new(requests: &Requests, are_known: bool) -> Bodies {
        let all = requests.bodies_bytes;
        let share = if are_known { (all / 2).max(requests.body_bytes) } else { all };
        Bodies {
            room: Room::new("the bodies of the requests", all, share),
            most: requests.body_bytes,
            time: requests.body_time,
        }
    }

    pub async fn read(&self, caller: &Caller, headers: &HeaderMap, body: Body) -> Result<Held, Problem> {
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
        let mut place = match self.room.take(caller, declared.unwrap_or(0)) {
            Ok(place) => place,
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
                // Before it is held.
                if bytes.len() + piece.len() > place.bytes() {
                    place.grow(bytes.len() + piece.len() - place.bytes())?;
                }
                bytes.extend_from_slice(&piece);
            }
            Ok(Bytes::from(bytes))
        };
        let read = tokio::time::timeout(self.time, read).await;
        match read {
            Ok(Ok(bytes)) => Ok(Held { bytes, place }),
            Ok(Err(problem)) => {
                drain(stream);
                Err(problem)
            }
            Err(_) => Err(Problem::slow_body(self.time)),
        }
    }
}

/// A layer for routes that read bodies in their own way: they get theirs whole, under the same caps.
pub(super) async fn whole(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let Held { bytes, place } = app.bodies().read(&caller, &parts.headers, body).await?;
    fits_tenant(app.runner(), caller.tenants.of_unnamed(), bytes.len())?;
    let response = next.run(Request::from_parts(parts, Body::from(bytes))).await;
    // What was made of the body is there for as long as its answer is.
    Ok(place.until_sent(response))
}

/// A tenant's own limit on bodies, which is known only when the body has said whose it is.
pub(super) fn fits_tenant(runner: &Runner, tenant: &str, length: usize) -> Result<(), Problem> {
    match runner.policy().tenants.get(tenant).and_then(|own| own.body_bytes) {
        Some(most) if length > most => {
            let detail = format!("the body has {length} bytes, but the tenant `{tenant}` may send {most}");
            Err(Problem::too_large(None, detail))
        }
        _ => Ok(()),
    }
}

fn drain(mut stream: axum::body::BodyDataStream) {
    tokio::spawn(tokio::time::timeout(DRAINED_FOR, async move { while let Some(Ok(_)) = stream.next().await {} }));
}

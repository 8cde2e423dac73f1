//! Server-sent events: output as it comes, then the outcome.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::App;
use super::answer::{Files, Wire};
use crate::Sink;
use crate::runner::{Finished, Job, RunError};
use crate::serve::problem::Problem;

/// Pieces that wait for a slow reader, whom the script then waits for.
const PIECES: usize = 16;

type Run = Pin<Box<dyn Future<Output = Result<Finished, RunError>> + Send>>;

/// A call whose output is being sent.
struct Sending {
    run: Option<Run>,
    /// How it ended, once it has; what it wrote may still be on its way.
    ended: Option<Result<Finished, RunError>>,
    stdout: Stream,
    stderr: Stream,
    _held: OwnedSemaphorePermit,
}

/// One output stream: what comes, and all that came, which the outcome holds as well.
struct Stream {
    name: &'static str,
    pieces: mpsc::Receiver<Bytes>,
    open: bool,
    whole: Vec<u8>,
}

impl Stream {
    fn new(name: &'static str) -> (Sink, Stream) {
        let (sink, pieces) = Sink::channel(PIECES);
        (sink, Stream { name, pieces, open: true, whole: Vec::new() })
    }

    fn event(&mut self, piece: Option<Bytes>) -> Option<Event> {
        let Some(piece) = piece else {
            self.open = false;
            return None;
        };
        self.whole.extend_from_slice(&piece);
        let data = json!({ "text": String::from_utf8_lossy(&piece) });
        Some(Event::default().event(self.name).data(data.to_string()))
    }
}

/// Begins the answer when the call has its slot: what is wrong before that is a problem with a status of its own.
pub async fn answer(app: App, mut job: Job, held: OwnedSemaphorePermit) -> Result<Response, Problem> {
    let (out, stdout) = Stream::new("stdout");
    let (err, stderr) = Stream::new("stderr");
    let (starts, started) = oneshot::channel();
    (job.stdout, job.stderr, job.started) = (Some(out), Some(err), Some(starts));
    let app = Arc::new(app);
    let run = async move { app.runner().run(job, &CancellationToken::new()).await };
    let mut run: Run = Box::pin(run.instrument(tracing::Span::current()));
    let mut ended = None;
    tokio::select! {
        biased;
        // A call that is refused is so as soon as it has its slot.
        result = &mut run => ended = Some(result),
        _ = started => {}
    }
    if let Some(Err(error)) = ended {
        return Err(error.into());
    }
    let run = if ended.is_none() { Some(run) } else { None };
    let sending = Sending { run, ended, stdout, stderr, _held: held };
    let events = stream::unfold(Some(sending), |sending| async move {
        let mut sending = sending?;
        if let Some(event) = sending.next().await {
            return Some((Ok::<_, Infallible>(event), Some(sending)));
        }
        Some((Ok(sending.last()), None))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

impl Sending {
    /// The next piece of output. None: there is no more, and the call has ended.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let is_running = self.run.is_some();
            let running = async {
                match &mut self.run {
                    Some(run) => run.await,
                    None => std::future::pending().await,
                }
            };
            let event = tokio::select! {
                biased;
                piece = self.stderr.pieces.recv(), if self.stderr.open => self.stderr.event(piece),
                piece = self.stdout.pieces.recv(), if self.stdout.open => self.stdout.event(piece),
                result = running, if is_running => {
                    self.ended = Some(result);
                    self.run = None;
                    None
                }
                else => return None,
            };
            if event.is_some() {
                return event;
            }
        }
    }

    /// The outcome, as it would have been without events, or what went wrong.
    fn last(self) -> Event {
        match self.ended.unwrap_or(Err(RunError::Stopping)) {
            Ok(mut finished) => {
                (finished.outcome.stdout, finished.outcome.stderr) = (self.stdout.whole, self.stderr.whole);
                let json = Wire::new(&finished.outcome, finished.files.as_ref(), Files::Inside).to_json();
                Event::default().event("outcome").data(String::from_utf8_lossy(&json))
            }
            Err(error) => Event::default().event("problem").data(Problem::from(error).to_json()),
        }
    }
}

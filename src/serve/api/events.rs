//! Server-sent events: output as it comes, then the outcome.
//!
//! The call runs on a task of its own, so that its timeout and its slot hold whatever the reader does: one who reads slowly
//! makes the script wait, until its timeout, and the outcome is kept for them. Who goes away ends the call.

use std::convert::Infallible;
use std::pin::Pin;

use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use super::App;
use super::answer::{Files, Wire};
use crate::Sink;
use crate::runner::{Finished, Job};
use crate::serve::problem::Problem;
use crate::serve::room::Place;
use crate::serve::tokens::Caller;

/// Pieces that wait for a slow reader, whom the script then waits for.
const PIECES: usize = 16;

/// A call whose output is being sent.
struct Sending {
    run: Run,
    /// How it ended, once it has; what it wrote may still be on its way.
    ended: Option<Ended>,
    stdout: Stream,
    stderr: Stream,
}

/// How a call ended, and the place for what is to be sent of it.
type Ended = Result<(Finished, Place), Problem>;

type Call = Pin<Box<dyn Future<Output = Ended> + Send>>;

/// The task of a call. Dropping it aborts the task, which drops the call.
struct Run {
    task: JoinSet<Ended>,
    span: Span,
}

/// A client that goes away while its events are being sent is told of: the line of its answer is written by then.
impl Drop for Run {
    fn drop(&mut self) {
        if !self.task.is_empty() {
            self.span.in_scope(|| tracing::info!("abandoned"));
        }
    }
}

impl Run {
    /// A call that was begun, and goes on by itself from here. `None`: it has ended already.
    fn of(call: Option<Call>, span: Span) -> Run {
        let mut task = JoinSet::new();
        if let Some(call) = call {
            task.spawn(call);
        }
        Run { task, span }
    }

    /// How the call ended. Once that has been told, never.
    async fn ended(&mut self) -> Ended {
        match self.task.join_next().await {
            Some(Ok(result)) => result,
            Some(Err(error)) => {
                tracing::error!(%error, "a call's task failed");
                Err(Problem::failed())
            }
            None => std::future::pending().await,
        }
    }
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
pub async fn answer(app: App, caller: Caller, mut job: Job, held: Place) -> Result<Response, Problem> {
    let (out, stdout) = Stream::new("stdout");
    let (err, stderr) = Stream::new("stderr");
    let (starts, started) = oneshot::channel();
    (job.stdout, job.stderr, job.started) = (Some(out), Some(err), Some(starts));
    let span = Span::current();
    let run = async move {
        let result = app.runner().run(job, &CancellationToken::new()).await;
        // The request's body is not needed any more.
        drop(held);
        let finished = result?;
        Span::current().record("outcome", finished.outcome.status.name());
        let place = app.answers().take(&caller, app.runner().policy().bytes_of(&finished))?;
        Ok((finished, place))
    };
    let mut call: Call = Box::pin(run.instrument(span.clone()));
    let mut ended = None;
    tokio::select! {
        biased;
        // A call that is refused is so as soon as it has its slot: until then it is awaited here.
        result = &mut call => ended = Some(result),
        _ = started => {}
    }
    if let Some(Err(problem)) = ended {
        return Err(problem);
    }
    let run = Run::of(ended.is_none().then_some(call), span);
    let sending = Sending { run, ended, stdout, stderr };
    let events = stream::unfold(Some(Answer::Begun(Box::new(sending))), |answer| async move {
        let Answer::Begun(mut sending) = answer? else { return None };
        if let Some(event) = sending.next().await {
            return Some((Ok::<_, Infallible>(event), Some(Answer::Begun(sending))));
        }
        let (event, place) = sending.last();
        // The outcome counts as held until it is taken, and somebody asks whether there is more.
        Some((Ok(event), place.map(Answer::Said)))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

/// How far an answer is.
enum Answer {
    Begun(Box<Sending>),
    /// The outcome is on its way.
    Said(#[expect(dead_code, reason = "it is held until it is dropped")] Place),
}

impl Sending {
    /// The next piece of output. None: there is no more, and the call has ended.
    async fn next(&mut self) -> Option<Event> {
        loop {
            let event = tokio::select! {
                biased;
                piece = self.stderr.pieces.recv(), if self.stderr.open => self.stderr.event(piece),
                piece = self.stdout.pieces.recv(), if self.stdout.open => self.stdout.event(piece),
                result = self.run.ended(), if self.ended.is_none() => {
                    self.ended = Some(result);
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
    fn last(self) -> (Event, Option<Place>) {
        match self.ended.unwrap_or_else(|| Err(Problem::stopping())) {
            Ok((mut finished, place)) => {
                (finished.outcome.stdout, finished.outcome.stderr) = (self.stdout.whole, self.stderr.whole);
                let json = Wire::new(&finished.outcome, finished.files.as_ref(), Files::Inside).to_json();
                (Event::default().event("outcome").data(String::from_utf8_lossy(&json)), Some(place))
            }
            Err(problem) => (Event::default().event("problem").data(problem.to_json()), None),
        }
    }
}

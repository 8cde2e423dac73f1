//! Connections: accepted up to a number, each served by a task, closed when they idle for too long or must make way.
//!
//! Where all are busy, a few more are taken so that probes are answered: a full house is no dead one. Whoever asks for
//! anything else on one of them is told to come again.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use futures_util::stream::{FuturesUnordered, StreamExt};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tower_service::Service as _;

use super::Requests;
use super::address::{Listener, Stream};
use super::idle::{Idle, Sending};
use super::patient::Patient;
use super::problem::Problem;
use crate::runner::Runner;

/// How long the callers of cancelled calls are given to hear of it.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long after its last response a connection that must make way is kept, so that the response is sent to its end.
const MAKES_WAY: Duration = Duration::from_millis(200);

/// How long those that make way are waited for, on a machine that has much to do.
const HAS_LEFT: Duration = Duration::from_secs(1);

/// How long nothing is accepted after the system could not make a connection: it has no descriptor or memory left, and
/// trying again at once would only use up the processor.
const AFTER_A_FAILURE: Duration = Duration::from_millis(20);

/// A request's head, at most.
const HEAD_BYTES: usize = 64 << 10;

/// Seats for probes when all others are taken.
const PROBES: usize = 8;

/// How long a connection on one of them is kept.
const PROBE_TIME: Duration = Duration::from_secs(2);

/// What is answered from there.
const PROBE_PATHS: [&str; 2] = ["/healthz", "/readyz"];

/// All connections of a service.
pub(super) struct Connections {
    seats: Arc<Semaphore>,
    count: usize,
    idle: Idle,
    probes: Arc<Semaphore>,
    idle_probes: Idle,
    /// Each connection's task holds a receiver of it.
    tasks: watch::Sender<()>,
    head_time: Duration,
    write_time: Duration,
    /// How many connections make way at once.
    make_way: usize,
}

/// A connection's place among the others. Free again when it is dropped.
struct Seat {
    _permit: OwnedSemaphorePermit,
    only_probes: bool,
}

impl Connections {
    pub fn new(requests: &Requests) -> Connections {
        Connections {
            seats: Arc::new(Semaphore::new(requests.connections.min(Semaphore::MAX_PERMITS))),
            count: requests.connections,
            idle: Idle::default(),
            probes: Arc::new(Semaphore::new(PROBES)),
            idle_probes: Idle::default(),
            tasks: watch::Sender::new(()),
            head_time: requests.head_time,
            write_time: requests.write_time,
            make_way: (requests.connections / 64).max(1),
        }
    }

    /// How many are open.
    pub fn open(&self) -> usize {
        self.tasks.receiver_count()
    }

    /// Waits until none is open.
    pub async fn ended(&self) {
        self.tasks.closed().await;
    }

    /// Accepts connections until `end` is cancelled. Then the listeners are closed and `ending` is cancelled: idle
    /// connections close, and the others do after the response they are at.
    pub async fn accept(
        &self,
        listeners: Vec<Listener>,
        router: Router,
        runner: Arc<Runner>,
        end: CancellationToken,
        ending: CancellationToken,
    ) {
        let mut loops: FuturesUnordered<_> =
            listeners.iter().map(|listener| self.accept_from(listener, &router, &runner, &ending)).collect();
        tokio::select! {
            biased;
            () = end.cancelled() => {}
            _ = loops.next() => {}
        }
        drop(loops);
        drop(listeners);
        ending.cancel();
    }

    /// Never returns.
    async fn accept_from(
        &self,
        listener: &Listener,
        router: &Router,
        runner: &Arc<Runner>,
        ending: &CancellationToken,
    ) {
        loop {
            let mut seat = self.seat().await;
            let stream = listener.accept().await;
            // Now that somebody is there, others make way, or have left.
            if seat.only_probes
                && let Some(better) = self.free_seat().await
            {
                seat = better;
            }
            match stream {
                Ok(Stream::Tcp(stream)) => self.serve(stream, seat, router, runner, ending),
                #[cfg(unix)]
                Ok(Stream::Unix(stream)) => self.serve(stream, seat, router, runner, ending),
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    self.idle.close_one();
                    tokio::time::sleep(AFTER_A_FAILURE).await;
                }
            }
        }
    }

    /// A seat for the next connection, whenever it comes. Where none is free, one of those for probes, until it is there:
    /// nobody makes way for somebody who may not come.
    async fn seat(&self) -> Seat {
        if self.seats.available_permits() == 0 && self.probes.available_permits() == 0 {
            self.idle_probes.close_one();
        }
        let (permit, only_probes) = tokio::select! {
            biased;
            permit = self.seats.clone().acquire_owned() => (permit, false),
            permit = self.probes.clone().acquire_owned() => (permit, true),
        };
        Seat { _permit: permit.expect("it is never closed"), only_probes }
    }

    /// A seat that is free. Where none is, the connections that have idled for the longest make way: a few at once, since
    /// who opened so many will go on. `None`: none is idle either.
    async fn free_seat(&self) -> Option<Seat> {
        let free = |permit| Seat { _permit: permit, only_probes: false };
        if let Ok(permit) = self.seats.clone().try_acquire_owned() {
            return Some(free(permit));
        }
        for _ in 0..self.make_way {
            self.idle.close_one();
        }
        if !self.idle.is_leaving() {
            return None;
        }
        let permit = tokio::time::timeout(HAS_LEFT, self.seats.clone().acquire_owned()).await.ok()?;
        permit.ok().map(free)
    }

    fn serve<S>(&self, stream: S, seat: Seat, router: &Router, runner: &Arc<Runner>, ending: &CancellationToken)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let only_probes = seat.only_probes;
        let guest = if only_probes { self.idle_probes.guest() } else { self.idle.guest() };
        let service = {
            let (router, guest, count) = (router.clone(), guest.clone(), self.count);
            service_fn(move |request: Request<Incoming>| {
                let busy = guest.busy();
                let is_refused = only_probes && !PROBE_PATHS.contains(&request.uri().path());
                // Axum's router is ready at all times.
                let response = (!is_refused).then(|| router.clone().call(request));
                async move {
                    let response: Response<axum::body::Body> = match response {
                        Some(response) => response.await?,
                        None => Problem::full(count).into_response(),
                    };
                    Ok::<_, std::convert::Infallible>(response.map(|body| Sending::new(body, busy)))
                }
            })
        };
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.head_time).max_buf_size(HEAD_BYTES);
        http.keep_alive(!only_probes);
        let stream = Patient::new(stream, self.write_time);
        let connection = http.serve_connection(TokioIo::new(stream), service);
        let (runner, ending) = (runner.clone(), ending.clone());
        let task = self.tasks.subscribe();
        tokio::spawn(async move {
            let _task = task;
            let _open = runner.meter().connection();
            let _seat = seat;
            let mut connection = std::pin::pin!(connection);
            let ended = tokio::select! {
                ended = connection.as_mut() => ended,
                () = ending.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
                idle = guest.leaves() => {
                    connection.as_mut().graceful_shutdown();
                    tokio::time::timeout(MAKES_WAY.saturating_sub(idle), connection).await.unwrap_or(Ok(()))
                }
                () = tokio::time::sleep(PROBE_TIME), if only_probes => Ok(()),
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
}

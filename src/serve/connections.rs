//! Connections: accepted up to a number, each served by a task, closed when they idle for too long or must make way.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{Request, Response};
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
use crate::runner::Runner;

/// How long the callers of cancelled calls are given to hear of it.
pub(super) const LAST_WORDS: Duration = Duration::from_secs(2);

/// How long after its last response a connection that must make way is kept, so that the response is sent to its end.
const MAKES_WAY: Duration = Duration::from_millis(200);

/// How long nothing is accepted after the system could not make a connection: it has no descriptor or memory left, and
/// trying again at once would only use up the processor.
const AFTER_A_FAILURE: Duration = Duration::from_millis(20);

/// A request's head, at most.
const HEAD_BYTES: usize = 64 << 10;

/// All connections of a service.
pub(super) struct Connections {
    seats: Arc<Semaphore>,
    idle: Idle,
    /// Each connection's task holds a receiver of it.
    tasks: watch::Sender<()>,
    head_time: Duration,
    /// How many connections make way at once.
    make_way: usize,
}

impl Connections {
    pub fn new(requests: &Requests) -> Connections {
        Connections {
            seats: Arc::new(Semaphore::new(requests.connections.min(Semaphore::MAX_PERMITS))),
            idle: Idle::default(),
            tasks: watch::Sender::new(()),
            head_time: requests.head_time,
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
            let seat = self.seat().await;
            match listener.accept().await {
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

    /// A seat for the next connection. Where none is free, the connections that have idled for the longest make way: a
    /// few at once, since who opened so many will go on.
    async fn seat(&self) -> OwnedSemaphorePermit {
        if let Ok(seat) = self.seats.clone().try_acquire_owned() {
            return seat;
        }
        for _ in 0..self.make_way {
            self.idle.close_one();
        }
        self.seats.clone().acquire_owned().await.expect("it is never closed")
    }

    fn serve<S>(
        &self,
        stream: S,
        seat: OwnedSemaphorePermit,
        router: &Router,
        runner: &Arc<Runner>,
        ending: &CancellationToken,
    ) where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let guest = self.idle.guest();
        let service = {
            let (router, guest) = (router.clone(), guest.clone());
            service_fn(move |request: Request<Incoming>| {
                let busy = guest.busy();
                // Axum's router is ready at all times.
                let response = router.clone().call(request);
                async move {
                    let response: Response<axum::body::Body> = response.await?;
                    Ok::<_, std::convert::Infallible>(response.map(|body| Sending { body, _busy: busy }))
                }
            })
        };
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(self.head_time).max_buf_size(HEAD_BYTES);
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
            };
            if let Err(error) = ended {
                tracing::debug!(%error, "a connection ended");
            }
        });
    }
}

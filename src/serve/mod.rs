//! The HTTP runner: scripts come as requests, outcomes go as responses. Feature `serve`.
//!
//! [`Config`] is what a TOML file and the command line say, checked. [`Service::start`] binds its addresses, and
//! [`Service::run`] serves until it is told to end: it then stops accepting, lets calls that run come to an end up to a
//! deadline, and cancels the rest.
//!
//! `docs/service.md` says how to run it, and `GET /openapi.json` what it answers.

mod address;
mod api;
mod body;
mod config;
mod connections;
mod guard;
mod idle;
mod patient;
mod problem;
#[cfg(feature = "otlp")]
mod remote;
mod room;
mod tokens;
mod trace;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use address::{Address, AddressError};
pub use config::{Config, ConfigError, Requests};
use guard::Guard;
#[cfg(feature = "mcp")]
pub(crate) use guard::SESSION;
#[cfg(feature = "mcp")]
pub(crate) use problem::Problem;
#[cfg(feature = "mcp")]
pub(crate) use tokens::{Caller, UNNAMED};
pub use tokens::{TokenError, Tokens, token_digest};

use self::address::Listener;
use self::connections::Connections;
use crate::runner::Runner;

/// A service that listens.
pub struct Service {
    listeners: Vec<Listener>,
    connections: Connections,
    router: axum::Router,
    runner: Arc<Runner>,
    /// Cancelled when the service begins to end.
    ending: CancellationToken,
    /// Cancelled when it ends and no call runs any more.
    quiet: CancellationToken,
    shutdown_time: Duration,
}

/// What a service offers, behind its tokens. Probes, metrics and the list of runtimes are there in any case.
#[non_exhaustive]
pub enum Face {
    /// `POST /runs`.
    Runs,
    /// Routes of your own, such as those of [`mcp`](crate::mcp).
    Other {
        /// The routes.
        routes: axum::Router,
        /// Cancelled while the service ends, when no call runs any more: streams that are open for what may come are to
        /// end.
        quiet: CancellationToken,
    },
}

/// Why a service cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// An address cannot be listened on.
    #[error("`{address}` cannot be listened on: {problem}")]
    Listen {
        /// Which.
        address: Address,
        /// Why not, and the way out.
        problem: String,
    },
    /// A socket's file cannot be made.
    #[error("the socket `{}` cannot be made: {error}", path.display())]
    Socket {
        /// Where.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl Service {
    /// Binds the configuration's addresses, to show this face there.
    pub async fn start(runner: Arc<Runner>, config: Config, face: Face) -> Result<Service, ServeError> {
        let mut listeners = Vec::new();
        for address in &config.listen {
            listeners.push(Listener::bind(address, config.socket_mode).await?);
        }
        let ending = CancellationToken::new();
        let quiet = match &face {
            Face::Runs => CancellationToken::new(),
            Face::Other { quiet, .. } => quiet.clone(),
        };
        let router = api::router(runner.clone(), &config, ending.clone(), face);
        let connections = Connections::new(&config.requests);
        let shutdown_time = config.shutdown_time;
        Ok(Service { listeners, connections, router, runner, ending, quiet, shutdown_time })
    }

    /// The addresses that are listened on, with the ports that the system chose.
    pub fn addresses(&self) -> Vec<Address> {
        self.listeners.iter().map(Listener::address).collect()
    }

    /// Serves until `end` is cancelled, then ends: nothing is accepted any more, calls that run get
    /// [`Config::shutdown_time`] or until `now` is cancelled, and what is left after that is cancelled.
    pub async fn run(self, end: CancellationToken, now: CancellationToken) {
        let Service { listeners, connections, router, runner, ending, quiet, shutdown_time } = self;
        connections.accept(listeners, router, runner.clone(), end, ending).await;
        tracing::info!(open = connections.open(), "no more connections are accepted; calls that run may end");
        let streams_end = async {
            runner.is_quiet().await;
            quiet.cancel();
            connections.ended().await;
        };
        let ended = tokio::select! {
            () = streams_end => true,
            () = tokio::time::sleep(shutdown_time) => false,
            () = now.cancelled() => false,
        };
        if !ended {
            tracing::warn!(open = connections.open(), "calls that still run are cancelled");
            runner.stop();
            quiet.cancel();
            // Time to say so to their callers.
            let _ = tokio::time::timeout(connections::LAST_WORDS, connections.ended()).await;
        }
    }
}

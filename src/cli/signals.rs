//! Requests to end, from the terminal or the system.

use std::io;

use super::exit;

/// The requests to end that come to this process.
pub struct Ends {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Ends {
    /// Begins to listen: from now on they do not end the process by themselves.
    #[cfg(unix)]
    pub fn new() -> io::Result<Ends> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Ends { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next, and gives the exit code of a process that ends by it.
    #[cfg(unix)]
    pub async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.terminate.recv() => exit::TERMINATED,
            _ = self.interrupt.recv() => exit::INTERRUPTED,
        }
    }

    /// Begins to listen: from now on they do not end the process by themselves.
    #[cfg(not(unix))]
    pub fn new() -> io::Result<Ends> {
        Ok(Ends {})
    }

    /// Waits for the next, and gives the exit code of a process that ends by it.
    #[cfg(not(unix))]
    pub async fn next(&mut self) -> u8 {
        // An error says that the system cannot tell: then it ends the process by itself.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        exit::INTERRUPTED
    }
}

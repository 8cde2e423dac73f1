//! What an agent that asked for it hears while a script runs.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::{Peer, RequestContext};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How often something is said.
const EVERY: Duration = Duration::from_secs(1);

pub struct Progress {
    /// None: nobody asked.
    to: Option<(Peer<RoleServer>, ProgressToken)>,
    timeout: Option<Duration>,
}

impl Progress {
    pub fn of(context: &RequestContext<RoleServer>, timeout: Option<Duration>) -> Progress {
        let token = context.meta.get_progress_token();
        Progress { to: token.map(|token| (context.peer.clone(), token)), timeout }
    }

    /// Awaits `run`, and says each second how long it has been at it, of at most how many seconds; before it has started,
    /// that it waits.
    pub async fn told_during<T>(self, run: impl Future<Output = T>, started: oneshot::Receiver<()>) -> T {
        let Some((peer, token)) = self.to else { return run.await };
        let (mut run, mut started) = (std::pin::pin!(run), std::pin::pin!(started));
        let (begin, mut is_running) = (Instant::now(), false);
        let mut tick = tokio::time::interval_at(begin + EVERY, EVERY);
        loop {
            tokio::select! {
                biased;
                result = &mut run => return result,
                _ = &mut started, if !is_running => is_running = true,
                _ = tick.tick() => {}
            }
            let seconds = begin.elapsed().as_secs_f64();
            let mut progress = ProgressNotificationParam::new(token.clone(), seconds);
            progress.total = self.timeout.map(|timeout| timeout.as_secs_f64().max(seconds));
            progress.message = Some(match is_running {
                true => format!("running for {seconds:.0} s"),
                false => "waiting for a free slot".to_owned(),
            });
            // Whoever does not listen any more will cancel, or not.
            let _ = peer.notify_progress(progress).await;
        }
    }
}

//! Sessions over HTTP: so many of one token and in all, each for the token that opened it, gone when it has idled.
//!
//! The protocol's own part keeps the sessions; here is kept whose they are. Who names another's is told what they would
//! be of one that never was.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::Response;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde::Deserialize;
use tracing::Instrument;

use crate::serve::{Caller, Config, Problem, SESSION};

/// All sessions of a service.
#[derive(Clone)]
pub struct Sessions(Arc<Inner>);

struct Inner {
    manager: Arc<LocalSessionManager>,
    all: usize,
    of_one: usize,
    idle: Duration,
    body_bytes: usize,
    owners: Mutex<Owners>,
}

/// The names of the tokens that opened what there is.
#[derive(Default)]
struct Owners {
    next: u64,
    names: HashMap<Key, String>,
}

#[derive(PartialEq, Eq, Hash)]
enum Key {
    /// It is being opened, and counts already.
    Opening(u64),
    Open(String),
}

/// How long a result is kept for a client whose connection broke off. It is of a megabyte or many where a script leaves
/// images, and each run has one.
const COMES_BACK: Duration = Duration::from_secs(5);

impl Sessions {
    pub fn new(config: &Config) -> Sessions {
        let requests = &config.requests;
        // One whose call waits and runs says nothing for that long.
        let longest = config.policy.limits.timeout.unwrap_or_default().saturating_add(config.policy.queue_time);
        let idle = requests.session_time.max(longest);
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(idle);
        manager.session_config.completed_cache_ttl = COMES_BACK;
        // Without tokens all callers are one.
        let of_one = if config.tokens.is_empty() { requests.sessions } else { requests.sessions_per_token };
        Sessions(Arc::new(Inner {
            manager: Arc::new(manager),
            all: requests.sessions,
            of_one,
            idle,
            body_bytes: requests.body_bytes,
            owners: Mutex::default(),
        }))
    }

    pub fn manager(&self) -> Arc<LocalSessionManager> {
        self.0.manager.clone()
    }

    fn owners(&self) -> MutexGuard<'_, Owners> {
        self.0.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_of(&self, id: &str, caller: &Caller) -> bool {
        self.owners().names.get(&Key::Open(id.to_owned())) == Some(&caller.name)
    }

    /// A place for one more session of this caller.
    async fn opening(&self, caller: &Caller) -> Result<Opening, Problem> {
        let there = self.0.manager.sessions.read().await;
        let mut owners = self.owners();
        owners.names.retain(|key, _| match key {
            Key::Opening(_) => true,
            Key::Open(id) => there.contains_key(id.as_str()),
        });
        let (all, own) = (owners.names.len(), owners.names.values().filter(|name| **name == caller.name).count());
        let way_out = format!("close one (DELETE), or wait until one has been idle for {:?}", self.0.idle);
        if all >= self.0.all {
            return Err(Problem::busy(format!("{all} sessions are open, as many as may: {way_out}")));
        }
        if own >= self.0.of_one {
            let detail = format!("{own} sessions of this token are open, as many as may: {way_out}");
            return Err(Problem::caller_busy(detail));
        }
        let number = owners.next;
        owners.next += 1;
        owners.names.insert(Key::Opening(number), caller.name.clone());
        Ok(Opening { sessions: self.clone(), number })
    }
}

/// A session that is being opened. If it is not, its place is free again.
struct Opening {
    sessions: Sessions,
    number: u64,
}

impl Opening {
    fn opened(self, headers: &HeaderMap) {
        let Some(id) = headers.get(SESSION).and_then(|id| id.to_str().ok()) else { return };
        let mut owners = self.sessions.owners();
        if let Some(name) = owners.names.remove(&Key::Opening(self.number)) {
            owners.names.insert(Key::Open(id.to_owned()), name);
        }
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.sessions.owners().names.remove(&Key::Opening(self.number));
    }
}

/// The layer of the protocol's route. The body has been read: see `serve::body`.
pub async fn layer(
    State(sessions): State<Sessions>,
    Extension(caller): Extension<Caller>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if let Some(id) = request.headers().get(SESSION) {
        let is_theirs = id.to_str().is_ok_and(|id| sessions.is_of(id, &caller));
        return if is_theirs { Ok(next.run(request).await) } else { Err(Problem::no_session()) };
    }
    if request.method() != Method::POST {
        return Ok(next.run(request).await);
    }
    let (parts, body) = request.into_parts();
    let bytes = to_bytes(body, sessions.0.body_bytes)
        .await
        .map_err(|error| Problem::bad_request(None, format!("the body cannot be read: {error}")))?;
    let opens = opens(&bytes);
    let request = Request::from_parts(parts, Body::from(bytes));
    if !opens {
        return Ok(next.run(request).await);
    }
    let opening = sessions.opening(&caller).await?;
    // On a task of its own: what a client that goes away has opened by then is known, and counts.
    let open = async move {
        let response = next.run(request).await;
        opening.opened(response.headers());
        response
    };
    tokio::spawn(open.in_current_span()).await.map_err(|error| {
        tracing::error!(%error, "a session could not be opened");
        Problem::failed()
    })
}

/// Whether a message may open a session. One that is not understood may.
fn opens(message: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        method: Option<Cow<'a, str>>,
    }
    serde_json::from_slice::<Message>(message).map_or(true, |message| message.method.as_deref() == Some("initialize"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_may_open_a_session_is_known() {
        assert!(opens(br#"{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}"#));
        assert!(opens(br#"{"method": "initi\u0061lize"}"#) && opens(b"{") && opens(br#"{"method": 1}"#));
        assert!(!opens(br#"{"method": "tools/call", "params": {"method": "initialize"}}"#));
        assert!(!opens(br#"{"id": 1, "result": {}}"#));
    }
}

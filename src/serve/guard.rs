//! Who comes in: a bearer token where there are tokens, else programs of this machine and no page of a browser.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::Next;
use axum::response::Response;

use super::Tokens;
use super::problem::Problem;
use super::tokens::Caller;

/// Lets a request in, with the [`Caller`] it comes from, or not.
#[derive(Clone)]
pub(crate) struct Guard(Arc<Tokens>);

impl Guard {
    pub fn new(tokens: Tokens) -> Guard {
        Guard(Arc::new(tokens))
    }

    /// The layer of routes that need a token.
    pub async fn check(State(guard): State<Guard>, mut request: Request, next: Next) -> Result<Response, Problem> {
        let headers = request.headers();
        if guard.0.is_empty() {
            from_this_machine(headers)?;
        }
        let caller = guard.0.caller(bearer(headers)).ok_or_else(Problem::unauthorized)?;
        tracing::Span::current().record("caller", &caller.name);
        request.extensions_mut().insert(caller);
        Ok(next.run(request).await)
    }
}

/// The header that names a session of tools.
pub(crate) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// The layer of all routes: a header that says who asks, whom, or in which session of
/// tools, is there once. Of two, a proxy in between might have
/// looked at the other.
pub(crate) async fn each_once(request: Request, next: Next) -> Result<Response, Problem> {
    for name in [AUTHORIZATION, HOST, SESSION] {
        if request.headers().get_all(&name).iter().nth(1).is_some() {
            return Err(Problem::bad_request(None, format!("the header `{name}` is there more than once: send one")));
        }
    }
    Ok(next.run(request).await)
}

/// The layer of routes that run scripts, behind [`Guard::check`]: who may run none is told so before a body is read.
pub(crate) async fn may_run(
    Extension(caller): Extension<Caller>,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if caller.tenants.is_none() {
        return Err(Problem::no_tenant());
    }
    Ok(next.run(request).await)
}

/// The token that a request presents. The scheme's name is taken in either case.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Without tokens, any page that is open in a browser on this machine could send scripts here, and one whose name leads
/// to 127.0.0.1 could read the answers: both show in what the browser says of host and origin.
fn from_this_machine(headers: &HeaderMap) -> Result<(), Problem> {
    if let Some(host) = headers.get(HOST) {
        let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
        if !host.is_some_and(|host| is_local(host.host())) {
            return Err(Problem::foreign(
                "the header `Host` names another machine; call 127.0.0.1 or localhost, or configure a token",
            ));
        }
    }
    if headers.contains_key(ORIGIN) {
        return Err(Problem::foreign("a page in a browser may not use this service without a token"));
    }
    Ok(())
}

fn is_local(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn without_tokens_pages_and_other_hosts_are_kept_out() {
        for host in ["127.0.0.1:8085", "localhost", "LOCALHOST:1", "[::1]:8085"] {
            assert!(from_this_machine(&headers(&[(HOST, host)])).is_ok(), "{host}");
        }
        for host in ["example.com", "127.0.0.1.example.com", "10.0.0.1:8085", "", "local host"] {
            assert!(from_this_machine(&headers(&[(HOST, host)])).is_err(), "{host}");
        }
        assert!(from_this_machine(&headers(&[(HOST, "localhost"), (ORIGIN, "https://example.com")])).is_err());
        assert!(from_this_machine(&headers(&[(HOST, "localhost"), (ORIGIN, "null")])).is_err());
    }

    #[test]
    fn a_bearer_token_is_found() {
        assert_eq!(bearer(&headers(&[(AUTHORIZATION, "Bearer abc")])), Some("abc"));
        assert_eq!(bearer(&headers(&[(AUTHORIZATION, "bearer  abc")])), Some("abc"));
        for other in ["abc", "Basic abc", "Bearer"] {
            assert_eq!(bearer(&headers(&[(AUTHORIZATION, other)])), None, "{other}");
        }
    }
}

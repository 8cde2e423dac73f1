//! What is told of a request: a span with its trace context, a line in the log, a count. Never its body.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::Response;
use tracing::{Instrument, Span, field};

use super::api::App;

/// A name for the request in the log, which the response carries.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The position of a request in a trace, as the header `traceparent` of the W3C's Trace Context says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceContext {
    /// 32 lower-case hexadecimal digits, not all zero.
    pub trace_id: String,
    /// The caller's span: 16 digits, likewise.
    pub parent_id: String,
    pub sampled: bool,
}

impl TraceContext {
    /// `None`: there is none, or it is not well formed, which is as if there were none.
    pub fn of(headers: &HeaderMap) -> Option<TraceContext> {
        let text = headers.get("traceparent")?.to_str().ok()?;
        let mut parts = text.split('-');
        let (version, trace_id, parent_id, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let is_hex = |text: &str, length| {
            text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let is_id = |text: &str, length| is_hex(text, length) && text.bytes().any(|byte| byte != b'0');
        let ends = parts.next().is_none() || version != "00";
        if !is_hex(version, 2) || version == "ff" || !is_id(trace_id, 32) || !is_id(parent_id, 16) || !ends {
            return None;
        }
        let flags = is_hex(flags, 2).then(|| u8::from_str_radix(flags, 16).ok()).flatten()?;
        Some(TraceContext { trace_id: trace_id.to_owned(), parent_id: parent_id.to_owned(), sampled: flags & 1 == 1 })
    }
}

/// The status of a request whose client went away before it was answered, as proxies log it: it is sent to nobody.
const ABANDONED: u16 = 499;

/// A request that has no answer yet. Dropped before it has one: the client went away.
struct Unanswered<'a> {
    span: &'a Span,
    app: &'a App,
    path: &'a str,
    start: Instant,
    is_answered: bool,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if self.is_answered {
            return;
        }
        let took = self.start.elapsed();
        self.app.runner().meter().response(self.path, ABANDONED, took);
        let milliseconds = took.as_secs_f64() * 1000.0;
        self.span.in_scope(|| tracing::info!(status = ABANDONED, milliseconds, "abandoned"));
    }
}

/// A method by its name. One that nobody knows can be of any length, and is not repeated.
fn known(method: &Method) -> &'static str {
    const KNOWN: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "TRACE"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("OTHER")
}

/// The outermost layer.
pub(super) async fn layer(State(app): State<App>, request: Request, next: Next) -> Response {
    let start = Instant::now();
    let id = format!("{:016x}", rand::random::<u64>());
    let path = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = known(request.method());
    let span = tracing::info_span!(
        "request",
        otel.name = field::Empty,
        otel.kind = "server",
        http.request.method = method,
        http.route = %path,
        request_id = %id,
        trace_id = field::Empty,
        parent_id = field::Empty,
        caller = field::Empty,
        tenant = field::Empty,
        runtime = field::Empty,
        outcome = field::Empty,
    );
    span.record("otel.name", format!("{method} {path}"));
    if let Some(context) = TraceContext::of(request.headers()) {
        span.record("trace_id", &context.trace_id).record("parent_id", &context.parent_id);
        #[cfg(feature = "otlp")]
        super::remote::set_parent(&span, &context);
    }
    let mut unanswered = Unanswered { span: &span, app: &app, path: &path, start, is_answered: false };
    let mut response = next.run(request).instrument(span.clone()).await;
    unanswered.is_answered = true;
    let (status, took) = (response.status().as_u16(), start.elapsed());
    app.runner().meter().response(&path, status, took);
    let milliseconds = took.as_secs_f64() * 1000.0;
    // Probes come every few seconds and say nothing new.
    match path.as_str() {
        "/healthz" | "/readyz" | "/metrics" => span.in_scope(|| tracing::debug!(status, milliseconds, "answered")),
        _ => span.in_scope(|| tracing::info!(status, milliseconds, "answered")),
    }
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_context_is_read_and_one_that_is_not_well_formed_is_none() {
        let of = |text: &str| {
            TraceContext::of(&HeaderMap::from_iter([("traceparent".parse().unwrap(), text.parse().unwrap())]))
        };
        let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
        let context = of(&format!("00-{trace}-{parent}-01")).unwrap();
        assert_eq!((context.trace_id.as_str(), context.parent_id.as_str(), context.sampled), (trace, parent, true));
        assert!(!of(&format!("00-{trace}-{parent}-00")).unwrap().sampled);
        assert!(of(&format!("cc-{trace}-{parent}-01-what-comes-later")).is_some());
        for wrong in [
            "",
            "00",
            &format!("00-{}-{parent}-01", "0".repeat(32)),
            &format!("00-{trace}-{}-01", "0".repeat(16)),
            &format!("00-{}-{parent}-01", trace.to_uppercase()),
            &format!("ff-{trace}-{parent}-01"),
            &format!("00-{trace}-{parent}-01-more"),
            &format!("00-{trace}-{parent}-zz"),
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }
}

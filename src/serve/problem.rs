//! What is wrong with a request, or with us: RFC 9457 problem documents.

use std::fmt::Display;
use std::time::Duration;

use axum::http::header::{CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::{Serialize, Serializer};

use crate::runner::{Busy, RunError};
use crate::{CallError, ExecuteError};

/// A problem document. Its `type` is the place in `/docs` that says more.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Problem {
    #[serde(rename = "type", serialize_with = "place")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    /// The field of the request that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// What may be named instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed: Option<String>,
    /// Seconds.
    #[serde(skip)]
    retry_after: Option<u16>,
    /// Whether the connection can be used no more.
    #[serde(skip)]
    closes: bool,
}

/// When to come again, in seconds: calls take less time than this, mostly.
const SOON: u16 = 1;

fn place<S: Serializer>(kind: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("/docs#{kind}"))
}

impl Problem {
    fn new(status: StatusCode, kind: &'static str, title: &'static str, detail: impl Display) -> Problem {
        Problem {
            kind,
            title,
            status: status.as_u16(),
            detail: detail.to_string(),
            field: None,
            allowed: None,
            retry_after: None,
            closes: false,
        }
    }

    /// Something is wrong with a field of the request; the whole of it has no name.
    pub fn bad_request(field: impl Into<Option<String>>, detail: impl Display) -> Problem {
        let problem = Problem::new(StatusCode::BAD_REQUEST, "bad-request", "The request is wrong", detail);
        Problem { field: field.into(), ..problem }
    }

    pub fn unauthorized() -> Problem {
        let detail = "send `Authorization: Bearer TOKEN` with a token that this service knows";
        Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "A token is needed", detail)
    }

    pub fn forbidden(field: &str, detail: impl Display) -> Problem {
        let problem = Problem::new(StatusCode::FORBIDDEN, "forbidden", "Not allowed", detail);
        Problem { field: Some(field.to_owned()), ..problem }
    }

    /// The request was made by a page in a browser, or for another host.
    pub fn foreign(detail: impl Display) -> Problem {
        Problem::new(StatusCode::FORBIDDEN, "foreign", "Not from this machine", detail)
    }

    pub fn not_found(path: &str) -> Problem {
        // A path may be as long as a head.
        let shown: String = path.chars().take(200).collect();
        let more = if shown.len() < path.len() { "…" } else { "" };
        let detail = format!("there is nothing at `{shown}{more}`; `/docs` says what there is");
        Problem::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }

    /// There is no such session, or it is another's.
    #[cfg(feature = "mcp")]
    pub fn no_session() -> Problem {
        let detail = "there is no such session: open one with `initialize`";
        Problem::new(StatusCode::NOT_FOUND, "not-found", "Not found", detail)
    }

    pub fn method_not_allowed() -> Problem {
        let detail = "the header `Allow` says which methods there are";
        Problem::new(StatusCode::METHOD_NOT_ALLOWED, "not-found", "Method not allowed", detail)
    }

    pub fn not_acceptable() -> Problem {
        let detail = "`Accept` must take application/json, text/event-stream or multipart/form-data";
        Problem::new(StatusCode::NOT_ACCEPTABLE, "media-types", "No such form of answer", detail)
    }

    pub fn media_type() -> Problem {
        let detail = "`Content-Type` must be application/json or multipart/form-data";
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media-types", "No such form of request", detail)
    }

    pub fn slow_body(limit: Duration) -> Problem {
        let detail = format!("the body was not there within {limit:?}");
        let problem = Problem::new(StatusCode::REQUEST_TIMEOUT, "slow", "Too slow", detail);
        Problem { closes: true, ..problem }
    }

    pub fn too_large(field: impl Into<Option<String>>, detail: impl Display) -> Problem {
        let problem = Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "Too large", detail);
        Problem { field: field.into(), ..problem }
    }

    /// A body that was not read to its end is too large.
    pub fn body_too_large(limit: usize) -> Problem {
        let problem = Problem::too_large(None, format!("the body has more than {limit} bytes, which is the limit"));
        Problem { closes: true, ..problem }
    }

    pub fn busy(detail: impl Display) -> Problem {
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "Busy", detail);
        Problem { retry_after: Some(SOON), ..problem }
    }

    fn tenant_busy(detail: impl Display) -> Problem {
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "busy", "The tenant is busy", detail);
        Problem { retry_after: Some(SOON), ..problem }
    }

    /// A caller has taken its share of something.
    pub fn caller_busy(detail: impl Display) -> Problem {
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "busy", "The caller is busy", detail);
        Problem { retry_after: Some(SOON), ..problem }
    }

    /// Every connection is in use; this one is kept for probes.
    pub fn full(connections: usize) -> Problem {
        let detail = format!("{connections} connections are in use, as many as may: try again later");
        Problem { closes: true, ..Problem::busy(detail) }
    }

    /// The token is for nobody's scripts.
    pub fn no_tenant() -> Problem {
        Problem::forbidden("tenant", "this token is for no tenant: it may read metrics and run nothing")
    }

    pub fn stopping() -> Problem {
        let detail = "the service is shutting down; the script did not run to its end";
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "stopping", "Shutting down", detail);
        Problem { retry_after: Some(SOON), closes: true, ..problem }
    }

    /// It is our fault; what it was goes to the log.
    pub fn failed() -> Problem {
        let detail = "the service failed; its log says more under this request's `X-Request-Id`";
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", "The service failed", detail)
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a problem has only texts and numbers")
    }
}

impl From<RunError> for Problem {
    fn from(error: RunError) -> Problem {
        match error {
            RunError::Busy(busy @ Busy::Tenant { .. }) => Problem::tenant_busy(busy),
            RunError::Busy(busy) => Problem::busy(busy),
            RunError::Stopping => Problem::stopping(),
            RunError::Execute(ExecuteError::NotAllowed { interpreter, allowed }) => {
                let detail = format!("`{interpreter}` is not on the allow-list, which holds: {allowed}");
                Problem { allowed: Some(allowed), ..Problem::forbidden("runtime", detail) }
            }
            RunError::Execute(ExecuteError::ContentMismatch { found, expected }) => {
                let detail = format!("the SHA-256 of `source` is {found}, not {expected}");
                let status = StatusCode::UNPROCESSABLE_ENTITY;
                let problem = Problem::new(status, "hash-mismatch", "The script is not the one that was meant", detail);
                Problem { field: Some("sourceSha256".to_owned()), ..problem }
            }
            RunError::Execute(ExecuteError::Refused(refused)) => Problem::from(refused),
            RunError::Execute(ExecuteError::Cancelled) => Problem::stopping(),
            RunError::Execute(_) | RunError::Kept(_) => {
                tracing::error!(error = &error as &dyn std::error::Error, "a call failed");
                Problem::failed()
            }
        }
    }
}

/// A call that cannot be made as it was asked for.
impl From<CallError> for Problem {
    fn from(error: CallError) -> Problem {
        let field = |name: &str| Some(name.to_owned());
        match &error {
            CallError::TooLarge { limit, .. } => {
                let name = match *limit {
                    "source_bytes" => "source",
                    "stdin_bytes" => "standardInput",
                    "arguments_bytes" => "arguments",
                    _ => "files",
                };
                Problem::too_large(field(name), error)
            }
            CallError::TooMany { limit: "scratch_entries" | "scratch_depth", .. }
            | CallError::FilePath(_)
            | CallError::FileName { .. } => Problem::bad_request(field("files"), error),
            CallError::NotAnArgument { .. } => Problem::bad_request(field("arguments"), error),
            CallError::ImageTooLarge { .. } => Problem::bad_request(field("memoryBytes"), error),
            CallError::Limits(limits) => {
                let name = match limits.limit() {
                    "timeout" => "timeoutSeconds",
                    "memory_bytes" => "memoryBytes",
                    other => other,
                };
                Problem::bad_request(field(name), &error)
            }
            _ => Problem::bad_request(None, error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), self.to_json()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(after) = self.retry_after {
            headers.insert(RETRY_AFTER, after.into());
        }
        if self.status() == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.closes {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

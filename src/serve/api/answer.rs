//! The wire outcome, with the files where they were asked for, and how long it took.

use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::Outcome;
use crate::runner::{Finished, KeptFiles};

/// An outcome as JSON.
pub struct Json<'a>(pub &'a Finished);

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wire<'a> {
    #[serde(flatten)]
    outcome: &'a Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<FileOut<'a>>>,
    /// Beyond the caps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_omitted: Vec<Omitted<'a>>,
    /// All of those, the named ones among them.
    #[serde(skip_serializing_if = "is_zero")]
    files_omitted_count: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileOut<'a> {
    path: &'a str,
    content_base64: String,
}

#[derive(Serialize)]
struct Omitted<'a> {
    path: &'a str,
    bytes: u64,
}

/// Whether the files go into the JSON or come beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    Inside,
    Beside,
}

impl<'a> Wire<'a> {
    pub fn new(outcome: &'a Outcome, kept: Option<&'a KeptFiles>, files: Files) -> Wire<'a> {
        let inside = kept.filter(|_| files == Files::Inside).map(|kept| {
            let file = |file: &'a crate::runner::KeptFile| FileOut {
                path: &file.path,
                content_base64: STANDARD.encode(&file.content),
            };
            kept.files.iter().map(file).collect()
        });
        let omitted = kept.into_iter().flat_map(|kept| &kept.omitted);
        let files_omitted = omitted.map(|(path, bytes)| Omitted { path, bytes: *bytes }).collect();
        let files_omitted_count = kept.map_or(0, |kept| kept.omitted_count);
        Wire { outcome, files: inside, files_omitted, files_omitted_count }
    }

    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("an outcome has only texts and finite numbers")
    }
}

/// What is outside this service's own part: the wait for a slot, and the sandbox.
pub(super) fn timing(finished: &Finished) -> HeaderValue {
    let milliseconds = |time: Duration| time.as_secs_f64() * 1000.0;
    let text =
        format!("queue;dur={:.3}, sandbox;dur={:.3}", milliseconds(finished.queued), milliseconds(finished.sandbox));
    HeaderValue::from_str(&text).expect("it is plain ASCII")
}

impl IntoResponse for Json<'_> {
    fn into_response(self) -> Response {
        let body = Wire::new(&self.0.outcome, self.0.files.as_ref(), Files::Inside).to_json();
        let headers = [(CONTENT_TYPE, HeaderValue::from_static("application/json")), (SERVER_TIMING, timing(self.0))];
        (headers, body).into_response()
    }
}

//! `multipart/form-data`: the JSON and the files beside it, each as it is.

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Multipart, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::{IntoResponse, Response};

use super::answer::{Files, Wire};
use super::request::RunRequest;
use crate::InputFile;
use crate::runner::Finished;
use crate::serve::problem::Problem;

/// Reads a form: a part `request` with the JSON, and any number of parts `file`, whose file names are the paths.
pub async fn read(headers: &HeaderMap, bytes: Bytes) -> Result<(RunRequest, Vec<InputFile>), Problem> {
    let wrong = |error: &dyn std::fmt::Display| Problem::bad_request(None, format!("the form cannot be read: {error}"));
    let mut form = Request::new(Body::from(bytes));
    form.headers_mut().extend(headers.get(CONTENT_TYPE).map(|value| (CONTENT_TYPE, value.clone())));
    // Its length has been looked at.
    form.extensions_mut().insert(axum::extract::DefaultBodyLimit::disable());
    let mut form = Multipart::from_request(form, &()).await.map_err(|error| wrong(&error.body_text()))?;
    let (mut request, mut files) = (None, Vec::new());
    while let Some(part) = form.next_field().await.map_err(|error| wrong(&error.body_text()))? {
        let name = part.name().unwrap_or_default().to_owned();
        let path = part.file_name().map(str::to_owned);
        let content = part.bytes().await.map_err(|error| wrong(&error.body_text()))?;
        match (name.as_str(), path) {
            ("request", _) if request.is_none() => request = Some(RunRequest::of_json(&content)?),
            ("request", _) => return Err(Problem::bad_request(name, "there is more than one part of this name")),
            ("file", Some(path)) => files.push(InputFile { path, content }),
            ("file", None) => return Err(Problem::bad_request(name, "a part `file` needs a file name, its path")),
            // As an unknown field of the JSON.
            _ => {}
        }
    }
    let missing = || Problem::bad_request("request".to_owned(), "the form has no part of this name, with the JSON");
    Ok((request.ok_or_else(missing)?, files))
}

/// The form of an outcome: a part `outcome` with the JSON, and a part `file` for each file.
pub fn answer(finished: &Finished) -> Response {
    // Random: no file can be made to hold it.
    let boundary = format!("ampoule-{:032x}", rand::random::<u128>());
    let mut body = Vec::new();
    let mut part = |disposition: &str, kind: &str, content: &[u8]| {
        let head =
            format!("--{boundary}\r\nContent-Disposition: form-data; {disposition}\r\nContent-Type: {kind}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    };
    let json = Wire::new(&finished.outcome, finished.files.as_ref(), Files::Beside).to_json();
    part("name=\"outcome\"", "application/json", &json);
    for file in finished.files.iter().flat_map(|kept| &kept.files) {
        let disposition = format!("name=\"file\"; filename=\"{}\"", quoted(&file.path));
        part(&disposition, "application/octet-stream", &file.content);
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let kind = format!("multipart/form-data; boundary={boundary}");
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_str(&kind).expect("it is plain ASCII"));
    headers.insert("server-timing", super::answer::timing(finished));
    response
}

/// A path inside quotes, as browsers write it: what would end the quotes or the line is escaped.
fn quoted(path: &str) -> String {
    path.chars().fold(String::with_capacity(path.len()), |mut text, character| {
        match character {
            '"' => text.push_str("%22"),
            '\r' => text.push_str("%0D"),
            '\n' => text.push_str("%0A"),
            other => text.push(other),
        }
        text
    })
}

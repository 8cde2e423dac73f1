//! Which forms a request comes in and its answer goes out in.

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};

use crate::serve::problem::Problem;

/// How a request is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestForm {
    Json,
    Multipart,
}

/// How its answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerForm {
    Json,
    /// Output as it comes.
    Events,
    Multipart,
}

impl RequestForm {
    /// What cannot be sent by a page in a browser without the service's leave, and `multipart/form-data`.
    pub fn of(headers: &HeaderMap) -> Result<RequestForm, Problem> {
        let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        match essence(text).as_str() {
            "application/json" => Ok(RequestForm::Json),
            "multipart/form-data" => Ok(RequestForm::Multipart),
            _ => Err(Problem::media_type()),
        }
    }
}

impl AnswerForm {
    /// The first form that is named; JSON where any will do.
    pub fn of(headers: &HeaderMap) -> Result<AnswerForm, Problem> {
        let mut named = false;
        for value in headers.get_all(ACCEPT) {
            for range in value.to_str().unwrap_or_default().split(',') {
                named = true;
                match essence(range).as_str() {
                    "application/json" | "application/*" | "*/*" => return Ok(AnswerForm::Json),
                    "text/event-stream" | "text/*" => return Ok(AnswerForm::Events),
                    "multipart/form-data" | "multipart/*" => return Ok(AnswerForm::Multipart),
                    _ => {}
                }
            }
        }
        if named { Err(Problem::not_acceptable()) } else { Ok(AnswerForm::Json) }
    }
}

/// A media type without its parameters.
fn essence(text: &str) -> String {
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_chosen_by_what_the_headers_name() {
        let accept = |text: &str| AnswerForm::of(&HeaderMap::from_iter([(ACCEPT, text.parse().unwrap())])).ok();
        assert_eq!(AnswerForm::of(&HeaderMap::new()).ok(), Some(AnswerForm::Json));
        assert_eq!(accept("*/*"), Some(AnswerForm::Json));
        assert_eq!(accept("image/png, Text/Event-Stream;q=0.9"), Some(AnswerForm::Events));
        assert_eq!(accept("multipart/form-data"), Some(AnswerForm::Multipart));
        assert_eq!(accept("image/png"), None);
        let content = |text: &str| RequestForm::of(&HeaderMap::from_iter([(CONTENT_TYPE, text.parse().unwrap())])).ok();
        assert_eq!(content("application/json; charset=utf-8"), Some(RequestForm::Json));
        assert_eq!(content("multipart/form-data; boundary=x"), Some(RequestForm::Multipart));
        assert_eq!(content("text/plain"), None);
        assert!(RequestForm::of(&HeaderMap::new()).is_err());
    }
}

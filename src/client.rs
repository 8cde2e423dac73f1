//! An executor that is elsewhere: scripts go to a served runner, outcomes come back. Feature `client`.

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, StatusCode, Url};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::{ExecuteError, Outcome, ScriptExecutor, ScriptRequest, content_sha256};

/// Runs scripts on a service that speaks the contract's wire form, as `ampoule serve` does.
///
/// A call that is cancelled closes its connection, and the service ends the script. Nothing is tried twice.
#[derive(Debug, Clone)]
pub struct HttpExecutor {
    client: Client,
    runs: Url,
    headers: HeaderMap,
    grace: Duration,
}

/// Why a service cannot be used, or what it answered instead of an outcome. As the error of a call it is in
/// [`ExecuteError::Other`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpError {
    /// The service's address is none.
    #[error("`{address}` is no address of a service: write http://127.0.0.1:8085")]
    Address {
        /// What was given.
        address: String,
    },
    /// The token cannot stand in a header.
    #[error("the token holds characters that cannot stand in an HTTP header")]
    Token,
    /// The service cannot be reached, or the connection broke.
    #[error("the service at {address} cannot be reached: {problem}")]
    Unreachable {
        /// Where.
        address: Url,
        /// What is wrong, with its causes.
        problem: String,
    },
    /// It answered neither an outcome nor a problem.
    #[error("the service answered what is no outcome: {0}")]
    NoOutcome(String),
    /// It answered more than an outcome of this request can be.
    #[error("the service answered more than {limit} bytes, which no outcome of this request can have")]
    TooLong {
        /// The most that is read, in bytes.
        limit: usize,
    },
    /// It had no answer in time.
    #[error("the service had not answered {0:?} after the script's timeout")]
    Late(Duration),
    /// It refused the request or failed.
    #[error("the service answered {status}: {title}: {detail}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The problem's title.
        title: String,
        /// What it says of this request.
        detail: String,
        /// After how many seconds it says to try again.
        retry_after: Option<u64>,
    },
}

/// What is read of a problem document.
#[derive(Deserialize)]
struct Problem {
    #[serde(default)]
    title: String,
    #[serde(default)]
    detail: String,
    field: Option<String>,
    allowed: Option<String>,
}

/// How long a connection may take to be made.
const CONNECT_TIME: Duration = Duration::from_secs(10);

/// What an answer has besides the output of the script.
const ANSWER_BYTES: usize = 1 << 20;

/// A byte of output takes six in JSON at worst, as `\u0000`.
const JSON_BYTES: usize = 6;

impl HttpExecutor {
    /// An executor on the service at `address`, such as `http://127.0.0.1:8085`; its path `/runs` is called.
    ///
    /// Proxies that the environment names are not used, and redirections are not followed: either could carry a script
    /// to somebody else. For `https` bring a client of your own: see [`HttpExecutor::with_client`].
    pub fn new(address: &str) -> Result<HttpExecutor, HttpError> {
        let client = Client::builder().no_proxy().redirect(Policy::none()).connect_timeout(CONNECT_TIME).build();
        let client = client.map_err(|_| HttpError::Address { address: address.to_owned() })?;
        HttpExecutor::with_client(address, client)
    }

    /// The same with a client of your own: with TLS, for which your crate chooses reqwest's feature, or with a proxy. It
    /// is to have no timeout of its own.
    pub fn with_client(address: &str, client: Client) -> Result<HttpExecutor, HttpError> {
        let wrong = || HttpError::Address { address: address.to_owned() };
        let runs = format!("{}/runs", address.trim_end_matches('/'));
        let runs: Url = runs.parse().map_err(|_| wrong())?;
        if !matches!(runs.scheme(), "http" | "https") || !runs.has_host() {
            return Err(wrong());
        }
        let headers = HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (ACCEPT, HeaderValue::from_static("application/json")),
        ]);
        Ok(HttpExecutor { client, runs, headers, grace: Duration::from_secs(60) })
    }

    /// Presents this bearer token. It is left out of `Debug`.
    pub fn token(mut self, token: &str) -> Result<HttpExecutor, HttpError> {
        let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| HttpError::Token)?;
        value.set_sensitive(true);
        self.headers.insert(AUTHORIZATION, value);
        Ok(self)
    }

    /// How long after the script's timeout an answer is waited for; a wait for a slot is part of it. Default: 60 s.
    pub fn grace(mut self, grace: Duration) -> HttpExecutor {
        self.grace = grace;
        self
    }

    async fn answer(&self, request: &ScriptRequest) -> Result<Outcome, ExecuteError> {
        let body = serde_json::to_vec(request).map_err(|error| HttpError::NoOutcome(error.to_string()))?;
        let sent = self.client.post(self.runs.clone()).headers(self.headers.clone()).body(body).send();
        let mut response = sent.await.map_err(|error| self.unreachable(&error))?;
        let limit = request.max_output_bytes.saturating_mul(2 * JSON_BYTES).saturating_add(ANSWER_BYTES);
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            if bytes.len() + piece.len() > limit {
                return Err(HttpError::TooLong { limit }.into());
            }
            bytes.extend_from_slice(&piece);
        }
        if response.status() != StatusCode::OK {
            return Err(refusal(request, &response, &bytes));
        }
        let outcome: Outcome =
            serde_json::from_slice(&bytes).map_err(|error| HttpError::NoOutcome(error.to_string()))?;
        Ok(outcome.capped(request.max_output_bytes))
    }

    fn unreachable(&self, error: &reqwest::Error) -> HttpError {
        let mut problem = String::new();
        let mut cause: Option<&dyn std::error::Error> = Some(error);
        while let Some(error) = cause {
            // The first says no more than the address, which is told anyway.
            problem = error.to_string();
            cause = error.source();
        }
        HttpError::Unreachable { address: self.runs.clone(), problem }
    }
}

/// The error for an answer that is no outcome.
fn refusal(request: &ScriptRequest, response: &Response, body: &[u8]) -> ExecuteError {
    let status = response.status();
    let Ok(problem) = serde_json::from_slice::<Problem>(body) else {
        return HttpError::NoOutcome(format!("status {status}, and no problem document")).into();
    };
    match (status, problem.field.as_deref()) {
        (StatusCode::FORBIDDEN, Some("runtime")) => ExecuteError::NotAllowed {
            interpreter: request.interpreter.clone(),
            allowed: problem.allowed.unwrap_or_default(),
        },
        (StatusCode::UNPROCESSABLE_ENTITY, Some("sourceSha256")) => ExecuteError::ContentMismatch {
            found: content_sha256(&request.content),
            expected: request.content_sha256.clone(),
        },
        _ => {
            let after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
            let Problem { title, detail, .. } = problem;
            HttpError::Refused { status: status.as_u16(), title, detail, retry_after: after }.into()
        }
    }
}

impl From<HttpError> for ExecuteError {
    fn from(error: HttpError) -> ExecuteError {
        ExecuteError::Other(error.into())
    }
}

#[async_trait::async_trait]
impl ScriptExecutor for HttpExecutor {
    async fn execute(&self, request: ScriptRequest, cancel: CancellationToken) -> Result<Outcome, ExecuteError> {
        let longest = request.timeout.saturating_add(self.grace);
        // What is dropped here closes its connection.
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(ExecuteError::Cancelled),
            answer = tokio::time::timeout(longest, self.answer(&request)) => {
                answer.unwrap_or_else(|_| Err(HttpError::Late(self.grace).into()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_service_s_and_a_token_is_not_shown() {
        let executor = HttpExecutor::new("http://127.0.0.1:8085/").unwrap().token("secret").unwrap();
        assert_eq!(executor.runs.as_str(), "http://127.0.0.1:8085/runs");
        assert!(!format!("{executor:?}").contains("secret"));
        for wrong in ["", "127.0.0.1:8085", "unix:/a", "ftp://a"] {
            assert!(HttpExecutor::new(wrong).is_err(), "{wrong}");
        }
        assert!(HttpExecutor::new("http://a").unwrap().token("a\nb").is_err());
    }
}

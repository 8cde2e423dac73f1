//! `POST /runs`.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use tokio_util::sync::CancellationToken;

use super::media::{AnswerForm, RequestForm};
use super::request::RunRequest;
use super::{App, answer, events, multipart};
use crate::serve::body::{Held, fits_tenant};
use crate::serve::problem::Problem;
use crate::serve::tokens::Caller;

/// Runs a script. Who goes away takes the run along: the handler is dropped, and with it the call.
pub async fn post(
    State(app): State<App>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let (form, answer) = (RequestForm::of(&headers)?, AnswerForm::of(&headers)?);
    if app.is_ending() {
        return Err(Problem::stopping());
    }
    let body = app.bodies().read(&caller, &headers, body).await?;
    let length = body.bytes.len();
    let (job, held) = match form {
        RequestForm::Json => {
            let Held { bytes, place } = body;
            let request = RunRequest::of_json(&bytes)?;
            // The text is copied by now.
            drop(bytes);
            (request.into_job(&caller, Vec::new())?, place)
        }
        RequestForm::Multipart => {
            let Held { bytes, place } = body;
            let (request, files) = multipart::read(&headers, bytes).await?;
            (request.into_job(&caller, files)?, place)
        }
    };
    fits_tenant(app.runner(), &job.tenant, length)?;
    let span = tracing::Span::current();
    span.record("tenant", &job.tenant).record("runtime", &job.runtime);

    if answer == AnswerForm::Events {
        return events::answer(app, caller, job, held).await;
    }
    let finished = app.runner().run(job, &CancellationToken::new()).await?;
    drop(held);
    span.record("outcome", finished.outcome.status.name());
    let place = app.answers().take(&caller, app.runner().policy().bytes_of(&finished))?;
    let response = match answer {
        AnswerForm::Multipart => multipart::answer(&finished),
        _ => answer::Json(&finished).into_response(),
    };
    Ok(place.until_sent(response))
}

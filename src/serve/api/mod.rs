//! The routes.

mod answer;
mod events;
mod info;
mod media;
mod multipart;
mod request;
mod runs;

use std::any::Any;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Uri};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;

use super::body::{self, Bodies};
use super::problem::Problem;
use super::room::Room;
use super::{Config, Face, Guard, guard, trace};
use crate::runner::Runner;

/// What handlers share.
#[derive(Clone)]
pub(super) struct App(Arc<Inner>);

struct Inner {
    runner: Arc<Runner>,
    bodies: Bodies,
    answers: Room,
    ending: CancellationToken,
}

impl App {
    pub fn runner(&self) -> &Runner {
        &self.0.runner
    }

    pub fn bodies(&self) -> &Bodies {
        &self.0.bodies
    }

    /// The room for answers that are being sent.
    pub fn answers(&self) -> &Room {
        &self.0.answers
    }

    pub fn is_ending(&self) -> bool {
        self.0.ending.is_cancelled()
    }
}

/// All routes. The face, and what tells of others' calls, needs a token.
pub(super) fn router(runner: Arc<Runner>, config: &Config, ending: CancellationToken, face: Face) -> Router {
    let guard = Guard::new(config.tokens.clone());
    let are_known = !config.tokens.is_empty();
    let bodies = Bodies::new(&config.requests, are_known);
    let all = config.requests.answers_bytes;
    let share = if are_known { (all / 2).max(config.policy.answer_bytes()) } else { all };
    let answers = Room::new("the answers to requests", all, share);
    let app = App(Arc::new(Inner { runner, bodies, answers, ending }));
    let face = match face {
        Face::Runs => Router::new().route("/runs", post(runs::post)).with_state(app.clone()),
        Face::Other { routes, .. } => routes.layer(from_fn_with_state(app.clone(), body::whole)),
    };
    let face = face.layer(from_fn(guard::may_run));
    let guarded = Router::new()
        .route("/runtimes", get(info::runtimes))
        .route("/metrics", get(info::metrics))
        .with_state(app.clone())
        .merge(face)
        .route_layer(from_fn_with_state(guard, Guard::check));
    Router::new()
        .route("/healthz", get(info::health))
        .route("/readyz", get(info::ready))
        .route("/openapi.json", get(info::openapi))
        .route("/docs", get(info::docs))
        .with_state(app.clone())
        .merge(guarded)
        .fallback(async |uri: Uri| Problem::not_found(uri.path()))
        .method_not_allowed_fallback(async || Problem::method_not_allowed())
        .layer(from_fn(guard::each_once))
        .layer(from_fn(not_kept))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(app, trace::layer))
}

/// Nothing is to be kept by anybody in between, and nothing guessed about its type.
async fn not_kept(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn panicked(panic: Box<dyn Any + Send>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    tracing::error!(panic = text.unwrap_or("not a text"), "a handler panicked");
    Problem::failed().into_response()
}

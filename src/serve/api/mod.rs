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

use super::body::Bodies;
use super::problem::Problem;
use super::{Config, Face, Guard, trace};
use crate::runner::Runner;

/// What handlers share.
#[derive(Clone)]
pub(super) struct App(Arc<Inner>);

struct Inner {
    runner: Arc<Runner>,
    bodies: Bodies,
    ending: CancellationToken,
}

impl App {
    pub fn runner(&self) -> &Runner {
        &self.0.runner
    }

    pub fn bodies(&self) -> &Bodies {
        &self.0.bodies
    }

    pub fn is_ending(&self) -> bool {
        self.0.ending.is_cancelled()
    }
}

/// All routes. The face, and what tells of others' calls, needs a token.
pub(super) fn router(runner: Arc<Runner>, config: &Config, ending: CancellationToken, face: Face) -> Router {
    let guard = Guard::new(config.tokens.clone());
    let app = App(Arc::new(Inner { runner, bodies: Bodies::new(&config.requests), ending }));
    let face = match face {
        Face::Runs => Router::new().route("/runs", post(runs::post)).with_state(app.clone()),
        Face::Other { routes, .. } => routes,
    };
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

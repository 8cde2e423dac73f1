//! What the service says of itself.

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::json;

use super::App;
use crate::serve::tokens::Caller;

/// The process lives.
pub async fn health() -> impl IntoResponse {
    Json(json!({ "status": "live" }))
}

/// The images are loaded, and requests are taken.
pub async fn ready(State(app): State<App>) -> Response {
    if app.is_ending() {
        return (StatusCode::SERVICE_UNAVAILABLE, Json(json!({ "status": "shutting down" }))).into_response();
    }
    let mut images: Vec<_> = app.runner().allowed().entries().flat_map(|(_, images)| images).collect();
    images.sort_unstable();
    images.dedup();
    Json(json!({ "status": "ready", "images": images })).into_response()
}

/// What a request may name, and the ceilings it may lower: those of the tenant whose a request is that names none.
pub async fn runtimes(State(app): State<App>, Extension(caller): Extension<Caller>) -> impl IntoResponse {
    let allowed = app.runner().allowed();
    let runtime = |(value, images): (&str, Vec<&str>)| {
        let manifest = allowed.manifest(value);
        json!({
            "runtime": value,
            "images": images,
            "version": manifest.map(|manifest| &manifest.version),
            "extensions": manifest.map(|manifest| &manifest.extensions),
            "description": manifest.map(|manifest| &manifest.description),
        })
    };
    let limits = app.runner().policy().limits_of(caller.tenants.of_unnamed());
    Json(json!({
        "runtimes": allowed.entries().map(runtime).collect::<Vec<_>>(),
        "limits": {
            "timeoutSeconds": limits.timeout.map(|time| time.as_secs_f64()),
            "maxOutputBytes": limits.stdout_bytes.max(limits.stderr_bytes),
            "memoryBytes": limits.memory_bytes,
            "sourceBytes": limits.source_bytes,
            "standardInputBytes": limits.stdin_bytes,
            "diskBytes": limits.scratch_bytes,
        },
    }))
}

pub async fn metrics(State(app): State<App>) -> impl IntoResponse {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(CONTENT_TYPE, kind)], app.runner().meter().encode())
}

pub async fn openapi() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], include_str!("openapi.json"))
}

pub async fn docs() -> impl IntoResponse {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'";
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, policy)];
    (headers, include_str!("docs.html"))
}

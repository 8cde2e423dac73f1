//! The caller's span as the parent of ours, for those who collect spans. Feature `otlp`.

use opentelemetry::trace::{SpanContext, SpanId, TraceContextExt, TraceFlags, TraceId, TraceState};
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt;

use super::trace::TraceContext;

pub(super) fn set_parent(span: &Span, context: &TraceContext) {
    let (Ok(trace), Ok(parent)) = (TraceId::from_hex(&context.trace_id), SpanId::from_hex(&context.parent_id)) else {
        return;
    };
    let flags = if context.sampled { TraceFlags::SAMPLED } else { TraceFlags::default() };
    let remote = SpanContext::new(trace, parent, flags, true, TraceState::default());
    // An error says that nobody collects spans.
    let _ = span.set_parent(opentelemetry::Context::new().with_remote_span_context(remote));
}

//! The log: on standard error, as text for people or as JSON for machines. With the feature `otlp`, spans go to a
//! collector as well, where the environment names one.

use std::io::{self, IsTerminal};

use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry};

/// How the log is written.
#[cfg(feature = "serve")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Lines for people
    Text,
    /// One JSON object a line
    Json,
}

/// What a command logs where `AMPOULE_LOG` does not say otherwise.
#[derive(Debug, Clone, Copy)]
pub enum Log {
    /// Warnings, without times: for a command that a person waits for.
    Warnings,
    /// What a service does, with times.
    #[cfg(feature = "serve")]
    Service(LogFormat),
}

type BoxedLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// While it is there, what is told is collected. Dropping it sends what has not been sent yet.
pub struct Logging {
    #[cfg(feature = "otlp")]
    _spans: Option<spans::Provider>,
}

impl Log {
    /// Begins to log. To be called once, outside any asynchronous runtime.
    pub fn begin(self) -> anyhow::Result<Logging> {
        let default = match self {
            Log::Warnings => "warn",
            #[cfg(feature = "serve")]
            // The protocol's crate warns of each request that its client cancels.
            Log::Service(_) => "warn,ampoule=info,rmcp=error",
        };
        let filter = EnvFilter::try_from_env("AMPOULE_LOG").unwrap_or_else(|_| default.into());
        let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
        let lines: BoxedLayer = match self {
            Log::Warnings => lines.without_time().boxed(),
            #[cfg(feature = "serve")]
            Log::Service(LogFormat::Text) => lines.boxed(),
            #[cfg(feature = "serve")]
            Log::Service(LogFormat::Json) => lines.json().flatten_event(true).boxed(),
        };
        #[cfg_attr(not(feature = "otlp"), allow(unused_mut, reason = "only one that collects adds to it"))]
        let mut layers = vec![lines.with_filter(filter).boxed()];
        #[cfg(feature = "otlp")]
        let _spans = match self {
            Log::Service(_) => spans::collect(&mut layers)?,
            Log::Warnings => None,
        };
        tracing_subscriber::registry().with(layers).init();
        Ok(Logging {
            #[cfg(feature = "otlp")]
            _spans,
        })
    }
}

/// Spans for an OpenTelemetry collector.
#[cfg(feature = "otlp")]
mod spans {
    use anyhow::Context;
    use opentelemetry::trace::TracerProvider;
    use opentelemetry_otlp::SpanExporter;
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing_subscriber::filter::{LevelFilter, Targets};
    use tracing_subscriber::layer::Layer;

    use super::BoxedLayer;

    /// Sends spans, in batches, from a thread of its own. Dropping it sends the last.
    pub struct Provider(SdkTracerProvider);

    impl Drop for Provider {
        fn drop(&mut self) {
            if let Err(error) = self.0.shutdown() {
                crate::cli::say(format_args!("the last spans could not be sent: {error}"));
            }
        }
    }

    /// The variables that name a collector, by OpenTelemetry's convention. Without them nothing is sent.
    const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];

    pub fn collect(layers: &mut Vec<BoxedLayer>) -> anyhow::Result<Option<Provider>> {
        if ENDPOINTS.iter().all(|name| std::env::var_os(name).is_none_or(|value| value.is_empty())) {
            return Ok(None);
        }
        let exporter = SpanExporter::builder().with_http().build().context("spans cannot be sent")?;
        let resource = Resource::builder().with_service_name("ampoule").build();
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
        let spans = tracing_opentelemetry::layer().with_tracer(provider.tracer("ampoule"));
        // Our own alone: what sends the spans has some, too.
        let ours = Targets::new().with_target("ampoule", LevelFilter::INFO);
        layers.push(spans.with_filter(ours).boxed());
        Ok(Some(Provider(provider)))
    }
}

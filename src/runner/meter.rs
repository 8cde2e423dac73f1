//! What is counted, for Prometheus. Labels are few: runtimes of the allow-list, ways to end, routes; never a tenant's
//! name or a script's.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::{Busy, Finished, RunError};
use crate::{ExecuteError, Outcome, Status};

/// Counts, durations and what is going on now.
pub struct Meter {
    registry: Registry,
    calls: Family<CallLabels, Counter>,
    refused: Family<RefusedLabels, Counter>,
    durations: Family<RuntimeLabels, Histogram>,
    cold_starts: Family<RuntimeLabels, Histogram>,
    queue_times: Histogram,
    fuel: Family<RuntimeLabels, Counter>,
    running: Gauge,
    waiting: Gauge,
    responses: Family<ResponseLabels, Counter>,
    response_times: Family<RouteLabels, Histogram>,
    connections: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    runtime: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuntimeLabels {
    runtime: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusedLabels {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RouteLabels {
    route: String,
}

/// From a tenth of a millisecond to a minute and more.
fn seconds() -> Histogram {
    Histogram::new([
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
        60.0,
    ])
}

impl Meter {
    pub(super) fn new(slots: usize) -> Meter {
        let mut registry = Registry::with_prefix("ampoule");
        let meter = Meter {
            calls: Family::default(),
            refused: Family::default(),
            durations: Family::new_with_constructor(seconds),
            cold_starts: Family::new_with_constructor(seconds),
            queue_times: seconds(),
            fuel: Family::default(),
            running: Gauge::default(),
            waiting: Gauge::default(),
            responses: Family::default(),
            response_times: Family::new_with_constructor(seconds),
            connections: Gauge::default(),
            registry: Registry::default(),
        };
        let there_are: Gauge = Gauge::default();
        there_are.set(slots as i64);
        registry.register("calls", "Calls that ended, by how", meter.calls.clone());
        registry.register("calls_refused", "Calls that came to no outcome, by why", meter.refused.clone());
        registry.register_with_unit(
            "call",
            "From the start of the guest to its end",
            Unit::Seconds,
            meter.durations.clone(),
        );
        registry.register_with_unit(
            "cold_start",
            "What a call takes besides its guest: making its store, memory and directory, and taking them down",
            Unit::Seconds,
            meter.cold_starts.clone(),
        );
        registry.register_with_unit("queue", "The wait for a slot", Unit::Seconds, meter.queue_times.clone());
        registry.register("fuel", "Units of fuel that guests used", meter.fuel.clone());
        registry.register("slots", "Calls that may run at once", there_are);
        registry.register("slots_in_use", "Calls that run", meter.running.clone());
        registry.register("queue_length", "Calls that wait for a slot", meter.waiting.clone());
        registry.register("http_responses", "Responses, by route and status", meter.responses.clone());
        registry.register_with_unit(
            "http_response",
            "From a request's head to its response's",
            Unit::Seconds,
            meter.response_times.clone(),
        );
        registry.register("connections", "Open connections", meter.connections.clone());
        Meter { registry, ..meter }
    }

    /// Everything, in Prometheus's text format (OpenMetrics 1.0).
    pub fn encode(&self) -> String {
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("writing to a string does not fail");
        text
    }

    /// Whether a call runs or waits for a slot.
    pub(super) fn is_busy(&self) -> bool {
        self.running.get() + self.waiting.get() > 0
    }

    /// A job that begins. One that is dropped before it ends counts as abandoned.
    pub(super) fn job(&self) -> CountedJob<'_> {
        CountedJob { meter: self, ended: false }
    }

    pub(super) fn waiting(&self) -> Raised<'_> {
        Raised::new(&self.waiting)
    }

    /// A connection that is open until the value is dropped.
    pub(crate) fn connection(&self) -> Raised<'_> {
        Raised::new(&self.connections)
    }

    /// A call that begins to run.
    pub(super) fn running(&self, runtime: &str, queued: Duration) -> RunningCall<'_> {
        self.queue_times.observe(queued.as_secs_f64());
        let labels = RuntimeLabels { runtime: runtime.to_owned() };
        RunningCall { meter: self, labels, _running: Raised::new(&self.running) }
    }

    /// A response to a request of this route.
    pub(crate) fn response(&self, route: &str, status: u16, time: Duration) {
        self.responses.get_or_create(&ResponseLabels { route: route.to_owned(), status }).inc();
        self.response_times.get_or_create(&RouteLabels { route: route.to_owned() }).observe(time.as_secs_f64());
    }

    fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&RefusedLabels { reason }).inc();
    }
}

pub(super) struct CountedJob<'a> {
    meter: &'a Meter,
    ended: bool,
}

impl CountedJob<'_> {
    pub fn ended(mut self, result: &Result<Finished, RunError>) {
        self.ended = true;
        if let Err(error) = result {
            self.meter.refused(reason(error));
        }
    }
}

impl Drop for CountedJob<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.meter.refused("abandoned");
        }
    }
}

fn reason(error: &RunError) -> &'static str {
    match error {
        RunError::Busy(Busy::Tenant { .. }) => "tenant_queue_full",
        RunError::Busy(Busy::All { .. }) => "queue_full",
        RunError::Busy(Busy::Waited(_)) => "queue_time",
        RunError::Stopping => "stopping",
        RunError::Kept(_) => "failed",
        RunError::Execute(error) => match error {
            ExecuteError::Cancelled => "cancelled",
            ExecuteError::NotAllowed { .. } => "not_allowed",
            ExecuteError::ContentMismatch { .. } => "content_mismatch",
            ExecuteError::Refused(_) => "refused",
            _ => "failed",
        },
    }
}

/// A gauge that is one higher until this is dropped.
pub(crate) struct Raised<'a>(&'a Gauge);

impl<'a> Raised<'a> {
    fn new(gauge: &'a Gauge) -> Raised<'a> {
        gauge.inc();
        Raised(gauge)
    }
}

impl Drop for Raised<'_> {
    fn drop(&mut self) {
        self.0.dec();
    }
}

pub(super) struct RunningCall<'a> {
    meter: &'a Meter,
    labels: RuntimeLabels,
    _running: Raised<'a>,
}

impl RunningCall<'_> {
    pub fn ended(self, outcome: &Outcome, sandbox: Duration) {
        let (meter, wall) = (self.meter, outcome.usage.wall_time);
        meter.durations.get_or_create(&self.labels).observe(wall.as_secs_f64());
        meter.cold_starts.get_or_create(&self.labels).observe(sandbox.saturating_sub(wall).as_secs_f64());
        meter.fuel.get_or_create(&self.labels).inc_by(outcome.usage.fuel);
        let outcome = match outcome.status {
            Status::Exited(0) => "succeeded",
            Status::Exited(_) => "failed",
            Status::TimedOut => "timed_out",
            Status::OutOfFuel => "out_of_fuel",
            Status::Trapped(_) => "trapped",
        };
        meter.calls.get_or_create(&CallLabels { runtime: self.labels.runtime.clone(), outcome }).inc();
    }
}

//! One call, from the first gate to the last entry.

use std::time::{Duration, Instant, SystemTime};

use metrics::{counter, gauge, histogram};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::audit::{DeniedBecause, Ended, clipped, clipped_detail};
use super::catalog::Script;
use super::gates::{GATES, Passage};
use super::output::capped;
use super::watch::{Watched, watch};
use super::{AuditEntry, AuditError, AuditEvent, Denial, HostError, HostRun, Inner, ScriptCall};
use crate::executor::ExecuteError;
use crate::script::{Outcome, ScriptRequest, content_sha256};

/// What the gates found.
struct Allowed {
    script: Script,
    grant: Option<String>,
    interpreter: String,
}

impl Inner {
    pub async fn run(&self, call: ScriptCall, cancel: &CancellationToken) -> Result<HostRun, HostError> {
        let id = format!("{:016x}", rand::random::<u64>());
        let span = tracing::info_span!(
            "script", call = %id, tenant = ?call.tenant, skill = ?call.skill, script = ?call.script,
            status = tracing::field::Empty, gate = tracing::field::Empty
        );
        self.supervise(id, call, cancel).instrument(span).await
    }

    async fn supervise(&self, id: String, call: ScriptCall, cancel: &CancellationToken) -> Result<HostRun, HostError> {
        let now = self.clock.now();
        let entry = |event| {
            let mut entry = AuditEntry::new(now, event, &id, &call.tenant, &call.skill, &call.script);
            entry.run = call.run.as_deref().map(clipped);
            entry.arguments_bytes = call.arguments.as_ref().map(|arguments| arguments.len() as u64);
            let detail = call.detail.iter().take(16);
            entry.detail = detail.map(|(key, text)| (clipped(key), clipped_detail(text))).collect();
            entry
        };
        let mut entry = entry(AuditEvent::Allowed);
        let allowed = match self.pass_gates(&call, now, &mut entry).await {
            Ok(allowed) => allowed,
            Err((gate, denial)) => return Err(self.denied(id, entry, gate, denial).await),
        };
        // Only those of allowed calls are worth hashing: they are small.
        entry.arguments_sha256 = call.arguments.as_deref().map(content_sha256);
        entry.interpreter = Some(allowed.interpreter.clone());
        entry.grant = allowed.grant.clone();
        if let Err(error) = self.append(&entry).await {
            counter!("ampoule_calls_unaudited_total").increment(1);
            tracing::error!(%error, "a call was not made, since its audit entry cannot be written");
            return Err(HostError::Unaudited(error));
        }

        let began = Instant::now();
        let slot = tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            slot = self.slots.take(&call.tenant) => Some(slot),
        };
        let waited = began.elapsed();
        histogram!("ampoule_slot_wait_seconds").record(waited);
        let started = Instant::now();
        let Watched { result, given_up } = match &slot {
            None => Watched { result: Err(ExecuteError::Cancelled), given_up: false },
            Some(_) => {
                gauge!("ampoule_calls_running").increment(1.0);
                let _running = Running;
                let (request, extras) = self.request(call, allowed);
                watch(self.executor.clone(), request, extras, self.config.grace, cancel).await
            }
        };
        drop(slot);
        let result = result.map(|outcome| capped(outcome, self.config.max_output_bytes));
        let record = ended(&result, given_up, waited, started.elapsed());
        let recorded = self.finished(entry, &record).await;
        match result {
            Ok(outcome) => Ok(HostRun { call: id, outcome, record, recorded }),
            Err(ExecuteError::Cancelled) => Err(HostError::Cancelled),
            Err(error) => Err(HostError::Execute(error)),
        }
    }

    /// Passes the gates, noting in the entry what they find.
    async fn pass_gates(
        &self,
        call: &ScriptCall,
        now: SystemTime,
        entry: &mut AuditEntry,
    ) -> Result<Allowed, (&'static str, Denial)> {
        let mut passage = Passage {
            call,
            config: &self.config,
            stores: &self.stores,
            now,
            script: None,
            grant: None,
            interpreter: None,
        };
        let mut closed = None;
        for gate in GATES {
            if let Err(denial) = gate.pass(&mut passage).await {
                closed = Some((gate.name(), denial));
                break;
            }
        }
        if let Some(script) = &passage.script {
            entry.origin = Some(script.origin);
            entry.script_bytes = Some(script.content.len() as u64);
            entry.script_sha256 = Some(content_sha256(&script.content));
        }
        match (closed, passage.script, passage.interpreter) {
            (None, Some(script), Some(interpreter)) => {
                Ok(Allowed { script, interpreter, grant: passage.grant.map(|grant| grant.id) })
            }
            (Some(closed), ..) => Err(closed),
            (None, ..) => {
                let script = clipped(&call.script);
                Err(("known", Denial::Unchecked { script, problem: "a gate let it through unseen".into() }))
            }
        }
    }

    async fn denied(&self, call: String, mut entry: AuditEntry, gate: &'static str, denial: Denial) -> HostError {
        counter!("ampoule_calls_denied_total", "gate" => gate).increment(1);
        tracing::Span::current().record("gate", gate);
        tracing::info!(gate, reason = %denial, "denied");
        entry.event = AuditEvent::Denied;
        entry.denied = Some(DeniedBecause { gate: gate.to_owned(), reason: clipped_detail(&denial.to_string()) });
        if let Err(error) = self.append(&entry).await {
            // It is denied all the same.
            tracing::error!(%error, "a denial is missing in the audit");
        }
        HostError::Denied { call, gate, denial: Box::new(denial) }
    }

    /// Writes down how a call ended; whether that could be done.
    async fn finished(&self, mut entry: AuditEntry, record: &Ended) -> bool {
        tracing::Span::current().record("status", record.status.as_str());
        counter!("ampoule_calls_total", "status" => record.status.clone()).increment(1);
        histogram!("ampoule_call_seconds").record(record.took);
        tracing::info!(status = %record.status, took = ?record.took, waited = ?record.waited, "finished");
        entry.time = self.clock.now();
        entry.event = AuditEvent::Finished;
        entry.ended = Some(record.clone());
        match self.append(&entry).await {
            Ok(()) => true,
            Err(error) => {
                tracing::error!(%error, "the end of a call is missing in the audit");
                false
            }
        }
    }

    async fn append(&self, entry: &AuditEntry) -> Result<(), AuditError> {
        let start = Instant::now();
        let appended = self.audit.append(entry).await;
        histogram!("ampoule_audit_seconds").record(start.elapsed());
        appended.map(drop)
    }

    fn request(&self, call: ScriptCall, allowed: Allowed) -> (ScriptRequest, crate::Extras) {
        let Allowed { script, interpreter, .. } = allowed;
        let content = script.content.as_ref().to_owned();
        let request = ScriptRequest {
            tenant_id: call.tenant,
            run_id: call.run,
            skill_name: call.skill,
            script_name: script.name,
            origin: script.origin,
            interpreter,
            content_sha256: content_sha256(&content),
            content,
            source_path: script.source_path,
            arguments_json: call.arguments,
            timeout: call.timeout.unwrap_or(self.config.timeout),
            max_output_bytes: self.config.max_output_bytes,
        };
        (request, call.extras)
    }
}

/// Counts a call among those that run, until it does no more, however it ends.
struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        gauge!("ampoule_calls_running").decrement(1.0);
    }
}

fn ended(result: &Result<Outcome, ExecuteError>, given_up: bool, waited: Duration, took: Duration) -> Ended {
    let mut ended = Ended {
        status: String::new(),
        exit_code: None,
        given_up,
        waited,
        took,
        fuel: 0,
        stdout_bytes: 0,
        stderr_bytes: 0,
        truncated: false,
        error: None,
    };
    match result {
        Ok(outcome) => {
            ended.status = outcome.status.name().to_owned();
            ended.exit_code = outcome.status.exit_code();
            ended.fuel = outcome.usage.fuel;
            // An executor that counts nothing still shows what it kept.
            ended.stdout_bytes = outcome.usage.stdout_bytes.max(outcome.stdout.len() as u64);
            ended.stderr_bytes = outcome.usage.stderr_bytes.max(outcome.stderr.len() as u64);
            ended.truncated = outcome.truncated;
        }
        Err(ExecuteError::Cancelled) => ended.status = "cancelled".to_owned(),
        Err(error) => {
            ended.status = "failed".to_owned();
            ended.error = Some(clipped_detail(&error.to_string()));
        }
    }
    ended
}

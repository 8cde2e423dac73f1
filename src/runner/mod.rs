//! What the HTTP runner and the tools for agents share: an executor behind an allow-list, ceilings, slots and counts.
//! Feature `serve`.
//!
//! A [`Job`] is what a caller asks for. [`Runner::run`] finds its image, lowers the limits to what it asked, waits for a
//! slot, makes the call, and collects the files it left. Dropping the future ends the call.

mod allow;
mod fits;
mod job;
mod kept;
mod meter;
mod policy;
mod slots;

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

pub use allow::AllowList;
pub use job::Job;
pub use kept::{KeptFile, KeptFiles};
pub use meter::Meter;
pub use policy::{FilesOut, Policy, PolicyError, TenantPolicy};
pub use slots::Busy;
use slots::Slots;

use crate::script::content_sha256;
use crate::{BuildError, ExecuteError, Home, Outcome, WasmExecutor};

/// Runs jobs, many at a time, for the life of the process.
pub struct Runner {
    executor: WasmExecutor,
    allowed: AllowList,
    policy: Policy,
    slots: Slots,
    meter: Meter,
    /// Cancelled when calls that still run must end.
    stop: CancellationToken,
}

/// A job that came to an outcome.
#[derive(Debug)]
#[non_exhaustive]
pub struct Finished {
    /// How the script ended, and what it wrote where nobody took it as it came.
    pub outcome: Outcome,
    /// What it left in its directory, when the job asked for that.
    pub files: Option<KeptFiles>,
    /// How long it waited for a slot.
    pub queued: Duration,
    /// How long the call took: making the guest's store, memory and directory, running it, and taking them down.
    pub sandbox: Duration,
}

/// Why a job came to no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// No slot, and no place to wait for one.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The runner is ending, and the call was cancelled with it or never began.
    #[error("the runner is shutting down")]
    Stopping,
    /// The call was refused or the sandbox failed.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    /// The script ran, but what it left cannot be read.
    #[error("the files that the script left cannot be read: {0}")]
    Kept(std::io::Error),
}

impl Runner {
    /// A runner of the images in `home` that are on the allow-list. Loads them, which takes some milliseconds for each.
    pub fn new(home: Home, allowed: AllowList, policy: Policy) -> Result<Runner, BuildError> {
        let mut builder = WasmExecutor::builder(home).limits(policy.limits.clone());
        for image in allowed.images() {
            builder = builder.allow(image, image);
        }
        let slots = Slots::new(&policy);
        let meter = Meter::new(policy.slots);
        let executor = builder.build()?;
        fits::check(&allowed, &policy, |image| executor.image_bytes(image))?;
        Ok(Runner { executor, allowed, policy, slots, meter, stop: CancellationToken::new() })
    }

    /// What jobs may name.
    pub fn allowed(&self) -> &AllowList {
        &self.allowed
    }

    /// What a job may use, and how many may run.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// What has been counted.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Cancels the calls that run and wait; they return [`RunError::Stopping`], and so do all later ones.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Waits until no job runs or waits for a slot.
    pub async fn is_quiet(&self) {
        while self.meter.is_busy() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Runs a job to its outcome. Dropping the future, or cancelling `cancel`, ends the call and leaves nothing running.
    pub async fn run(&self, job: Job, cancel: &CancellationToken) -> Result<Finished, RunError> {
        let counted = self.meter.job();
        let result = tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(RunError::Stopping),
            result = self.admitted(job, cancel) => result,
        };
        counted.ended(&result);
        result
    }

    async fn admitted(&self, mut job: Job, cancel: &CancellationToken) -> Result<Finished, RunError> {
        let Some(image) = self.allowed.image(&job.runtime, &job.source) else {
            return Err(ExecuteError::NotAllowed { allowed: self.allowed.to_string(), interpreter: job.runtime }.into());
        };
        if let Some(expected) = &job.source_sha256 {
            let found = content_sha256(&job.source);
            if !found.eq_ignore_ascii_case(expected) {
                return Err(ExecuteError::ContentMismatch { found, expected: expected.clone() }.into());
            }
        }
        let (runtime, tenant) = (job.runtime.clone(), job.tenant.clone());
        let keeps_files = job.keep_files;
        let starts = job.started.take();
        let mut call = job.into_call(self.policy.limits_of(&tenant));

        let asked = Instant::now();
        let slot = {
            let _waiting = self.meter.waiting();
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(ExecuteError::Cancelled.into()),
                slot = self.slots.take(&tenant) => slot?,
            }
        };
        let queued = asked.elapsed();
        // Where what a script leaves is private, and swept should this process die.
        let folder = if keeps_files { Some(self.executor.folder().map_err(RunError::Kept)?) } else { None };
        call.keep = folder.as_ref().map(kept::place);
        if let Some(starts) = starts {
            // Whoever asked may not be there any more.
            let _ = starts.send(());
        }

        let running = self.meter.running(&runtime, queued);
        let started = Instant::now();
        let outcome = self.executor.call(image, call, cancel).await;
        let sandbox = started.elapsed();
        drop(slot);
        let outcome = outcome?;
        running.ended(&outcome, sandbox);

        let files = match folder {
            Some(folder) => Some(kept::read(folder, self.policy.files_out).await.map_err(RunError::Kept)?),
            None => None,
        };
        Ok(Finished { outcome, files, queued, sandbox })
    }
}

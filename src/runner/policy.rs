//! What jobs may use, and how many may run: one plain struct, safe and finite by default.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Finished;
use crate::{Limits, LimitsError};

/// Ceilings and numbers for all jobs, and for those of single tenants.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Policy {
    /// The ceilings of one call. Default: [`Limits::default`].
    pub limits: Limits,
    /// Calls that run at once, of all tenants. Default: four for each core, 8 at least.
    pub slots: usize,
    /// Calls of one tenant that run at once. Default: half of `slots`, 4 at least.
    pub slots_per_tenant: usize,
    /// Jobs that wait for a slot, of all tenants. Default: 256. Beyond it a job is refused.
    pub queue: usize,
    /// Jobs of one tenant that wait for a slot. Default: 128. Beyond it a job is refused.
    pub queue_per_tenant: usize,
    /// How long a job waits for a slot. Default: 30 s. Then it is refused.
    pub queue_time: Duration,
    /// What is given back of the files that a script left.
    pub files_out: FilesOut,
    /// Where a tenant's numbers differ.
    pub tenants: BTreeMap<String, TenantPolicy>,
}

/// The caps on files that are given back. What is beyond them is named, not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilesOut {
    /// Bytes of all files together. Default: 16 MiB.
    pub bytes: u64,
    /// Files. Default: 100.
    pub count: usize,
}

/// What differs for one tenant; `None` means as for all. A ceiling here may be below the general one, never above it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TenantPolicy {
    /// Calls that run at once.
    pub slots: Option<usize>,
    /// Jobs that wait.
    pub queue: Option<usize>,
    /// The ceiling on a call's timeout.
    pub timeout: Option<Duration>,
    /// The ceiling on a call's memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// The ceiling on the kept bytes of each output stream.
    pub max_output_bytes: Option<usize>,
    /// The largest request body, in bytes: kept by the service that reads it.
    pub body_bytes: Option<usize>,
}

impl Default for Policy {
    fn default() -> Policy {
        let slots = (std::thread::available_parallelism().map_or(4, usize::from) * 4).max(8);
        Policy {
            limits: Limits::default(),
            slots,
            slots_per_tenant: (slots / 2).max(4),
            queue: 256,
            queue_per_tenant: 128,
            queue_time: Duration::from_secs(30),
            files_out: FilesOut { bytes: 16 << 20, count: 100 },
            tenants: BTreeMap::new(),
        }
    }
}

/// A policy under which nothing could run, or that cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// A ceiling that cannot be meant.
    #[error(transparent)]
    Limits(#[from] LimitsError),
    /// No call could ever run.
    #[error("{of} may run 0 calls at once: `slots` must be at least 1")]
    NoSlots {
        /// All tenants, or one of them.
        of: String,
    },
    /// A call that nothing ends would hold its slot for ever.
    #[error("`timeout` is off, but a call that nothing ends would hold its slot for ever: set one")]
    NoTimeout,
}

impl Policy {
    /// Checks that calls can run, and end.
    pub fn check(&self) -> Result<(), PolicyError> {
        self.limits.check()?;
        if self.limits.timeout.is_none() {
            return Err(PolicyError::NoTimeout);
        }
        let none = |of: &str| Err(PolicyError::NoSlots { of: of.to_owned() });
        if self.slots == 0 {
            return none("all tenants together");
        }
        if self.slots_per_tenant == 0 {
            return none("a tenant");
        }
        for (name, tenant) in &self.tenants {
            if tenant.slots == Some(0) {
                return none(&format!("the tenant `{name}`"));
            }
            self.limits_of(name).check()?;
        }
        Ok(())
    }

    /// A call's ceilings.
    pub fn limits_of(&self, tenant: &str) -> Limits {
        let mut limits = self.limits.clone();
        let Some(own) = self.tenants.get(tenant) else { return limits };
        if let Some(timeout) = own.timeout {
            limits.timeout = Some(limits.timeout.map_or(timeout, |ceiling| ceiling.min(timeout)));
        }
        limits.memory_bytes = own.memory_bytes.map_or(limits.memory_bytes, |bytes| bytes.min(limits.memory_bytes));
        if let Some(bytes) = own.max_output_bytes {
            limits.stdout_bytes = limits.stdout_bytes.min(bytes);
            limits.stderr_bytes = limits.stderr_bytes.min(bytes);
        }
        limits
    }

    /// The ceilings on memory, each with whose it is.
    pub(super) fn memory_ceilings(&self) -> impl Iterator<Item = (String, u64)> {
        let all = ("all tenants".to_owned(), self.limits.memory_bytes);
        let own = self.tenants.keys().map(|name| (format!("the tenant `{name}`"), self.limits_of(name).memory_bytes));
        std::iter::once(all).chain(own)
    }

    /// What a call can be answered at most: its output and its files, as they are.
    pub(crate) fn answer_bytes(&self) -> usize {
        let files = usize::try_from(self.files_out.bytes).unwrap_or(usize::MAX);
        self.limits.stdout_bytes.saturating_add(self.limits.stderr_bytes).saturating_add(files)
    }

    /// What this call is answered, no more than [`Policy::answer_bytes`], also where its output went to sinks.
    pub(crate) fn bytes_of(&self, finished: &Finished) -> usize {
        let kept = |written: u64, most: usize| usize::try_from(written).map_or(most, |written| written.min(most));
        let (usage, limits) = (&finished.outcome.usage, &self.limits);
        let files = finished.files.iter().flat_map(|kept| &kept.files).map(|file| file.content.len()).sum::<usize>();
        kept(usage.stdout_bytes, limits.stdout_bytes) + kept(usage.stderr_bytes, limits.stderr_bytes) + files
    }

    pub(super) fn slots_of(&self, tenant: &str) -> usize {
        self.tenants.get(tenant).and_then(|own| own.slots).unwrap_or(self.slots_per_tenant)
    }

    pub(super) fn queue_of(&self, tenant: &str) -> usize {
        self.tenants.get(tenant).and_then(|own| own.queue).unwrap_or(self.queue_per_tenant)
    }
}

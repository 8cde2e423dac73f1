//! The TOML file as it is written: tables of what may be set, nothing checked but names and types.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;

use super::Requests;
use super::units::{Size, Time};
use crate::Limits;
use crate::runner::{FilesOut, Policy, TenantPolicy};

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct File {
    pub listen: Option<Vec<String>>,
    pub socket_mode: Option<String>,
    pub token_file: Option<PathBuf>,
    pub shutdown_time: Option<Time>,
    pub runtimes: Option<BTreeMap<String, String>>,
    pub limits: LimitsTable,
    pub concurrency: ConcurrencyTable,
    pub requests: RequestsTable,
    pub tenants: BTreeMap<String, TenantTable>,
    pub tokens: Vec<TokenTable>,
}

/// The ceilings of one call.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LimitsTable {
    timeout: Option<Time>,
    fuel: Option<u64>,
    memory: Option<Size>,
    max_output: Option<Size>,
    disk: Option<Size>,
    source: Option<Size>,
    stdin: Option<Size>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ConcurrencyTable {
    slots: Option<usize>,
    slots_per_tenant: Option<usize>,
    queue: Option<usize>,
    queue_per_tenant: Option<usize>,
    queue_time: Option<Time>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RequestsTable {
    body: Option<Size>,
    bodies: Option<Size>,
    head_time: Option<Time>,
    body_time: Option<Time>,
    write_time: Option<Time>,
    answers: Option<Size>,
    sessions: Option<usize>,
    sessions_per_token: Option<usize>,
    session_time: Option<Time>,
    connections: Option<usize>,
    files_out: Option<Size>,
    files_out_count: Option<usize>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TenantTable {
    slots: Option<usize>,
    queue: Option<usize>,
    timeout: Option<Time>,
    memory: Option<Size>,
    max_output: Option<Size>,
    body: Option<Size>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TokenTable {
    pub name: String,
    pub sha256: String,
    /// It must be said: no token is for all tenants by an omission.
    pub tenants: TenantsTable,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "`tenants` must be a list of names, or \"any\"")]
pub enum TenantsTable {
    Any(Any),
    These(BTreeSet<String>),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Any {
    Any,
}

/// Puts a value in its place where there is one.
fn set<T, F: Into<T>>(place: &mut T, value: Option<F>) {
    if let Some(value) = value {
        *place = value.into();
    }
}

impl LimitsTable {
    pub fn apply(self, limits: &mut Limits) {
        limits.timeout = self.timeout.map(Time::into).or(limits.timeout);
        limits.fuel = self.fuel.or(limits.fuel);
        set(&mut limits.memory_bytes, self.memory);
        set(&mut limits.stdout_bytes, self.max_output);
        set(&mut limits.stderr_bytes, self.max_output);
        set(&mut limits.scratch_bytes, self.disk);
        set(&mut limits.source_bytes, self.source);
        set(&mut limits.stdin_bytes, self.stdin);
    }
}

impl ConcurrencyTable {
    pub fn apply(self, policy: &mut Policy) {
        if let Some(slots) = self.slots {
            policy.slots = slots;
            policy.slots_per_tenant = policy.slots_per_tenant.min(slots);
        }
        set(&mut policy.slots_per_tenant, self.slots_per_tenant);
        set(&mut policy.queue, self.queue);
        set(&mut policy.queue_per_tenant, self.queue_per_tenant);
        set(&mut policy.queue_time, self.queue_time);
    }
}

impl RequestsTable {
    pub fn apply(self, requests: &mut Requests, files_out: &mut FilesOut) {
        set(&mut requests.body_bytes, self.body);
        set(&mut requests.bodies_bytes, self.bodies);
        set(&mut requests.head_time, self.head_time);
        set(&mut requests.body_time, self.body_time);
        set(&mut requests.write_time, self.write_time);
        set(&mut requests.answers_bytes, self.answers);
        set(&mut requests.sessions, self.sessions);
        set(&mut requests.sessions_per_token, self.sessions_per_token);
        set(&mut requests.session_time, self.session_time);
        set(&mut requests.connections, self.connections);
        set(&mut files_out.bytes, self.files_out);
        set(&mut files_out.count, self.files_out_count);
    }
}

impl From<TenantTable> for TenantPolicy {
    fn from(table: TenantTable) -> TenantPolicy {
        TenantPolicy {
            slots: table.slots,
            queue: table.queue,
            timeout: table.timeout.map(Time::into),
            memory_bytes: table.memory.map(Size::into),
            max_output_bytes: table.max_output.map(Size::into),
            body_bytes: table.body.map(Size::into),
        }
    }
}

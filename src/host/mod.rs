//! The control plane: who may run which script, before any executor.
//!
//! A call passes the gates in their order, is written down durably, waits for a slot, runs once under a watchdog, and
//! its end is written down too. A closed gate never reaches the executor, and neither does a call whose entry cannot be
//! written. What is not allowed is denied: see [`HostConfig`].
//!
//! ```
//! use std::sync::Arc;
//!
//! use ampoule::host::{
//!     ContentPin, Grant, HostConfig, JsonLinesAudit, MemoryCatalog, MemoryGrants, Script, ScriptCall, ScriptHost,
//! };
//! use ampoule::{CancellationToken, ScriptExecutor};
//!
//! # async fn run(executor: Arc<dyn ScriptExecutor>) -> Result<(), Box<dyn std::error::Error>> {
//! let mut config = HostConfig::new("wasm");
//! config.scripts_enabled = true;
//! config.interpreters.insert("py".into(), "python".into());
//!
//! let script = Script::stored("greetings", "hello.py", "print('hello')");
//! let pin = ContentPin::of_script("greetings", "hello.py", "print('hello')");
//! let grants = MemoryGrants::new([Grant::script("acme", "greetings", "hello.py").pinned(pin)]);
//!
//! let host = ScriptHost::builder(config, "wasm", executor, Arc::new(JsonLinesAudit::open("audit.jsonl")?))
//!     .catalog(Arc::new(MemoryCatalog::new([script])))
//!     .grants(Arc::new(grants))
//!     .build()?;
//! let call = ScriptCall::new("acme", "greetings", "hello.py");
//! println!("{}", host.run(call, &CancellationToken::new()).await?.outcome.stdout_text());
//! # Ok(())
//! # }
//! ```

mod audit;
mod call;
mod catalog;
mod clock;
mod config;
mod gates;
mod grants;
mod output;
mod run;
mod schema;
mod slots;
#[cfg(feature = "sqlite")]
mod sqlite;
mod watch;

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use audit::{
    AuditEntry, AuditError, AuditEvent, AuditSink, DeniedBecause, Ended, Fault, Head, JsonLinesAudit, Line, MemoryAudit,
};
pub use call::{HostError, HostRun, ScriptCall};
pub use catalog::{MemoryCatalog, Script, ScriptCatalog};
pub use clock::Clock;
pub use config::{AuditPlace, ConfigError, HostConfig};
pub use gates::Denial;
pub use grants::{ContentPin, Grant, GrantStore, MemoryGrants, PinError, StoreError};
pub use schema::{ArgumentSchema, SchemaError};
use slots::Slots;

#[cfg(feature = "sqlite")]
pub use self::{audit::SqliteAudit, grants::SqliteGrants, sqlite::SqliteError};
use crate::executor::ScriptExecutor;
use crate::permissions::Protected;

/// What a host looks things up in.
pub(crate) struct Stores {
    pub catalog: Arc<dyn ScriptCatalog>,
    pub grants: Arc<dyn GrantStore>,
}

/// A control plane around an executor. Clones are the same host.
#[derive(Clone)]
pub struct ScriptHost(Arc<Inner>);

struct Inner {
    config: HostConfig,
    stores: Stores,
    audit: Arc<dyn AuditSink>,
    executor: Arc<dyn ScriptExecutor>,
    slots: Slots,
    clock: Clock,
    protected: Protected,
}

/// Builds a [`ScriptHost`]. Without a catalog there is no script, without grants nobody may run one.
pub struct ScriptHostBuilder {
    config: HostConfig,
    named: String,
    stores: Stores,
    audit: Arc<dyn AuditSink>,
    executor: Arc<dyn ScriptExecutor>,
    clock: Clock,
}

impl ScriptHost {
    /// A host that runs scripts on `executor`, of this name, and writes down what it does in `audit`.
    pub fn builder(
        config: HostConfig,
        name: impl Into<String>,
        executor: Arc<dyn ScriptExecutor>,
        audit: Arc<dyn AuditSink>,
    ) -> ScriptHostBuilder {
        let (catalog, grants) = (Arc::new(MemoryCatalog::default()), Arc::new(MemoryGrants::default()));
        let stores = Stores { catalog, grants };
        ScriptHostBuilder { config, named: name.into(), stores, audit, executor, clock: Clock::default() }
    }

    /// The configuration.
    pub fn config(&self) -> &HostConfig {
        &self.0.config
    }

    /// What no task is shown: the executor's own folders, the audit, the grants and the configuration.
    pub fn protected(&self) -> &Protected {
        &self.0.protected
    }

    /// The slots that are free, and the tenants of whom something runs or waits.
    pub fn free_slots(&self) -> (usize, usize) {
        self.0.slots.free()
    }

    /// Runs a script, if it may run.
    ///
    /// It is awaited in a tokio runtime with its timer on. Dropping the future cancels the call, which still is written
    /// down. A script that fails is a [`HostRun`]; see [`HostError`] for what is not.
    pub async fn run(&self, call: ScriptCall, cancel: &CancellationToken) -> Result<HostRun, HostError> {
        let cancel = cancel.child_token();
        // The call goes on to its last entry on a task of its own, whatever becomes of whoever waits for it.
        let _caller = cancel.clone().drop_guard();
        let inner = self.0.clone();
        let run = tokio::spawn(tracing::Instrument::in_current_span(async move { inner.run(call, &cancel).await }));
        run.await.unwrap_or_else(|error| Err(HostError::Fault(error.to_string())))
    }
}

impl fmt::Debug for ScriptHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptHost").field("config", &self.0.config).finish_non_exhaustive()
    }
}

impl ScriptHostBuilder {
    /// Sets where scripts are looked up.
    pub fn catalog(mut self, catalog: Arc<dyn ScriptCatalog>) -> Self {
        self.stores.catalog = catalog;
        self
    }

    /// Sets where grants are looked up.
    pub fn grants(mut self, grants: Arc<dyn GrantStore>) -> Self {
        self.stores.grants = grants;
        self
    }

    /// Sets the clock. Default: the system's.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Checks the configuration as a whole, and that it names this executor.
    pub fn build(self) -> Result<ScriptHost, ConfigError> {
        let ScriptHostBuilder { config, named, stores, audit, executor, clock } = self;
        config.check()?;
        if named != config.executor {
            return Err(ConfigError::Executor { found: named, named: config.executor });
        }
        let slots = Slots::new(config.slots_per_tenant, config.slots);
        let protected = protected(&config, executor.as_ref(), audit.as_ref(), stores.grants.as_ref());
        Ok(ScriptHost(Arc::new(Inner { config, stores, audit, executor, slots, clock, protected })))
    }
}

/// The one list of what no task is shown.
fn protected(
    config: &HostConfig,
    executor: &dyn ScriptExecutor,
    audit: &dyn AuditSink,
    grants: &dyn GrantStore,
) -> Protected {
    let configured = match &config.audit {
        Some(AuditPlace::File(path) | AuditPlace::Sqlite(path)) => Some(path.clone()),
        None => None,
    };
    [
        ("the executor's own files", executor.private_places()),
        ("the audit", audit.private_places()),
        ("the audit", configured.into_iter().collect()),
        ("the grants", grants.private_places()),
        ("the grants", config.grants.iter().cloned().collect()),
        ("the host's configuration", config.file.iter().cloned().collect()),
    ]
    .into_iter()
    .flat_map(|(what, places)| places.into_iter().map(move |place| (what, place)))
    .fold(Protected::none(), |protected, (what, place)| protected.place(what, place))
}

//! A host with an executor that remembers what reached it, and every gate open for one script.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use ampoule::host::{
    AuditEntry, AuditError, AuditSink, Clock, ContentPin, Denial, Grant, Head, HostConfig, HostError, HostRun,
    MemoryAudit, MemoryCatalog, MemoryGrants, Script, ScriptCall, ScriptHost,
};
use ampoule::{CancellationToken, ExecuteError, Outcome, ScriptExecutor, ScriptRequest, Status, async_trait};

/// What a script does, by its text.
pub const SLEEPS: &str = "sleeps";
pub const IGNORES: &str = "ignores its cancellation";
pub const PANICS: &str = "panics";
pub const FAILS: &str = "fails";
pub const FLOODS: &str = "floods";

/// Remembers every request and how many ran at once, in all and for each tenant.
#[derive(Default)]
pub struct Recording {
    pub requests: Mutex<Vec<ScriptRequest>>,
    running: Mutex<HashMap<String, usize>>,
    pub most: AtomicUsize,
    pub most_of_a_tenant: AtomicUsize,
}

/// A call that runs, counted until it does no more.
struct Counted<'a>(&'a Recording, String);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        *self.0.running.lock().unwrap().get_mut(&self.1).unwrap() -= 1;
    }
}

impl Recording {
    fn begin(&self, request: &ScriptRequest) -> Counted<'_> {
        let mut running = self.running.lock().unwrap();
        *running.entry(request.tenant_id.clone()).or_default() += 1;
        self.most.fetch_max(running.values().sum(), Ordering::SeqCst);
        self.most_of_a_tenant.fetch_max(running[&request.tenant_id], Ordering::SeqCst);
        Counted(self, request.tenant_id.clone())
    }

    pub fn calls(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

#[async_trait]
impl ScriptExecutor for Recording {
    async fn execute(&self, request: ScriptRequest, cancel: CancellationToken) -> Result<Outcome, ExecuteError> {
        let _counted = self.begin(&request);
        self.requests.lock().unwrap().push(request.clone());
        match request.content.as_str() {
            SLEEPS => tokio::select! {
                () = cancel.cancelled() => Err(ExecuteError::Cancelled),
                () = tokio::time::sleep(request.timeout) => Ok(Outcome::new(Status::TimedOut, "before", "")),
            },
            IGNORES => std::future::pending().await,
            PANICS => panic!("the executor's own fault"),
            FAILS => Err(ExecuteError::Other("no machine is free".into())),
            FLOODS => Ok(Outcome::new(Status::Exited(0), "x".repeat(1 << 20), "y".repeat(1 << 20))),
            content => {
                // Lets others run.
                tokio::task::yield_now().await;
                Ok(Outcome::new(Status::Exited(0), content.to_owned(), ""))
            }
        }
    }
}

/// Everything a host is made of, to be changed before it is.
pub struct World {
    pub config: HostConfig,
    pub scripts: Vec<Script>,
    pub grants: Vec<Grant>,
    pub executor: Arc<Recording>,
    pub audit: Arc<MemoryAudit>,
    pub sink: Option<Arc<dyn AuditSink>>,
    pub clock: Clock,
}

pub const TENANT: &str = "acme";
pub const SKILL: &str = "greetings";
pub const NAME: &str = "hello.py";

impl World {
    /// One stored script with this text, granted to one tenant with its pin, and every gate open.
    pub fn with(content: &str) -> World {
        let mut config = HostConfig::new("recording");
        config.scripts_enabled = true;
        config.interpreters.insert("py".into(), "python-3.15".into());
        World {
            config,
            scripts: vec![Script::stored(SKILL, NAME, content)],
            grants: vec![Grant::script(TENANT, SKILL, NAME).pinned(ContentPin::of_script(SKILL, NAME, content))],
            executor: Arc::default(),
            audit: Arc::default(),
            sink: None,
            clock: Clock::default(),
        }
    }

    pub fn host(&self) -> ScriptHost {
        let sink = self.sink.clone().unwrap_or(self.audit.clone());
        ScriptHost::builder(self.config.clone(), "recording", self.executor.clone(), sink)
            .catalog(Arc::new(MemoryCatalog::new(self.scripts.clone())))
            .grants(Arc::new(MemoryGrants::new(self.grants.clone())))
            .clock(self.clock.clone())
            .build()
            .unwrap()
    }

    pub async fn run(&self, call: ScriptCall) -> Result<HostRun, HostError> {
        self.host().run(call, &CancellationToken::new()).await
    }

    /// Runs a call that must be denied: its denial, after checking that it was written down and reached nothing.
    pub async fn denied(&self, call: ScriptCall) -> (&'static str, Denial) {
        let before = self.executor.calls();
        let error = self.run(call).await.expect_err("the call ran");
        let HostError::Denied { call, gate, denial } = error else { panic!("not denied: {error}") };
        assert_eq!(self.executor.calls(), before, "a closed gate reached the executor");
        let entries = self.audit.take();
        let entry = entries.last().expect("the denial is not in the audit");
        let because = entry.denied.as_ref().expect("the entry says nothing of a denial");
        assert_eq!((entries.len(), &entry.call, because.gate.as_str()), (1, &call, gate));
        assert_eq!(because.reason, denial.to_string());
        (gate, *denial)
    }
}

pub fn call() -> ScriptCall {
    ScriptCall::new(TENANT, SKILL, NAME)
}

pub fn in_an_hour() -> SystemTime {
    SystemTime::now() + Duration::from_secs(3600)
}

/// A sink that fails.
pub struct Full;

#[async_trait]
impl AuditSink for Full {
    async fn append(&self, _: &AuditEntry) -> Result<Head, AuditError> {
        Err(AuditError::Other("no space left on device".into()))
    }
}

//! What the host costs around a call: gates, audit, slot, watchdog, records, with an executor that does nothing.
//!
//! ```sh
//! cargo bench --bench host_overhead
//! ```
//!
//! `no_host` is the executor alone. With a file or SQLite each call is two entries that are on the disk before it goes
//! on, so what is measured there is the disk; `TMPDIR` says which.

use std::hint::black_box;
use std::sync::Arc;

use ampoule::host::{
    AuditSink, ContentPin, Grant, GrantStore, HostConfig, JsonLinesAudit, MemoryAudit, MemoryCatalog, MemoryGrants,
    Script, ScriptCall, ScriptHost, SqliteAudit, SqliteGrants,
};
use ampoule::{CancellationToken, ExecuteError, Outcome, ScriptExecutor, ScriptRequest, Status, async_trait};
use criterion::{Criterion, criterion_group, criterion_main};
use tokio::runtime::{Builder, Runtime};

struct Nothing;

#[async_trait]
impl ScriptExecutor for Nothing {
    async fn execute(&self, request: ScriptRequest, _: CancellationToken) -> Result<Outcome, ExecuteError> {
        black_box(request);
        Ok(Outcome::new(Status::Exited(0), "hello\n", ""))
    }
}

/// A kilobyte: what is run is hashed, and so is what was granted.
fn text() -> String {
    "print('hello')  # ".repeat(57)
}

fn grant() -> Grant {
    Grant::script("acme", "greetings", "hello.py").pinned(ContentPin::of_script("greetings", "hello.py", &text()))
}

fn host(audit: Arc<dyn AuditSink>, grants: Arc<dyn GrantStore>) -> ScriptHost {
    let mut config = HostConfig::new("nothing");
    config.scripts_enabled = true;
    config.interpreters.insert("py".into(), "python".into());
    ScriptHost::builder(config, "nothing", Arc::new(Nothing), audit)
        .catalog(Arc::new(MemoryCatalog::new([Script::stored("greetings", "hello.py", text())])))
        .grants(grants)
        .build()
        .expect("the configuration is sound")
}

fn overhead(criterion: &mut Criterion) {
    let runtime = || -> Runtime { Builder::new_current_thread().enable_all().build().expect("a runtime can be made") };
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    criterion.bench_function("no_host", |bencher| {
        bencher.to_async(runtime()).iter(|| async {
            let request = ScriptRequest::stored("python", "hello.py", text());
            Nothing.execute(request, CancellationToken::new()).await.expect("it does nothing")
        });
    });
    let in_memory = || Arc::new(MemoryGrants::new([grant()]));
    let kept = Arc::new(MemoryAudit::new());
    let hosts: [(&str, ScriptHost); 4] = [
        ("memory", host(kept.clone(), in_memory())),
        (
            "json_lines",
            host(Arc::new(JsonLinesAudit::open(folder.path().join("a.jsonl")).expect("a file")), in_memory()),
        ),
        ("sqlite", host(Arc::new(SqliteAudit::open(folder.path().join("a.db")).expect("a file")), in_memory())),
        ("memory_and_sqlite_grants", {
            let grants = SqliteGrants::open(folder.path().join("g.db")).expect("a file");
            runtime().block_on(grants.add(grant())).expect("it can be written");
            host(kept.clone(), Arc::new(grants))
        }),
    ];
    for (name, host) in hosts {
        criterion.bench_function(&format!("host/{name}"), |bencher| {
            bencher.to_async(runtime()).iter(|| async {
                let call = ScriptCall::new("acme", "greetings", "hello.py").arguments("{}");
                let run = host.run(call, &CancellationToken::new()).await.expect("it may run");
                kept.take();
                run
            });
        });
    }
}

criterion_group!(benches, overhead);
criterion_main!(benches);

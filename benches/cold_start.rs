//! A call by the phases of its life: loading, the first call, warm calls.
//!
//! ```sh
//! ampoule runtime install python   # once
//! cargo bench --bench cold_start
//! ```
//!
//! All goes through the public interface, which has no way to instantiate without running something.
//! `command/nothing` comes nearest: a module of a few bytes, whose call is a store, an instance, and a directory with
//! the script's file in it. Making and removing that directory takes longer than the rest, and on a disk up to a
//! hundred times as long, so it lies in memory where the system has such a place. The result is an upper bound of what
//! instantiating takes.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ampoule::{Call, CancellationToken, Catalog, Home, InstallFrom, Installer, Outcome, Recipe, Status, WasmExecutor};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tokio::runtime::{Builder, Runtime};

const HI: &str = "print('hi')";

const GROUP_BY: &str = r#"
import pandas as pd
frame = pd.DataFrame({"key": [i % 7 for i in range(1000)], "value": range(1000)})
print(frame.groupby("key")["value"].agg(["sum", "mean"]))
"#;

/// A command that ends at once.
const NOTHING: &str = r#"(module (memory (export "memory") 1) (func (export "_start")))"#;

const NOTHING_MANIFEST: &str = r#"
name = "nothing"
version = "1"
driver = "command"
module = "m.wasm"
source = { folder = "." }
[images.nothing]
"#;

fn load(home: &Home, image: &str) -> WasmExecutor {
    WasmExecutor::builder(home.clone()).allow("script", image).build().expect("the runtime is installed")
}

fn current_thread() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime can be made")
}

async fn call(executor: &WasmExecutor, source: &str) -> Outcome {
    let outcome = executor.call("script", Call::new(source), &CancellationToken::new()).await.expect("it can be run");
    assert_eq!(outcome.status, Status::Exited(0), "{}", outcome.stderr_text());
    outcome
}

/// Warm calls, one after another.
fn warm(criterion: &mut Criterion, name: &str, executor: &WasmExecutor, source: &str) {
    criterion.bench_function(name, |bencher| bencher.to_async(current_thread()).iter(|| call(executor, source)));
}

fn phases(criterion: &mut Criterion) {
    let home = Home::from_env().expect("there is a home");
    criterion.bench_function("python/load", |bencher| bencher.iter_with_large_drop(|| load(&home, "python")));
    criterion.bench_function("python/first call", |bencher| {
        bencher.to_async(current_thread()).iter_custom(|iterations| {
            let home = &home;
            async move {
                let mut total = Duration::ZERO;
                for _ in 0..iterations {
                    let executor = load(home, "python");
                    let start = Instant::now();
                    call(&executor, HI).await;
                    total += start.elapsed();
                }
                total
            }
        });
    });

    let python = load(&home, "python");
    warm(criterion, "python/empty script", &python, "");
    warm(criterion, "python/print hi", &python, HI);
    warm(criterion, "python-data/group by", &load(&home, "python-data"), GROUP_BY);
}

/// The time of two calls that are made at once, each on a thread of its own.
fn two_callers(criterion: &mut Criterion) {
    let python = std::sync::Arc::new(load(&Home::from_env().expect("there is a home"), "python"));
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime can be made");
    let mut group = criterion.benchmark_group("python");
    group.throughput(Throughput::Elements(2));
    group.bench_function("print hi, two callers", |bencher| {
        bencher.to_async(&runtime).iter_custom(|iterations| {
            let python = python.clone();
            async move {
                // Two loops side by side, not two calls started together each time: that would measure the starting.
                let start = Instant::now();
                let callers = [python.clone(), python].map(|python| {
                    tokio::spawn(async move {
                        for _ in 0..iterations {
                            call(&python, HI).await;
                        }
                    })
                });
                for caller in callers {
                    caller.await.expect("no call panics");
                }
                start.elapsed()
            }
        });
    });
    group.finish();
}

fn nothing(criterion: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let recipe = folder.path().join("recipe");
    fs::create_dir(&recipe).expect("a folder can be made");
    fs::write(recipe.join("m.wasm"), wat::parse_str(NOTHING).expect("it is a module")).expect("it can be written");
    fs::write(recipe.join("runtime.toml"), NOTHING_MANIFEST).expect("it can be written");
    let recipe = Recipe::from_folder(&recipe).expect("it is a recipe");
    let catalog = Catalog::built_in().with(recipe).expect("its name is free");
    let home = Home::at(folder.path().join("home"));
    let installer = Installer::new(home.clone(), catalog);
    installer.install("nothing", &InstallFrom::Manifest, &mut |_| {}).expect("it can be installed");
    let memory = Path::new("/dev/shm");
    let scratch = if memory.is_dir() { memory } else { folder.path() };
    let executor = WasmExecutor::builder(home).allow("script", "nothing").scratch_folder(scratch).build();
    warm(criterion, "command/nothing", &executor.expect("the runtime is installed"), "");
}

criterion_group! {
    name = benches;
    // All of them within a minute.
    config = Criterion::default().sample_size(50).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(4));
    targets = phases, two_callers, nothing
}
criterion_main!(benches);

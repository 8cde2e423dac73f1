//! Whatever a script is doing, its timeout and its cancellation end it at once and nothing of it is left, in process,
//! through the library.
//!
//! Needs the runtime: `ampoule runtime install python`.

mod support;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ampoule::{Call, CancellationToken, ExecuteError, Outcome, Sink, Status, Stdin};
use support::{Runtime, limited, module, python};

const TIMEOUT: Duration = Duration::from_millis(300);

/// How long ending a call may take.
const GRACE: Duration = Duration::from_millis(100);

/// A machine that does something else meanwhile is no fault of ours: the best of so many attempts counts.
const ATTEMPTS: usize = 5;

/// What scripts are caught at.
const BUSY: [(&str, &str); 8] = [
    ("computing", "while True: pass"),
    ("computing in C", "while True: pow(7, 10**6)"),
    ("sleeping", "import time; time.sleep(30)"),
    ("waiting for input", "import sys; sys.stdin.read()"),
    ("waiting for input with a timeout", "import select; select.select([0], [], [], 30)"),
    ("sleeping in asyncio", "import asyncio; asyncio.run(asyncio.sleep(30))"),
    ("writing to a reader that does not read", "while True: print('x' * 9999)"),
    // One instruction fills it all and is not interrupted, so how late the end may be depends on how much that is.
    ("filling memory", "while True: bytearray(b'x') * 50_000_000"),
];

/// Held by each test here: they measure times and count descriptors.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call whose standard input stays open and silent and whose standard output is not read, for as long as the other
/// ends live.
fn busy(code: &str, timeout: Duration) -> (Call, impl Sized) {
    let (writer, stdin) = tokio::io::duplex(16);
    let (stdout, reader) = Sink::channel(2);
    let mut call = Call::new(code).stdin(Stdin::Stream(Box::new(stdin)));
    call.stdout = Some(stdout);
    call.limits.timeout = Some(timeout);
    (call, (writer, reader))
}

/// Python, after a first call.
async fn warm() -> Runtime {
    let python = python();
    assert_eq!(python.run("print('warm')", |_| {}).await.stdout_text(), "warm\n");
    python
}

fn on_one_thread<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test)
}

/// Asserts that the best of some attempts takes `GRACE` at most. An attempt gives its delay.
async fn is_prompt(what: &str, mut attempt: impl AsyncFnMut() -> Duration) {
    let mut delays = Vec::new();
    for _ in 0..ATTEMPTS {
        delays.push(attempt().await);
        if delays.last().is_some_and(|delay| *delay <= GRACE) {
            return;
        }
    }
    panic!("{what}: ended {delays:?} late");
}

#[track_caller]
fn is_timed_out(what: &str, outcome: Result<Outcome, ExecuteError>) {
    let outcome = outcome.unwrap();
    assert_eq!(outcome.status, Status::TimedOut, "{what}: {}", outcome.stderr_text());
}

#[test]
fn a_script_is_stopped_at_its_timeout_whatever_it_does() {
    let _alone = alone();
    on_one_thread(async {
        let python = warm().await;
        for (what, code) in BUSY {
            is_prompt(what, async || {
                let (call, _others) = busy(code, TIMEOUT);
                let start = Instant::now();
                is_timed_out(what, python.try_run(call).await);
                start.elapsed().checked_sub(TIMEOUT).unwrap_or_else(|| panic!("{what}: ended early"))
            })
            .await;
        }
    });
}

#[test]
fn a_wait_for_one_clock_is_ended_at_the_timeout_whether_it_is_for_a_span_or_for_an_instant() {
    let _alone = alone();
    // One subscription: the monotonic clock, far away, and whether the time is an instant.
    let waits = |instant: u32| {
        format!(
            r#"(memory (export "memory") 1)
            (func (export "_start")
                (i32.store (i32.const 16) (i32.const 1))
                (i64.store (i32.const 24) (i64.const 0x7fffffffffffffff))
                (i32.store16 (i32.const 40) (i32.const {instant}))
                (call $exit_if (call $poll (i32.const 0) (i32.const 4096) (i32.const 1) (i32.const 8192))))"#
        )
    };
    on_one_thread(async {
        for (what, instant) in [("a span", 0), ("an instant", 1)] {
            let module = module(&waits(instant));
            is_prompt(what, async || {
                let start = Instant::now();
                is_timed_out(what, module.try_run(limited("", |limits| limits.timeout = Some(TIMEOUT))).await);
                start.elapsed().checked_sub(TIMEOUT).unwrap_or_else(|| panic!("{what}: ended early"))
            })
            .await;
        }
    });
}

#[test]
fn a_timeout_counts_from_the_start_and_not_from_when_the_guest_first_lets_the_host_look() {
    let _alone = alone();
    // A call of the host that takes some tenths of a second and lets nobody look meanwhile.
    let keeps_the_thread = "(drop (call $random_get (i32.const 0) (i32.const 0x2000000)))";
    let body =
        |end: &str| format!(r#"(memory (export "memory") 512) (func (export "_start") {keeps_the_thread} {end})"#);
    let (ends, goes_on) = (module(&body("")), module(&body("(loop $on (br $on))")));
    on_one_thread(async {
        is_prompt("keeping the thread", async || {
            let kept = ends.run("", |limits| limits.random_bytes = u64::MAX).await.usage.wall_time;
            let change = |limits: &mut ampoule::Limits| {
                limits.random_bytes = u64::MAX;
                limits.timeout = Some(kept);
            };
            let outcome = goes_on.run("", change).await;
            assert_eq!(outcome.status, Status::TimedOut);
            outcome.usage.wall_time.saturating_sub(kept)
        })
        .await;
    });
}

#[test]
fn a_script_is_stopped_at_its_timeout_while_another_computes_on_the_same_thread() {
    let _alone = alone();
    let one_worker = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let current = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (name, runtime) in [("one worker", one_worker), ("the current thread", current)] {
        runtime.block_on(async {
            let python = Arc::new(warm().await);
            for (what, code) in BUSY {
                is_prompt(&format!("{what}, {name}"), async || {
                    let cancel = CancellationToken::new();
                    let other = tokio::spawn({
                        let (python, cancel) = (python.clone(), cancel.clone());
                        async move { python.call(Call::new("while True: pass"), &cancel).await }
                    });
                    let stopped = tokio::spawn({
                        let python = python.clone();
                        async move {
                            let (call, _others) = busy(code, TIMEOUT);
                            let start = Instant::now();
                            is_timed_out(what, python.try_run(call).await);
                            start.elapsed() - TIMEOUT
                        }
                    });
                    let delay = stopped.await.unwrap();
                    cancel.cancel();
                    assert!(matches!(other.await.unwrap(), Err(ExecuteError::Cancelled)));
                    delay
                })
                .await;
            }
        });
    }
}

#[test]
fn a_cancelled_call_returns_at_once_whatever_its_script_does() {
    let _alone = alone();
    on_one_thread(async {
        let python = warm().await;
        for (what, code) in BUSY {
            is_prompt(what, async || {
                let (call, _others) = busy(code, Duration::from_secs(20));
                let cancel = CancellationToken::new();
                let canceller = std::thread::spawn({
                    let cancel = cancel.clone();
                    move || {
                        std::thread::sleep(TIMEOUT);
                        cancel.cancel();
                        Instant::now()
                    }
                });
                let result = python.call(call, &cancel).await;
                let end = Instant::now();
                assert!(matches!(result, Err(ExecuteError::Cancelled)), "{what}: {result:?}");
                end.saturating_duration_since(canceller.join().unwrap())
            })
            .await;
        }
    });
}

#[test]
fn a_call_that_is_cancelled_before_it_starts_does_not_start() {
    let _alone = alone();
    on_one_thread(async {
        let python = warm().await;
        let cancel = CancellationToken::new();
        cancel.cancel();
        let start = Instant::now();
        let result = python.call(Call::new("import time; time.sleep(30)"), &cancel).await;
        assert!(matches!(result, Err(ExecuteError::Cancelled)), "{result:?}");
        assert!(start.elapsed() < GRACE);
    });
}

/// The calls' directories in the folder of the executor.
fn directories(python: &Runtime) -> usize {
    let entries = std::fs::read_dir(python.scratch.path()).unwrap();
    let folders = entries.map(|entry| std::fs::read_dir(entry.unwrap().path()).unwrap());
    folders.flatten().filter(|entry| entry.as_ref().unwrap().file_type().unwrap().is_dir()).count()
}

/// The open descriptors of this process, where the system tells.
fn descriptors() -> Option<usize> {
    std::fs::read_dir("/proc/self/fd").ok().map(Iterator::count)
}

#[test]
fn a_dropped_call_leaves_nothing() {
    let _alone = alone();
    on_one_thread(async {
        let python = warm().await;
        for (what, code) in BUSY {
            // The directory that an earlier call gave back is taken by this one, and must go with it.
            assert!(directories(&python) <= 1, "{what}");
            let before = descriptors();
            let code = format!("import os\nos.mkdir('d')\nleft = open('d/f', 'w')\nleft.write('x' * 9999)\n{code}");
            let (call, others) = busy(&code, Duration::from_secs(20));
            let started = Instant::now();
            let dropped = tokio::time::timeout(TIMEOUT, python.try_run(call)).await;
            assert!(dropped.is_err(), "{what}: {dropped:?}");
            assert!(started.elapsed() < TIMEOUT + 10 * GRACE, "{what}");
            drop(others);
            // What waited for the input is told by the runtime that it is to end.
            tokio::task::yield_now().await;
            assert_eq!(directories(&python), 0, "{what}");
            assert_eq!(descriptors(), before, "{what}");
            let next = python.run("import os; print(os.listdir())", |_| {}).await;
            assert_eq!(next.stdout_text(), "[]\n", "{what}");
        }
    });
}

#[test]
fn a_cancelled_call_does_not_wait_for_a_large_tree_to_be_removed() {
    let _alone = alone();
    on_one_thread(async {
        let python = warm().await;
        let code =
            "import os, sys, time\nfor n in range(4_000): os.mkdir(f'd{n}')\nprint('made', flush=True)\ntime.sleep(60)";
        let (sink, mut pieces) = Sink::channel(4);
        let mut call = Call::new(code);
        call.limits.timeout = Some(Duration::from_secs(60));
        call.stdout = Some(sink);
        let cancel = CancellationToken::new();
        let (result, cancelled) = tokio::join!(python.call(call, &cancel), async {
            assert!(pieces.recv().await.is_some());
            cancel.cancel();
            Instant::now()
        });
        assert!(matches!(result, Err(ExecuteError::Cancelled)), "{result:?}");
        assert!(cancelled.elapsed() < 3 * GRACE, "{:?}", cancelled.elapsed());
        let start = Instant::now();
        while directories(&python) > 0 {
            assert!(start.elapsed() < Duration::from_secs(120), "it is never removed");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
}

#[test]
fn a_call_that_timed_out_or_was_cancelled_leaves_nothing() {
    let _alone = alone();
    on_one_thread(async {
        let python = warm().await;
        for (what, code) in BUSY {
            let code = format!("left = open('f', 'w')\nleft.write('x')\n{code}");
            let before = descriptors();
            let (call, _others) = busy(&code, TIMEOUT);
            is_timed_out(what, python.try_run(call).await);
            let (call, _others) = busy(&code, Duration::from_secs(20));
            let cancel = CancellationToken::new();
            let (result, ()) = tokio::join!(python.call(call, &cancel), async {
                tokio::time::sleep(TIMEOUT).await;
                cancel.cancel();
            });
            assert!(matches!(result, Err(ExecuteError::Cancelled)), "{what}: {result:?}");
            assert_eq!(directories(&python), 0, "{what}");
            assert_eq!(descriptors(), before, "{what}");
        }
    });
}

#[test]
fn a_script_that_keeps_asking_for_what_is_ready_is_stopped_at_its_timeout() {
    let _alone = alone();
    on_one_thread(async {
        let python = warm().await;
        is_prompt("polling", async || {
            let mut call = Call::new("import select\nwhile True: select.select([0], [1], [], 10)");
            // With readers of its output, each poll uses the task's budget.
            let (stdout, _stdout) = Sink::channel(4);
            let (stderr, _stderr) = Sink::channel(4);
            (call.stdout, call.stderr) = (Some(stdout), Some(stderr));
            call.limits.timeout = Some(TIMEOUT);
            let start = Instant::now();
            is_timed_out("polling", python.try_run(call).await);
            start.elapsed() - TIMEOUT
        })
        .await;
    });
}

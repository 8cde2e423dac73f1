//! Twenty calls at once on two threads: each is stopped at its timeout, whatever the twenty do.
//!
//! Needs the runtime: `ampoule runtime install python`. What was seen is printed:
//! `cargo test --release --test twenty_at_once -- --nocapture`.

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ampoule::{Limits, Status};
use support::{Runtime, limited, module, python};

const AT_ONCE: u64 = 20;

/// How late a call may end: 100 ms is promised.
const GRACE: Duration = Duration::from_millis(100);

/// A machine that does something else meanwhile is no fault of ours: the best of so many attempts counts.
const ATTEMPTS: usize = 5;

/// What twenty scripts do at once.
const BUSY: [(&str, &str); 6] = [
    ("computing", "while True: pass"),
    ("filling 50 MB again and again", "while True: bytearray(b'x') * 50_000_000"),
    ("copying 60 MB again and again", "a = bytearray(60_000_000)\nwhile True: a[:] = a"),
    (
        "writing 30 MB again and again",
        "f = open('f', 'wb', 0)\nx = bytes(30_000_000)\nwhile True: f.seek(0); f.write(x)",
    ),
    (
        "walking through a large tree",
        "import os\nfor n in range(1_000):\n os.makedirs(f'{n % 10}/{n % 5}', exist_ok=True)\n open(f'{n % 10}/{n % 5}/{n}', 'w').close()\nwhile True: list(os.walk('.'))",
    ),
    (
        "listing a folder of thousands of entries",
        "import os\nfor n in range(3_000): os.link('0', str(n)) if n else open('0', 'w').close()\nwhile True: os.listdir('.')",
    ),
];

/// How late the latest of twenty was.
async fn latest(what: &str, runtime: &Arc<Runtime>, code: &'static str, change: fn(&mut Limits)) -> Duration {
    let calls = (0..AT_ONCE).map(|index| {
        let runtime = runtime.clone();
        // They are not all up at once.
        let timeout = Duration::from_millis(1_500 + 20 * index);
        tokio::spawn(async move {
            let start = Instant::now();
            let call = limited(code, |limits| {
                change(limits);
                limits.timeout = Some(timeout);
            });
            let outcome = runtime.try_run(call).await.unwrap();
            (outcome, start.elapsed(), timeout)
        })
    });
    let mut latest = Duration::ZERO;
    let mut returned = Duration::ZERO;
    for call in calls.collect::<Vec<_>>() {
        let (outcome, elapsed, timeout) = call.await.unwrap();
        assert_eq!(outcome.status, Status::TimedOut, "{what}: {}", outcome.stderr_text());
        latest = latest.max(outcome.usage.wall_time.checked_sub(timeout).expect("not ended early"));
        returned = returned.max(elapsed - timeout);
    }
    println!("{what}: the latest of {AT_ONCE} was stopped {latest:.1?} late and returned {returned:.1?} late");
    latest
}

fn on_two_threads(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test);
}

#[test]
fn twenty_scripts_are_each_stopped_on_time() {
    on_two_threads(async {
        let python = Arc::new(python());
        for (what, code) in BUSY {
            let mut delays = Vec::new();
            while delays.len() < ATTEMPTS && delays.last().is_none_or(|delay| *delay > GRACE) {
                delays.push(latest(what, &python, code, |_| {}).await);
            }
            assert!(delays.iter().any(|delay| *delay <= GRACE), "{what}: {delays:?}");
        }
    });
}

/// Grows its memory as far as it may, then fills and copies it without end, each time with one instruction.
const FILLS_ALL_IT_HAS: &str = r#"
    (memory (export "memory") 1)
    (func (export "_start") (local $bytes i32)
        (loop $grow (br_if $grow (i32.ne (memory.grow (i32.const 64)) (i32.const -1))))
        (local.set $bytes (i32.sub (i32.mul (memory.size) (i32.const 65536)) (i32.const 1)))
        (loop $again
            (memory.fill (i32.const 0) (i32.const 0xEE) (local.get $bytes))
            (memory.copy (i32.const 1) (i32.const 0) (local.get $bytes))
            (br $again)))
"#;

#[test]
fn twenty_that_fill_all_their_memory_with_one_instruction_are_each_stopped_on_time() {
    on_two_threads(async {
        let module = Arc::new(module(FILLS_ALL_IT_HAS));
        let mut delays = Vec::new();
        while delays.len() < ATTEMPTS && delays.last().is_none_or(|delay| *delay > GRACE) {
            delays.push(latest("filling 512 MiB", &module, "", |_| {}).await);
        }
        assert!(delays.iter().any(|delay| *delay <= GRACE), "{delays:?}");
    });
}

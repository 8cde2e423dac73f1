//! The shell: whatever the script, there is an outcome, within the limits, and the next call is served. It needs the
//! runtime: `ampoule runtime install sh`.

#![no_main]

use std::cell::OnceCell;
use std::time::Duration;

use ampoule::{Call, CancellationToken, Home, Limits, Status, WasmExecutor};
use libfuzzer_sys::fuzz_target;

struct Shell {
    executor: WasmExecutor,
    runtime: tokio::runtime::Runtime,
}

thread_local!(static SHELL: OnceCell<Shell> = const { OnceCell::new() });

fn shell() -> Shell {
    let executor = WasmExecutor::builder(Home::from_env().unwrap()).allow("sh", "sh").build().unwrap();
    Shell { executor, runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap() }
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.timeout = Some(Duration::from_millis(300));
    limits.fuel = Some(300_000_000);
    limits.memory_bytes = 128 << 20;
    limits.stdout_bytes = 4096;
    limits.stderr_bytes = 4096;
    limits.scratch_bytes = 1 << 20;
    limits.scratch_entries = 50;
    limits
}

fuzz_target!(|script: &str| {
    SHELL.with(|cell| {
        let Shell { executor, runtime } = cell.get_or_init(shell);
        let run = |script: &str| {
            let call = Call::new(script).limits(limits());
            runtime.block_on(executor.call("sh", call, &CancellationToken::new())).unwrap()
        };
        let outcome = run(script);
        assert!(outcome.stdout.len() <= 4096 && outcome.stderr.len() <= 4096);
        let usage = outcome.usage;
        assert!(usage.scratch_bytes <= 1 << 20 && usage.scratch_entries <= 50, "{usage:?}");
        assert!(usage.wall_time < Duration::from_secs(2), "{usage:?}");
        assert!(!outcome.stderr_text().contains("panicked at"), "{}", outcome.stderr_text());
        let next = run("echo served");
        assert_eq!((next.status, next.stdout.as_slice()), (Status::Exited(0), &b"served\n"[..]));
    });
});

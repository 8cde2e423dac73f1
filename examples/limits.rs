//! Stops one script by each limit in turn. A limit on time or fuel ends the call; one on memory or disk is an error
//! that the script sees; output beyond its cap is dropped.
//!
//! ```sh
//! ampoule runtime install python   # once
//! cargo run --release --example limits
//! ```

use std::time::Duration;

use ampoule::{Call, CancellationToken, Home, Limits, WasmExecutor};

/// Wants a little of everything: 1 MB of output, 32 MiB of memory, a file of as much, and all the time there is.
const SCRIPT: &str = r#"
print("x" * 999_999)
block = bytearray(32 << 20)
open("file", "wb").write(block)
while True:
    pass
"#;

type Change = fn(&mut Limits);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let executor = WasmExecutor::builder(Home::from_env()?).allow("python", "python").build()?;
    let changes: [(&str, Change); 5] = [
        ("timeout = 1 s", |_| {}),
        ("fuel = 100,000,000", |limits| limits.fuel = Some(100_000_000)),
        // The interpreter's own 50 MiB are part of it.
        ("memory_bytes = 64 MiB", |limits| limits.memory_bytes = 64 << 20),
        ("scratch_bytes = 1 MiB", |limits| limits.scratch_bytes = 1 << 20),
        ("stdout_bytes = 10", |limits| limits.stdout_bytes = 10),
    ];
    println!("{:<22} {:<10} {:>9} {:>4}  the script's own error", "limit", "status", "output", "cut");
    for (name, change) in changes {
        let mut limits = Limits::default();
        limits.timeout = Some(Duration::from_secs(1));
        change(&mut limits);
        let outcome = executor.call("python", Call::new(SCRIPT).limits(limits), &CancellationToken::new()).await?;
        let (status, cut) = (outcome.status.name(), if outcome.truncated { "yes" } else { "no" });
        let error = outcome.stderr_text();
        println!(
            "{name:<22} {status:<10} {:>9} {cut:>4}  {}",
            outcome.stdout.len(),
            error.lines().last().unwrap_or("-")
        );
    }
    Ok(())
}

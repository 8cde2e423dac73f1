//! Runs a script with arguments, a variable and standard input, and shows its output as it comes.
//!
//! ```sh
//! ampoule runtime install python   # once
//! cargo run --release --example embed
//! ```

use ampoule::{Call, CancellationToken, Home, Sink, Stdin, WasmExecutor};

const SCRIPT: &str = r#"
import os, sys, time
for line in sys.stdin:
    print(os.environ["GREETING"], line.strip() + sys.argv[1], flush=True)
    time.sleep(0.2)
sys.exit(3)
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Made once: it serves every call of the process, many at a time.
    let executor = WasmExecutor::builder(Home::from_env()?).allow("python", "python").build()?;

    let mut call = Call::new(SCRIPT).name("greet.py").arguments(["!"]).variable("GREETING", "Hello,");
    call.stdin = Stdin::Bytes("Ada\nGrace\n".into());
    let (sink, mut pieces) = Sink::channel(16);
    call.stdout = Some(sink);

    // The script waits when nobody reads its pieces, so both go on at once. The pieces end when the call does.
    let show = async {
        while let Some(piece) = pieces.recv().await {
            print!("{}", String::from_utf8_lossy(&piece));
        }
    };
    let cancel = CancellationToken::new();
    let (outcome, ()) = tokio::join!(executor.call("python", call, &cancel), show);

    // A script that fails is an outcome; an error says that it could not be run.
    let outcome = outcome?;
    println!("{:?} after {:?}, {} units of fuel", outcome.status, outcome.usage.wall_time, outcome.usage.fuel);
    Ok(())
}

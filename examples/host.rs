//! A control plane around the executor: a script runs once it is granted, is denied once it is changed, and both are
//! written down.
//!
//! ```sh
//! ampoule runtime install python   # once
//! cargo run --release --example host
//! ```

use std::sync::Arc;

use ampoule::host::{
    ContentPin, Grant, GrantStore, HostConfig, HostError, JsonLinesAudit, MemoryCatalog, MemoryGrants, Script,
    ScriptCall, ScriptHost,
};
use ampoule::{CancellationToken, Home, WasmExecutor};

const CONFIG: &str = r#"
executor = "wasm"
scripts_enabled = true
timeout = "5s"
[interpreters]
py = "python"
"#;

const SCRIPT: &str = "import json, sys\nprint('Hello,', json.load(sys.stdin)['name'])";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let log = folder.path().join("audit.jsonl");
    let executor = Arc::new(WasmExecutor::builder(Home::from_env()?).allow("python", "python").build()?);
    let grants = Arc::new(MemoryGrants::default());
    let host = |text: &str| {
        let config = HostConfig::from_toml(CONFIG, folder.path())?;
        let audit = Arc::new(JsonLinesAudit::open(&log)?);
        let catalog = Arc::new(MemoryCatalog::new([Script::stored("greetings", "hello.py", text)]));
        let builder = ScriptHost::builder(config, "wasm", executor.clone(), audit);
        Ok::<_, Box<dyn std::error::Error>>(builder.catalog(catalog).grants(grants.clone()).build()?)
    };
    let cancel = CancellationToken::new();
    let call = || ScriptCall::new("acme", "greetings", "hello.py").arguments(r#"{"name": "Ada"}"#);

    // Nobody granted it yet.
    let denied = host(SCRIPT)?.run(call(), &cancel).await.unwrap_err();
    println!("{denied}");

    let pin = ContentPin::of_script("greetings", "hello.py", SCRIPT);
    grants.add(Grant::script("acme", "greetings", "hello.py").pinned(pin)).await.map_err(|error| error.to_string())?;
    let run = host(SCRIPT)?.run(call(), &cancel).await?;
    print!("{}", run.outcome.stdout_text());

    // What was granted is what runs: not one byte more.
    let denied = host(&format!("{SCRIPT} "))?.run(call(), &cancel).await.unwrap_err();
    assert!(matches!(denied, HostError::Denied { gate: "pin", .. }));
    println!("{denied}");

    let head = JsonLinesAudit::verify(&log)?.map_err(|fault| fault.to_string())?;
    println!("the audit has {} entries and is whole", head.number);
    Ok(())
}

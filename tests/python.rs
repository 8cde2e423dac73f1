//! Python as a user knows it: each case in `cases/python.toml`, run through the library.
//!
//! Needs the runtime: `ampoule runtime install python`.

use std::collections::BTreeMap;

use ampoule::{Call, CancellationToken, Home, Status, Stdin, WasmExecutor};
use serde::Deserialize;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    script: String,
    #[serde(default)]
    stdin: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default = "python")]
    image: String,
    stdout: String,
    stderr: Option<String>,
    #[serde(default)]
    stderr_contains: Vec<String>,
    exit: u8,
}

fn python() -> String {
    "python".into()
}

/// The text with `/scratch/ID` for the call's own directory, which has another name in each call.
fn without_id(text: &str) -> String {
    let mut parts = text.split("/scratch/");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "/scratch/ID" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}

/// What differs from the case's expectation, one line each.
async fn differences(executor: &WasmExecutor, case: &Case) -> Vec<String> {
    let mut call = Call::new(case.script.as_str()).name("script.py").arguments(case.args.iter().cloned());
    call.environment = case.env.clone().into_iter().collect();
    call.stdin = Stdin::Bytes(case.stdin.clone().into());
    let outcome = match executor.call(&case.image, call, &CancellationToken::new()).await {
        Ok(outcome) => outcome,
        Err(error) => return vec![format!("{}: {error}", case.name)],
    };
    let (stdout, stderr) = (outcome.stdout_text(), without_id(&outcome.stderr_text()));
    let mut differences = Vec::new();
    if outcome.status != Status::Exited(case.exit) {
        differences.push(format!("{}: {:?}, not exit {}\n{stderr}", case.name, outcome.status, case.exit));
    }
    if stdout != case.stdout {
        differences.push(format!("{}: stdout {stdout:?}, not {:?}", case.name, case.stdout));
    }
    if case.stderr.as_ref().is_some_and(|wanted| *wanted != stderr) {
        differences.push(format!("{}: stderr {stderr:?}, not {:?}", case.name, case.stderr));
    }
    for wanted in &case.stderr_contains {
        if !stderr.contains(wanted) {
            differences.push(format!("{}: stderr {stderr:?} without {wanted:?}", case.name));
        }
    }
    differences
}

#[tokio::test]
async fn scripts_do_what_native_python_does() {
    let cases: Cases = toml::from_str(include_str!("cases/python.toml")).unwrap();
    let executor = WasmExecutor::builder(Home::from_env().unwrap())
        .allow("python", "python")
        .allow("python-data", "python-data")
        .build()
        .unwrap();
    assert!(cases.case.len() >= 300);
    let mut differing = Vec::new();
    for case in &cases.case {
        differing.extend(differences(&executor, case).await);
    }
    assert!(differing.is_empty(), "{} differences:\n{}", differing.len(), differing.join("\n"));
}

//! What scripts do, beside what is expected and what the host's `dash` makes of them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use ampoule::{Call, Outcome, Status, Stdin, WasmExecutor};
use serde::Deserialize;

use crate::shell::{SHELL, run};

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    group: String,
    script: String,
    #[serde(default)]
    stdin: String,
    #[serde(default)]
    args: Vec<String>,
    stdout: String,
    exit: u8,
    /// Why the shell gives something else, for a known difference.
    differs: Option<String>,
}

fn cases() -> Vec<Case> {
    toml::from_str::<Cases>(include_str!("../cases/sh.toml")).unwrap().case
}

async fn run_case(shell: &WasmExecutor, case: &Case) -> Outcome {
    let mut call = Call::new(case.script.as_str()).name("script.sh").arguments(case.args.iter().cloned());
    call.stdin = Stdin::Bytes(case.stdin.clone().into());
    run(shell, call).await
}

/// What is not as expected, if anything.
fn difference(case: &Case, outcome: &Outcome) -> Option<String> {
    let stdout = outcome.stdout_text();
    if outcome.status == Status::Exited(case.exit) && stdout == case.stdout {
        return None;
    }
    let Case { name, stdout: wanted, exit, .. } = case;
    let stderr = outcome.stderr_text();
    Some(format!("{name}: {:?}, not exit {exit}\n  {stdout:?}\n  {wanted:?}\n  stderr {stderr:?}", outcome.status))
}

#[tokio::test]
async fn scripts_do_what_dash_does() {
    let shell = &SHELL;
    let cases = cases();
    assert!(cases.len() >= 150);
    let mut wrong = Vec::new();
    for case in &cases {
        let difference = difference(case, &run_case(shell, case).await);
        match (&case.differs, difference) {
            (None, Some(difference)) => wrong.push(difference),
            (Some(reason), None) => wrong.push(format!("{} is as expected, though it says: {reason}", case.name)),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// What the host's `dash` prints, and its exit code; none where there is no dash.
fn dash(case: &Case) -> Option<(String, i32)> {
    let folder = tempfile::tempdir().unwrap();
    let (work, tmp) = (folder.path().join("work"), folder.path().join("tmp"));
    for place in [&work, &tmp] {
        fs::create_dir(place).unwrap();
    }
    fs::write(folder.path().join("script.sh"), &case.script).unwrap();
    let mut child = Command::new("dash")
        .arg("../script.sh")
        .args(&case.args)
        .current_dir(&work)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("LANG", "C.UTF-8")
        .env("HOME", &work)
        .env("TMPDIR", &tmp)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // A script that does not read its input closes it.
    let _ = child.stdin.take()?.write_all(case.stdin.as_bytes());
    let output = child.wait_with_output().ok()?;
    let stdout = String::from_utf8_lossy(&output.stdout).replace("../script.sh", "script.sh");
    // A shell that a signal ended has no code of its own.
    Some((stdout, output.status.code().unwrap_or(143)))
}

#[tokio::test]
async fn the_share_of_cases_that_agree_with_the_host_s_dash_is_high() {
    let shell = &SHELL;
    let mut groups = BTreeMap::<String, (usize, usize)>::new();
    for case in cases() {
        let Some((stdout, exit)) = dash(&case) else {
            eprintln!("skipped: there is no dash");
            return;
        };
        let outcome = run_case(shell, &case).await;
        let agrees = outcome.stdout_text() == stdout && outcome.status == Status::Exited(exit as u8);
        let group = groups.entry(case.group).or_default();
        *group = (group.0 + usize::from(agrees), group.1 + 1);
    }
    for (group, (agree, all)) in &groups {
        println!("{group}: {agree} of {all}");
    }
    let (agree, all) = groups.values().fold((0, 0), |sum, group| (sum.0 + group.0, sum.1 + group.1));
    println!("in all: {agree} of {all}, {:.1} %", 100.0 * agree as f64 / all as f64);
    assert!(agree * 100 >= all * 85, "{agree} of {all}");
}

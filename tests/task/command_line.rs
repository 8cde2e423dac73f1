//! `ampoule task`, `grant` and `audit`, as a user has them.

use serde_json::{Value, json};

use crate::program::{Place, Ran};

/// A place with the four tasks of the examples, and an audit and grants of its own.
fn place() -> Place {
    let place = Place::new();
    let tasks = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/tasks/");
    for file in ["tasks.toml", "hello.py", "hello.sh", "hello.ts", "hello.wat"] {
        place.write(file, std::fs::read_to_string(format!("{tasks}{file}")).unwrap());
    }
    place.write("host.toml", HOST);
    place
}

const HOST: &str = "executor = 'wasm'\nscripts_enabled = true\naudit = { file = 'audit.jsonl' }\ngrants = 'grants.db'\n\
                    [interpreters]\npy = 'python'\nsh = 'sh'\nts = 'javascript'\nwat = 'program'\n\
                    [max_permissions]\nenv = ['LANG']\n";

fn run(place: &Place, words: &[&str]) -> Ran {
    place.end(place.ampoule(words).env("AMPOULE_HOST", "host.toml").env_remove("TRACEPARENT"))
}

fn granted(place: &Place) {
    assert_eq!(run(place, &["grant", "add"]).code, Some(0));
}

#[test]
fn row_command_line_it_streams_then_prints_the_whole_result_and_ends_with_0_or_1() {
    let place = place();
    granted(&place);
    for (task, runtime) in [
        ("python-hello", "python"),
        ("shell-hello", "shell"),
        ("typescript-hello", "typescript"),
        ("wasm-hello", "wasm"),
    ] {
        let ran = run(&place, &["task", "run", task, "--args", r#"["--name", "Ada"]"#]);
        assert_eq!(ran.code, Some(0), "{task}: {}", ran.stderr);
        let (lines, result) = ran.stdout.split_at(ran.stdout.find("{\n").unwrap());
        assert!(lines.starts_with("looking for somebody to greet\nfound Ada\n"), "{task}: {lines}");
        let result: Value = serde_json::from_str(result).unwrap();
        assert_eq!(result["result"], json!({"hello": "Ada", "runtime": runtime}));
        assert_eq!(
            (&result["taskId"], &result["status"], &result["exitCode"]),
            (&json!(task), &json!("completed"), &json!(0))
        );
        let ran = run(&place, &["task", "run", task, "--json", "--args=[]", "--env={}", "--timeout=5000"]);
        assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["success"], true);
        assert!(ran.stdout.lines().count() == 1 && ran.stderr.contains("found world"), "{ran:?}");
    }
    place.write("tasks.toml", "[tasks.fails]\nruntime = 'shell'\nentrypoint = 'f.sh'\n");
    place.write("f.sh", "echo no >&2; exit 9");
    let ran = run(&place, &["task", "run", "fails", "--json"]);
    assert_eq!(ran.code, Some(1));
    assert_eq!(serde_json::from_str::<Value>(&ran.stdout).unwrap()["exitCode"], 9);
    let ran = run(&place, &["task", "run", "fails", "--json", "--timeout", "1"]);
    assert_eq!(ran.code, Some(1));
}

#[cfg(unix)]
#[test]
fn without_a_configuration_the_person_at_the_terminal_runs_their_own_tasks() {
    let place = place();
    let home = tempfile::tempdir().unwrap();
    // The installed runtimes, with an audit of its own.
    let installed = std::path::PathBuf::from(std::env::var_os("AMPOULE_HOME").unwrap_or_default());
    if !installed.join("runtimes").is_dir() {
        return;
    }
    for name in ["added", "code", "images", "locks", "partial", "runtimes"] {
        if installed.join(name).exists() {
            std::os::unix::fs::symlink(installed.join(name), home.path().join(name)).unwrap();
        }
    }
    place.write("tasks.toml", "[tasks.t]\nruntime = 'shell'\nentrypoint = 't.sh'\npermissions = 'readOnly'\n");
    place.write("t.sh", "cat tasks/t.sh; echo x >tasks/new");
    let ran = place
        .end(place.ampoule(["task", "run", "t", "--json"]).env("AMPOULE_HOME", home.path()).env_remove("AMPOULE_HOST"));
    let result: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:?}"));
    assert!(result["stdout"].as_str().unwrap().contains("cat tasks/t.sh"), "{result}");
    assert!(!place.path("new").exists());
    let audit =
        place.end(place.ampoule(["audit", "verify"]).env("AMPOULE_HOME", home.path()).env_remove("AMPOULE_HOST"));
    assert!(audit.stdout.contains("2 entries, whole"), "{audit:?}");
}

#[test]
fn list_and_show_say_what_there_is() {
    let place = place();
    let ran = run(&place, &["task", "list"]);
    assert!(ran.stdout.starts_with("python-hello  python  hello.py  Says hello, in Python\n"), "{}", ran.stdout);
    let listed: Value = serde_json::from_str(&run(&place, &["task", "list", "--json"]).stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 4);
    let shown: Value = serde_json::from_str(&run(&place, &["task", "show", "wasm-hello"]).stdout).unwrap();
    assert_eq!((&shown["runtime"], &shown["timeoutMs"]), (&json!("executable"), &json!(10_000)));
    assert_eq!(shown["metadata"], json!({"language": "WebAssembly text"}));
}

#[test]
fn words_that_cannot_be_meant_are_refused_with_what_to_write() {
    let place = place();
    granted(&place);
    for (words, says) in [
        (&["task", "run", "python-hello", "--args", "[1]"] as &[&str], "JSON array of strings"),
        (&["task", "run", "python-hello", "--args", "{}"], "JSON array of strings"),
        (&["task", "run", "python-hello", "--args", "--name"], "JSON array of strings"),
        (&["task", "run", "python-hello", "--env", "[]"], "JSON object of strings"),
        (&["task", "run", "python-hello", "--env", r#"{"A": 1}"#], "JSON object of strings"),
        (&["task", "run", "python-hello", "--timeout", "0"], "--timeout"),
        (&["task", "run", "python-hello", "--traceparent", "00-0"], "traceparent"),
        (&["task", "run", "nobody"], "there is no task `nobody`; there are: python-hello"),
        (&["task", "list", "--tasks", "none.toml"], "none.toml"),
        (&["task", "run", "python-hello", "--host", "none.toml"], "none.toml"),
        (&["grant", "revoke", "0000"], "there is no grant 0000"),
        (&["grant", "add", "--pin", "12"], "64 hexadecimal digits"),
        (&["grant", "add", "--tenant", " "], "tenant is blank"),
        (&["audit", "tail", "none.jsonl"], "none.jsonl"),
    ] {
        let ran = run(&place, words);
        assert!(ran.code == Some(125) && ran.stderr.contains(says), "{words:?}: {ran:?}");
    }
}

#[test]
fn a_grant_opens_the_gate_until_it_is_revoked() {
    let place = place();
    let denied = run(&place, &["task", "run", "shell-hello"]);
    assert_eq!(denied.code, Some(126));
    assert!(
        denied.stderr.contains("ampoule grant add --tenant local --skill tasks --script shell-hello"),
        "{}",
        denied.stderr
    );
    let id = run(&place, &["grant", "add", "--script", "shell-hello", "--expires", "30d"]).stdout.trim().to_owned();
    assert_eq!(run(&place, &["task", "run", "shell-hello"]).code, Some(0));
    assert_eq!(run(&place, &["task", "run", "python-hello"]).code, Some(126));
    let listed = run(&place, &["grant", "list"]).stdout;
    assert!(listed.starts_with(&format!("{id}  local  tasks/shell-hello  until ")), "{listed}");
    let listed: Value = serde_json::from_str(&run(&place, &["grant", "list", "--json"]).stdout).unwrap();
    assert_eq!((&listed[0]["id"], &listed[0]["script"]), (&json!(id), &json!("shell-hello")));
    assert_eq!(run(&place, &["grant", "revoke", &id]).code, Some(0));
    assert_eq!(run(&place, &["task", "run", "shell-hello"]).code, Some(126));
    let tail = run(&place, &["audit", "tail"]).stdout;
    let lines: Vec<&str> = tail.lines().collect();
    assert_eq!(lines.len(), 5, "{tail}");
    assert!(lines[0].contains("denied (grant)") && lines[1].ends_with("local tasks/shell-hello allowed"), "{tail}");
    assert!(lines[2].contains("exited 0 after"), "{tail}");
}

#[test]
fn an_expired_grant_and_one_for_other_content_are_listed_and_do_not_count() {
    let place = place();
    run(&place, &["grant", "add", "--script", "shell-hello", "--expires", "0s"]);
    let denied = run(&place, &["task", "run", "shell-hello"]);
    assert!(denied.code == Some(126) && denied.stderr.contains("expired"), "{denied:?}");
    assert!(run(&place, &["grant", "list"]).stdout.contains("expired"));
}

#[test]
fn a_grant_ends_before_the_year_10000_and_one_that_says_otherwise_is_listed_all_the_same() {
    let place = place();
    let refused = run(&place, &["grant", "add", "--expires", "3000000days"]);
    assert!(refused.code == Some(125) && refused.stderr.contains("year 9999"), "{refused:?}");
    granted(&place);
    let grants = rusqlite::Connection::open(place.path("grants.db")).unwrap();
    assert_eq!(grants.execute("UPDATE grants SET expires = 9223372036854775807", []).unwrap(), 1);
    for words in [&["grant", "list"][..], &["grant", "list", "--json"]] {
        assert!(run(&place, words).stdout.contains("9999-12-31T23:59:59Z"), "{words:?}");
    }
}

#[test]
fn names_move_no_cursor() {
    let place = place();
    run(&place, &["grant", "add", "--tenant", "a\u{1b}[2Kb"]);
    assert!(run(&place, &["grant", "list"]).stdout.contains("a\\u{1b}[2Kb"));
    place.write("tasks.toml", "[tasks.t]\nruntime = 'shell'\nentrypoint = 'f.sh'\ndescription = \"a\\u001bb\"\n");
    assert!(run(&place, &["task", "list"]).stdout.contains("a\\u{1b}b"));
}

#[test]
fn a_host_s_interpreter_has_to_run_scripts() {
    let place = place();
    place.write("host.toml", HOST.replace("ts = 'javascript'", "ts = 'typescript'"));
    granted(&place);
    let ran = run(&place, &["task", "run", "typescript-hello"]);
    assert!(ran.code == Some(125) && ran.stderr.contains("`typescript` runs no scripts"), "{ran:?}");
}

#[test]
fn an_audit_line_that_was_changed_or_removed_shows() {
    let place = place();
    granted(&place);
    run(&place, &["task", "run", "shell-hello"]);
    run(&place, &["task", "run", "shell-hello"]);
    let verified = run(&place, &["audit", "verify"]);
    assert!(verified.code == Some(0) && verified.stdout.contains("4 entries, whole"), "{verified:?}");
    let head = verified.stdout.trim().rsplit(' ').next().unwrap().to_owned();
    assert_eq!(run(&place, &["audit", "verify", "--head", &head]).code, Some(0));
    assert_eq!(run(&place, &["audit", "verify", "--head", &"0".repeat(64)]).code, Some(125));
    let path = place.path("audit.jsonl");
    let whole = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = whole.lines().collect();
    for index in 0..lines.len() {
        let mut removed = lines.clone();
        removed.remove(index);
        std::fs::write(&path, removed.join("\n") + "\n").unwrap();
        let ran = run(&place, &["audit", "verify"]);
        assert!(ran.code == Some(125) && ran.stderr.contains("not as it was written"), "{index}: {ran:?}");
    }
    std::fs::write(&path, whole.replace("local", "other")).unwrap();
    assert_eq!(run(&place, &["audit", "verify"]).code, Some(125));
}

#[test]
fn a_task_whose_audit_cannot_be_written_does_not_run() {
    let place = place();
    granted(&place);
    std::fs::create_dir(place.path("audit.jsonl")).unwrap();
    place.write("tasks.toml", "[tasks.t]\nruntime = 'shell'\nentrypoint = 't.sh'\n");
    place.write("t.sh", "echo ran");
    let ran = run(&place, &["task", "run", "t"]);
    assert!(ran.code == Some(125) && ran.stdout.is_empty() && ran.stderr.contains("audit.jsonl"), "{ran:?}");
    #[cfg(target_os = "linux")]
    {
        std::fs::remove_dir(place.path("audit.jsonl")).unwrap();
        std::os::unix::fs::symlink("/dev/full", place.path("audit.jsonl")).unwrap();
        let ran = run(&place, &["task", "run", "t"]);
        assert!(ran.code == Some(125) && ran.stdout.is_empty(), "{ran:?}");
        assert!(ran.stderr.contains("No space left on device"), "{ran:?}");
    }
}

#[test]
fn a_configuration_that_names_another_executor_or_has_an_unknown_key_starts_nothing() {
    let place = place();
    for (text, says) in [
        (HOST.replace("'wasm'", "'docker'"), "names `docker`"),
        (format!("unknown = 1\n{HOST}"), "unknown field `unknown`"),
    ] {
        place.write("host.toml", text);
        let ran = run(&place, &["task", "run", "shell-hello"]);
        assert!(ran.code == Some(125) && ran.stderr.contains(says), "{ran:?}");
    }
}

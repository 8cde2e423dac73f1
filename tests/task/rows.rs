//! A test for each row of the task model, those where ours differs included.

use std::time::{Duration, Instant};

use ampoule::CancellationToken;
use ampoule::task::{Task, TaskCall, TaskRuntime, TaskSet, TaskStatus, TraceContext};
use serde_json::json;

use crate::world::World;

#[test]
fn row_define_a_task_in_a_builder_and_in_a_file_with_the_same_fields() {
    let world = World::new();
    world.write(
        "tasks.toml",
        "[tasks.full]\ndescription = 'd'\nruntime = 'python'\nentrypoint = 'a/b.py'\nargs = ['x']\nenv = { A = '1' }\n\
         files = ['lib.py']\ntimeout = '2m'\nretries = 3\nretry_delay = '10ms'\npermissions = 'none'\n\
         metadata = { owner = 'me' }\ndisabled = true\n[tasks.short]\nentrypoint = 's.js'\n",
    );
    let set = world.set();
    let built = Task::builder("full")
        .description("d")
        .runtime(TaskRuntime::Python)
        .args(["x"])
        .env("A", "1")
        .file("lib.py")
        .timeout(Duration::from_secs(120))
        .retries(3, Duration::from_millis(10))
        .metadata("owner", "me")
        .disabled(true)
        .entrypoint("a/b.py")
        .build()
        .unwrap();
    assert_eq!(set.get("full").unwrap(), &built);
    let short = set.get("short").unwrap();
    assert_eq!((short.runtime, short.timeout), (TaskRuntime::JavaScript, Duration::from_secs(300)));
    assert_eq!(short, &Task::builder("short").entrypoint("s.js").build().unwrap());
}

#[tokio::test]
async fn row_runtimes_javascript_typescript_python_shell_and_any_wasi_program() {
    let tasks = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/tasks/");
    let world = World::new();
    for file in ["tasks.toml", "hello.py", "hello.sh", "hello.ts", "hello.wat"] {
        world.write(file, &std::fs::read_to_string(format!("{tasks}{file}")).unwrap());
    }
    let world = world.allow("env = ['LANG']");
    let runner = world.runner();
    for (task, runtime) in [
        ("python-hello", "python"),
        ("shell-hello", "shell"),
        ("typescript-hello", "typescript"),
        ("wasm-hello", "wasm"),
    ] {
        for name in ["Ada", "a \"quoted\" \\ name", "名前"] {
            let call = TaskCall::new().args(["--name", name]);
            let result = runner.run(task, call, &CancellationToken::new()).await.unwrap();
            assert_eq!(result.status, TaskStatus::Completed, "{task}: {}", result.stderr);
            assert_eq!(json!(result.result), json!({"hello": name, "runtime": runtime}), "{task}: {}", result.stdout);
            assert!(result.stdout.lines().count() > 1, "{task}: no log lines");
        }
        let result = runner.run(task, TaskCall::new(), &CancellationToken::new()).await.unwrap();
        assert_eq!(json!(result.result), json!({"hello": "world", "runtime": runtime}));
    }
}

#[test]
fn row_runtimes_powershell_cmd_and_dotnet_are_refused_with_what_to_use_instead() {
    for (name, instead) in [("powershell", "shell"), ("cmd", "python"), ("dotnet", "WASI program")] {
        let text = format!("[tasks.t]\nruntime = '{name}'\nentrypoint = 'x'");
        let error = TaskSet::from_toml(&text, "/").unwrap_err().to_string();
        assert!(error.contains(&format!("`{name}`")) && error.contains(instead), "{error}");
    }
    let error = TaskSet::from_toml("[tasks.t]\nruntime = 'ruby'\nentrypoint = 'x'", "/").unwrap_err().to_string();
    assert!(error.contains("no runtime `ruby`; there are javascript"), "{error}");
}

#[tokio::test]
async fn row_input_is_argv_and_environment_and_standard_input_only_if_given() {
    let script = "import sys; print([sys.stdin.read(), sys.argv[1:]])";
    let world = World::of("python", "t.py", script, "");
    assert_eq!(world.run(TaskCall::new()).await.stdout, "['', []]\n");
    assert_eq!(world.run(TaskCall::new().stdin("in")).await.stdout, "['in', []]\n");
}

#[tokio::test]
async fn row_argv_is_the_task_s_then_the_call_s() {
    let world = World::of("shell", "t.sh", "printf '<%s>' \"$@\"", "args = ['one', 'two words']");
    assert_eq!(world.run(TaskCall::new().args(["three", "*"])).await.stdout, "<one><two words><three><*>");
}

#[tokio::test]
async fn row_env_has_nothing_of_the_host_by_default() {
    // It is there for this process, as cargo sets it for tests.
    let host = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    for (runtime, file, script) in [
        ("python", "t.py", "import os; print(dict(os.environ))"),
        ("shell", "t.sh", "env"),
        ("javascript", "t.js", "console.log(JSON.stringify(process.env))"),
    ] {
        let result = World::of(runtime, file, script, "").run(TaskCall::new()).await;
        assert_eq!(result.status, TaskStatus::Completed);
        assert!(!result.stdout.contains("CARGO_MANIFEST_DIR") && !result.stdout.contains(&host), "{}", result.stdout);
    }
}

#[tokio::test]
async fn row_env_host_then_task_then_call_then_trace_the_later_winning() {
    let names = ["CARGO_PKG_NAME", "CARGO_PKG_VERSION", "CARGO_PKG_AUTHORS", "TRACEPARENT"];
    let script = format!("import os\nfor name in {names:?}: print(os.environ.get(name))");
    let more = "env = { CARGO_PKG_VERSION = 'task', CARGO_PKG_AUTHORS = 'task', TRACEPARENT = 'task' }\n\
                permissions = { env = ['CARGO_PKG_NAME', 'CARGO_PKG_VERSION', 'CARGO_PKG_AUTHORS', 'NOT_THERE'] }";
    let world = World::of("python", "t.py", &script, more).allow("env = true");
    let trace = TraceContext::root();
    let call = TaskCall::new().env("CARGO_PKG_AUTHORS", "call").env("TRACEPARENT", "call").trace(trace.clone());
    let result = world.run(call).await;
    let lines: Vec<&str> = result.stdout.lines().collect();
    assert_eq!(lines[..3], ["ampoule", "task", "call"]);
    assert_eq!(Some(lines[3]), result.traceparent.as_deref());
    // The same trace, with a step of its own.
    assert_eq!(lines[3][..36], trace.traceparent()[..36]);
    assert_ne!(lines[3], trace.traceparent());
}

#[tokio::test]
async fn row_env_the_trace_s_state_and_correlation_id_are_passed_on() {
    let world = World::of("shell", "t.sh", "echo \"$TRACESTATE $CORRELATION_ID\"", "");
    let trace = TraceContext::root().state("vendor=1").unwrap().correlation("order-7").unwrap();
    assert_eq!(world.run(TaskCall::new().trace(trace)).await.stdout, "vendor=1 order-7\n");
}

#[tokio::test]
async fn row_result_is_the_last_line_when_it_is_one_object_also_of_a_task_that_failed() {
    for (script, result) in [
        ("echo log; echo '{\"a\": 1}'; echo; echo '  '", json!({"a": 1})),
        ("echo '{\"a\": 1}'; echo log", json!(null)),
        ("echo '[1]'", json!(null)),
        ("printf '{\"a\": 1}'; exit 3", json!({"a": 1})),
    ] {
        let found = World::of("shell", "t.sh", script, "").run(TaskCall::new()).await;
        assert_eq!(json!(found.result), result, "{script}");
        assert_eq!(found.success, !script.contains("exit 3"));
    }
}

#[tokio::test]
async fn row_task_result_has_every_field() {
    let result = World::of("shell", "t.sh", "echo out; echo err >&2; exit 3", "").run(TaskCall::new()).await;
    let wire = serde_json::to_value(&result).unwrap();
    assert_eq!((&wire["taskId"], &wire["status"], &wire["exitCode"]), (&json!("t"), &json!("failed"), &json!(3)));
    assert_eq!((&wire["stdout"], &wire["stderr"]), (&json!("out\n"), &json!("err\n")));
    assert_eq!((&wire["success"], &wire["result"], &wire["attempt"]), (&json!(false), &json!(null), &json!(1)));
    assert_eq!(wire["error"], "it ended with exit code 3: err");
    assert!(wire["duration"].as_f64().unwrap() > 0.0 && wire["usage"]["fuel"].as_u64().unwrap() > 0);
    for time in ["startedAt", "completedAt"] {
        assert!(wire[time].as_str().unwrap().ends_with('Z'), "{wire}");
    }
    assert!(result.started_at <= result.completed_at);
}

#[tokio::test]
async fn row_status_goes_from_pending_over_running_to_the_end() {
    let world = World::of("shell", "t.sh", "echo ready; sleep 30", "");
    let mut run = world.runner().start("t", TaskCall::new(), &CancellationToken::new()).unwrap();
    assert_eq!(run.status(), TaskStatus::Pending);
    tokio_stream::StreamExt::next(&mut run).await.unwrap();
    assert_eq!(run.status(), TaskStatus::Running);
    run.abort();
    assert_eq!(run.result().await.unwrap().status, TaskStatus::Cancelled);
    let completed = World::of("shell", "t.sh", "", "").run(TaskCall::new()).await;
    assert_eq!((completed.status, completed.exit_code), (TaskStatus::Completed, Some(0)));
    let skipped = World::of("shell", "t.sh", "", "disabled = true").run(TaskCall::new()).await;
    assert_eq!((skipped.status, skipped.success, skipped.attempt), (TaskStatus::Skipped, false, 0));
}

#[tokio::test]
async fn row_exit_codes_0_completes_126_and_127_have_a_meaning_and_a_timeout_is_minus_1() {
    let run = async |script: &str, timeout| {
        let call = TaskCall::new().timeout(Duration::from_millis(timeout));
        World::of("shell", "t.sh", script, "").run(call).await
    };
    let failed = run("exit 126", 10_000).await;
    assert_eq!((failed.status, failed.exit_code), (TaskStatus::Failed, Some(126)));
    assert!(failed.error.unwrap().contains("not executable"));
    let failed = run("no_such_command", 10_000).await;
    assert_eq!(failed.exit_code, Some(127));
    let error = failed.error.unwrap();
    assert!(error.contains("not found") && error.contains("no_such_command"), "{error}");
    let start = Instant::now();
    let stopped = run("echo before; sleep 30", 200).await;
    assert!(start.elapsed() < Duration::from_secs(10));
    assert_eq!(
        (stopped.status, stopped.exit_code, stopped.stdout.as_str()),
        (TaskStatus::Timeout, Some(-1), "before\n")
    );
}

#[tokio::test]
async fn row_exit_codes_an_aborted_signal_cancels_before_anything_starts() {
    let world = World::of("shell", "t.sh", "", "");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let result = world.runner().run("t", TaskCall::new(), &cancel).await.unwrap();
    assert_eq!((result.status, result.exit_code, result.attempt), (TaskStatus::Cancelled, None, 0));
    assert!(world.audit.take().is_empty());
}

#[tokio::test]
async fn row_exit_codes_an_abort_during_a_run_cancels_it_too() {
    for (runtime, file, script) in [
        ("python", "t.py", "print('ready', flush=True)\nwhile True: pass"),
        ("shell", "t.sh", "echo ready; while :; do :; done"),
        ("javascript", "t.js", "console.log('ready'); for (;;);"),
    ] {
        let world = World::of(runtime, file, script, "retries = 5");
        let mut run = world.runner().start("t", TaskCall::new(), &CancellationToken::new()).unwrap();
        tokio_stream::StreamExt::next(&mut run).await.unwrap();
        let start = Instant::now();
        run.abort();
        let result = run.result().await.unwrap();
        assert!(start.elapsed() < Duration::from_secs(5), "{runtime}");
        assert_eq!((result.status, result.attempt), (TaskStatus::Cancelled, 1), "{runtime}");
        assert_eq!(result.stdout, "ready\n");
    }
}

#[tokio::test]
async fn retries_run_again_what_failed_and_say_so() {
    let script = "import os\nprint(os.listdir('state'))\nopen(f'state/{len(os.listdir(\"state\"))}', 'w')\n\
                  assert len(os.listdir('state')) > 2";
    let more = "retries = 3\nretry_delay = '10ms'\npermissions = { write = ['state'] }";
    let world = World::of("python", "t.py", script, more).allow("write = ['state']");
    std::fs::create_dir(world.path("state")).unwrap();
    let result = world.run(TaskCall::new()).await;
    assert_eq!((result.status, result.attempt), (TaskStatus::Completed, 3), "{}", result.stderr);
    let attempts: Vec<String> = world.audit.take().into_iter().map(|entry| entry.detail["attempt"].clone()).collect();
    assert_eq!(attempts, ["1", "1", "2", "2", "3", "3"]);
    let always = World::of("shell", "t.sh", "exit 4", "retries = 2").run(TaskCall::new()).await;
    assert_eq!((always.status, always.attempt, always.exit_code), (TaskStatus::Failed, 3, Some(4)));
}

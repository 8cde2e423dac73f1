//! Tasks that cannot be meant, and files that are not there.

use ampoule::CancellationToken;
use ampoule::task::{Task, TaskCall, TaskError, TaskSet, TaskSetError};

use crate::world::World;

#[tokio::test]
async fn an_unknown_task_is_said_with_those_there_are() {
    let world = World::of("shell", "t.sh", "", "");
    let error = world.runner().run("nobody", TaskCall::new(), &CancellationToken::new()).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no task `nobody`; there are: t");
}

#[test]
fn a_task_that_cannot_be_meant_is_refused_by_task_field_and_value() {
    for (text, says) in [
        ("[tasks.t]\nruntime = 'python'", "missing field `entrypoint`"),
        ("[tasks.t]\nentrypoint = '../t.js'", "entrypoint is \"../t.js\""),
        ("[tasks.t]\nentrypoint = '/t.js'", "inside the folder of the tasks"),
        ("[tasks.t]\nentrypoint = ''", "entrypoint is \"\""),
        ("[tasks.t]\nentrypoint = 't.py'", "set runtime = \"python\""),
        ("[tasks.t]\nentrypoint = 't.js'\nfiles = ['a/../../b']", "a file is"),
        ("[tasks.t]\nentrypoint = 't.js'\ntimeout = '0s'", "timeout is \"0ns\""),
        ("[tasks.t]\nentrypoint = 't.js'\ntimeout = 5", "invalid type"),
        ("[tasks.t]\nentrypoint = 't.js'\nretries = 101", "100 at most"),
        ("[tasks.t]\nentrypoint = 't.js'\nenv = { 'A=B' = '' }", "holds no `=`"),
        ("[tasks.t]\nentrypoint = 't.js'\nentrypiont = ''", "unknown field `entrypiont`"),
        ("[tasks.t]\nentrypoint = 't.js'\npermissions = { reed = true }", "permissions"),
        ("[tasks.'a b']\nentrypoint = 't.js'", "its id is \"a b\""),
        ("[task.t]\nentrypoint = 't.js'", "unknown field `task`"),
    ] {
        let error = TaskSet::from_toml(text, "/").unwrap_err().to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
    assert!(Task::builder("").entrypoint("x.js").build().is_err());
    assert!(matches!(TaskSet::from_file("/no/such/tasks.toml"), Err(TaskSetError::Read { .. })));
}

#[tokio::test]
async fn an_entrypoint_that_is_missing_no_file_or_leads_out_is_refused_and_nothing_runs() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("t.sh"), "echo secret").unwrap();
    let links = if cfg!(unix) { &["link.sh", "folder_link/t.sh", "pipe.sh"][..] } else { &[] };
    let world = World::of("shell", "t.sh", "", "");
    std::fs::create_dir(world.path("folder.sh")).unwrap();
    std::fs::write(world.path("binary.sh"), b"echo \xff").unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(outside.path().join("t.sh"), world.path("link.sh")).unwrap();
        std::os::unix::fs::symlink(outside.path(), world.path("folder_link")).unwrap();
        // Nobody ever writes to it.
        assert!(std::process::Command::new("mkfifo").arg(world.path("pipe.sh")).status().unwrap().success());
    }
    for entrypoint in ["gone.sh", "folder.sh", "binary.sh"].iter().chain(links) {
        world.write("tasks.toml", &format!("[tasks.t]\nruntime = 'shell'\nentrypoint = '{entrypoint}'"));
        let error = world.try_run(TaskCall::new()).await.unwrap_err();
        assert!(matches!(&error, TaskError::File { .. }), "{entrypoint}: {error}");
        assert!(error.to_string().contains(entrypoint), "{error}");
    }
    assert!(world.audit.take().is_empty());
}

#[tokio::test]
async fn a_program_that_is_none_or_changed_since_it_was_compiled_does_not_run() {
    let good = "(module (memory (export \"memory\") 1) (func (export \"_start\")))";
    let world = World::of("executable", "t.wat", good, "");
    let runner = world.runner();
    assert!(runner.run("t", TaskCall::new(), &CancellationToken::new()).await.unwrap().success);
    world.write("t.wat", &good.replace("1)", "2)"));
    let error = runner.run("t", TaskCall::new(), &CancellationToken::new()).await.unwrap_err();
    assert!(matches!(&error, TaskError::Changed { .. }), "{error}");
    let installer = ampoule::Installer::new(ampoule::Home::from_env().unwrap(), ampoule::Catalog::built_in());
    for wrong in ["(module", "echo no program", "(module)"] {
        world.write("t.wat", wrong);
        let set = world.set();
        let error =
            set.program(set.get("t").unwrap(), &installer, &ampoule::Compiler::InProcess, &mut |_| {}).unwrap_err();
        assert!(error.to_string().starts_with("the task `t`: "), "{error}");
    }
}

#[tokio::test]
async fn what_no_script_can_be_given_is_refused() {
    let world = World::of("shell", "t.sh", "", "");
    for call in [TaskCall::new().args(["a\0b"]), TaskCall::new().env("", "x"), TaskCall::new().env("A=B", "x")] {
        assert!(matches!(world.try_run(call).await, Err(TaskError::Call { .. })));
    }
    let call = TaskCall::new().env("A", "x\0y");
    assert!(world.try_run(call).await.is_err());
    let long = TaskCall::new().timeout(std::time::Duration::from_secs(601));
    assert!(world.try_run(long).await.unwrap_err().to_string().contains("longest_timeout"));
}

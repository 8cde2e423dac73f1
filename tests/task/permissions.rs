//! What a task may do: the same for every runtime, nothing by default, never more than the ceiling.

use std::fs;

use ampoule::task::{TaskCall, TaskStatus};

use crate::world::World;

/// Reads `data/in.txt`, writes `out/f`, and says which of the two it could, in each language.
const SCRIPTS: [(&str, &str, &str); 3] = [
    (
        "python",
        "t.py",
        "def attempt(what):\n\ttry: what(); return 'yes'\n\texcept OSError: return 'no'\n\
         print(attempt(lambda: open('data/in.txt').read()), attempt(lambda: open('data/new', 'w')), \
         attempt(lambda: open('out/f', 'w').write('x')))",
    ),
    (
        "shell",
        "t.sh",
        "one=no two=no three=no\n\
         cat data/in.txt >/dev/null 2>&1 && one=yes\n\
         (echo x >data/new) 2>/dev/null && two=yes\n\
         (echo x >out/f) 2>/dev/null && three=yes\n\
         echo $one $two $three",
    ),
    (
        "javascript",
        "t.js",
        "const fs = require('fs'); const attempt = (what) => { try { what(); return 'yes'; } catch { return 'no'; } };\n\
         console.log(attempt(() => fs.readFileSync('data/in.txt')), attempt(() => fs.writeFileSync('data/new', '')), \
         attempt(() => fs.writeFileSync('out/f', 'x')));",
    ),
];

fn world(script: (&str, &str, &str), permissions: &str) -> World {
    let world = World::of(script.0, script.1, script.2, permissions);
    world.write("data/in.txt", "in");
    fs::create_dir(world.path("out")).unwrap();
    world.allow("read = ['data', 'other']\nwrite = ['out']\nenv = ['LANG']")
}

#[tokio::test]
async fn row_permissions_omitting_them_means_none() {
    for script in SCRIPTS {
        for permissions in ["", "permissions = 'none'", "permissions = 'minimal'", "[tasks.t.permissions]"] {
            let world = world(script, permissions);
            let result = world.run(TaskCall::new()).await;
            assert_eq!(result.stdout, "no no no\n", "{script:?} {permissions}: {}", result.stderr);
            assert!(!world.path("out/f").exists());
        }
    }
}

#[tokio::test]
async fn row_permissions_read_and_write_are_mounts_for_every_runtime() {
    for script in SCRIPTS {
        for (permissions, expected) in [
            ("permissions = { read = ['data'] }", "yes no no\n"),
            ("permissions = { write = ['out'] }", "no no yes\n"),
            ("permissions = { read = ['data'], write = ['out'] }", "yes no yes\n"),
            ("permissions = { read = ['out'] }", "no no no\n"),
        ] {
            let world = world(script, permissions);
            let result = world.run(TaskCall::new()).await;
            assert_eq!(result.stdout, expected, "{script:?} {permissions}: {}", result.stderr);
            assert_eq!(world.path("out/f").exists(), expected.ends_with("yes\n"));
            assert!(!world.path("data/new").exists());
        }
    }
}

#[tokio::test]
async fn row_permissions_a_program_gets_the_same_mounts() {
    // Opens data/in.txt to read, then data/n to make; ends with 0 when the first works and the second does not.
    let program = r#"(module
        (import "wasi_snapshot_preview1" "path_open"
            (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
        (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
        (memory (export "memory") 1)
        (data (i32.const 0) "data/in.txt") (data (i32.const 32) "data/n")
        (func (export "_start")
            (if (call $open (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 11) (i32.const 0)
                    (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 64)) (then (call $exit (i32.const 1))))
            (if (i32.eqz (call $open (i32.const 3) (i32.const 0) (i32.const 32) (i32.const 6) (i32.const 1)
                    (i64.const 64) (i64.const 0) (i32.const 0) (i32.const 64))) (then (call $exit (i32.const 2))))))"#;
    let script = ("executable", "t.wat", program);
    let result = world(script, "permissions = { read = ['data'] }").run(TaskCall::new()).await;
    assert_eq!(result.status, TaskStatus::Completed, "{result:?}");
    let result = world(script, "").run(TaskCall::new()).await;
    assert_eq!(result.exit_code, Some(1));
}

#[tokio::test]
async fn row_permissions_presets_go_as_far_as_the_ceiling() {
    for (preset, expected) in [
        ("readOnly", "yes no no\n"),
        ("filesystem", "yes no yes\n"),
        ("network", "no no no\n"),
        ("full", "yes no yes\n"),
    ] {
        let world = world(SCRIPTS[0], &format!("permissions = '{preset}'"));
        fs::create_dir(world.path("other")).unwrap();
        let result = world.run(TaskCall::new()).await;
        assert_eq!(result.stdout, expected, "{preset}: {}", result.stderr);
    }
}

#[tokio::test]
async fn row_permissions_env_is_an_allow_list() {
    let script = ("shell", "t.sh", "echo \"${CARGO_PKG_NAME-none} ${CARGO_PKG_VERSION-none}\"");
    let world = world(script, "permissions = { env = ['CARGO_PKG_NAME'] }").allow("env = ['CARGO_PKG_NAME']");
    assert_eq!(world.run(TaskCall::new()).await.stdout, "ampoule none\n");
}

#[tokio::test]
async fn row_permissions_a_script_starts_no_other_runtime_and_to_ask_for_one_is_refused() {
    for (runtime, file, script) in [
        ("python", "t.py", "import subprocess; subprocess.run(['sh', '-c', 'echo started'])"),
        ("shell", "t.sh", "python3 -c 'print(\"started\")'"),
        ("javascript", "t.js", "require('child_process').execSync('echo started')"),
    ] {
        let world = World::of(runtime, file, script, "");
        let result = world.run(TaskCall::new()).await;
        assert!(result.status == TaskStatus::Failed && !result.stdout.contains("started"), "{runtime}: {result:?}");
        let world = World::of(runtime, file, script, "permissions = { run = ['shell'] }").allow("run = ['shell']");
        let denied = world.denied().await;
        assert!(denied.contains("run = \"shell\"") && denied.contains("starts none"), "{denied}");
    }
}

#[tokio::test]
async fn row_permissions_net_import_and_ffi_are_refused_with_a_reason() {
    for (permissions, ceiling, says) in [
        ("net = ['example.org']", "net = ['example.org']", "asks for the network"),
        ("import = ['example.org']", "import = ['example.org']", "asks for the network"),
        ("net = ['example.org']", "", "more than the host allows"),
        ("ffi = true", "", "never given"),
    ] {
        let world = world(SCRIPTS[0], &format!("permissions = {{ {permissions} }}")).allow(ceiling);
        let denied = world.denied().await;
        assert!(denied.contains(says) && denied.contains("the task `t`"), "{denied}");
    }
}

#[tokio::test]
async fn a_task_that_asks_for_more_than_the_ceiling_is_denied_before_it_starts() {
    for (permissions, says) in [
        ("write = ['data']", "`max_permissions.write` holds"),
        ("read = ['.']", "more than the host allows"),
        ("read = ['/']", "more than the host allows"),
        ("read = ['gone']", "there is no such folder"),
        ("read = ['data/in.txt']", "no such folder"),
        ("read = ['../data']", "climbs out"),
        ("read = ['data/../..']", "climbs out"),
        ("env = ['HOME']", "`max_permissions.env` holds LANG"),
    ] {
        let world = world(SCRIPTS[0], &format!("permissions = {{ {permissions} }}"));
        let denied = world.denied().await;
        assert!(denied.contains(says), "{permissions}: {denied}");
    }
    #[cfg(unix)]
    {
        let world = world(SCRIPTS[0], "permissions = { read = ['data/link'] }");
        std::os::unix::fs::symlink("/", world.path("data/link")).unwrap();
        assert!(world.denied().await.contains("more than the host allows"));
    }
}

#[tokio::test]
async fn without_a_grant_for_it_a_task_does_not_run() {
    let mut world = World::of("shell", "t.sh", "", "");
    world.grants.clear();
    let denied = world.denied().await;
    assert!(denied.contains("ampoule grant add --tenant local --skill tasks --script t"), "{denied}");
    world.grants = vec![ampoule::host::Grant::script("local", "tasks", "t")];
    assert!(world.run(TaskCall::new()).await.success);
}

#[tokio::test]
async fn the_audit_has_the_names_of_what_a_task_was_given_and_no_contents() {
    let world = world(
        SCRIPTS[0],
        "args = ['secret argument']\nenv = { NAME = 'secret value' }\npermissions = { read = ['data'] }",
    );
    world.run(TaskCall::new().stdin("secret input")).await;
    let entries = world.audit.take();
    let text = serde_json::to_string(&entries).unwrap();
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(entries[0].detail["argumentCount"], "1");
    assert_eq!(entries[0].detail["variables"], "NAME TRACEPARENT");
    assert!(
        entries[0].detail["folders"].starts_with("read ") && entries[0].detail["folders"].ends_with("data as data")
    );
    assert_eq!(entries[0].script_sha256, Some(ampoule::content_sha256(SCRIPTS[0].2)));
}

#[tokio::test]
async fn no_permission_shows_the_home_the_temporary_folder_the_audit_the_grants_or_the_configuration() {
    let home = ampoule::Home::from_env().unwrap().root().to_owned();
    let temporary = std::env::temp_dir();
    for (folder, says) in [
        (home.display().to_string(), "the executor's own files"),
        (home.join("runtimes").display().to_string(), "the executor's own files"),
        (home.parent().unwrap().display().to_string(), "the executor's own files"),
        (temporary.display().to_string(), "the executor's own files"),
        (temporary.ancestors().last().unwrap().display().to_string(), "the executor's own files"),
        ("audited".to_owned(), "the audit"),
        ("granted".to_owned(), "the grants"),
        ("etc".to_owned(), "the host's configuration"),
    ] {
        for access in ["read", "write"] {
            let permissions = format!("permissions = {{ {access} = [{{ path = '{folder}', as = 'x' }}] }}");
            let mut world = World::of("shell", "t.sh", "ls -R x", &permissions);
            for folder in ["audited", "granted", "etc"] {
                fs::create_dir(world.path(folder)).unwrap();
            }
            world.config.audit = Some(ampoule::host::AuditPlace::File(world.path("audited/audit.jsonl")));
            world.config.grants = Some(world.path("granted/grants.db"));
            world.config.file = Some(world.path("etc/host.toml"));
            let denied = world.allow(&format!("{access} = ['{folder}']")).denied().await;
            assert!(
                denied.contains(says) && denied.contains(&format!("the permission {access}")),
                "{folder}: {denied}"
            );
        }
    }
}

#[tokio::test]
async fn the_file_of_the_tasks_may_be_read_and_never_changed() {
    for (access, script, expected) in [("read", "ls x | grep toml", Some("tasks.toml\n")), ("write", "", None)] {
        let permissions = format!("permissions = {{ {access} = [{{ path = '.', as = 'x' }}] }}");
        let world = World::of("shell", "t.sh", script, &permissions).allow(&format!("{access} = ['.']"));
        match expected {
            Some(expected) => assert_eq!(world.run(TaskCall::new()).await.stdout, expected),
            None => {
                let denied = world.denied().await;
                assert!(denied.contains("would let the task change the tasks"), "{denied}");
            }
        }
    }
}

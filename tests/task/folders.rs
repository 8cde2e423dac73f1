//! Host folders in a script's directory: the same for every runtime.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use ampoule::{Access, Call, CallError, CancellationToken, ExecuteError, Home, Outcome, Status, WasmExecutor};

static EXECUTOR: LazyLock<WasmExecutor> = LazyLock::new(|| {
    let builder = WasmExecutor::builder(Home::from_env().unwrap());
    ["python", "sh", "javascript"].into_iter().fold(builder, |builder, name| builder.allow(name, name)).build().unwrap()
});

/// For each runtime: a script that reads, lists, writes, moves, and prints the words that came of it.
const SCRIPTS: [(&str, &str); 3] = [
    (
        "python",
        "import os\n\
         print(open('data/in.txt').read())\n\
         print(sorted(os.listdir('data')), 'data' in os.listdir('.'))\n\
         print(open(os.environ['HOME'] + '/data/sub/deep.txt').read(), open('/tmp/data/in.txt').read())\n\
         os.chdir('data/sub'); print(open('../in.txt').read(), open('deep.txt').read()); os.chdir('../..')\n\
         def attempt(what):\n\
         \ttry: what(); print('done')\n\
         \texcept OSError: print('refused')\n\
         attempt(lambda: open('data/new.txt', 'w').write('written'))\n\
         attempt(lambda: os.rename('data/sub', 'data/moved'))\n\
         attempt(lambda: os.rename('data', 'elsewhere'))\n\
         attempt(lambda: os.rmdir('data'))\n\
         attempt(lambda: open('data/../../outside.txt').read())\n\
         attempt(lambda: open('data/out/secret').read())\n\
         attempt(lambda: os.readlink('data/out'))\n",
    ),
    (
        "sh",
        "cat data/in.txt; echo; ls data | tr '\\n' ' '; ls | grep -x data\n\
         cat $HOME/data/sub/deep.txt; echo; cat /tmp/data/in.txt; echo\n\
         cd data/sub; cat ../in.txt; cat deep.txt; echo; cd ../..\n\
         echo written >data/new.txt && echo done || echo refused\n\
         mv data/sub data/moved 2>/dev/null && echo done || echo refused\n\
         mv data elsewhere 2>/dev/null && echo done || echo refused\n\
         rmdir data 2>/dev/null && echo done || echo refused\n\
         cat data/../../outside.txt 2>/dev/null && echo done || echo refused\n\
         cat data/out/secret 2>/dev/null && echo done || echo refused\n",
    ),
    (
        "javascript",
        "const fs = require('fs');\n\
         console.log(fs.readFileSync('data/in.txt', 'utf8'), fs.readdirSync('data').sort(), fs.readdirSync('.').includes('data'));\n\
         console.log(fs.readFileSync(process.env.HOME + '/data/sub/deep.txt', 'utf8'), fs.readFileSync('/tmp/data/in.txt', 'utf8'));\n\
         const attempt = (what) => { try { what(); console.log('done'); } catch { console.log('refused'); } };\n\
         attempt(() => fs.writeFileSync('data/new.txt', 'written'));\n\
         attempt(() => fs.renameSync('data/sub', 'data/moved'));\n\
         attempt(() => fs.renameSync('data', 'elsewhere'));\n\
         attempt(() => fs.rmdirSync('data'));\n\
         attempt(() => fs.readFileSync('data/../../outside.txt'));\n\
         attempt(() => fs.readFileSync('data/out/secret'));\n",
    ),
];

fn fill(folder: &Path) {
    fs::create_dir_all(folder.join("data/sub")).unwrap();
    fs::write(folder.join("data/in.txt"), "input").unwrap();
    fs::write(folder.join("data/sub/deep.txt"), "deep").unwrap();
    fs::write(folder.join("outside.txt"), "secret").unwrap();
    fs::create_dir(folder.join("hidden")).unwrap();
    fs::write(folder.join("hidden/secret"), "secret").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(folder.join("hidden"), folder.join("data/out")).unwrap();
}

async fn run(runtime: &str, call: Call) -> Result<Outcome, ExecuteError> {
    EXECUTOR.call(runtime, call, &CancellationToken::new()).await
}

#[tokio::test]
async fn every_runtime_reads_a_folder_and_changes_nothing_in_it_unless_it_may() {
    for (runtime, script) in SCRIPTS {
        for access in [Access::ReadOnly, Access::ReadWrite] {
            let host = tempfile::tempdir().unwrap();
            fill(host.path());
            let call = Call::new(script).folder(host.path().join("data"), "data", access);
            let outcome = run(runtime, call).await.unwrap();
            let (stdout, stderr) = (outcome.stdout_text(), outcome.stderr_text());
            assert_eq!(outcome.status, Status::Exited(0), "{runtime} {access:?}: {stdout}{stderr}");
            assert!(stdout.contains("input") && stdout.contains("deep"), "{runtime}: {stdout}{stderr}");
            assert!(!stdout.contains("secret"), "{runtime}: {stdout}");
            let words: Vec<&str> = stdout.lines().filter(|line| ["done", "refused"].contains(line)).collect();
            let (may, read) = (access == Access::ReadWrite, |done: bool| if done { "done" } else { "refused" });
            let mut expected = vec![read(may), read(may), "refused", "refused", "refused", "refused"];
            if runtime == "python" {
                // A link that leads out says nothing of where.
                expected.push("done");
            }
            let found = words[..6].to_vec();
            assert_eq!(found, expected[..6], "{runtime} {access:?}: {stdout}{stderr}");
            let data = host.path().join("data");
            assert_eq!(data.join("new.txt").exists(), may, "{runtime}");
            assert_eq!(data.join("moved/deep.txt").exists(), may, "{runtime}");
            assert_eq!(fs::read_to_string(data.join("in.txt")).unwrap(), "input");
        }
    }
}

#[tokio::test]
async fn two_folders_keep_their_own_access_and_a_call_without_them_sees_neither() {
    for (runtime, script) in [
        ("python", "import os\nopen('b/c/f', 'w').write(open('a/in.txt').read())\nopen('a/f', 'w')"),
        ("sh", "cat a/in.txt >b/c/f; echo x >a/f"),
        (
            "javascript",
            "const fs = require('fs'); fs.writeFileSync('b/c/f', fs.readFileSync('a/in.txt')); fs.writeFileSync('a/f', '')",
        ),
    ] {
        let host = tempfile::tempdir().unwrap();
        fill(host.path());
        let (a, b) = (host.path().join("data"), host.path().join("hidden"));
        let call = Call::new(script).folder(&a, "a", Access::ReadOnly).folder(&b, "b/c", Access::ReadWrite);
        let outcome = run(runtime, call).await.unwrap();
        assert_ne!(outcome.status, Status::Exited(0), "{runtime}");
        assert_eq!(fs::read_to_string(b.join("f")).unwrap(), "input", "{runtime}: {}", outcome.stderr_text());
        assert!(!a.join("f").exists(), "{runtime}");
        let outcome = run(runtime, Call::new(script)).await.unwrap();
        assert_ne!(outcome.status, Status::Exited(0), "{runtime}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_pipe_in_a_folder_of_the_host_s_is_refused_and_not_waited_for() {
    let host = tempfile::tempdir().unwrap();
    let pipe = host.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::os::unix::fs::symlink("pipe", host.path().join("link")).unwrap();
    for (runtime, script) in [
        ("python", "open('d/pipe')"),
        ("python", "open('d/link')"),
        ("python", "open('d/pipe', 'w')"),
        ("python", "import os\nos.open('d/pipe', os.O_RDONLY | os.O_NONBLOCK)"),
        ("python", "import os\nos.open('pipe', os.O_RDONLY, dir_fd=os.open('d', os.O_RDONLY))"),
        ("sh", "cat d/pipe"),
        ("javascript", "require('fs').readFileSync('d/pipe')"),
    ] {
        let start = std::time::Instant::now();
        let mut call = Call::new(script).folder(host.path(), "d", Access::ReadWrite);
        call.limits.timeout = Some(std::time::Duration::from_secs(10));
        let outcome = run(runtime, call).await.unwrap();
        assert_eq!(outcome.status, Status::Exited(1), "{script}: {}", outcome.stderr_text());
        assert!(outcome.stderr_text().to_lowercase().contains("permission denied"), "{}", outcome.stderr_text());
        assert!(start.elapsed() < std::time::Duration::from_secs(5), "{script}");
    }
}

#[tokio::test]
async fn what_a_script_writes_to_a_folder_counts_against_its_limit_on_disk() {
    let host = tempfile::tempdir().unwrap();
    let mut call = Call::new("open('out/f', 'wb').write(bytes(2000))").folder(host.path(), "out", Access::ReadWrite);
    call.limits.scratch_bytes = 1000;
    let outcome = run("python", call).await.unwrap();
    assert!(outcome.stderr_text().contains("No space left"), "{}", outcome.stderr_text());
    assert!(fs::metadata(host.path().join("f")).unwrap().len() <= 1000);
}

#[tokio::test]
async fn a_folder_name_that_cannot_be_is_refused() {
    let host = tempfile::tempdir().unwrap();
    let call = || Call::new("");
    let folder = |call: Call, guest: &str| call.folder(host.path(), guest, Access::ReadOnly);
    for refused in [
        folder(call(), "../up"),
        folder(call(), "a/./b"),
        folder(folder(call(), "a"), "a"),
        folder(folder(call(), "a/b"), "a"),
        folder(call().file("a/f", ""), "a"),
        folder(call().file("a", ""), "a/b"),
    ] {
        let error = run("python", refused).await.unwrap_err();
        assert!(matches!(&error, ExecuteError::Refused(CallError::FolderName { .. })), "{error}");
    }
    let error = run("python", folder(call(), "/data")).await.unwrap_err();
    assert!(error.to_string().contains("give it a relative name"), "{error}");
}

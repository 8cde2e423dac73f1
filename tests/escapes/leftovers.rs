//! What a script leaves behind on purpose: all of it goes with its call.

use std::fs;
use std::time::Instant;

use ampoule::Status;

use crate::support::{Runtime, python, shell};

/// The directories of calls that are there.
fn directories(runtime: &Runtime) -> usize {
    let roots = fs::read_dir(runtime.scratch.path()).unwrap().map(|root| root.unwrap().path());
    let inside = roots.flat_map(|root| fs::read_dir(root).unwrap()).map(|entry| entry.unwrap().path());
    inside.filter(|path| path.is_dir()).count()
}

async fn leaves_nothing(runtime: &Runtime, what: &str, script: &str) {
    let start = Instant::now();
    let outcome = runtime.run(script, |_| {}).await;
    println!(
        "{what}: {:?}, gone {:?} after its end",
        outcome.status,
        start.elapsed().saturating_sub(outcome.usage.wall_time)
    );
    assert_eq!(directories(runtime), 0, "{what}: {}", outcome.stderr_text());
    assert!(outcome.usage.scratch_entries > 0, "{what}: {}", outcome.stderr_text());
    let next = runtime.run("echo = 1", |_| {}).await;
    assert!(matches!(next.status, Status::Exited(0 | 127)), "{what}: {:?}", next.status);
}

#[tokio::test]
async fn a_huge_tree_is_removed_with_its_call() {
    let python = python();
    for (what, script) in [
        ("as many files as there may be", "for n in range(20_000): open(f'{n:0200}', 'w').close()"),
        (
            "folders with files",
            "import os\nfor n in range(300):\n os.mkdir(str(n))\n for m in range(30): open(f'{n}/{m}', 'w').close()",
        ),
        ("as deep as may be", "import os\nwhile True: os.mkdir('d'); os.chdir('d'); open('f', 'w').close()"),
        (
            "many as deep as may be",
            "import os\nfor n in range(4):\n os.makedirs('/'.join([str(n)] + ['d' * 20] * 120))",
        ),
        (
            "long names inside each other",
            "import os\nname = 'n' * 200\nos.makedirs('/'.join([name] * 15))\nos.chdir('/'.join([name] * 15))\nos.makedirs('/'.join([name] * 15))",
        ),
        (
            "open files without names",
            "import os\nh = [open(str(n), 'w') for n in range(200)]\nfor n in range(200): h[n].write('x' * 9999); os.remove(str(n))\nopen('f', 'w').close()\nwhile True: pass",
        ),
        ("holes", "open('f', 'w').truncate(200_000_000)"),
    ] {
        let script = format!("import time\n{script}");
        let limit = what == "open files without names";
        if limit {
            let outcome = python.run(&script, |limits| limits.fuel = Some(500_000_000)).await;
            assert_eq!(outcome.status, Status::OutOfFuel, "{}", outcome.stderr_text());
            assert_eq!(directories(&python), 0, "{what}");
            continue;
        }
        leaves_nothing(&python, what, &script).await;
    }
}

#[tokio::test]
async fn a_folder_whose_rights_were_taken_away_is_removed_with_its_call() {
    let python = python();
    let script = "
import os
os.makedirs('d/e')
open('d/e/f', 'w').close()
for path in ['d/e/f', 'd/e', 'd']:
    try:
        os.chmod(path, 0)
    except OSError:
        pass
";
    leaves_nothing(&python, "no rights", script).await;
    leaves_nothing(&shell(), "no rights in sh", "mkdir -p d/e; : >d/e/f; chmod 000 d/e/f d/e d; echo = 1").await;
}

#[tokio::test]
async fn a_folder_that_is_removed_while_it_is_open_takes_nothing_more() {
    let script = "
import os
os.mkdir('d')
held = os.open('d', os.O_RDONLY)
os.rmdir('d')
for attempt in [lambda: os.open('f', os.O_RDWR | os.O_CREAT, dir_fd=held), lambda: os.mkdir('e', dir_fd=held),
                lambda: os.symlink('x', 's', dir_fd=held), lambda: os.open('../secret', os.O_RDONLY, dir_fd=held),
                lambda: os.stat('..', dir_fd=held)]:
    try:
        attempt()
    except OSError:
        pass
    else:
        print('it took it')
os.mkdir('d')
print(os.listdir('d'), len(os.listdir()))
";
    let outcome = python().run(script, |_| {}).await;
    assert_eq!(outcome.stdout_text(), "[] 1\n", "{}", outcome.stderr_text());
}

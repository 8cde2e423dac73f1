//! The quota of a call's directory: whatever a guest does with files, what lies there afterwards is within the limits,
//! and the outcome says how much it was. The guest is a shell script made of the input. It needs the runtime:
//! `ampoule runtime install sh`.

#![no_main]

use std::cell::OnceCell;
use std::fs;
use std::time::Duration;

use ampoule::{Call, CancellationToken, Home, WasmExecutor};
use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;

const BYTES: u64 = 1000;
const ENTRIES: u64 = 6;

#[derive(Arbitrary, Debug)]
enum Step {
    Write { name: u8, bytes: u16 },
    Append { name: u8, bytes: u16 },
    Truncate { name: u8, bytes: u16 },
    Remove { name: u8 },
    Rename { from: u8, to: u8 },
    Link { from: u8, to: u8 },
    Symlink { to: u8, bytes: u8 },
    Mkdir { name: u8 },
    Inside { folder: u8, name: u8, bytes: u16 },
    Rmdir { name: u8 },
}

impl Step {
    fn line(&self) -> String {
        let name = |name: &u8| format!("n{}", name % 8);
        let size = |bytes: &u16| bytes % 1200;
        match self {
            Step::Write { name: n, bytes } => format!("printf '%{}s' x >{}", size(bytes), name(n)),
            Step::Append { name: n, bytes } => format!("printf '%{}s' x >>{}", size(bytes), name(n)),
            Step::Truncate { name: n, bytes } => format!("truncate -s {} {}", size(bytes), name(n)),
            Step::Remove { name: n } => format!("rm -rf {}", name(n)),
            Step::Rename { from, to } => format!("mv {} {}", name(from), name(to)),
            Step::Link { from, to } => format!("ln {} {}", name(from), name(to)),
            Step::Symlink { to, bytes } => format!("ln -s {} {}", "t".repeat(usize::from(*bytes) + 1), name(to)),
            Step::Mkdir { name: n } => format!("mkdir {}", name(n)),
            Step::Inside { folder, name: n, bytes } => {
                format!("printf '%{}s' x >{}/{}", size(bytes), name(folder), name(n))
            }
            Step::Rmdir { name: n } => format!("rmdir {}", name(n)),
        }
    }
}

struct Shell {
    executor: WasmExecutor,
    runtime: tokio::runtime::Runtime,
    kept: tempfile::TempDir,
}

thread_local!(static SHELL: OnceCell<Shell> = const { OnceCell::new() });

fn shell() -> Shell {
    let executor = WasmExecutor::builder(Home::from_env().unwrap()).allow("sh", "sh").build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    Shell { executor, runtime, kept: tempfile::tempdir().unwrap() }
}

fuzz_target!(|steps: Vec<Step>| {
    SHELL.with(|cell| {
        let Shell { executor, runtime, kept } = cell.get_or_init(shell);
        let script: String = steps.iter().take(60).map(|step| step.line() + " 2>/dev/null\n").collect();
        let mut call = Call::new(script);
        call.limits.scratch_bytes = BYTES;
        call.limits.scratch_entries = ENTRIES;
        call.limits.timeout = Some(Duration::from_secs(5));
        let target = kept.path().join("kept");
        call.keep = Some(target.clone());
        let outcome = runtime.block_on(executor.call("sh", call, &CancellationToken::new())).unwrap();
        let (mut bytes, mut entries, mut folders) = (0, 0, vec![target.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let metadata = fs::symlink_metadata(&path).unwrap();
                assert!(metadata.is_dir() || metadata.is_file(), "{path:?}");
                entries += 1;
                if metadata.is_dir() { folders.push(path) } else { bytes += metadata.len() }
            }
        }
        let usage = outcome.usage;
        assert!(usage.scratch_bytes <= BYTES && usage.scratch_entries <= ENTRIES, "{usage:?}");
        // A file with several names is kept for each, within the limit on bytes as a whole.
        assert!(bytes <= BYTES && entries <= ENTRIES, "{bytes} bytes, {entries} entries");
        fs::remove_dir_all(&target).unwrap();
    });
});

//! The host runs out of memory, descriptors, disk or threads, or a part of it fails: an error for the call, or in the
//! script, and the next one works. In processes of their own, whose limits are lowered while they run.
//!
//! Needs the runtime: `ampoule runtime install python`.
#![cfg(target_os = "linux")]

mod support;

use std::process::Command;
use std::time::Duration;

use ampoule::{Call, CancellationToken, ExecuteError, Home, Status, Stdin, WasmExecutor};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use support::{Runtime, limited, python};

const IN_A_CHILD: &str = "AMPOULE_TEST_HOST_FAILURE";

/// Runs the test of this name again in a process of its own, under a shell that first does this. True in that process.
fn in_a_child(name: &str, first: &str) -> bool {
    if std::env::var_os(IN_A_CHILD).is_some() {
        return true;
    }
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{first} exec \"$0\" \"$@\"")).arg(std::env::current_exe().unwrap());
    let output =
        command.args(["--exact", name, "--nocapture", "--test-threads", "1"]).env(IN_A_CHILD, "1").output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    println!("{text}");
    false
}

/// Lowers a limit of this process while something runs.
async fn lowered<T>(resource: Resource, to: u64, run: impl Future<Output = T>) -> T {
    let was = getrlimit(resource);
    setrlimit(resource, Rlimit { current: Some(to), maximum: was.maximum }).unwrap();
    let value = run.await;
    setrlimit(resource, was).unwrap();
    value
}

fn on_one_thread(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

async fn works(python: &Runtime) {
    let outcome = python.run("print('works')", |_| {}).await;
    assert_eq!((outcome.status, outcome.stdout.as_slice()), (Status::Exited(0), &b"works\n"[..]));
}

/// The bytes of address space that this process takes.
fn address_space() -> u64 {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
    pages * 4096
}

#[test]
fn without_address_space_a_call_is_an_error_and_the_next_one_works() {
    if !in_a_child("without_address_space_a_call_is_an_error_and_the_next_one_works", "") {
        return;
    }
    on_one_thread(async {
        let python = python();
        // The first call of an executor takes 4 GiB of addresses for its memory.
        let error = lowered(Resource::As, address_space() + (1 << 30), python.try_run(Call::new("print(1)")))
            .await
            .unwrap_err();
        println!("{error}");
        assert!(matches!(error, ExecuteError::Engine(_)), "{error}");
        works(&python).await;
        // With its memory there, what a guest cannot grow is its own to handle.
        let script = "try:\n    bytearray(300_000_000)\nexcept MemoryError:\n    print('MemoryError')\nelse:\n    print('allocated')";
        for _ in 0..3 {
            let outcome = python.run(script, |_| {}).await;
            assert!(["MemoryError\n", "allocated\n"].contains(&outcome.stdout_text().as_str()), "{outcome:?}");
        }
        works(&python).await;
    });
}

#[test]
fn without_descriptors_a_call_is_an_error_and_the_next_one_works() {
    if !in_a_child("without_descriptors_a_call_is_an_error_and_the_next_one_works", "") {
        return;
    }
    on_one_thread(async {
        let python = python();
        works(&python).await;
        let open = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64;
        let mut errors = 0;
        for more in 0..6 {
            let ran = lowered(Resource::Nofile, open - 1 + more, python.try_run(Call::new("open('f', 'w')"))).await;
            match ran {
                Err(error) => {
                    println!("{more} descriptors: {error}");
                    assert!(matches!(error, ExecuteError::Scratch(_)), "{error}");
                    errors += 1;
                }
                // It started, and what it could not open is its own to handle.
                Ok(outcome) => assert!(matches!(outcome.status, Status::Exited(0 | 1)), "{outcome:?}"),
            }
            works(&python).await;
        }
        assert!(errors > 0);
        assert!(std::fs::read_dir("/proc/self/fd").unwrap().count() as u64 <= open);
    });
}

#[test]
fn a_disk_that_is_full_is_an_error_in_the_script_and_the_next_one_works() {
    // A file that grows beyond this is a write that fails, as on a full disk.
    if !in_a_child("a_disk_that_is_full_is_an_error_in_the_script_and_the_next_one_works", "trap '' XFSZ;") {
        return;
    }
    on_one_thread(async {
        let python = python();
        works(&python).await;
        let script = "
f = open('f', 'wb', 0)
try:
    while True:
        f.write(bytes(1000))
except OSError as error:
    print(f.tell() // 1000, 'kB')
";
        let outcome = lowered(Resource::Fsize, 64_000, python.run(script, |_| {})).await;
        assert_eq!(outcome.stdout_text(), "64 kB\n", "{}", outcome.stderr_text());
        // A file that the call brings is the host's to write.
        let call = limited("", |_| {}).file("large", vec![0; 100_000]);
        let error = lowered(Resource::Fsize, 64_000, python.try_run(call)).await.unwrap_err();
        assert!(matches!(error, ExecuteError::Scratch(_)), "{error}");
        let kept = tempfile::tempdir().unwrap();
        let mut call = Call::new("open('f', 'wb').truncate(100_000)");
        call.keep = Some(kept.path().join("kept"));
        let run = lowered(Resource::Fsize, 64_000, async {
            // The guest may, under a limit that is lowered only when its files are copied.
            python.try_run(call).await
        });
        let ended = run.await;
        assert!(!matches!(ended, Err(ExecuteError::Engine(_) | ExecuteError::Cancelled)), "{ended:?}");
        works(&python).await;
    });
}

#[test]
fn without_threads_an_executor_is_not_built_and_a_later_one_is() {
    if !in_a_child("without_threads_an_executor_is_not_built_and_a_later_one_is", "") {
        return;
    }
    let build = || WasmExecutor::builder(Home::from_env().unwrap()).allow("python", "python").build();
    on_one_thread(async {
        // A thread takes a stack, so without addresses there is none. What is short of them first is an error as well.
        for more in [0, 64 << 10, 1 << 20, 64 << 20, 512 << 20] {
            let built = lowered(Resource::As, address_space() + more, async { build().map(drop) }).await;
            println!("{more}: {:?}", built.as_ref().map_err(ToString::to_string));
            assert!(built.is_err() || more >= 1 << 20);
        }
        drop(build().unwrap());
        works(&python()).await;
    });
}

#[tokio::test]
async fn a_folder_for_temporary_files_that_goes_away_is_an_error_for_each_call_until_an_executor_is_built_anew() {
    let python = python();
    works(&python).await;
    for entry in std::fs::read_dir(python.scratch.path()).unwrap() {
        std::fs::remove_dir_all(entry.unwrap().path()).unwrap();
    }
    for _ in 0..3 {
        let error = python.try_run(Call::new("print(1)")).await.unwrap_err();
        assert!(matches!(error, ExecuteError::Scratch(_)), "{error}");
    }
    works(&support::python()).await;
}

/// Input that fails, in a way of the host's.
struct Fails(bool);

impl tokio::io::AsyncRead for Fails {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        _: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<std::io::Result<()>> {
        assert!(!self.0, "a fault of the host's own");
        std::task::Poll::Ready(Err(std::io::ErrorKind::BrokenPipe.into()))
    }
}

#[tokio::test]
async fn input_that_fails_or_panics_ends_its_call_alone() {
    let python = python();
    for panics in [false, true] {
        let mut call =
            Call::new("open('f', 'w'); print(repr(open(0).read()))").stdin(Stdin::Stream(Box::new(Fails(panics))));
        call.limits.timeout = Some(Duration::from_secs(2));
        let ran = python.call(call, &CancellationToken::new()).await;
        println!("{panics}: {ran:?}");
        assert!(!matches!(ran, Err(ExecuteError::Cancelled)));
        works(&python).await;
        let roots = std::fs::read_dir(python.scratch.path()).unwrap().map(|root| root.unwrap().path());
        let left = roots
            .flat_map(|root| std::fs::read_dir(root).unwrap())
            .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().join("f").exists()));
        assert_eq!(left.count(), 0);
    }
}

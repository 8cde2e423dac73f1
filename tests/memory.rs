//! What calls cost the process that makes them, by the kernel's own account.
//!
//! Needs the runtime: `ampoule runtime install python`. Each test reads counters of the whole process, so they run one
//! after the other.
#![cfg(target_os = "linux")]

use std::sync::Arc;
use std::time::Duration;

use ampoule::{Call, CancellationToken, Home, Sink, Status, WasmExecutor};
use tokio::sync::Mutex;

static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

const KIB: u64 = 1024;

fn executor() -> WasmExecutor {
    WasmExecutor::builder(Home::from_env().unwrap()).allow("python", "python").keep_idle(128).build().unwrap()
}

async fn print_hi(executor: &WasmExecutor) {
    let outcome = executor.call("python", Call::new("print('hi')"), &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.status, outcome.stdout.as_slice()), (Status::Exited(0), &b"hi\n"[..]));
}

/// Bytes that belong to this process alone.
fn private_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let lines = text.lines().filter(|line| line.starts_with("Private_Clean:") || line.starts_with("Private_Dirty:"));
    lines.map(|line| line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * KIB).sum()
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn page_faults() -> u64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    // After the program's name, which may hold spaces: state, ppid, pgrp, session, tty, tpgid, flags, minflt.
    text[text.rfind(')').unwrap()..].split_whitespace().nth(8).unwrap().parse().unwrap()
}

#[tokio::test]
async fn ten_thousand_calls_leave_memory_and_descriptors_where_they_were_after_the_first_hundred() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let executor = executor();
    for _ in 0..100 {
        print_hi(&executor).await;
    }
    let (memory, descriptors) = (private_bytes(), open_descriptors());
    for _ in 0..9_900 {
        print_hi(&executor).await;
    }
    assert_eq!(open_descriptors(), descriptors);
    let grown = private_bytes().saturating_sub(memory);
    // The allocator may round its pools up; a leak of 100 bytes in each call would show.
    assert!(grown < 960 * KIB, "{} KiB more than after the first hundred calls", grown / KIB);
}

#[tokio::test]
async fn a_warm_call_faults_on_no_page() {
    let _alone = ONE_AT_A_TIME.lock().await;
    let executor = executor();
    for _ in 0..100 {
        print_hi(&executor).await;
    }
    let before = page_faults();
    for _ in 0..1_000 {
        print_hi(&executor).await;
    }
    let faults = page_faults() - before;
    // The process does a little beside the calls: what is allowed is a hundredth of a fault for each.
    assert!(faults <= 10, "{faults} page faults in 1,000 calls");
}

#[tokio::test]
async fn a_live_instance_takes_less_than_a_megabyte_and_a_half_of_private_memory() {
    const LIVE: u64 = 50;
    let _alone = ONE_AT_A_TIME.lock().await;
    let executor = Arc::new(executor());
    print_hi(&executor).await;
    let before = private_bytes();
    let cancel = CancellationToken::new();
    let mut calls = Vec::new();
    for _ in 0..LIVE {
        let (sink, mut output) = Sink::channel(4);
        let mut call = Call::new("import time; print('here', flush=True); time.sleep(60)");
        call.stdout = Some(sink);
        let (executor, cancel) = (executor.clone(), cancel.clone());
        calls.push(tokio::spawn(async move { executor.call("python", call, &cancel).await }));
        let here = tokio::time::timeout(Duration::from_secs(20), output.recv()).await.unwrap().unwrap();
        assert_eq!(here, "here\n");
    }
    let each = (private_bytes() - before) / LIVE;
    cancel.cancel();
    for call in calls {
        assert!(call.await.unwrap().is_err());
    }
    println!("{} KiB of private memory for each live instance", each / KIB);
    assert!(each < 1536 * KIB, "{} KiB for each live instance", each / KIB);
}

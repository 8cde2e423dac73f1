//! What an outcome says that a call used.
//!
//! Needs the runtime: `ampoule runtime install python`.

mod support;

use ampoule::{Call, Stdin};
use support::{module, python};

#[tokio::test]
async fn usage_says_what_python_read_wrote_and_made() {
    let script = "
import os, sys
data = sys.stdin.buffer.read()
os.makedirs('a/b/c')
files = [open(f'a/{n}', 'wb', 0) for n in range(5)]
files[0].write(bytes(3000))
files[1].write(bytes(1000))
os.truncate('a/0', 0)
os.rmdir('a/b/c')
files[2].write(bytes(500))
os.urandom(100)
print(len(data))
";
    let outcome = python().try_run(Call::new(script).stdin(Stdin::Bytes(vec![b'x'; 1000].into()))).await.unwrap();
    assert_eq!(outcome.stdout_text(), "1000\n", "{}", outcome.stderr_text());
    let usage = outcome.usage;
    assert_eq!((usage.stdin_bytes, usage.stdout_bytes, usage.stderr_bytes), (1000, 5, 0));
    assert_eq!((usage.bytes_written, usage.scratch_bytes), (4500, 4000));
    assert_eq!((usage.scratch_entries, usage.scratch_depth), (8, 3));
    assert!((5..8).contains(&usage.open_files), "{usage:?}");
    assert!((100..2000).contains(&usage.random_bytes), "{usage:?}");
    assert!((5..100).contains(&usage.path_bytes), "{usage:?}");
    assert!(usage.hostcall_bytes >= 3008, "{usage:?}");
    assert!(usage.table_elements > 100, "{usage:?}");
}

#[tokio::test]
async fn usage_says_what_a_module_asked_for_to_the_unit() {
    let program = r#"
        (memory (export "memory") 1)
        (table $t 10 funcref)
        (data (i32.const 0) "f")
        (data (i32.const 512) "\40\00\00\00\64\00\00\00")
        (func (export "_start")
            (drop (table.grow $t (ref.null func) (i32.const 90)))
            (drop (memory.grow (i32.const 2)))
            (drop (call $open (i32.const 0)))
            (drop (call $open (i32.const 0)))
            (call $exit_if (call $random_get (i32.const 2048) (i32.const 100)))
            (call $exit_if (call $random_get (i32.const 2048) (i32.const 11)))
            (call $exit_if (call $fd_write (i32.const 1) (i32.const 512) (i32.const 1) (i32.const 16)))
            (call $exit_if (call $poll (i32.const 3072) (i32.const 4096) (i32.const 8) (i32.const 8192))))
    "#;
    let usage = module(program).run("", |_| {}).await.usage;
    assert_eq!((usage.table_elements, usage.peak_memory_bytes), (100, 3 << 16));
    assert_eq!((usage.open_files, usage.scratch_entries, usage.scratch_bytes), (2, 2, 0));
    assert_eq!((usage.random_bytes, usage.poll_subscriptions, usage.path_bytes), (111, 8, 1));
    assert_eq!((usage.stdout_bytes, usage.hostcall_bytes), (100, 108));
}

#[tokio::test]
async fn usage_has_a_name_for_each_in_json() {
    let usage = module(r#"(memory (export "memory") 1) (func (export "_start"))"#).run("", |_| {}).await.usage;
    let json = serde_json::to_value(usage).unwrap();
    let mut names: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    let expected = [
        "bytesWritten",
        "fuel",
        "hostcallBytes",
        "openFiles",
        "pathBytes",
        "peakMemoryBytes",
        "pollSubscriptions",
        "randomBytes",
        "scratchBytes",
        "scratchDepth",
        "scratchEntries",
        "stderrBytes",
        "stdinBytes",
        "stdoutBytes",
        "tableElements",
        "wallMs",
    ];
    assert_eq!(names, expected);
}

//! Each limit, at it and just over it, through the library: by Python, and where Python cannot be exact to the unit, by
//! a module of a few instructions. Paths, folders and links have `limits_of_paths`, the shell `sh/limits`.
//!
//! Needs the runtime: `ampoule runtime install python`.

mod support;

use std::time::Duration;

use ampoule::{
    BuildError, Call, CallError, CancellationToken, ExecuteError, Home, Limits, Outcome, ScriptExecutor, ScriptRequest,
    Status, Stdin, WasmExecutor,
};
use support::{Runtime, limited, module, python};

const PAGE: u64 = 65536;

/// The error numbers of WASI that the modules here end with.
const EINVAL: u8 = 28;
const EMFILE: u8 = 33;
const ENOMEM: u8 = 48;
const ENOTSUP: u8 = 58;

#[test]
fn every_limit_is_one_of_those_tested_here() {
    let mut shown = format!("{:?}", Limits::default());
    for name in [
        "timeout",
        "fuel",
        "memory_bytes",
        "table_elements",
        "tables",
        "stdout_bytes",
        "stderr_bytes",
        "stdin_bytes",
        "source_bytes",
        "arguments_bytes",
        "scratch_bytes",
        "scratch_entries",
        "scratch_depth",
        "path_bytes",
        "open_files",
        "poll_subscriptions",
        "random_bytes",
        "hostcall_bytes",
    ] {
        let field = format!(" {name}: ");
        assert!(shown.contains(&field), "there is no limit `{name}`");
        shown = shown.replace(&field, " ");
    }
    assert!(!shown.contains(": "), "a limit has no test here: {shown}");
}

/// A number as the README writes it: in binary units, else in groups of three digits.
fn readable(number: u64, is_bytes: bool) -> String {
    if is_bytes && number >= 1 << 20 && number.is_multiple_of(1 << 20) {
        return format!("{} MiB", number >> 20);
    }
    let digits = number.to_string();
    let groups: Vec<&str> = digits.as_bytes().rchunks(3).rev().map(|group| str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}

#[test]
fn the_readme_s_table_has_every_limit_with_its_default() {
    let mut expected = Vec::new();
    for field in format!("{:?}", Limits::default()).trim_start_matches("Limits {").trim_end_matches('}').split(", ") {
        let (name, value) = field.trim().split_once(": ").unwrap();
        let value = value.trim_start_matches("Some(").trim_end_matches(')');
        let value = match value.strip_suffix('s') {
            Some(seconds) => format!("{seconds} s"),
            None => readable(value.parse().unwrap(), name.ends_with("_bytes")),
        };
        expected.push(format!("| `{name}` | {value} |"));
    }
    let readme = include_str!("../README.md");
    let rows = readme.lines().filter(|line| line.starts_with("| `") && line.matches('|').count() == 4);
    let rows: Vec<String> = rows.map(|row| row[..row.match_indices('|').nth(2).unwrap().0 + 1].to_owned()).collect();
    let table: Vec<&String> = rows
        .iter()
        .filter(|row| expected.iter().any(|field| field.split('|').nth(1) == row.split('|').nth(1)))
        .collect();
    assert_eq!(table, expected.iter().collect::<Vec<_>>());
    assert!(readme.contains(&format!("a stack of {} MiB", Limits::STACK_BYTES >> 20)));
}

// Memory

const GROWS_BY_THREE: &str = r#"
    (memory (export "memory") 1)
    (func (export "_start")
        (call $exit_if (i32.eq (memory.grow (i32.const 3)) (i32.const -1))))
"#;

#[tokio::test]
async fn memory_can_grow_to_its_limit() {
    let outcome = module(GROWS_BY_THREE).run("", |limits| limits.memory_bytes = 4 * PAGE).await;
    assert_eq!((outcome.status, outcome.usage.peak_memory_bytes), (Status::Exited(0), 4 * PAGE));
}

#[tokio::test]
async fn memory_that_would_grow_one_byte_over_its_limit_does_not_grow() {
    let outcome = module(GROWS_BY_THREE).run("", |limits| limits.memory_bytes = 4 * PAGE - 1).await;
    assert_eq!((outcome.status, outcome.usage.peak_memory_bytes), (Status::Exited(1), PAGE));
}

#[tokio::test]
async fn memory_that_a_module_s_own_maximum_refuses_is_not_counted_as_had() {
    let capped = GROWS_BY_THREE.replace(r#""memory") 1"#, r#""memory") 1 2"#);
    let outcome = module(&capped).run("", |_| {}).await;
    assert_eq!((outcome.status, outcome.usage.peak_memory_bytes), (Status::Exited(1), PAGE));
}

/// The memory that Python's image takes, as its refusal says.
async fn image_bytes(python: &Runtime) -> u64 {
    match python.refusal("", |limits| limits.memory_bytes = 1).await {
        ExecuteError::Refused(CallError::ImageTooLarge { bytes, .. }) => bytes,
        error => panic!("{error}"),
    }
}

#[tokio::test]
async fn an_image_runs_in_exactly_its_own_memory() {
    let python = python();
    let bytes = image_bytes(&python).await;
    let outcome = python.run("print('ran')", |limits| limits.memory_bytes = bytes).await;
    assert_eq!((outcome.stdout_text().as_str(), outcome.usage.peak_memory_bytes), ("ran\n", bytes));
}

#[tokio::test]
async fn an_image_is_refused_in_one_byte_less_than_its_own_memory() {
    let python = python();
    let bytes = image_bytes(&python).await;
    let error = python.refusal("", |limits| limits.memory_bytes = bytes - 1).await.to_string();
    let expected = format!("the image `python` holds {bytes} bytes of memory, but `memory_bytes` allows {}", bytes - 1);
    assert_eq!(error, expected);
}

#[tokio::test]
async fn python_that_wants_more_than_its_memory_gets_a_memory_error_and_lives_on() {
    let script = "
try:
    bytearray(64 << 20)
    print('allocated')
except MemoryError:
    print('MemoryError')
";
    let python = python();
    let image = image_bytes(&python).await;
    let with = async |more: u64| python.run(script, |limits| limits.memory_bytes = image + more).await;
    assert_eq!(with(80 << 20).await.stdout_text(), "allocated\n");
    let outcome = with(48 << 20).await;
    assert_eq!((outcome.status, outcome.stdout.as_slice()), (Status::Exited(0), &b"MemoryError\n"[..]));
}

// Tables

const GROWS_ITS_TABLE: &str = r#"
    (memory (export "memory") 1)
    (table $t 10 funcref)
    (func (export "_start")
        (call $exit_if (i32.eq (table.grow $t (ref.null func) (i32.const 90)) (i32.const -1))))
"#;

#[tokio::test]
async fn a_table_can_grow_to_its_limit() {
    let outcome = module(GROWS_ITS_TABLE).run("", |limits| limits.table_elements = 100).await;
    assert_eq!(outcome.status, Status::Exited(0));
}

#[tokio::test]
async fn a_table_that_would_grow_one_element_over_its_limit_does_not_grow() {
    let outcome = module(GROWS_ITS_TABLE).run("", |limits| limits.table_elements = 99).await;
    assert_eq!(outcome.status, Status::Exited(1));
}

#[tokio::test]
async fn a_module_may_start_with_a_table_at_the_limit_and_is_refused_one_element_over() {
    let module = module(GROWS_ITS_TABLE);
    let outcome = module.run("", |limits| limits.table_elements = 10).await;
    assert_eq!(outcome.status, Status::Exited(1));
    let error = module.refusal("", |limits| limits.table_elements = 9).await.to_string();
    assert!(error.contains("10 elements in a table, but `table_elements` allows 9"), "{error}");
}

const THREE_TABLES: &str = r#"
    (memory (export "memory") 1)
    (table 1 funcref) (table 1 funcref) (table 1 externref)
    (func (export "_start"))
"#;

#[tokio::test]
async fn a_module_with_as_many_tables_as_allowed_runs() {
    let outcome = module(THREE_TABLES).run("", |limits| limits.tables = 3).await;
    assert_eq!(outcome.status, Status::Exited(0));
}

#[tokio::test]
async fn a_module_with_one_table_more_than_allowed_is_refused() {
    let error = module(THREE_TABLES).refusal("", |limits| limits.tables = 2).await.to_string();
    assert!(error.contains("3 tables, but `tables` allows 2"), "{error}");
}

#[tokio::test]
async fn a_second_memory_is_refused_when_its_module_is_installed() {
    let refused =
        std::panic::catch_unwind(|| module(r#"(memory (export "memory") 1) (memory 1) (func (export "_start"))"#));
    assert!(refused.is_err());
}

// The stack

/// Calls itself as often as its memory's first word says.
const RECURSES: &str = r#"
    (memory (export "memory") 1)
    (data (i32.const 0) "DEPTH")
    (func $deeper (param i32) (result i32)
        (if (result i32) (i32.eqz (local.get 0))
            (then (i32.const 0))
            (else (i32.add (i32.const 1) (call $deeper (i32.sub (local.get 0) (i32.const 1)))))))
    (func (export "_start")
        (call $exit_if (i32.ne (call $deeper (i32.load (i32.const 0))) (i32.load (i32.const 0)))))
"#;

/// Whether so many calls inside each other fit the stack.
async fn fits_the_stack(depth: u32) -> bool {
    let bytes: String = depth.to_le_bytes().iter().map(|byte| format!("\\{byte:02x}")).collect();
    let module = module(&RECURSES.replace("DEPTH", &bytes));
    let status = module.run("", |_| {}).await.status;
    match &status {
        Status::Exited(0) => true,
        Status::Trapped(reason) if reason.contains("call stack exhausted") => false,
        _ => panic!("{status:?}"),
    }
}

#[tokio::test]
async fn the_stack_holds_as_many_calls_as_its_bytes_and_not_one_more() {
    // A frame takes some tens of bytes, so this is where the edge lies.
    let (mut fits, mut over) = (Limits::STACK_BYTES as u32 / 256, Limits::STACK_BYTES as u32 / 8);
    assert!(fits_the_stack(fits).await && !fits_the_stack(over).await);
    while over - fits > 1 {
        let middle = fits + (over - fits) / 2;
        if fits_the_stack(middle).await { fits = middle } else { over = middle }
    }
    let frame = Limits::STACK_BYTES as f64 / f64::from(fits);
    println!("{fits} calls of {frame:.2} bytes each fit the stack");
    // Frames are of whole words: what is left over is less than one in twenty.
    let words = (frame / 16.0).floor() * 16.0;
    assert!(frame - words < frame / 20.0, "{frame}");
    assert!(!fits_the_stack(fits + 1).await);
}

// Fuel and time

/// Its last instruction is a call, where fuel is looked at, so that what it uses is all used by then.
const COUNTS_TO_A_THOUSAND: &str = r#"
    (memory (export "memory") 1)
    (func $nothing)
    (func (export "_start") (local $i i32)
        (loop $again
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $i) (i32.const 1000))))
        (call $nothing))
"#;

#[tokio::test]
async fn a_call_with_one_unit_of_fuel_left_at_its_last_step_runs_to_its_end() {
    let module = module(COUNTS_TO_A_THOUSAND);
    let fuel = module.run("", |_| {}).await.usage.fuel;
    assert!(fuel > 1000);
    let outcome = module.run("", |limits| limits.fuel = Some(fuel + 1)).await;
    assert_eq!((outcome.status, outcome.usage.fuel), (Status::Exited(0), fuel));
}

#[tokio::test]
async fn a_call_with_no_fuel_left_at_its_last_step_runs_out() {
    let module = module(COUNTS_TO_A_THOUSAND);
    let fuel = module.run("", |limits| limits.fuel = None).await.usage.fuel;
    let outcome = module.run("", |limits| limits.fuel = Some(fuel)).await;
    assert_eq!((outcome.status, outcome.usage.fuel), (Status::OutOfFuel, fuel));
}

#[tokio::test]
async fn python_runs_out_of_fuel_with_the_output_so_far() {
    let script = "print('so far', flush=True)\nwhile True: pass";
    let outcome = python().run(script, |limits| limits.fuel = Some(200_000_000)).await;
    assert_eq!((outcome.status, outcome.stdout.as_slice()), (Status::OutOfFuel, &b"so far\n"[..]));
}

#[tokio::test]
async fn a_script_that_ends_before_its_timeout_is_not_stopped() {
    let script = "import time; time.sleep(0.2)";
    let outcome = python().run(script, |limits| limits.timeout = Some(Duration::from_secs(20))).await;
    assert_eq!(outcome.status, Status::Exited(0));
    assert!(outcome.usage.wall_time >= Duration::from_millis(200));
}

#[tokio::test]
async fn a_script_that_would_end_after_its_timeout_is_stopped_with_the_output_so_far() {
    let script = "import time; print('so far', flush=True); time.sleep(20)";
    let outcome = python().run(script, |limits| limits.timeout = Some(Duration::from_millis(200))).await;
    assert_eq!((outcome.status, outcome.stdout.as_slice()), (Status::TimedOut, &b"so far\n"[..]));
    assert!(outcome.usage.wall_time >= Duration::from_millis(200));
}

// Output

/// Writes `text` to a stream of Python's whose cap is `cap` bytes.
async fn written(stream: &str, text: &str, cap: usize) -> Outcome {
    let script = format!("import sys; sys.{stream}.write({text:?})");
    let outcome = python()
        .run(&script, |limits| match stream {
            "stdout" => limits.stdout_bytes = cap,
            _ => limits.stderr_bytes = cap,
        })
        .await;
    assert_eq!(outcome.status, Status::Exited(0));
    outcome
}

#[tokio::test]
async fn output_of_exactly_the_cap_is_whole() {
    let outcome = written("stdout", "0123456789", 10).await;
    assert_eq!((outcome.stdout.as_slice(), outcome.truncated), (&b"0123456789"[..], false));
    let outcome = written("stderr", "0123456789", 10).await;
    assert_eq!((outcome.stderr.as_slice(), outcome.truncated), (&b"0123456789"[..], false));
}

#[tokio::test]
async fn output_of_one_byte_more_is_cut_at_the_cap_and_the_script_runs_on() {
    let outcome = written("stdout", "0123456789x", 10).await;
    assert_eq!((outcome.stdout.as_slice(), outcome.truncated), (&b"0123456789"[..], true));
    assert_eq!(outcome.usage.stdout_bytes, 11);
    let outcome = written("stderr", "0123456789x", 10).await;
    assert_eq!((outcome.stderr.as_slice(), outcome.truncated), (&b"0123456789"[..], true));
    assert_eq!(outcome.usage.stderr_bytes, 11);
}

#[tokio::test]
async fn output_is_cut_before_a_character_that_the_cap_would_split() {
    for (cap, kept) in [(3, "a"), (4, "a"), (5, "a😀")] {
        let outcome = written("stdout", "a😀b", cap).await;
        assert_eq!((outcome.stdout_text().as_str(), outcome.truncated), (kept, true), "{cap}");
    }
}

// What a call is given

/// Runs a call whose limit is first exactly what it needs and then one less. The refusal names all there is to know.
async fn is_refused_one_byte_over(
    call: impl Fn() -> Call,
    what: &str,
    limit: &str,
    bytes: usize,
    set: fn(&mut Limits, usize),
) {
    let python = python();
    let mut fitting = call();
    set(&mut fitting.limits, bytes);
    assert_eq!(python.try_run(fitting).await.unwrap().status, Status::Exited(0));
    let mut over = call();
    set(&mut over.limits, bytes - 1);
    let error = python.try_run(over).await.unwrap_err();
    assert!(matches!(error, ExecuteError::Refused(CallError::TooLarge { .. })));
    let expected = format!("the call's {what} takes {bytes} bytes, but `{limit}` allows {}", bytes - 1);
    assert_eq!(error.to_string(), expected);
}

#[tokio::test]
async fn a_script_s_text_is_taken_at_its_limit_and_refused_one_byte_over() {
    let call = || Call::new("print('é')");
    is_refused_one_byte_over(call, "script", "source_bytes", 11, |limits, bytes| limits.source_bytes = bytes).await;
}

#[tokio::test]
async fn standard_input_is_taken_at_its_limit_and_refused_one_byte_over() {
    let call = || Call::new("assert input() == 'four'").stdin(Stdin::Bytes("four".into()));
    is_refused_one_byte_over(call, "standard input", "stdin_bytes", 4, |limits, bytes| limits.stdin_bytes = bytes)
        .await;
}

#[tokio::test]
async fn arguments_and_variables_are_taken_at_their_limit_and_refused_one_byte_over() {
    let script = "import os, sys; assert (sys.argv[1], os.environ['NAME']) == ('one', 'two')";
    // `a.py`, `one` and `NAME=two`, each with the NUL at its end.
    let call = || Call::new(script).name("a.py").arguments(["one"]).variable("NAME", "two");
    is_refused_one_byte_over(call, "arguments and environment", "arguments_bytes", 18, |limits, bytes| {
        limits.arguments_bytes = bytes;
    })
    .await;
}

#[tokio::test]
async fn files_are_taken_at_the_directory_s_bytes_and_refused_one_byte_over() {
    let call = || Call::new("assert open('f').read() == 'four'").file("f", "four");
    is_refused_one_byte_over(call, "files", "scratch_bytes", 4, |limits, bytes| limits.scratch_bytes = bytes as u64)
        .await;
}

#[tokio::test]
async fn files_and_their_folders_are_taken_at_the_directory_s_entries_and_refused_one_over() {
    let call = |entries| {
        let call = limited("import os; os.remove('d/e/f'); open('g', 'x')", |limits| limits.scratch_entries = entries);
        call.file("d/e/f", "1").file("d/e/g", "2").file("h", "3")
    };
    let python = python();
    assert_eq!(python.try_run(call(5)).await.unwrap().status, Status::Exited(0));
    let error = python.try_run(call(4)).await.unwrap_err().to_string();
    assert!(error.contains("5 files and folders, but `scratch_entries` allows 4"), "{error}");
}

// The temporary directory

/// Runs Python in a directory of 100 bytes and gives what it prints. `refused(f)` is the name of the error that `f`
/// raises.
async fn in_a_hundred_bytes(script: &str) -> String {
    prints(script, |limits| limits.scratch_bytes = 100).await
}

async fn prints(script: &str, change: impl FnOnce(&mut Limits)) -> String {
    let head = "
import errno, os

def refused(attempt):
    try:
        attempt()
    except OSError as error:
        return errno.errorcode[error.errno]

def new(name, flags=0):
    return os.open(name, os.O_RDWR | os.O_CREAT | flags)
";
    let outcome = python().run(&format!("{head}\n{script}"), change).await;
    assert_eq!((outcome.status.clone(), outcome.stderr_text().as_str()), (Status::Exited(0), ""));
    outcome.stdout_text()
}

#[tokio::test]
async fn a_file_of_exactly_the_scratch_bytes_can_be_written() {
    let script = "f = new('f')\nprint(os.write(f, b'x' * 100), os.stat('f').st_size)";
    assert_eq!(in_a_hundred_bytes(script).await, "100 100\n");
}

#[tokio::test]
async fn one_byte_more_is_enospc_and_leaves_the_file_as_it_was() {
    let script = "
f = new('f')
print(refused(lambda: os.write(f, b'x' * 101)), os.stat('f').st_size)
os.write(f, b'x' * 100)
print(refused(lambda: os.write(f, b'x')), os.stat('f').st_size)
";
    assert_eq!(in_a_hundred_bytes(script).await, "ENOSPC 0\nENOSPC 100\n");
}

#[tokio::test]
async fn the_bytes_of_all_files_count_together_and_come_back_with_a_file_s_removal() {
    let script = "
f, g = new('f'), new('g')
os.write(f, b'x' * 60)
print(os.write(g, b'x' * 40), refused(lambda: os.write(g, b'x')))
os.close(f)
os.remove('f')
print(os.write(g, b'x' * 60), refused(lambda: os.write(g, b'x')))
";
    assert_eq!(in_a_hundred_bytes(script).await, "40 ENOSPC\n60 ENOSPC\n");
}

#[tokio::test]
async fn writing_over_what_is_there_takes_no_more_bytes() {
    let script = "
f = new('f')
os.write(f, b'x' * 100)
os.lseek(f, 50, os.SEEK_SET)
print(os.write(f, b'y' * 50), refused(lambda: os.write(f, b'y')))
os.ftruncate(f, 10)
os.lseek(f, 0, os.SEEK_END)
print(os.write(f, b'z' * 90))
";
    assert_eq!(in_a_hundred_bytes(script).await, "50 ENOSPC\n90\n");
}

#[tokio::test]
async fn a_write_at_an_offset_ends_at_the_scratch_bytes_or_is_enospc() {
    let script = "
f = new('f')
print(os.pwrite(f, b'x', 99), os.stat('f').st_size)
print(refused(lambda: os.pwrite(f, b'x', 100)), refused(lambda: os.pwrite(f, b'xx', 99)), os.stat('f').st_size)
";
    assert_eq!(in_a_hundred_bytes(script).await, "1 100\nENOSPC ENOSPC 100\n");
}

#[tokio::test]
async fn an_append_counts_from_the_file_s_end_whatever_its_offset() {
    let script = "
f = new('f', os.O_APPEND)
os.write(f, b'x' * 99)
os.lseek(f, 0, os.SEEK_SET)
print(refused(lambda: os.write(f, b'xx')), os.write(f, b'x'), refused(lambda: os.pwrite(f, b'x', 0)))
";
    assert_eq!(in_a_hundred_bytes(script).await, "ENOSPC 1 ENOSPC\n");
}

#[tokio::test]
async fn a_file_s_length_can_be_set_to_the_scratch_bytes_and_one_more_is_enospc() {
    let script = "
f = new('f')
print(refused(lambda: os.ftruncate(f, 101)), os.stat('f').st_size)
print(refused(lambda: os.ftruncate(f, 100)), os.stat('f').st_size)
print(refused(lambda: os.truncate('f', 101)), os.stat('f').st_size)
";
    assert_eq!(in_a_hundred_bytes(script).await, "ENOSPC 0\nNone 100\nENOSPC 100\n");
}

#[tokio::test]
async fn the_hole_before_a_write_counts_as_if_it_were_written() {
    let script = "
f = new('f')
os.lseek(f, 100, os.SEEK_SET)
print(refused(lambda: os.write(f, b'x')), os.stat('f').st_size)
os.lseek(f, 1 << 62, os.SEEK_SET)
print(refused(lambda: os.write(f, b'x')), os.stat('f').st_size)
os.lseek(f, 99, os.SEEK_SET)
print(os.write(f, b'x'), os.stat('f').st_size)
";
    assert_eq!(in_a_hundred_bytes(script).await, "ENOSPC 0\nENOSPC 0\n1 100\n");
}

#[tokio::test]
async fn a_file_without_a_name_takes_its_bytes_until_it_is_closed() {
    let script = "
f, g = new('f'), new('g')
os.write(f, b'x' * 100)
os.remove('f')
print(refused(lambda: os.write(g, b'x')))
os.close(f)
print(os.write(g, b'x' * 100))
";
    assert_eq!(in_a_hundred_bytes(script).await, "ENOSPC\n100\n");
}

#[tokio::test]
async fn opening_a_file_anew_gives_its_bytes_back() {
    let script = "
os.write(new('f'), b'x' * 100)
print(os.write(new('f', os.O_TRUNC), b'x' * 100), refused(lambda: os.write(new('g'), b'x')))
";
    assert_eq!(in_a_hundred_bytes(script).await, "100 ENOSPC\n");
}

#[tokio::test]
async fn allocating_a_file_s_bytes_is_not_supported_and_takes_none() {
    let program = r#"
        (memory (export "memory") 1)
        (data (i32.const 0) "f")
        (func (export "_start")
            (call $exit_if (call $fd_allocate (call $open (i32.const 0)) (i64.const 0) (i64.const 1)))
            (call $exit (i32.const 1)))
    "#;
    let outcome = module(program).run("", |_| {}).await;
    assert_eq!((outcome.status, outcome.usage.bytes_written), (Status::Exited(ENOTSUP), 0));
}

const FOUR_ENTRIES: &str = "
new('file')
os.mkdir('folder')
os.symlink('file', 'symlink')
os.link('file', 'link')
";

#[tokio::test]
async fn as_many_files_folders_and_links_as_allowed_can_be_made() {
    let script = format!("{FOUR_ENTRIES}\nprint(len(os.listdir()))");
    assert_eq!(prints(&script, |limits| limits.scratch_entries = 4).await, "4\n");
}

#[tokio::test]
async fn one_more_file_folder_or_link_is_enospc() {
    let script = format!(
        "{FOUR_ENTRIES}
print(refused(lambda: new('1')), refused(lambda: os.mkdir('2')), refused(lambda: os.symlink('file', '3')))
print(refused(lambda: os.link('file', '4')), refused(lambda: new('folder/5')), len(os.listdir()))
print(refused(lambda: new('file')))"
    );
    let printed = prints(&script, |limits| limits.scratch_entries = 4).await;
    assert_eq!(printed, "ENOSPC ENOSPC ENOSPC\nENOSPC ENOSPC 4\nNone\n");
}

#[tokio::test]
async fn an_entry_that_is_removed_or_replaced_makes_room_for_one() {
    let script = format!(
        "{FOUR_ENTRIES}
for remove in [lambda: os.remove('link'), lambda: os.rmdir('folder'), lambda: os.replace('file', 'symlink')]:
    remove()
    name = f'new{{len(os.listdir())}}{{id(remove)}}'
    print(refused(lambda: new(name)), refused(lambda: new('one-more')))"
    );
    assert_eq!(prints(&script, |limits| limits.scratch_entries = 4).await, "None ENOSPC\n".repeat(3));
}

// Descriptors, polls, random bytes, host calls

const OPENS_SEVEN_FILES: &str = r#"
    (memory (export "memory") 1)
    (data (i32.const 0) "f")
    (func (export "_start") (local $i i32)
        (loop $again
            (drop (call $open (i32.const 0)))
            (local.set $i (i32.add (local.get $i) (i32.const 1)))
            (br_if $again (i32.lt_u (local.get $i) (i32.const 7)))))
"#;

#[tokio::test]
async fn as_many_files_as_allowed_can_be_open() {
    let outcome = module(OPENS_SEVEN_FILES).run("", |limits| limits.open_files = 7).await;
    assert_eq!(outcome.status, Status::Exited(0));
}

#[tokio::test]
async fn one_more_open_file_is_emfile() {
    let outcome = module(OPENS_SEVEN_FILES).run("", |limits| limits.open_files = 6).await;
    assert_eq!(outcome.status, Status::Exited(EMFILE));
}

#[tokio::test]
async fn python_sees_emfile_and_can_open_again_after_closing() {
    let script = "
held = []
print(refused(lambda: [held.append(new('f')) for _ in range(100)]), len(held) <= 10)
os.close(held.pop())
print(refused(lambda: os.close(new('g'))))
";
    assert_eq!(prints(script, |limits| limits.open_files = 10).await, "EMFILE True\nNone\n");
}

/// Opens two files and gives the first the number of the second, then opens two more.
const RENUMBERS_BETWEEN_FOUR_FILES: &str = r#"
    (memory (export "memory") 1)
    (data (i32.const 0) "f")
    (func (export "_start")
        (call $exit_if (call $fd_renumber (call $open (i32.const 0)) (call $open (i32.const 0))))
        (drop (call $open (i32.const 0)))
        (drop (call $open (i32.const 0))))
"#;

#[tokio::test]
async fn a_file_that_takes_another_s_number_closes_it_and_makes_room_for_one_and_no_more() {
    let module = module(RENUMBERS_BETWEEN_FOUR_FILES);
    assert_eq!(module.run("", |limits| limits.open_files = 3).await.status, Status::Exited(0));
    assert_eq!(module.run("", |limits| limits.open_files = 2).await.status, Status::Exited(EMFILE));
}

/// Waits for eight clocks that are up at once: a subscription of zeros is one.
const POLLS_EIGHT: &str = r#"
    (memory (export "memory") 1)
    (func (export "_start")
        (call $exit_if (call $poll (i32.const 0) (i32.const 4096) (i32.const 8) (i32.const 8192)))
        (call $exit_if (i32.ne (i32.load (i32.const 8192)) (i32.const 8))))
"#;

#[tokio::test]
async fn as_many_subscriptions_as_allowed_can_be_polled() {
    let outcome = module(POLLS_EIGHT).run("", |limits| limits.poll_subscriptions = 8).await;
    assert_eq!(outcome.status, Status::Exited(0));
}

#[tokio::test]
async fn one_more_subscription_is_einval() {
    let outcome = module(POLLS_EIGHT).run("", |limits| limits.poll_subscriptions = 7).await;
    assert_eq!(outcome.status, Status::Exited(EINVAL));
}

#[tokio::test]
async fn the_most_subscriptions_can_be_polled_while_the_most_files_are_open() {
    // Opens 256 files, then asks 1,024 times whether the last of them can be read.
    let program = r#"
        (memory (export "memory") 3)
        (data (i32.const 0) "f")
        (func (export "_start") (local $i i32) (local $file i32)
            (loop $again
                (local.set $file (call $open (i32.const 0)))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $i) (i32.const 256))))
            (local.set $i (i32.const 0))
            (loop $again
                (i32.store8 offset=2056 (i32.mul (local.get $i) (i32.const 48)) (i32.const 1))
                (i32.store offset=2064 (i32.mul (local.get $i) (i32.const 48)) (local.get $file))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $i) (i32.const 1024))))
            (call $exit_if (call $poll (i32.const 2048) (i32.const 65536) (i32.const 1024) (i32.const 1024)))
            (call $exit_if (i32.eqz (i32.load (i32.const 1024)))))
    "#;
    let limits = Limits::default();
    assert_eq!((limits.open_files, limits.poll_subscriptions), (256, 1024));
    assert_eq!(module(program).run("", |_| {}).await.status, Status::Exited(0));
}

const TAKES_A_HUNDRED_RANDOM_BYTES: &str = r#"
    (memory (export "memory") 1)
    (func (export "_start") (call $exit_if (call $random_get (i32.const 0) (i32.const 100))))
"#;

#[tokio::test]
async fn as_many_random_bytes_as_allowed_can_be_had() {
    let outcome = module(TAKES_A_HUNDRED_RANDOM_BYTES).run("", |limits| limits.random_bytes = 100).await;
    assert_eq!(outcome.status, Status::Exited(0));
}

#[tokio::test]
async fn one_random_byte_more_is_a_trap_that_says_so() {
    let outcome = module(TAKES_A_HUNDRED_RANDOM_BYTES).run("", |limits| limits.random_bytes = 99).await;
    let Status::Trapped(reason) = outcome.status else { panic!("{:?}", outcome.status) };
    assert!(reason.contains("100") && reason.contains("99"), "{reason}");
}

/// Writes 100 bytes to standard output twice. Each write takes the host 108: the bytes, and one entry of the list of
/// buffers.
const WRITES_A_HUNDRED_BYTES_TWICE: &str = r#"
    (memory (export "memory") 1)
    (data (i32.const 0) "\40\00\00\00\64\00\00\00")
    (func (export "_start")
        (call $exit_if (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16)))
        (call $exit_if (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16))))
"#;

#[tokio::test]
async fn each_host_call_may_copy_as_many_bytes_as_allowed() {
    let outcome = module(WRITES_A_HUNDRED_BYTES_TWICE).run("", |limits| limits.hostcall_bytes = 108).await;
    assert_eq!((outcome.status, outcome.stdout.len()), (Status::Exited(0), 200));
}

#[tokio::test]
async fn a_host_call_that_would_copy_one_byte_more_is_enomem() {
    let outcome = module(WRITES_A_HUNDRED_BYTES_TWICE).run("", |limits| limits.hostcall_bytes = 107).await;
    assert_eq!((outcome.status, outcome.stdout.len()), (Status::Exited(ENOMEM), 0));
}

// The executor's limits

#[tokio::test]
async fn a_request_can_ask_for_less_than_the_executor_s_limits_and_never_for_more() {
    let mut limits = Limits::default();
    limits.timeout = Some(Duration::from_secs(2));
    limits.stdout_bytes = 10;
    limits.stderr_bytes = 8;
    let executor = WasmExecutor::builder(Home::from_env().unwrap()).allow("python", "python").limits(limits);
    let executor = executor.build().unwrap();
    let run = async |source: &str, timeout: Duration, max_output_bytes: usize| {
        let mut request = ScriptRequest::stored("python", "a.py", source);
        request.timeout = timeout;
        request.max_output_bytes = max_output_bytes;
        executor.execute(request, CancellationToken::new()).await.unwrap()
    };
    let writes = "import sys; print('x' * 99); print('y' * 99, file=sys.stderr)";
    for (asked, stdout, stderr) in [(9, 9, 8), (10, 10, 8), (11, 10, 8), (7, 7, 7)] {
        let outcome = run(writes, Duration::from_secs(2), asked).await;
        assert_eq!((outcome.stdout.len(), outcome.stderr.len(), outcome.truncated), (stdout, stderr, true), "{asked}");
    }
    for (asked, timeout) in
        [(Duration::from_millis(100), Duration::from_millis(100)), (Duration::MAX, Duration::from_secs(2))]
    {
        let outcome = run("import time; time.sleep(20)", asked, 10).await;
        assert_eq!(outcome.status, Status::TimedOut);
        assert!((timeout..timeout + Duration::from_secs(1)).contains(&outcome.usage.wall_time), "{:?}", outcome.usage);
    }
}

#[test]
fn an_executor_with_a_limit_that_cannot_be_meant_is_not_built() {
    let mut limits = Limits::default();
    limits.fuel = Some(0);
    let executor = WasmExecutor::builder(Home::from_env().unwrap()).limits(limits).build();
    assert!(matches!(executor, Err(BuildError::Limits(_))));
}

// Values that cannot be meant, and those that can but just so

#[test]
fn a_value_that_cannot_be_meant_is_refused_with_its_name_the_value_and_the_way_out() {
    let refused = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        limits.check().unwrap_err().to_string()
    };
    for (error, name, value, way_out) in [
        (refused(|l| l.timeout = Some(Duration::ZERO)), "timeout", "0ns", "longer than zero; `None` means no limit"),
        (
            refused(|l| l.timeout = Some(Duration::from_secs(365 * 24 * 3600 + 1))),
            "timeout",
            "31536001s",
            "a year at most; `None` means no limit",
        ),
        (refused(|l| l.fuel = Some(0)), "fuel", "0", "at least 1; `None` means no limit"),
        (refused(|l| l.memory_bytes = 0), "memory_bytes", "0", "at least as large as the runtime's image"),
        (refused(|l| l.memory_bytes = (4 << 30) + 1), "memory_bytes", "4294967297", "4294967296 bytes (4 GiB) at most"),
        (refused(|l| l.memory_bytes = u64::MAX), "memory_bytes", "18446744073709551615", "(4 GiB) at most"),
    ] {
        assert!(error.starts_with(&format!("the limit `{name}` is {value}, but ")), "{error}");
        assert!(error.ends_with(way_out), "{error}");
    }
}

#[tokio::test]
async fn a_call_with_a_limit_that_cannot_be_meant_is_refused() {
    let error = python().refusal("", |limits| limits.fuel = Some(0)).await;
    assert!(matches!(error, ExecuteError::Refused(CallError::Limits(_))), "{error}");
}

#[tokio::test]
async fn a_call_runs_with_the_largest_values_that_there_are() {
    let script = "import os, time; time.sleep(0.01); open('f', 'w').write('x'); print(len(os.urandom(9)), input())";
    let mut call = Call::new(script).name("a.py").stdin(Stdin::Bytes("in".into()));
    call.limits.timeout = Some(Duration::from_secs(365 * 24 * 3600));
    call.limits.fuel = Some(u64::MAX);
    call.limits.memory_bytes = 4 << 30;
    call.limits.table_elements = usize::MAX;
    call.limits.tables = usize::MAX;
    call.limits.stdout_bytes = usize::MAX;
    call.limits.stderr_bytes = usize::MAX;
    call.limits.stdin_bytes = usize::MAX;
    call.limits.source_bytes = usize::MAX;
    call.limits.arguments_bytes = usize::MAX;
    call.limits.scratch_bytes = u64::MAX;
    call.limits.scratch_entries = u64::MAX;
    call.limits.scratch_depth = usize::MAX;
    call.limits.path_bytes = usize::MAX;
    call.limits.open_files = usize::MAX;
    call.limits.poll_subscriptions = u32::MAX;
    call.limits.random_bytes = u64::MAX;
    call.limits.hostcall_bytes = usize::MAX;
    let outcome = python().try_run(call).await.unwrap();
    assert_eq!((outcome.stdout_text().as_str(), outcome.stderr_text().as_str()), ("9 in\n", ""));
}

#[tokio::test]
async fn a_call_that_uses_nothing_runs_with_zeros() {
    let program = r#"(memory (export "memory") 1) (func (export "_start"))"#;
    let mut call = Call::new("");
    call.limits.table_elements = 0;
    call.limits.tables = 0;
    call.limits.stdout_bytes = 0;
    call.limits.stderr_bytes = 0;
    call.limits.stdin_bytes = 0;
    call.limits.source_bytes = 0;
    call.limits.scratch_bytes = 0;
    call.limits.scratch_depth = 0;
    call.limits.path_bytes = 0;
    call.limits.open_files = 0;
    call.limits.poll_subscriptions = 0;
    call.limits.random_bytes = 0;
    call.limits.hostcall_bytes = 0;
    assert_eq!(module(program).try_run(call).await.unwrap().status, Status::Exited(0));
}

//! WASI programs: run as they are, compiled once in a process of their own, and refused with a reason when they are
//! something else.

#[allow(dead_code, reason = "each test uses a part of it")]
mod program;
mod support;

use std::fs;
use std::time::{Duration, Instant};

use ampoule::{Access, Call, CallError, ExecuteError, Status};
use program::{Place, Ran};

/// A place with a home of its own, and a folder to put programs in.
struct Programs(Place);

impl Programs {
    fn new() -> Programs {
        Programs(Place::new())
    }

    fn put(&self, name: &str, text: &str) {
        self.0.write(name, wat::parse_str(text).unwrap());
    }

    /// `ampoule` with these words, and a home that holds nothing at first.
    #[track_caller]
    fn ampoule(&self, words: &[&str]) -> Ran {
        let mut command = self.0.ampoule(words);
        self.0.end(command.env("AMPOULE_HOME", self.home()))
    }

    fn home(&self) -> std::path::PathBuf {
        self.0.path("home")
    }

    /// The program is refused, with these words, and nothing of it is kept.
    #[track_caller]
    fn refuses(&self, name: &str, said: &[&str]) {
        let start = Instant::now();
        self.ampoule(&["run", name]).fails(125, &[&[name], said].concat());
        assert!(start.elapsed() < Duration::from_secs(60), "{name} took {:?}", start.elapsed());
        for folder in ["runtimes", "code", "images", "partial"] {
            let folder = self.home().join(folder);
            let left: Vec<_> = fs::read_dir(folder).into_iter().flatten().flatten().collect();
            assert!(left.is_empty(), "{name} left {left:?}");
        }
    }
}

/// The imports of a program that writes and ends, and a memory.
const WASI: &str = r#"
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 2)
"#;

/// Writes its arguments, each with a NUL behind it, and ends with 7.
fn echo() -> String {
    format!(
        r#"(module {WASI}
            (func (export "_start")
                (drop (call $sizes (i32.const 0) (i32.const 12)))
                (drop (call $args (i32.const 1024) (i32.const 4096)))
                (i32.store (i32.const 8) (i32.const 4096))
                (drop (call $write (i32.const 1) (i32.const 8) (i32.const 1) (i32.const 0)))
                (call $exit (i32.const 7))))"#
    )
}

/// A program that does nothing, with something besides.
fn with(more: &str) -> String {
    format!("(module (memory (export \"memory\") 1) (func (export \"_start\")) {more})")
}

#[test]
fn a_program_runs_with_its_arguments_and_ends_with_its_code() {
    let programs = Programs::new();
    programs.put("echo.wasm", &echo());
    let ran = programs.ampoule(&["run", "echo.wasm", "--", "a", "b c", "--d"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(7), "echo.wasm\0a\0b c\0--d\0"), "{}", ran.stderr);
}

#[test]
fn a_program_is_compiled_once_and_known_by_its_digest() {
    let programs = Programs::new();
    programs.put("echo.wasm", &echo());
    let refused = programs.ampoule(&["run", "--no-install", "echo.wasm"]);
    refused.fails(127, &["echo.wasm", "not compiled yet", "ampoule compile echo.wasm"]);
    let first = programs.ampoule(&["compile", "echo.wasm"]);
    assert!(first.stdout.starts_with("wasm-") && first.stderr.contains("compiling"), "{first:?}");
    // The same bytes under another name, and without its extension, are the same program.
    fs::copy(programs.0.path("echo.wasm"), programs.0.path("other")).unwrap();
    let second = programs.ampoule(&["compile", "other"]);
    assert_eq!((second.stdout.as_str(), second.stderr.as_str()), (first.stdout.as_str(), ""));
    assert_eq!(programs.ampoule(&["run", "--no-install", "other"]).stdout, "other\0");
}

#[test]
fn a_compiled_program_runs_by_its_name() {
    let programs = Programs::new();
    programs.put("echo.wasm", &echo());
    let name = programs.ampoule(&["compile", "echo.wasm"]).stdout.trim().to_owned();
    let ran = programs.ampoule(&["run", "--no-install", "--runtime", &name, "--", "a"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(7), "program.wasm\0a\0"), "{}", ran.stderr);
    programs.ampoule(&["run", "--runtime", &name, "-e", "1"]).fails(125, &[&name, "runs no scripts"]);
}

#[test]
fn a_program_in_text_form_runs() {
    let programs = Programs::new();
    programs.0.write("echo.wat", echo());
    let ran = programs.ampoule(&["run", "echo.wat", "--", "a"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(7), "echo.wat\0a\0"), "{}", ran.stderr);
    programs.0.write("wrong.wat", "(module (func $twice) (func $twice))");
    programs.ampoule(&["run", "wrong.wat"]).fails(125, &["the program `wrong.wat`", "duplicate func identifier"]);
}

#[test]
fn a_compiled_program_is_listed_and_can_be_removed() {
    let programs = Programs::new();
    programs.put("echo.wasm", &echo());
    let name = programs.ampoule(&["compile", "echo.wasm"]).stdout.trim().to_owned();
    assert!(programs.ampoule(&["runtime", "list"]).stdout.contains(&name));
    programs.ampoule(&["runtime", "verify", &name]).prints(&format!("{name}: ready\n"));
    programs.ampoule(&["runtime", "remove", &name]).prints("");
    assert!(!programs.ampoule(&["runtime", "list"]).stdout.contains(&name));
    programs.ampoule(&["run", "--no-install", "echo.wasm"]).fails(127, &["not compiled yet"]);
}

#[test]
fn a_program_reads_and_writes_files_by_relative_paths() {
    let programs = Programs::new();
    // Opens `f`, which is given, relative to the last directory it has, as a C library does for relative paths.
    programs.put(
        "open.wasm",
        r#"(module
            (import "wasi_snapshot_preview1" "fd_prestat_get" (func $prestat (param i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "path_open"
                (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
            (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
            (memory (export "memory") 1)
            (data (i32.const 0) "f")
            (func (export "_start") (local $fd i32)
                (local.set $fd (i32.const 3))
                (loop $next
                    (if (i32.eqz (call $prestat (local.get $fd) (i32.const 64)))
                        (then
                            (local.set $fd (i32.add (local.get $fd) (i32.const 1)))
                            (br $next))))
                (call $exit (call $open (i32.sub (local.get $fd) (i32.const 1)) (i32.const 0) (i32.const 0)
                    (i32.const 1) (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 128)))))"#,
    );
    programs.0.write("f", "content");
    assert_eq!(programs.ampoule(&["run", "open.wasm", "--file", "f"]).code, Some(0));
    const NO_SUCH_FILE: i32 = 44;
    assert_eq!(programs.ampoule(&["run", "open.wasm"]).code, Some(NO_SUCH_FILE));
}

#[test]
fn what_is_no_webassembly_is_refused_by_what_it_begins_with() {
    let programs = Programs::new();
    programs.0.write("text.wasm", "#!/bin/sh\n");
    programs.refuses("text.wasm", &["no WebAssembly", "begins with #!/b"]);
    programs.0.write("empty.wasm", "");
    programs.refuses("empty.wasm", &["no WebAssembly", "begins with nothing"]);
}

#[test]
fn a_truncated_or_damaged_program_is_refused() {
    let programs = Programs::new();
    let whole = wat::parse_str(echo()).unwrap();
    for length in [4, 8, 9, whole.len() / 2, whole.len() - 1] {
        programs.0.write("short.wasm", &whole[..length]);
        programs.refuses("short.wasm", &["cannot be run"]);
    }
    let mut damaged = whole;
    // The first section's number.
    damaged[8] = 0x7F;
    programs.0.write("damaged.wasm", &damaged);
    programs.refuses("damaged.wasm", &["not valid", "at offset 0x"]);
}

#[test]
fn a_program_of_200_mb_is_refused_without_being_read() {
    let programs = Programs::new();
    programs.put("large.wasm", &with(""));
    let file = fs::File::options().write(true).open(programs.0.path("large.wasm")).unwrap();
    file.set_len(200 << 20).unwrap();
    programs.refuses("large.wasm", &["67108864 at most"]);
}

#[test]
fn programs_for_other_hosts_are_refused_with_what_they_import() {
    let programs = Programs::new();
    programs
        .put("emscripten.wasm", r#"(module (import "env" "emscripten_memcpy_js" (func)) (func (export "_start")))"#);
    programs.refuses("emscripten.wasm", &["env.emscripten_memcpy_js"]);
    programs.put(
        "browser.wasm",
        r#"(module (import "wbg" "__wbindgen_throw" (func (param i32 i32))) (import "wbg" "other" (func))
            (func (export "_start")))"#,
    );
    programs.refuses("browser.wasm", &["wbg.__wbindgen_throw, wbg.other"]);
    let many: String = (0..1000).map(|n| format!("(import \"m\" \"f{n}\" (func))")).collect();
    programs.put("many.wasm", &format!("(module {many} (func (export \"_start\")))"));
    programs.refuses("many.wasm", &["m.f0, m.f1", "and perhaps more"]);
    programs.put("memory.wasm", r#"(module (import "env" "memory" (memory 1)) (func (export "_start")))"#);
    programs.refuses("memory.wasm", &["env.memory"]);
    programs.put(
        "other-type.wasm",
        r#"(module (import "wasi_snapshot_preview1" "proc_exit" (func (param i64))) (func (export "_start")))"#,
    );
    programs.refuses("other-type.wasm", &["proc_exit"]);
}

#[test]
fn a_library_a_component_and_an_entry_of_another_type_are_refused_by_name() {
    let programs = Programs::new();
    programs.put("library.wasm", "(module (func (export \"add\")))");
    programs.refuses("library.wasm", &["exports no function `_start`"]);
    programs.put("global.wasm", "(module (global (export \"_start\") i32 (i32.const 0)))");
    programs.refuses("global.wasm", &["exports no function `_start`"]);
    programs.put("typed.wasm", "(module (func (export \"_start\") (param i32)))");
    programs.refuses("typed.wasm", &["`_start` without parameters and results"]);
    programs.0.write("component.wasm", b"\0asm\x0d\0\x01\0");
    programs.refuses("component.wasm", &["component (WASI preview 2)", "wasm32-wasip1"]);
}

#[test]
fn a_start_function_that_loops_is_stopped() {
    let programs = Programs::new();
    programs.put("loops.wasm", &with("(func $s (loop (br 0))) (start $s)"));
    programs.refuses("loops.wasm", &["took longer than 5s"]);
}

#[test]
fn a_start_function_runs_once_and_what_it_leaves_is_there_in_every_call() {
    let programs = Programs::new();
    programs.put(
        "start.wasm",
        &format!(
            r#"(module {WASI}
                (func $s (i32.store (i32.const 0) (i32.add (i32.load (i32.const 0)) (i32.const 5))))
                (start $s)
                (func (export "_start") (call $exit (i32.load (i32.const 0)))))"#
        ),
    );
    for _ in 0..2 {
        assert_eq!(programs.ampoule(&["run", "start.wasm"]).code, Some(5));
    }
}

#[test]
fn a_program_of_100_000_functions_runs() {
    let programs = Programs::new();
    let functions: String = (0..100_000).map(|n| format!("(func (result i32) (i32.const {n}))")).collect();
    programs.put("many.wasm", &with(&functions));
    programs.ampoule(&["run", "many.wasm"]).prints("");
}

#[test]
fn a_program_with_a_body_that_compiles_for_ever_is_stopped_or_done() {
    let programs = Programs::new();
    let body = "(local.set 0 (i32.add (local.get 0) (i32.mul (local.get 0) (local.get 0))))".repeat(200_000);
    programs.put("long.wasm", &with(&format!("(func (param i32) {body})")));
    let ran = programs.ampoule(&["run", "long.wasm"]);
    assert!(ran.code == Some(0) || ran.stderr.contains("compil"), "{ran:?}");
}

#[test]
fn memories_that_are_too_large_or_too_many_are_refused() {
    let programs = Programs::new();
    programs.put("huge.wasm", "(module (memory (export \"memory\") 65536) (func (export \"_start\")))");
    programs.refuses("huge.wasm", &["4294967296 bytes of memory"]);
    programs.put("four.wasm", "(module (memory 1) (memory 1) (memory 1) (memory 1) (func (export \"_start\")))");
    programs.refuses("four.wasm", &["multiple memories"]);
    programs.put("wide.wasm", "(module (memory i64 1) (func (export \"_start\")))");
    programs.refuses("wide.wasm", &["memory64"]);
    programs.put("large.wasm", "(module (memory (export \"memory\") 12288) (func (export \"_start\")))");
    programs.ampoule(&["run", "large.wasm"]).fails(126, &["805306368 bytes of memory", "(--memory)"]);
    programs.ampoule(&["run", "--memory", "1GiB", "large.wasm"]).prints("");
}

#[test]
fn a_start_function_grows_its_memory_to_what_a_program_may_begin_with() {
    let programs = Programs::new();
    let grows = |pages: u32| {
        format!(
            r#"(module {WASI}
                (func $grow (drop (memory.grow (i32.const {pages}))))
                (start $grow)
                (func (export "_start") (call $exit (i32.eq (memory.size) (i32.const 2)))))"#
        )
    };
    programs.put("grows.wasm", &grows(100));
    assert_eq!(programs.ampoule(&["run", "grows.wasm"]).code, Some(0));
    programs.put("grows_too_much.wasm", &grows(16_383));
    assert_eq!(programs.ampoule(&["run", "grows_too_much.wasm"]).code, Some(1));
}

#[test]
fn a_segment_that_does_not_fit_is_the_program_s_fault() {
    let programs = Programs::new();
    programs
        .put("segment.wasm", r#"(module (table 1 funcref) (elem (i32.const 9) func $f) (func $f (export "_start")))"#);
    programs.ampoule(&["run", "segment.wasm"]).fails(134, &["out of bounds"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_compiler_ends_with_the_process_that_started_it() {
    use program::Running;
    let programs = Programs::new();
    let work: String =
        (0..60_000).map(|n| format!("(func (result i32) (i32.add (i32.const {n}) (i32.const 1)))")).collect();
    programs.put("large.wasm", &format!("(module {work} (func (export \"_start\")))"));
    let mut command = programs.0.ampoule(["run", "large.wasm"]);
    let mut running = Running::start(command.env("AMPOULE_HOME", programs.home()));
    let children = format!("/proc/{0}/task/{0}/children", running.0.id());
    let start = Instant::now();
    let compiler = loop {
        let children = fs::read_to_string(&children).unwrap_or_default();
        if let Some(child) = children.split_whitespace().next() {
            break format!("/proc/{child}");
        }
        assert!(start.elapsed() < Duration::from_secs(60) && running.0.try_wait().unwrap().is_none());
    };
    running.0.kill().unwrap();
    let killed = Instant::now();
    while std::path::Path::new(&compiler).exists() {
        assert!(killed.elapsed() < Duration::from_secs(5), "{compiler} goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Opens `f` in the last folder it has with the rights and flags given, and ends with the error.
fn opener(flags: u32, rights: u64) -> support::Runtime {
    support::module(&format!(
        r#"(memory (export "memory") 1)
        (data (i32.const 0) "f")
        (func (export "_start") (local $fd i32)
            (local.set $fd (i32.const 3))
            (loop $next
                (if (i32.eqz (call $prestat (local.get $fd) (i32.const 64)))
                    (then
                        (local.set $fd (i32.add (local.get $fd) (i32.const 1)))
                        (br $next))))
            (call $exit (call $path_open (i32.sub (local.get $fd) (i32.const 1)) (i32.const 0) (i32.const 0)
                (i32.const 1) (i32.const {flags}) (i64.const {rights}) (i64.const 0) (i32.const 0) (i32.const 128))))"#
    ))
}

const OPEN_CREATE: u32 = 1;
const OPEN_TRUNCATE: u32 = 8;
const RIGHT_READ: u64 = 2;
const RIGHT_WRITE: u64 = 64;

#[tokio::test]
async fn a_folder_of_the_host_is_seen_read_only_unless_it_may_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    let run = async |flags, rights, access| {
        fs::write(&file, "content").unwrap();
        let call = Call::new("").folder(folder.path(), "/data", access);
        let outcome = opener(flags, rights).try_run(call).await.unwrap();
        (outcome.status, fs::read_to_string(&file).unwrap())
    };
    let kept = |code| (Status::Exited(code), "content".to_owned());
    const NOT_PERMITTED: u8 = 63;
    assert_eq!(run(0, RIGHT_READ, Access::ReadOnly).await, kept(0));
    assert_eq!(run(OPEN_TRUNCATE, RIGHT_WRITE, Access::ReadOnly).await, kept(NOT_PERMITTED));
    assert_eq!(run(OPEN_CREATE, RIGHT_WRITE, Access::ReadOnly).await, kept(NOT_PERMITTED));
    let emptied = (Status::Exited(0), String::new());
    assert_eq!(run(OPEN_TRUNCATE, RIGHT_WRITE, Access::ReadWrite).await, emptied);
}

#[tokio::test]
async fn a_folder_that_is_not_there_or_has_an_absolute_name_for_a_script_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = Call::new("").folder(folder.path().join("missing"), "/data", Access::ReadOnly);
    let error = opener(0, RIGHT_READ).try_run(missing).await.unwrap_err();
    assert!(matches!(&error, ExecuteError::Refused(CallError::Folder { .. })), "{error}");
    // Under a relative name it would be given: see `tests/task/folders.rs`.
    let script = Call::new("").folder(folder.path(), "/data", Access::ReadOnly);
    let error = support::python().try_run(script).await.unwrap_err();
    assert!(matches!(&error, ExecuteError::Refused(CallError::FolderForScript { .. })), "{error}");
}

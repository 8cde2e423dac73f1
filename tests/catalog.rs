//! Runtimes that users describe themselves: added with all that belongs to them, or not at all.

#[allow(dead_code, reason = "each test uses a part of it")]
mod program;

use std::fs;
use std::path::PathBuf;

use program::{Place, Ran};

/// Writes its script, which is its first argument and lies in the working directory, the last one it is given.
const ECHO: &str = r#"(module
    (import "wasi_snapshot_preview1" "fd_prestat_get" (func $prestat (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_open"
        (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (memory (export "memory") 1)
    (func $check (param i32) (if (local.get 0) (then (call $exit (local.get 0)))))
    (func (export "_start") (local $folder i32) (local $length i32)
        (local.set $folder (i32.const 3))
        (loop $next
            (if (i32.eqz (call $prestat (local.get $folder) (i32.const 64)))
                (then
                    (local.set $folder (i32.add (local.get $folder) (i32.const 1)))
                    (br $next))))
        (local.set $folder (i32.sub (local.get $folder) (i32.const 1)))
        (call $check (call $sizes (i32.const 0) (i32.const 4)))
        (call $check (call $args (i32.const 1024) (i32.const 2048)))
        (loop $count
            (if (i32.load8_u (i32.add (i32.const 2048) (local.get $length)))
                (then
                    (local.set $length (i32.add (local.get $length) (i32.const 1)))
                    (br $count))))
        (call $check (call $open (local.get $folder) (i32.const 0) (i32.const 2048) (local.get $length)
            (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 128)))
        (i32.store (i32.const 0) (i32.const 4096))
        (i32.store (i32.const 4) (i32.const 4096))
        (call $check (call $read (i32.load (i32.const 128)) (i32.const 0) (i32.const 1) (i32.const 8)))
        (i32.store (i32.const 4) (i32.load (i32.const 8)))
        (call $check (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#;

const MANIFEST: &str = r#"
name = "echo"
version = "1.2"
description = "Writes its script"
extensions = ["echo"]
driver = "command"
module = "bin/echo.wasm"
source.folder = "."
[images.echo]
"#;

/// A place with a home of its own.
struct Added(Place);

impl Added {
    fn new() -> Added {
        let place = Place::new();
        place.write("recipe/runtime.toml", MANIFEST);
        place.write("recipe/bin/echo.wasm", wat::parse_str(ECHO).unwrap());
        Added(place)
    }

    fn home(&self) -> PathBuf {
        self.0.path("home")
    }

    #[track_caller]
    fn ampoule(&self, words: &[&str]) -> Ran {
        self.0.end(self.0.ampoule(words).env("AMPOULE_HOME", self.home()))
    }

    #[track_caller]
    fn adds(&self, path: &str) {
        let ran = self.ampoule(&["runtime", "add", path]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    }

    /// The folder `recipe` is refused with these words, and nothing of it is kept.
    #[track_caller]
    fn refuses(&self, said: &[&str]) {
        self.ampoule(&["runtime", "add", "recipe"]).fails(125, said);
        let list = self.ampoule(&["runtime", "list"]).stdout;
        assert!(!list.contains("echo"), "{list}");
        let left: Vec<_> = fs::read_dir(self.home().join("added")).into_iter().flatten().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    /// The manifest with a change.
    fn changed(&self, from: &str, to: &str) -> &Added {
        assert!(MANIFEST.contains(from));
        self.0.write("recipe/runtime.toml", MANIFEST.replace(from, to));
        self
    }
}

#[test]
fn an_added_runtime_is_listed_and_runs_scripts_by_their_extension() {
    let added = Added::new();
    added.adds("recipe");
    let list = added.ampoule(&["runtime", "list"]).stdout;
    let row = list.lines().find(|line| line.starts_with("echo 1.2")).unwrap();
    for part in ["ready", "extensions: echo", "images: echo", "digest: "] {
        assert!(row.contains(part), "no {part:?} in {row}");
    }
    added.0.write("script.echo", "what is written\n");
    added.ampoule(&["run", "--no-install", "script.echo"]).prints("what is written\n");
}

/// Writes its arguments, each with a NUL behind it.
const ARGUMENTS: &str = r#"(module
    (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "args_get" (func $args (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "_start")
        (drop (call $sizes (i32.const 0) (i32.const 4)))
        (drop (call $args (i32.const 1024) (i32.const 2048)))
        (i32.store (i32.const 0) (i32.const 2048))
        (drop (call $write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 8)))))"#;

#[test]
fn a_command_gets_its_script_where_its_manifest_says() {
    let added = Added::new();
    added.0.write("recipe/bin/echo.wasm", wat::parse_str(ARGUMENTS).unwrap());
    added.0.write("script.echo", "");
    for (arguments, printed) in [
        ("", "script.echo\0one\0two words\0"),
        ("arguments = ['echo', '-q', '{script}']\n", "echo\0-q\0script.echo\0one\0two words\0"),
        ("arguments = ['echo', '{script}', '--']\n", "echo\0script.echo\0--\0one\0two words\0"),
    ] {
        added.changed("module =", &format!("{arguments}module =")).adds("recipe");
        added.ampoule(&["run", "script.echo", "--", "one", "two words"]).prints(printed);
        added.ampoule(&["runtime", "remove", "echo"]).prints("");
    }
    added.changed("module =", "arguments = ['echo']\nmodule =").refuses(&["`arguments`", "{script}"]);
}

#[test]
fn a_manifest_can_be_named_itself() {
    let added = Added::new();
    added.adds("recipe/runtime.toml");
}

#[test]
fn what_was_added_stays_as_it_was_when_its_folder_changes() {
    let added = Added::new();
    added.adds("recipe");
    fs::remove_dir_all(added.0.path("recipe")).unwrap();
    added.ampoule(&["runtime", "verify", "echo"]).prints("echo: ready\n");
    // Made anew from the copy.
    fs::remove_dir_all(added.home().join("runtimes/echo")).unwrap();
    added.0.write("script.echo", "still\n");
    assert_eq!(added.ampoule(&["run", "script.echo"]).stdout, "still\n");
}

#[test]
fn an_added_runtime_can_be_removed_and_added_again() {
    let added = Added::new();
    for _ in 0..2 {
        added.adds("recipe");
        added.ampoule(&["runtime", "add", "recipe"]).fails(125, &["`echo` is taken by the runtime `echo`"]);
        added.ampoule(&["runtime", "remove", "echo"]).prints("");
        added.0.write("script.echo", "");
        added.ampoule(&["run", "script.echo"]).fails(127, &["no runtime runs files that end in `.echo`"]);
    }
}

#[test]
fn a_damaged_copy_is_left_out_with_a_warning_and_can_be_removed() {
    let added = Added::new();
    added.adds("recipe");
    fs::write(added.home().join("added/echo/runtime.toml"), "name = 1").unwrap();
    let ran = added.ampoule(&["runtime", "list"]);
    assert!(ran.code == Some(0) && ran.stderr.contains("`echo`, which was added, is left out"), "{ran:?}");
    added.ampoule(&["runtime", "remove", "echo"]);
    assert_eq!(added.ampoule(&["runtime", "list"]).stderr, "");
}

#[test]
fn a_manifest_with_an_unknown_key_or_no_toml_is_refused_with_its_place() {
    let added = Added::new();
    added.changed("version", "versoin").refuses(&["versoin", "runtime.toml"]);
    added.changed("[images.echo]", "[images.echo").refuses(&["runtime.toml"]);
    fs::remove_file(added.0.path("recipe/runtime.toml")).unwrap();
    added.refuses(&["recipe/runtime.toml", "No such file"]);
}

#[test]
fn a_name_an_image_or_an_extension_that_is_taken_is_refused() {
    let added = Added::new();
    added
        .changed("[images.echo]", "[images.echo]\n[images.python-data]")
        .refuses(&["`python-data` is taken", "`python`"]);
    added.changed("[\"echo\"]", "[\"echo\", \"sh\"]").refuses(&["`sh` is taken by the runtime `sh`"]);
    let named = MANIFEST.replace("\"echo\"\nversion", "\"python\"\nversion").replace("images.echo", "images.python");
    added.0.write("recipe/runtime.toml", named);
    added.refuses(&["`python` is taken by the runtime `python`"]);
}

#[test]
fn a_path_that_climbs_out_is_refused() {
    let added = Added::new();
    added.changed("bin/echo.wasm", "../echo.wasm").refuses(&["`module` is `../echo.wasm`"]);
    added.changed("folder = \".\"", "folder = \"..\"").refuses(&["`source.folder` is `..`"]);
    added
        .changed("[images.echo]", "[images.echo]\nwarm-up = [\"/etc/passwd\"]")
        .refuses(&["`warm-up` is `/etc/passwd`"]);
    let extract = "[[extract]]\nfrom = \"../../secret\"\nto = \"x\"\n[images.echo]";
    added.changed("[images.echo]", extract).refuses(&["`extract.from` is `../../secret`"]);
    let mount = "[[mounts]]\nfolder = \"lib\"\nguest = \"/tmp\"\n[images.echo]";
    added.changed("[images.echo]", mount).refuses(&["`mounts.guest` is `/tmp`"]);
}

#[test]
fn a_module_that_is_missing_no_module_or_not_to_be_run_is_refused() {
    let added = Added::new();
    fs::remove_file(added.0.path("recipe/bin/echo.wasm")).unwrap();
    added.refuses(&["bin/echo.wasm", "No such file"]);
    added.0.write("recipe/bin/echo.wasm", "text");
    added.refuses(&["bin/echo.wasm", "not a valid WebAssembly module"]);
    added.0.write("recipe/bin/echo.wasm", wat::parse_str("(module (memory (export \"memory\") 1))").unwrap());
    added.refuses(&["does not export `_start`"]);
    added.0.write(
        "recipe/bin/echo.wasm",
        wat::parse_str("(module (import \"env\" \"f\" (func)) (func (export \"_start\")))").unwrap(),
    );
    added.refuses(&["env", "f"]);
}

#[test]
fn a_warm_up_that_fails_is_refused_with_what_it_wrote() {
    let added = Added::new();
    added.changed("[images.echo]", "[images.echo]\nwarm-up = [\"warm.echo\"]");
    added.0.write("recipe/warm.echo", "");
    added.refuses(&["commands has no warm-up"]);
    // A reactor whose warm-up ends with 3.
    let manifest = MANIFEST.replace("\"command\"", "\"turn\"") + "warm-up = [\"warm.echo\"]\n";
    added.0.write("recipe/runtime.toml", manifest);
    let reactor = |body: &str| {
        format!(
            "(module (memory (export \"memory\") 1) (func (export \"host_alloc\") (param i32) (result i32) i32.const 64)
                (func (export \"turn\") (param i32 i32) (result i32) {body}))"
        )
    };
    added.0.write("recipe/bin/echo.wasm", wat::parse_str(reactor("i32.const 3")).unwrap());
    added.refuses(&["warm-up file 1 of 1 ended with status 3"]);
    added.0.write("recipe/bin/echo.wasm", wat::parse_str(reactor("unreachable")).unwrap());
    added.refuses(&["unreachable"]);
}

#[cfg(unix)]
#[test]
fn a_manifest_or_a_module_that_is_no_regular_file_is_refused() {
    let added = Added::new();
    for file in ["recipe/bin/echo.wasm", "recipe/runtime.toml"] {
        fs::remove_file(added.0.path(file)).unwrap();
        let made = std::process::Command::new("mkfifo").arg(added.0.path(file)).status().unwrap();
        assert!(made.success());
        added.refuses(&["no regular file"]);
    }
}

//! What several tests share: Python, and modules so small that each of their steps is known.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::fs;

use ampoule::{
    Call, CancellationToken, Catalog, ExecuteError, Home, InstallFrom, Installer, Limits, Outcome, Recipe, WasmExecutor,
};
use tempfile::TempDir;

/// An executor of one runtime, and the folder that it and its temporary directories lie in.
pub struct Runtime {
    pub executor: WasmExecutor,
    name: &'static str,
    pub scratch: TempDir,
    _home: Option<TempDir>,
}

/// The installed Python.
pub fn python() -> Runtime {
    Runtime::new(Home::from_env().unwrap(), "python", None)
}

/// Python with its libraries for data imported.
pub fn python_data() -> Runtime {
    Runtime::new(Home::from_env().unwrap(), "python-data", None)
}

/// The installed shell.
pub fn shell() -> Runtime {
    Runtime::new(Home::from_env().unwrap(), "sh", None)
}

/// A runtime whose program is this: the body of a WebAssembly module that imports [`WASI`] and exports `_start`. What
/// it does is reported by its exit code.
pub fn module(body: &str) -> Runtime {
    const NAME: &str = "tiny";
    let folder = tempfile::tempdir().unwrap();
    let manifest = format!(
        "name = '{NAME}'\nversion = '1'\ndriver = 'command'\nmodule = 'm.wasm'\nsource.folder = '.'\n[images.{NAME}]\n"
    );
    fs::write(folder.path().join("runtime.toml"), manifest).unwrap();
    fs::write(folder.path().join("m.wasm"), wat::parse_str(format!("(module {WASI} {body})")).unwrap()).unwrap();
    let home = Home::at(folder.path().join("home"));
    let catalog = Catalog::built_in().with(Recipe::from_folder(folder.path()).unwrap()).unwrap();
    Installer::new(home.clone(), catalog).install(NAME, &InstallFrom::Manifest, &mut |_| {}).unwrap();
    Runtime::new(home, NAME, Some(folder))
}

impl Runtime {
    fn new(home: Home, name: &'static str, folder: Option<TempDir>) -> Runtime {
        let scratch = tempfile::tempdir().unwrap();
        let builder = WasmExecutor::builder(home).allow(name, name).scratch_folder(scratch.path());
        Runtime { executor: builder.build().unwrap(), name, scratch, _home: folder }
    }

    pub async fn call(&self, call: Call, cancel: &CancellationToken) -> Result<Outcome, ExecuteError> {
        self.executor.call(self.name, call, cancel).await
    }

    pub async fn try_run(&self, call: Call) -> Result<Outcome, ExecuteError> {
        self.call(call, &CancellationToken::new()).await
    }

    /// Runs a script with the default limits but for what `change` does to them.
    pub async fn run(&self, source: &str, change: impl FnOnce(&mut Limits)) -> Outcome {
        self.try_run(limited(source, change)).await.unwrap()
    }

    /// The error of a call that must be refused.
    pub async fn refusal(&self, source: &str, change: impl FnOnce(&mut Limits)) -> ExecuteError {
        self.try_run(limited(source, change)).await.expect_err("the call ran")
    }
}

/// A call with the default limits but for what `change` does to them.
pub fn limited(source: &str, change: impl FnOnce(&mut Limits)) -> Call {
    let mut limits = Limits::default();
    change(&mut limits);
    Call::new(source).limits(limits)
}

/// The imports of a [`module`], and two functions: `$exit_if`, which ends the program with its argument unless that is
/// zero, and `$open`, which opens or makes the file whose name, of one byte, lies at an address, and gives the number
/// that the file got or ends the program with the error. 1008 is its scratch space.
pub const WASI: &str = r#"
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_allocate" (func $fd_allocate (param i32 i64 i64) (result i32)))
    (import "wasi_snapshot_preview1" "fd_renumber" (func $fd_renumber (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_prestat_get" (func $prestat (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "poll_oneoff" (func $poll (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_pread" (func $fd_pread (param i32 i32 i32 i64 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_pwrite" (func $fd_pwrite (param i32 i32 i32 i64 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_sync" (func $fd_sync (param i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_readdir" (func $fd_readdir (param i32 i32 i32 i64 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_filestat_get" (func $fd_filestat_get (param i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "fd_filestat_set_size" (func $set_size (param i32 i64) (result i32)))
    (import "wasi_snapshot_preview1" "path_filestat_get" (func $stat (param i32 i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_filestat_set_times"
        (func $set_times (param i32 i32 i32 i32 i64 i64 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_create_directory" (func $mkdir (param i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_remove_directory" (func $rmdir (param i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_unlink_file" (func $unlink (param i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_readlink" (func $readlink (param i32 i32 i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_rename" (func $rename (param i32 i32 i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_link" (func $link (param i32 i32 i32 i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_symlink" (func $symlink (param i32 i32 i32 i32 i32) (result i32)))
    (import "host" "call" (func $host_call (param i32 i32 i32 i32) (result i32)))
    (import "wasi_snapshot_preview1" "path_open"
        (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
    (func $exit_if (param i32) (if (local.get 0) (then (call $exit (local.get 0)))))
    (func $open (param i32) (result i32)
        (call $exit_if (call $path_open (i32.const 3) (i32.const 0) (local.get 0) (i32.const 1)
            (i32.const 1) (i64.const 0x1fffffff) (i64.const 0x1fffffff) (i32.const 0) (i32.const 1008)))
        (i32.load (i32.const 1008)))
"#;

//! Provides the module of the runtime `sh`, which is ours: prebuilt where there is one, else built from its sources.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The guest crate, and the module that a build of it leaves.
const GUEST: &str = "runtimes/sh/guest";
const MODULE: &str = "ampoule_sh.wasm";
const TARGET: &str = "wasm32-wasip1";

/// Where a published package carries the module.
const PREBUILT: &str = "runtimes/sh/ampoule_sh.wasm";

/// Names a module to take instead. Empty or unset: none.
const VARIABLE: &str = "AMPOULE_SH_WASM";

fn main() {
    println!("cargo:rerun-if-env-changed={VARIABLE}");
    println!("cargo:rerun-if-changed={PREBUILT}");
    println!("cargo:rerun-if-changed={GUEST}");
    let named = env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let module = match named {
        Some(path) => path,
        None if Path::new(PREBUILT).is_file() => PREBUILT.into(),
        None => build(),
    };
    println!("cargo:rerun-if-changed={}", module.display());
    let place = out_dir().join(MODULE);
    if let Err(error) = fs::copy(&module, &place) {
        stop(&format!("`{}` cannot be copied to `{}`: {error}", module.display(), place.display()));
    }
}

/// Builds the guest in a folder beside the host's own builds, one for all of the host's targets and profiles.
fn build() -> PathBuf {
    let target_dir = target_dir().join("sh-guest");
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--release", "--locked", "--target", TARGET]);
    command.arg("--manifest-path").arg(Path::new(GUEST).join("Cargo.toml")).arg("--target-dir").arg(&target_dir);
    // What was set for the host's build is not meant for the guest's.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_") && text != "CARGO_HOME" || text == "RUSTFLAGS" || text.starts_with("RUSTC") {
            command.env_remove(&name);
        }
    }
    match command.status() {
        Ok(status) if status.success() => target_dir.join(TARGET).join("release").join(MODULE),
        Ok(status) => stop(&format!(
            "building `{GUEST}` for {TARGET} failed ({status}). If the target is missing: rustup target add {TARGET}. \
             Or name a module that is built already with {VARIABLE}."
        )),
        Err(error) => stop(&format!("cargo cannot be started to build `{GUEST}`: {error}")),
    }
}

fn out_dir() -> PathBuf {
    env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_else(|| stop("OUT_DIR is not set: this is for cargo to run"))
}

/// The host's target folder: the outermost that is marked as a cache above `OUT_DIR`. A build for another target has a
/// marked folder of its own inside it.
fn target_dir() -> PathBuf {
    let out_dir = out_dir();
    let marked = out_dir.ancestors().filter(|folder| folder.join("CACHEDIR.TAG").is_file()).last();
    marked.map_or_else(|| out_dir.clone(), Path::to_owned)
}

fn stop(problem: &str) -> ! {
    println!("cargo::error={problem}");
    std::process::exit(1)
}

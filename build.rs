//! Provides the module of the runtime `sh`, which is ours: prebuilt where there is one, else built from its sources.

#[path = "build/cargo.rs"]
mod cargo;
#[path = "build/guest.rs"]
mod guest;
#[path = "build/mends.rs"]
mod mends;
#[path = "build/tree.rs"]
mod tree;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use guest::MODULE;

/// Holds the guest, the mends and, in a published package, the module.
const RUNTIME: &str = "runtimes/sh";

/// Where a published package carries the module.
const PREBUILT: &str = "runtimes/sh/ampoule_sh.wasm";

/// Names a module to take instead. Empty or unset: none.
const VARIABLE: &str = "AMPOULE_SH_WASM";

fn main() {
    println!("cargo:rerun-if-env-changed={VARIABLE}");
    // Folders, which are there: a file that is not, such as the prebuilt module, would count as changed every time.
    for path in [RUNTIME, "build", "build.rs"] {
        println!("cargo:rerun-if-changed={path}");
    }
    let named = env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    let module = match named {
        Some(path) => path,
        None if Path::new(PREBUILT).is_file() => PREBUILT.into(),
        // A folder beside the host's own builds, one for all of the host's targets and profiles.
        None => guest::build(&target_dir().join("sh-guest"))
            .unwrap_or_else(|problem| stop(&format!("{problem}. {VARIABLE} can name a module that is built already."))),
    };
    println!("cargo:rerun-if-changed={}", module.display());
    let place = out_dir().join(MODULE);
    if let Err(error) = fs::copy(&module, &place) {
        stop(&format!("`{}` cannot be copied to `{}`: {error}", module.display(), place.display()));
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
    for line in problem.lines() {
        println!("cargo::error={line}");
    }
    std::process::exit(1)
}

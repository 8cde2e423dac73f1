//! Provides the modules of the runtimes that are ours: prebuilt where there are some, else built from their sources.

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

use guest::{GUESTS, Guest};

fn main() {
    for path in ["build", "build.rs"] {
        println!("cargo:rerun-if-changed={path}");
    }
    for guest in GUESTS {
        provide(&guest);
    }
}

fn provide(guest: &Guest) {
    let Guest { runtime, module, variable, .. } = guest;
    println!("cargo:rerun-if-env-changed={variable}");
    // The folder, which is there: a file that is not, such as the prebuilt module, would count as changed every time.
    println!("cargo:rerun-if-changed={runtime}");
    // Where a published package carries the module.
    let prebuilt = Path::new(runtime).join(module);
    // Empty or unset: none.
    let named = env::var_os(variable).filter(|path| !path.is_empty()).map(PathBuf::from);
    let found = match named {
        Some(path) => path,
        None if prebuilt.is_file() => prebuilt,
        // A folder beside the host's own builds, one for all of the host's targets and profiles.
        None => guest
            .build(&target_dir())
            .unwrap_or_else(|problem| stop(&format!("{problem}. {variable} can name a module that is built already."))),
    };
    println!("cargo:rerun-if-changed={}", found.display());
    let place = out_dir().join(module);
    if let Err(error) = fs::copy(&found, &place) {
        stop(&format!("`{}` cannot be copied to `{}`: {error}", found.display(), place.display()));
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

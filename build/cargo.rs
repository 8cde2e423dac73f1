//! The cargo that builds the host, for the guest.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

/// The part of what `cargo metadata` prints that says where packages are.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
}

/// A cargo that does not know what was set for the host's build: that is not meant for the guest's.
pub fn command() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_") && text != "CARGO_HOME" || text == "RUSTFLAGS" || text.starts_with("RUSTC") {
            command.env_remove(&name);
        }
    }
    command
}

/// Where the source of a dependency is. Cargo fetches it if need be, and compares it with the checksum in `Cargo.lock`.
pub fn source_of(name: &str, manifest: &Path, target: &str) -> Result<PathBuf, String> {
    let output = command()
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", target, "--manifest-path"])
        .arg(manifest)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("`cargo metadata` of `{}` failed ({})", manifest.display(), output.status));
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("what `cargo metadata` printed cannot be read: {error}"))?;
    let package = metadata.packages.into_iter().find(|package| package.name == name);
    let folder = package.and_then(|package| package.manifest_path.parent().map(Path::to_owned));
    folder.ok_or_else(|| format!("`{}` has no dependency `{name}`", manifest.display()))
}

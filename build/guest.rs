//! Builds the guest crate of the runtime `sh`, with its shell mended.
//!
//! Both are copied into a folder of the build, because the checkout is not to be written to: there the guest's manifest
//! takes the mended shell, and the rest of its lock file holds as it is.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::cargo;
use crate::mends::{Mend, Sources};
use crate::tree::{self, Tree};

const GUEST: &str = "runtimes/sh/guest";
const MENDS: &str = "runtimes/sh/mends";

/// What a build leaves.
pub const MODULE: &str = "ampoule_sh.wasm";

pub const TARGET: &str = "wasm32-wasip1";

/// The crate that is mended.
const SHELL: &str = "bashkit";

/// Builds in `place`, and returns the path of the module.
pub fn build(place: &Path) -> Result<PathBuf, String> {
    // Builds of the host in several profiles share the place.
    let _lock = lock(place)?;
    let manifest = Path::new(GUEST).join("Cargo.toml");
    let shell = mended(tree::read(&cargo::source_of(SHELL, &manifest, TARGET)?)?)?;
    let guest = patched(tree::read(Path::new(GUEST))?)?;
    let sources = place.join("sources");
    tree::write(&sources.join(SHELL), &shell)?;
    tree::write(&sources.join("guest"), &guest)?;

    let mut command = cargo::command();
    command.args(["build", "--release", "--locked", "--target", TARGET]);
    command.arg("--manifest-path").arg(sources.join("guest/Cargo.toml")).arg("--target-dir").arg(place);
    match command.status() {
        Ok(status) if status.success() => Ok(place.join(TARGET).join("release").join(MODULE)),
        Ok(status) => Err(format!(
            "building `{GUEST}` for {TARGET} failed ({status}). If the target is missing: rustup target add {TARGET}"
        )),
        Err(error) => Err(format!("cargo cannot be started to build `{GUEST}`: {error}")),
    }
}

/// Held until the file is closed.
fn lock(place: &Path) -> Result<File, String> {
    let path = place.join("sources.lock");
    let locked = fs::create_dir_all(place).and_then(|()| File::create(&path)).and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    locked.map_err(|error| format!("`{}` cannot be locked: {error}", path.display()))
}

/// The shell's source with all mends applied, in the order of their names.
pub fn mended(mut shell: Tree) -> Result<Tree, String> {
    let text = |content: Vec<u8>| String::from_utf8(content).ok();
    let mut sources: Sources =
        shell.iter().filter_map(|(path, content)| Some((path.clone(), text(content.clone())?))).collect();
    let mends = tree::read(Path::new(MENDS))?;
    let beside = |path: &Path| {
        let content = mends.get(path).cloned().and_then(text);
        content.ok_or_else(|| format!("there is no text file `{}` beside it", path.display()))
    };
    for path in mends.keys().filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let applied = beside(path).and_then(|text| Mend::parse(&text)?.apply(&mut sources, beside));
        applied.map_err(|problem| format!("the mend `{MENDS}/{}` does not fit {SHELL}: {problem}", path.display()))?;
    }
    shell.extend(sources.into_iter().map(|(path, text)| (path, text.into_bytes())));
    Ok(shell)
}

/// The guest's source, to be built with the mended shell beside it.
fn patched(mut guest: Tree) -> Result<Tree, String> {
    append(&mut guest, "Cargo.toml", &format!("\n[patch.crates-io]\n{SHELL} = {{ path = \"../{SHELL}\" }}\n"))?;
    let lock = guest.get_mut(Path::new("Cargo.lock")).ok_or_else(|| format!("`{GUEST}` has no `Cargo.lock`"))?;
    *lock = without_source(&String::from_utf8_lossy(lock), SHELL).into_bytes();
    Ok(guest)
}

fn append(tree: &mut Tree, path: &str, text: &str) -> Result<(), String> {
    let file = tree.get_mut(Path::new(path)).ok_or_else(|| format!("`{GUEST}` has no `{path}`"))?;
    file.extend_from_slice(text.as_bytes());
    Ok(())
}

/// A lock file in which a package is one on the disk: it has neither a registry nor a checksum. So the lock holds for
/// all other packages.
fn without_source(lock: &str, package: &str) -> String {
    let name = format!("\nname = \"{package}\"\n");
    let blocks = lock.split("[[package]]").map(|block| {
        if !block.starts_with(&name) {
            return block.to_owned();
        }
        let kept = |line: &&str| !line.starts_with("source = ") && !line.starts_with("checksum = ");
        block.split_inclusive('\n').filter(kept).collect()
    });
    blocks.collect::<Vec<_>>().join("[[package]]")
}

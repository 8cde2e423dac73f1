//! Builds the guest crates, one with a crate of its dependencies mended.
//!
//! They are copied into a folder of the build, because the checkout is not to be written to: there the guest's manifest
//! takes the mended crate, and the rest of its lock file holds as it is.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::cargo;
use crate::mends::{Mend, Sources};
use crate::tree::{self, Tree};

const TARGET: &str = "wasm32-wasip1";

/// A runtime whose module is built from our sources, in the folder `guest` of the runtime's.
pub struct Guest {
    /// The runtime's folder.
    pub runtime: &'static str,
    /// The file that a build leaves.
    pub module: &'static str,
    /// An environment variable that names a module to take instead.
    pub variable: &'static str,
    /// A crate that is mended as the folder `mends` of the runtime's says.
    mended: Option<&'static str>,
}

pub const GUESTS: [Guest; 2] = [
    Guest { runtime: "runtimes/sh", module: "ampoule_sh.wasm", variable: "AMPOULE_SH_WASM", mended: Some("bashkit") },
    Guest {
        runtime: "runtimes/typescript",
        module: "ampoule_typescript.wasm",
        variable: "AMPOULE_TYPESCRIPT_WASM",
        mended: None,
    },
];

impl Guest {
    /// Builds in a folder of its own in the host's target folder, and returns the path of the module.
    pub fn build(&self, target: &Path) -> Result<PathBuf, String> {
        let place = target.join(self.runtime.replace("runtimes/", "") + "-guest");
        // Builds of the host in several profiles share the place.
        let _lock = lock(&place)?;
        let manifest = self.folder().join("Cargo.toml");
        let sources = place.join("sources");
        let mut guest = tree::read(&self.folder())?;
        if let Some(name) = self.mended {
            let mended = self.mend(name, tree::read(&cargo::source_of(name, &manifest, TARGET)?)?)?;
            self.patch(&mut guest, name)?;
            tree::write(&sources.join(name), &mended)?;
        }
        tree::write(&sources.join("guest"), &guest)?;

        let mut command = cargo::command();
        command.args(["build", "--release", "--locked", "--target", TARGET]);
        command.arg("--manifest-path").arg(sources.join("guest/Cargo.toml")).arg("--target-dir").arg(&place);
        let folder = self.folder();
        let folder = folder.display();
        match command.status() {
            Ok(status) if status.success() => Ok(place.join(TARGET).join("release").join(self.module)),
            Ok(status) => Err(format!(
                "building `{folder}` for {TARGET} failed ({status}). If the target is missing: rustup target add {TARGET}"
            )),
            Err(error) => Err(format!("cargo cannot be started to build `{folder}`: {error}")),
        }
    }

    fn folder(&self) -> PathBuf {
        Path::new(self.runtime).join("guest")
    }

    /// The crate's source with all mends applied, in the order of their names.
    pub fn mend(&self, name: &str, mut tree: Tree) -> Result<Tree, String> {
        let folder = Path::new(self.runtime).join("mends");
        let text = |content: Vec<u8>| String::from_utf8(content).ok();
        let mut sources: Sources =
            tree.iter().filter_map(|(path, content)| Some((path.clone(), text(content.clone())?))).collect();
        let mends = tree::read(&folder)?;
        let beside = |path: &Path| {
            let content = mends.get(path).cloned().and_then(text);
            content.ok_or_else(|| format!("there is no text file `{}` beside it", path.display()))
        };
        for path in mends.keys().filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
            let applied = beside(path).and_then(|text| Mend::parse(&text)?.apply(&mut sources, beside));
            let mend = folder.join(path);
            applied.map_err(|problem| format!("the mend `{}` does not fit {name}: {problem}", mend.display()))?;
        }
        tree.extend(sources.into_iter().map(|(path, text)| (path, text.into_bytes())));
        Ok(tree)
    }

    /// Makes the guest take the mended crate, which lies beside it.
    fn patch(&self, guest: &mut Tree, name: &str) -> Result<(), String> {
        let mut file = |path: &str| {
            guest.remove(Path::new(path)).ok_or_else(|| format!("`{}` has no `{path}`", self.folder().display()))
        };
        let (mut manifest, lock) = (file("Cargo.toml")?, file("Cargo.lock")?);
        manifest.extend_from_slice(format!("\n[patch.crates-io]\n{name} = {{ path = \"../{name}\" }}\n").as_bytes());
        let lock = without_source(&String::from_utf8_lossy(&lock), name).into_bytes();
        guest.extend([("Cargo.toml".into(), manifest), ("Cargo.lock".into(), lock)]);
        Ok(())
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

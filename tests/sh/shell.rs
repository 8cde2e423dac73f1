//! The shell, installed from a folder as anybody's runtime is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ampoule::{Call, CancellationToken, Catalog, Home, InstallFrom, Installer, Outcome, Recipe, WasmExecutor};

/// The shell, installed from a folder; none where its module is not there.
pub static SHELL: LazyLock<Option<WasmExecutor>> = LazyLock::new(|| {
    let Some(module) = std::env::var_os("AMPOULE_SH_WASM") else {
        eprintln!("skipped: AMPOULE_SH_WASM does not name the shell's module");
        return None;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sh");
    fs::create_dir_all(folder.join("source")).unwrap();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtimes/sh");
    for file in ["runtime.toml", "warm.sh"] {
        fs::copy(sources.join(file), folder.join("source").join(file)).unwrap();
    }
    fs::copy(PathBuf::from(module), folder.join("source/ampoule_sh.wasm")).unwrap();
    let home = Home::at(folder.join("home"));
    let catalog = Catalog::built_in().with(Recipe::from_folder(&folder.join("source")).unwrap()).unwrap();
    Installer::new(home.clone(), catalog).install("sh", &InstallFrom::Manifest, &mut |_| {}).unwrap();
    Some(WasmExecutor::builder(home).allow("sh", "sh").build().unwrap())
});

pub async fn run(shell: &WasmExecutor, call: Call) -> Outcome {
    shell.call("sh", call, &CancellationToken::new()).await.unwrap()
}

//! The preview-1 programs of the public WASI test suite, in this sandbox.
//!
//! Needs a folder of that suite's programs, `.wasm` files with `.json` files beside them, searched with the folders in
//! it; without one the test passes and says that it was skipped:
//!
//! ```sh
//! WASI_TESTSUITE=wasi-testsuite/tests cargo test --release --all-features --test wasi_testsuite -- --nocapture
//! ```
//!
//! A program whose name is in `WASI_TESTSUITE_SKIP`, separated by commas, is left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ampoule::{Access, Call, CancellationToken, Catalog, Compiler, Home, Installer, Status, WasmExecutor};
use serde::Deserialize;

/// What a test's `.json` file says.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Expected {
    args: Vec<String>,
    dirs: Vec<String>,
    env: BTreeMap<String, String>,
    exit_code: u8,
    stdout: Option<String>,
    stderr: Option<String>,
}

/// The programs below a folder, sorted. Those for later versions of WASI are another suite.
fn programs(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.ends_with("wasip2") && !name.ends_with("wasip3") {
            programs(&path, found);
        } else if name.ends_with(".wasm") {
            found.push(path);
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// What is wrong, if anything.
async fn failure(home: &Home, program: &Path) -> Option<String> {
    let expected: Expected = match fs::read_to_string(program.with_extension("json")) {
        Ok(text) => serde_json::from_str(&text).unwrap(),
        Err(_) => Expected::default(),
    };
    let mut installer = Installer::new(home.clone(), Catalog::built_in());
    let image = match installer.program(&fs::read(program).unwrap(), &Compiler::InProcess, &mut |_| {}) {
        Ok(image) => image,
        Err(error) => return Some(error.to_string()),
    };
    let executor = WasmExecutor::builder(home.clone()).allow("program", &image).build().unwrap();
    let name = program.file_name().unwrap().to_string_lossy();
    let mut call = Call::new("").name(name).arguments(expected.args);
    for (name, value) in expected.env {
        call = call.variable(name, value);
    }
    // A program may change what it finds.
    let copies = tempfile::tempdir().unwrap();
    for directory in expected.dirs {
        let mine = copies.path().join(&directory);
        copy(&program.parent().unwrap().join(&directory), &mine);
        call = call.folder(mine, directory, Access::ReadWrite);
    }
    let outcome = match executor.call("program", call, &CancellationToken::new()).await {
        Ok(outcome) => outcome,
        Err(error) => return Some(error.to_string()),
    };
    installer.remove(&image).unwrap();
    let (stdout, stderr) = (outcome.stdout_text(), outcome.stderr_text());
    if outcome.status != Status::Exited(expected.exit_code) {
        return Some(format!("{:?}, not {}; {stdout} {stderr}", outcome.status, expected.exit_code));
    }
    let differs = |wanted: Option<String>, found: &str| wanted.filter(|wanted| wanted != found);
    differs(expected.stdout, &stdout)
        .or_else(|| differs(expected.stderr, &stderr))
        .map(|wanted| format!("no {wanted:?}"))
}

#[tokio::test]
async fn programs_of_the_public_suite_do_what_it_expects() {
    let Some(folder) = std::env::var_os("WASI_TESTSUITE") else {
        println!("skipped: WASI_TESTSUITE names no folder of the suite's programs");
        return;
    };
    let skipped = std::env::var("WASI_TESTSUITE_SKIP").unwrap_or_default();
    let mut found = Vec::new();
    programs(Path::new(&folder), &mut found);
    assert!(!found.is_empty(), "no program in {}", Path::new(&folder).display());
    let home = tempfile::tempdir().unwrap();
    let home = Home::at(home.path().join("home"));
    let mut failed = Vec::new();
    for program in &found {
        let name = program.file_stem().unwrap().to_string_lossy().into_owned();
        if skipped.split(',').any(|skip| skip == name) {
            println!("{name}: skipped");
            continue;
        }
        match failure(&home, program).await {
            None => println!("{name}: ok"),
            Some(problem) => failed.push(format!("{name}: {problem}")),
        }
    }
    println!("{} of {} hold", found.len() - failed.len(), found.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

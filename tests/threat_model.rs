//! What the documents say of the code: each test they name is there, and so is each wall that is a matter of its text.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The Rust files below a folder, with their text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let name = path.strip_prefix(root()).unwrap().display().to_string().replace('\\', "/");
                found.push((name, fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// The names of the tests in a text: functions marked as one, and the claims of the contract, which a macro makes tests.
fn tests(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut marked = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            marked = true;
        }
        let function = line.trim_start_matches("pub ").trim_start_matches("async ").strip_prefix("fn ");
        if let Some(name) = function.and_then(|rest| rest.split(['(', '<']).next()) {
            if marked {
                found.insert(name.to_owned());
            }
            marked = false;
        }
    }
    found
}

/// The names in the last column of the tables.
fn named(document: &str) -> Vec<String> {
    let rows = document.lines().filter(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.trim_end().trim_end_matches('|').rsplit('|').next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn every_test_that_the_threat_model_names_is_there() {
    let mut there: BTreeSet<String> =
        ["src", "tests"].into_iter().flat_map(sources).flat_map(|(_, text)| tests(&text)).collect();
    let claims = fs::read_to_string(root().join("src/contract/macros.rs")).unwrap();
    there.extend(claims.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned));
    let document = fs::read_to_string(root().join("docs/threat-model.md")).unwrap();
    let named = named(&document);
    assert!(named.len() > 100, "{}", named.len());
    let missing: Vec<&String> = named.iter().filter(|name| !there.contains(*name)).collect();
    assert!(missing.is_empty(), "not there: {missing:#?}");
    // Each row of the table has one at least.
    for row in document.lines().filter(|line| line.starts_with("| ") && line.contains(" | ")) {
        let header = row.ends_with("| test |") || row.starts_with("| from") || row.contains("what crosses");
        let boundary = row.matches(" | ").count() == 2 && !row.starts_with("| 1") && !row.contains('`');
        assert!(header || boundary || row.contains('`'), "no test: {row}");
    }
    for point in 1..=17 {
        assert!(document.contains(&format!("\n| {point} | ")), "{point}");
    }
}

/// Where a path of the host is put together. None of them ever holds a path that a guest named.
const JOINS: &[&str] = &[
    "src/cli/",
    "src/install/",
    "src/runtime/home.rs",
    "src/runtime/catalog.rs",
    "src/runtime/program.rs",
    "src/runtime/record.rs",
    "src/sandbox/scratch.rs",
    "src/permissions/way.rs",
    "src/sandbox/opened.rs",
    "src/contract/",
    "src/host/config.rs",
    "src/runner/",
    "src/serve/address.rs",
    "src/serve/config/",
    "src/permissions/ceiling.rs",
    "src/permissions/granted.rs",
    "src/task/set.rs",
];

#[test]
fn no_guest_path_meets_a_host_path_outside_one_module() {
    for (name, text) in sources("src") {
        if JOINS.iter().any(|place| name.starts_with(place)) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap();
        for (index, line) in code.lines().enumerate() {
            // Texts are put together of parts, too.
            let of_texts = [".join(\"\\n\")", ".join(\", \")", ".join(\"; \")", ".join(\" \")", ".join(\"/\")"];
            let joins = line.contains(".join(\"") && !of_texts.iter().any(|text| line.contains(text))
                || line.contains(".push(path")
                || line.contains("join(&path")
                || line.contains("join(path");
            assert!(!joins, "{name}:{}: {line}", index + 1);
            assert!(!line.contains("open_ambient_dir"), "{name}:{}: {line}", index + 1);
        }
    }
    // In the one module, what is joined to a path of the host is a name of ours.
    let scratch = fs::read_to_string(root().join("src/sandbox/scratch.rs")).unwrap();
    let code = scratch.split("#[cfg(test)]").next().unwrap();
    let joined: Vec<&str> = code.lines().filter(|line| line.contains(".join(")).map(str::trim).collect();
    for line in &joined {
        let ours =
            ["PREFIX", "ALIVE", "made.fetch_add", "folder.join(entry.file_name())", "target.join(&path).display()"];
        assert!(ours.iter().any(|ours| line.contains(ours)), "{line}");
    }
    assert!(!joined.is_empty());
}

#[test]
fn unsafe_code_is_in_one_folder() {
    for (name, text) in sources("src") {
        let has = text
            .lines()
            .any(|line| line.contains("unsafe {") || line.contains("unsafe impl") || line.contains("unsafe fn"));
        assert!(!has || name.starts_with("src/memory/"), "{name}");
    }
}

#[test]
fn no_profile_aborts_on_a_panic() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let manifest: toml::Value = toml::from_str(&manifest).unwrap();
    for (name, profile) in manifest["profile"].as_table().unwrap() {
        assert!(profile.get("panic").is_none(), "{name}");
    }
}

/// Every package that is fetched is pinned.
#[test]
fn whatever_is_fetched_has_its_digest_written_down() {
    let mut fetched = 0;
    for entry in fs::read_dir(root().join("runtimes")).unwrap() {
        let Ok(text) = fs::read_to_string(entry.unwrap().path().join("runtime.toml")) else { continue };
        let manifest: toml::Value = toml::from_str(&text).unwrap();
        let source = &manifest["source"];
        if source.get("pypi").is_some() {
            fetched += 1;
            let digest = source["sha256"].as_str().unwrap();
            assert!(digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit()), "{digest}");
            assert!(source.get("version").is_some());
        }
    }
    assert!(fetched > 0);
    for lock in ["Cargo.lock", "runtimes/sh/guest/Cargo.lock"] {
        let text = fs::read_to_string(root().join(lock)).unwrap();
        let lock: toml::Value = toml::from_str(&text).unwrap();
        for package in lock["package"].as_array().unwrap() {
            assert!(package.get("source").is_none() || package.get("checksum").is_some(), "{package}");
        }
    }
}

#[test]
fn links_between_the_documents_lead_somewhere() {
    for document in [
        "README.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "docs/threat-model.md",
        "docs/contract.md",
        "docs/performance.md",
        "docs/control-plane.md",
        "docs/tasks.md",
    ] {
        let path = root().join(document);
        let text = fs::read_to_string(&path).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            assert!(path.parent().unwrap_or(Path::new("")).join(file).exists(), "{document}: {link}");
        }
    }
}

//! Our executor, called as a library.

use std::fs;
use std::path::Path;

use ampoule::contract::{Scripts, Subject};
use ampoule::{Home, WasmExecutor, contract_coverage, executor_contract};

/// An executor with this image alone, whose directories hold nothing after a call.
pub fn subject(image: &str, scripts: Scripts) -> Subject {
    let scratch = tempfile::tempdir().unwrap();
    let executor = WasmExecutor::builder(Home::from_env().unwrap())
        .allow("under test", image)
        .scratch_folder(scratch.path())
        .build()
        .unwrap();
    let leftovers = move || files_below(scratch.path(), 0);
    Subject::new(executor, "under test", scripts).leftovers(leftovers)
}

/// The files in calls' directories. The directories themselves, empty, may wait for the next call, and the folder that
/// they are in, which is the executor's, holds a file of its own.
fn files_below(folder: &Path, depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files_below(&entry.path(), depth + 1)),
            _ if depth >= 2 => found.push(entry.path().display().to_string()),
            _ => {}
        }
    }
    found
}

executor_contract!(sh, || subject("sh", Scripts::sh()));
executor_contract!(python, || subject("python", Scripts::python().without_children()));
executor_contract!(javascript, || subject("javascript", Scripts::javascript().without_children()));

contract_coverage!(executor: sh);
contract_coverage!(executor: python);
contract_coverage!(executor: javascript);

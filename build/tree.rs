//! Trees of files: read as a whole, and written so that what has not changed is not touched.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of a tree, by their paths in it.
pub type Tree = BTreeMap<PathBuf, Vec<u8>>;

pub fn read(root: &Path) -> Result<Tree, String> {
    let mut tree = Tree::new();
    for path in list(root)? {
        let content = fs::read(root.join(&path)).map_err(|error| at(&root.join(&path), error))?;
        tree.insert(path, content);
    }
    Ok(tree)
}

/// Makes a folder hold this tree and nothing else. A file that is as it should be keeps its time: cargo builds again
/// what is newer than the last build.
pub fn write(root: &Path, tree: &Tree) -> Result<(), String> {
    fs::create_dir_all(root).map_err(|error| at(root, error))?;
    for path in list(root)? {
        if !tree.contains_key(&path) {
            fs::remove_file(root.join(&path)).map_err(|error| at(&root.join(&path), error))?;
        }
    }
    for (path, content) in tree {
        let path = root.join(path);
        if fs::read(&path).is_ok_and(|old| old == *content) {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| at(folder, error))?;
        }
        fs::write(&path, content).map_err(|error| at(&path, error))?;
    }
    Ok(())
}

/// The paths of all files below a folder, without it. A folder of builds, which is marked as a cache, is left out.
fn list(root: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let mut files = BTreeSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let place = root.join(&folder);
        for entry in fs::read_dir(&place).map_err(|error| at(&place, error))? {
            let entry = entry.map_err(|error| at(&place, error))?;
            let path = folder.join(entry.file_name());
            if !entry.path().is_dir() {
                files.insert(path);
            } else if !entry.path().join("CACHEDIR.TAG").is_file() {
                folders.push(path);
            }
        }
    }
    Ok(files)
}

fn at(path: &Path, error: std::io::Error) -> String {
    format!("`{}`: {error}", path.display())
}

//! Whether two paths lead to the same file.

use std::path::PathBuf;

use crate::fs::FileSystem;

/// Links are followed this far at most, as on Linux.
const LINKS_AT_MOST: usize = 40;

pub async fn is_same(fs: &dyn FileSystem, left: PathBuf, right: PathBuf) -> bool {
    match (followed(fs, left).await, followed(fs, right).await) {
        (Some(left), Some(right)) => left == right,
        _ => false,
    }
}

/// Where a path leads through its last links, if something is there.
async fn followed(fs: &dyn FileSystem, mut path: PathBuf) -> Option<PathBuf> {
    for _ in 0..LINKS_AT_MOST {
        match fs.read_link(&path).await {
            Ok(target) => path = crate::fs::normalize_path(&path.parent()?.join(target)),
            Err(_) => break,
        }
    }
    fs.stat(&path).await.ok().map(|_| path)
}

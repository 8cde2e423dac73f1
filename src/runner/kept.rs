//! The files that a script left, read back under caps.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::policy::FilesOut;
use crate::sandbox::Scratch;

/// A file that a script left.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptFile {
    /// Its path in the script's directory, with `/` between its parts.
    pub path: String,
    /// What it holds: a stranger's bytes.
    pub content: Bytes,
}

/// What a script left, in the order of paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptFiles {
    /// The files within the caps.
    pub files: Vec<KeptFile>,
    /// The paths and lengths of those beyond them, 100 at most: a script may leave very many.
    pub omitted: Vec<(String, u64)>,
    /// How many are beyond them, named or not.
    pub omitted_count: u64,
}

/// Those that are named.
const NAMED: usize = 100;

/// Where in a folder of the executor's the sandbox copies what a script left: it makes the place.
pub(super) fn place(folder: &Scratch) -> PathBuf {
    folder.path().join("kept")
}

/// Reads what the sandbox copied to this folder's [`place`], and removes the folder.
pub(super) async fn read(folder: Scratch, caps: FilesOut) -> io::Result<KeptFiles> {
    let read = move || {
        let kept = read_below(&place(&folder), caps);
        folder.remove();
        kept
    };
    tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
}

fn read_below(root: &Path, caps: FilesOut) -> io::Result<KeptFiles> {
    let mut paths = Vec::new();
    list(root, "", &mut paths)?;
    paths.sort_by(|one, other| one.path.cmp(&other.path));
    let mut kept = KeptFiles::default();
    let mut room = caps.bytes;
    for Found { path, place, bytes } in paths {
        if kept.files.len() >= caps.count || bytes > room {
            kept.omitted_count += 1;
            if kept.omitted.len() < NAMED {
                kept.omitted.push((path, bytes));
            }
            continue;
        }
        let mut content = Vec::new();
        fs::File::open(place)?.take(bytes).read_to_end(&mut content)?;
        room -= bytes;
        kept.files.push(KeptFile { path, content: content.into() });
    }
    Ok(kept)
}

/// A file below the folder: what the guest called it, and where the host's own listing says it lies.
struct Found {
    path: String,
    place: PathBuf,
    bytes: u64,
}

/// The files below a folder that holds no links: the sandbox copies none.
fn list(folder: &Path, prefix: &str, found: &mut Vec<Found>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // The guest's names are UTF-8.
        let Ok(name) = entry.file_name().into_string() else { continue };
        let (path, kind) = (format!("{prefix}{name}"), entry.file_type()?);
        if kind.is_dir() {
            list(&entry.path(), &format!("{path}/"), found)?;
        } else if kind.is_file() {
            found.push(Found { path, place: entry.path(), bytes: entry.metadata()?.len() });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::ScratchRoot;

    #[tokio::test]
    async fn files_beyond_the_caps_are_named_and_those_within_are_whole() {
        let parent = tempfile::tempdir().unwrap();
        let roots = ScratchRoot::new(parent.path()).unwrap();
        let folder = roots.scratch().unwrap();
        let kept = place(&folder);
        fs::create_dir_all(kept.join("sub")).unwrap();
        for (path, content) in [("a", "12345"), ("b", "123"), ("sub/c", "12"), ("z", "")] {
            fs::write(kept.join(path), content).unwrap();
        }
        let root = folder.path().to_owned();
        let kept = read(folder, FilesOut { bytes: 7, count: 2 }).await.unwrap();
        let files: Vec<_> = kept.files.iter().map(|file| (file.path.as_str(), file.content.as_ref())).collect();
        assert_eq!(files, [("a", &b"12345"[..]), ("sub/c", b"12")]);
        assert_eq!(kept.omitted, [("b".to_owned(), 3), ("z".to_owned(), 0)]);
        assert_eq!(kept.omitted_count, 2);
        assert!(!root.exists());
    }

    #[test]
    fn of_very_many_files_beyond_the_caps_100_are_named_and_all_counted() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..250 {
            fs::write(folder.path().join(format!("{number:03}")), "x").unwrap();
        }
        let kept = read_below(folder.path(), FilesOut { bytes: 7, count: 10 }).unwrap();
        assert_eq!((kept.files.len(), kept.omitted.len(), kept.omitted_count), (7, 100, 243));
        assert_eq!(kept.omitted[0].0, "007");
    }
}

//! The way to a path: the folders that are looked into, one after the other, with every link followed.
//!
//! Whoever may write one of them can exchange what is looked for there.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// A folder on the way, by a path with no link in it, and what is looked for from there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub folder: PathBuf,
    pub rest: PathBuf,
}

/// So many links are followed, as most systems do.
const LINKS_AT_MOST: usize = 40;

/// The steps to a path, in their order. The last ones may be folders that are not there.
pub(super) fn way(path: &Path) -> io::Result<Vec<Step>> {
    let (root, mut rest) = parts(&std::path::absolute(path)?);
    let (mut here, mut steps, mut links) = (root.unwrap_or_default(), Vec::new(), 0);
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            here.pop();
            continue;
        }
        let left = std::iter::once(&part).chain(&rest).collect();
        steps.push(Step { folder: here.clone(), rest: left });
        let next = here.join(&part);
        // What is no link, or not there, is the next folder.
        let Ok(target) = fs::read_link(&next) else {
            here = next;
            continue;
        };
        links += 1;
        if links > LINKS_AT_MOST {
            let problem = format!("there are more than {LINKS_AT_MOST} links on the way to `{}`", path.display());
            return Err(io::Error::other(problem));
        }
        let (root, target) = parts(&target);
        here = root.unwrap_or(here);
        for part in target.into_iter().rev() {
            rest.push_front(part);
        }
    }
    Ok(steps)
}

/// A path's root, if it has one, and its parts, `..` among them.
fn parts(path: &Path) -> (Option<PathBuf>, VecDeque<OsString>) {
    let (mut root, mut parts) = (None::<PathBuf>, VecDeque::new());
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => root.get_or_insert_default().push(component),
            Component::CurDir => {}
            Component::ParentDir | Component::Normal(_) => parts.push_back(component.as_os_str().to_owned()),
        }
    }
    (root, parts)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_folder_is_named_that_a_link_or_a_link_s_link_is_looked_up_in() {
        let top = tempfile::tempdir().unwrap();
        let top = top.path().canonicalize().unwrap();
        for folder in ["a/b", "mid", "real"] {
            fs::create_dir_all(top.join(folder)).unwrap();
        }
        symlink("../mid/two/file", top.join("a/one")).unwrap();
        symlink(top.join("real"), top.join("mid/two")).unwrap();
        let steps = way(&top.join("a/b/.././one")).unwrap();
        let steps: Vec<(&Path, &str)> =
            steps.iter().filter_map(|step| Some((step.folder.strip_prefix(&top).ok()?, step.rest.to_str()?))).collect();
        let step = |folder: &'static str, rest: &'static str| (Path::new(folder), rest);
        assert_eq!(
            steps,
            [
                step("", "a/b/../one"),
                step("a", "b/../one"),
                step("a", "one"),
                step("", "mid/two/file"),
                step("mid", "two/file"),
                step("", "real/file"),
                step("real", "file"),
            ]
        );
    }

    #[test]
    fn links_that_lead_to_each_other_have_no_way() {
        let top = tempfile::tempdir().unwrap();
        symlink("b", top.path().join("a")).unwrap();
        symlink("a", top.path().join("b")).unwrap();
        assert!(way(&top.path().join("a")).unwrap_err().to_string().contains("more than 40 links"));
    }
}

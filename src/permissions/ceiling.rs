//! The folders that a host allows, held open, and what is found in them.
//!
//! A task that may write a folder can exchange what lies in it for links at any moment. So what is given is opened through
//! the ceiling's own handle, which nothing leads out of: a path is looked up only to know where to look.

use std::io;
use std::path::{Path, PathBuf};

use super::way::way;
use super::{NamedFolder, Scope};
use crate::sandbox::Opened;

/// The folders of a ceiling.
pub(super) struct Ceiling {
    tops: Vec<Top>,
    everything: bool,
}

struct Top {
    opened: Opened,
    /// Its path with every link followed.
    real: PathBuf,
}

impl Ceiling {
    /// Opens the folders of `allowed`; one that is not there allows nothing. Tasks may change what lies in `writable`.
    pub fn open(allowed: &[&Scope<NamedFolder>], writable: &Scope<NamedFolder>, base: &Path) -> Ceiling {
        let everything = allowed.iter().any(|scope| **scope == Scope::All);
        let writable: Vec<Opened> =
            writable.named().filter_map(|folder| Opened::at(&base.join(&folder.path)).ok()).collect();
        let tops = allowed.iter().flat_map(|scope| scope.named()).filter_map(|folder| {
            let path = base.join(&folder.path);
            Some(Top { opened: trusted(&path, &writable).ok()?, real: path.canonicalize().ok()? })
        });
        Ceiling { tops: tops.collect(), everything }
    }

    /// Opens the folder at `real`, a path with no link in it. Nothing when it is not in the ceiling.
    pub fn find(&self, real: &Path) -> io::Result<Option<Opened>> {
        if self.everything {
            return Opened::at(real).map(Some);
        }
        for top in &self.tops {
            let Ok(rest) = real.strip_prefix(&top.real) else { continue };
            return match top.opened.beneath(rest) {
                Ok(opened) => opened.found_at(real.to_owned()).map(Some),
                Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                    Err(error)
                }
                // By now there is something on the way that leads out.
                Err(_) => Ok(None),
            };
        }
        Ok(None)
    }
}

/// Opens a folder of the ceiling. Its path is the host's word, and so are the links on the way, but for the part that is
/// looked up in a folder that tasks may change: that part is looked up in there.
fn trusted(path: &Path, writable: &[Opened]) -> io::Result<Opened> {
    for step in way(path)? {
        let Ok(found) = Opened::at(&step.folder).and_then(|folder| folder.identity()) else { continue };
        if let Some(holding) = writable.iter().find(|one| one.identity().is_ok_and(|one| one == found)) {
            return holding.beneath(&step.rest);
        }
    }
    Opened::at(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn scope(paths: &[&str]) -> Scope<NamedFolder> {
        Scope::only(paths.iter().map(NamedFolder::new))
    }

    #[test]
    fn what_is_exchanged_for_a_link_after_it_was_looked_up_leads_nowhere() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("out/sub")).unwrap();
        fs::create_dir(base.join("secret")).unwrap();
        let allowed = scope(&["out"]);
        let ceiling = Ceiling::open(&[&allowed], &allowed, &base);
        let real = base.join("out/sub").canonicalize().unwrap();
        assert!(ceiling.find(&real).unwrap().is_some());
        // Between the look at the path and the opening.
        fs::remove_dir(&real).unwrap();
        for target in ["/", "../..", "../../secret"] {
            symlink(target, &real).unwrap();
            assert!(ceiling.find(&real).unwrap().is_none(), "{target}");
            fs::remove_file(&real).unwrap();
        }
        assert_eq!(ceiling.find(&real).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_folder_of_the_ceiling_that_lies_in_one_that_tasks_may_change_leads_nowhere_when_it_is_exchanged() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        for folder in ["out/sub", "secret", "beside"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        // By another path, which is the same folder.
        symlink("out", base.join("alias")).unwrap();
        let (read, write) = (scope(&["alias/sub", "out/../beside"]), scope(&["out"]));
        let secret = base.join("secret");
        let find = |path: &str| Ceiling::open(&[&read, &write], &write, &base).find(&base.join(path));
        assert!(find("out/sub").unwrap().is_some() && find("beside").unwrap().is_some());
        fs::remove_dir(base.join("out/sub")).unwrap();
        symlink(&secret, base.join("out/sub")).unwrap();
        assert!(find("secret").unwrap().is_none());
        assert!(find("beside").unwrap().is_some());
    }

    #[test]
    fn a_link_of_the_host_s_that_leads_through_a_folder_that_tasks_may_change_leads_nowhere_out_of_it() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().canonicalize().unwrap();
        for folder in ["out/rel", "secret"] {
            fs::create_dir_all(base.join(folder)).unwrap();
        }
        symlink("middle", base.join("current")).unwrap();
        symlink("out/rel", base.join("middle")).unwrap();
        let (read, write) = (scope(&["current"]), scope(&["out", "current"]));
        let find = |path: &str| Ceiling::open(&[&read, &write], &write, &base).find(&base.join(path));
        assert!(find("out/rel").unwrap().is_some());
        fs::remove_dir(base.join("out/rel")).unwrap();
        symlink("../secret", base.join("out/rel")).unwrap();
        assert!(find("secret").unwrap().is_none());
    }
}

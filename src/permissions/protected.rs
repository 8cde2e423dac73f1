//! Places of the host that no task is shown, whatever its ceiling names.
//!
//! A ceiling is easily drawn too wide: `/srv` holds the scripts' data, and the home with the compiled code as well. Who can
//! write there runs anything in this process, and who can write the audit or the grants undoes what the gates are for.

use std::io;
use std::path::PathBuf;

use super::way::way;
use super::{NamedFolder, PermissionError};
use crate::sandbox::{Access, Identity, Opened};

/// Files and folders that no permission may show: by a folder that holds one, or that lies in one. Which folder is which is
/// told by what it is, not by its path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Protected(Vec<Place>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    what: &'static str,
    path: PathBuf,
    /// It may be read, and not changed.
    readable: bool,
}

impl Protected {
    /// Nothing.
    pub fn none() -> Protected {
        Protected::default()
    }

    /// Adds a file or a folder that no task may see. `what` says in errors what it is, such as "the audit". One that is not
    /// there yet counts as well.
    pub fn place(mut self, what: &'static str, path: impl Into<PathBuf>) -> Protected {
        self.0.push(Place { what, path: path.into(), readable: false });
        self
    }

    /// Adds a file or a folder that tasks may read, and none may change.
    pub fn readable(mut self, what: &'static str, path: impl Into<PathBuf>) -> Protected {
        self.0.push(Place { what, path: path.into(), readable: true });
        self
    }

    /// Refuses a folder that shows one of the places.
    pub(super) fn check(
        &self,
        key: &'static str,
        asked: &NamedFolder,
        folder: &Opened,
        access: Access,
    ) -> Result<(), PermissionError> {
        let asked = &asked.path;
        let failed =
            |error: io::Error| PermissionError::NoFolder { key, path: asked.clone(), problem: error.to_string() };
        let above = folder.above().map_err(failed)?;
        for place in &self.0 {
            if (access == Access::ReadWrite || !place.readable) && place.shows_in(&above).map_err(failed)? {
                let (what, place, change) = (place.what, place.path.clone(), place.readable);
                let would = if change { "let the task change" } else { "show" };
                return Err(PermissionError::Protected { key, path: asked.clone(), would, what, place });
            }
        }
        Ok(())
    }
}

impl Place {
    /// Whether it shows in a folder, which is given with those that hold it: whether it lies in that one, or that one in it.
    fn shows_in(&self, above: &[Identity]) -> io::Result<bool> {
        // What is looked up on the way to it can be exchanged where it lies, links and their links included.
        let mut holders = Vec::new();
        for step in way(&self.path)? {
            match Opened::at(&step.folder) {
                Ok(folder) => holders.extend(folder.above()?),
                // What does not exist shows nowhere.
                Err(_) => continue,
            }
        }
        if holders.contains(&above[0]) {
            return Ok(true);
        }
        match Opened::at(&self.path) {
            Ok(place) => Ok(above.contains(&place.identity()?)),
            // It is a file, in which nothing lies, or not there.
            Err(_) => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn refused(protected: &Protected, folder: &Path, access: Access) -> Option<String> {
        let opened = Opened::at(folder).unwrap();
        protected.check("read", &NamedFolder::new(folder), &opened, access).err().map(|error| error.to_string())
    }

    #[test]
    fn a_folder_that_holds_a_protected_place_or_lies_in_one_is_refused_by_name_and_one_beside_it_is_not() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        for folder in ["srv/home/code", "srv/data", "srv/log"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        // The audit is not there yet.
        let protected = Protected::none().place("the home", at("srv/home")).place("the audit", at("srv/log/audit"));
        for folder in ["srv/home", "srv/home/code", "srv/log", "srv", ""] {
            let error = refused(&protected, &at(folder), Access::ReadOnly).expect(folder);
            assert!(error.contains("the permission read") && error.contains("would show"), "{error}");
        }
        let error = refused(&protected, &at("srv/log"), Access::ReadOnly).unwrap();
        assert!(error.contains("the audit") && error.contains("neither holds it nor lies in it"), "{error}");
        let root = at("").ancestors().last().unwrap().to_owned();
        assert!(refused(&protected, &root, Access::ReadOnly).is_some());
        assert_eq!(refused(&protected, &at("srv/data"), Access::ReadWrite), None);
        let nowhere = Protected::none().place("the home", at("not/there"));
        assert_eq!(refused(&nowhere, &at("srv"), Access::ReadWrite), None);
    }

    #[test]
    fn what_may_be_read_is_refused_to_those_alone_that_would_change_it() {
        let top = tempfile::tempdir().unwrap();
        fs::write(top.path().join("tasks.toml"), "").unwrap();
        let protected = Protected::none().readable("the tasks", top.path().join("tasks.toml"));
        assert_eq!(refused(&protected, top.path(), Access::ReadOnly), None);
        let error = refused(&protected, top.path(), Access::ReadWrite).unwrap();
        assert!(error.contains("would let the task change the tasks"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_protected_place_is_known_by_every_path_to_it() {
        use std::os::unix::fs::symlink;
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        for folder in ["links", "real/home/code", "way/between"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        symlink(at("real/home"), at("links/home")).unwrap();
        symlink(at("links/home"), at("way/between/link")).unwrap();
        fs::write(at("real/audit"), "").unwrap();
        symlink(at("real/audit"), at("links/audit")).unwrap();
        let home = Protected::none().place("the home", at("way/between/link/code"));
        for folder in ["real", "real/home", "real/home/code", "links/home", "way", "way/between"] {
            assert!(refused(&home, &at(folder), Access::ReadOnly).is_some(), "{folder}");
        }
        let audit = Protected::none().place("the audit", at("links/audit"));
        assert!(refused(&audit, &at("real"), Access::ReadOnly).is_some());
        assert!(refused(&audit, &at("links"), Access::ReadOnly).is_some());
        assert_eq!(refused(&audit, &at("way"), Access::ReadOnly), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_holds_a_link_in_the_middle_of_the_way_to_a_place_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        for folder in ["mid", "real/home", "beside"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        std::os::unix::fs::symlink("mid/second", at("first")).unwrap();
        std::os::unix::fs::symlink("../real/home", at("mid/second")).unwrap();
        let protected = Protected::none().place("the home", at("first"));
        for folder in ["mid", "real", "real/home"] {
            assert!(refused(&protected, &at(folder), Access::ReadWrite).is_some(), "{folder}");
        }
        assert_eq!(refused(&protected, &at("beside"), Access::ReadWrite), None);
    }
}

//! Holding what a task asks for to what its host allows.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Component, Path, PathBuf};

use super::ceiling::Ceiling;
use super::{NamedFolder, Permissions, Protected, Scope};
use crate::sandbox::{Access, Folder, Opened};

/// What a task gets: folders that were found and lie within the ceiling, and variables that it allows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Granted {
    /// Host folders, each with its name and what may be done there.
    pub folders: Vec<Folder>,
    /// Names of host variables.
    pub variables: Vec<String>,
}

/// A permission that is asked for and not given.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PermissionError {
    /// The host allows less.
    #[error(
        "the permission {key} = {value:?} is more than the host allows: `max_permissions.{key}` {allowed}; ask for less, \
         or have it added there"
    )]
    BeyondCeiling {
        /// The permission.
        key: &'static str,
        /// What was asked for.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// Neither side names anything.
    #[error(
        "the permission {key} = true asks for all that the host allows, and the host names nothing: list what is needed"
    )]
    NothingNamed {
        /// The permission.
        key: &'static str,
    },
    /// A folder that is not there.
    #[error("the permission {key} = {path:?}: there is no such folder ({problem}); make it, or leave it out")]
    NoFolder {
        /// `read` or `write`.
        key: &'static str,
        /// The folder.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// A folder that shows what no task may see, or change.
    #[error(
        "the permission {key} = {path:?} would {would} {what}, `{}`, whatever the host's ceiling says: name a folder that \
         neither holds it nor lies in it, or have it moved elsewhere",
        place.display()
    )]
    Protected {
        /// `read` or `write`.
        key: &'static str,
        /// The folder.
        path: PathBuf,
        /// What the folder would do.
        would: &'static str,
        /// What it would do it to.
        what: &'static str,
        /// Where that is.
        place: PathBuf,
    },
    /// Two folders under one name, of which a script would see one.
    #[error(
        "the permissions give the folders {one:?} and {other:?} the same name, {name:?}: give one of them another, such as \
         {{ path = {other:?}, as = \"other\" }}"
    )]
    SameName {
        /// The name.
        name: String,
        /// A folder.
        one: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// A path with `..`.
    #[error("the permission {key} = {path:?} climbs out with `..`; name the folder by an absolute path")]
    ClimbsOut {
        /// `read` or `write`.
        key: &'static str,
        /// The folder.
        path: PathBuf,
    },
    /// A folder that a script could not name.
    #[error(
        "the permission {key} = {path:?} gives no name that a script could use ({problem}); give it one: \
         {{ path = {path:?}, as = \"data\" }}"
    )]
    NoName {
        /// `read` or `write`.
        key: &'static str,
        /// The folder.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// A variable's name that cannot be one.
    #[error("the permission env = {name:?} names no variable: a name is not empty and holds no `=`")]
    NoVariable {
        /// The name.
        name: String,
    },
    /// The sandbox has no network.
    #[error(
        "the permission {key} = {value:?} asks for the network, and the sandbox has none: pass the data in, or leave {key} out"
    )]
    NoNetwork {
        /// `net` or `import`.
        key: &'static str,
        /// What was asked for.
        value: String,
    },
    /// The sandbox starts no programs.
    #[error(
        "the permission run = {value:?} asks to start another runtime, and a script in the sandbox starts none: make it a \
         task of its own, or leave run out"
    )]
    NoProcesses {
        /// What was asked for.
        value: String,
    },
    /// Native libraries.
    #[error(
        "the permission ffi is never given: native code is outside of the sandbox; build it for WASI and run it as a task"
    )]
    Ffi,
}

impl Permissions {
    /// Holds these to a ceiling. Relative paths of the request are in `base`, the folder of the tasks; the ceiling's are
    /// absolute. Opens the folders, following links within the ceiling and none out of it: what is given is what was looked
    /// at, whatever comes to lie at its path afterwards. A folder that shows what is `protected` is refused.
    pub fn within(
        &self,
        ceiling: &Permissions,
        base: &Path,
        protected: &Protected,
    ) -> Result<Granted, PermissionError> {
        if self.ffi {
            return Err(PermissionError::Ffi);
        }
        for (key, asked, allowed) in [("net", &self.net, &ceiling.net), ("import", &self.import, &ceiling.import)] {
            if let Some(value) = first(words(key, asked, allowed)?) {
                return Err(PermissionError::NoNetwork { key, value });
            }
        }
        if let Some(value) = first(words("run", &self.run, &ceiling.run)?) {
            return Err(PermissionError::NoProcesses { value });
        }
        let variables = words("env", &self.env, &ceiling.env)?;
        if let Some(name) = variables.iter().find(|name| name.is_empty() || name.contains(['=', '\0'])) {
            return Err(PermissionError::NoVariable { name: name.clone() });
        }
        let mut folders = BTreeMap::new();
        for (key, asked, allowed, access) in [
            ("read", &self.read, [&ceiling.read, &ceiling.write].as_slice(), Access::ReadOnly),
            ("write", &self.write, [&ceiling.write].as_slice(), Access::ReadWrite),
        ] {
            for (opened, asked, name) in resolve(key, asked, allowed, &ceiling.write, base)? {
                protected.check(key, asked, &opened, access)?;
                let which = opened.identity().map_err(|error| no_folder(key, asked, error))?;
                match folders.entry(name) {
                    Entry::Vacant(place) => drop(place.insert((opened, access, asked, which))),
                    // What may be written may be read: of one folder the later wins.
                    Entry::Occupied(mut place) if place.get().3 == which => {
                        place.insert((opened, access, asked, which));
                    }
                    Entry::Occupied(place) => {
                        let (name, one, other) = (place.key().clone(), place.get().2.path.clone(), asked.path.clone());
                        return Err(PermissionError::SameName { name, one, other });
                    }
                }
            }
        }
        let folders =
            folders.into_iter().map(|(name, (opened, access, ..))| Folder::of(opened, name, access)).collect();
        Ok(Granted { folders, variables })
    }
}

fn first(values: Vec<String>) -> Option<String> {
    values.into_iter().next()
}

/// The values of a permission that is a list of words.
fn words(key: &'static str, asked: &Scope<String>, allowed: &Scope<String>) -> Result<Vec<String>, PermissionError> {
    match (asked, allowed) {
        (Scope::Nothing, _) => Ok(Vec::new()),
        (Scope::All, Scope::All) => Err(PermissionError::NothingNamed { key }),
        (Scope::All, allowed) => Ok(allowed.named().cloned().collect()),
        (Scope::Only(values), Scope::All) => Ok(values.iter().cloned().collect()),
        (Scope::Only(values), allowed) => {
            for value in values {
                if !allowed.named().any(|allowed| allowed == value) {
                    let list: Vec<&str> = allowed.named().map(String::as_str).collect();
                    return Err(beyond(key, value.clone(), &list));
                }
            }
            Ok(values.iter().cloned().collect())
        }
    }
}

fn beyond(key: &'static str, value: String, allowed: &[&str]) -> PermissionError {
    let allowed = match allowed {
        [] => "is empty".to_owned(),
        allowed => format!("holds {}", allowed.join(", ")),
    };
    PermissionError::BeyondCeiling { key, value, allowed }
}

/// The host folders of a permission, open, and their names.
fn resolve<'a>(
    key: &'static str,
    asked: &'a Scope<NamedFolder>,
    allowed: &[&'a Scope<NamedFolder>],
    writable: &Scope<NamedFolder>,
    base: &Path,
) -> Result<Vec<(Opened, &'a NamedFolder, String)>, PermissionError> {
    let named: Vec<&'a NamedFolder> = allowed.iter().flat_map(|scope| scope.named()).collect();
    let everything = allowed.iter().any(|scope| **scope == Scope::All);
    let asked: Vec<&'a NamedFolder> = match asked {
        Scope::Nothing => return Ok(Vec::new()),
        Scope::All if everything => return Err(PermissionError::NothingNamed { key }),
        Scope::All => named.clone(),
        Scope::Only(folders) => folders.iter().collect(),
    };
    let ceiling = Ceiling::open(allowed, writable, base);
    let mut found = Vec::new();
    for folder in asked {
        let opened = ceiling.find(&real(key, folder, base)?).map_err(|error| no_folder(key, folder, error))?;
        let Some(opened) = opened else {
            let list: Vec<String> = named.iter().map(|folder| folder.path.display().to_string()).collect();
            let list: Vec<&str> = list.iter().map(String::as_str).collect();
            return Err(beyond(key, folder.path.display().to_string(), &list));
        };
        found.push((opened, folder, name(key, folder)?));
    }
    Ok(found)
}

fn no_folder(key: &'static str, folder: &NamedFolder, problem: impl ToString) -> PermissionError {
    PermissionError::NoFolder { key, path: folder.path.clone(), problem: problem.to_string() }
}

/// The path of the folder with every link followed: where to look for it in the ceiling.
fn real(key: &'static str, folder: &NamedFolder, base: &Path) -> Result<PathBuf, PermissionError> {
    let path = &folder.path;
    if path.is_relative() && path.components().any(|part| part == Component::ParentDir) {
        return Err(PermissionError::ClimbsOut { key, path: path.clone() });
    }
    let real = base.join(path).canonicalize().map_err(|error| no_folder(key, folder, error))?;
    if real.is_dir() { Ok(real) } else { Err(no_folder(key, folder, "it is no folder")) }
}

/// The name under which a script finds it.
fn name(key: &'static str, folder: &NamedFolder) -> Result<String, PermissionError> {
    let no_name =
        |problem: &str| PermissionError::NoName { key, path: folder.path.clone(), problem: problem.to_owned() };
    let name = match &folder.name {
        Some(name) => name.clone(),
        None if folder.path.is_relative() => {
            let parts = folder.path.components().filter(|part| *part != Component::CurDir);
            let parts: Option<Vec<&str>> = parts.map(|part| part.as_os_str().to_str()).collect();
            parts.ok_or_else(|| no_name("it is no text"))?.join("/")
        }
        None => {
            let last = folder.path.file_name().ok_or_else(|| no_name("it has no last part"))?;
            last.to_str().ok_or_else(|| no_name("it is no text"))?.to_owned()
        }
    };
    if name.is_empty() {
        return Err(no_name("it is the folder of the tasks itself"));
    }
    if !crate::runtime::is_inside(&name) {
        return Err(no_name(&format!("`{name}` is no relative path without `.` and `..`")));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Permissions {
        toml::from_str(text).unwrap()
    }

    fn error(asked: &str, ceiling: &str, base: &Path) -> String {
        read(asked).within(&read(ceiling), base, &Protected::none()).unwrap_err().to_string()
    }

    #[test]
    fn a_folder_is_given_only_within_the_ceiling_and_as_far_as_it_goes() {
        let base = tempfile::tempdir().unwrap();
        for folder in ["data/sub", "out", "other"] {
            std::fs::create_dir_all(base.path().join(folder)).unwrap();
        }
        let base = base.path().canonicalize().unwrap();
        let ceiling = "read = ['data']\nwrite = ['out']";
        let given =
            read("read = ['./data/sub']\nwrite = ['out']").within(&read(ceiling), &base, &Protected::none()).unwrap();
        let folder = |path: &str, access| Folder::new(base.join(path), path, access);
        assert_eq!(given.folders, [folder("data/sub", Access::ReadOnly), folder("out", Access::ReadWrite)]);
        let all = read("read = true\nwrite = true").within(&read(ceiling), &base, &Protected::none()).unwrap();
        assert_eq!(all.folders, [folder("data", Access::ReadOnly), folder("out", Access::ReadWrite)]);
        assert!(error("write = ['data']", ceiling, &base).contains("`max_permissions.write` holds out"));
        assert!(error("read = ['other']", ceiling, &base).contains("more than the host allows"));
        assert!(error("read = ['other']", "", &base).contains("`max_permissions.read` is empty"));
        assert!(error("read = ['gone']", ceiling, &base).contains("there is no such folder"));
        assert!(error("read = ['data/../other']", ceiling, &base).contains("climbs out"));
        assert!(error("read = ['.']", "read = true", &base).contains("as = \"data\""));
        assert!(error("read = true", "read = true", &base).contains("list what is needed"));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_that_leads_out_of_the_ceiling_is_seen() {
        let base = tempfile::tempdir().unwrap();
        std::fs::create_dir(base.path().join("data")).unwrap();
        std::os::unix::fs::symlink("/", base.path().join("data/root")).unwrap();
        assert!(error("read = ['data/root']", "read = ['data']", base.path()).contains("more than the host allows"));
    }

    #[test]
    fn two_folders_of_one_name_are_refused_with_both_and_one_folder_twice_may_be_written() {
        let base = tempfile::tempdir().unwrap();
        for folder in ["a/data", "b/data"] {
            std::fs::create_dir_all(base.path().join(folder)).unwrap();
        }
        let base = base.path().canonicalize().unwrap();
        let ceiling = "read = ['a', 'b']\nwrite = ['a', 'b']";
        let named =
            |one: &str, other: &str| format!("{{ path = '{one}', as = 'x' }}, {{ path = '{other}', as = 'x' }}");
        for asked in [
            format!("read = [{}]", named("a/data", "b/data")),
            "read = [{ path = 'a/data', as = 'x' }]\nwrite = [{ path = 'b/data', as = 'x' }]".to_owned(),
        ] {
            let error = error(&asked, ceiling, &base);
            assert!(
                error.contains("a/data") && error.contains("b/data") && error.contains("as = \"other\""),
                "{error}"
            );
        }
        for asked in ["read = ['a/data']\nwrite = ['a/data']".to_owned(), format!("write = [{}]", named("a", "./a"))] {
            let given = read(&asked).within(&read(ceiling), &base, &Protected::none()).unwrap();
            assert_eq!((given.folders.len(), given.folders[0].access), (1, Access::ReadWrite), "{asked}");
        }
    }

    #[test]
    fn variables_are_given_by_name() {
        let base = Path::new(".");
        let ceiling = "env = ['A', 'B']";
        assert_eq!(read("env = ['A']").within(&read(ceiling), base, &Protected::none()).unwrap().variables, ["A"]);
        assert_eq!(read("env = true").within(&read(ceiling), base, &Protected::none()).unwrap().variables, ["A", "B"]);
        assert!(error("env = ['C']", ceiling, base).contains("holds A, B"));
        assert!(error("env = ['A=B']", "env = true", base).contains("names no variable"));
        assert_eq!(read("").within(&read(ceiling), base, &Protected::none()).unwrap(), Granted::default());
    }

    #[test]
    fn what_the_sandbox_does_not_have_is_refused_though_the_host_would_allow_it() {
        let base = Path::new(".");
        assert!(error("net = ['example.org']", "net = true", base).contains("asks for the network"));
        assert!(error("import = ['example.org']", "import = true", base).contains("asks for the network"));
        assert!(error("run = ['python']", "run = true", base).contains("starts none"));
        assert!(error("ffi = true", "ffi = true", base).contains("never given"));
        assert!(error("net = ['example.org']", "", base).contains("more than the host allows"));
    }
}

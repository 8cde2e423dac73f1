//! One call: a script and everything it is given.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use bytes::Bytes;

use super::opened::Opened;
use super::stdio::{Sink, Stdin};
use crate::Limits;

/// A script and everything it is given. Nothing else of the host is there.
///
/// [`ScriptRequest`](crate::ScriptRequest) is the contract's narrower form of it; this one also carries arguments, an
/// environment, files, limits of its own, and streams.
#[derive(Debug)]
#[non_exhaustive]
pub struct Call {
    /// The script's text.
    pub source: String,
    /// The script's name, as messages and `argv[0]` show it. Default: the runtime's.
    pub name: Option<String>,
    /// Arguments behind the script's name.
    pub arguments: Vec<String>,
    /// Variables besides `PATH`, `HOME`, `TMPDIR` and `LANG`, which they may replace.
    pub environment: Vec<(String, String)>,
    /// Standard input. Default: closed.
    pub stdin: Stdin,
    /// Files in the working directory before the script starts. They count against the directory's limits.
    pub files: Vec<InputFile>,
    /// Host folders that the script sees besides. Default: none.
    pub folders: Vec<Folder>,
    /// What the call may use. Default: [`Limits::default`], whatever the executor was built with.
    pub limits: Limits,
    /// Where standard output goes as it comes, instead of into the outcome.
    pub stdout: Option<Sink>,
    /// Where standard error goes as it comes, instead of into the outcome.
    pub stderr: Option<Sink>,
    /// The skill that the script belongs to, which sees its name as `TRACON_SKILL_NAME` and its directory as
    /// `TRACON_SKILL_TEMP`.
    pub skill: Option<String>,
    /// A host folder that gets a copy of what the script left in its directory, however it ended; it is made even when
    /// nothing was left. Links, and [`files`](Call::files) that the script did not change, are left out. No file in it
    /// is overwritten: where one has the name already, the call fails with
    /// [`ExecuteError::Keep`](crate::ExecuteError::Keep). Default: nothing is kept.
    pub keep: Option<PathBuf>,
}

/// A host folder that a script or program sees. It cannot leave it, by links neither; whether it may change what is there
/// is said here. What it writes there counts against the call's limits on disk, and stays.
///
/// Two are equal when they say the same.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Folder {
    /// The folder on the host. It is opened once, when the call begins; a task's was when it was held to the host's ceiling.
    pub host: PathBuf,
    /// The name under which it is found. A relative path, with no `.` or `..`, is one in the working directory: `data` is
    /// also `/tmp/data` and `$HOME/data`, and listed there. It can be neither moved nor removed, a file is moved into it
    /// by copying, and links in the working directory do not lead into it. An absolute path is for WASI programs alone:
    /// a script's runtime has learnt its directories before.
    pub guest: String,
    /// What the program may do there.
    pub access: Access,
    /// It, where whoever gave it has opened it.
    opened: Option<Opened>,
}

impl PartialEq for Folder {
    fn eq(&self, other: &Folder) -> bool {
        (&self.host, &self.guest, self.access) == (&other.host, &other.guest, other.access)
    }
}

impl Eq for Folder {}

/// What a program may do in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// List and read.
    ReadOnly,
    /// Make, change and remove, too.
    ReadWrite,
}

/// A file that a script finds in its working directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputFile {
    /// A relative path with `/` between its parts and no `.` or `..`.
    pub path: String,
    /// What it holds.
    pub content: Bytes,
}

impl Call {
    /// A call of this script with nothing else and the default limits.
    pub fn new(source: impl Into<String>) -> Call {
        Call {
            source: source.into(),
            name: None,
            arguments: Vec::new(),
            environment: Vec::new(),
            stdin: Stdin::Closed,
            files: Vec::new(),
            folders: Vec::new(),
            limits: Limits::default(),
            stdout: None,
            stderr: None,
            skill: None,
            keep: None,
        }
    }

    /// Sets the script's name.
    pub fn name(mut self, name: impl Into<String>) -> Call {
        self.name = Some(name.into());
        self
    }

    /// Adds arguments.
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = impl Into<String>>) -> Call {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds a variable.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Call {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Sets standard input.
    pub fn stdin(mut self, stdin: Stdin) -> Call {
        self.stdin = stdin;
        self
    }

    /// Adds a file at `path`, relative to the working directory; its folders are made.
    pub fn file(mut self, path: impl Into<String>, content: impl Into<Bytes>) -> Call {
        self.files.push(InputFile { path: path.into(), content: content.into() });
        self
    }

    /// Lets the script see the host's folder `host` under the name `guest`: see [`Folder::guest`].
    pub fn folder(mut self, host: impl Into<PathBuf>, guest: impl Into<String>, access: Access) -> Call {
        self.folders.push(Folder::new(host, guest, access));
        self
    }

    /// Sets the limits.
    pub fn limits(mut self, limits: Limits) -> Call {
        self.limits = limits;
        self
    }
}

/// A call that is refused before anything starts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// Something is larger than its limit.
    #[error("the call's {what} takes {bytes} bytes, but `{limit}` allows {allowed}")]
    TooLarge {
        /// What.
        what: &'static str,
        /// How large it is, in bytes.
        bytes: u64,
        /// The limit's name.
        limit: &'static str,
        /// The limit, in bytes.
        allowed: u64,
    },
    /// There are more of something than its limit.
    #[error("the call needs {count} {what}, but `{limit}` allows {allowed}")]
    TooMany {
        /// What.
        what: &'static str,
        /// How many there are.
        count: u64,
        /// The limit's name.
        limit: &'static str,
        /// The limit.
        allowed: u64,
    },
    /// The image does not fit into the memory the call may have.
    #[error("the image `{image}` holds {bytes} bytes of memory, but `memory_bytes` allows {allowed}")]
    ImageTooLarge {
        /// Which image.
        image: String,
        /// Its memory, in bytes.
        bytes: u64,
        /// The limit, in bytes.
        allowed: u64,
    },
    /// A file's path could leave the working directory, or cannot be written down.
    #[error("the file path `{}` is not a relative path without `.` and `..`", shown(.0))]
    FilePath(String),
    /// A file has a name that cannot be, or that something else has.
    #[error("the file `{}` cannot be placed: {problem}", shown(path))]
    FileName {
        /// Its path.
        path: String,
        /// Why not.
        problem: String,
    },
    /// A host folder under an absolute name for a script, whose runtime's directories are part of its image.
    #[error(
        "the folder `{}` cannot be given as `{guest}`: the image `{image}` runs scripts, which see folders in their \
         working directory alone; give it a relative name, such as `data`",
        host.display()
    )]
    FolderForScript {
        /// Which image.
        image: String,
        /// The folder.
        host: PathBuf,
        /// The name it was to have.
        guest: String,
    },
    /// A host folder under a name that cannot be.
    #[error("the folder name `{guest}` cannot be: {problem}")]
    FolderName {
        /// The name it was to have.
        guest: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A host folder that cannot be opened.
    #[error("the folder `{}` cannot be given to the program: {problem}", host.display())]
    Folder {
        /// The folder.
        host: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// An argument or variable cannot be given to a program.
    #[error("the {what} {value:?} cannot be given to a program: {problem}")]
    NotAnArgument {
        /// Argument, variable name or value.
        what: &'static str,
        /// What it is.
        value: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A limit that cannot be meant.
    #[error(transparent)]
    Limits(#[from] crate::limits::LimitsError),
}

impl Call {
    /// Checks everything that can be checked before the image is known.
    pub(super) fn check(&self) -> Result<(), CallError> {
        let limits = &self.limits;
        limits.check()?;
        let arguments = self.arguments.iter().chain(&self.name).chain(&self.skill).map(|argument| argument.len() + 1);
        let variables = self.environment.iter().map(|(name, value)| name.len() + value.len() + 2);
        let files = self.files.iter().map(|file| file.content.len());
        let sizes: [(_, u64, _, u64); 4] = [
            ("script", self.source.len() as u64, "source_bytes", limits.source_bytes as u64),
            ("standard input", self.stdin.len() as u64, "stdin_bytes", limits.stdin_bytes as u64),
            (
                "arguments and environment",
                arguments.chain(variables).sum::<usize>() as u64,
                "arguments_bytes",
                limits.arguments_bytes as u64,
            ),
            ("files", files.sum::<usize>() as u64, "scratch_bytes", limits.scratch_bytes),
        ];
        for (what, bytes, limit, allowed) in sizes {
            if bytes > allowed {
                return Err(CallError::TooLarge { what, bytes, limit, allowed });
            }
        }
        at_most("files and folders", entries(&self.files), "scratch_entries", limits.scratch_entries)?;
        let depth = folders(&self.files).into_iter().map(|folder| folder.split('/').count() as u64).max();
        at_most("folders inside each other", depth.unwrap_or(0), "scratch_depth", limits.scratch_depth as u64)?;
        for argument in self.arguments.iter().chain(&self.name).chain(&self.skill) {
            refuse("argument", argument, argument.contains('\0'), "it holds a NUL byte")?;
        }
        for (name, value) in &self.environment {
            refuse("variable", name, name.is_empty(), "its name is empty")?;
            refuse("variable", name, name.contains(['=', '\0']), "its name holds `=` or a NUL byte")?;
            refuse("value", value, value.contains('\0'), "it holds a NUL byte")?;
        }
        for folder in &self.folders {
            let guest = &folder.guest;
            refuse("folder", guest, guest.is_empty() || guest.contains('\0'), "it is empty or holds a NUL byte")?;
        }
        self.check_folder_names()?;
        for file in &self.files {
            if !crate::runtime::is_inside(&file.path) {
                return Err(CallError::FilePath(file.path.clone()));
            }
        }
        self.check_file_names()
    }

    /// Each file has a name that can be, and that neither another has nor a folder of another's.
    fn check_file_names(&self) -> Result<(), CallError> {
        let refuse = |path: &str, problem: String| Err(CallError::FileName { path: path.to_owned(), problem });
        let mut seen = HashSet::new();
        for InputFile { path, .. } in &self.files {
            let most = self.limits.path_bytes.min(LONGEST_PATH);
            if path.len() > most {
                return refuse(path, format!("it has {} bytes, but a path has at most {most}", path.len()));
            }
            if let Some(part) = path.split('/').find(|part| part.len() > LONGEST_NAME) {
                let problem = format!("a name in it has {} bytes, but may have {LONGEST_NAME} at most", part.len());
                return refuse(path, problem);
            }
            if !seen.insert(path.as_str()) {
                return refuse(path, "it is there twice".into());
            }
        }
        for InputFile { path, .. } in &self.files {
            let folders = path.match_indices('/').map(|(end, _)| &path[..end]);
            if let Some(other) = folders.into_iter().find(|folder| seen.contains(folder)) {
                return refuse(path, format!("`{}` is a file, and cannot be its folder too", shown(other)));
            }
        }
        Ok(())
    }
}

impl Folder {
    /// The host's folder `host` under the name `guest`.
    pub fn new(host: impl Into<PathBuf>, guest: impl Into<String>, access: Access) -> Folder {
        Folder { host: host.into(), guest: guest.into(), access, opened: None }
    }

    /// A folder that is open already, whatever comes to lie at its path.
    #[cfg(feature = "host")]
    pub(crate) fn of(opened: Opened, guest: String, access: Access) -> Folder {
        Folder { host: opened.path().to_owned(), guest, access, opened: Some(opened) }
    }

    /// The folder, open.
    pub(super) fn opened(&self) -> std::io::Result<Opened> {
        self.opened.clone().map_or_else(|| Opened::at(&self.host), Ok)
    }

    /// Why it is not given.
    pub(super) fn refused(&self, problem: impl ToString) -> CallError {
        CallError::Folder { host: self.host.clone(), problem: problem.to_string() }
    }

    /// Whether it shows in the call's directory.
    pub(super) fn is_inside(&self) -> bool {
        !self.guest.starts_with('/')
    }
}

impl Call {
    /// A folder in the call's directory has a place that nothing else has.
    fn check_folder_names(&self) -> Result<(), CallError> {
        let refuse = |guest: &String, problem: String| Err(CallError::FolderName { guest: guest.clone(), problem });
        let inside: Vec<&Folder> = self.folders.iter().filter(|folder| folder.is_inside()).collect();
        for (at, Folder { guest, .. }) in inside.iter().enumerate() {
            if !crate::runtime::is_inside(guest) {
                return refuse(guest, "it is neither absolute nor a relative path without `.` and `..`".into());
            }
            let depth = guest.split('/').count() as u64;
            at_most("folders inside each other", depth, "scratch_depth", self.limits.scratch_depth as u64)?;
            if let Some(other) = inside[..at].iter().find(|other| overlap(guest, &other.guest)) {
                return refuse(guest, format!("another folder has the name `{}`", other.guest));
            }
            if let Some(file) = self.files.iter().find(|file| overlap(guest, &file.path)) {
                return refuse(guest, format!("the call brings a file `{}`", file.path));
            }
        }
        let entries = entries(&self.files) + folders_on_the_way(&self.files, &inside).len() as u64;
        at_most("files and folders", entries, "scratch_entries", self.limits.scratch_entries)
    }
}

/// What the systems that we know let a name be, and a path, its end included.
const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 4095;

/// A path for a message, its beginning where it is long: it is a stranger's.
fn shown(path: &str) -> Cow<'_, str> {
    const MOST: usize = 200;
    match path.char_indices().nth(MOST) {
        Some((end, _)) => Cow::Owned(format!("{}…", &path[..end])),
        None => Cow::Borrowed(path),
    }
}

/// Whether one path is the other or leads into it.
fn overlap(one: &str, other: &str) -> bool {
    let leads =
        |path: &str, into: &str| path.strip_prefix(into).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    leads(one, other) || leads(other, one)
}

/// The folders that these mounted ones need in the call's directory, themselves included, each after the one that holds
/// it; without those that the files make.
pub(super) fn folders_on_the_way(files: &[InputFile], mounted: &[&Folder]) -> BTreeSet<String> {
    let made = folders(files);
    let all = mounted.iter().flat_map(|folder| {
        let guest = folder.guest.as_str();
        guest.match_indices('/').map(|(end, _)| &guest[..end]).chain([guest])
    });
    all.filter(|folder| !made.contains(folder)).map(str::to_owned).collect()
}

/// Refuses more of something than its limit.
pub(super) fn at_most(what: &'static str, count: u64, limit: &'static str, allowed: u64) -> Result<(), CallError> {
    if count > allowed { Err(CallError::TooMany { what, count, limit, allowed }) } else { Ok(()) }
}

/// The entries that these files make: each of them and the folders on the way to it.
pub(super) fn entries(files: &[InputFile]) -> u64 {
    let mut entries = folders(files);
    entries.extend(files.iter().map(|file| file.path.as_str()));
    entries.len() as u64
}

/// The folders that these files lie in, each after the one that holds it.
pub(super) fn folders(files: &[InputFile]) -> BTreeSet<&str> {
    let paths = files.iter().map(|file| file.path.as_str());
    paths.flat_map(|path| path.match_indices('/').map(|(end, _)| &path[..end])).collect()
}

fn refuse(what: &'static str, value: &str, wrong: bool, problem: &'static str) -> Result<(), CallError> {
    if wrong { Err(CallError::NotAnArgument { what, value: value.to_owned(), problem }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_size_is_allowed_at_its_limit_and_refused_one_byte_over() {
        let call = |source: usize, stdin: usize, file: usize| {
            let mut call = Call::new("x".repeat(source)).stdin(Stdin::Bytes(vec![0; stdin].into()));
            call = call.file("f", vec![0; file]);
            call.limits.source_bytes = 3;
            call.limits.stdin_bytes = 4;
            call.limits.scratch_bytes = 5;
            call.check()
        };
        call(3, 4, 5).unwrap();
        for (sizes, limit) in [((4, 4, 5), "source_bytes"), ((3, 5, 5), "stdin_bytes"), ((3, 4, 6), "scratch_bytes")] {
            let error = call(sizes.0, sizes.1, sizes.2).unwrap_err().to_string();
            assert!(error.contains(limit), "{error}");
        }
        // "ab" with its NUL, and "n=v" with its own.
        let mut call = Call::new("").arguments(["ab"]).variable("n", "v");
        call.limits.arguments_bytes = 7;
        call.check().unwrap();
        call.limits.arguments_bytes = 6;
        assert!(call.check().unwrap_err().to_string().contains("takes 7 bytes, but `arguments_bytes` allows 6"));
    }

    #[test]
    fn files_whose_names_cannot_be_or_clash_are_refused_by_name() {
        let refused = |paths: &[&str], said: &str| {
            let call = paths.iter().fold(Call::new(""), |call, path| call.file(*path, ""));
            let error = call.check().expect_err(said).to_string();
            assert!(error.contains(said) && error.contains(&paths[paths.len() - 1][..1]), "{error}");
            assert!(error.len() < 600, "{error}");
        };
        refused(&["a", "b/c", "a"], "twice");
        refused(&["b", "b/c"], "`b` is a file");
        refused(&["b/c/d", "b/c"], "`b/c` is a file");
        refused(&["b"; 2], "`b` cannot be placed");
        refused(&[&"n".repeat(256)], "256 bytes, but may have 255");
        refused(&[&format!("{}n", format!("{}/", "n".repeat(250)).repeat(20))], "a path has at most 4095");
        let call = ["b", "bc", "b-/c", &"n".repeat(255)].iter().fold(Call::new(""), |call, path| call.file(*path, ""));
        call.check().unwrap();
    }

    #[test]
    fn what_no_program_can_be_given_is_refused() {
        assert!(Call::new("").arguments(["a\0b"]).check().is_err());
        assert!(Call::new("").variable("a=b", "").check().is_err());
        assert!(Call::new("").variable("", "x").check().is_err());
        assert!(Call::new("").variable("a", "x\0").check().is_err());
        for path in ["../f", "/f", "a/../f", "", "a//f"] {
            assert!(matches!(Call::new("").file(path, "").check(), Err(CallError::FilePath(_))), "{path}");
        }
    }
}

//! The folder that installed runtimes, compiled code and images are kept in.
//!
//! ```text
//! $AMPOULE_HOME/                 0700, this user's
//!   code/<digest>-<fingerprint>.cwasm   compiled code (native: see SECURITY.md)
//!   images/<digest>.mem                 linear memories
//!   added/<name>/                       a runtime that the user added to the catalog
//!   runtimes/<name>/<digest>/           a runtime's own files, mounted read-only
//!   runtimes/<name>/installed.json      what belongs together; written last
//!   locks/<name>.lock                   held while a runtime is installed or removed
//!   partial/                            what an install has not finished; swept by the next
//! ```

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

/// What is made in a home, in this order.
const FOLDERS: [&str; 6] = ["locks", "partial", "added", "runtimes", "images", "code"];

/// The folder that installed runtimes are kept in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// A home that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HomeError {
    /// There is no place for it.
    #[error("no folder to keep runtimes in: {0}; set AMPOULE_HOME to one")]
    NoPlace(String),
    /// The file system refused.
    #[error("the runtimes' folder `{}`: {error}; AMPOULE_HOME chooses another", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It is a folder of something else, which is left as it is.
    #[error(
        "`{}` holds other things and is no folder of runtimes: name an empty or a new one (AMPOULE_HOME)",
        path.display()
    )]
    Foreign {
        /// Where.
        path: PathBuf,
    },
    /// Somebody else could have put native code there.
    #[error(
        "the runtimes' folder `{}` {problem}, so the compiled code in it cannot be trusted; \
         use another folder (AMPOULE_HOME) or remove this one",
        path.display()
    )]
    Untrusted {
        /// Where.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

impl Home {
    /// The home at `root`, which is made when something is first written to it.
    pub fn at(root: impl Into<PathBuf>) -> Home {
        Home { root: root.into() }
    }

    /// The home that the environment names: `$AMPOULE_HOME`, else `ampoule` in the platform's cache folder.
    pub fn from_env() -> Result<Home, HomeError> {
        Home::named(std::env::var_os("AMPOULE_HOME"))
    }

    fn named(home: Option<OsString>) -> Result<Home, HomeError> {
        if let Some(home) = home.filter(|home| !home.is_empty()) {
            let path =
                std::path::absolute(&home).map_err(|error| HomeError::Io { path: PathBuf::from(&home), error })?;
            return Ok(Home::at(path));
        }
        let strategy = etcetera::choose_base_strategy().map_err(|error| HomeError::NoPlace(error.to_string()))?;
        Ok(Home::at(strategy.cache_dir().join("ampoule")))
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn code(&self, digest: &str, fingerprint: &str) -> PathBuf {
        self.root.join("code").join(format!("{}-{fingerprint}.cwasm", &digest[..32]))
    }

    pub(crate) fn image(&self, digest: &str) -> PathBuf {
        self.root.join("images").join(format!("{}.mem", &digest[..32]))
    }

    pub(crate) fn runtimes(&self) -> PathBuf {
        self.root.join("runtimes")
    }

    pub(crate) fn runtime(&self, name: &str) -> PathBuf {
        self.runtimes().join(name)
    }

    /// The manifests, and what lies beside them, that the user has added to the catalog.
    pub(crate) fn added(&self) -> PathBuf {
        self.root.join("added")
    }

    pub(crate) fn record(&self, name: &str) -> PathBuf {
        self.runtime(name).join("installed.json")
    }

    pub(crate) fn partial(&self) -> PathBuf {
        self.root.join("partial")
    }

    /// Makes the home if it is missing and checks that only this user can write to it.
    pub(crate) fn prepare(&self) -> Result<(), HomeError> {
        let io = |path: &Path| {
            let path = path.to_owned();
            move |error| HomeError::Io { path, error }
        };
        if let Some(parent) = self.root.parent() {
            fs::create_dir_all(parent).map_err(io(parent))?;
        }
        match create_private_dir(&self.root) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io(&self.root)(error)),
            _ => self.check()?,
        }
        for folder in FOLDERS {
            let path = self.root.join(folder);
            match create_private_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(io(&path)(error)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that nobody else can have written to the home. Everything in it was made with the home's own mode or
    /// lies below it, so the home's own owner and mode decide.
    #[cfg(unix)]
    pub(crate) fn check(&self) -> Result<(), HomeError> {
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let path = &self.root;
        let io = |error| HomeError::Io { path: path.clone(), error };
        let metadata = fs::metadata(path).map_err(io)?;
        let untrusted = |problem| Err(HomeError::Untrusted { path: path.clone(), problem });
        let user = rustix::process::geteuid().as_raw();
        if metadata.uid() != user {
            return untrusted(format!("belongs to user {}, not to user {user}", metadata.uid()));
        }
        if !metadata.is_dir() {
            return untrusted("is not a folder".into());
        }
        self.check_own()?;
        let mode = metadata.mode() & 0o777;
        // In an empty folder nobody has put anything yet, and nobody can once its mode is set.
        let used = fs::read_dir(path).map_err(io)?.next().is_some();
        if mode & 0o022 != 0 && used {
            return untrusted(format!("can be written by others (mode {mode:o})"));
        }
        if mode & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(io)?;
        }
        Ok(())
    }

    /// Checks that a file of compiled code, and the folder it lies in, belong to this user and that nobody else may
    /// change them: it is about to be run.
    #[cfg(unix)]
    pub(crate) fn check_code(&self, code: &Path) -> Result<(), HomeError> {
        use std::os::unix::fs::MetadataExt;
        let user = rustix::process::geteuid().as_raw();
        for path in code.parent().into_iter().chain([code]) {
            let metadata = fs::metadata(path).map_err(|error| HomeError::Io { path: path.to_owned(), error })?;
            let mode = metadata.mode() & 0o777;
            let problem = if metadata.uid() != user {
                format!("belongs to user {}, not to user {user}", metadata.uid())
            } else if mode & 0o022 != 0 {
                format!("can be written by others (mode {mode:o})")
            } else {
                continue;
            };
            return Err(HomeError::Untrusted { path: path.to_owned(), problem });
        }
        Ok(())
    }

    /// Nothing is looked at on other systems: see [`Home::check`].
    #[cfg(not(unix))]
    pub(crate) fn check_code(&self, _code: &Path) -> Result<(), HomeError> {
        Ok(())
    }

    /// On other systems a user's cache folder is private to the user by its inherited access list.
    #[cfg(not(unix))]
    pub(crate) fn check(&self) -> Result<(), HomeError> {
        self.check_own()
    }

    /// Checks that the folder is empty or holds what a home does: one of something else keeps its mode, and gets nothing
    /// put into it.
    fn check_own(&self) -> Result<(), HomeError> {
        let path = &self.root;
        let mut entries = fs::read_dir(path).map_err(|error| HomeError::Io { path: path.clone(), error })?;
        let has = |folder: &str| path.join(folder).is_dir();
        // Another process may have just begun to make one.
        if entries.next().is_none() || has(FOLDERS[0]) || ["code", "images", "runtimes"].into_iter().all(has) {
            return Ok(());
        }
        Err(HomeError::Foreign { path: path.clone() })
    }

    /// Waits until no other process installs or removes the runtime `name`, calling `waiting` once if it has to.
    pub(crate) fn lock(&self, name: &str, waiting: impl FnOnce()) -> Result<HomeLock, HomeError> {
        self.prepare()?;
        let path = self.root.join("locks").join(format!("{name}.lock"));
        let io = |error| HomeError::Io { path: path.clone(), error };
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting();
                file.lock().map_err(io)?;
            }
            Err(TryLockError::Error(error)) => return Err(io(error)),
        }
        Ok(HomeLock { _file: file })
    }
}

/// Held while a runtime is installed or removed; released when dropped, or when the process ends however it ends.
pub(crate) struct HomeLock {
    _file: File,
}

/// Makes a folder that only this user can enter.
pub(crate) fn create_private_dir(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    let builder = {
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder
    };
    #[cfg(not(unix))]
    let builder = fs::DirBuilder::new();
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_s_home_comes_before_the_platform_s() {
        assert_eq!(Home::named(Some("/somewhere".into())).unwrap(), Home::at("/somewhere"));
        assert!(Home::named(None).unwrap().root().ends_with("ampoule"));
        assert!(Home::named(Some("".into())).unwrap().root().ends_with("ampoule"));
    }

    #[cfg(unix)]
    #[test]
    fn a_home_is_made_private_and_one_that_others_could_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        home.prepare().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(home.root()), 0o700);
        assert_eq!(mode(&home.root().join("code")), 0o700);

        fs::set_permissions(home.root(), fs::Permissions::from_mode(0o755)).unwrap();
        home.prepare().unwrap();
        assert_eq!(mode(home.root()), 0o700);

        fs::set_permissions(home.root(), fs::Permissions::from_mode(0o770)).unwrap();
        let error = home.prepare().unwrap_err().to_string();
        assert!(error.contains("can be written by others (mode 770)"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_that_others_could_write_is_taken_only_while_it_is_empty() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path());
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o777)).unwrap();
        for folder in ["code", "images", "runtimes"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        assert!(home.check().unwrap_err().to_string().contains("can be written by others (mode 777)"));
        for folder in ["code", "images", "runtimes"] {
            fs::remove_dir(dir.path().join(folder)).unwrap();
        }
        home.check().unwrap();
        assert_eq!(fs::metadata(dir.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_folder_of_something_else_is_refused_and_left_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("letter.txt"), "dear").unwrap();
        #[cfg(unix)]
        fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let before = fs::metadata(dir.path()).unwrap().permissions();
        let error = Home::at(dir.path()).prepare().unwrap_err().to_string();
        assert!(error.contains("holds other things") && error.contains("AMPOULE_HOME"), "{error}");
        assert_eq!(fs::metadata(dir.path()).unwrap().permissions(), before);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_lock_is_waited_for_and_free_again_when_it_is_dropped() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(dir.path().join("home"));
        let first = home.lock("python", || panic!("nobody else holds it")).unwrap();
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(|| home.lock("python", || sender.send(()).unwrap()).map(drop).unwrap());
            receiver.recv().unwrap();
            drop(first);
        });
        home.lock("python", || panic!("it was released")).unwrap();
    }
}

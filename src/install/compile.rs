//! Compiling: in this process, or in another that can be stopped.
//!
//! The engine's makers promise no bound on what compiling a hostile module takes, so a module that nobody vouches for is
//! compiled by a process of its own, under limits, which is killed when its time is up.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::runtime::engine;

/// What compiles a module.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compiler {
    /// This process: for modules that you trust.
    InProcess,
    /// A process of its own.
    Process(CompilerProcess),
}

/// A program that compiles what it reads: it calls [`CompilerProcess::serve`] and nothing else. `ampoule compile-module`
/// is one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CompilerProcess {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// When it is killed. Default: 120 s.
    pub timeout: Duration,
    /// The address space it may have, in bytes, where the system can limit that (Unix). Default: 4 GiB.
    pub memory_bytes: u64,
}

/// Why nothing was compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// The engine refused.
    #[error("{0:#}")]
    Engine(wasmtime::Error),
    /// The process could not be started or spoken to.
    #[error("the compiler process `{}`: {error}", program.display())]
    Process {
        /// The program.
        program: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// It was stopped.
    #[error("compiling took longer than {0:?}")]
    TimedOut(Duration),
    /// It ended without code: refused, out of memory, or crashed.
    #[error("the compiler process ended with {status}: {said}")]
    Failed {
        /// How it ended.
        status: std::process::ExitStatus,
        /// What it said.
        said: String,
    },
}

/// The environment variable that tells the process its limit on memory.
const MEMORY_VARIABLE: &str = "AMPOULE_COMPILER_MEMORY";

/// Compiled code that is taken from the process at most.
const CODE_BYTES: u64 = 2 << 30;

impl Compiler {
    /// Compiles a module for this crate's engine.
    pub(super) fn compile(&self, module: &[u8]) -> Result<Vec<u8>, CompileError> {
        match self {
            Compiler::InProcess => compile(module).map_err(CompileError::Engine),
            Compiler::Process(process) => process.compile(module),
        }
    }
}

fn compile(module: &[u8]) -> wasmtime::Result<Vec<u8>> {
    engine::compiler()?.precompile_module(module)
}

impl CompilerProcess {
    /// A process of this program with these arguments.
    pub fn new(program: impl Into<PathBuf>, arguments: impl IntoIterator<Item = impl Into<String>>) -> Self {
        CompilerProcess {
            program: program.into(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            timeout: Duration::from_secs(120),
            memory_bytes: 4 << 30,
        }
    }

    /// What such a process does: reads a module from standard input, after its length in eight bytes, lowest first, and
    /// writes the code to standard output. When standard input ends before that, so does the process: whoever started it
    /// is no more.
    ///
    /// Errors: the module cannot be compiled, or a stream fails. They are to be said on standard error, and the process
    /// is to end with a code other than 0.
    pub fn serve() -> Result<(), CompileError> {
        let serve = || {
            limit_memory()?;
            let mut length = [0; 8];
            io::stdin().lock().read_exact(&mut length)?;
            let length = u64::from_le_bytes(length);
            let module = read(Some(io::stdin().lock()), length)?;
            if (module.len() as u64) < length {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
            std::thread::spawn(end_with_standard_input);
            let code = compile(&module)?;
            io::stdout().lock().write_all(&code)?;
            wasmtime::Result::Ok(())
        };
        serve().map_err(CompileError::Engine)
    }

    fn compile(&self, module: &[u8]) -> Result<Vec<u8>, CompileError> {
        let failed = |error| CompileError::Process { program: self.program.clone(), error };
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // It needs nothing of this process's environment, but Windows cannot start a program without some of its own.
        if cfg!(unix) {
            command.env_clear();
        }
        command.env(MEMORY_VARIABLE, self.memory_bytes.to_string());
        let mut child = Running(command.spawn().map_err(failed)?);
        let (stdin, stdout, stderr) = (child.0.stdin.take(), child.0.stdout.take(), child.0.stderr.take());
        std::thread::scope(|scope| {
            // A process that ends without having read it all has said why on its standard error.
            let given = scope.spawn(move || {
                let mut stdin = stdin?;
                let length = (module.len() as u64).to_le_bytes();
                stdin.write_all(&length).and_then(|()| stdin.write_all(module)).ok()?;
                Some(stdin)
            });
            let code = scope.spawn(move || read(stdout, CODE_BYTES));
            let said = scope.spawn(move || read(stderr, 4096));
            let ended = child.wait(self.timeout);
            // Open until now: its end tells the process that this one is gone.
            drop(given.join());
            // Killed or not, its streams are closed now.
            let code = code.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            let said = said.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()));
            match ended.map_err(failed)? {
                None => Err(CompileError::TimedOut(self.timeout)),
                Some(status) if status.success() => code.map_err(failed),
                Some(status) => {
                    let said = String::from_utf8_lossy(&said.map_err(failed)?).trim().to_owned();
                    Err(CompileError::Failed { status, said })
                }
            }
        })
    }
}

fn read(stream: Option<impl Read>, bytes: u64) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    if let Some(stream) = stream {
        stream.take(bytes).read_to_end(&mut read)?;
    }
    Ok(read)
}

/// Ends this process when its standard input ends.
fn end_with_standard_input() {
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    std::process::exit(1);
}

/// A process that does not outlive its use.
struct Running(Child);

impl Running {
    /// Waits for its end, and kills it when that does not come in time.
    fn wait(&mut self, timeout: Duration) -> io::Result<Option<std::process::ExitStatus>> {
        const PAUSE: Duration = Duration::from_millis(2);
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            if start.elapsed() >= timeout {
                self.0.kill()?;
                self.0.wait()?;
                return Ok(None);
            }
            std::thread::sleep(PAUSE);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Gives this process the limit it was told.
#[cfg(unix)]
fn limit_memory() -> wasmtime::Result<()> {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let Ok(bytes) = std::env::var(MEMORY_VARIABLE) else { return Ok(()) };
    let limit = |bytes| Rlimit { current: Some(bytes), maximum: Some(bytes) };
    setrlimit(Resource::As, limit(bytes.parse()?))?;
    // A crash is to be an error, not a file of gigabytes.
    setrlimit(Resource::Core, limit(0))?;
    Ok(())
}

/// There is no such limit here: the timeout alone stops it.
#[cfg(not(unix))]
fn limit_memory() -> wasmtime::Result<()> {
    Ok(())
}

//! The executor: what a host calls.

mod extras;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::Limits;
use crate::memory::Reset;
use crate::runtime::record::DriverRecord;
use crate::runtime::{Home, LoadError, Loading, Program};
use crate::sandbox::{Call, CallError, Filter, RunError, Sandbox, ScratchRoot, Stdin, Ticker};
use crate::script::{Origin, Outcome, ScriptRequest, content_sha256};
pub use extras::Extras;

/// Something that runs scripts: ours, or anybody's.
///
/// One executor serves every call, concurrently, for the life of the process. It decides *where* a script runs;
/// *whether* it runs is decided before it is called.
#[async_trait::async_trait]
pub trait ScriptExecutor: Send + Sync {
    /// Runs one script.
    ///
    /// A script that fails, times out or crashes is an [`Outcome`]. A cancelled call returns
    /// [`ExecuteError::Cancelled`] at once and leaves nothing running.
    async fn execute(&self, request: ScriptRequest, cancel: CancellationToken) -> Result<Outcome, ExecuteError>;

    /// Runs one script with arguments, variables, folders or streams of its own, which tasks have.
    ///
    /// An executor that does not know them refuses them, as this does ([`ExecuteError::Unsupported`]): to leave one out
    /// would be to run another call than was asked for.
    async fn execute_with(
        &self,
        request: ScriptRequest,
        extras: Extras,
        cancel: CancellationToken,
    ) -> Result<Outcome, ExecuteError> {
        if extras.is_empty() { self.execute(request, cancel).await } else { Err(ExecuteError::Unsupported) }
    }

    /// Files and folders of the host that no task may be shown: where its code lies, and what other calls have. Default: none.
    fn private_places(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Why a script did not run, or its outcome is unknown. Never the script's own fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExecuteError {
    /// The caller cancelled the call.
    #[error("the call was cancelled")]
    Cancelled,
    /// The executor was built by another process, of which this one is a copy (`fork`). Build one after the fork.
    #[error("the executor was built before this process was forked, and serves only the process that built it")]
    OtherProcess,
    /// The interpreter is not on the allow-list.
    #[error("`{interpreter}` is not on the executor's allow-list, which holds: {allowed}")]
    NotAllowed {
        /// What was asked for.
        interpreter: String,
        /// What there is.
        allowed: String,
    },
    /// The executor does not run scripts of this origin.
    #[error("scripts of origin {0:?} are not run here")]
    UnsupportedOrigin(Origin),
    /// The executor runs the contract's requests alone.
    #[error(
        "the executor takes no arguments, variables, files, folders or streams beside the request: use one that does, \
         such as `WasmExecutor`"
    )]
    Unsupported,
    /// The text is not the one whose digest was given.
    #[error("the script's SHA-256 is {found}, but the request says {expected}")]
    ContentMismatch {
        /// The text's digest.
        found: String,
        /// The request's.
        expected: String,
    },
    /// The call itself cannot be made.
    #[error(transparent)]
    Refused(#[from] CallError),
    /// The temporary directory could not be made or filled.
    #[error("the call's temporary directory: {0}")]
    Scratch(std::io::Error),
    /// What the script left could not be copied. It ran, and its directory is gone.
    #[error("the script ran, but its files could not be kept in `{}`: {error}", target.display())]
    Keep {
        /// Where they were to go.
        target: PathBuf,
        /// Why they did not.
        error: std::io::Error,
    },
    /// The engine failed, for want of address space or memory.
    #[error("the sandbox failed: {0:#}")]
    Engine(wasmtime::Error),
    /// What failed in an executor of yours.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl From<RunError> for ExecuteError {
    fn from(error: RunError) -> ExecuteError {
        match error {
            RunError::Cancelled => ExecuteError::Cancelled,
            RunError::Refused(error) => ExecuteError::Refused(error),
            RunError::Scratch(error) => ExecuteError::Scratch(error),
            RunError::Keep { target, error } => ExecuteError::Keep { target, error },
            RunError::Engine(error) => ExecuteError::Engine(error),
        }
    }
}

/// Why an executor could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A runtime on the allow-list cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A limit cannot be meant.
    #[error(transparent)]
    Limits(#[from] crate::limits::LimitsError),
    /// No folder for temporary directories.
    #[error(
        "no temporary directory can be made in `{}`: {error}; choose another folder (TMPDIR, or TMP on Windows)",
        path.display()
    )]
    Scratch {
        /// The folder.
        path: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// A ceiling under which something on a service's allow-list could never run.
    #[error(
        "`memory` of {of} is {ceiling} bytes, but `{value}` needs {bytes} to begin with, for its image `{image}`: raise \
         it, or take `{value}` off the allow-list"
    )]
    Memory {
        /// Whose ceiling.
        of: String,
        /// The value on the allow-list.
        value: String,
        /// Its smallest image.
        image: String,
        /// The image's memory, in bytes.
        bytes: u64,
        /// The ceiling, in bytes.
        ceiling: u64,
    },
    /// No thread for the clock that stops guests.
    #[error("the thread that stops scripts on time cannot be started: {0}")]
    Clock(std::io::Error),
    /// The engine refused the runtime.
    #[error("the runtime image `{image}` cannot be linked: {error:#}")]
    Link {
        /// Which image.
        image: String,
        /// Why.
        error: wasmtime::Error,
    },
}

/// Runs scripts in WebAssembly, in this process.
pub struct WasmExecutor {
    /// By allow-list value. Two values may name one image, which is loaded once.
    sandboxes: HashMap<String, Arc<Sandbox>>,
    limits: Limits,
    home: PathBuf,
    scratch: ScratchRoot,
    ticker: Ticker,
}

impl WasmExecutor {
    /// An executor that allows nothing yet, with [`Limits::default`], the runtimes in `home`, temporary directories in
    /// the system's folder for them, and the fastest [`Reset`] there is.
    pub fn builder(home: Home) -> WasmExecutorBuilder {
        WasmExecutorBuilder {
            home,
            allowed: Vec::new(),
            limits: Limits::default(),
            scratch: std::env::temp_dir(),
            reset: None,
            keep: std::thread::available_parallelism().map_or(4, usize::from) * 4,
        }
    }

    /// The values on the allow-list, sorted.
    pub fn allowed(&self) -> Vec<&str> {
        self.sandboxes.keys().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The limits of a call that comes as a [`ScriptRequest`]; a [`Call`] brings its own.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What an image of the allow-list takes of `memory_bytes` before its script does anything.
    #[cfg(feature = "serve")]
    pub(crate) fn image_bytes(&self, interpreter: &str) -> Option<u64> {
        self.sandboxes.get(interpreter).map(|sandbox| sandbox.program.image_bytes as u64)
    }

    /// An empty folder beside the calls' directories, as private as they are, and removed as they are.
    #[cfg(feature = "serve")]
    pub(crate) fn folder(&self) -> std::io::Result<crate::sandbox::Scratch> {
        self.scratch.scratch()
    }

    /// Runs one call of the runtime behind the allow-list value `interpreter`, under the call's own limits.
    ///
    /// It is awaited in a tokio runtime with its timer on, which computing guests share: one that computes gives way
    /// every 10 ms. Dropping the future ends the call and leaves nothing running.
    ///
    /// A script that fails is an [`Outcome`]. Errors: [`ExecuteError::NotAllowed`] and [`ExecuteError::Refused`]
    /// before anything starts; [`ExecuteError::Cancelled`] when `cancel` is; the others when the host's disk or memory
    /// does not suffice.
    pub async fn call(
        &self,
        interpreter: &str,
        call: Call,
        cancel: &CancellationToken,
    ) -> Result<Outcome, ExecuteError> {
        let sandbox = self.sandboxes.get(interpreter).ok_or_else(|| ExecuteError::NotAllowed {
            interpreter: interpreter.to_owned(),
            allowed: match self.allowed().as_slice() {
                [] => "nothing".to_owned(),
                allowed => allowed.join(", "),
            },
        })?;
        if !self.scratch.is_of_this_process() {
            return Err(ExecuteError::OtherProcess);
        }
        Ok(sandbox.run(call, &self.scratch, &self.ticker, cancel).await?)
    }
}

#[async_trait::async_trait]
impl ScriptExecutor for WasmExecutor {
    async fn execute(&self, request: ScriptRequest, cancel: CancellationToken) -> Result<Outcome, ExecuteError> {
        self.execute_with(request, Extras::default(), cancel).await
    }

    async fn execute_with(
        &self,
        request: ScriptRequest,
        extras: Extras,
        cancel: CancellationToken,
    ) -> Result<Outcome, ExecuteError> {
        let found = content_sha256(&request.content);
        if found != request.content_sha256 {
            return Err(ExecuteError::ContentMismatch { found, expected: request.content_sha256 });
        }
        let mut limits = self.limits.clone();
        limits.timeout = Some(limits.timeout.map_or(request.timeout, |ours| ours.min(request.timeout)));
        limits.stdout_bytes = limits.stdout_bytes.min(request.max_output_bytes);
        limits.stderr_bytes = limits.stderr_bytes.min(request.max_output_bytes);
        let mut call = Call::new(request.content).name(request.script_name).limits(limits);
        call.skill = Some(request.skill_name);
        call.arguments = extras.arguments;
        call.environment = extras.environment;
        call.files = extras.files;
        call.folders = extras.folders;
        call.stdout = extras.stdout;
        call.stderr = extras.stderr;
        if let Some(arguments) = request.arguments_json {
            call.stdin = Stdin::Bytes(arguments.into());
        }
        self.call(&request.interpreter, call, &cancel).await
    }

    fn private_places(&self) -> Vec<PathBuf> {
        vec![self.home.clone(), self.scratch.path().to_owned()]
    }
}

/// Builds a [`WasmExecutor`]. Nothing is allowed that is not named here.
#[derive(Debug, Clone)]
pub struct WasmExecutorBuilder {
    home: Home,
    allowed: Vec<(String, String)>,
    limits: Limits,
    scratch: PathBuf,
    reset: Option<Reset>,
    keep: usize,
}

impl WasmExecutorBuilder {
    /// Lets requests that say `interpreter` run on the installed image `image`. Of two images for one value the later
    /// counts; one image may have many values.
    pub fn allow(mut self, interpreter: impl Into<String>, image: impl Into<String>) -> Self {
        self.allowed.push((interpreter.into(), image.into()));
        self
    }

    /// The ceilings of each [`ScriptRequest`], which can ask for less but never for more. A [`Call`] brings its own
    /// limits, and these do not hold for it. Default: [`Limits::default`].
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// The folder that temporary directories are made in, which must exist. Default: the system's.
    pub fn scratch_folder(mut self, folder: impl AsRef<Path>) -> Self {
        self.scratch = folder.as_ref().to_owned();
        self
    }

    /// How memory slots are reset. Default: [`Reset::best`]. A way that this system lacks makes the build fail, or each
    /// slot be thrown away after its call.
    pub fn reset(mut self, reset: Reset) -> Self {
        self.reset = Some(reset);
        self
    }

    /// How many idle memory slots and stacks are kept ready for each image. Default: four for each core.
    pub fn keep_idle(mut self, slots: usize) -> Self {
        self.keep = slots;
        self
    }

    /// Loads the runtimes and starts the thread that keeps time. Installs nothing: a runtime that is missing is an
    /// error that names the command ([`BuildError::Load`]). Takes some milliseconds for each image, without awaiting.
    pub fn build(self) -> Result<WasmExecutor, BuildError> {
        self.limits.check()?;
        let loading = Loading { reset: self.reset.unwrap_or_else(Reset::best), keep: self.keep };
        let mut images = Images::new(&self.home, loading);
        let mut sandboxes = HashMap::new();
        for (interpreter, image) in self.allowed {
            sandboxes.insert(interpreter, images.sandbox(&image)?);
        }
        let engines = images.loaded().map(|sandbox| sandbox.program.engine.weak()).collect();
        Ok(WasmExecutor {
            sandboxes,
            limits: self.limits,
            home: self.home.root().to_owned(),
            scratch: ScratchRoot::new(&self.scratch)
                .map_err(|error| BuildError::Scratch { path: self.scratch, error })?,
            ticker: Ticker::start(engines).map_err(BuildError::Clock)?,
        })
    }
}

/// The images of an executor, each loaded once.
struct Images<'a> {
    home: &'a Home,
    loading: Loading,
    sandboxes: HashMap<String, Arc<Sandbox>>,
    filters: HashMap<String, Arc<Sandbox>>,
}

impl Images<'_> {
    fn new(home: &Home, loading: Loading) -> Images<'_> {
        Images { home, loading, sandboxes: HashMap::new(), filters: HashMap::new() }
    }

    /// The image with the filters that its files go through.
    fn sandbox(&mut self, image: &str) -> Result<Arc<Sandbox>, BuildError> {
        if let Some(sandbox) = self.sandboxes.get(image) {
            return Ok(sandbox.clone());
        }
        let mut sandbox = self.load(image)?;
        for transform in sandbox.program.transforms.clone() {
            let filter = self.filter(image, &transform.with)?;
            sandbox.filters.push(Filter { transform, sandbox: filter });
        }
        Ok(self.sandboxes.entry(image.to_owned()).insert_entry(Arc::new(sandbox)).get().clone())
    }

    /// A program that files of `image` go through. Its own files go through none.
    fn filter(&mut self, image: &str, filter: &str) -> Result<Arc<Sandbox>, BuildError> {
        if let Some(sandbox) = self.filters.get(filter) {
            return Ok(sandbox.clone());
        }
        let sandbox = self.load(filter)?;
        if sandbox.program.driver != DriverRecord::Program {
            return Err(LoadError::NoFilter { name: image.to_owned(), filter: filter.to_owned() }.into());
        }
        Ok(self.filters.entry(filter.to_owned()).insert_entry(Arc::new(sandbox)).get().clone())
    }

    fn load(&self, image: &str) -> Result<Sandbox, BuildError> {
        let program = Program::load(self.home, image, self.loading)?;
        Sandbox::new(program).map_err(|error| BuildError::Link { image: image.to_owned(), error })
    }

    fn loaded(&self) -> impl Iterator<Item = &Sandbox> {
        self.sandboxes.values().chain(self.filters.values()).map(Arc::as_ref)
    }
}

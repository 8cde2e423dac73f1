//! Run scripts nobody vouches for, sealed inside WebAssembly.
//!
//! Each call gets a fresh wasmtime store: a memory of its own, its own fuel and deadline, one temporary directory, and
//! nothing else of the host. An interpreter starts from an image of its memory, which takes a fraction of what the
//! operating system needs to start the native one.
//!
//! ```no_run
//! use ampoule::{Call, CancellationToken, Home, WasmExecutor};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Installed once, by `ampoule runtime install python`.
//! let executor = WasmExecutor::builder(Home::from_env()?).allow("python", "python").build()?;
//! let call = Call::new("import sys; print(sum(map(int, sys.argv[1:])))").arguments(["20", "22"]);
//! let outcome = executor.call("python", call, &CancellationToken::new()).await?;
//! assert_eq!(outcome.stdout_text(), "42\n");
//! # Ok(())
//! # }
//! ```
//!
//! The parts, from the top: an [`Installer`] puts a runtime of the [`Catalog`] into a [`Home`]; a [`WasmExecutor`]
//! loads it and makes [`Call`]s under [`Limits`]; an [`Outcome`] says how the script ended. [`ScriptExecutor`] is the
//! seam for hosts that may run their scripts elsewhere too, and with the feature `contract` there is a suite that holds
//! any of them to its claims. With the feature `host` there is a control plane to stand before an executor, which decides
//! who may run what and writes it down, and with `task` tasks in several languages that run through it.

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "contract")]
pub mod contract;
mod executor;
#[cfg(feature = "host")]
pub mod host;
mod install;
mod limits;
#[cfg(feature = "mcp")]
pub mod mcp;
mod memory;
#[cfg(feature = "host")]
pub mod permissions;
#[cfg(feature = "serve")]
pub mod runner;
mod runtime;
mod sandbox;
mod script;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(feature = "task")]
pub mod task;

/// What an implementation of [`ScriptExecutor`] is marked with; of the crate `async-trait`.
pub use async_trait::async_trait;
#[cfg(feature = "client")]
pub use client::{HttpError, HttpExecutor};
pub use executor::{BuildError, ExecuteError, Extras, ScriptExecutor, WasmExecutor, WasmExecutorBuilder};
pub use install::{
    ArchiveError, CompileError, Compiler, CompilerProcess, FetchError, From as InstallFrom, InstallError, Installer,
    Other, OwnImage, PROGRAM_BYTES, ProgramError, State, Step, TEXT_BYTES, assembled,
};
pub use limits::{Limits, LimitsError};
pub use memory::Reset;
pub use runtime::{
    Catalog, CatalogError, Driver, Extract, GraftError, Home, HomeError, ImageSpec, LoadError, Manifest, ManifestError,
    Mount, Recipe, RecordError, Source, SplitError, Transform, mentions,
};
pub use sandbox::{Access, Call, CallError, Folder, InputFile, Sink, Stdin};
pub use script::{Origin, Outcome, ScriptRequest, Status, TRAP_EXIT_CODE, Usage, content_sha256};
/// Cancels calls; of the crate `tokio-util`.
pub use tokio_util::sync::CancellationToken;

//! Why an install failed.

use std::io;
use std::path::PathBuf;

use super::{ArchiveError, CompileError, FetchError, ProgramError};
use crate::runtime::{CatalogError, GraftError, HomeError, SplitError};

/// Why a runtime was not installed. What was installed before is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The name is unknown or the recipe is damaged.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The home cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The package could not be fetched or is the wrong one.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The package does not hold what the manifest wants from it.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The module cannot be used.
    #[error("the module `{module}`: {error}")]
    Module {
        /// The module's path in the source.
        module: String,
        /// Why not.
        error: SplitError,
    },
    /// The functions to add to the module do not fit it.
    #[error("the graft `{graft}` of the module `{module}`: {error}")]
    Graft {
        /// The file beside the manifest.
        graft: String,
        /// The module's path in the source.
        module: String,
        /// Why not.
        error: GraftError,
    },
    /// The file is no program that can be run.
    #[error("the program cannot be run: {0}")]
    Program(ProgramError),
    /// The compiler failed, or was stopped.
    #[error("`{name}` could not be compiled: {error}")]
    Compile {
        /// Which runtime.
        name: String,
        /// Why.
        error: CompileError,
    },
    /// The engine failed.
    #[error("the engine cannot be set up for `{name}`: {error:#}")]
    Engine {
        /// Which runtime.
        name: String,
        /// Why.
        error: wasmtime::Error,
    },
    /// A warm-up failed.
    #[error("the image `{image}` could not be made: {problem}")]
    WarmUp {
        /// Which image.
        image: String,
        /// What happened, with what the warm-up wrote.
        problem: String,
    },
    /// A file could not be written: the disk is full, say.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// Which file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

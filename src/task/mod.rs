//! Tasks in several languages: defined once, run through the control plane, each sealed and with the permissions it names.
//!
//! A [`TaskSet`] is a folder with a `tasks.toml`; a [`TaskRunner`] runs its tasks through a
//! [`ScriptHost`](crate::host::ScriptHost): its gates, its audit, its slots. What a task may do is in its
//! [`Permissions`](crate::permissions::Permissions), which no runtime gets around: nothing, unless it says more, and never
//! more than the host's `max_permissions`.
//!
//! ```
//! use ampoule::CancellationToken;
//! use ampoule::task::{TaskCall, TaskEvent, TaskRunner};
//! use tokio_stream::StreamExt;
//!
//! # async fn run(runner: TaskRunner) -> Result<(), Box<dyn std::error::Error>> {
//! let mut run = runner.start("hello", TaskCall::new().args(["--name", "Ada"]), &CancellationToken::new())?;
//! while let Some(event) = run.next().await {
//!     if let TaskEvent::Line { text, .. } = event {
//!         println!("{text}");
//!     }
//! }
//! println!("{:?}", run.result().await?.result);
//! # Ok(())
//! # }
//! ```

mod attempt;
mod environment;
mod error;
mod lines;
mod program;
mod result;
mod run;
mod runner;
mod runtime;
mod set;
// A task's definition, in the module that is named for all of it.
#[allow(clippy::module_inception, reason = "the file holds the type that the module is named for")]
mod task;
mod trace;

pub use error::TaskError;
pub use program::TaskProgram;
pub use result::{TaskResult, TaskStatus};
pub use run::{StreamName, TaskEvent, TaskRun};
pub use runner::{TaskCall, TaskRunner, TaskRunnerBuilder};
pub use runtime::{RuntimeError, TaskRuntime};
pub use set::{TaskSet, TaskSetError};
pub use task::{DEFAULT_TIMEOUT, NoEntrypoint, Task, TaskBuilder, TaskDefinitionError, WithEntrypoint};
pub use trace::{TraceContext, TraceError};

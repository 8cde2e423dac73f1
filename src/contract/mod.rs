//! The contract: twelve claims that every executor must hold, as tests that anyone can run. Feature `contract`.
//!
//! An executor of your own (a container, a micro-VM, a client of a remote runner) implements
//! [`ScriptExecutor`](crate::ScriptExecutor); one macro call in its tests makes a named test of each [`Claim`]:
//!
//! ```
//! # use ampoule::{async_trait, CancellationToken, ExecuteError, Outcome, ScriptExecutor, ScriptRequest};
//! # struct MyExecutor;
//! # impl MyExecutor { fn connect() -> MyExecutor { MyExecutor } }
//! # #[async_trait]
//! # impl ScriptExecutor for MyExecutor {
//! #     async fn execute(&self, _: ScriptRequest, _: CancellationToken) -> Result<Outcome, ExecuteError> {
//! #         unimplemented!()
//! #     }
//! # }
//! #[cfg(test)]
//! mod contract {
//!     use ampoule::contract::{Scripts, Subject};
//!
//!     use super::MyExecutor;
//!
//!     ampoule::executor_contract!(my_executor, || Subject::new(MyExecutor::connect(), "sh", Scripts::sh()));
//!     ampoule::contract_coverage!(executor: my_executor);
//! }
//! ```
//!
//! The tests are `contract::my_executor::stdin_carries_the_arguments` and so on. A [`Subject`] says what is tested and how:
//! the allow-list value, the scripts (in `sh`, Python and JavaScript here, each to be replaced for another language), how late a
//! timeout may come. [`Subject::skip`] leaves the suite out where a runtime is missing, and says so.
//!
//! Without the macro, [`check`] tests one claim and returns what does not hold as a [`Violation`].

mod claim;
mod claims;
mod macros;
mod resident;
mod scripts;
mod subject;
mod trial;
mod violation;

pub use claim::Claim;
pub use scripts::Scripts;
pub use subject::Subject;
pub use violation::Violation;

/// Tests one claim. To be awaited in a tokio runtime with its timer on and more than one thread.
///
/// The first thing that does not hold is the error. Takes as long as [`Subject::timeout`] a few times at most, when the
/// executor keeps its word.
pub async fn check(claim: Claim, subject: &Subject) -> Result<(), Violation> {
    claims::check(claim, subject).await.map_err(|broken| Violation { claim, broken })
}

/// Tests one claim in a runtime of its own, and panics with the [`Violation`]: what [`executor_contract!`] makes of
/// each claim. A subject that says why it is left out passes, with that reason on standard error.
///
/// [`executor_contract!`]: crate::executor_contract
#[track_caller]
pub fn run(claim: Claim, subject: impl FnOnce() -> Subject) {
    // More threads than one: an executor that blocks its thread must not keep the suite from noticing.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("the asynchronous runtime cannot start: {error}"));
    let result = runtime.block_on(async {
        let subject = subject();
        match subject.skip_reason() {
            Some(reason) => {
                eprintln!("skipped: {claim}: {reason}");
                Ok(())
            }
            None => check(claim, &subject).await,
        }
    });
    // An executor that never comes back must not hold up the test, too.
    runtime.shutdown_background();
    if let Err(violation) = result {
        panic!("{violation}");
    }
}

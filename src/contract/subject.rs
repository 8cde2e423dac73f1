//! What is tested: an executor, and what the suite must know about it.

use std::sync::Arc;
use std::time::Duration;

use super::Scripts;
use crate::ScriptExecutor;

/// An executor under test, and how to test it.
#[derive(Clone)]
pub struct Subject {
    pub(super) tested: Result<Arc<dyn ScriptExecutor>, String>,
    pub(super) interpreter: String,
    pub(super) scripts: Scripts,
    pub(super) timeout: Duration,
    pub(super) grace: Duration,
    pub(super) patience: Duration,
    pub(super) variables: Vec<String>,
    pub(super) leftovers: Option<Leftovers>,
}

type Leftovers = Arc<dyn Fn() -> Vec<String> + Send + Sync>;

impl Subject {
    /// An executor that runs requests whose interpreter is `interpreter` with these scripts.
    ///
    /// Defaults: scripts that are to time out get 500 ms and may end 1 s late; all others get 30 s; no variables but
    /// the contract's and those that a shell sets itself; nothing is asked about what calls leave behind.
    pub fn new(executor: impl ScriptExecutor + 'static, interpreter: impl Into<String>, scripts: Scripts) -> Subject {
        Subject {
            tested: Ok(Arc::new(executor)),
            interpreter: interpreter.into(),
            scripts,
            timeout: Duration::from_millis(500),
            grace: Duration::from_secs(1),
            patience: Duration::from_secs(30),
            variables: Vec::new(),
            leftovers: None,
        }
    }

    /// No executor, for this reason: a runtime that is not installed, a service that is not there. Each test then
    /// passes, and prints the reason.
    pub fn skip(reason: impl Into<String>) -> Subject {
        let nothing: Result<_, String> = Err(reason.into());
        Subject {
            tested: nothing,
            interpreter: String::new(),
            scripts: Scripts::sh(),
            timeout: Duration::ZERO,
            grace: Duration::ZERO,
            patience: Duration::ZERO,
            variables: Vec::new(),
            leftovers: None,
        }
    }

    /// Why the suite is left out, if it is.
    pub fn skip_reason(&self) -> Option<&str> {
        self.tested.as_ref().err().map(String::as_str)
    }

    /// The timeout of the scripts that are to run into it: longer than the executor takes to start one. They are told
    /// to take 30 s, so it is to be well below that.
    pub fn timeout(mut self, timeout: Duration) -> Subject {
        self.timeout = timeout;
        self
    }

    /// How much later than its timeout or its cancellation a call may end.
    pub fn grace(mut self, grace: Duration) -> Subject {
        self.grace = grace;
        self
    }

    /// The timeout of all other scripts: a call that takes as long is taken to hang.
    pub fn patience(mut self, patience: Duration) -> Subject {
        self.patience = patience;
        self
    }

    /// Names of variables that the executor gives every script, besides the contract's. They may have a host variable's
    /// name, but not its value.
    pub fn variables(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Subject {
        self.variables.extend(names.into_iter().map(Into::into));
        self
    }

    /// A way to see what calls have left behind: processes, containers, temporary directories. It names what is there
    /// now, is asked after a call ended, and, since the system may take its time, again until [`Subject::grace`] is
    /// over.
    pub fn leftovers(mut self, look: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Subject {
        self.leftovers = Some(Arc::new(look));
        self
    }
}

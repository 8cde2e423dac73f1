//! A call as it comes to a host, and what it gives back.

use std::collections::BTreeMap;
use std::time::Duration;

use super::audit::Ended;
use super::catalog::Script;
use super::{AuditError, Denial};
use crate::executor::{ExecuteError, Extras};
use crate::script::Outcome;

/// A script to run, by name. What it is and whether it may run, the host finds out.
#[derive(Debug)]
#[non_exhaustive]
pub struct ScriptCall {
    /// Whose call.
    pub tenant: String,
    /// The run that it is part of.
    pub run: Option<String>,
    /// The skill.
    pub skill: String,
    /// The script's name.
    pub script: String,
    /// The script's arguments as JSON, its standard input. Default: none.
    pub arguments: Option<String>,
    /// When it is to be stopped. Default: the configuration's `timeout`.
    pub timeout: Option<Duration>,
    /// What the contract's request does not carry; not every executor takes it. Default: nothing.
    pub extras: Extras,
    /// What else the audit is to say: names and sizes, never contents.
    pub detail: BTreeMap<String, String>,
    /// The script itself, in the catalog's stead.
    pub(crate) given: Option<Script>,
    /// Why it must not run, if the caller knows already.
    pub(crate) refused: Option<String>,
}

impl ScriptCall {
    /// A call outside any run, without arguments.
    pub fn new(tenant: impl Into<String>, skill: impl Into<String>, script: impl Into<String>) -> ScriptCall {
        ScriptCall {
            tenant: tenant.into(),
            run: None,
            skill: skill.into(),
            script: script.into(),
            arguments: None,
            timeout: None,
            extras: Extras::default(),
            detail: BTreeMap::new(),
            given: None,
            refused: None,
        }
    }

    /// Sets the arguments.
    pub fn arguments(mut self, arguments: impl Into<String>) -> ScriptCall {
        self.arguments = Some(arguments.into());
        self
    }

    /// Sets when it is to be stopped.
    pub fn timeout(mut self, timeout: Duration) -> ScriptCall {
        self.timeout = Some(timeout);
        self
    }

    /// The bytes of everything that the caller gives the script to read.
    pub(super) fn arguments_bytes(&self) -> usize {
        let words: usize = self.extras.arguments.iter().map(String::len).sum();
        let variables: usize = self.extras.environment.iter().map(|(name, value)| name.len() + value.len()).sum();
        self.arguments.as_ref().map_or(0, String::len) + words + variables
    }
}

/// What came of a call that ran.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HostRun {
    /// The call's name in the audit.
    pub call: String,
    /// What came of the script. Cut output ends with one notice.
    pub outcome: Outcome,
    /// How it went: the call record, as the audit has it.
    pub record: Ended,
    /// Whether the audit has the end of the call, too. Its beginning it has, or it would not have run.
    pub recorded: bool,
}

/// Why a call gave no outcome.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A gate was closed. Nothing ran.
    #[error("denied ({gate}): {denial}")]
    Denied {
        /// The call's name in the audit.
        call: String,
        /// The gate.
        gate: &'static str,
        /// Why.
        denial: Box<Denial>,
    },
    /// The audit entry could not be written. Nothing ran.
    #[error("the call was not made, since its audit entry cannot be written: {0}")]
    Unaudited(AuditError),
    /// The caller cancelled the call, or went away.
    #[error("the call was cancelled")]
    Cancelled,
    /// The executor failed.
    #[error("the executor failed: {0}")]
    Execute(ExecuteError),
    /// A fault of the host itself.
    #[error("a fault of the host itself: {0}")]
    Fault(String),
}

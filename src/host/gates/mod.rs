//! The gates, in the order in which a call passes them. The first that is closed ends it.

mod grant;
mod sizes;
mod subject;

use std::time::SystemTime;

use super::catalog::Script;
use super::grants::{ContentPin, Grant};
use super::{HostConfig, ScriptCall, Stores};

/// A call on its way through the gates, with what they found.
pub(super) struct Passage<'a> {
    pub call: &'a ScriptCall,
    pub config: &'a HostConfig,
    pub stores: &'a Stores,
    pub now: SystemTime,
    pub script: Option<Script>,
    pub grant: Option<Grant>,
    pub interpreter: Option<String>,
}

/// One gate.
#[async_trait::async_trait]
pub(super) trait Gate: Send + Sync {
    /// Its name in the audit and the metrics.
    fn name(&self) -> &'static str;
    /// Lets the call through or not.
    async fn pass(&self, passage: &mut Passage<'_>) -> Result<(), Denial>;
}

/// All of them, in order.
pub(super) const GATES: [&dyn Gate; 11] = [
    &subject::Enabled,
    &subject::Known,
    &sizes::Schema,
    &grant::Granted,
    &grant::Pinned,
    &subject::Interpreter,
    &sizes::Arguments,
    &sizes::ScriptSize,
    &subject::SafeName,
    &sizes::Timeout,
    &subject::Permitted,
];

/// Why a call was denied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Denial {
    /// No script runs on this host.
    #[error("scripts are switched off on this host: set `scripts_enabled = true` in its configuration")]
    Disabled,
    /// There is no such script.
    #[error("there is no script `{script}` in the skill `{skill}`: check both names")]
    Unknown {
        /// The skill.
        skill: String,
        /// The script.
        script: String,
    },
    /// The arguments are not what the script takes.
    #[error("the arguments of `{script}` are not what it takes: {problem}")]
    Arguments {
        /// The script.
        script: String,
        /// Where they do not fit.
        problem: String,
    },
    /// Nobody granted it.
    #[error(
        "the tenant `{tenant}` has no grant for `{skill}/{script}`: add one, \
         `ampoule grant add --tenant {tenant} --skill {skill} --script {script}`"
    )]
    NoGrant {
        /// The tenant.
        tenant: String,
        /// The skill.
        skill: String,
        /// The script.
        script: String,
    },
    /// The grant's time is over.
    #[error("the grant {grant} for `{script}` expired at {}: add another", humantime::format_rfc3339_seconds(*expired))]
    Expired {
        /// The grant.
        grant: String,
        /// The script.
        script: String,
        /// Its end.
        expired: SystemTime,
    },
    /// The grant of a stored script says nothing of its content.
    #[error(
        "the grant {grant} for the stored script `{script}` pins no content: look at the script, then add a grant with its \
         pin, {found}"
    )]
    NotPinned {
        /// The grant.
        grant: String,
        /// The script.
        script: String,
        /// The content's pin.
        found: ContentPin,
    },
    /// The content is not the one that was granted.
    #[error(
        "the content of `{script}` is not the one that the grant {grant} was given for ({pinned}): look at what changed, \
         then add a grant with the pin {found}"
    )]
    OtherContent {
        /// The grant.
        grant: String,
        /// The script.
        script: String,
        /// The grant's pin.
        pinned: ContentPin,
        /// The content's.
        found: ContentPin,
    },
    /// Nothing may run files of this kind.
    #[error(
        "`{script}` has the extension `{extension}`, which is not on the host's allow-list ({allowed}): add it under \
         `[interpreters]` in the host's configuration"
    )]
    Interpreter {
        /// The script.
        script: String,
        /// Its extension; empty for none.
        extension: String,
        /// What is on the list.
        allowed: String,
    },
    /// Something is too large.
    #[error(
        "the {what} of `{script}`: {bytes} bytes, but `{limit}` allows {allowed}; make it smaller, or have the limit raised"
    )]
    TooLarge {
        /// What.
        what: &'static str,
        /// The script.
        script: String,
        /// How large it is.
        bytes: usize,
        /// The key of the configuration.
        limit: &'static str,
        /// Its value.
        allowed: usize,
    },
    /// The name of a stored script is no plain file name.
    #[error("the stored script's name {name:?} is not safe: {problem}; give it a plain file name")]
    UnsafeName {
        /// The name.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The script asks for more time than there is.
    #[error(
        "`{script}` asks for {asked:?}, but may ask for more than nothing and at most {allowed:?} (`longest_timeout`)"
    )]
    Timeout {
        /// The script.
        script: String,
        /// What it asks for.
        asked: std::time::Duration,
        /// The most it may.
        allowed: std::time::Duration,
    },
    /// The caller's own check said no.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
    },
    /// A store did not answer, so nobody knows.
    #[error("it could not be looked up whether `{script}` may run: {problem}")]
    Unchecked {
        /// The script.
        script: String,
        /// Why.
        problem: String,
    },
}

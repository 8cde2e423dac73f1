//! What a caller asks for.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;

use crate::{Call, InputFile, Limits, Sink, Stdin};

/// The skill of a job that names none: a script finds its two variables all the same.
const NO_SKILL: &str = "default";

/// A script and what its caller gives it. `None` in a limit means the runner's ceiling; a value lowers it and never
/// raises it.
///
/// `Debug` leaves out the script's text, its input, its arguments and its files.
#[derive(Default)]
#[non_exhaustive]
pub struct Job {
    /// Whose slot it takes and whose ceilings hold.
    pub tenant: String,
    /// The allow-list value.
    pub runtime: String,
    /// The script's text.
    pub source: String,
    /// The SHA-256 that the text must have, in hexadecimal digits of either case. `None`: not checked.
    pub source_sha256: Option<String>,
    /// The script's name, as messages and `argv[0]` show it.
    pub name: Option<String>,
    /// The skill that the script belongs to. Default: `default`.
    pub skill: Option<String>,
    /// Arguments behind the script's name.
    pub arguments: Vec<String>,
    /// Standard input. `None`: at its end from the start.
    pub stdin: Option<Bytes>,
    /// Files in the script's directory.
    pub files: Vec<InputFile>,
    /// When the script is stopped.
    pub timeout: Option<Duration>,
    /// Kept bytes of each output stream.
    pub max_output_bytes: Option<usize>,
    /// Linear memory, the interpreter's included, in bytes.
    pub memory_bytes: Option<u64>,
    /// Whether the files that the script leaves are wanted.
    pub keep_files: bool,
    /// Where standard output goes as it comes, instead of into the outcome.
    pub stdout: Option<Sink>,
    /// Where standard error goes as it comes, instead of into the outcome.
    pub stderr: Option<Sink>,
    /// Is told when the job has its slot.
    pub started: Option<oneshot::Sender<()>>,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("tenant", &self.tenant)
            .field("runtime", &self.runtime)
            .field("name", &self.name)
            .field("skill", &self.skill)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

impl Job {
    /// A job of this script with nothing else.
    pub fn new(tenant: impl Into<String>, runtime: impl Into<String>, source: impl Into<String>) -> Job {
        Job { tenant: tenant.into(), runtime: runtime.into(), source: source.into(), ..Job::default() }
    }

    /// The call, under these ceilings.
    pub(super) fn into_call(self, mut limits: Limits) -> Call {
        if let Some(timeout) = self.timeout {
            limits.timeout = Some(limits.timeout.map_or(timeout, |ceiling| ceiling.min(timeout)));
        }
        if let Some(bytes) = self.max_output_bytes {
            limits.stdout_bytes = limits.stdout_bytes.min(bytes);
            limits.stderr_bytes = limits.stderr_bytes.min(bytes);
        }
        if let Some(bytes) = self.memory_bytes {
            limits.memory_bytes = limits.memory_bytes.min(bytes);
        }
        let mut call = Call::new(self.source).arguments(self.arguments).limits(limits);
        call.name = self.name;
        call.skill = Some(self.skill.unwrap_or_else(|| NO_SKILL.to_owned()));
        call.files = self.files;
        call.stdout = self.stdout;
        call.stderr = self.stderr;
        call.stdin = self.stdin.map_or(Stdin::Closed, Stdin::Bytes);
        call
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_lowers_a_ceiling_and_never_raises_it() {
        let ceiling = Limits::default();
        let lowered = Job {
            timeout: Some(Duration::from_secs(1)),
            max_output_bytes: Some(10),
            memory_bytes: Some(1 << 20),
            ..Job::default()
        };
        let limits = lowered.into_call(ceiling.clone()).limits;
        assert_eq!(limits.timeout, Some(Duration::from_secs(1)));
        assert_eq!((limits.stdout_bytes, limits.stderr_bytes, limits.memory_bytes), (10, 10, 1 << 20));
        let raised = Job {
            timeout: Some(Duration::MAX),
            max_output_bytes: Some(usize::MAX),
            memory_bytes: Some(u64::MAX),
            ..Job::default()
        };
        assert_eq!(raised.into_call(ceiling.clone()).limits, ceiling);
        assert_eq!(Job::default().into_call(ceiling.clone()).limits, ceiling);
    }

    #[test]
    fn a_job_s_text_and_input_are_not_shown() {
        let mut job = Job::new("t", "python", "secret text");
        (job.stdin, job.arguments) = (Some("secret input".into()), vec!["secret argument".into()]);
        assert!(!format!("{job:?}").contains("secret"));
    }
}

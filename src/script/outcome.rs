//! What comes out of an executor.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How a script ended. A script that fails is an outcome; a sandbox that fails is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// It ended by itself with this exit code, 0 to 255.
    Exited(u8),
    /// It was stopped at its timeout.
    TimedOut,
    /// It used up its fuel.
    OutOfFuel,
    /// It crashed: an illegal instruction, a stack overflow, memory out of bounds. Contained; on the wire it is
    /// exit code 134, what a shell shows for an aborted process.
    Trapped(String),
}

/// The exit code that stands for a trap where only a number can be given: 128 + SIGABRT.
pub const TRAP_EXIT_CODE: u8 = 134;

impl Status {
    /// The exit code, for every way to end that has one.
    pub fn exit_code(&self) -> Option<u8> {
        match self {
            Status::Exited(code) => Some(*code),
            Status::Trapped(_) => Some(TRAP_EXIT_CODE),
            Status::TimedOut | Status::OutOfFuel => None,
        }
    }

    /// The status's name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Status::Exited(_) => "exited",
            Status::TimedOut => "timedOut",
            Status::OutOfFuel => "outOfFuel",
            Status::Trapped(_) => "trapped",
        }
    }
}

/// What a call used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Usage {
    /// Units of fuel. The same for the same script, input and image, but for a few dozen units where the script works
    /// with its directory's name, which differs from call to call. For a call that was stopped at its timeout it is
    /// what was used when the guest last called the host: code that computes writes it back no sooner.
    pub fuel: u64,
    /// From the start of the guest to its end. In JSON: milliseconds.
    #[serde(rename = "wallMs", serialize_with = "milliseconds", deserialize_with = "from_milliseconds")]
    pub wall_time: Duration,
    /// The most linear memory the guest had, its image included, in bytes.
    pub peak_memory_bytes: u64,
    /// The most elements that one table had.
    pub table_elements: u64,
    /// Bytes the script read from standard input.
    pub stdin_bytes: u64,
    /// Bytes written to files in the temporary directory, in all.
    pub bytes_written: u64,
    /// The most bytes that the temporary directory held, those the host put there included.
    pub scratch_bytes: u64,
    /// The most entries that the temporary directory held.
    pub scratch_entries: u64,
    /// The most folders that lay inside each other in the temporary directory.
    pub scratch_depth: u64,
    /// The most files that were open at once, the standard streams and the mounted directories not counted.
    pub open_files: u64,
    /// The longest path, in bytes.
    pub path_bytes: u64,
    /// The most subscriptions of one poll.
    pub poll_subscriptions: u64,
    /// Random bytes the script asked for, in all.
    pub random_bytes: u64,
    /// The most bytes that one read or write moved, its list of buffers included.
    pub hostcall_bytes: u64,
    /// Bytes the script wrote to standard output, those that were dropped included.
    pub stdout_bytes: u64,
    /// Bytes the script wrote to standard error, those that were dropped included.
    pub stderr_bytes: u64,
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64() * 1000.0)
}

fn from_milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let milliseconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(milliseconds / 1000.0).map_err(serde::de::Error::custom)
}

/// What came of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Standard output, at most the cap, cut on a character boundary. Empty where a [`Sink`](crate::Sink) took it.
    pub stdout: Vec<u8>,
    /// Standard error, likewise.
    pub stderr: Vec<u8>,
    /// Whether either stream was cut.
    pub truncated: bool,
    /// What it used.
    pub usage: Usage,
}

impl Outcome {
    /// An outcome with this output, whole, and nothing used: for executors of your own.
    pub fn new(status: Status, stdout: impl Into<Vec<u8>>, stderr: impl Into<Vec<u8>>) -> Outcome {
        let (stdout, stderr) = (stdout.into(), stderr.into());
        Outcome { status, stdout, stderr, truncated: false, usage: Usage::default() }
    }

    /// The outcome with each stream cut after at most `bytes` bytes, on a character boundary; `truncated` then says so.
    pub fn capped(mut self, bytes: usize) -> Outcome {
        for stream in [&mut self.stdout, &mut self.stderr] {
            if stream.len() > bytes {
                stream.truncate(bytes);
                stream.truncate(whole_characters(stream));
                self.truncated = true;
            }
        }
        self
    }

    /// Standard output as text; bytes that are not UTF-8 are replaced.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text; bytes that are not UTF-8 are replaced.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// The length of `bytes` without the beginning of a UTF-8 character whose end is missing. Bytes that are no UTF-8 at
/// all are left alone.
pub(crate) fn whole_characters(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    for (back, byte) in tail.iter().rev().enumerate() {
        let needed = match byte {
            0x80..=0xBF => continue,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => 1,
        };
        let there = back + 1;
        return if there < needed { bytes.len() - there } else { bytes.len() };
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_at_the_cap_is_whole_and_one_byte_over_is_cut_between_characters() {
        let outcome = || Outcome::new(Status::Exited(0), "aé", "é");
        assert_eq!(outcome().capped(3), outcome());
        let cut = outcome().capped(2);
        assert_eq!((cut.stdout_text().as_str(), cut.stderr_text().as_str(), cut.truncated), ("a", "é", true));
        let cut = outcome().capped(0);
        assert_eq!((cut.stdout.len(), cut.stderr.len(), cut.truncated), (0, 0, true));
    }
}

//! What a call may use. One plain struct: every field has a finite default and its unit in its name or type.

use std::time::Duration;

/// The limits of one call.
///
/// Three that no call can change come on top: a guest has one instance and one memory, and a stack of
/// [`Limits::STACK_BYTES`].
///
/// [`Limits::default`] is safe for code nobody vouches for. Where `None` is possible it means "no limit" and is the
/// embedder's explicit choice. What a breach does is said on each field: either the script sees an error of its own
/// (a full disk, a failed allocation) and may handle it, or the call ends with the [`Status`](crate::Status) named.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Wall-clock time from the start of the guest to its end, compilation and loading not included. Default: 30 s.
    /// Scope: the call. On breach: [`Status::TimedOut`](crate::Status::TimedOut), with the output so far.
    pub timeout: Option<Duration>,
    /// Units of fuel, about one a WebAssembly instruction. Default: 500,000,000,000 (some minutes of computing).
    /// Scope: the call. On breach: [`Status::OutOfFuel`](crate::Status::OutOfFuel), at the next beginning of a
    /// function or of a round of a loop, the only places where fuel is looked at.
    pub fuel: Option<u64>,
    /// Linear memory, the image of the interpreter included. Default: 512 MiB. Scope: the call. On breach: the guest's
    /// allocation fails (Python raises `MemoryError`); an image that is larger than this refuses the call.
    pub memory_bytes: u64,
    /// Elements of one table. Default: 100,000. Scope: each table. On breach: growing fails in the guest; a module
    /// that starts with more refuses the call.
    pub table_elements: usize,
    /// Tables of an instance. Default: 16. On breach: the call is refused.
    pub tables: usize,
    /// Kept bytes of standard output. Default: 1 MiB. Scope: the stream. On breach: the rest is dropped, the script
    /// runs on, and the outcome says `truncated`.
    pub stdout_bytes: usize,
    /// Kept bytes of standard error. Default: 1 MiB. As for `stdout_bytes`.
    pub stderr_bytes: usize,
    /// Bytes of standard input given as a whole. Default: 64 MiB. On breach: the call is refused.
    pub stdin_bytes: usize,
    /// Bytes of the script's text. Default: 4 MiB. On breach: the call is refused.
    pub source_bytes: usize,
    /// Bytes of arguments and environment together, names included. Default: 1 MiB. On breach: the call is refused.
    pub arguments_bytes: usize,
    /// Bytes of the files in the temporary directory, holes included, and of the paths that symbolic links hold.
    /// Default: 256 MiB. Scope: the call. On breach: the guest's write fails with `ENOSPC`; a call that brings more is
    /// refused.
    pub scratch_bytes: u64,
    /// Files, directories and links in the temporary directory. Default: 10,000. On breach: the guest's create fails
    /// with `ENOSPC`; a call that brings more is refused.
    pub scratch_entries: u64,
    /// Folders inside each other in the temporary directory. Default: 128. On breach: the guest's create or rename fails
    /// with `ENAMETOOLONG`; a call that brings deeper ones is refused.
    pub scratch_depth: usize,
    /// Bytes of one path that the guest names. Default: 4,096. On breach: the guest's call fails with `ENAMETOOLONG`.
    pub path_bytes: usize,
    /// Descriptors open at once, the standard streams and the mounted directories not counted. Default: 256. On
    /// breach: the guest's open fails with `EMFILE`.
    pub open_files: usize,
    /// Subscriptions of one `poll_oneoff`. Default: 1,024. On breach: the guest's poll fails with `EINVAL`.
    pub poll_subscriptions: u32,
    /// Random bytes of one request, which is answered without a look at the clock. Default: 4 MiB. On breach: the guest
    /// traps ([`Status::Trapped`](crate::Status::Trapped)).
    pub random_bytes: u64,
    /// Bytes that the host may copy or allocate for what the guest names in one host call: the buffer of a read or a
    /// write, a path, a poll's subscriptions. A directory listing is bounded by `scratch_entries` instead. Default:
    /// 128 MiB. On breach: the guest's call fails with `ENOMEM`.
    pub hostcall_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: usize = 1 << 20;
        Limits {
            timeout: Some(Duration::from_secs(30)),
            fuel: Some(500_000_000_000),
            memory_bytes: 512 << 20,
            table_elements: 100_000,
            tables: 16,
            stdout_bytes: MIB,
            stderr_bytes: MIB,
            stdin_bytes: 64 * MIB,
            source_bytes: 4 * MIB,
            arguments_bytes: MIB,
            scratch_bytes: 256 << 20,
            scratch_entries: 10_000,
            scratch_depth: 128,
            path_bytes: 4096,
            open_files: 256,
            poll_subscriptions: 1024,
            random_bytes: 4 << 20,
            hostcall_bytes: 128 * MIB,
        }
    }
}

/// The longest timeout that is taken as one: a year. A longer one is a mistake in the caller's arithmetic, and would
/// overflow the clock of some platforms.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// A limit whose value cannot be meant.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the limit `{name}` is {value}, but {expected}")]
pub struct LimitsError {
    name: &'static str,
    value: String,
    expected: &'static str,
}

impl LimitsError {
    /// The name of the field of [`Limits`].
    pub fn limit(&self) -> &'static str {
        self.name
    }
}

impl Limits {
    /// The stack of a guest, in bytes: calls inside each other, each with what it keeps meanwhile. Scope: the call. On
    /// breach: [`Status::Trapped`](crate::Status::Trapped), unless the interpreter has a bound of its own that comes
    /// first, as Python's recursion limit does. It belongs to the engine that runs an image and is the same for all.
    pub const STACK_BYTES: usize = 8 << 20;

    /// Checks that each value can be meant: no zero where nothing could run, no memory beyond what 32-bit
    /// WebAssembly addresses, no timeout beyond a year.
    pub fn check(&self) -> Result<(), LimitsError> {
        let refuse = |name, value: String, expected| Err(LimitsError { name, value, expected });
        if let Some(timeout) = self.timeout {
            if timeout.is_zero() {
                return refuse("timeout", format!("{timeout:?}"), "it must be longer than zero; `None` means no limit");
            }
            if timeout > LONGEST_TIMEOUT {
                return refuse("timeout", format!("{timeout:?}"), "it may be a year at most; `None` means no limit");
            }
        }
        if self.fuel == Some(0) {
            return refuse("fuel", "0".into(), "it must be at least 1; `None` means no limit");
        }
        if self.memory_bytes > 4 << 30 {
            let expected = "a 32-bit WebAssembly memory holds 4294967296 bytes (4 GiB) at most";
            return refuse("memory_bytes", self.memory_bytes.to_string(), expected);
        }
        if self.memory_bytes == 0 {
            return refuse("memory_bytes", "0".into(), "it must be at least as large as the runtime's image");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_accepted() {
        Limits::default().check().unwrap();
    }

    #[test]
    fn values_that_cannot_be_meant_are_refused_by_name() {
        let refused = |change: fn(&mut Limits)| {
            let mut limits = Limits::default();
            change(&mut limits);
            limits.check().unwrap_err().to_string()
        };
        assert!(refused(|l| l.timeout = Some(Duration::ZERO)).contains("`timeout` is 0ns"));
        assert!(refused(|l| l.timeout = Some(Duration::MAX)).contains("a year at most"));
        assert!(refused(|l| l.fuel = Some(0)).contains("`fuel` is 0"));
        assert!(refused(|l| l.memory_bytes = 0).contains("`memory_bytes` is 0"));
        assert!(refused(|l| l.memory_bytes = (4 << 30) + 1).contains("4294967297"));
    }

    #[test]
    fn the_largest_values_that_can_be_meant_are_accepted() {
        let limits =
            Limits { timeout: Some(LONGEST_TIMEOUT), fuel: Some(u64::MAX), memory_bytes: 4 << 30, ..Limits::default() };
        limits.check().unwrap();
    }
}

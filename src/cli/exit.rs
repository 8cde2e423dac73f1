//! Exit codes: the script's own, or one of these.

use std::io;

use ampoule::host::HostError;
use ampoule::task::TaskError;
use ampoule::{CallError, CatalogError, ExecuteError, InstallError, LimitsError};

/// The command did what it was asked to.
pub const OK: u8 = 0;
/// The script was stopped at its timeout or ran out of fuel.
pub const TIMED_OUT: u8 = 124;
/// The script was not run, or the sandbox failed: wrong usage, an unreadable script, a failed install.
pub const FAILED: u8 = 125;
/// The call is not allowed: it is beyond a limit, or not on an allow-list.
pub const NOT_ALLOWED: u8 = 126;
/// There is no such runtime, or it is not installed and must not be.
pub const NO_RUNTIME: u8 = 127;
/// Interrupted from the terminal: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;
/// Whoever read the output went away: 128 + SIGPIPE.
pub const BROKEN_PIPE: u8 = 141;

/// Asked to end by the system or another program: 128 + SIGTERM.
pub const TERMINATED: u8 = 143;

/// The table for `--help`.
pub const HELP: &str = "\
Exit codes of `run`: the script's own, or
  124  the script was stopped at its timeout or ran out of fuel
  125  the script was not run, or the sandbox failed
  126  the call is not allowed (beyond a limit, or denied by the host)
  127  there is no such runtime, or it is not installed
  130  interrupted
  134  the script crashed inside the sandbox (a trap)
  141  whoever read the output went away
  143  asked to end (SIGTERM)";

/// Not ready, and the user said not to install.
#[derive(Debug, thiserror::Error)]
#[error("the runtime `{image}` {why}, and --no-install was given: run `ampoule runtime install {image}`")]
pub struct NotInstalled {
    pub image: String,
    /// How it is.
    pub why: String,
}

/// Not compiled, and the user said not to.
#[derive(Debug, thiserror::Error)]
#[error("the program `{0}` is not compiled yet, and --no-install was given: run `ampoule compile {0}`")]
pub struct NotCompiled(pub String);

/// The exit code for a command that failed.
pub fn code_of(error: &anyhow::Error) -> u8 {
    for cause in error.chain() {
        if let Some(error) = cause.downcast_ref::<ExecuteError>() {
            return match error {
                ExecuteError::Refused(_) | ExecuteError::NotAllowed { .. } => NOT_ALLOWED,
                ExecuteError::Cancelled => INTERRUPTED,
                _ => FAILED,
            };
        }
        if let Some(TaskError::Host { error, .. }) = cause.downcast_ref() {
            let denied = matches!(
                **error,
                HostError::Denied { .. }
                    | HostError::Execute(ExecuteError::Refused(_) | ExecuteError::NotAllowed { .. })
            );
            return if denied { NOT_ALLOWED } else { FAILED };
        }
        // An error that is shown as another one stands in the chain in its place.
        let catalog = match cause.downcast_ref() {
            Some(InstallError::Catalog(error)) => Some(error),
            _ => cause.downcast_ref(),
        };
        let no_runtime =
            matches!(catalog, Some(CatalogError::NoSuchRuntime { .. } | CatalogError::NoSuchExtension { .. }));
        if no_runtime || cause.is::<NotInstalled>() || cause.is::<NotCompiled>() {
            return NO_RUNTIME;
        }
        if cause.is::<LimitsError>() {
            return NOT_ALLOWED;
        }
        if cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
            return BROKEN_PIPE;
        }
    }
    FAILED
}

/// The option that sets the limit which an error is about, for those that have one.
pub fn option_of(error: &anyhow::Error) -> Option<&'static str> {
    let limit = error.chain().find_map(|cause| {
        if let Some(error) = cause.downcast_ref::<LimitsError>() {
            return Some(error.limit());
        }
        match cause.downcast_ref::<ExecuteError>()? {
            ExecuteError::Refused(CallError::TooLarge { limit, .. }) => Some(*limit),
            ExecuteError::Refused(CallError::ImageTooLarge { .. }) => Some("memory_bytes"),
            ExecuteError::Refused(CallError::Limits(error)) => Some(error.limit()),
            _ => None,
        }
    });
    match limit? {
        "timeout" => Some("--timeout"),
        "fuel" => Some("--fuel"),
        "memory_bytes" => Some("--memory"),
        "scratch_bytes" => Some("--max-disk"),
        _ => None,
    }
}

//! What an agent should know when a script fails for what a sandbox does not have. It comes beside the script's own
//! error, which says what failed but not why, nor what to do instead.

use crate::{Limits, Outcome};

/// A part of an error's text, and what it means here.
const KNOWN: [(&[&str], Hint); 7] = [
    (&["MemoryError", "InternalError: out of memory", "sh: out of memory", "Unable to allocate"], Hint::Memory),
    (&["No space left on device", "ENOSPC"], Hint::Disk),
    (
        &["[Errno 58] Not supported", "there is no network in this sandbox", "network access not configured"],
        Hint::Network,
    ),
    (&["does not support processes", "there are no processes in this sandbox"], Hint::Processes),
    (&["can't start new thread"], Hint::Threads),
    (&["ModuleNotFoundError", "MODULE_NOT_FOUND"], Hint::Modules),
    (&["module 'os' has no attribute 'system'", "module 'os' has no attribute 'fork'"], Hint::Processes),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    Memory,
    Disk,
    Network,
    Processes,
    Threads,
    Modules,
}

impl Hint {
    fn text(self, limits: &Limits) -> String {
        match self {
            Hint::Memory => format!(
                "MemoryError: the limit is {} MiB, the interpreter included; work on less at a time",
                limits.memory_bytes >> 20
            ),
            Hint::Disk => format!("the limit on files is {} MiB", limits.scratch_bytes >> 20),
            Hint::Network => {
                "no network in this sandbox: give what the code needs as `files` or `stdin`, or put it into the code"
                    .into()
            }
            Hint::Processes => "no processes in this sandbox: do it in the language itself".into(),
            Hint::Threads => "no threads in this sandbox: do it in one".into(),
            Hint::Modules => {
                "no packages can be installed in this sandbox: use what is there, or give the module as one of `files`"
                    .into()
            }
        }
    }
}

/// The hints for what a failed script wrote to standard error, each once.
pub fn hints(outcome: &Outcome, limits: &Limits) -> Vec<String> {
    let stderr = outcome.stderr_text();
    let mut found = Vec::new();
    for (texts, hint) in KNOWN {
        if !found.contains(&hint) && texts.iter().any(|text| stderr.contains(text)) {
            found.push(hint);
        }
    }
    found.into_iter().map(|hint| hint.text(limits)).collect()
}

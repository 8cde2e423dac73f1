//! The twelve claims by name.

use std::fmt;

/// One thing that every executor does. The numbers are those of the contract's table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Claim {
    /// 1: standard input carries the arguments, byte for byte, multi-byte text included.
    StdinCarriesTheArguments,
    /// 2: without arguments, standard input is at its end at once.
    NoArgumentsIsEndOfInput,
    /// 3: an empty script exits 0 with empty streams.
    AnEmptyScriptSucceeds,
    /// 4: the exit code and standard error come back; the two streams stay apart.
    ExitCodeAndStreamsComeBack,
    /// 5: output over the cap is cut on a character boundary and flagged, not annotated; at the cap it is neither; each
    /// stream has its own cap; the script runs on; an endless writer is stopped by the timeout, and memory stays flat.
    OutputIsCutAtTheCap,
    /// 6: a script past its timeout is timed out, without an exit code, within the grace, with what it wrote: one that
    /// sleeps, computes, or waits for input or a child, and one whose child outlives it.
    ATimeoutStopsTheScript,
    /// 7: a cancelled call returns `Cancelled` at once and leaves nothing running.
    CancellationStopsTheScript,
    /// 8: the two variables of the skill are there; no variable of the host is.
    TheHostsEnvironmentIsNotThere,
    /// 9: two calls at once have different temporary directories, each writable, each its own, gone afterwards.
    EachCallHasItsOwnDirectory,
    /// 10: the content of a request runs, even when its `source_path` names an existing file.
    TheContentRunsNotTheFile,
    /// 11: a script that never reads a large standard input ends normally.
    UnreadInputDoesNotBlock,
    /// 12: many tasks use the executor at once, and it still serves after a timeout, a cancellation and a crash.
    TheExecutorKeepsServing,
}

impl Claim {
    /// All of them, in order.
    pub const ALL: [Claim; 12] = [
        Claim::StdinCarriesTheArguments,
        Claim::NoArgumentsIsEndOfInput,
        Claim::AnEmptyScriptSucceeds,
        Claim::ExitCodeAndStreamsComeBack,
        Claim::OutputIsCutAtTheCap,
        Claim::ATimeoutStopsTheScript,
        Claim::CancellationStopsTheScript,
        Claim::TheHostsEnvironmentIsNotThere,
        Claim::EachCallHasItsOwnDirectory,
        Claim::TheContentRunsNotTheFile,
        Claim::UnreadInputDoesNotBlock,
        Claim::TheExecutorKeepsServing,
    ];

    /// Its number in the contract, from 1.
    pub fn number(self) -> usize {
        self as usize + 1
    }

    /// The name of its test.
    pub fn name(self) -> &'static str {
        match self {
            Claim::StdinCarriesTheArguments => "stdin_carries_the_arguments",
            Claim::NoArgumentsIsEndOfInput => "no_arguments_is_end_of_input",
            Claim::AnEmptyScriptSucceeds => "an_empty_script_succeeds",
            Claim::ExitCodeAndStreamsComeBack => "exit_code_and_streams_come_back",
            Claim::OutputIsCutAtTheCap => "output_is_cut_at_the_cap",
            Claim::ATimeoutStopsTheScript => "a_timeout_stops_the_script",
            Claim::CancellationStopsTheScript => "cancellation_stops_the_script",
            Claim::TheHostsEnvironmentIsNotThere => "the_hosts_environment_is_not_there",
            Claim::EachCallHasItsOwnDirectory => "each_call_has_its_own_directory",
            Claim::TheContentRunsNotTheFile => "the_content_runs_not_the_file",
            Claim::UnreadInputDoesNotBlock => "unread_input_does_not_block",
            Claim::TheExecutorKeepsServing => "the_executor_keeps_serving",
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "claim {}, {}", self.number(), self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_claim_is_listed_once_under_its_number() {
        for (index, claim) in Claim::ALL.into_iter().enumerate() {
            assert_eq!(claim.number(), index + 1);
        }
    }
}

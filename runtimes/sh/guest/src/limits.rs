//! The interpreter's own limits, raised: the host's fuel, time and memory are what stops a script.

use std::time::Duration;

use bashkit::{ExecutionLimits, MemoryLimits, SessionLimits};

/// Longer than any call, and short enough to be added to a clock.
const ENDLESS: Duration = Duration::from_secs(1 << 30);

pub fn execution() -> ExecutionLimits {
    let mut limits = ExecutionLimits::new()
        .max_work_units(u64::MAX)
        .max_aggregate_input_bytes(u64::MAX)
        .max_live_intermediate_bytes(u64::MAX)
        .max_commands(usize::MAX)
        .max_loop_iterations(usize::MAX)
        .max_total_loop_iterations(usize::MAX)
        // How deep commands nest is bounded by the stack that is left: see the mend `nesting`.
        .max_function_depth(usize::MAX)
        .max_subst_depth(usize::MAX)
        .max_subshell_depth(usize::MAX)
        // With no deadline to look at, it does not ask for the time at every step.
        .timeout(Duration::MAX)
        .parser_timeout(ENDLESS)
        .max_input_bytes(usize::MAX)
        .max_ast_depth(usize::MAX)
        .max_parser_operations(usize::MAX)
        .max_stdout_bytes(usize::MAX)
        .max_stderr_bytes(usize::MAX)
        .max_word_split_fields(usize::MAX)
        .max_word_split_bytes(usize::MAX)
        .max_background_jobs(256);
    // A script has no history.
    limits.max_history_entries = 0;
    limits.max_history_bytes = 0;
    limits.max_history_output_bytes = 0;
    limits
}

pub fn session() -> SessionLimits {
    SessionLimits::unlimited()
}

pub fn memory() -> MemoryLimits {
    MemoryLimits::unlimited()
}

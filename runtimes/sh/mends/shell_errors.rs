//! The errors of the shell itself, in POSIX mode: their status is 2, and one of a special built-in utility, of an
//! expansion, or of an assignment ends the shell, or the subshell that it happens in.

use super::{ControlFlow, ExecResult, Interpreter};
use crate::error::Result;

/// The status of the shell's own errors.
const STATUS: i32 = 2;

/// Such an error on its way to the command that it belongs to, which decides whether the shell ends. No command gives
/// this status by itself.
pub(super) const SHELL_ERROR: i32 = STATUS | 0x200;

impl Interpreter {
    /// An error after which a shell that nobody talks to does not go on.
    pub(super) fn end_of_shell(&mut self, message: String) -> ExecResult {
        self.last_exit_code = STATUS;
        ExecResult { control_flow: ControlFlow::Exit(STATUS), ..ExecResult::err(message, STATUS) }
    }

    /// `result` is that of a failed redirection, or of something else that the shell could not begin.
    pub(super) fn shell_error(&self, mut result: ExecResult) -> ExecResult {
        if self.is_posix_mode() {
            result.exit_code = SHELL_ERROR;
        }
        result
    }

    /// The status of an error: the shell's own in POSIX mode, else the one that bash has.
    pub(super) fn error_status(&self, bash: i32) -> i32 {
        if self.is_posix_mode() { SHELL_ERROR } else { bash }
    }

    /// Settles the result of a simple command: whether an error was one of a special built-in utility.
    pub(super) fn settle_simple(&self, name: &str, result: &mut Result<ExecResult>) {
        let Ok(result) = result else { return };
        if result.exit_code == 0 || result.control_flow != ControlFlow::None || !self.is_posix_mode() {
            return;
        }
        if name == "local" || self.posix_special_builtin(name) {
            // What `:`, `.`, `eval` and `trap` give otherwise is not about how they are used.
            let misused = matches!(name, "export" | "local" | "readonly" | "set" | "shift" | "times" | "unset");
            if result.exit_code == SHELL_ERROR || misused {
                result.exit_code = STATUS;
                result.control_flow = ControlFlow::Exit(STATUS);
            }
        } else if matches!(name, "bg" | "cd" | "fg" | "jobs" | "umask")
            && result.exit_code == 1
            && !self.scoped.functions.contains_key(name)
        {
            result.exit_code = STATUS;
        }
    }

    /// Settles the result of any command: where bash would go on with the next line, the shell ends.
    pub(super) fn settle(&mut self, result: &mut Result<ExecResult>) {
        let Ok(result) = result else { return };
        if result.exit_code == SHELL_ERROR {
            result.exit_code = STATUS;
        }
        if result.control_flow == ControlFlow::Abort && !self.interactive && self.is_posix_mode() {
            self.last_exit_code = STATUS;
            result.exit_code = STATUS;
            result.control_flow = ControlFlow::Exit(STATUS);
        }
    }

    /// Looks at the one argument that these utilities take, a number without a sign. The result, if it is not for the
    /// utility to give.
    pub(super) fn take_count(&self, name: &str, args: &mut Vec<String>) -> Option<ExecResult> {
        let least = match name {
            "break" | "continue" => 1,
            "exit" | "return" | "shift" => 0,
            _ => return None,
        };
        if !self.is_posix_mode() {
            return None;
        }
        args.truncate(1);
        let count = match args.first() {
            None => None,
            Some(word) => match word.parse::<i32>() {
                Ok(count) if count >= least && word.starts_with(|first: char| first.is_ascii_digit()) => Some(count),
                _ => {
                    let message = self.diag(format!("{name}: Illegal number: {word}\n"));
                    return Some(ExecResult::err(message, SHELL_ERROR));
                }
            },
        };
        if name != "return" || self.in_trap {
            return None;
        }
        let status = count.unwrap_or(self.last_exit_code);
        let inside = self.source_depth > 0 || self.call_stack.iter().any(|frame| frame.keeps_arg0);
        let flow = if inside { ControlFlow::Return(status) } else { ControlFlow::Exit(status) };
        Some(ExecResult { control_flow: flow, ..ExecResult::with_code(String::new(), status) })
    }
}

//! What ends a script from outside: its exit status and what is said about it.

use bashkit::Error;

use crate::streams;

/// The status of a shell that cannot go on: a syntax error, a bad request, a nesting that is too deep.
const CANNOT_GO_ON: i32 = 2;

/// The status when the interpreter itself is at fault, which no command of a script gives by itself.
const INTERNAL: i32 = 125;

/// Why a script did not run to its end.
pub struct Failure {
    message: String,
}

impl Failure {
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure { message: message.into() }
    }

    /// From the interpreter's error about the script `source`, named `name`.
    pub fn of(error: &Error, name: &str, source: &str) -> Failure {
        if let Some(report) = error.syntax_report(name, source) {
            return Failure { message: report.trim_end().to_owned() };
        }
        let message = match error {
            Error::Execution(message) => message.clone(),
            error => error.to_string(),
        };
        Failure { message: format!("{name}: {message}") }
    }

    /// Writes the message to standard error and returns the exit status.
    pub fn report(&self, name: &str) -> i32 {
        let prefix = if self.message.starts_with(name) { String::new() } else { format!("{name}: ") };
        streams::write_stderr(format!("{prefix}{}\n", self.message).as_bytes());
        CANNOT_GO_ON
    }
}

/// Says that there is no memory left, with none, and ends the shell.
pub fn end_without_memory() -> ! {
    streams::write_stderr(b"sh: out of memory\n");
    std::process::exit(CANNOT_GO_ON);
}

/// A panic says one line and ends the shell: its text is for nobody who runs scripts.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|_| {
        streams::write_stderr(b"sh: internal error\n");
        std::process::exit(INTERNAL);
    }));
}

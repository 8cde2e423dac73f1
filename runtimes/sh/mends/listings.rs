//! What `export -p` and `readonly -p` list.

use super::Interpreter;
use crate::builtins::quoting::quoted;

impl Interpreter {
    /// The line for a variable: in POSIX mode the command `cmd` that would set it.
    pub(super) fn listing_line(&self, cmd: &str, name: &str) -> Option<String> {
        if !matches!(cmd, "export" | "readonly") || !self.is_posix_mode() {
            return self.format_declare_line(name);
        }
        let value = self.scoped.variables.get(name).or_else(|| self.env.get(name));
        Some(match value {
            Some(value) => format!("{cmd} {name}={}\n", quoted(value)),
            None => format!("{cmd} {name}\n"),
        })
    }
}

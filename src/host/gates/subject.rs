//! Gates about what is to run: whether scripts run at all, whether there is such a one, what runs it, how it is named.

use super::super::audit::clipped;
use super::{Denial, Gate, Passage};
use crate::script::Origin;

/// Scripts run on this host.
pub(in crate::host) struct Enabled;

#[async_trait::async_trait]
impl Gate for Enabled {
    fn name(&self) -> &'static str {
        "enabled"
    }

    async fn pass(&self, passage: &mut Passage<'_>) -> Result<(), Denial> {
        if passage.config.scripts_enabled { Ok(()) } else { Err(Denial::Disabled) }
    }
}

/// There is such a script.
pub(in crate::host) struct Known;

#[async_trait::async_trait]
impl Gate for Known {
    fn name(&self) -> &'static str {
        "known"
    }

    async fn pass(&self, passage: &mut Passage<'_>) -> Result<(), Denial> {
        let call = passage.call;
        let script = clipped(&call.script);
        passage.script = match &call.given {
            Some(given) => Some(given.clone()),
            None => {
                let found = passage.stores.catalog.find(&call.tenant, &call.skill, &call.script).await;
                found.map_err(|error| Denial::Unchecked { script: script.clone(), problem: error.to_string() })?
            }
        };
        if passage.script.is_some() { Ok(()) } else { Err(Denial::Unknown { skill: clipped(&call.skill), script }) }
    }
}

/// Its extension is on the allow-list.
pub(in crate::host) struct Interpreter;

#[async_trait::async_trait]
impl Gate for Interpreter {
    fn name(&self) -> &'static str {
        "interpreter"
    }

    async fn pass(&self, passage: &mut Passage<'_>) -> Result<(), Denial> {
        let (script, name) = passage.script()?;
        let extension = script.extension().unwrap_or_default();
        let Some(listed) = passage.config.interpreter(extension) else {
            let allowed: Vec<&str> = passage.config.interpreters.keys().map(String::as_str).collect();
            let allowed = if allowed.is_empty() { "nothing".to_owned() } else { allowed.join(", ") };
            return Err(Denial::Interpreter { script: name, extension: clipped(extension), allowed });
        };
        passage.interpreter = Some(script.interpreter.clone().unwrap_or_else(|| listed.to_owned()));
        Ok(())
    }
}

/// A stored script's name is a plain file name.
pub(in crate::host) struct SafeName;

#[async_trait::async_trait]
impl Gate for SafeName {
    fn name(&self) -> &'static str {
        "safe-name"
    }

    async fn pass(&self, passage: &mut Passage<'_>) -> Result<(), Denial> {
        let (script, shown) = passage.script()?;
        if script.origin != Origin::Stored {
            return Ok(());
        }
        match unsafe_because(&script.name) {
            None => Ok(()),
            Some(problem) => Err(Denial::UnsafeName { name: shown, problem }),
        }
    }
}

/// What the caller found out beforehand: a task that asks for more than the host allows is refused here, so that it is
/// written down as every other.
pub(in crate::host) struct Permitted;

#[async_trait::async_trait]
impl Gate for Permitted {
    fn name(&self) -> &'static str {
        "permissions"
    }

    async fn pass(&self, passage: &mut Passage<'_>) -> Result<(), Denial> {
        match &passage.call.refused {
            None => Ok(()),
            Some(reason) => Err(Denial::Refused { reason: reason.clone() }),
        }
    }
}

fn unsafe_because(name: &str) -> Option<&'static str> {
    match name {
        _ if name.trim().is_empty() => Some("it is blank"),
        "." | ".." => Some("it names a folder"),
        _ if name.starts_with(['/', '\\']) => Some("it begins at the root"),
        _ if name.contains(['/', '\\', ':']) => Some("it holds `/`, `\\` or `:`"),
        _ if name.chars().any(char::is_control) => Some("it holds a control character"),
        _ if name.len() > 255 => Some("it has more than 255 bytes"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_file_names_are_safe() {
        for name in ["", " ", ".", "..", "/a", "\\a", "a/b", "a\\b", "C:a", "a\nb", "a\0"] {
            assert!(unsafe_because(name).is_some(), "{name:?}");
        }
        for name in ["a.py", "..a", "a b.sh", "名.py", ".hidden"] {
            assert_eq!(unsafe_because(name), None, "{name:?}");
        }
        assert!(unsafe_because(&"x".repeat(255)).is_none() && unsafe_because(&"x".repeat(256)).is_some());
    }
}

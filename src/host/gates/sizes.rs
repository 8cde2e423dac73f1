//! Gates about how much: the arguments and what they must be, the script's size, its time.

use super::super::audit::clipped;
use super::super::catalog::Script;
use super::{Denial, Gate, Passage};

impl Passage<'_> {
    /// The script and its name for messages. A gate that needs it comes behind the one that finds it.
    pub(super) fn script(&self) -> Result<(&Script, String), Denial> {
        let name = clipped(&self.call.script);
        match &self.script {
            Some(script) => Ok((script, name)),
            None => Err(Denial::Unknown { skill: clipped(&self.call.skill), script: name }),
        }
    }
}

/// The arguments are what the script takes.
pub(in crate::host) struct Schema;

#[async_trait::async_trait]
impl Gate for Schema {
    fn name(&self) -> &'static str {
        "schema"
    }

    async fn pass(&self, passage: &mut Passage<'_>) -> Result<(), Denial> {
        let (script, name) = passage.script()?;
        let Some(schema) = &script.schema else { return Ok(()) };
        // Too large ones are not worth reading; their own gate comes later and must not be paid for here.
        let arguments = passage.call.arguments.as_deref();
        if arguments.is_some_and(|arguments| arguments.len() > passage.config.max_arguments_bytes) {
            return Ok(());
        }
        schema.check(arguments).map_err(|problem| Denial::Arguments { script: name, problem })
    }
}

/// The arguments are not too many.
pub(in crate::host) struct Arguments;

#[async_trait::async_trait]
impl Gate for Arguments {
    fn name(&self) -> &'static str {
        "arguments-size"
    }

    async fn pass(&self, passage: &mut Passage<'_>) -> Result<(), Denial> {
        let bytes = passage.call.arguments_bytes();
        at_most("arguments", bytes, "max_arguments_bytes", passage.config.max_arguments_bytes, passage)
    }
}

/// The script is not too long.
pub(in crate::host) struct ScriptSize;

#[async_trait::async_trait]
impl Gate for ScriptSize {
    fn name(&self) -> &'static str {
        "script-size"
    }

    async fn pass(&self, passage: &mut Passage<'_>) -> Result<(), Denial> {
        let bytes = passage.script()?.0.content.len();
        at_most("text", bytes, "max_script_bytes", passage.config.max_script_bytes, passage)
    }
}

fn at_most(
    what: &'static str,
    bytes: usize,
    limit: &'static str,
    allowed: usize,
    passage: &Passage<'_>,
) -> Result<(), Denial> {
    if bytes <= allowed {
        return Ok(());
    }
    Err(Denial::TooLarge { what, script: clipped(&passage.call.script), bytes, limit, allowed })
}

/// The script does not ask for more time than it may.
pub(in crate::host) struct Timeout;

#[async_trait::async_trait]
impl Gate for Timeout {
    fn name(&self) -> &'static str {
        "timeout"
    }

    async fn pass(&self, passage: &mut Passage<'_>) -> Result<(), Denial> {
        let allowed = passage.config.longest_timeout;
        match passage.call.timeout {
            Some(asked) if asked.is_zero() || asked > allowed => {
                Err(Denial::Timeout { script: clipped(&passage.call.script), asked, allowed })
            }
            _ => Ok(()),
        }
    }
}

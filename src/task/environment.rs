//! The variables that a task's script finds.

use std::collections::BTreeMap;

use super::task::is_variable;
use super::trace::TraceContext;
use super::{Task, TaskCall, TaskError};

/// The variables of a call: the host's that the task may have, then the task's, then the call's, then the trace's; the
/// later win. Nothing else of the host's is there.
pub(super) fn merged(
    task: &Task,
    call: &TaskCall,
    allowed: &[String],
    trace: &TraceContext,
) -> Result<Vec<(String, String)>, TaskError> {
    if let Some(name) = call.env.keys().find(|name| !is_variable(name)) {
        return Err(TaskError::Call {
            task: task.id.clone(),
            what: "a variable's name",
            value: name.clone(),
            expected: "a name is not empty and holds no `=`",
        });
    }
    let mut variables = BTreeMap::new();
    for name in allowed {
        match std::env::var(name) {
            Ok(value) => drop(variables.insert(name.clone(), value)),
            Err(std::env::VarError::NotPresent) => {}
            Err(std::env::VarError::NotUnicode(_)) => {
                return Err(TaskError::Variable { task: task.id.clone(), variable: name.clone() });
            }
        }
    }
    let own = task.env.iter().chain(&call.env).map(|(name, value)| (name.clone(), value.clone()));
    variables.extend(own.chain(trace.variables()));
    Ok(variables.into_iter().collect())
}

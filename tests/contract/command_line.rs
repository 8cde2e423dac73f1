//! Our executor, called as the program `ampoule run`: a process for each call.

use std::process::Stdio;
use std::sync::Arc;

use ampoule::contract::{Scripts, Subject};
use ampoule::{
    CancellationToken, ExecuteError, Outcome, ScriptExecutor, ScriptRequest, async_trait, contract_coverage,
    executor_contract,
};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::program::Place;

struct Program {
    place: Arc<Place>,
    image: &'static str,
}

impl Program {
    fn command(&self, request: &ScriptRequest, script: &str) -> Command {
        let ScriptRequest { timeout, max_output_bytes, skill_name, .. } = request;
        let mut command = Command::from(self.place.script(["--json", "--isolated", "--runtime", self.image]));
        command.args(["--timeout", &format!("{}us", timeout.as_micros())]);
        command.args(["--max-output", &max_output_bytes.to_string(), "--skill", skill_name]);
        command.arg(script).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }
}

#[async_trait]
impl ScriptExecutor for Program {
    async fn execute(&self, request: ScriptRequest, cancel: CancellationToken) -> Result<Outcome, ExecuteError> {
        if cancel.is_cancelled() {
            return Err(ExecuteError::Cancelled);
        }
        let script = tempfile::NamedTempFile::new_in(self.place.path("")).map_err(other)?;
        std::fs::write(script.path(), &request.content).map_err(other)?;
        let mut command = self.command(&request, &script.path().display().to_string());
        if request.arguments_json.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().map_err(other)?;
        if let (Some(mut stdin), Some(arguments)) = (child.stdin.take(), request.arguments_json) {
            // A script need not read it.
            tokio::spawn(async move { stdin.write_all(arguments.as_bytes()).await });
        }
        let id = child.id();
        let ended = child.wait_with_output();
        tokio::pin!(ended);
        let output = tokio::select! {
            output = &mut ended => output.map_err(other)?,
            () = cancel.cancelled() => {
                end(id);
                ended.await.map_err(other)?;
                return Err(ExecuteError::Cancelled);
            }
        };
        serde_json::from_slice(&output.stdout).map_err(|error| {
            let stderr = String::from_utf8_lossy(&output.stderr);
            other(format!("{error} in {:?}; standard error: {stderr}", String::from_utf8_lossy(&output.stdout)))
        })
    }
}

/// Asks a process to end.
#[cfg(unix)]
fn end(id: Option<u32>) {
    let id = id.and_then(|id| rustix::process::Pid::from_raw(id.try_into().ok()?));
    if let Some(id) = id {
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }
}

#[cfg(windows)]
fn end(id: Option<u32>) {
    if let Some(id) = id {
        std::process::Command::new("taskkill").args(["/F", "/PID", &id.to_string()]).output().unwrap();
    }
}

fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ExecuteError {
    ExecuteError::Other(error.into())
}

fn subject(image: &'static str, scripts: Scripts) -> Subject {
    let place = Arc::new(Place::new());
    let left = place.clone();
    let leftovers = move || left.left().iter().map(|path| path.display().to_string()).collect();
    // Starting the program comes on top of the script's own time.
    Subject::new(Program { place, image }, image, scripts).leftovers(leftovers)
}

executor_contract!(sh, || subject("sh", Scripts::sh()));
executor_contract!(python, || subject("python", Scripts::python().without_children()));
executor_contract!(javascript, || subject("javascript", Scripts::javascript().without_children()));

contract_coverage!(executor: sh);
contract_coverage!(executor: python);
contract_coverage!(executor: javascript);

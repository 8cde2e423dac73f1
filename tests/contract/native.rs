//! A plain process on the host's shell: no sandbox, but every claim that a process can hold. It shows that the suite is
//! about any executor, not about ours.

use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use ampoule::contract::{Scripts, Subject};
use ampoule::{
    CancellationToken, ExecuteError, Outcome, ScriptExecutor, ScriptRequest, Status, async_trait, contract_coverage,
    executor_contract,
};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// Runs each script with `sh` in a process group of its own, in a directory under this one.
struct Process(Arc<TempDir>);

/// Ends every process of a group when it is dropped, so that no way out leaves one running.
struct Group(Pid);

impl Drop for Group {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = kill_process_group(self.0, Signal::KILL);
    }
}

#[async_trait]
impl ScriptExecutor for Process {
    async fn execute(&self, request: ScriptRequest, cancel: CancellationToken) -> Result<Outcome, ExecuteError> {
        if cancel.is_cancelled() {
            return Err(ExecuteError::Cancelled);
        }
        let directory = TempDir::new_in(self.0.path()).map_err(other)?;
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &request.content, &request.script_name]).env_clear().current_dir(directory.path());
        command.envs([("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8"), ("TRACON_SKILL_NAME", &request.skill_name)]);
        for name in ["HOME", "TMPDIR", "TRACON_SKILL_TEMP"] {
            command.env(name, directory.path());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = Command::from(command).spawn().map_err(other)?;
        let group = child.id().and_then(|id| Pid::from_raw(id.try_into().ok()?)).map(Group);
        let mut stdin = child.stdin.take();
        tokio::spawn(async move {
            if let (Some(stdin), Some(arguments)) = (&mut stdin, &request.arguments_json) {
                // A script need not read it.
                let _ = stdin.write_all(arguments.as_bytes()).await;
            }
        });
        let cap = request.max_output_bytes;
        let stdout = tokio::spawn(keep(child.stdout.take(), cap));
        let stderr = tokio::spawn(keep(child.stderr.take(), cap));
        let status = tokio::select! {
            status = child.wait() => {
                let status = status.map_err(other)?;
                let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or_default();
                Status::Exited(u8::try_from(code).unwrap_or(u8::MAX))
            }
            () = tokio::time::sleep(request.timeout) => Status::TimedOut,
            () = cancel.cancelled() => return Err(ExecuteError::Cancelled),
        };
        // Also a child that outlived the script: it holds the streams open.
        drop(group);
        let (stdout, stderr) = (stdout.await.map_err(other)?, stderr.await.map_err(other)?);
        Ok(Outcome::new(status, stdout, stderr).capped(cap))
    }
}

/// Reads a stream to its end, and keeps one byte more than the cap, which shows that there was more.
async fn keep(stream: Option<impl AsyncRead + Unpin>, cap: usize) -> Vec<u8> {
    let (mut kept, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    let Some(mut stream) = stream else { return kept };
    while let Ok(read @ 1..) = stream.read(&mut piece).await {
        let room = (cap + 1).saturating_sub(kept.len());
        kept.extend_from_slice(&piece[..read.min(room)]);
    }
    kept
}

fn other(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> ExecuteError {
    ExecuteError::Other(error.into())
}

fn subject() -> Subject {
    let root = Arc::new(tempfile::tempdir().unwrap());
    let path = root.path().to_owned();
    let leftovers = move || {
        let directories = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        directories.chain(processes_in(&path)).map(|left| left.display().to_string()).collect()
    };
    Subject::new(Process(root), "sh", Scripts::sh()).leftovers(leftovers)
}

/// The processes that work below a folder, where the system tells.
fn processes_in(folder: &PathBuf) -> impl Iterator<Item = PathBuf> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
    processes.filter(move |process| std::fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
}

executor_contract!(sh, super::subject);
contract_coverage!(executor: sh);

//! Claims 3, 4, 6 and 7: how a call ends.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::contract::Subject;
use crate::contract::trial::Broken;
use crate::{ExecuteError, ScriptRequest};

pub async fn empty_script(subject: &Subject) -> Result<(), Broken> {
    let ran = subject.run("an empty script", subject.request("")).await?;
    ran.exited(0)?.stdout("")?.stderr("")?.truncated(false)?;
    Ok(())
}

pub async fn code_and_streams(subject: &Subject) -> Result<(), Broken> {
    let ran = subject.run("a script that fails", subject.request(&subject.scripts.fails)).await?;
    ran.exited(7)?.stdout("out\n")?.stderr("err\n")?.truncated(false)?;
    Ok(())
}

pub async fn timeout(subject: &Subject) -> Result<(), Broken> {
    let scripts = &subject.scripts;
    for (what, script) in [
        ("a script that sleeps", Some(&scripts.sleeps)),
        ("a script that computes", Some(&scripts.computes)),
        ("a script that waits for input", scripts.waits_for_input.as_ref()),
        ("a script that waits for a child", scripts.waits_for_child.as_ref()),
    ] {
        let Some(script) = script else { continue };
        subject.run_into_timeout(what, script).await?;
        subject.is_clean(what).await?;
    }
    if let Some(script) = &scripts.leaves_child {
        // Whether the call ends with its script or waits for the child is the executor's choice; to wait past the
        // timeout is not.
        let what = "a script whose child outlives it";
        let ran = subject.run(what, subject.short_request(script)).await?;
        ran.took(Duration::ZERO, subject.timeout + subject.grace)?.stdout("before\n")?;
        if ran.outcome.status.exit_code().is_some() {
            ran.exited(0)?;
        }
        subject.is_clean(what).await?;
    }
    Ok(())
}

pub async fn cancellation(subject: &Subject) -> Result<(), Broken> {
    let scripts = &subject.scripts;
    for (what, script) in [
        ("a script that sleeps, cancelled", Some(&scripts.sleeps)),
        ("a script that computes, cancelled", Some(&scripts.computes)),
        ("a script that waits for a child, cancelled", scripts.waits_for_child.as_ref()),
    ] {
        let Some(script) = script else { continue };
        let cancel = CancellationToken::new();
        // Time for the script to be at it.
        let wait = subject.timeout;
        let timer = tokio::spawn({
            let cancel = cancel.clone();
            async move {
                tokio::time::sleep(wait).await;
                cancel.cancel();
            }
        });
        let request = ScriptRequest { timeout: wait + 2 * subject.grace, ..subject.request(script) };
        let ended = subject.execute(what, request, cancel).await;
        timer.abort();
        is_cancelled(subject, what, ended?, wait)?;
        subject.is_clean(what).await?;
    }
    let what = "a call that was cancelled before it began";
    let cancel = CancellationToken::new();
    cancel.cancel();
    let ended = subject.execute(what, subject.short_request(&scripts.sleeps), cancel).await?;
    is_cancelled(subject, what, ended, Duration::ZERO)?;
    subject.is_clean(what).await
}

fn is_cancelled(
    subject: &Subject,
    what: &str,
    (result, time): (Result<crate::Outcome, ExecuteError>, Duration),
    cancelled_after: Duration,
) -> Result<(), Broken> {
    match result {
        Err(ExecuteError::Cancelled) if time <= cancelled_after + subject.grace => Ok(()),
        Err(ExecuteError::Cancelled) => {
            Err(format!("{what}: it ended {:?} after it was cancelled", time - cancelled_after))
        }
        other => {
            Err(format!("{what}: `Cancelled` was expected after {cancelled_after:?}, not {other:?} after {time:?}"))
        }
    }
}

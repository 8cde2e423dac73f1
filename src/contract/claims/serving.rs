//! Claims 10 and 12: what runs, and for how many.

use std::io::Write;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::contract::Subject;
use crate::contract::trial::Broken;
use crate::{ExecuteError, Origin, ScriptRequest};

/// Tasks that call the executor at once.
const TASKS: usize = 16;

pub async fn content_runs(subject: &Subject) -> Result<(), Broken> {
    let mut file = tempfile::NamedTempFile::new().map_err(|error| format!("no file can be made: {error}"))?;
    file.write_all(subject.scripts.says_file.as_bytes()).map_err(|error| format!("no file can be written: {error}"))?;
    for origin in [Origin::Stored, Origin::File] {
        let what = format!("a script of origin {origin:?} whose `source_path` names another");
        let request = ScriptRequest {
            origin,
            source_path: Some(file.path().to_owned()),
            ..subject.request(&subject.scripts.says_content)
        };
        let (result, _) = subject.execute(&what, request.clone(), CancellationToken::new()).await?;
        if origin == Origin::File && matches!(result, Err(ExecuteError::UnsupportedOrigin(_))) {
            continue;
        }
        subject.run(&what, request).await?.exited(0)?.stdout("content\n")?;
    }
    Ok(())
}

pub async fn keeps_serving(subject: &Subject) -> Result<(), Broken> {
    many_at_once(subject, "many tasks at once").await?;
    let scripts = &subject.scripts;

    subject.run("a script that times out", subject.short_request(&scripts.sleeps)).await?;
    serves(subject, "a call after one that timed out").await?;

    let cancel = CancellationToken::new();
    let after = cancel.clone();
    let timer = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        after.cancel();
    });
    // What comes of it is another claim's.
    let ended = subject.execute("a call that is cancelled", subject.short_request(&scripts.sleeps), cancel).await;
    timer.abort();
    ended.map(drop)?;
    serves(subject, "a call after one that was cancelled").await?;

    if let Some(script) = &scripts.crashes {
        let ran = subject.run("a script that crashes", subject.request(script)).await?;
        let status = &ran.outcome.status;
        ran.expect(status.exit_code() != Some(0), || format!("it was to crash, but ended as {status:?}"))?;
        serves(subject, "a call after one that crashed").await?;
    }
    many_at_once(subject, "many tasks at once after a timeout, a cancellation and a crash").await
}

async fn serves(subject: &Subject, what: &str) -> Result<(), Broken> {
    subject.run(what, subject.request(&subject.scripts.says_content)).await?.exited(0)?.stdout("content\n")?;
    Ok(())
}

/// Each gets its own answer.
async fn many_at_once(subject: &Subject, what: &'static str) -> Result<(), Broken> {
    let mut tasks = JoinSet::new();
    for number in 0..TASKS {
        let subject = subject.clone();
        tasks.spawn(async move {
            let text = format!("{{\"task\": {number}}}");
            let request =
                ScriptRequest { arguments_json: Some(text.clone()), ..subject.request(&subject.scripts.copies_input) };
            subject.run(what, request).await?.exited(0)?.stdout(&text)?;
            Ok(())
        });
    }
    tasks.join_all().await.into_iter().collect()
}

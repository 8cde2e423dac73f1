//! Claim 5: output and its cap.

use std::time::Duration;

use crate::ScriptRequest;
use crate::contract::Subject;
use crate::contract::resident::Growth;
use crate::contract::trial::Broken;

/// How much more memory the host process may hold while a script writes without end.
const FLAT: u64 = 16 << 20;

pub async fn is_cut(subject: &Subject) -> Result<(), Broken> {
    each_stream_has_its_own_cap(subject).await?;
    characters_stay_whole(subject).await?;
    an_endless_writer_is_stopped(subject).await
}

async fn each_stream_has_its_own_cap(subject: &Subject) -> Result<(), Broken> {
    // 1,000 bytes of output, then 600 of errors: these show that a script whose output was cut runs on.
    for (cap, stdout, stderr) in
        [(1001, 1000, 600), (1000, 1000, 600), (999, 999, 600), (600, 600, 600), (599, 599, 599), (1, 1, 1), (0, 0, 0)]
    {
        let request = capped(subject, &subject.scripts.writes, cap);
        let ran = subject.run(&format!("1000 and 600 bytes under a cap of {cap}"), request).await?;
        ran.exited(0)?.stdout(&"o".repeat(stdout))?.stderr(&"e".repeat(stderr))?;
        ran.truncated(stdout < 1000 || stderr < 600)?;
    }
    Ok(())
}

async fn characters_stay_whole(subject: &Subject) -> Result<(), Broken> {
    let text = "aé€😀".repeat(100);
    for cap in text.len() - 10..=text.len() {
        let whole = (0..=cap).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let request = capped(subject, &subject.scripts.writes_wide, cap);
        let ran = subject.run(&format!("{} bytes of text under a cap of {cap}", text.len()), request).await?;
        ran.exited(0)?.stdout(&text[..whole])?.truncated(cap < text.len())?;
    }
    Ok(())
}

async fn an_endless_writer_is_stopped(subject: &Subject) -> Result<(), Broken> {
    let what = "a script that writes without end";
    // Other tests of the process take memory, too, but hardly each time.
    let mut least = u64::MAX;
    for _ in 0..3 {
        let cap = 1000;
        let request =
            ScriptRequest { max_output_bytes: cap, ..subject.short_request(&subject.scripts.writes_endlessly) };
        let mut growth = Growth::new();
        let ran = tokio::select! {
            ran = subject.run(what, request) => ran?,
            () = async {
                loop {
                    growth.look();
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            } => continue,
        };
        ran.timed_out()?.truncated(true)?;
        let kept = ran.outcome.stdout.len();
        ran.expect(kept == cap, || format!("{cap} bytes were to be kept, but {kept} were"))?;
        least = least.min(growth.most());
        if least <= FLAT {
            return Ok(());
        }
    }
    Err(format!("{what}: the host process grew by {} MiB meanwhile", least >> 20))
}

fn capped(subject: &Subject, script: &str, cap: usize) -> ScriptRequest {
    ScriptRequest { max_output_bytes: cap, ..subject.request(script) }
}

//! One call of the executor under test, and what is asked of its outcome.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::Subject;
use crate::{ExecuteError, Outcome, ScriptExecutor, ScriptRequest, Status};

/// What does not hold, in words.
pub type Broken = String;

/// How much longer than its own timeout and grace a call is waited for, to say how late it is rather than that it hangs.
const LATER: Duration = Duration::from_secs(5);

/// The cap of calls that are not about it.
const MUCH_OUTPUT: usize = 4 << 20;

impl Subject {
    /// A request for this script, with much time and room for its output.
    pub fn request(&self, script: &str) -> ScriptRequest {
        let mut request = ScriptRequest::stored(&self.interpreter, "contract", script);
        request.tenant_id = "contract".into();
        request.skill_name = "contract".into();
        request.timeout = self.patience;
        request.max_output_bytes = MUCH_OUTPUT;
        request
    }

    /// A request that is to run into its timeout.
    pub fn short_request(&self, script: &str) -> ScriptRequest {
        ScriptRequest { timeout: self.timeout, ..self.request(script) }
    }

    /// Makes the call, which must come to an end. `what` says what is tried.
    pub async fn execute(
        &self,
        what: &str,
        request: ScriptRequest,
        cancel: CancellationToken,
    ) -> Result<(Result<Outcome, ExecuteError>, Duration), Broken> {
        let executor: Arc<dyn ScriptExecutor> = self.tested.clone()?;
        let longest = request.timeout + self.grace + LATER;
        let start = Instant::now();
        // In a task of its own: an executor that panics or blocks breaks a claim, not the suite.
        let call = tokio::spawn(async move { executor.execute(request, cancel).await });
        let abort = call.abort_handle();
        match tokio::time::timeout(longest, call).await {
            Ok(Ok(result)) => Ok((result, start.elapsed())),
            Ok(Err(error)) => Err(format!("{what}: the executor panicked: {error}")),
            Err(_) => {
                abort.abort();
                Err(format!("{what}: the call had not ended after {longest:?}"))
            }
        }
    }

    /// Makes a call that must come to an outcome.
    pub async fn run(&self, what: &str, request: ScriptRequest) -> Result<Ran, Broken> {
        let (result, time) = self.execute(what, request, CancellationToken::new()).await?;
        match result {
            Ok(outcome) => Ok(Ran { what: what.to_owned(), outcome, time }),
            Err(error) => Err(format!("{what}: an error instead of an outcome: {error}")),
        }
    }

    /// Makes a call that must run into its timeout, on time, and keep what it wrote.
    pub async fn run_into_timeout(&self, what: &str, script: &str) -> Result<Ran, Broken> {
        let ran = self.run(what, self.short_request(script)).await?;
        ran.timed_out()?.took(self.timeout, self.timeout + self.grace)?.stdout("before\n")?;
        Ok(ran)
    }

    /// Waits, for as long as the grace, until calls have left nothing behind.
    pub async fn is_clean(&self, what: &str) -> Result<(), Broken> {
        let Some(look) = &self.leftovers else { return Ok(()) };
        let start = Instant::now();
        loop {
            let left = look();
            if left.is_empty() {
                return Ok(());
            }
            if start.elapsed() > self.grace {
                return Err(format!("{what}: left behind: {}", left.join(", ")));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// An outcome, with what was tried and how long it took.
#[derive(Debug)]
pub struct Ran {
    what: String,
    pub outcome: Outcome,
    time: Duration,
}

impl Ran {
    /// It ended by itself with this code.
    pub fn exited(&self, code: u8) -> Result<&Ran, Broken> {
        self.expect(self.outcome.status == Status::Exited(code), || {
            let stderr = self.outcome.stderr_text();
            format!("exit code {code} was expected, not {:?}; standard error: {}", self.outcome.status, shown(&stderr))
        })
    }

    /// Its time, of the clock or of computing, was up.
    pub fn timed_out(&self) -> Result<&Ran, Broken> {
        self.expect(self.outcome.status.exit_code().is_none(), || {
            format!("a timeout was expected, not {:?}", self.outcome.status)
        })
    }

    pub fn took(&self, least: Duration, most: Duration) -> Result<&Ran, Broken> {
        let time = self.time;
        self.expect(time >= least && time <= most, || {
            format!("it was to take between {least:?} and {most:?}, but took {time:?}")
        })
    }

    pub fn stdout(&self, expected: &str) -> Result<&Ran, Broken> {
        self.stream("standard output", &self.outcome.stdout, expected)
    }

    pub fn stderr(&self, expected: &str) -> Result<&Ran, Broken> {
        self.stream("standard error", &self.outcome.stderr, expected)
    }

    pub fn truncated(&self, expected: bool) -> Result<&Ran, Broken> {
        self.expect(self.outcome.truncated == expected, || {
            format!("`truncated` was to be {expected}, but is {}", self.outcome.truncated)
        })
    }

    fn stream(&self, name: &str, found: &[u8], expected: &str) -> Result<&Ran, Broken> {
        self.expect(found == expected.as_bytes(), || {
            format!("{name} was to be {}, but is {}", shown(expected), shown(&String::from_utf8_lossy(found)))
        })
    }

    pub fn expect(&self, holds: bool, message: impl FnOnce() -> String) -> Result<&Ran, Broken> {
        if holds { Ok(self) } else { Err(format!("{}: {}", self.what, message())) }
    }
}

/// A text as a message shows it: quoted, its length and its ends when it is long.
fn shown(text: &str) -> String {
    const ENDS: usize = 40;
    let count = text.chars().count();
    if count <= 3 * ENDS {
        return format!("{text:?}");
    }
    let first: String = text.chars().take(ENDS).collect();
    let last: String = text.chars().skip(count - ENDS).collect();
    format!("{first:?}..{last:?} ({} bytes)", text.len())
}

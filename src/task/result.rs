//! What came of a task.

use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::script::{Outcome, Status, Usage};

/// Where a task is, or how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum TaskStatus {
    /// It waits for its turn.
    Pending,
    /// It runs.
    Running,
    /// It ended with 0.
    Completed,
    /// It ended with another code, crashed, or could not be run.
    Failed,
    /// It was cancelled, before or while it ran.
    Cancelled,
    /// It was stopped at its timeout, or its fuel was used up.
    Timeout,
    /// It is switched off.
    Skipped,
}

/// What came of a task. In JSON: `taskId`, `status`, `exitCode` and so on.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TaskResult {
    /// The task.
    pub task_id: String,
    /// How it ended.
    pub status: TaskStatus,
    /// Its exit code; -1 for a timeout, none when it never ended by itself or never ran.
    pub exit_code: Option<i32>,
    /// Standard output, up to the host's cap; then one notice says that something is missing.
    pub stdout: String,
    /// Standard error, likewise.
    pub stderr: String,
    /// From the start of the last attempt to its end. In JSON: milliseconds.
    #[serde(serialize_with = "milliseconds")]
    pub duration: Duration,
    /// Whether it completed.
    pub success: bool,
    /// What went wrong, for a person.
    pub error: Option<String>,
    /// The last line of standard output, when that is one JSON object, whether it completed or not.
    pub result: Option<Map<String, Value>>,
    /// When the last attempt began. In JSON: RFC 3339, UTC.
    #[serde(serialize_with = "time")]
    pub started_at: SystemTime,
    /// When it ended.
    #[serde(serialize_with = "time")]
    pub completed_at: SystemTime,
    /// Which attempt it was, from 1; 0 when nothing ran.
    pub attempt: u32,
    /// What it used.
    pub usage: Usage,
    /// The trace that it was part of: what it found as `TRACEPARENT`.
    pub traceparent: Option<String>,
}

fn milliseconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_micros() as f64 / 1000.0)
}

fn time<S: serde::Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_rfc3339_millis(*time))
}

impl TaskResult {
    /// Of a task that did not run.
    pub(super) fn without_run(task: &str, status: TaskStatus, error: Option<String>) -> TaskResult {
        let now = SystemTime::now();
        TaskResult {
            task_id: task.to_owned(),
            status,
            exit_code: None,
            stdout: String::new(),
            stderr: String::new(),
            duration: Duration::ZERO,
            success: false,
            error,
            result: None,
            started_at: now,
            completed_at: now,
            attempt: 0,
            usage: Usage::default(),
            traceparent: None,
        }
    }

    /// Takes over how the script ended. Its output was streamed; what the outcome still holds are the host's notices.
    pub(super) fn ended(&mut self, outcome: &Outcome, timeout: Duration) {
        self.result = last_object(&self.stdout);
        (self.status, self.exit_code, self.error) = match &outcome.status {
            Status::Exited(0) => (TaskStatus::Completed, Some(0), None),
            Status::Exited(code) => (TaskStatus::Failed, Some(i32::from(*code)), Some(exit_text(*code, &self.stderr))),
            Status::TimedOut => {
                (TaskStatus::Timeout, Some(TIMED_OUT), Some(format!("it was stopped at its timeout of {timeout:?}")))
            }
            Status::OutOfFuel => {
                (TaskStatus::Timeout, Some(TIMED_OUT), Some("it was stopped when its fuel was used up".into()))
            }
            Status::Trapped(reason) => {
                let code = outcome.status.exit_code().map(i32::from);
                (TaskStatus::Failed, code, Some(format!("it crashed inside the sandbox: {reason}")))
            }
        };
        self.success = self.status == TaskStatus::Completed;
        self.stdout.push_str(&outcome.stdout_text());
        self.stderr.push_str(&outcome.stderr_text());
        self.usage = outcome.usage;
    }
}

/// The exit code of a task that was stopped at its timeout.
const TIMED_OUT: i32 = -1;

/// A line of standard error up to this length says what went wrong.
const SHORT: usize = 200;

/// What an exit code other than 0 means.
fn exit_text(code: u8, stderr: &str) -> String {
    let meaning = match code {
        126 => " (not executable)",
        127 => " (command not found)",
        _ => "",
    };
    let first = stderr.lines().map(str::trim).find(|line| !line.is_empty()).filter(|line| line.len() <= SHORT);
    match first {
        Some(line) => format!("it ended with exit code {code}{meaning}: {line}"),
        None => format!("it ended with exit code {code}{meaning}"),
    }
}

/// The last line that is not blank, when it is one JSON object.
fn last_object(stdout: &str) -> Option<Map<String, Value>> {
    let line = stdout.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    serde_json::from_str(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_the_result_when_it_is_one_json_object() {
        let object = |stdout: &str| last_object(stdout).map(|object| Value::Object(object).to_string());
        assert_eq!(object("log\n{\"a\":1}\n").as_deref(), Some("{\"a\":1}"));
        assert_eq!(object("{\"a\":1}\n\n  \r\n").as_deref(), Some("{\"a\":1}"));
        assert_eq!(object("{}").as_deref(), Some("{}"));
        for none in ["", "\n", "log", "[1]", "1", "null", "\"{}\"", "{\"a\":1}\nlog", "{\"a\":1} {}", "{\n}", "{\"a\":"]
        {
            assert_eq!(object(none), None, "{none:?}");
        }
    }

    #[test]
    fn an_exit_code_is_explained_with_the_first_short_line_of_standard_error() {
        assert_eq!(exit_text(3, "\nbroken\nmore"), "it ended with exit code 3: broken");
        assert_eq!(exit_text(126, ""), "it ended with exit code 126 (not executable)");
        assert!(exit_text(127, "").contains("not found"));
        assert!(exit_text(1, &"x".repeat(SHORT)).ends_with('x'));
        assert_eq!(exit_text(1, &"x".repeat(SHORT + 1)), "it ended with exit code 1");
    }
}

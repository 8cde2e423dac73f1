//! What goes into an executor and what comes out.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

/// Where a script's text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Origin {
    /// Kept by the caller, its content pinned by a digest.
    Stored,
    /// A file under a skill's folder, not pinned.
    File,
}

/// A script to run: the contract's request. Its JSON names are those of the wire.
///
/// It carries no environment: a script sees only what the executor gives every script. `Debug` leaves out the script's
/// text and its input.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptRequest {
    /// Whose grant opened the gates.
    #[serde(rename = "tenant")]
    pub tenant_id: String,
    /// The run that called the script; none outside a run.
    #[serde(default)]
    pub run_id: Option<String>,
    /// The skill the script belongs to.
    pub skill_name: String,
    /// The script's name: a plain file name for a stored script, a path inside the skill's folder for a file.
    pub script_name: String,
    /// Where the text comes from.
    pub origin: Origin,
    /// The value that the executor's allow-list maps to a runtime.
    #[serde(rename = "runtime")]
    pub interpreter: String,
    /// The script's text. This runs, whatever `source_path` names.
    #[serde(rename = "source")]
    pub content: String,
    /// The SHA-256 of the text's UTF-8 bytes, upper-case hexadecimal. A mismatch is refused.
    #[serde(rename = "sourceSha256")]
    pub content_sha256: String,
    /// A file script's path on the host. Never read.
    #[serde(default)]
    pub source_path: Option<PathBuf>,
    /// Standard input. `None`: closed and empty.
    #[serde(rename = "standardInput", default)]
    pub arguments_json: Option<String>,
    /// When the script is stopped. On the wire: seconds, fractions allowed.
    #[serde(rename = "timeoutSeconds", deserialize_with = "seconds")]
    pub timeout: Duration,
    /// Kept UTF-8 bytes of each output stream.
    pub max_output_bytes: usize,
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
}

impl ScriptRequest {
    /// A stored script outside any run, with the digest of its text, no input, 30 s and 256 KiB of output.
    pub fn stored(interpreter: impl Into<String>, script_name: impl Into<String>, content: impl Into<String>) -> Self {
        let content = content.into();
        ScriptRequest {
            tenant_id: "default".into(),
            run_id: None,
            skill_name: "default".into(),
            script_name: script_name.into(),
            origin: Origin::Stored,
            interpreter: interpreter.into(),
            content_sha256: content_sha256(&content),
            content,
            source_path: None,
            arguments_json: None,
            timeout: Duration::from_secs(30),
            max_output_bytes: 256 << 10,
        }
    }
}

/// The digest that [`ScriptRequest::content_sha256`] must hold for `content`: the SHA-256 of its UTF-8 bytes as 64
/// upper-case hexadecimal digits.
pub fn content_sha256(content: &str) -> String {
    use fmt::Write;
    Sha256::digest(content.as_bytes()).iter().fold(String::with_capacity(64), |mut text, byte| {
        write!(text, "{byte:02X}").expect("writing to a string does not fail");
        text
    })
}

impl fmt::Debug for ScriptRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptRequest")
            .field("tenant_id", &self.tenant_id)
            .field("run_id", &self.run_id)
            .field("skill_name", &self.skill_name)
            .field("script_name", &self.script_name)
            .field("origin", &self.origin)
            .field("interpreter", &self.interpreter)
            .field("content_sha256", &self.content_sha256)
            .field("timeout", &self.timeout)
            .field("max_output_bytes", &self.max_output_bytes)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for ScriptRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} ({})", self.skill_name, self.script_name, self.interpreter)
    }
}

/// How a script ended. A script that fails is an outcome; a sandbox that fails is an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// It ended by itself with this exit code, 0 to 255.
    Exited(u8),
    /// It was stopped at its timeout.
    TimedOut,
    /// It used up its fuel.
    OutOfFuel,
    /// It crashed: an illegal instruction, a stack overflow, memory out of bounds. Contained; on the wire it is
    /// exit code 134, what a shell shows for an aborted process.
    Trapped(String),
}

/// The exit code that stands for a trap where only a number can be given: 128 + SIGABRT.
pub const TRAP_EXIT_CODE: u8 = 134;

impl Status {
    /// The exit code, for every way to end that has one.
    pub fn exit_code(&self) -> Option<u8> {
        match self {
            Status::Exited(code) => Some(*code),
            Status::Trapped(_) => Some(TRAP_EXIT_CODE),
            Status::TimedOut | Status::OutOfFuel => None,
        }
    }

    /// The status's name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Status::Exited(_) => "exited",
            Status::TimedOut => "timedOut",
            Status::OutOfFuel => "outOfFuel",
            Status::Trapped(_) => "trapped",
        }
    }
}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Status", 2)?;
        object.serialize_field("kind", self.name())?;
        match self {
            Status::Exited(code) => object.serialize_field("exitCode", code)?,
            Status::Trapped(reason) => object.serialize_field("reason", reason)?,
            Status::TimedOut | Status::OutOfFuel => {}
        }
        object.end()
    }
}

/// What a call used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Usage {
    /// Units of fuel. The same for the same script, input and image, but for a few dozen units where the script works
    /// with its directory's name, which differs from call to call. For a call that was stopped at its timeout it is
    /// what was used when the guest last called the host: code that computes writes it back no sooner.
    pub fuel: u64,
    /// From the start of the guest to its end. In JSON: milliseconds.
    #[serde(rename = "wallMs", serialize_with = "milliseconds")]
    pub wall_time: Duration,
    /// The most linear memory the guest had, its image included, in bytes.
    pub peak_memory_bytes: u64,
    /// Bytes written to files in the temporary directory.
    pub bytes_written: u64,
    /// Bytes the script wrote to standard output, those that were dropped included.
    pub stdout_bytes: u64,
    /// Bytes the script wrote to standard error, those that were dropped included.
    pub stderr_bytes: u64,
}

fn milliseconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64() * 1000.0)
}

/// What came of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Standard output, at most the cap, cut on a character boundary. Empty where a [`Sink`](crate::Sink) took it.
    pub stdout: Vec<u8>,
    /// Standard error, likewise.
    pub stderr: Vec<u8>,
    /// Whether either stream was cut.
    pub truncated: bool,
    /// What it used.
    pub usage: Usage,
}

impl Outcome {
    /// Standard output as text; bytes that are not UTF-8 are replaced.
    pub fn stdout_text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Standard error as text; bytes that are not UTF-8 are replaced.
    pub fn stderr_text(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }
}

/// The wire outcome, then our own `status` and `usage`.
impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let exit_code = self.status.exit_code();
        let mut object = serializer.serialize_struct("Outcome", 7)?;
        object.serialize_field("exitCode", &exit_code)?;
        object.serialize_field("standardOutput", &String::from_utf8_lossy(&self.stdout))?;
        object.serialize_field("standardError", &String::from_utf8_lossy(&self.stderr))?;
        object.serialize_field("truncated", &self.truncated)?;
        // No exit code means that the script's time, of the clock or of computing, was up.
        object.serialize_field("timedOut", &exit_code.is_none())?;
        object.serialize_field("status", &self.status)?;
        object.serialize_field("usage", &self.usage)?;
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outcome(status: Status) -> Outcome {
        Outcome { status, stdout: b"out".to_vec(), stderr: vec![0xFF], truncated: true, usage: Usage::default() }
    }

    #[test]
    fn the_wire_has_an_exit_code_or_a_timeout_and_never_both() {
        for (status, exit_code) in [
            (Status::Exited(3), json!(3)),
            (Status::Trapped("unreachable".into()), json!(134)),
            (Status::TimedOut, json!(null)),
            (Status::OutOfFuel, json!(null)),
        ] {
            let name = status.name();
            let wire = serde_json::to_value(outcome(status)).unwrap();
            assert_eq!(wire["exitCode"], exit_code);
            assert_eq!(wire["timedOut"], json!(exit_code.is_null()));
            assert_eq!(wire["status"]["kind"], name);
            assert_eq!(wire["standardError"], "\u{FFFD}");
        }
    }

    #[test]
    fn a_request_is_read_from_the_wire_and_unknown_fields_are_refused() {
        let mut wire = json!({
            "tenant": "t", "runId": null, "skillName": "s", "scriptName": "a.py", "origin": "stored",
            "runtime": "python", "source": "1", "sourceSha256": content_sha256("1"), "standardInput": "{}",
            "timeoutSeconds": 1.5, "maxOutputBytes": 10,
        });
        let request: ScriptRequest = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(request.timeout, Duration::from_millis(1500));
        assert_eq!(request.arguments_json.as_deref(), Some("{}"));
        wire["environment"] = json!({});
        assert!(serde_json::from_value::<ScriptRequest>(wire.clone()).is_err());
        wire.as_object_mut().unwrap().remove("environment");
        wire["timeoutSeconds"] = json!(-1);
        assert!(serde_json::from_value::<ScriptRequest>(wire).is_err());
    }

    #[test]
    fn a_request_s_text_and_input_are_not_shown() {
        let mut request = ScriptRequest::stored("python", "a.py", "secret text");
        request.arguments_json = Some("secret input".into());
        assert!(!format!("{request:?} {request}").contains("secret"));
    }
}

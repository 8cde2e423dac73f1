//! What goes into an executor.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

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
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
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
    #[serde(rename = "timeoutSeconds", deserialize_with = "seconds", serialize_with = "as_seconds")]
    pub timeout: Duration,
    /// Kept UTF-8 bytes of each output stream.
    pub max_output_bytes: usize,
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(seconds).map_err(serde::de::Error::custom)
}

fn as_seconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        assert_eq!(serde_json::to_value(&request).unwrap()["timeoutSeconds"], 1.5);
        assert_eq!(serde_json::from_value::<ScriptRequest>(serde_json::to_value(&request).unwrap()).unwrap(), request);
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

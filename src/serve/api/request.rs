//! The wire request of the contract, and what this service takes besides.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};

use crate::runner::Job;
use crate::serve::problem::Problem;
use crate::serve::tokens::Caller;
use crate::{InputFile, Origin};

/// A request to run a script. Fields that are not known are ignored, as the wire may grow.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRequest {
    tenant: Option<String>,
    runtime: String,
    source: String,
    source_sha256: Option<String>,
    standard_input: Option<String>,
    #[serde(default, deserialize_with = "seconds")]
    timeout_seconds: Option<Duration>,
    max_output_bytes: Option<usize>,
    // Known, so that a wrong type is told; what they say does not change how a script runs.
    #[serde(rename = "runId")]
    _run_id: Option<String>,
    #[serde(rename = "origin")]
    _origin: Option<Origin>,
    #[serde(rename = "sourcePath")]
    _source_path: Option<String>,
    skill_name: Option<String>,
    script_name: Option<String>,
    // Beyond the contract.
    arguments: Option<Vec<String>>,
    files: Option<Vec<FileIn>>,
    keep_files: Option<bool>,
    memory_bytes: Option<u64>,
}

/// A file for the script's directory: its text or its bytes in base64.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FileIn {
    path: String,
    content: Option<String>,
    content_base64: Option<String>,
}

/// Seconds, fractions allowed. A time that no clock can hold is as good as one beyond the ceiling, which it is lowered to.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let Some(seconds) = Option::<f64>::deserialize(deserializer)? else { return Ok(None) };
    let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    if seconds.is_nan() || seconds <= 0.0 || time.is_zero() {
        return Err(D::Error::custom(format!("{seconds} is no time: it must be a number of seconds above 0")));
    }
    Ok(Some(time))
}

/// A tenant's name, at most.
const TENANT_BYTES: usize = 256;

/// A runtime's name, at most: it is repeated in problems and in the log.
const RUNTIME_BYTES: usize = 256;

/// The digits of a SHA-256.
const DIGEST_BYTES: usize = 64;

impl RunRequest {
    /// Reads JSON. What is wrong is told with the field's name.
    pub fn of_json(bytes: &[u8]) -> Result<RunRequest, Problem> {
        if let Err(error) = std::str::from_utf8(bytes) {
            let at = error.valid_up_to();
            return Err(Problem::bad_request(None, format!("the body is not UTF-8: byte {at} begins no character")));
        }
        let deserializer = &mut serde_json::Deserializer::from_slice(bytes);
        let request = serde_path_to_error::deserialize(&mut *deserializer).map_err(|error| {
            let path = error.path().to_string();
            // What is no field's: the whole, or a place in it that has no name yet.
            let field =
                Some(path.trim_end_matches("?").trim_end_matches('.').to_owned()).filter(|path| !path.is_empty());
            Problem::bad_request(field, error.inner())
        })?;
        // What follows is only looked at for being there.
        match IgnoredAny::deserialize(deserializer) {
            Err(error) if error.is_eof() => Ok(request),
            _ => Err(Problem::bad_request(None, "something follows the JSON object")),
        }
    }

    /// The job, for a caller that may run scripts for its tenant. `files` come on top of the request's own.
    pub fn into_job(self, caller: &Caller, files: Vec<InputFile>) -> Result<Job, Problem> {
        let tenant = self.tenant.unwrap_or_else(|| caller.tenants.of_unnamed().to_owned());
        if tenant.is_empty() || tenant.len() > TENANT_BYTES || tenant.contains(char::is_control) {
            let detail = format!("it must have 1 to {TENANT_BYTES} bytes and no control characters");
            return Err(Problem::bad_request("tenant".to_owned(), detail));
        }
        if !caller.tenants.include(&tenant) {
            return Err(Problem::forbidden("tenant", format!("this token is not for the tenant `{tenant}`")));
        }
        let most = |field: &str, text: &str, most: usize| match text.len() {
            length if length > most => {
                let detail = format!("it has {length} bytes, but may have {most} at most");
                Err(Problem::bad_request(field.to_owned(), detail))
            }
            _ => Ok(()),
        };
        most("runtime", &self.runtime, RUNTIME_BYTES)?;
        most("sourceSha256", self.source_sha256.as_deref().unwrap_or_default(), DIGEST_BYTES)?;
        let mut job = Job::new(tenant, self.runtime, self.source);
        job.source_sha256 = self.source_sha256;
        job.stdin = self.standard_input.map(Into::into);
        job.timeout = self.timeout_seconds;
        job.max_output_bytes = self.max_output_bytes;
        job.memory_bytes = self.memory_bytes;
        job.name = self.script_name;
        job.skill = self.skill_name;
        job.arguments = self.arguments.unwrap_or_default();
        job.keep_files = self.keep_files.unwrap_or_default();
        for (index, file) in self.files.into_iter().flatten().enumerate() {
            job.files.push(file.into_input(index)?);
        }
        job.files.extend(files);
        Ok(job)
    }
}

impl FileIn {
    fn into_input(self, index: usize) -> Result<InputFile, Problem> {
        let wrong = |field: &str, detail: String| Err(Problem::bad_request(format!("files[{index}]{field}"), detail));
        let content = match (self.content, self.content_base64) {
            (Some(text), None) => text.into(),
            (None, Some(text)) => match STANDARD.decode(&text) {
                Ok(bytes) => bytes.into(),
                Err(error) => return wrong(".contentBase64", format!("it is not base64: {error}")),
            },
            _ => return wrong("", "a file has either `content` or `contentBase64`".to_owned()),
        };
        Ok(InputFile { path: self.path, content })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::tokens::Tenants;

    fn caller(tenants: Tenants) -> Caller {
        Caller { name: "test".into(), tenants }
    }

    fn read(json: &str) -> Result<Job, String> {
        let request = RunRequest::of_json(json.as_bytes());
        let job = request.and_then(|request| request.into_job(&caller(Tenants::Any), Vec::new()));
        job.map_err(|problem| problem.to_json())
    }

    #[track_caller]
    fn refused(json: &str, field: Option<&str>, said: &str) {
        let problem = read(json).expect_err(json);
        let problem: serde_json::Value = serde_json::from_str(&problem).unwrap();
        assert_eq!(problem["status"], 400);
        assert_eq!(problem["field"].as_str(), field, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(said), "{problem}");
    }

    #[test]
    fn the_wire_request_becomes_a_job_and_unknown_fields_are_ignored() {
        let job = read(
            r#"{"tenant": "t", "runtime": "python-3.15", "source": "1", "sourceSha256": "AB", "standardInput": "{}",
                "timeoutSeconds": 1.5, "maxOutputBytes": 10, "runId": null, "origin": "file", "sourcePath": "/etc/passwd",
                "skillName": "s", "scriptName": "a.py", "later": {"deep": [1]}}"#,
        )
        .unwrap();
        assert_eq!((job.tenant.as_str(), job.runtime.as_str(), job.source.as_str()), ("t", "python-3.15", "1"));
        assert_eq!((job.source_sha256.as_deref(), job.stdin.as_deref()), (Some("AB"), Some(&b"{}"[..])));
        assert_eq!((job.timeout, job.max_output_bytes), (Some(Duration::from_millis(1500)), Some(10)));
        assert_eq!((job.skill.as_deref(), job.name.as_deref()), (Some("s"), Some("a.py")));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_field() {
        refused("", None, "EOF");
        refused(r#"{"runtime": "sh", "source": "1""#, None, "EOF");
        refused(r#"{"runtime": "sh", "source": "1"} x"#, None, "follows");
        refused("[]", None, "invalid");
        refused(r#"{"runtime": "sh"}"#, None, "source");
        refused(r#"{"runtime": 1, "source": ""}"#, Some("runtime"), "expected a string");
        for (name, value, said) in [
            ("timeoutSeconds", "-1", "above 0"),
            ("timeoutSeconds", "0", "above 0"),
            ("timeoutSeconds", "1e-20", "above 0"),
            ("timeoutSeconds", "\"NaN\"", "f64"),
            ("timeoutSeconds", "[]", "f64"),
            ("maxOutputBytes", "-1", "usize"),
            ("maxOutputBytes", "1.5", "usize"),
            ("standardInput", "{}", "string"),
            ("origin", "\"elsewhere\"", "stored"),
            ("tenant", "\"\"", "1 to 256"),
            ("tenant", "\"a\\n\"", "control"),
            ("arguments", "[1]", "string"),
        ] {
            let field = if name == "arguments" { "arguments[0]" } else { name };
            refused(&format!(r#"{{"runtime": "sh", "source": "", "{name}": {value}}}"#), Some(field), said);
        }
        refused(r#"{"runtime": "sh", "source": "", "timeoutSeconds": NaN}"#, Some("timeoutSeconds"), "expected value");
        refused(r#"{"runtime": "sh", "source": "", "timeoutSeconds": 1e999}"#, Some("timeoutSeconds"), "out of range");
        let long = "x".repeat(257);
        refused(&format!(r#"{{"runtime": "{long}", "source": ""}}"#), Some("runtime"), "257 bytes, but may have 256");
        let digest = format!(r#"{{"runtime": "sh", "source": "", "sourceSha256": "{long}"}}"#);
        refused(&digest, Some("sourceSha256"), "may have 64");
        let file = |file: &str| format!(r#"{{"runtime": "sh", "source": "", "files": [{file}]}}"#);
        refused(&file(r#"{"path": "a", "contentBase64": "?"}"#), Some("files[0].contentBase64"), "base64");
        refused(&file(r#"{"path": "a"}"#), Some("files[0]"), "either");
    }

    #[test]
    fn text_that_is_not_utf_8_is_refused_where_it_begins() {
        let problem = RunRequest::of_json(b"{\"runtime\": \"\xFF\"}").err().unwrap().to_json();
        assert!(problem.contains("byte 13"), "{problem}");
    }

    #[test]
    fn an_enormous_timeout_is_one_that_the_ceiling_lowers() {
        let job = read(r#"{"runtime": "sh", "source": "", "timeoutSeconds": 1e300}"#).unwrap();
        assert_eq!(job.timeout, Some(Duration::MAX));
    }

    #[test]
    fn a_token_is_for_its_tenants_and_its_only_one_need_not_be_named() {
        let these = |names: &[&str]| Tenants::These(names.iter().map(|name| (*name).to_owned()).collect());
        let tenant = |tenants: Tenants, json: &str| {
            let request = RunRequest::of_json(json.as_bytes()).unwrap();
            request.into_job(&caller(tenants), Vec::new()).map(|job| job.tenant).map_err(|problem| problem.status())
        };
        let (named, unnamed) = (r#"{"runtime": "", "source": "", "tenant": "a"}"#, r#"{"runtime": "", "source": ""}"#);
        assert_eq!(tenant(these(&["a", "b"]), named).unwrap(), "a");
        assert_eq!(tenant(these(&["b"]), named).unwrap_err(), 403);
        assert_eq!(tenant(these(&["b"]), unnamed).unwrap(), "b");
        assert_eq!(tenant(these(&["a", "b"]), unnamed).unwrap_err(), 403);
        assert_eq!(tenant(these(&[]), named).unwrap_err(), 403);
        assert_eq!(tenant(Tenants::Any, unnamed).unwrap(), "default");
    }
}

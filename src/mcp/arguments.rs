//! The arguments of `run_script`.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::JsonObject;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::InputFile;
use crate::runner::Job;

/// What an agent gives. A name that is not known is an error, which the agent can mend: what it meant would be lost.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    language: String,
    code: String,
    name: Option<String>,
    stdin: Option<String>,
    args: Option<Vec<String>>,
    files: Option<Vec<File>>,
    timeout: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    path: String,
    content: Option<String>,
    content_base64: Option<String>,
}

/// Kept bytes of each output stream: an agent reads all of it.
const OUTPUT_BYTES: usize = 64 << 10;

impl Arguments {
    pub fn read(arguments: Option<JsonObject>) -> Result<Arguments, String> {
        let arguments = Value::Object(arguments.unwrap_or_default());
        serde_path_to_error::deserialize(arguments).map_err(|error| match error.path().to_string().as_str() {
            "." => format!("the arguments are wrong: {}", error.inner()),
            path => format!("the argument `{path}` is wrong: {}", error.inner()),
        })
    }

    /// The job, and what tells when it starts.
    pub fn into_job(self, tenant: String) -> Result<(Job, oneshot::Receiver<()>), String> {
        let mut job = Job::new(tenant, self.language, self.code);
        if let Some(seconds) = self.timeout {
            if seconds.is_nan() || seconds <= 0.0 {
                return Err(format!("the argument `timeout` is {seconds}, but it must be above 0 (seconds)"));
            }
            job.timeout = Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX));
        }
        job.name = self.name;
        job.stdin = self.stdin.map(Into::into);
        job.arguments = self.args.unwrap_or_default();
        for file in self.files.unwrap_or_default() {
            let content = match (file.content, file.content_base64) {
                (Some(text), None) => text.into(),
                (None, Some(text)) => STANDARD
                    .decode(&text)
                    .map_err(|error| format!("`content_base64` of the file `{}` is not base64: {error}", file.path))?
                    .into(),
                _ => return Err(format!("the file `{}` needs either `content` or `content_base64`", file.path)),
            };
            job.files.push(InputFile { path: file.path, content });
        }
        job.max_output_bytes = Some(OUTPUT_BYTES);
        job.keep_files = true;
        let (starts, started) = oneshot::channel();
        job.started = Some(starts);
        Ok((job, started))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<Job, String> {
        let Value::Object(object) = value else { panic!("an object was meant") };
        Arguments::read(Some(object))?.into_job("t".into()).map(|(job, _)| job)
    }

    #[test]
    fn arguments_become_a_job() {
        let job = read(json!({
            "language": "python", "code": "1", "name": "a.py", "stdin": "in", "args": ["a"], "timeout": 1.5,
            "files": [{"path": "a", "content": "x"}, {"path": "b/c", "content_base64": "AP8="}],
        }))
        .unwrap();
        assert_eq!((job.runtime.as_str(), job.source.as_str(), job.tenant.as_str()), ("python", "1", "t"));
        assert_eq!((job.stdin.as_deref(), job.arguments.as_slice()), (Some(&b"in"[..]), &["a".to_owned()][..]));
        assert_eq!((job.timeout, job.keep_files), (Some(Duration::from_millis(1500)), true));
        assert_eq!(job.name.as_deref(), Some("a.py"));
        assert_eq!(job.files[1], InputFile { path: "b/c".into(), content: vec![0, 255].into() });
    }

    #[test]
    fn what_is_wrong_is_told_by_name() {
        for (value, said) in [
            (json!({"language": "python"}), "missing field `code`"),
            (json!({"language": "python", "code": 1}), "`code`"),
            (json!({"language": "python", "code": "", "filse": []}), "`filse`"),
            (json!({"language": "python", "code": "", "timeout": -1}), "above 0"),
            (json!({"language": "python", "code": "", "files": [{"path": "a"}]}), "`a` needs either"),
            (json!({"language": "python", "code": "", "files": [{"path": "a", "content_base64": "?"}]}), "not base64"),
            (json!({"language": "python", "code": "", "files": [{"path": 1}]}), "`files[0].path`"),
        ] {
            let problem = read(value.clone()).unwrap_err();
            assert!(problem.contains(said), "{problem} for {value}");
        }
    }
}

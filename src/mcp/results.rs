//! What an agent gets: what was printed, how it ended, and the files, images as images.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData, ResourceContents};
use serde_json::json;

use super::hints::hints;
use crate::runner::{Finished, KeptFile, RunError, Runner};
use crate::{ExecuteError, Limits, Outcome, Status};

/// The largest file that is shown as text: an agent reads all of it.
const TEXT_BYTES: usize = 64 << 10;

/// The largest file that is sent as bytes, images too.
const BLOB_BYTES: usize = 4 << 20;

/// A script that came to an outcome. One that failed is an error, as agents understand it.
pub fn finished(finished: &Finished, limits: &Limits) -> CallToolResult {
    let outcome = &finished.outcome;
    let mut content = vec![ContentBlock::text(report(outcome, limits))];
    let mut beside = Vec::new();
    if let Some(kept) = &finished.files {
        for file in &kept.files {
            match shown(file) {
                Some(block) => content.push(block),
                None => beside.push(format!("{} ({} bytes)", file.path, file.content.len())),
            }
        }
        beside.extend(kept.omitted.iter().map(|(path, bytes)| format!("{path} ({bytes} bytes)")));
        let unnamed = kept.omitted_count.saturating_sub(kept.omitted.len() as u64);
        if unnamed > 0 {
            beside.push(format!("and {unnamed} more"));
        }
    }
    if !beside.is_empty() {
        let text = format!("Files that are too large to be given here: {}", beside.join(", "));
        content.push(ContentBlock::text(text));
    }
    let mut result = match outcome.status {
        Status::Exited(0) => CallToolResult::success(content),
        _ => CallToolResult::error(content),
    };
    result.structured_content = Some(json!({
        "exitCode": outcome.status.exit_code(),
        "status": outcome.status.name(),
        "truncated": outcome.truncated,
        "wallMs": outcome.usage.wall_time.as_secs_f64() * 1000.0,
    }));
    result
}

fn report(outcome: &Outcome, limits: &Limits) -> String {
    let (stdout, stderr) = (outcome.stdout_text(), outcome.stderr_text());
    let mut parts = Vec::new();
    if !stdout.is_empty() {
        parts.push(stdout);
    }
    if !stderr.is_empty() {
        parts.push(format!("[standard error]\n{stderr}"));
    }
    let seconds = outcome.usage.wall_time.as_secs_f64();
    match &outcome.status {
        Status::Exited(0) if parts.is_empty() => parts.push("[it ended well and printed nothing]".into()),
        Status::Exited(0) => {}
        Status::Exited(code) => parts.push(format!("[exit code {code}]")),
        Status::TimedOut => parts.push(format!("[stopped at its timeout, after {seconds:.1} s]")),
        Status::OutOfFuel => parts.push(format!("[stopped after {seconds:.1} s: it had used up its computing time]")),
        Status::Trapped(reason) => parts.push(format!("[crashed inside the sandbox: {reason}]")),
    }
    if outcome.truncated {
        let usage = &outcome.usage;
        parts.push(format!(
            "[output was cut: {} bytes were written to standard output and {} to standard error; print less, or write \
             to a file]",
            usage.stdout_bytes, usage.stderr_bytes
        ));
    }
    if outcome.status != Status::Exited(0) {
        parts.extend(hints(outcome, limits).into_iter().map(|hint| format!("[{hint}]")));
    }
    parts.join("\n")
}

/// A file in the form that fits what it holds. `None`: it is too large.
fn shown(file: &KeptFile) -> Option<ContentBlock> {
    let bytes = file.content.as_ref();
    if let Some(kind) = image_type(bytes) {
        return (bytes.len() <= BLOB_BYTES).then(|| ContentBlock::image(STANDARD.encode(bytes), kind));
    }
    let uri = uri_of(&file.path);
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.len() <= TEXT_BYTES => Some(ContentBlock::resource(ResourceContents::text(text, uri))),
        _ if bytes.len() <= BLOB_BYTES => {
            let blob = ResourceContents::blob(STANDARD.encode(bytes), uri).with_mime_type("application/octet-stream");
            Some(ContentBlock::resource(blob))
        }
        _ => None,
    }
}

/// What an image's first bytes say it is: its name is a stranger's word.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    let webp = bytes.get(..4) == Some(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        _ if webp => Some("image/webp"),
        _ => None,
    }
}

/// A name for a file of the sandbox, which is no file of the host.
fn uri_of(path: &str) -> String {
    let mut uri = "sandbox:/".to_owned();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(byte.into()),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri
}

/// Something that the agent can mend.
pub fn refused(problem: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(problem.into())])
}

/// A run that came to no outcome. What is our fault is told without details, which are in the log.
pub fn error(error: RunError) -> Result<CallToolResult, ErrorData> {
    match &error {
        RunError::Busy(_) | RunError::Stopping => Ok(refused(error.to_string())),
        RunError::Execute(ExecuteError::NotAllowed { interpreter, allowed }) => {
            Ok(refused(format!("there is no language `{interpreter}` here; there are: {allowed}")))
        }
        RunError::Execute(ExecuteError::Refused(refusal)) => Ok(refused(refusal.to_string())),
        _ => {
            tracing::error!(error = &error as &dyn std::error::Error, "a call failed");
            Err(ErrorData::internal_error("the sandbox failed; its log says more", None))
        }
    }
}

/// The answer of `list_runtimes`, with the ceilings of this tenant.
pub fn runtimes(runner: &Runner, tenant: &str) -> CallToolResult {
    let mut lines = Vec::new();
    for (value, _) in runner.allowed().entries() {
        lines.push(match runner.allowed().manifest(value) {
            Some(manifest) => format!("- {value}: {} ({})", manifest.description, manifest.version),
            None => format!("- {value}"),
        });
    }
    let limits = runner.policy().limits_of(tenant);
    lines.push(format!(
        "Limits of a run: {} s, {} MiB of memory, {} MiB of files. No network, no processes, no threads.",
        limits.timeout.map_or(0.0, |timeout| timeout.as_secs_f64()),
        limits.memory_bytes >> 20,
        limits.scratch_bytes >> 20
    ));
    CallToolResult::success(vec![ContentBlock::text(lines.join("\n"))])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_known_by_its_bytes_and_a_file_s_uri_has_no_odd_characters() {
        assert_eq!(image_type(b"\x89PNG\r\n\x1a\nrest"), Some("image/png"));
        assert_eq!(image_type(b"RIFF\0\0\0\0WEBPVP8"), Some("image/webp"));
        assert_eq!((image_type(b"RIFF\0\0\0\0WAVE"), image_type(b"png"), image_type(b"")), (None, None, None));
        assert_eq!(uri_of("a b/ü?.txt"), "sandbox:/a%20b/%C3%BC%3F.txt");
    }

    #[test]
    fn a_failure_is_told_with_what_to_do_about_it() {
        let failed = |stderr: &str| report(&Outcome::new(Status::Exited(1), "", stderr), &Limits::default());
        assert!(failed("Traceback\nMemoryError\n").contains("MemoryError: the limit is 512 MiB"));
        assert!(failed("OSError: [Errno 58] Not supported").contains("no network in this sandbox"));
        assert!(failed("x").ends_with("[exit code 1]"));
        let ended_well = report(&Outcome::new(Status::Exited(0), "MemoryError", ""), &Limits::default());
        assert_eq!(ended_well, "MemoryError");
    }
}

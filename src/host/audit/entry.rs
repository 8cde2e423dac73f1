//! One entry.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::script::Origin;

/// What an entry says of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AuditEvent {
    /// Every gate was open: the call is about to begin.
    Allowed,
    /// A gate was closed.
    Denied,
    /// A call that was allowed has ended.
    Finished,
    /// A line whose writing was cut off by a crash was taken away; the call that it was about never began, or had ended.
    Recovered,
}

/// The gate that was closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeniedBecause {
    /// The gate's name.
    pub gate: String,
    /// What was wrong, for a person.
    pub reason: String,
}

/// How a call ended: the call record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Ended {
    /// `exited`, `timedOut`, `outOfFuel`, `trapped`, `cancelled` or `failed`.
    pub status: String,
    /// For those that have one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exit_code: Option<u8>,
    /// Whether the host stopped waiting for the executor, which had not ended the script at its timeout.
    #[serde(default)]
    pub given_up: bool,
    /// The wait for a slot.
    #[serde(rename = "waitedMs", with = "milliseconds")]
    pub waited: Duration,
    /// From the slot to the end.
    #[serde(rename = "tookMs", with = "milliseconds")]
    pub took: Duration,
    /// Units of fuel, where the executor counts them.
    pub fuel: u64,
    /// Bytes that the script wrote to standard output.
    pub stdout_bytes: u64,
    /// Bytes that the script wrote to standard error.
    pub stderr_bytes: u64,
    /// Whether output was cut.
    pub truncated: bool,
    /// Why the executor failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
}

/// One entry of the audit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AuditEntry {
    /// When. It stands in the line, to the millisecond.
    #[serde(skip, default = "epoch")]
    pub time: SystemTime,
    /// What it says.
    pub event: AuditEvent,
    /// The call, the same in all its entries.
    pub call: String,
    /// Whose call.
    pub tenant: String,
    /// The run that it was part of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub run: Option<String>,
    /// The skill.
    pub skill: String,
    /// The script's name.
    pub script: String,
    /// Where the script is from.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub origin: Option<Origin>,
    /// What runs it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interpreter: Option<String>,
    /// The SHA-256 of the script's text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub script_sha256: Option<String>,
    /// The length of the script's text.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub script_bytes: Option<u64>,
    /// The SHA-256 of the arguments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arguments_sha256: Option<String>,
    /// The length of the arguments.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arguments_bytes: Option<u64>,
    /// The grant that opened the gates.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub grant: Option<String>,
    /// For [`AuditEvent::Denied`]: why.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub denied: Option<DeniedBecause>,
    /// For [`AuditEvent::Finished`]: how.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ended: Option<Ended>,
    /// What else is to be known, such as the names of variables and the folders a task was given.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub detail: BTreeMap<String, String>,
}

fn epoch() -> SystemTime {
    SystemTime::UNIX_EPOCH
}

/// The longest name that an entry takes over: a caller must not fill the disk with one.
const NAME_BYTES: usize = 256;

/// The longest detail, of which there are a handful.
const DETAIL_BYTES: usize = 4096;

/// A name for an entry, cut where it is too long.
pub(crate) fn clipped(name: &str) -> String {
    cut(name, NAME_BYTES)
}

/// A detail for an entry, cut where it is too long.
pub(crate) fn clipped_detail(detail: &str) -> String {
    cut(detail, DETAIL_BYTES)
}

fn cut(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}… ({} bytes)", &text[..end], text.len())
}

impl AuditEntry {
    /// An entry about a call, with nothing known of its script yet. Names are cut after 256 bytes.
    pub fn new(time: SystemTime, event: AuditEvent, call: &str, tenant: &str, skill: &str, script: &str) -> AuditEntry {
        AuditEntry {
            time,
            event,
            call: clipped(call),
            tenant: clipped(tenant),
            run: None,
            skill: clipped(skill),
            script: clipped(script),
            origin: None,
            interpreter: None,
            script_sha256: None,
            script_bytes: None,
            arguments_sha256: None,
            arguments_bytes: None,
            grant: None,
            denied: None,
            ended: None,
            detail: BTreeMap::new(),
        }
    }
}

mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        // To the microsecond, so that no digits are there that mean nothing.
        serializer.serialize_f64(duration.as_micros() as f64 / 1000.0)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let milliseconds = f64::deserialize(deserializer)?;
        Duration::try_from_secs_f64(milliseconds / 1000.0).map_err(serde::de::Error::custom)
    }
}

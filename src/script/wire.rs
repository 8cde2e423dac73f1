//! The outcome as JSON: the contract's fields, then our own `status` and `usage`, which a strict reader may ignore and
//! another executor may leave out.

use std::borrow::Cow;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Outcome, Status, Usage};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireOutcome<'a> {
    exit_code: Option<u8>,
    standard_output: Cow<'a, str>,
    standard_error: Cow<'a, str>,
    truncated: bool,
    timed_out: bool,
    status: Option<WireStatus<'a>>,
    usage: Option<Usage>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum WireStatus<'a> {
    Exited { exit_code: u8 },
    TimedOut,
    OutOfFuel,
    Trapped { reason: Cow<'a, str> },
}

impl<'a> From<&'a Status> for WireStatus<'a> {
    fn from(status: &'a Status) -> WireStatus<'a> {
        match status {
            Status::Exited(code) => WireStatus::Exited { exit_code: *code },
            Status::TimedOut => WireStatus::TimedOut,
            Status::OutOfFuel => WireStatus::OutOfFuel,
            Status::Trapped(reason) => WireStatus::Trapped { reason: reason.into() },
        }
    }
}

impl From<WireStatus<'_>> for Status {
    fn from(status: WireStatus<'_>) -> Status {
        match status {
            WireStatus::Exited { exit_code } => Status::Exited(exit_code),
            WireStatus::TimedOut => Status::TimedOut,
            WireStatus::OutOfFuel => Status::OutOfFuel,
            WireStatus::Trapped { reason } => Status::Trapped(reason.into_owned()),
        }
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let exit_code = self.status.exit_code();
        let wire = WireOutcome {
            exit_code,
            standard_output: String::from_utf8_lossy(&self.stdout),
            standard_error: String::from_utf8_lossy(&self.stderr),
            truncated: self.truncated,
            // No exit code means that the script's time, of the clock or of computing, was up.
            timed_out: exit_code.is_none(),
            status: Some((&self.status).into()),
            usage: Some(self.usage),
        };
        wire.serialize(serializer)
    }
}

/// Reads the wire outcome of any executor. One that has both an exit code and a timeout, or neither, is refused, and so
/// is a `status` that says something else.
impl<'de> Deserialize<'de> for Outcome {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Outcome, D::Error> {
        let wire = WireOutcome::deserialize(deserializer)?;
        let told = match (wire.exit_code, wire.timed_out) {
            (Some(code), false) => Status::Exited(code),
            (None, true) => Status::TimedOut,
            (Some(_), true) => return Err(D::Error::custom("an outcome that timed out has no exit code")),
            (None, false) => return Err(D::Error::custom("an outcome without an exit code has timed out")),
        };
        let status = match wire.status.map(Status::from) {
            Some(status) if status.exit_code() == told.exit_code() => status,
            Some(status) => {
                return Err(D::Error::custom(format!("`status` says {status:?}, but the outcome {told:?}")));
            }
            None => told,
        };
        let mut outcome = Outcome::new(
            status,
            wire.standard_output.into_owned().into_bytes(),
            wire.standard_error.into_owned().into_bytes(),
        );
        outcome.truncated = wire.truncated;
        outcome.usage = wire.usage.unwrap_or_default();
        Ok(outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn outcome(status: Status) -> Outcome {
        let mut outcome = Outcome::new(status, b"out".to_vec(), vec![0xFF]);
        outcome.truncated = true;
        outcome.usage.wall_time = std::time::Duration::from_millis(1500);
        outcome
    }

    fn every_status() -> [Status; 4] {
        [Status::Exited(3), Status::Trapped("unreachable".into()), Status::TimedOut, Status::OutOfFuel]
    }

    #[test]
    fn the_wire_has_an_exit_code_or_a_timeout_and_never_both() {
        let codes = [json!(3), json!(134), json!(null), json!(null)];
        for (status, exit_code) in every_status().into_iter().zip(codes) {
            let name = status.name();
            let wire = serde_json::to_value(outcome(status)).unwrap();
            assert_eq!(wire["exitCode"], exit_code);
            assert_eq!(wire["timedOut"], json!(exit_code.is_null()));
            assert_eq!(wire["status"]["kind"], name);
            assert_eq!(wire["standardError"], "\u{FFFD}");
            assert_eq!(wire["usage"]["wallMs"], 1500.0);
        }
    }

    #[test]
    fn an_outcome_comes_back_from_the_wire_as_it_went() {
        for status in every_status() {
            let mut went = outcome(status);
            went.stderr = "é".into();
            let wire = serde_json::to_string(&went).unwrap();
            assert_eq!(serde_json::from_str::<Outcome>(&wire).unwrap(), went);
        }
    }

    #[test]
    fn another_executor_s_outcome_needs_only_the_contract_s_fields() {
        let mut wire = json!({
            "exitCode": 7, "standardOutput": "o", "standardError": "", "truncated": false, "timedOut": false,
        });
        let read: Outcome = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(read, Outcome::new(Status::Exited(7), "o", ""));
        for (field, value) in [
            ("timedOut", json!(true)),
            ("exitCode", json!(null)),
            ("exitCode", json!(256)),
            ("status", json!({"kind": "timedOut"})),
        ] {
            let was = wire[field].clone();
            wire[field] = value;
            assert!(serde_json::from_value::<Outcome>(wire.clone()).is_err(), "{wire}");
            wire[field] = was;
        }
    }
}

//! The request and the outcome as JSON: whatever the text, it is read or refused; what a request says of itself leaves
//! out its script and input; an outcome goes out as it came in, and is never both stopped and ended.

#![no_main]

use ampoule::{Outcome, ScriptRequest};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(request) = serde_json::from_slice::<ScriptRequest>(bytes) {
        let shown = format!("{request:?} {request}");
        let others = format!(
            "{} {:?} {} {} {} {}",
            request.tenant_id, request.run_id, request.skill_name, request.script_name, request.interpreter,
            request.content_sha256
        );
        // A secret of some length that no other field holds.
        for secret in [Some(&request.content), request.arguments_json.as_ref()].into_iter().flatten() {
            assert!(secret.len() < 24 || others.contains(secret) || !shown.contains(secret.as_str()));
        }
    }
    if let Ok(outcome) = serde_json::from_slice::<Outcome>(bytes) {
        let text = serde_json::to_string(&outcome).unwrap();
        let again: Outcome = serde_json::from_str(&text).unwrap();
        assert_eq!((again.status, again.stdout, again.stderr), (outcome.status, outcome.stdout, outcome.stderr));
        let wire: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(wire["exitCode"].is_null(), wire["timedOut"] == serde_json::Value::Bool(true));
    }
});

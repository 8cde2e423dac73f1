//! The wire, field by field: exchanges written by hand from the contract, in `recorded/`.

use serde_json::{Value, json};

use crate::server::Server;

const REQUEST: &str = include_str!("recorded/request.json");
const OUTCOME: &str = include_str!("recorded/outcome.json");
const TIMED_OUT: &str = include_str!("recorded/timed-out.json");

const CONFIG: &str = "[runtimes]\n'python-3.15' = 'python'";

/// The contract's five fields are there with these values, and besides them only `status` and `usage`.
#[track_caller]
fn is(found: &Value, recorded: &str) {
    let recorded: Value = serde_json::from_str(recorded).unwrap();
    for (name, value) in recorded.as_object().unwrap() {
        assert_eq!(&found[name], value, "{name} in {found}");
    }
    let others = found.as_object().unwrap().keys().filter(|name| recorded.get(name).is_none());
    assert_eq!(others.collect::<Vec<_>>(), ["status", "usage"]);
}

#[tokio::test]
async fn the_recorded_exchange_happens_again() {
    let server = Server::start(CONFIG);
    let request: Value = serde_json::from_str(REQUEST).unwrap();
    let answer = server.run(&request).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{answer:?}");
    is(&answer.json, OUTCOME);
    assert_eq!(answer.json["status"], json!({"kind": "exited", "exitCode": 3}));
    assert!(answer.json["usage"]["wallMs"].as_f64().unwrap() > 0.0);
}

#[tokio::test]
async fn a_timeout_has_fractions_of_a_second_and_no_exit_code() {
    let server = Server::start(CONFIG);
    let begin = std::time::Instant::now();
    let source = "import time\nprint('before', flush=True)\ntime.sleep(30)";
    let answer = server.run(&json!({"runtime": "python-3.15", "source": source, "timeoutSeconds": 0.25})).await;
    is(&answer.json, TIMED_OUT);
    assert!((250..2000).contains(&begin.elapsed().as_millis()), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn the_seven_fields_of_the_contract_are_enough() {
    let server = Server::start(CONFIG);
    let mut request: Value = serde_json::from_str(REQUEST).unwrap();
    for name in ["runId", "skillName", "scriptName", "origin"] {
        request.as_object_mut().unwrap().remove(name);
    }
    is(&server.run(&request).await.json, OUTCOME);
    // The skill's variables are there all the same.
    request["source"] = json!("import os; print(os.path.isdir(os.environ['TRACON_SKILL_TEMP']))");
    request["sourceSha256"] = Value::Null;
    assert_eq!(server.run(&request).await.json["standardOutput"], "True\n");
}

#[tokio::test]
async fn a_digest_in_lower_case_is_taken_and_a_wrong_one_is_not() {
    let server = Server::start(CONFIG);
    let mut request: Value = serde_json::from_str(REQUEST).unwrap();
    let digest = request["sourceSha256"].as_str().unwrap().to_lowercase();
    request["sourceSha256"] = json!(digest);
    is(&server.run(&request).await.json, OUTCOME);
    request["source"] = json!("print('another')");
    let answer = server.run(&request).await;
    answer.is_problem(422, Some("sourceSha256"), &digest);
}

#[tokio::test]
async fn output_is_cut_at_its_cap_and_flagged() {
    let server = Server::start(CONFIG);
    let request = json!({"runtime": "python-3.15", "source": "print('aé' * 3, end='')", "maxOutputBytes": 5});
    let outcome = server.run(&request).await.json;
    assert_eq!((&outcome["standardOutput"], &outcome["truncated"]), (&json!("aéa"), &json!(true)));
    assert_eq!((&outcome["exitCode"], &outcome["usage"]["stdoutBytes"]), (&json!(0), &json!(9)));
}

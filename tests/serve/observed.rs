//! What the service tells of itself: metrics and logs, with trace contexts, and without scripts and their input.

use std::time::Duration;

use serde_json::{Value, json};

use crate::server::Server;

#[tokio::test]
async fn calls_are_counted_by_how_they_end() {
    let server = Server::start("");
    server.outcome("sh", "exit 0").await;
    server.outcome("sh", "exit 3").await;
    server.run(&json!({"runtime": "sh", "source": "sleep 9", "timeoutSeconds": 0.1})).await;
    server.run(&json!({"runtime": "other", "source": ""})).await;
    for (outcome, count) in [("succeeded", 1.0), ("failed", 1.0), ("timed_out", 1.0), ("trapped", 0.0)] {
        let name = format!("ampoule_calls_total{{runtime=\"sh\",outcome=\"{outcome}\"}}");
        assert_eq!(server.metric(&name).await, count, "{outcome}");
    }
    assert_eq!(server.metric("ampoule_calls_refused_total{reason=\"not_allowed\"}").await, 1.0);
    assert_eq!(server.metric("ampoule_http_responses_total{route=\"/runs\",status=\"200\"}").await, 3.0);
    assert_eq!(server.metric("ampoule_http_responses_total{route=\"/runs\",status=\"403\"}").await, 1.0);
    for histogram in ["call", "cold_start"] {
        assert_eq!(server.metric(&format!("ampoule_{histogram}_seconds_count{{runtime=\"sh\"}}")).await, 3.0);
    }
    assert!(server.metric("ampoule_fuel_total{runtime=\"sh\"}").await > 0.0);
    assert!(server.metric("ampoule_slots").await >= 8.0);
    assert!(server.metric("ampoule_connections").await >= 1.0);
    let text = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    // The names in a request, which are anybody's to choose, are no labels.
    assert!(!text.contains("tenant=") && !text.contains("other"), "{text}");
    assert!(text.ends_with("# EOF\n"));
}

#[tokio::test]
async fn what_runs_and_what_waits_can_be_seen() {
    let server = Server::start("[concurrency]\nslots = 1");
    let body = json!({"runtime": "sh", "source": "sleep 1"});
    let look = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        (server.metric("ampoule_slots_in_use").await, server.metric("ampoule_queue_length").await)
    };
    let (_, _, seen) = tokio::join!(server.run(&body), server.run(&body), look);
    assert_eq!(seen, (1.0, 1.0));
    server.settles().await;
}

#[tokio::test]
async fn the_log_has_the_trace_and_the_request_and_never_the_script_or_its_input() {
    let server = Server::start_with("", &["--log-format", "json"]);
    let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let body = json!({
        "runtime": "sh", "source": "secret_source=1; cat; exit 5", "standardInput": "secret input", "tenant": "acme",
        "arguments": ["secret argument"], "files": [{"path": "secret-path", "content": "secret content"}],
    });
    let request = server.post(&body).header("traceparent", format!("00-{trace}-{parent}-01"));
    let answer = request.send().await.unwrap();
    let id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
    // Wrong in ways whose message repeats what was sent.
    server.run(&json!({"runtime": "sh", "source": "secret_source", "timeoutSeconds": "secret value"})).await;
    server.run(&json!({"runtime": "secret-runtime", "source": "secret_source"})).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    let log = server.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let line = lines.iter().find(|line| line["span"]["request_id"] == id).expect(&log);
    let span = &line["span"];
    assert_eq!((&span["trace_id"], &span["parent_id"]), (&json!(trace), &json!(parent)));
    assert_eq!((&line["message"], &line["status"]), (&json!("answered"), &json!(200)));
    assert_eq!((&span["tenant"], &span["runtime"], &span["outcome"]), (&json!("acme"), &json!("sh"), &json!("exited")));
    for secret in ["secret_source", "secret input", "secret argument", "secret-path", "secret content", "secret value"]
    {
        assert!(!log.contains(secret), "{secret} in {log}");
    }
}

#[tokio::test]
async fn how_long_each_part_took_is_told() {
    let server = Server::start("");
    let answer = server.run(&json!({"runtime": "sh", "source": "sleep 0.2"})).await;
    let timing = answer.header("server-timing").unwrap();
    let part = |name: &str| -> f64 {
        let (_, rest) = timing.split_once(&format!("{name};dur=")).unwrap();
        rest.split(',').next().unwrap().parse().unwrap()
    };
    assert!(part("sandbox") >= 200.0 && part("queue") < 100.0, "{timing}");
}

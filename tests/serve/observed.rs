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
async fn a_request_whose_client_goes_away_is_logged_as_abandoned() {
    let server = Server::start("");
    let body = json!({"runtime": "sh", "source": "sleep 20"});
    let given_up = tokio::time::timeout(Duration::from_millis(300), server.post(&body).send()).await;
    assert!(given_up.is_err());
    server.settles().await;
    let response = server.post(&body).header("accept", "text/event-stream").send().await.unwrap();
    drop(response);
    server.settles().await;
    let log = server.log();
    let lines: Vec<_> = log.lines().filter(|line| line.contains("abandoned")).collect();
    assert!(lines.len() == 2 && lines.iter().all(|line| line.contains("/runs")), "{log}");
    assert!(lines[0].contains("status=499") && lines[0].contains("milliseconds="), "{log}");
    assert_eq!(server.metric("ampoule_http_responses_total{route=\"/runs\",status=\"499\"}").await, 1.0);
}

#[tokio::test]
async fn what_a_request_makes_up_is_neither_a_label_nor_repeated_at_length() {
    let server = Server::start("");
    let method = "X".repeat(5000);
    server.raw(format!("{method} /runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes());
    let runtime = "y".repeat(5000);
    server.run(&json!({"runtime": runtime, "source": ""})).await.is_problem(400, Some("runtime"), "5000 bytes");
    let digest = json!({"runtime": "sh", "source": "", "sourceSha256": "z".repeat(5000)});
    server.run(&digest).await.is_problem(400, Some("sourceSha256"), "5000 bytes");
    let metrics = server.get("/metrics").send().await.unwrap().text().await.unwrap();
    for made_up in ["XXXX", "yyyy", "zzzz"] {
        assert!(!server.log().contains(made_up) && !metrics.contains(made_up), "{made_up}");
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

/// A collector of spans, which keeps what is posted to it.
#[cfg(all(unix, feature = "otlp"))]
fn collector() -> (std::net::SocketAddr, std::sync::mpsc::Receiver<Vec<u8>>) {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().take(20) {
            let (sender, mut stream) = (sender.clone(), stream.unwrap());
            std::thread::spawn(move || {
                let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
                loop {
                    let read = stream.read(&mut piece).unwrap_or(0);
                    if read == 0 {
                        return;
                    }
                    bytes.extend_from_slice(&piece[..read]);
                    let Some(head) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
                    let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
                    let (_, length) = text.split_once("content-length: ").unwrap();
                    let length: usize = length.lines().next().unwrap().parse().unwrap();
                    if bytes.len() < head + 4 + length {
                        continue;
                    }
                    let whole: Vec<u8> = bytes.drain(..head + 4 + length).collect();
                    let _ = sender.send(whole);
                    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
                }
            });
        }
    });
    (address, receiver)
}

#[cfg(all(unix, feature = "otlp"))]
#[tokio::test]
async fn spans_go_to_a_collector_as_children_of_the_caller_s() {
    use crate::program::Place;
    let (address, spans) = collector();
    let place = Place::new();
    let mut command = place.ampoule(["serve", "--listen", "127.0.0.1:0"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{address}"));
    let mut server = Server::of(command, place);
    let (trace, parent) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let body = json!({"runtime": "sh", "source": "secret_source=1", "tenant": "acme"});
    let request = server.post(&body).header("traceparent", format!("00-{trace}-{parent}-01"));
    assert_eq!(request.send().await.unwrap().status(), 200);
    // The last spans are sent before the end.
    server.terminate();
    assert_eq!(server.ended(Duration::from_secs(20)).code(), Some(0));
    let sent: Vec<u8> = spans.try_iter().flatten().collect();
    let has = |bytes: &[u8]| sent.windows(bytes.len()).any(|window| window == bytes);
    let bytes_of = |hex: &str| -> Vec<u8> {
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
    };
    assert!(has(b"POST /v1/traces") && has(b"POST /runs") && has(b"acme"), "{}", String::from_utf8_lossy(&sent));
    assert!(has(&bytes_of(trace)) && has(&bytes_of(parent)));
    assert!(!has(b"secret_source"));
}

//! `Accept: text/event-stream`: output as it comes, then the outcome.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::{Answer, Server};

/// An event, and when it came.
#[derive(Debug)]
struct Event {
    name: String,
    data: Value,
    at: Duration,
}

async fn events(server: &Server, body: &Value) -> Vec<Event> {
    let begin = Instant::now();
    let mut response = server.post(body).header("accept", "text/event-stream").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let (mut text, mut events) = (Vec::new(), Vec::new());
    while let Some(piece) = response.chunk().await.unwrap() {
        text.extend_from_slice(&piece);
        while let Some(end) = text.windows(2).position(|pair| pair == b"\n\n") {
            let event: Vec<u8> = text.drain(..end + 2).collect();
            let event = String::from_utf8(event).unwrap();
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
            // One without a name is a comment that keeps the connection open.
            if let (Some(name), Some(data)) = (field("event:"), field("data:")) {
                let data = serde_json::from_str(data).unwrap();
                events.push(Event { name: name.to_owned(), data, at: begin.elapsed() });
            }
        }
    }
    assert!(text.is_empty(), "{text:?}");
    events
}

fn text(events: &[Event], name: &str) -> String {
    events.iter().filter(|event| event.name == name).map(|event| event.data["text"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn output_comes_while_the_script_runs_and_the_outcome_last() {
    let server = Server::start("");
    let source = "import sys, time\nprint('one', flush=True)\ntime.sleep(0.5)\nprint('two')\n\
                  print('err', file=sys.stderr)\nsys.exit(3)";
    let events = events(&server, &json!({"runtime": "python", "source": source})).await;
    assert_eq!((text(&events, "stdout"), text(&events, "stderr")), ("one\ntwo\n".into(), "err\n".into()));
    assert!(events[0].at + Duration::from_millis(300) < events.last().unwrap().at, "{events:?}");
    let last = events.last().unwrap();
    assert_eq!((last.name.as_str(), &last.data["exitCode"]), ("outcome", &json!(3)));
    assert_eq!((&last.data["standardOutput"], &last.data["standardError"]), (&json!("one\ntwo\n"), &json!("err\n")));
    assert_eq!(events.iter().filter(|event| event.name == "outcome").count(), 1);
}

#[tokio::test]
async fn a_large_output_comes_whole_and_in_order_and_is_cut_at_its_cap() {
    let server = Server::start("");
    let source = "for i in range(60000): print(i, 'é')";
    let found = events(&server, &json!({"runtime": "python", "source": source})).await;
    let expected: String = (0..60000).map(|i| format!("{i} é\n")).collect();
    assert_eq!(text(&found, "stdout"), expected);
    let found = events(&server, &json!({"runtime": "python", "source": source, "maxOutputBytes": 1000})).await;
    let cut = text(&found, "stdout");
    assert!(cut.len() <= 1000 && cut.len() > 997 && expected.starts_with(&cut), "{}", cut.len());
    assert_eq!(found.last().unwrap().data["truncated"], true);
}

#[tokio::test]
async fn a_timeout_keeps_what_came_before_it() {
    let server = Server::start("");
    let body = json!({"runtime": "sh", "source": "echo before; sleep 30", "timeoutSeconds": 0.3});
    let events = events(&server, &body).await;
    assert_eq!(text(&events, "stdout"), "before\n");
    assert_eq!(events.last().unwrap().data["timedOut"], true);
}

#[tokio::test]
async fn what_is_wrong_before_a_script_runs_has_a_status_of_its_own() {
    let server = Server::start("");
    let send = async |body: Value| {
        let request = server.post(&body).header("accept", "text/event-stream");
        Answer::of(request.send().await.unwrap()).await
    };
    send(json!({"runtime": "nothing", "source": ""})).await.is_problem(403, Some("runtime"), "nothing");
    send(json!({"runtime": "sh", "source": "#".repeat(5 << 20)})).await.is_problem(413, Some("source"), "source_bytes");
}

#[tokio::test]
async fn who_goes_away_takes_the_run_along() {
    let server = Server::start("");
    let body = json!({"runtime": "sh", "source": "echo begun; while :; do :; done"});
    let mut response = server.post(&body).header("accept", "text/event-stream").send().await.unwrap();
    let first = response.chunk().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&first).contains("begun"));
    assert_eq!(server.metric("ampoule_slots_in_use").await, 1.0);
    drop(response);
    server.settles().await;
    assert_eq!(server.files_left(), [""; 0]);
}

/// What a client that reads nothing is sent: more than the system holds for it.
fn floods(seconds: f64) -> Value {
    let source = "import sys\nwhile True: sys.stdout.write('x' * 65535 + '\\n')";
    json!({"runtime": "python", "source": source, "timeoutSeconds": seconds})
}

/// Posts it as a client that reads nothing.
fn posted(server: &Server, body: &Value) -> TcpStream {
    let body = body.to_string();
    let mut stream = server.connect();
    let head = "POST /runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: text/event-stream";
    write!(stream, "{head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    stream
}

#[tokio::test]
async fn a_call_whose_events_nobody_reads_ends_at_its_timeout_and_its_outcome_is_kept() {
    let server = Server::start("[limits]\nmax-output = '64MiB'\n[concurrency]\nslots = 1");
    let mut stream = posted(&server, &floods(1.0));
    let waited = async {
        while server.metric("ampoule_slots_in_use").await == 0.0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        server.settles().await;
    };
    tokio::time::timeout(Duration::from_secs(8), waited).await.expect("the call holds its slot");
    assert_eq!(server.outcome("sh", "echo free").await["standardOutput"], "free\n");
    // It comes when it is read after all.
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let outcome = &text[text.find("event: outcome").expect("no outcome")..];
    assert!(outcome.contains("\"timedOut\":true"), "{}", &outcome[outcome.len().saturating_sub(300)..]);
}

#[tokio::test]
async fn who_goes_away_without_reading_takes_the_run_along() {
    let server = Server::start("[limits]\nmax-output = '64MiB'");
    let stream = posted(&server, &floods(30.0));
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(server.metric("ampoule_slots_in_use").await, 1.0);
    drop(stream);
    server.settles().await;
    assert_eq!(server.metric("ampoule_calls_refused_total{reason=\"abandoned\"}").await, 1.0);
}

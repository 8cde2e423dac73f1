//! Clients that neither send nor take what they should: nobody else waits for them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use ampoule::serve::{Tokens, token_digest};
use serde_json::{Value, json};

use crate::server::{Answer, Server};

/// Sends a request and reads nothing of its answer.
fn posted(server: &Server, accept: &str, body: &Value) -> TcpStream {
    let body = body.to_string();
    let mut stream = server.connect();
    let head = "POST /runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json";
    write!(stream, "{head}\r\nAccept: {accept}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    stream
}

/// More than the system holds for a client that does not read.
const LARGE: &str = "import sys\nfor _ in range(384): sys.stdout.write('x' * 65535 + '\\n')";

/// Waits until no other connections are open than this test's client has.
async fn are_gone(server: &Server, within: Duration) {
    let begin = Instant::now();
    while server.metric("ampoule_connections").await > 1.0 {
        assert!(begin.elapsed() < within, "a client that takes nothing is still connected: {}", server.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_client_that_takes_nothing_of_its_answer_is_disconnected() {
    let server = Server::start("[limits]\nmax-output = '24MiB'\n[requests]\nwrite-time = '1s'");
    for accept in ["application/json", "text/event-stream"] {
        let _deaf = posted(&server, accept, &json!({"runtime": "python", "source": LARGE}));
        let begin = Instant::now();
        while server.metric("ampoule_connections").await < 2.0 {
            assert!(begin.elapsed() < Duration::from_secs(5));
        }
        are_gone(&server, Duration::from_secs(10)).await;
        server.settles().await;
    }
}

#[tokio::test]
async fn events_that_are_long_in_coming_are_waited_for_beyond_the_write_time() {
    let server = Server::start("[requests]\nwrite-time = '500ms'");
    let body = json!({"runtime": "sh", "source": "echo one; sleep 2; echo two"});
    let response = server.post(&body).header("accept", "text/event-stream").send().await.unwrap();
    let text = response.text().await.unwrap();
    assert!(text.contains("two\\n") && text.contains("event: outcome"), "{text}");
}

#[tokio::test]
async fn answers_that_are_not_taken_have_room_for_so_many_bytes() {
    let limits = "[limits]\nmax-output = '24MiB'\n";
    let server = Server::start(&format!("{limits}[requests]\nanswers = '50MiB'\nfiles-out = 0\nwrite-time = '4s'"));
    let large = json!({"runtime": "python", "source": LARGE});
    let _deaf = [(); 2].map(|()| posted(&server, "application/json", &large));
    let begin = Instant::now();
    while server.log().matches("answered").count() < 2 {
        assert!(begin.elapsed() < Duration::from_secs(4), "{}", server.log());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.run(&large).await.is_problem(503, None, "the answers");
    are_gone(&server, Duration::from_secs(10)).await;
    assert_eq!(server.run(&large).await.status, 200);
}

/// A request whose body does not come.
fn begun(server: &Server, path: &str, headers: &str) -> TcpStream {
    let mut stream = server.connect();
    let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}");
    write!(stream, "{head}Content-Length: 9999\r\n\r\n{{").unwrap();
    stream
}

#[test]
fn a_full_house_still_answers_probes_and_tells_others_to_come_again() {
    let server = Server::start("[requests]\nconnections = 2\nbody-time = '4s'");
    let slow = [begun(&server, "/runs", ""), begun(&server, "/runs", "")];
    std::thread::sleep(Duration::from_millis(300));
    let get = |path: &str| server.raw(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes());
    for _ in 0..20 {
        let begin = Instant::now();
        for path in ["/healthz", "/readyz"] {
            let answer = get(path);
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        let refused = get("/runtimes");
        assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("2 connections are in use"), "{refused}");
        assert!(refused.to_lowercase().contains("connection: close"), "{refused}");
        assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
    }
    // Those who say nothing do not take the places of probes.
    let silent: Vec<_> = (0..20).map(|_| server.connect()).collect();
    assert!(get("/healthz").starts_with("HTTP/1.1 200"));
    drop((slow, silent));
    std::thread::sleep(Duration::from_millis(500));
    assert!(get("/openapi.json").starts_with("HTTP/1.1 200"));
}

fn token(name: &str, tenants: &str) -> (String, String) {
    let token = Tokens::generate();
    let entry = format!("[[tokens]]\nname = '{name}'\nsha256 = '{}'\ntenants = {tenants}\n", token_digest(&token));
    (token, entry)
}

#[test]
fn a_token_of_no_tenant_is_refused_before_its_body_is_read() {
    let (metrics, entry) = token("metrics", "[]");
    let server = Server::start(&entry);
    let begin = Instant::now();
    let mut stream = begun(&server, "/runs", &format!("Authorization: Bearer {metrics}\r\n"));
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 403");
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn one_token_takes_no_more_than_its_share_of_the_room_for_bodies() {
    let ((a, first), (b, second)) = (token("a", "['a']"), token("b", "['b']"));
    let server = Server::start(&format!("[requests]\nbody = '64KiB'\nbodies = '128KiB'\n{first}{second}"));
    let held = json!({"runtime": "sh", "source": "cat > /dev/null; sleep 2", "standardInput": "x".repeat(50 << 10)});
    let run = async |token: &str| Answer::of(server.post(&held).bearer_auth(token).send().await.unwrap()).await;
    let late = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        (run(&a).await, run(&b).await)
    };
    let (first, (second, other)) = tokio::join!(run(&a), late);
    assert_eq!((first.status, other.status), (200, 200));
    second.is_problem(429, None, "its share");
}

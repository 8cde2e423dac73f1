//! The end: nothing new is taken, calls that run may end, and what is left at the deadline is cancelled.
#![cfg(unix)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::Server;

const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn calls_that_run_come_to_their_end() {
    let mut server = Server::start("shutdown-time = '20s'");
    let body = json!({"runtime": "sh", "source": "sleep 1; echo done"});
    let idle = server.connect();
    let ending = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        server.terminate();
        tokio::time::sleep(Duration::from_millis(200)).await;
        TcpStream::connect(server.address).is_err()
    };
    let (answer, refused) = tokio::join!(server.run(&body), ending);
    assert_eq!(answer.json["standardOutput"], "done\n", "{answer:?}");
    assert!(refused, "a new connection was taken");
    let begin = Instant::now();
    assert_eq!(server.ended(SOON).code(), Some(0));
    // It waits for no idle connection.
    assert!(begin.elapsed() < Duration::from_secs(5));
    drop(idle);
    assert_eq!(server.place.left(), [""; 0].map(std::path::PathBuf::from));
}

#[tokio::test]
async fn at_the_deadline_calls_are_cancelled_and_told_so() {
    let mut server = Server::start("shutdown-time = '500ms'");
    let body = json!({"runtime": "sh", "source": "while :; do :; done"});
    let ending = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        server.terminate();
        Instant::now()
    };
    let (answer, begin) = tokio::join!(server.run(&body), ending);
    answer.is_problem(503, None, "shutting down");
    let took = begin.elapsed();
    assert!((Duration::from_millis(450)..Duration::from_secs(3)).contains(&took), "{took:?}");
    assert_eq!(server.ended(SOON).code(), Some(0));
    assert!(server.place.left().is_empty(), "{:?}", server.place.left());
}

#[tokio::test]
async fn a_second_signal_cancels_at_once() {
    let mut server = Server::start("shutdown-time = '1h'");
    let body = json!({"runtime": "python", "source": "import time; time.sleep(25)"});
    let ending = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        server.terminate();
        tokio::time::sleep(Duration::from_millis(300)).await;
        server.terminate();
    };
    let (answer, ()) = tokio::join!(server.run(&body), ending);
    answer.is_problem(503, None, "shutting down");
    assert_eq!(server.ended(SOON).code(), Some(0));
}

#[tokio::test]
async fn a_request_that_comes_while_the_service_ends_is_told_so() {
    let mut server = Server::start("shutdown-time = '20s'");
    // One whose body is not there yet when the service begins to end.
    let mut late = server.connect();
    let body = r#"{"runtime": "sh", "source": "echo late"}"#;
    let head = format!(
        "POST /runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    late.write_all(head.as_bytes()).unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    server.terminate();
    tokio::time::sleep(Duration::from_millis(200)).await;
    late.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    late.read_to_string(&mut answer).unwrap();
    // It was let in before, so it is served, and the connection closed.
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("late\\n"), "{answer}");
    assert_eq!(server.ended(SOON).code(), Some(0));

    let mut server = Server::start("shutdown-time = '20s'");
    let runs = json!({"runtime": "sh", "source": "sleep 2"});
    let ready = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let mut kept = server.connect();
        // A request's head that has begun.
        kept.write_all(b"GET /readyz HTTP/1.1\r\nHost: local").unwrap();
        tokio::time::sleep(Duration::from_millis(200)).await;
        server.terminate();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let _ = kept.write_all(b"host\r\n\r\n");
        let mut answer = String::new();
        let _ = kept.read_to_string(&mut answer);
        answer
    };
    let (answer, ready) = tokio::join!(server.run(&runs), ready);
    assert_eq!(answer.status, 200);
    // Either it is told, or the connection was closed before it was a request: it never hangs.
    assert!(ready.is_empty() || ready.starts_with("HTTP/1.1 503"), "{ready}");
    assert_eq!(server.ended(SOON).code(), Some(0));
}

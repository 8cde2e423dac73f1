//! Requests that are wrong, endless, slow or many: each gets its status or is closed, and the service keeps serving.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::server::{Answer, Server};

/// A request with this body, on a connection that is then closed.
fn post(body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

async fn still_serves(server: &Server) {
    assert_eq!(server.outcome("sh", "echo still").await["standardOutput"], "still\n");
}

#[tokio::test]
async fn json_that_is_none_is_400() {
    let server = Server::start("");
    let whole = json!({"runtime": "sh", "source": "echo hi", "timeoutSeconds": 1}).to_string();
    for end in 0..whole.len() {
        let answer = server.raw(&post(&whole.as_bytes()[..end]));
        assert!(answer.starts_with("HTTP/1.1 400"), "{end}: {answer}");
    }
    let deep = format!("{{\"runtime\": \"sh\", \"source\": \"\", \"x\": {}", "[".repeat(100_000));
    for body in [&b"\xFF\xFE"[..], b"nonsense", b"null", b"\"text\"", b"{\"a\": 1}{}", deep.as_bytes()] {
        let answer = server.raw(&post(body));
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(answer.contains("application/problem+json"), "{answer}");
    }
    let answer = server.raw(&post(b"{\"runtime\": \"sh\", \"source\": \"\xC3\x28\"}"));
    assert!(answer.contains("byte 29 begins no character"), "{answer}");
    still_serves(&server).await;
}

#[tokio::test]
async fn unknown_fields_are_ignored_and_timeouts_that_are_none_refused() {
    let server = Server::start("");
    let body = json!({"runtime": "sh", "source": "echo hi", "later": {"a": [1, null]}, "environment": {"A": "b"}});
    assert_eq!(server.run(&body).await.json["standardOutput"], "hi\n");
    for timeout in ["-1", "0", "1e-30", "NaN", "\"NaN\"", "Infinity", "1e999", "true", "[1]"] {
        let body = format!("{{\"runtime\": \"sh\", \"source\": \"\", \"timeoutSeconds\": {timeout}}}");
        let answer = server.raw(&post(body.as_bytes()));
        assert!(answer.starts_with("HTTP/1.1 400"), "{timeout}: {answer}");
        assert!(answer.contains("\"field\":\"timeoutSeconds\""), "{timeout}: {answer}");
    }
    for timeout in [json!(1e300), json!(u64::MAX), json!(0.5)] {
        let answer = server.run(&json!({"runtime": "sh", "source": "echo hi", "timeoutSeconds": timeout})).await;
        assert_eq!(answer.json["standardOutput"], "hi\n", "{timeout}");
    }
}

/// Sends a body of this many bytes as fast as it goes, and returns what was answered and how many were taken.
fn flood(server: &Server, head: &str, bytes: u64, chunked: bool) -> (String, u64) {
    let mut stream = server.connect();
    stream.write_all(head.as_bytes()).unwrap();
    let mut reader = stream.try_clone().unwrap();
    let answer = std::thread::spawn(move || {
        let mut answer = Vec::new();
        let _ = reader.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    });
    let piece = vec![b'x'; 1 << 20];
    let mut sent = 0;
    while sent < bytes {
        let written = match chunked {
            true => stream
                .write_all(b"100000\r\n")
                .and_then(|()| stream.write_all(&piece))
                .and_then(|()| stream.write_all(b"\r\n")),
            false => stream.write_all(&piece),
        };
        if written.is_err() {
            break;
        }
        sent += piece.len() as u64;
    }
    (answer.join().unwrap(), sent)
}

#[tokio::test]
async fn a_body_of_a_gigabyte_is_413_and_is_not_held() {
    let server = Server::start("");
    let head = "POST /runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let before = server.resident();
    let (answer, _) = flood(&server, &format!("{head}Content-Length: 1073741824\r\n\r\n"), 1 << 30, false);
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("16777216"), "{answer}");
    let (answer, _) = flood(&server, &format!("{head}Transfer-Encoding: chunked\r\n\r\n"), 1 << 30, true);
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    // Who asks before sending is told before sending.
    let mut asks = server.connect();
    asks.write_all(format!("{head}Content-Length: 1073741824\r\nExpect: 100-continue\r\n\r\n").as_bytes()).unwrap();
    let mut answer = String::new();
    asks.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    if let (Some(before), Some(after)) = (before, server.resident()) {
        assert!(after < before + (64 << 20), "{before} bytes were resident, now {after}");
    }
    still_serves(&server).await;
}

#[tokio::test]
async fn a_length_that_is_none_is_refused_before_anything_is_read() {
    let server = Server::start("");
    for length in ["-1", "x", "99999999999999999999999999"] {
        let head = format!("POST /runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
        let answer = server.raw(head.as_bytes());
        assert!(answer.starts_with("HTTP/1.1 4"), "{length}: {answer}");
    }
    for nonsense in ["\x16\x03\x01\x02\x00", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\r\n\r\n\r\n", "a: b\r\n\r\n"] {
        let answer = server.raw(format!("{nonsense}\r\n\r\n").as_bytes());
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{nonsense:?}: {answer}");
    }
    let long = format!("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    assert!(server.raw(long.as_bytes()).starts_with("HTTP/1.1 431"));
    still_serves(&server).await;
}

#[tokio::test]
async fn heads_and_bodies_that_come_too_slowly_are_given_up() {
    let server = Server::start("[requests]\nhead-time = '500ms'\nbody-time = '500ms'");
    let drip = |first: String| {
        let mut stream = server.connect();
        std::thread::spawn(move || {
            let begin = Instant::now();
            stream.write_all(first.as_bytes()).unwrap();
            let mut reader = stream.try_clone().unwrap();
            let drip = std::thread::spawn(move || {
                while begin.elapsed() < Duration::from_secs(10) && stream.write_all(b"x").is_ok() {
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
            let mut answer = Vec::new();
            let _ = reader.read_to_end(&mut answer);
            let _ = reader.shutdown(std::net::Shutdown::Both);
            drip.join().unwrap();
            (String::from_utf8_lossy(&answer).into_owned(), begin.elapsed())
        })
    };
    let head = drip("POST /runs HTTP/1.1\r\nHost: localhost\r\nX-Slow: ".into());
    let body =
        "POST /runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n";
    let body = drip(body.into());
    // On connections of their own: one that idles is closed soon, too.
    let serves = || assert!(server.raw(&post(br#"{"runtime": "sh", "source": "echo still"}"#)).contains("still\\n"));
    serves();
    let ((head, head_took), (body, body_took)) = (head.join().unwrap(), body.join().unwrap());
    assert!(head.is_empty() || head.starts_with("HTTP/1.1 408"), "{head}");
    assert!(body.starts_with("HTTP/1.1 408") && body.contains("500ms"), "{body}");
    for took in [head_took, body_took] {
        assert!((400..5000).contains(&took.as_millis()), "{took:?}");
    }
    serves();
}

/// Connections that a test may open: the system's limit is for this process and for the service.
fn many() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        let _ = setrlimit(Resource::Nofile, limit);
        let most = getrlimit(Resource::Nofile).current.map_or(20_000, |most| usize::try_from(most).unwrap_or(20_000));
        most.saturating_sub(500).min(10_000)
    }
    #[cfg(not(unix))]
    2000
}

#[tokio::test]
async fn ten_thousand_idle_connections_make_way_for_a_request() {
    let server = Server::start("[requests]\nconnections = 1000");
    let count = many();
    let mut idle = Vec::with_capacity(count);
    for index in 0..count {
        let mut stream = TcpStream::connect(server.address).unwrap_or_else(|error| panic!("{index}: {error}"));
        // Every other one has begun a head.
        if index % 2 == 0 {
            let _ = stream.write_all(b"GET /hea");
        }
        idle.push(stream);
    }
    let begin = Instant::now();
    still_serves(&server).await;
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    assert!(server.metric("ampoule_connections").await <= 1000.0);
    // The oldest made way.
    let mut first = idle.swap_remove(0);
    first.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let ended = first.read(&mut [0; 100]);
    assert!(matches!(ended, Ok(0)) || ended.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
    drop(idle);
    still_serves(&server).await;
}

#[tokio::test]
async fn a_request_whose_client_goes_away_ends() {
    let server = Server::start("");
    let body = json!({"runtime": "sh", "source": "while :; do :; done"}).to_string();
    for _ in 0..4 {
        let mut stream = server.connect();
        stream.write_all(&post(body.as_bytes())).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        drop(stream);
    }
    server.settles().await;
    assert_eq!(server.metric("ampoule_calls_refused_total{reason=\"abandoned\"}").await, 4.0);
    assert_eq!(server.files_left(), [""; 0]);
}

#[tokio::test]
async fn arguments_that_are_too_many_and_scripts_that_are_too_long_are_413() {
    let server = Server::start("");
    let long = json!({"runtime": "sh", "source": "#".repeat((4 << 20) + 1)});
    server.run(&long).await.is_problem(413, Some("source"), "4194305 bytes, but `source_bytes` allows 4194304");
    let arguments = json!({"runtime": "sh", "source": ":", "arguments": ["x".repeat(2 << 20)]});
    server.run(&arguments).await.is_problem(413, Some("arguments"), "arguments_bytes");
    let fits = json!({"runtime": "sh", "source": "#".repeat(4 << 20)});
    assert_eq!(server.run(&fits).await.status, 200);
    let answer = Answer::of(server.get("/readyz").send().await.unwrap()).await;
    assert_eq!(answer.status, 200);
}

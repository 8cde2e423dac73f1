//! Many at once: none lost, none mixed up with another's, nothing left running.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;

use crate::server::Server;

const REQUESTS: usize = 2000;
const CONNECTIONS: usize = 64;

/// Makes the requests, so many at once. What one does with its number is given.
async fn all<F>(one: impl Fn(usize) -> F + Send + Sync + 'static)
where
    F: Future<Output = ()> + Send,
{
    let (next, one) = (Arc::new(AtomicUsize::new(0)), Arc::new(one));
    let mut tasks = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let (next, one) = (next.clone(), one.clone());
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= REQUESTS {
                    return;
                }
                one(number).await;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
}

async fn answers_its_number(server: &Server, number: usize) {
    let source =
        "import sys; n = sys.stdin.read(); print('out', n); print('err', n, file=sys.stderr); sys.exit(int(n) % 200)";
    let body = json!({
        "runtime": "python", "source": source, "standardInput": number.to_string(), "tenant": format!("t{}", number % 7),
    });
    let answer = server.run(&body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let outcome = &answer.json;
    assert_eq!(outcome["standardOutput"], format!("out {number}\n"), "{outcome}");
    assert_eq!(outcome["standardError"], format!("err {number}\n"));
    assert_eq!(outcome["exitCode"], number % 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_requests_on_64_connections_each_get_their_own_answer() {
    let server = Arc::new(Server::start(""));
    // What the first calls make ready stays.
    for number in 0..200 {
        answers_its_number(&server, number).await;
    }
    let warmed = server.resident();
    let served = server.clone();
    all(move |number| {
        let server = served.clone();
        async move { answers_its_number(&server, number).await }
    })
    .await;
    let first = server.resident();
    let served = server.clone();
    all(move |number| {
        let server = served.clone();
        async move { answers_its_number(&server, number).await }
    })
    .await;
    if let (Some(warmed), Some(first), Some(second)) = (warmed, first, server.resident()) {
        eprintln!("resident: {} MiB, after 2,000 requests {}, after 4,000 {}", warmed >> 20, first >> 20, second >> 20);
        assert!(second < first + (16 << 20), "{first} bytes were resident after the first half, {second} after both");
    }
    server.settles().await;
    assert_eq!(server.files_left(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn timeouts_and_disconnects_among_them_leave_nothing_running() {
    let server = Arc::new(Server::start(""));
    let served = server.clone();
    all(move |number| {
        let server = served.clone();
        async move {
            let endless = json!({"runtime": "sh", "source": "while :; do :; done", "timeoutSeconds": 0.05});
            match number % 10 {
                3 => assert_eq!(server.run(&endless).await.json["timedOut"], true),
                7 => {
                    let endless = json!({"runtime": "python", "source": "while True: pass"});
                    let sent = tokio::time::timeout(Duration::from_millis(20), server.post(&endless).send());
                    assert!(sent.await.is_err(), "an endless script was answered");
                }
                _ => answers_its_number(&server, number).await,
            }
        }
    })
    .await;
    server.settles().await;
    assert_eq!(server.files_left(), [""; 0]);
    answers_its_number(&server, 1).await;
    // Those whose client went away before they were requests are not counted.
    let abandoned = server.metric("ampoule_calls_refused_total{reason=\"abandoned\"}").await;
    assert!((1.0..=200.0).contains(&abandoned), "{abandoned}");
    assert_eq!(server.metric("ampoule_calls_total{runtime=\"sh\",outcome=\"timed_out\"}").await, 200.0);
}

//! Ceilings, slots and queues: of all, and of a tenant.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::server::{Answer, Server};

fn sleeps(seconds: f64, tenant: &str) -> Value {
    json!({"runtime": "sh", "source": format!("sleep {seconds}; echo {tenant}"), "tenant": tenant})
}

#[tokio::test]
async fn a_request_lowers_a_ceiling_and_never_raises_it() {
    let server = Server::start("[limits]\ntimeout = '500ms'\nmax-output = 10\nmemory = '96MiB'");
    for asked in [json!(30), json!(1e300), Value::Null] {
        let begin = Instant::now();
        let body = json!({"runtime": "sh", "source": "sleep 30", "timeoutSeconds": asked});
        assert_eq!(server.run(&body).await.json["timedOut"], true, "{asked}");
        assert!((450..2500).contains(&begin.elapsed().as_millis()), "{asked}: {:?}", begin.elapsed());
    }
    let cut = json!({"runtime": "sh", "source": "echo 01234567890123456789", "maxOutputBytes": 1000});
    assert_eq!(server.run(&cut).await.json["standardOutput"], "0123456789");
    let much = json!({"runtime": "python", "source": "bytearray(100 << 20)", "memoryBytes": 1_u64 << 40});
    let outcome = server.run(&much).await.json;
    assert_eq!(outcome["exitCode"], 1, "{outcome}");
}

#[tokio::test]
async fn a_tenant_has_ceilings_of_its_own() {
    let server = Server::start("[tenants.small]\ntimeout = '300ms'\nmax-output = 5\nbody = '1KiB'");
    assert_eq!(server.run(&sleeps(30.0, "small")).await.json["timedOut"], true);
    let body = |tenant: &str| json!({"runtime": "sh", "source": "echo 0123456789", "tenant": tenant});
    assert_eq!(server.run(&body("small")).await.json["standardOutput"], "01234");
    assert_eq!(server.run(&body("other")).await.json["standardOutput"], "0123456789\n");
    let large = |tenant: &str| json!({"runtime": "sh", "source": "#".repeat(1200), "tenant": tenant});
    server.run(&large("small")).await.is_problem(413, None, "`small` may send 1024");
    assert_eq!(server.run(&large("other")).await.status, 200);
}

#[tokio::test]
async fn beyond_a_tenant_s_queue_it_is_429_and_others_are_served() {
    let server = Server::start("[concurrency]\nslots = 4\nslots-per-tenant = 1\nqueue-per-tenant = 1");
    let (first, second) = (sleeps(3.0, "a"), sleeps(0.0, "a"));
    let after_it = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        server.run(&second).await
    };
    let both = async { tokio::join!(server.run(&first), after_it) };
    let third = async {
        // By now the first runs and the second waits.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let refused = server.run(&sleeps(0.0, "a")).await;
        refused.is_problem(429, None, "1 calls of the tenant wait for one of its 1 slots");
        assert_eq!(refused.header("retry-after"), Some("1"));
        server.run(&sleeps(0.0, "b")).await
    };
    let ((first, second), other) = tokio::join!(both, third);
    for (answer, tenant) in [(first, "a\n"), (second, "a\n"), (other, "b\n")] {
        assert_eq!(answer.json["standardOutput"], tenant, "{answer:?}");
    }
}

#[tokio::test]
async fn beyond_the_queue_of_all_and_its_time_it_is_503() {
    let config = "[concurrency]\nslots = 1\nqueue = 1\nqueue-time = '300ms'";
    let server = Server::start(config);
    let (runs, waits, late) = (sleeps(1.5, "a"), sleeps(0.0, "b"), sleeps(0.0, "c"));
    let waiting = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        server.run(&waits).await
    };
    let refused = async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        server.run(&late).await
    };
    let (runs, waiting, refused) = tokio::join!(server.run(&runs), waiting, refused);
    assert_eq!(runs.json["standardOutput"], "a\n");
    waiting.is_problem(503, None, "no slot was free within 300ms");
    refused.is_problem(503, None, "1 calls wait for one of 1 slots");
    for answer in [waiting, refused] {
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert_eq!(server.outcome("sh", "echo free").await["standardOutput"], "free\n");
}

#[tokio::test]
async fn bodies_that_are_held_have_room_for_so_many_bytes() {
    let server = Server::start("[requests]\nbody = '64KiB'\nbodies = '100KiB'");
    let held = json!({"runtime": "sh", "source": "cat > /dev/null; sleep 1", "standardInput": "x".repeat(50 << 10)});
    let late = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        (server.run(&held).await, server.run(&sleeps(0.0, "a")).await)
    };
    let (first, (second, small)) = tokio::join!(server.run(&held), late);
    assert_eq!((first.status, small.status), (200, 200));
    second.is_problem(503, None, "all the memory");
    assert_eq!(server.run(&held).await.status, 200);
}

#[tokio::test]
async fn only_what_the_configuration_names_may_be_run() {
    let server = Server::start("[runtimes]\n'python-3.15' = 'python'\n'shell' = 'sh'");
    let run = async |runtime: &str| -> Answer { server.run(&json!({"runtime": runtime, "source": ""})).await };
    for runtime in ["python-3.15", "shell"] {
        assert_eq!(run(runtime).await.status, 200, "{runtime}");
    }
    for runtime in ["python", "sh", "javascript", "", "SHELL"] {
        run(runtime).await.is_problem(403, Some("runtime"), "python-3.15, shell");
    }
}

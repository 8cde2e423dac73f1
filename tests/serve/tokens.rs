//! Who may use the service, and for whom.

use ampoule::serve::{Tokens, token_digest};
use reqwest::RequestBuilder;
use serde_json::json;

use crate::server::{Answer, Server};

struct Keys {
    server: Server,
    acme: String,
    all: String,
    metrics: String,
}

fn keys() -> Keys {
    let [acme, all, metrics] = [(); 3].map(|()| Tokens::generate());
    let entry = |name: &str, token: &str, tenants: &str| {
        format!("[[tokens]]\nname = '{name}'\nsha256 = '{}'\ntenants = {tenants}\n", token_digest(token))
    };
    let config = entry("acme", &acme, "['acme']") + &entry("all", &all, "'any'") + &entry("metrics", &metrics, "[]");
    Keys { server: Server::start(&config), acme, all, metrics }
}

async fn send(request: RequestBuilder, token: Option<&str>) -> Answer {
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    Answer::of(request.send().await.unwrap()).await
}

#[tokio::test]
async fn a_token_that_is_not_known_lets_nobody_in() {
    let Keys { server, acme, .. } = keys();
    let body = json!({"runtime": "sh", "source": "echo hi", "tenant": "acme"});
    for wrong in [None, Some(""), Some("x"), Some(&acme[..acme.len() - 1]), Some(token_digest(&acme).as_str())] {
        let answer = send(server.post(&body), wrong).await;
        answer.is_problem(401, None, "Bearer");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        for path in ["/runtimes", "/metrics"] {
            send(server.get(path), wrong).await.is_problem(401, None, "Bearer");
        }
        for path in ["/healthz", "/readyz", "/docs", "/openapi.json"] {
            assert_eq!(send(server.get(path), wrong).await.status, 200, "{path}");
        }
    }
    let basic = server.post(&body).basic_auth("a", Some(&acme));
    send(basic, None).await.is_problem(401, None, "Bearer");
    assert_eq!(send(server.post(&body), Some(&acme)).await.json["standardOutput"], "hi\n");
}

#[tokio::test]
async fn a_token_runs_scripts_for_its_tenants_and_no_other() {
    let Keys { server, acme, all, metrics } = keys();
    let body = |tenant: &str| json!({"runtime": "sh", "source": "echo hi", "tenant": tenant});
    send(server.post(&body("other")), Some(&acme)).await.is_problem(403, Some("tenant"), "`other`");
    send(server.post(&body("acme")), Some(&metrics)).await.is_problem(403, Some("tenant"), "no tenant");
    for tenant in ["acme", "other"] {
        assert_eq!(send(server.post(&body(tenant)), Some(&all)).await.status, 200);
    }
    let unnamed = json!({"runtime": "sh", "source": "echo hi"});
    assert_eq!(send(server.post(&unnamed), Some(&acme)).await.status, 200);
    send(server.post(&unnamed), Some(&metrics)).await.is_problem(403, Some("tenant"), "no tenant");
    assert_eq!(send(server.get("/metrics"), Some(&metrics)).await.status, 200);
}

#[tokio::test]
async fn the_list_of_runtimes_has_the_ceilings_of_the_caller_s_tenant() {
    let (acme, all) = (Tokens::generate(), Tokens::generate());
    let entry = |name: &str, token: &str, tenants: &str| {
        format!("[[tokens]]\nname = '{name}'\nsha256 = '{}'\ntenants = {tenants}\n", token_digest(token))
    };
    let own = "[tenants.acme]\ntimeout = '7s'\nmemory = '256MiB'\nmax-output = 1000\n";
    let server = Server::start(&(own.to_owned() + &entry("acme", &acme, "['acme']") + &entry("all", &all, "'any'")));
    for (token, timeout, memory, output) in [(&acme, 7.0, 256 << 20, 1000), (&all, 30.0, 512 << 20, 1 << 20)] {
        let limits = send(server.get("/runtimes"), Some(token)).await.json["limits"].clone();
        assert_eq!(limits["timeoutSeconds"], timeout, "{limits}");
        assert_eq!((&limits["memoryBytes"], &limits["maxOutputBytes"]), (&json!(memory), &json!(output)));
    }
}

#[tokio::test]
async fn two_headers_that_say_who_asks_or_whom_are_refused() {
    let Keys { server, all, .. } = keys();
    let get = |headers: &str| {
        let head = format!("GET /runtimes HTTP/1.1\r\n{headers}Authorization: Bearer {all}\r\n");
        server.raw(format!("{head}Host: localhost\r\nConnection: close\r\n\r\n").as_bytes())
    };
    assert!(get("").starts_with("HTTP/1.1 200"));
    for (header, name) in [("Host: example.com\r\n", "host"), ("Authorization: Bearer x\r\n", "authorization")] {
        let answer = get(header);
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(&format!("`{name}`")), "{answer}");
    }
}

#[tokio::test]
async fn tokens_are_in_no_log() {
    let Keys { server, acme, all, metrics } = keys();
    let body = json!({"runtime": "sh", "source": "echo hi", "tenant": "acme"});
    send(server.post(&body), Some(&acme)).await;
    send(server.post(&body), Some("a-wrong-one")).await;
    let log = server.log();
    assert!(log.contains("answered"), "{log}");
    for secret in [&acme, &all, &metrics, "a-wrong-one", &token_digest(&acme)] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[tokio::test]
async fn without_tokens_a_page_in_a_browser_is_kept_out() {
    let server = Server::start("");
    let body = json!({"runtime": "sh", "source": "echo hi"});
    let page = server.post(&body).header("origin", "https://example.com");
    send(page, None).await.is_problem(403, None, "browser");
    // A name of the page's that leads here.
    let rebound = server.post(&body).header("host", "example.com:8085");
    send(rebound, None).await.is_problem(403, None, "Host");
    assert_eq!(send(server.post(&body).header("host", "localhost:1"), None).await.status, 200);
}

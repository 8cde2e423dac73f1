//! Over HTTP the tools stand behind the service's tokens, and end with it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use ampoule::serve::{Tokens, token_digest};
use reqwest::{Client, Method, Response, StatusCode};
use serde_json::json;

use crate::program::Place;
use crate::served;

async fn initialize(address: &str, headers: &[(&str, &str)]) -> Response {
    let client = Client::builder().no_proxy().build().unwrap();
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    });
    let mut request = client.post(format!("{address}/mcp")).body(body.to_string());
    for (name, value) in [("content-type", "application/json"), ("accept", "application/json, text/event-stream")] {
        request = request.header(name, value);
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

#[tokio::test]
async fn a_token_is_needed_where_there_is_one() {
    let (place, token) = (Place::new(), Tokens::generate());
    let entry = format!("[[tokens]]\nname = 'a'\nsha256 = '{}'\ntenants = ['acme']", token_digest(&token));
    place.write("ampoule.toml", entry);
    let (_server, address) = served(&place);
    assert_eq!(initialize(&address, &[]).await.status(), 401);
    assert_eq!(initialize(&address, &[("authorization", "Bearer wrong")]).await.status(), 401);
    let answer = initialize(&address, &[("authorization", &format!("Bearer {token}"))]).await;
    assert_eq!(answer.status(), 200);
    assert!(answer.headers().contains_key("mcp-session-id"));
}

#[tokio::test]
async fn a_page_in_a_browser_is_kept_out_and_scripts_are_not_taken_as_requests() {
    let place = Place::new();
    place.write("ampoule.toml", "");
    let (_server, address) = served(&place);
    assert_eq!(initialize(&address, &[("origin", "https://example.com")]).await.status(), 403);
    assert_eq!(initialize(&address, &[("host", "example.com")]).await.status(), 403);
    assert_eq!(initialize(&address, &[]).await.status(), 200);
    let client = Client::builder().no_proxy().build().unwrap();
    assert_eq!(client.post(format!("{address}/runs")).send().await.unwrap().status(), 404);
    assert_eq!(client.get(format!("{address}/readyz")).send().await.unwrap().status(), 200);
}

/// The token's entry for the configuration.
fn entry(name: &str, token: &str, tenant: &str) -> String {
    format!("[[tokens]]\nname = '{name}'\nsha256 = '{}'\ntenants = ['{tenant}']\n", token_digest(token))
}

fn session_of(answer: &Response) -> String {
    answer.headers()["mcp-session-id"].to_str().unwrap().to_owned()
}

/// What a use of a session, or its end, is answered.
async fn using(address: &str, method: Method, token: &str, session: &str) -> StatusCode {
    let client = Client::builder().no_proxy().build().unwrap();
    let request = client.request(method, format!("{address}/mcp")).bearer_auth(token);
    let request = request.header("content-type", "application/json").header("mcp-session-id", session);
    let request = request.header("accept", "application/json, text/event-stream");
    request.body(json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string()).send().await.unwrap().status()
}

#[tokio::test]
async fn a_session_is_for_the_token_that_opened_it_alone() {
    let (place, a, b) = (Place::new(), Tokens::generate(), Tokens::generate());
    place.write("ampoule.toml", entry("a", &a, "acme") + &entry("b", &b, "other"));
    let (_server, address) = served(&place);
    let session = session_of(&initialize(&address, &[("authorization", &format!("Bearer {a}"))]).await);
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let (others, none) =
            (using(&address, method.clone(), &b, &session).await, using(&address, method, &b, "no-such").await);
        assert_eq!((others, none), (StatusCode::NOT_FOUND, StatusCode::NOT_FOUND));
    }
    assert_eq!(using(&address, Method::POST, &a, &session).await, 200);
    assert!(using(&address, Method::DELETE, &a, &session).await.is_success());
    assert_eq!(using(&address, Method::POST, &a, &session).await, 404);
}

#[tokio::test]
async fn sessions_are_so_many_of_one_token_and_in_all_and_idle_ones_end() {
    let (place, a, b) = (Place::new(), Tokens::generate(), Tokens::generate());
    let config = "[limits]\ntimeout = '1s'\n[concurrency]\nqueue-time = '1s'\n[requests]\nsessions = 3\n\
                  sessions-per-token = 2\nsession-time = '2500ms'\n";
    place.write("ampoule.toml", config.to_owned() + &entry("a", &a, "acme") + &entry("b", &b, "other"));
    let (_server, address) = served(&place);
    let (of_a, of_b) = (format!("Bearer {a}"), format!("Bearer {b}"));
    let open = async |bearer: &str| initialize(&address, &[("authorization", bearer)]).await;
    let first = session_of(&open(&of_a).await);
    assert_eq!(open(&of_a).await.status(), 200);
    assert_eq!(open(&of_a).await.status(), 429);
    assert_eq!(open(&of_b).await.status(), 200);
    assert_eq!(open(&of_b).await.status(), 503);
    // One that is closed makes room.
    assert!(using(&address, Method::DELETE, &a, &first).await.is_success());
    let last = session_of(&open(&of_a).await);
    tokio::time::sleep(Duration::from_millis(3500)).await;
    assert_eq!(using(&address, Method::POST, &a, &last).await, 404);
    for _ in 0..2 {
        assert_eq!(open(&of_b).await.status(), 200);
    }
}

#[tokio::test]
async fn the_tools_are_listed_with_the_limits_of_the_caller_s_tenant() {
    let (place, token) = (Place::new(), Tokens::generate());
    place.write("ampoule.toml", "[tenants.acme]\ntimeout = '7s'\n".to_owned() + &entry("a", &token, "acme"));
    let (_server, address) = served(&place);
    let session = session_of(&initialize(&address, &[("authorization", &format!("Bearer {token}"))]).await);
    let client = Client::builder().no_proxy().build().unwrap();
    for (method, params) in [("tools/list", json!({})), ("tools/call", json!({"name": "list_runtimes"}))] {
        let request = client.post(format!("{address}/mcp")).bearer_auth(&token).header("mcp-session-id", &session);
        let request = request.header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let message = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params});
        let text = request.body(message.to_string()).send().await.unwrap().text().await.unwrap();
        assert!(text.contains("7 s"), "{method}: {text}");
    }
}

/// Begins a request to the tools whose body does not come, and reads what is answered.
fn begun(address: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let head = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{headers}");
    write!(stream, "{head}Accept: application/json, text/event-stream\r\nContent-Length: 9999\r\n\r\n{{").unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn a_body_that_comes_too_slowly_is_given_up_and_one_of_no_tenant_is_not_read() {
    let place = Place::new();
    place.write("ampoule.toml", "[requests]\nbody-time = '500ms'");
    let (_server, address) = served(&place);
    assert_eq!(begun(&address, ""), "HTTP/1.1 408");

    let (place, token) = (Place::new(), Tokens::generate());
    let entry = format!("[[tokens]]\nname = 'a'\nsha256 = '{}'\ntenants = []", token_digest(&token));
    place.write("ampoule.toml", entry);
    let (_server, address) = served(&place);
    assert_eq!(begun(&address, &format!("Authorization: Bearer {token}\r\n")), "HTTP/1.1 403");
}

#[cfg(unix)]
#[tokio::test]
async fn an_open_session_does_not_hold_up_the_end() {
    use std::time::Instant;
    let place = Place::new();
    place.write("ampoule.toml", "shutdown-time = '30s'");
    let (mut server, address) = served(&place);
    let session = initialize(&address, &[]).await.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let client = Client::builder().no_proxy().build().unwrap();
    let stream = client.get(format!("{address}/mcp")).header("accept", "text/event-stream");
    let stream = stream.header("mcp-session-id", session).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    let id = rustix::process::Pid::from_raw(server.0.id().try_into().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    let begin = Instant::now();
    while server.0.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(10), "it still runs");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    drop(stream);
}

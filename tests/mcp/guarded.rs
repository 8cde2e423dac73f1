//! Over HTTP the tools stand behind the service's tokens, and end with it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use ampoule::serve::{Tokens, token_digest};
use reqwest::{Client, Response};
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

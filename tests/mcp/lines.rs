//! Over standard input and output, a message is a line.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::program::{Place, Running};

#[test]
fn a_line_that_is_no_json_is_answered_and_the_next_is_taken() {
    let place = Place::new();
    let mut command = place.ampoule(["mcp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Running(command.spawn().unwrap());
    let mut input = server.0.stdin.take().unwrap();
    let lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    let (said, hears) = mpsc::channel();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| said.send(line)));
    let answer = || -> Value {
        let line = hears.recv_timeout(Duration::from_secs(20)).expect("no answer");
        serde_json::from_str(&line).unwrap()
    };
    writeln!(input, "{{not json").unwrap();
    let wrong = answer();
    assert_eq!((&wrong["error"]["code"], &wrong["id"]), (&json!(-32700), &Value::Null), "{wrong}");
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    });
    writeln!(input, "{hello}").unwrap();
    assert_eq!(answer()["result"]["serverInfo"]["name"], "ampoule");
}

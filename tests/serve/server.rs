//! A served runner: the program in a place of its own, ended with the test.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::program::Place;

pub struct Server {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub address: SocketAddr,
    pub place: Place,
    log: Arc<Mutex<String>>,
    client: Client,
}

impl Server {
    /// Starts with this configuration, on a port that the system chooses.
    pub fn start(config: &str) -> Server {
        Server::start_with(config, &[])
    }

    pub fn start_with(config: &str, words: &[&str]) -> Server {
        let place = Place::new();
        place.write("ampoule.toml", config);
        let mut command = place.ampoule(["serve", "--config", "ampoule.toml", "--listen", "127.0.0.1:0"]);
        command.args(words);
        Server::of(command, place)
    }

    /// Starts this command, which prints where it listens.
    pub fn of(mut command: Command, place: Place) -> Server {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let log = Arc::new(Mutex::new(String::new()));
        let kept = log.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                kept.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        let mut lines = BufReader::new(stdout).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_default();
        let Some(address) = first.strip_prefix("listening on http://").and_then(|text| text.parse().ok()) else {
            let _ = child.wait();
            std::thread::sleep(Duration::from_millis(100));
            panic!("it said {first:?}, and in its log: {}", log.lock().unwrap());
        };
        std::thread::spawn(move || lines.for_each(drop));
        let client = Client::builder().no_proxy().build().unwrap();
        Server { child, address, place, log, client }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(self.url(path))
    }

    /// `POST /runs` with this JSON.
    pub fn post(&self, body: &Value) -> RequestBuilder {
        let request = self.client.post(self.url("/runs")).header("content-type", "application/json");
        request.body(body.to_string())
    }

    /// Sends the request and reads its answer.
    pub async fn run(&self, body: &Value) -> Answer {
        Answer::of(self.post(body).send().await.unwrap()).await
    }

    /// Runs a script, which must come to an outcome.
    pub async fn outcome(&self, runtime: &str, source: &str) -> Value {
        let answer = self.run(&json!({"runtime": runtime, "source": source})).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json
    }

    /// A plain connection.
    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends these bytes, and reads until the other side closes the connection.
    pub fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        // What was read before a reset counts.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The value of a metric, 0 where it has not been counted yet.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = self.get("/metrics").send().await.unwrap().text().await.unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.map_or(0.0, |value| value.parse().unwrap())
    }

    /// Waits until no call runs or waits any more.
    pub async fn settles(&self) {
        let begin = Instant::now();
        loop {
            let busy = self.metric("ampoule_slots_in_use").await + self.metric("ampoule_queue_length").await;
            if busy == 0.0 {
                return;
            }
            assert!(begin.elapsed() < Duration::from_secs(10), "{busy} calls still run");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Resident bytes, where the system tells.
    pub fn resident(&self) -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    }

    #[cfg(unix)]
    pub fn terminate(&self) {
        let id = rustix::process::Pid::from_raw(self.id().try_into().unwrap()).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits for its end.
    pub fn ended(&mut self, within: Duration) -> ExitStatus {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(begin.elapsed() < within, "it still runs after {within:?}: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The files in calls' directories, and what was kept of them.
    pub fn files_left(&self) -> Vec<String> {
        let mut found = Vec::new();
        files_below(&self.place.temporary(), 0, &mut found);
        found
    }
}

/// Files that are not the executor's own, which lie in its folder: see `tests/contract/in_process.rs`.
fn files_below(folder: &Path, depth: usize, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => files_below(&entry.path(), depth + 1, found),
            _ if depth >= 2 => found.push(entry.path().display().to_string()),
            _ => {}
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the service's log:\n{}", self.log());
        } else {
            let log = self.log();
            assert!(!log.contains("panicked"), "{log}");
        }
    }
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub json: Value,
}

impl Answer {
    pub async fn of(response: Response) -> Answer {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.unwrap();
        let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer { status, headers, json }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// It is a problem document with this status, about this field, whose detail says this.
    #[track_caller]
    pub fn is_problem(&self, status: u16, field: Option<&str>, said: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        assert_eq!(self.json["status"], status);
        assert_eq!(self.json["field"].as_str(), field, "{self:?}");
        let detail = self.json["detail"].as_str().unwrap();
        assert!(detail.contains(said), "no {said:?} in: {detail}");
        let kind = self.json["type"].as_str().unwrap();
        assert!(kind.starts_with("/docs#") && self.json["title"].is_string(), "{self:?}");
    }
}

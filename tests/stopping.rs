//! A script is stopped at its timeout whatever it does, by the real program.
//!
//! Needs the runtime: `ampoule runtime install python`.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const TIMEOUT: Duration = Duration::from_millis(500);

/// Loading the program and ending the process come on top of the script's own time.
const GRACE: Duration = Duration::from_millis(400);

/// A process that is ended with the test, however that ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[track_caller]
fn is_stopped_on_time(code: &str) {
    let start = Instant::now();
    // The pipe stays open and silent for as long as the process lives.
    let mut running = Running(
        Command::new(env!("CARGO_BIN_EXE_ampoule"))
            .args(["run", "--no-install", "--timeout", "500ms", "-e", code])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let status = loop {
        if let Some(status) = running.0.try_wait().unwrap() {
            break status;
        }
        assert!(start.elapsed() < TIMEOUT + GRACE, "still running after {:?}", start.elapsed());
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(124));
    assert!(start.elapsed() >= TIMEOUT);
}

#[test]
fn a_script_that_computes_is_stopped_at_its_timeout() {
    is_stopped_on_time("while True: pass");
}

#[test]
fn a_script_that_sleeps_is_stopped_at_its_timeout() {
    is_stopped_on_time("import time; time.sleep(30)");
}

#[test]
fn a_script_that_waits_for_input_is_stopped_at_its_timeout() {
    is_stopped_on_time("input()");
}

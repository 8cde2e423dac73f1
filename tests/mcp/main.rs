//! `ampoule mcp`, used by a client that is not ours: the package `mcp` of the protocol's makers, for Python. What is
//! claimed is in `client.py`, each claim a function; here each is a test, over standard input and output and over HTTP.
//!
//! Needs the runtimes `python`, `sh` and `javascript`, and pip; without pip the tests are left out, and say so.

#[path = "../program/mod.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod program;

mod guarded;
mod lines;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use program::{Place, Ran, Running};

/// The version of the package `mcp` that is used.
const PACKAGE: &str = "mcp>=1.20,<2";

/// A Python that has the package, in a virtual environment made for these tests; else why there is none.
fn python() -> Result<&'static Path, &'static str> {
    static PYTHON: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let made = PYTHON.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-client");
        let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        let has_it = |python: &Path| run(Command::new(python).args(["-c", "import mcp"]));
        if has_it(&python).is_ok() {
            return Ok(python);
        }
        let host = if cfg!(windows) { "python" } else { "python3" };
        run(Command::new(host).args(["-m", "venv", "--clear"]).arg(&folder))
            .map_err(|error| format!("no virtual environment: {error}"))?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE];
        run(Command::new(&python).args(install)).map_err(|error| format!("pip cannot install `{PACKAGE}`: {error}"))?;
        has_it(&python).map(|()| python)
    });
    made.as_deref().map_err(String::as_str)
}

fn run(command: &mut Command) -> Result<(), String> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// The tools over HTTP, with the configuration in this place, and their address.
fn served(place: &Place) -> (Running, String) {
    let words = ["mcp", "--config", "ampoule.toml", "--listen", "127.0.0.1:0"];
    let mut server = Running(place.ampoule(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("listening on ").expect(&line).to_owned();
    (server, address)
}

/// How the client reaches the tools.
#[derive(Clone, Copy)]
enum Over {
    Stdio,
    Http,
}

/// Lets the client try a claim.
#[track_caller]
fn holds(claim: &str, over: Over) {
    let python = match python() {
        Ok(python) => python,
        Err(reason) => return eprintln!("skipped: {claim}: {reason}"),
    };
    let place = Place::new();
    place.write("ampoule.toml", "[limits]\ntimeout = '20s'\nmemory = '256MiB'\n");
    let mut client = Command::new(python);
    client.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/client.py")).arg(claim);
    place.settle(&mut client);
    let _server;
    match over {
        Over::Stdio => {
            client.args(["stdio", env!("CARGO_BIN_EXE_ampoule"), "mcp", "--config", "ampoule.toml"]);
        }
        Over::Http => {
            let words = ["mcp", "--config", "ampoule.toml", "--listen", "127.0.0.1:0"];
            let mut server =
                Running(place.ampoule(words).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
            let mut line = String::new();
            BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let address = line.trim().strip_prefix("listening on ").expect(&line);
            client.args(["http", &format!("{address}/mcp")]);
            _server = server;
        }
    }
    let ran = Ran::of(client.output().unwrap());
    assert_eq!(ran.code, Some(0), "{}\n{}", ran.stdout, ran.stderr);
}

macro_rules! claims {
    ($($claim:ident),* $(,)?) => {
        mod stdio {
            $(#[test] fn $claim() { super::holds(stringify!($claim), super::Over::Stdio); })*
        }
        mod http {
            $(#[test] fn $claim() { super::holds(stringify!($claim), super::Over::Http); })*
        }
    };
}

claims! {
    the_tools_are_listed_with_their_schemas,
    a_script_runs_and_what_it_prints_comes_back,
    input_arguments_and_files_reach_the_script,
    a_plot_arrives_as_an_image,
    files_come_back_in_the_form_that_fits_them,
    what_an_agent_can_mend_is_said,
    a_script_that_takes_too_long_is_stopped,
    progress_is_told_while_a_script_runs,
    a_run_that_is_cancelled_ends,
}

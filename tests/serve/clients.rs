//! Clients that are not ours, and one that is: curl, and the Python script in `examples/clients/`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ampoule::serve::{Tokens, token_digest};

use crate::program::Ran;
use crate::server::Server;

/// The command, where the system has it; else why the test is left out is printed.
fn find(name: &str) -> Option<Command> {
    match Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => Some(Command::new(name)),
        _ => {
            eprintln!("skipped: there is no `{name}` on the PATH");
            None
        }
    }
}

fn curl(server: &Server, words: &[&str]) -> Option<Ran> {
    let mut curl = find("curl")?;
    curl.args(["-sS", "--noproxy", "*", "--max-time", "20"]).args(words);
    curl.arg(server.url("/runs")).current_dir(server.place.path(""));
    Some(Ran::of(curl.output().unwrap()))
}

const JSON: [&str; 2] = ["-H", "Content-Type: application/json"];

#[test]
fn curl_posts_a_script() {
    let server = Server::start("");
    let [a, b] = JSON;
    let body = r#"{"runtime": "python", "source": "print(6 * 7)"}"#;
    let Some(ran) = curl(&server, &[a, b, "-d", body]) else { return };
    assert!(ran.stdout.contains(r#""exitCode":0,"standardOutput":"42\n""#), "{ran:?}");
    let wrong = curl(&server, &[a, b, "-d", "{", "-w", "%{http_code}"]).unwrap();
    assert!(wrong.stdout.ends_with("400"), "{wrong:?}");
}

#[test]
fn curl_sends_a_form_and_a_body_that_is_too_large() {
    let server = Server::start("[requests]\nbody = '2MiB'");
    server.place.write("data.csv", "a,b\n1,2\n");
    let request = r#"request={"runtime": "sh", "source": "cat data.csv"};type=application/json"#;
    let Some(ran) = curl(&server, &["-F", request, "-F", "file=@data.csv"]) else { return };
    assert!(ran.stdout.contains(r#""standardOutput":"a,b\n1,2\n""#), "{ran:?}");
    // As in `docs/clients.md`: a `;` in the script stays in it.
    server
        .place
        .write("request.json", r#"{"runtime": "python", "source": "import sys; print(open(\"in/data.csv\").read())"}"#);
    let words = ["-F", "request=<request.json", "-F", "file=@data.csv;filename=in/data.csv"];
    let ran = curl(&server, &words).unwrap();
    assert!(ran.stdout.contains(r#""standardOutput":"a,b\n1,2\n\n""#), "{ran:?}");
    server.place.write("large", vec![b'x'; 8 << 20]);
    let [a, b] = JSON;
    let large = curl(&server, &[a, b, "--data-binary", "@large", "-w", "%{http_code}"]).unwrap();
    assert!(large.stdout.ends_with("413"), "{large:?}");
}

#[test]
fn curl_shows_output_as_it_comes() {
    let server = Server::start("");
    let [a, b] = JSON;
    let body = r#"{"runtime": "sh", "source": "echo one; echo two >&2"}"#;
    let Some(ran) = curl(&server, &[a, b, "-N", "-H", "Accept: text/event-stream", "-d", body]) else { return };
    for part in
        ["event: stdout\ndata: {\"text\":\"one\\n\"}\n\n", "event: stderr\n", "event: outcome\ndata: {\"exitCode\":0"]
    {
        assert!(ran.stdout.contains(part), "{part:?} in {}", ran.stdout);
    }
}

/// The Python client with these words.
fn python(server: &Server, words: &[&str]) -> Option<Command> {
    let mut python = find("python3")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/clients/ampoule.py");
    python.arg(script).args(words).current_dir(server.place.path("")).env("AMPOULE_URL", server.url(""));
    python.env_remove("AMPOULE_TOKEN").stdin(Stdio::null());
    Some(python)
}

#[test]
fn the_python_client_runs_scripts_with_files_and_arguments() {
    let server = Server::start("");
    let Some(mut command) = python(&server, &["python", "-c", "print(6 * 7)"]) else { return };
    Ran::of(command.output().unwrap()).prints("42\n");

    server.place.write(
        "script.py",
        "import sys\nopen('out.txt', 'w').write(open('data.csv').read() + sys.argv[1])\nsys.exit(3)",
    );
    server.place.write("data.csv", "a,b\n");
    let words = ["python", "script.py", "--file", "data.csv", "--keep", "kept", "--", "x"];
    let ran = Ran::of(python(&server, &words).unwrap().output().unwrap());
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(std::fs::read_to_string(server.place.path("kept/out.txt")).unwrap(), "a,b\nx");

    server.place.write("typed.ts", "const n: number = 42; console.log(n)");
    Ran::of(python(&server, &["javascript", "typed.ts"]).unwrap().output().unwrap()).prints("42\n");
    let named = ["javascript", "-c", "console.log(1 as number)", "--name", "main.ts"];
    Ran::of(python(&server, &named).unwrap().output().unwrap()).prints("1\n");

    let slow =
        Ran::of(python(&server, &["sh", "-c", "echo before; sleep 30", "--timeout", "0.3"]).unwrap().output().unwrap());
    assert_eq!((slow.code, slow.stdout.as_str()), (Some(124), "before\n"));
    let refused = Ran::of(python(&server, &["ruby", "-c", ""]).unwrap().output().unwrap());
    refused.fails(125, &["`ruby` is not on the allow-list", "runtime"]);
}

#[test]
fn the_python_client_streams_and_presents_its_token() {
    let token = Tokens::generate();
    let server =
        Server::start(&format!("[[tokens]]\nname = 'a'\nsha256 = '{}'\ntenants = 'any'", token_digest(&token)));
    let words = ["sh", "-c", "echo one; sleep 0.3; echo two; exit 4", "--stream"];
    let Some(mut command) = python(&server, &words) else { return };
    Ran::of(command.output().unwrap()).fails(125, &["A token is needed"]);
    let begin = Instant::now();
    let ran = Ran::of(command.env("AMPOULE_TOKEN", &token).output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), "one\ntwo\n"), "{ran:?}");
    assert!(begin.elapsed() > Duration::from_millis(300));
}

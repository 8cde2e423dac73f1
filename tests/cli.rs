//! The program as a user has it: what goes in, what comes out, how it ends and what it leaves behind.
//!
//! Needs the runtime: `ampoule runtime install python`.

mod program;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::Stdio;

use program::{Place, Ran, Running};
use serde_json::{Value, json};

#[test]
fn the_exit_code_is_the_script_s() {
    let place = Place::new();
    for (code, exit) in [
        ("", 0),
        ("import sys; sys.exit()", 0),
        ("import sys; sys.exit(None)", 0),
        ("import sys; sys.exit(0)", 0),
        ("import sys; sys.exit(1)", 1),
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit(255)", 255),
        ("import sys; sys.exit(256)", 0),
        ("import sys; sys.exit(-1)", 255),
        ("import sys; sys.exit(True)", 1),
        ("raise SystemExit(3)", 3),
        ("exit(4)", 4),
        ("import os; os._exit(5)", 5),
    ] {
        let ran = place.run(["-e", code]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(exit), ""), "{code}");
    }
    place.run(["-e", "import sys; sys.exit('a last word')"]).fails(1, &["a last word\n"]);
    place.run(["-e", "1/0"]).fails(1, &["ZeroDivisionError: division by zero"]);
}

#[test]
fn a_script_that_takes_too_long_ends_with_124_and_says_at_which_timeout() {
    let place = Place::new();
    let ran = place.run(["--timeout", "200ms", "-e", "print('before', flush=True)\nwhile True: pass"]);
    ran.fails(124, &["stopped at the timeout of 200ms (--timeout)"]);
    assert_eq!(ran.stdout, "before\n");
}

#[test]
fn a_script_that_runs_out_of_fuel_ends_with_124_and_says_at_how_much() {
    let place = Place::new();
    let ran = place.run(["--fuel", "50000000", "-e", "print('before', flush=True)\nwhile True: pass"]);
    ran.fails(124, &["stopped when its 50000000 units of fuel were used up (--fuel)"]);
    assert_eq!(ran.stdout, "before\n");
}

#[test]
fn a_script_that_crashes_ends_with_134_and_says_how() {
    Place::new().run(["-e", "import os; os.abort()"]).fails(134, &["crashed inside the sandbox", "unreachable"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_sandbox_that_fails_ends_with_125_and_says_why() {
    let place = Place::new();
    let mut command = std::process::Command::new("sh");
    // The address space is too small to reserve a guest's memory in.
    command.args(["-c", "ulimit -v 400000; exec \"$0\" run --no-install -e 'print(1)'", env!("CARGO_BIN_EXE_ampoule")]);
    place.settle(&mut command);
    place.end(&mut command).fails(125, &["ampoule: the runtime `python`", "Cannot allocate memory"]);
    place.run(["-e", "print(1)"]).prints("1\n");
}

#[test]
fn a_call_beyond_a_limit_ends_with_126() {
    let place = Place::new();
    place.write("large.py", format!("#{}", "x".repeat(4 << 20)));
    place.run(["large.py"]).fails(126, &["script takes 4194305 bytes", "`source_bytes` allows 4194304"]);
    place.write("at_the_limit.py", format!("#{}", "x".repeat((4 << 20) - 1)));
    place.run(["at_the_limit.py"]).prints("");
}

#[test]
fn a_runtime_that_there_is_not_ends_with_127_and_names_those_there_are() {
    let place = Place::new();
    let ran = place.run(["--runtime", "ruby", "-e", "1"]);
    ran.fails(127, &["no runtime named `ruby`", "python, python-data"]);
    // What runs no scripts is none of them.
    assert!(!ran.stderr.contains("typescript"), "{}", ran.stderr);
    place.run(["--runtime", "typescript", "-e", "1"]).fails(125, &["`typescript` runs no scripts"]);
    place.run(["--runtime", "python"]).fails(125, &["there is no script", "-e CODE"]);
}

#[test]
fn wrong_usage_ends_with_125_and_help_and_version_with_0() {
    let place = Place::new();
    place.run(["--no-such-option"]).fails(125, &["--no-such-option", "Usage:"]);
    place.run([] as [&str; 0]).fails(125, &["SCRIPT"]);
    place.run(["-e", "1", "script.py"]).fails(125, &["cannot be used with"]);
    let help = place.end(&mut place.ampoule(["--help"]));
    assert_eq!(help.code, Some(0));
    for code in ["124", "125", "126", "127", "130", "134", "141", "143"] {
        assert!(help.stdout.contains(code), "{code} is not in: {}", help.stdout);
    }
    place.end(&mut place.ampoule(["--version"])).prints(&format!("ampoule {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_script_comes_from_a_file_or_from_standard_input_or_from_the_command_line() {
    let place = Place::new();
    let code = "import sys; print(sys.argv, __name__)";
    place.write("folder/script.py", code);
    // Where it lies on the host is not the script's to know.
    place.run(["folder/script.py"]).prints("['script.py'] __main__\n");
    place.run(["-e", code]).prints("['script.py'] __main__\n");
    let typed = Running::start(place.script(["-"]).stdin(Stdio::piped())).end_with(code.as_bytes());
    Ran::of(typed).prints("['script.py'] __main__\n");
}

#[test]
fn a_script_runs_on_the_image_that_holds_what_it_mentions_unless_one_is_chosen() {
    let place = Place::new();
    // Only that image has them imported.
    let code = "import sys; print('pandas' in sys.modules)  # pandas";
    place.run(["-e", code]).prints("True\n");
    place.run(["-r", "python", "-e", code]).prints("False\n");
}

#[test]
fn a_script_that_is_standard_input_has_none_left() {
    let place = Place::new();
    let script = b"import sys; print(repr(sys.stdin.read()))";
    Ran::of(Running::start(place.script(["-"]).stdin(Stdio::piped())).end_with(script)).prints("''\n");
}

#[test]
fn arguments_are_what_follows_the_two_dashes() {
    let place = Place::new();
    let code = "import sys; print(sys.argv[1:])";
    place.run(["-e", code, "--", "one", "--json", "", "ä b", "--"]).prints("['one', '--json', '', 'ä b', '--']\n");
}

#[test]
fn variables_are_those_that_were_given_and_nothing_of_the_host_s() {
    let place = Place::new();
    let code = "import os; e = dict(os.environ); print(e.pop('HOME').startswith('/scratch/'), sorted(e.items()))";
    let mut command = place.script(["--env", "A=1", "--env", "B=x=y", "--env", "C=", "--env", "LANG=de", "-e", code]);
    place.end(command.env("SECRET", "of the host").env("A", "the host's")).prints(
        "True [('A', '1'), ('B', 'x=y'), ('C', ''), ('LANG', 'de'), ('PATH', '/usr/local/bin:/usr/bin:/bin'), \
         ('TMPDIR', '/tmp')]\n",
    );
}

#[test]
fn standard_input_is_a_pipe_or_a_file() {
    let place = Place::new();
    let code = "import sys; b = sys.stdin.buffer.read(); print(len(b), sum(b))";
    let input: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let wanted = format!("300000 {}\n", input.iter().map(|byte| u64::from(*byte)).sum::<u64>());
    Ran::of(Running::start(place.script(["-e", code]).stdin(Stdio::piped())).end_with(&input)).prints(&wanted);
    place.write("input", &input);
    place.run(["--stdin", "input", "-e", code]).prints(&wanted);
    place.run(["-e", code]).prints("0 0\n");
}

#[test]
fn bytes_on_standard_output_are_unchanged() {
    let place = Place::new();
    let code = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 1000 + b'\\r\\n')";
    let output = place.script(["-e", code]).output().unwrap();
    let mut wanted: Vec<u8> = (0..=255).cycle().take(256_000).collect();
    wanted.extend(b"\r\n");
    assert!(output.stdout == wanted, "{} bytes came", output.stdout.len());
}

#[test]
fn the_two_streams_are_kept_apart_and_come_as_they_are_written() {
    let place = Place::new();
    // The script waits for an answer to its first lines: who shows them only at the end never gives one.
    let code = "import sys\nprint('out', flush=True)\nprint('err', file=sys.stderr, flush=True)\nprint(input())";
    let mut running = Running::start(place.script(["-e", code]).stdin(Stdio::piped()));
    let mut out = BufReader::new(running.0.stdout.take().unwrap());
    let mut err = BufReader::new(running.0.stderr.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    err.read_line(&mut line).unwrap();
    assert_eq!(line, "out\nerr\n");
    assert!(running.0.try_wait().unwrap().is_none());
    let status = {
        running.0.stdin.take().unwrap().write_all(b"answer\n").unwrap();
        running.0.wait().unwrap()
    };
    let (mut rest, mut rest_err) = (String::new(), String::new());
    out.read_to_string(&mut rest).unwrap();
    err.read_to_string(&mut rest_err).unwrap();
    assert_eq!((status.code(), rest.as_str(), rest_err.as_str()), (Some(0), "answer\n", ""));
}

#[test]
fn output_is_cut_at_its_limit_and_the_program_says_so() {
    let place = Place::new();
    let code = "import sys; print('x' * 9); print('e' * 10, end='', file=sys.stderr)";
    let ran = place.run(["--max-output", "10", "-e", code]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "xxxxxxxxx\n", "eeeeeeeeee"));
    let ran = place.run(["--max-output", "9", "-e", code]);
    ran.fails(
        0,
        &["output was cut at 9 bytes", "--max-output", "wrote 10 to standard output and 10 to standard error"],
    );
    assert_eq!(ran.stdout, "xxxxxxxxx");
    assert!(ran.stderr.starts_with("eeeeeeeeeampoule: "), "{}", ran.stderr);
}

/// The keys of an object, sorted: their order in it says nothing.
fn keys(value: &Value) -> Vec<String> {
    let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
    keys.sort_unstable();
    keys
}

/// The one object on standard output, whose every key is known.
#[track_caller]
fn object(ran: &Ran) -> Value {
    assert_eq!(ran.stderr, "");
    assert_eq!(ran.stdout.matches('\n').count(), 1, "{}", ran.stdout);
    let object: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        keys(&object),
        ["exitCode", "standardError", "standardOutput", "status", "timedOut", "truncated", "usage"]
    );
    // `usage` names them all.
    for key in keys(&object["usage"]) {
        let key = key.as_str();
        let value = &object["usage"][key];
        assert!(if key == "wallMs" { value.is_f64() } else { value.is_u64() }, "{key}: {value}");
    }
    object
}

#[test]
fn json_is_one_object_of_the_wire_s_shape() {
    let place = Place::new();
    let code = "import sys; print('out ä'); print('err', file=sys.stderr); open('f', 'w').write('1234'); sys.exit(3)";
    let ran = place.run(["--json", "-e", code]);
    let object = object(&ran);
    assert_eq!(ran.code, Some(3));
    assert_eq!(object["exitCode"], 3);
    assert_eq!(object["standardOutput"], "out ä\n");
    assert_eq!(object["standardError"], "err\n");
    assert_eq!(object["truncated"], false);
    assert_eq!(object["timedOut"], false);
    assert_eq!(object["status"], json!({ "kind": "exited", "exitCode": 3 }));
    assert_eq!(object["usage"]["stdoutBytes"], 7);
    assert_eq!(object["usage"]["stderrBytes"], 4);
    assert_eq!(object["usage"]["bytesWritten"], 4);
    assert!(object["usage"]["fuel"].as_u64() > Some(0));
    assert!(object["usage"]["peakMemoryBytes"].as_u64() > Some(1 << 20));
}

#[test]
fn json_says_how_a_script_was_stopped_and_keeps_what_it_wrote() {
    let place = Place::new();
    let forever = "print('before', flush=True)\nwhile True: pass";
    for (option, value, kind) in [("--timeout", "200ms", "timedOut"), ("--fuel", "50000000", "outOfFuel")] {
        let ran = place.run(["--json", option, value, "-e", forever]);
        let object = object(&ran);
        assert_eq!(ran.code, Some(124));
        assert_eq!(object["exitCode"], Value::Null);
        assert_eq!(object["timedOut"], true);
        assert_eq!(object["status"], json!({ "kind": kind }));
        assert_eq!(object["standardOutput"], "before\n");
    }
    let crashed = place.run(["--json", "-e", "import os; os.abort()"]);
    let object = object(&crashed);
    assert_eq!((crashed.code, &object["exitCode"], &object["timedOut"]), (Some(134), &json!(134), &json!(false)));
    assert_eq!(object["status"]["kind"], "trapped");
    assert!(object["status"]["reason"].is_string());
}

#[test]
fn json_says_why_there_is_no_outcome() {
    let place = Place::new();
    for (words, code, said) in [
        (&["--fuel", "0", "-e", "1"][..], 126, "`fuel` is 0"),
        (&["--runtime", "ruby", "-e", "1"], 127, "no runtime named `ruby`"),
        (&["none.py"], 125, "the script `none.py`"),
    ] {
        let ran = place.run(["--json"].iter().chain(words));
        ran.fails(code, &[said]);
        let object: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(keys(&object), ["error"]);
        assert!(object["error"].as_str().unwrap().contains(said), "{object}");
    }
}

#[test]
fn json_says_that_output_was_cut() {
    let object = object(&Place::new().run(["--json", "--max-output", "3", "-e", "print('aä€')"]));
    // A character is never split: the third byte would end in the middle of the last.
    assert_eq!((&object["truncated"], &object["standardOutput"]), (&json!(true), &json!("aä")));
}

#[test]
fn what_a_script_left_is_kept() {
    let place = Place::new();
    let code = "import os; os.makedirs('a/b'); open('a/b/f', 'w').write('deep'); open('g', 'w').write('top')";
    place.run(["--keep", "kept", "-e", code]).prints("");
    assert_eq!(fs::read_to_string(place.path("kept/a/b/f")).unwrap(), "deep");
    assert_eq!(fs::read_to_string(place.path("kept/g")).unwrap(), "top");
    let failing = "open('h', 'w').write('x'); raise SystemExit(3)";
    assert_eq!(place.run(["--keep", "kept", "-e", failing]).code, Some(3));
    assert!(place.path("kept/h").exists());
}

#[test]
fn keeping_refuses_to_overwrite_a_file_and_names_it() {
    let place = Place::new();
    place.write("kept/f", "old");
    place.run(["--keep", "kept", "-e", "open('f', 'w').write('new')"]).fails(125, &["kept", "f: ", "exists"]);
    assert_eq!(fs::read_to_string(place.path("kept/f")).unwrap(), "old");
    place.run(["--keep", "kept/f", "-e", "open('g', 'w')"]).fails(125, &["could not be kept in `kept/f`"]);
    place.run(["--keep", "other", "-e", "open('f', 'w').write('new')"]).prints("");
    assert_eq!(fs::read_to_string(place.path("other/f")).unwrap(), "new");
}

#[test]
fn files_that_the_script_was_given_are_not_kept_unless_it_changed_them() {
    let place = Place::new();
    place.write("module.py", "X = 1");
    place.write("data/same", "same");
    place.write("changed", "before");
    place.write("script.py", "import module; open('left', 'w').write('x'); open('changed', 'a').write(' and after')");
    place.run(["--keep", "kept", "--file", "data", "--file", "changed", "script.py"]).prints("");
    let kept = program::names(&place.path("kept"));
    assert_eq!(kept, [place.path("kept/changed"), place.path("kept/left")]);
    assert_eq!(fs::read_to_string(place.path("kept/changed")).unwrap(), "before and after");
}

#[test]
fn the_folder_for_what_is_kept_is_made_even_when_nothing_was_left() {
    let place = Place::new();
    place.run(["--keep", "a/kept", "-e", "print(1)"]).prints("1\n");
    assert!(program::names(&place.path("a/kept")).is_empty());
}

#[test]
fn modules_beside_a_script_can_be_imported_unless_it_is_isolated() {
    let place = Place::new();
    place.write("folder/helper.py", "from package import part\nVALUE = part.VALUE");
    place.write("folder/package/__init__.py", "");
    place.write("folder/package/part.py", "VALUE = 42");
    place.write("folder/script.py", "import helper; print(helper.VALUE)");
    place.run(["folder/script.py"]).prints("42\n");
    place.run(["--isolated", "folder/script.py"]).fails(1, &["ModuleNotFoundError: No module named 'helper'"]);
}

#[test]
fn files_and_folders_are_given_by_name() {
    let place = Place::new();
    place.write("in/table.csv", "a,b");
    place.write("in/deep/er.bin", [0, 255]);
    place.write("single.txt", "one");
    let code = "print(open('in/table.csv').read(), open('in/deep/er.bin', 'rb').read(), open('single.txt').read())";
    place.run(["--file", "in", "--file", "single.txt", "-e", code]).prints("a,b b'\\x00\\xff' one\n");
    place.run(["-e", code]).fails(1, &["FileNotFoundError"]);
    place.run(["--file", "none", "-e", code]).fails(125, &["--file `none`"]);
}

#[test]
fn two_files_of_one_name_are_not_given_one_for_the_other() {
    let place = Place::new();
    place.write("one/x", "1");
    place.write("two/x", "2");
    place.write("three/x/y", "3");
    for other in ["two/x", "one/x", "three/x"] {
        place
            .run(["--file", "one/x", "--file", other, "-e", "1"])
            .fails(125, &[other, "another `x` already", "rename"]);
    }
    place.run(["--file", "three/x", "--file", "one/x", "-e", "1"]).fails(125, &["one/x", "another `x` already"]);
}

#[cfg(unix)]
#[test]
fn a_script_comes_from_a_pipe_that_has_a_name() {
    let place = Place::new();
    assert!(std::process::Command::new("mkfifo").arg(place.path("script.py")).status().unwrap().success());
    let path = place.path("script.py");
    let writer = std::thread::spawn(move || fs::write(path, "print('through a pipe')").unwrap());
    place.run(["script.py"]).prints("through a pipe\n");
    writer.join().unwrap();
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_the_script_quietly_with_141() {
    let place = Place::new();
    for code in ["while True: print('line')", "import sys\nwhile True: print('line', file=sys.stderr)"] {
        let mut running = Running::start(&mut place.script(["-e", code]));
        let (stdout, stderr) = (running.0.stdout.take().unwrap(), running.0.stderr.take().unwrap());
        let mut line = String::new();
        let mut other = String::new();
        if code.contains("stderr") {
            BufReader::new(stderr).read_line(&mut line).unwrap();
            BufReader::new(stdout).read_to_string(&mut other).unwrap();
        } else {
            BufReader::new(stdout).read_line(&mut line).unwrap();
            BufReader::new(stderr).read_to_string(&mut other).unwrap();
        }
        assert_eq!((line.as_str(), other.as_str()), ("line\n", ""));
        assert_eq!(running.0.wait().unwrap().code(), Some(141));
        assert!(place.left().is_empty());
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_is_not_there_at_all_ends_any_command_quietly_with_141() {
    let place = Place::new();
    for words in [
        &["runtime", "list"][..],
        &["runtime", "list", "--json"],
        &["runtime", "path"],
        &["run", "--no-install", "--json", "-e", "1"],
        &["bench", "--no-install", "-n", "1", "--vs", "", "-e", "1"],
        &["bench", "--no-install", "-n", "1", "--vs", "", "--json", "-e", "1"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = place.end(place.ampoule(words).stdout(writer));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(141), ""), "{words:?}");
        // Whoever reads the messages may be away, too.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ran = place.end(place.ampoule(["runtime", "install", "none"]).stderr(writer));
        assert_eq!(ran.code, Some(127));
    }
}

/// A script that is in the middle of its work, with a file in its directory.
#[cfg(unix)]
fn working(place: &Place) -> Running {
    let code = "import time; open('f', 'w').write('x'); print('ready', flush=True); time.sleep(20)";
    let mut running = Running::start(&mut place.script(["-e", code]));
    let mut line = String::new();
    BufReader::new(running.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    assert_eq!(place.left().len(), 1);
    running
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_with_130_and_a_termination_with_143_and_nothing_is_left_behind() {
    use rustix::process::{Pid, Signal, kill_process};
    let place = Place::new();
    for (signal, code, said) in [(Signal::INT, 130, "ampoule: the call was cancelled\n"), (Signal::TERM, 143, "")] {
        let running = working(&place);
        kill_process(Pid::from_child(&running.0), signal).unwrap();
        let ran = Ran::of(running.end_with(b""));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(code), said));
        assert!(place.left().is_empty(), "{:?}", place.left());
    }
}

/// A reader that takes the first line and then nothing, though it stays.
#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_run_whose_reader_takes_nothing() {
    use rustix::process::{Pid, Signal, kill_process};
    let place = Place::new();
    place.write("tasks.toml", "[tasks.t]\nruntime = 'python'\nentrypoint = 't.py'\n");
    place.write("t.py", "print('ready', flush=True)\nwhile True: print('x' * 10000)");
    for words in [&["run", "--no-install", "t.py"][..], &["task", "run", "t"]] {
        for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
            let mut command = place.ampoule(words);
            let mut running = Running::start(command.env_remove("AMPOULE_HOST"));
            let mut stdout = running.0.stdout.take().unwrap();
            let mut line = [0; 6];
            stdout.read_exact(&mut line).unwrap();
            assert_eq!(&line, b"ready\n");
            // Long enough for every pipe to be full.
            std::thread::sleep(std::time::Duration::from_millis(500));
            kill_process(Pid::from_child(&running.0), signal).unwrap();
            let asked = std::time::Instant::now();
            assert_eq!(running.0.wait().unwrap().code(), Some(code), "{words:?}");
            assert!(asked.elapsed() < std::time::Duration::from_secs(10), "{:?}", asked.elapsed());
            assert!(place.left().is_empty(), "{:?}", place.left());
        }
    }
}

#[cfg(unix)]
#[test]
fn what_a_killed_run_left_behind_is_swept_by_the_next_and_a_living_run_s_is_not() {
    let place = Place::new();
    let living = working(&place);
    let kept = place.left();
    let mut killed = Running::start(
        &mut place.script(["-e", "import time; open('f', 'w'); print('ready', flush=True); time.sleep(20)"]),
    );
    BufReader::new(killed.0.stdout.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    killed.0.kill().unwrap();
    killed.0.wait().unwrap();
    assert_eq!(place.left().len(), 2);
    Ran::of(place.script(["-e", "print(1)"]).output().unwrap()).prints("1\n");
    assert_eq!(place.left(), kept);
    drop(living);
}

#[test]
fn a_bench_prints_one_object_of_a_fixed_shape() {
    let place = Place::new();
    place.write("script.py", "print(1)");
    let native = format!("'{}' --version", env!("CARGO_BIN_EXE_ampoule").replace('\\', "/"));
    let mut command = place.ampoule(["bench", "--no-install", "--json", "-n", "5", "--jobs", "2", "script.py"]);
    let ran = place.end(command.args(["--vs", &native]));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    let times = ["medianMs", "minMs", "p99Ms"];
    let mut wanted = ["runs", "jobs", "callsPerSecond", "fuelUsed", "native", "ratio"].to_vec();
    wanted.extend(times);
    wanted.sort_unstable();
    assert_eq!(keys(&report), wanted);
    assert_eq!(keys(&report["native"]), times);
    assert_eq!((&report["runs"], &report["jobs"]), (&json!(5), &json!(2)));
    assert!(report["fuelUsed"].as_u64() > Some(0));
    for part in [&report, &report["native"]] {
        let [median, min, p99] = times.map(|key| part[key].as_f64().unwrap());
        assert!(0.0 < min && min <= median && median <= p99, "{part}");
    }
    let ratio = report["native"]["medianMs"].as_f64().unwrap() / report["medianMs"].as_f64().unwrap();
    assert!((report["ratio"].as_f64().unwrap() - ratio).abs() < 1e-6, "{report}");

    let ran = place.end(&mut place.ampoule(["bench", "--no-install", "--json", "-n", "1", "--vs", "", "-e", "1"]));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&report["native"], &report["ratio"]), (&Value::Null, &Value::Null));
}

#[test]
fn a_bench_of_a_script_that_fails_shows_why_instead_of_numbers() {
    let place = Place::new();
    let ran = place.end(&mut place.ampoule(["bench", "--no-install", "-n", "1", "--vs", "", "-e", "1/0"]));
    ran.fails(125, &["nothing to measure", "ZeroDivisionError"]);
    assert_eq!(ran.stdout, "");
}

#[test]
fn the_installed_runtimes_are_listed_and_verified() {
    let place = Place::new();
    let list = place.end(&mut place.ampoule(["runtime", "list"]));
    assert!(list.stdout.lines().any(|line| line.starts_with("python 3.15") && line.contains("  ready  ")), "{list:?}");
    assert!(list.stdout.contains("ready") && list.stdout.contains("images: python,python-data"), "{list:?}");
    let list = place.end(&mut place.ampoule(["runtime", "list", "--json"]));
    let rows: Value = serde_json::from_str(&list.stdout).unwrap();
    let names: Vec<_> = rows.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names[..3], ["javascript", "python", "sh"]);
    let python = &rows[1];
    assert_eq!(python["state"], json!("ready"));
    assert_eq!(python["images"], json!(["python", "python-data"]));
    assert!(python["bytes"].as_u64() > Some(1 << 20));
    assert_eq!(python["digest"].as_str().map(str::len), Some(64));
    place.end(&mut place.ampoule(["runtime", "verify", "python"])).prints("python: ready\n");
}

#[test]
fn the_home_is_the_option_s_before_the_environment_s() {
    let place = Place::new();
    let path = |home: &str| format!("{}\n", place.path(home).display());
    let mut command = place.ampoule(["runtime", "path"]);
    place.end(command.env("AMPOULE_HOME", place.path("one"))).prints(&path("one"));
    place.end(command.args(["--home", "two"])).prints(&path("two"));
    let list = place.end(&mut place.ampoule(["runtime", "list", "--home", "two"]));
    assert!(list.stdout.contains("missing"), "{list:?}");
    place
        .end(&mut place.ampoule(["runtime", "verify", "--home", "two"]))
        .prints("javascript: missing\npython: missing\nsh: missing\ntypescript: missing\n");
    assert!(!place.path("two").exists(), "looking makes no home");
}

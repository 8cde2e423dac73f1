//! What a call is given by name, argument and variable.

use ampoule::{Call, CallError, ExecuteError, Status};

use crate::outside::Outside;
use crate::support::{python, shell};

#[tokio::test]
async fn a_nul_in_an_argument_a_variable_or_a_name_refuses_the_call() {
    let python = python();
    for call in [
        Call::new("").arguments(["a\0b"]),
        Call::new("").name("a\0.py"),
        Call::new("").variable("A", "b\0C=d"),
        Call::new("").variable("A\0B", "c"),
        Call::new("").variable("A=B", "c"),
    ] {
        let error = python.try_run(call).await.unwrap_err();
        assert!(matches!(error, ExecuteError::Refused(CallError::NotAnArgument { .. })), "{error}");
    }
    assert!(matches!(
        python.try_run(Call::new("").file("a\0b", "x")).await,
        Err(ExecuteError::Scratch(_) | ExecuteError::Refused(_))
    ));
}

/// Names of scripts that a command, a shell or a file system would take for something else.
const NAMES: &[&str] = &[
    "--help",
    "-",
    "-c",
    "-rf",
    "a\nb.py",
    "a b.py",
    "'; rm -rf /; '",
    "$(reboot)",
    "../../secret",
    "/etc/passwd",
    "..",
    ".",
    "/",
    "",
    "a/",
    "a/../b",
    "\\",
    "C:\\x",
    "CON",
    "\u{1b}[2J",
    "名前.py",
    "*",
];

#[tokio::test]
async fn a_script_s_name_is_a_name_and_nothing_more() {
    let (python, shell) = (python(), shell());
    let (in_python, in_shell) = (Outside::of(&python), Outside::of(&shell));
    for name in NAMES {
        let call = Call::new("import sys; sys.stdout.write(sys.argv[0])").name(*name);
        let outcome = python.try_run(call).await.unwrap();
        assert_eq!(outcome.status, Status::Exited(0), "{name:?}: {}", outcome.stderr_text());
        in_python.holds(&outcome, name);
        let call = Call::new("printf %s \"$0\"").name(*name);
        let outcome = shell.try_run(call).await.unwrap();
        assert_eq!(outcome.status, Status::Exited(0), "{name:?}: {}", outcome.stderr_text());
        in_shell.holds(&outcome, name);
    }
}

#[tokio::test]
async fn a_file_that_a_call_brings_lies_inside_or_is_refused() {
    let python = python();
    let outside = Outside::of(&python);
    for path in ["../f", "/f", "a/../../f", "..", ".", "", "a//b", "a/", "./a", "/etc/passwd", "../../secret"] {
        let error = python.try_run(Call::new("").file(path, "x")).await.unwrap_err();
        assert!(matches!(error, ExecuteError::Refused(CallError::FilePath(_))), "{path:?}: {error}");
    }
    outside.is_as_it_was();
}

#[tokio::test]
async fn no_variable_of_the_host_is_seen() {
    for script in ["import os; print(sorted(os.environ))", "import os; print(sorted(k.decode() for k in os.environb))"]
    {
        let outcome = python().run(script, |_| {}).await;
        let seen = outcome.stdout_text();
        for (name, _) in
            std::env::vars().filter(|(name, _)| !["PATH", "HOME", "LANG", "TMPDIR"].contains(&name.as_str()))
        {
            assert!(!seen.contains(&format!("'{name}'")), "{name}: {seen}");
        }
    }
}

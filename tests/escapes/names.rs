//! Names that some system or library takes for something else.

use std::fs;

use ampoule::{Call, Status};

use crate::attempts::Attempts;
use crate::support::{limited, python};

#[tokio::test]
async fn names_with_a_nul_or_that_are_no_text_are_refused_by_every_call() {
    let mut attempts = Attempts::default();
    for name in [&b"a\0b"[..], b"\0", b"a\0", b"\xFF", b"a\xC3", b"\xED\xA0\x80", b"\xC0\xAE\xC0\xAE/secret"] {
        attempts.everything_with(name);
    }
    attempts.all_fail().await;
}

#[tokio::test]
async fn a_trailing_slash_makes_no_file_and_opens_none() {
    let mut attempts = Attempts::default();
    for name in ["own/", "own//", "own/.", "own/..", "own/./", "own/../own/"] {
        let name = attempts.text(name);
        let rest = "(i64.const 0x1fffffff) (i64.const 0x1fffffff) (i32.const 0) (i32.const 1008)";
        for how in [0, 1, 8, 9] {
            attempts.call("path_open", &format!("(i32.const 3) (i32.const 1) {name} (i32.const {how}) {rest}"));
        }
        attempts.call("unlink", &format!("(i32.const 3) {name}"));
    }
    attempts.all_fail().await;
}

/// Names that open a device, a stream or another drive on Windows, or have a meaning for a command.
const ODD: &[&str] = &[
    "CON",
    "NUL",
    "aux",
    "COM1",
    "LPT1.txt",
    "file:stream",
    "C:evil",
    "C:\\evil",
    "..\\evil",
    "\\\\?\\evil",
    "trailing.",
    "trailing ",
    " leading",
    "-rf",
    "--help",
    "*",
    "?",
    "~",
    "$HOME",
    "a\nb",
    "a\rb",
    "\u{1b}[2J",
    "\u{202e}txt.exe",
    "名前",
    "...",
    ".. ",
    ".\u{200b}.",
];

#[tokio::test]
async fn odd_names_are_refused_or_name_a_plain_file_inside() {
    let python = python();
    let names = ODD.iter().map(|name| format!("{name:?}").replace("\\u{", "\\N{U+")).collect::<Vec<_>>().len();
    assert_eq!(names, ODD.len());
    let kept = tempfile::tempdir().unwrap();
    let target = kept.path().join("kept");
    let script = "
import os, sys
for name in sys.argv[1:]:
    try:
        with open(name, 'x') as file:
            file.write(name)
    except OSError as error:
        print('refused', repr(name), error)
print(len(os.listdir()))
";
    let mut call = Call::new(script).arguments(ODD.iter().copied());
    call.keep = Some(target.clone());
    let outcome = python.try_run(call).await.unwrap();
    assert_eq!(outcome.status, Status::Exited(0), "{}", outcome.stderr_text());
    let refused = outcome.stdout_text().matches("refused").count();
    let mut found = 0;
    for entry in fs::read_dir(&target).unwrap() {
        let path = entry.unwrap().path();
        assert!(fs::symlink_metadata(&path).unwrap().is_file(), "{path:?}");
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), name);
        assert!(ODD.contains(&name), "{name:?}");
        found += 1;
    }
    assert_eq!(found + refused, ODD.len(), "{}", outcome.stdout_text());
    if cfg!(unix) {
        assert_eq!(refused, 0, "{}", outcome.stdout_text());
    }
    // Nothing else came to be where the copy was put.
    assert_eq!(fs::read_dir(kept.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn names_that_differ_in_case_are_counted_as_the_files_they_are() {
    let script = "
import os
for name in ['Name', 'name', 'NAME']:
    open(name, 'a').close()
files = len(os.listdir())
open('other', 'x').close()
try:
    open('one more', 'x').close()
except OSError:
    print('full at', len(os.listdir()))
print(files)
";
    let outcome = python().try_run(limited(script, |limits| limits.scratch_entries = 4)).await.unwrap();
    assert_eq!(outcome.status, Status::Exited(0), "{}", outcome.stderr_text());
    // Where case makes no difference there is one file, and room for more.
    let expected = ["full at 4\n3\n", "1\n"];
    assert!(expected.contains(&outcome.stdout_text().as_str()), "{}", outcome.stdout_text());
}

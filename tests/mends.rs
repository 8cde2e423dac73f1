//! A mend fits exactly or not at all. What the shell's are for: `runtimes/sh/README.md`.

#[path = "../build/mends.rs"]
mod mends;

use std::path::{Path, PathBuf};

use mends::{Mend, Sources};

const LIB: &str = "fn one() {\n    let a = 1;\n    if a == 1 {\n        a\n    }\n}\n\nfn two() {\n    let a = 1;\n}\n";

/// What the file `lib.rs` is after a mend with this one edit.
fn edited(edit: &str) -> Result<String, String> {
    let mend = Mend::parse(&format!("why = 'a test'\n[[edit]]\nfile = 'lib.rs'\n{edit}"))?;
    let mut sources = Sources::from([(PathBuf::from("lib.rs"), LIB.to_owned())]);
    mend.apply(&mut sources, |path| Err(format!("`{}` is asked for", path.display())))?;
    Ok(sources.remove(Path::new("lib.rs")).unwrap())
}

#[test]
fn a_text_that_is_there_once_is_replaced() {
    assert_eq!(edited("find = 'fn two'\nput = 'fn three'").unwrap(), LIB.replace("two", "three"));
}

#[test]
fn what_comes_before_and_after_leaves_the_text_itself() {
    assert_eq!(edited("find = 'fn two'\nbefore = 'pub '").unwrap(), LIB.replace("fn two", "pub fn two"));
    assert_eq!(edited("find = 'fn two'\nafter = '_more'").unwrap(), LIB.replace("fn two", "fn two_more"));
}

#[test]
fn a_text_that_is_not_there_fails_and_is_named() {
    let problem = edited("find = 'fn four'\nput = ''").unwrap_err();
    assert!(
        problem.contains("lib.rs") && problem.contains("0 times, not 1") && problem.contains("fn four"),
        "{problem}"
    );
}

#[test]
fn a_text_that_is_there_more_often_than_said_fails() {
    let problem = edited("find = 'let a'\nput = 'let b'").unwrap_err();
    assert!(problem.contains("2 times, not 1"), "{problem}");
}

#[test]
fn a_text_that_is_there_as_often_as_said_is_replaced_everywhere() {
    assert_eq!(edited("find = 'let a'\noccurs = 2\nput = 'let b'").unwrap(), LIB.replace("let a", "let b"));
    assert!(edited("find = 'let a'\noccurs = 3\nput = 'let b'").unwrap_err().contains("2 times, not 3"));
}

#[test]
fn an_edit_within_a_function_leaves_the_others() {
    let edit = "within = 'fn one'\nfind = 'let a = 1'\nput = 'let a = 2'";
    assert_eq!(edited(edit).unwrap(), LIB.replacen("a = 1", "a = 2", 1));
    let edit = "within = 'fn two'\nfind = 'if a'\nput = ''";
    assert!(edited(edit).unwrap_err().contains("0 times, not 1"));
    assert!(edited("within = 'let a'\nfind = '1'\nput = ''").unwrap_err().contains("2 times, not 1"));
}

#[test]
fn an_edit_that_says_too_little_or_too_much_fails() {
    assert!(edited("find = 'fn one'").unwrap_err().contains("has one of"));
    assert!(edited("find = 'fn one'\nput = ''\nafter = ''").unwrap_err().contains("has one of"));
    assert!(edited("find = ''\nput = ''").unwrap_err().contains("empty"));
    assert!(edited("find = 'fn one'\nput = ''\nextra = 1").unwrap_err().contains("unknown field"));
    assert!(Mend::parse("[[edit]]\nfile = 'lib.rs'\nfind = 'a'\nput = 'b'").unwrap_err().contains("why"));
}

#[test]
fn a_file_is_added_where_none_is() {
    let mend = Mend::parse("why = 'a test'\n[[add]]\nfrom = 'more.rs'\nto = 'src/more.rs'").unwrap();
    let read = |path: &Path| Ok(format!("// {}\n", path.display()));
    let mut sources = Sources::new();
    mend.apply(&mut sources, read).unwrap();
    assert_eq!(sources[Path::new("src/more.rs")], "// more.rs\n");
    assert!(mend.apply(&mut sources, read).unwrap_err().contains("there already"));
    let edits_nothing = Mend::parse("why = 'a test'\n[[edit]]\nfile = 'lib.rs'\nfind = 'a'\nput = 'b'").unwrap();
    assert!(edits_nothing.apply(&mut sources, read).unwrap_err().contains("no file `lib.rs`"));
}

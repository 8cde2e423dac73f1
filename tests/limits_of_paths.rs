//! How long a path may be, how deep folders may lie inside each other, and what links take: at each limit and just over
//! it.
//!
//! Needs the runtime: `ampoule runtime install python`.

mod support;

use ampoule::{Call, Limits, Status};
use support::{limited, module, python};

/// What Python prints, with two functions: `refused`, the name of the error that a call raises, and `new`.
async fn prints(script: &str, change: impl FnOnce(&mut Limits)) -> String {
    printed(limited(&format!("{HEAD}\n{script}"), change)).await
}

const HEAD: &str = "
import errno, os

def refused(attempt):
    try:
        attempt()
    except OSError as error:
        return errno.errorcode[error.errno]
";

async fn printed(call: Call) -> String {
    let outcome = python().try_run(call).await.unwrap();
    assert_eq!((outcome.status.clone(), outcome.stderr_text().as_str()), (Status::Exited(0), ""));
    outcome.stdout_text()
}

#[tokio::test]
async fn folders_may_lie_as_deep_as_the_limit_and_one_deeper_is_enametoolong() {
    let script = "
os.makedirs('a/b/c')
open('a/b/c/file', 'w').close()
print(refused(lambda: os.mkdir('a/b/c/d')), refused(lambda: os.mkdir('a/b/c/d/')), os.listdir('a/b/c'))
os.rmdir('a/b/c') if not os.remove('a/b/c/file') else None
print(refused(lambda: os.mkdir('a/b/d')), refused(lambda: os.mkdir('a/b/d/e')))
";
    assert_eq!(
        prints(script, |limits| limits.scratch_depth = 3).await,
        "ENAMETOOLONG ENAMETOOLONG ['file']\nNone ENAMETOOLONG\n"
    );
}

#[tokio::test]
async fn a_folder_is_not_moved_deeper_than_the_limit_with_what_lies_in_it() {
    let script = "
os.makedirs('a/b')
os.makedirs('x/y')
print(refused(lambda: os.rename('x', 'a/b/x')), os.path.isdir('x/y'))
print(refused(lambda: os.rename('x', 'a/x')), refused(lambda: os.mkdir('a/x/y/z')))
print(refused(lambda: os.rename('a/x', 'x')), refused(lambda: os.mkdir('x/y/z')))
";
    let expected = "ENAMETOOLONG True\nNone ENAMETOOLONG\nNone None\n";
    assert_eq!(prints(script, |limits| limits.scratch_depth = 3).await, expected);
}

#[tokio::test]
async fn neither_a_descriptor_nor_a_link_is_a_way_around_the_depth() {
    let script = "
os.mkdir('a')
held = os.open('a', os.O_RDONLY)
os.makedirs('b/c')
os.rename('a', 'b/c/a')
print(refused(lambda: os.mkdir('d', dir_fd=held)))
os.symlink('b/c', 'link')
print(refused(lambda: os.mkdir('link/d')), refused(lambda: os.mkdir('link/d/e')), refused(lambda: os.mkdir('link/../f/')))
";
    let printed = prints(script, |limits| limits.scratch_depth = 3).await;
    assert_eq!(printed, "ENAMETOOLONG\nNone ENAMETOOLONG None\n");
}

#[tokio::test]
async fn folders_of_files_that_a_call_brings_count_and_too_deep_ones_are_refused() {
    let script = format!("{HEAD}\nprint(refused(lambda: os.mkdir('d/e/g')), refused(lambda: os.mkdir('d/e/g/h')))");
    let call = |depth| limited(&script, |limits| limits.scratch_depth = depth).file("d/e/f", "1").file("d/f", "2");
    assert_eq!(printed(call(3)).await, "None ENAMETOOLONG\n");
    assert_eq!(printed(call(2)).await, "ENAMETOOLONG ENOENT\n");
    let error = python().try_run(call(1)).await.unwrap_err().to_string();
    assert_eq!(error, "the call needs 2 folders inside each other, but `scratch_depth` allows 1");
}

#[tokio::test]
async fn a_path_may_be_as_long_as_the_limit_and_one_byte_more_is_enametoolong() {
    let script = "
folder = 'd' * 98
os.mkdir(folder)
print(refused(lambda: open(f'{folder}/f', 'w').close()), refused(lambda: open(f'{folder}/ff', 'w').close()))
for name in ['f', 'ff']:
    for attempt in [os.stat, os.readlink, os.remove, os.mkdir, os.rmdir, os.utime]:
        print(refused(lambda: attempt(f'{folder}/{name}')), end=' ')
    print(refused(lambda: os.rename(f'{folder}/{name}', 'x')), refused(lambda: os.link(f'{folder}/{name}', 'x')), end=' ')
    print(refused(lambda: os.symlink(f'{folder}/{name}', name)), refused(lambda: os.symlink('x', f'{folder}/{name}')))
";
    let printed = prints(script, |limits| limits.path_bytes = 100).await;
    let over = ["ENAMETOOLONG"; 10].join(" ");
    let at = "None EINVAL None None None ENOENT ENOENT ENOENT None None";
    assert_eq!(printed, format!("None ENAMETOOLONG\n{at}\n{over}\n"));
}

const OPENS_ONE_BYTE: &str = r#"
    (memory (export "memory") 1)
    (data (i32.const 0) "f")
    (func (export "_start") (drop (call $open (i32.const 0))))
"#;

#[tokio::test]
async fn a_module_s_path_of_one_byte_is_taken_at_a_limit_of_one_and_none_at_zero() {
    const ENAMETOOLONG: u8 = 37;
    let module = module(OPENS_ONE_BYTE);
    let outcome = module.run("", |limits| limits.path_bytes = 1).await;
    assert_eq!((outcome.status, outcome.usage.path_bytes), (Status::Exited(0), 1));
    let outcome = module.run("", |limits| limits.path_bytes = 0).await;
    assert_eq!((outcome.status, outcome.usage.path_bytes), (Status::Exited(ENAMETOOLONG), 0));
}

#[tokio::test]
async fn the_path_in_a_symbolic_link_takes_its_bytes_until_the_link_is_removed_or_replaced() {
    let script = "
f = os.open('f', os.O_RDWR | os.O_CREAT)
os.symlink('t' * 60, 'link')
print(os.write(f, b'x' * 40), refused(lambda: os.write(f, b'x')), refused(lambda: os.symlink('t', 'more')))
os.remove('link')
print(os.write(f, b'x' * 60), refused(lambda: os.write(f, b'x')))
os.ftruncate(f, 0)
print(refused(lambda: os.symlink('t' * 101, 'link')), refused(lambda: os.symlink('t' * 100, 'link')))
os.close(f)
os.replace('f', 'link')
print(refused(lambda: os.symlink('t' * 100, 'other')))
";
    let expected = "40 ENOSPC ENOSPC\n60 ENOSPC\nENOSPC None\nNone\n";
    assert_eq!(prints(script, |limits| limits.scratch_bytes = 100).await, expected);
}

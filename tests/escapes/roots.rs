//! From one folder of a call to another, and away with the places where folders show.

use std::fs;

use ampoule::{Access, Call, Status};

use crate::support::{module, python};

#[tokio::test]
async fn neither_a_move_nor_a_link_goes_from_one_folder_to_another_by_its_descriptors() {
    // 3 to 5 are its directory, 6 is the folder, which shows as `data` as well; 75 is EXDEV.
    let program = r#"
        (memory (export "memory") 1)
        (data (i32.const 0) "d") (data (i32.const 16) "data/sub") (data (i32.const 32) "f") (data (i32.const 48) "g")
        (global $a (mut i32) (i32.const 0)) (global $b (mut i32) (i32.const 0))
        (func $folder (param $at i32) (param $length i32) (result i32)
            (call $exit_if (call $path_open (i32.const 3) (i32.const 0) (local.get $at) (local.get $length)
                (i32.const 2) (i64.const 0x4002) (i64.const 0x4002) (i32.const 0) (i32.const 1008)))
            (i32.load (i32.const 1008)))
        (func $apart (param $number i32) (param $from i32) (param $name i32) (param $to i32)
            (call $exit_if (select (local.get $number) (i32.const 0)
                (i32.ne (call $rename (local.get $from) (local.get $name) (i32.const 1) (local.get $to) (local.get $name) (i32.const 1))
                    (i32.const 75))))
            (call $exit_if (select (i32.add (local.get $number) (i32.const 1)) (i32.const 0)
                (i32.ne (call $link (local.get $from) (i32.const 0) (local.get $name) (i32.const 1) (local.get $to) (local.get $name) (i32.const 1))
                    (i32.const 75)))))
        (func (export "_start")
            (call $exit_if (call $mkdir (i32.const 3) (i32.const 0) (i32.const 1)))
            (global.set $a (call $folder (i32.const 0) (i32.const 1)))
            (global.set $b (call $folder (i32.const 16) (i32.const 8)))
            (drop (call $open (i32.const 48)))
            (call $apart (i32.const 101) (global.get $b) (i32.const 32) (global.get $a))
            (call $apart (i32.const 103) (global.get $b) (i32.const 32) (i32.const 5))
            (call $apart (i32.const 105) (i32.const 3) (i32.const 48) (global.get $b))
            (call $apart (i32.const 107) (i32.const 3) (i32.const 48) (i32.const 6))
            (call $exit_if (call $fd_renumber (global.get $b) (i32.const 4)))
            (call $apart (i32.const 109) (i32.const 4) (i32.const 32) (global.get $a))
            (call $exit_if (call $fd_close (global.get $a)))
            (global.set $b (call $folder (i32.const 16) (i32.const 8)))
            (call $apart (i32.const 111) (global.get $b) (i32.const 32) (i32.const 3))
            (call $exit_if (call $rename (global.get $b) (i32.const 32) (i32.const 1) (i32.const 6) (i32.const 48) (i32.const 1))))
    "#;
    let host = tempfile::tempdir().unwrap();
    fs::create_dir(host.path().join("sub")).unwrap();
    fs::write(host.path().join("sub/f"), "in").unwrap();
    let call = Call::new("").folder(host.path(), "data", Access::ReadWrite);
    let outcome = module(program).try_run(call).await.unwrap();
    assert_eq!(outcome.status, Status::Exited(0));
    // Within the folder it is moved.
    assert_eq!(fs::read_to_string(host.path().join("g")).unwrap(), "in");
    assert_eq!(fs::read_dir(host.path().join("sub")).unwrap().count(), 0);
}

#[tokio::test]
async fn the_place_where_a_folder_shows_is_neither_moved_nor_removed_by_a_path_through_links() {
    let script = "
import errno, os
os.symlink('.', 'dot')
os.symlink('a', 'other')
os.mkdir('empty')
for attempt in [lambda: os.rmdir('dot/data'), lambda: os.rmdir('dot/dot/data/'), lambda: os.rename('dot/data', 'x'),
                lambda: os.rename('dot/a', 'x'), lambda: os.rmdir('other/b'), lambda: os.rename('other/b', 'x'),
                lambda: os.rename('empty', 'dot/data')]:
    try:
        attempt()
    except OSError as error:
        print(errno.errorcode[error.errno], end=' ')
    else:
        print('done', end=' ')
print(open('data/f').read(), open('a/b/f').read())
";
    let host = tempfile::tempdir().unwrap();
    fs::write(host.path().join("f"), "in").unwrap();
    let call = Call::new(script).folder(host.path(), "data", Access::ReadWrite);
    let outcome = python().try_run(call.folder(host.path(), "a/b", Access::ReadOnly)).await.unwrap();
    let busy = "EBUSY ".repeat(7);
    assert_eq!(outcome.stdout_text(), format!("{busy}in in\n"), "{}", outcome.stderr_text());
}

#[tokio::test]
async fn rights_that_do_not_exist_are_ignored_and_a_flag_that_does_not_is_einval() {
    let program = |lookup: i64, how: i64, rights: i64, flags: i64| {
        format!(
            r#"
            (memory (export "memory") 1) (data (i32.const 0) "n")
            (func (export "_start")
                (call $exit (call $path_open (i32.const 3) (i32.const {lookup}) (i32.const 0) (i32.const 1)
                    (i32.const {how}) (i64.const {rights}) (i64.const {rights}) (i32.const {flags}) (i32.const 1008))))"#
        )
    };
    const EINVAL: u8 = 28;
    for (lookup, how, rights, flags, code) in [
        (1, 1, -1, 0, 0),
        (0, 1, 1 << 40 | 2, 0, 0),
        (2, 1, 2, 0, EINVAL),
        (0, 0x11, 2, 0, EINVAL),
        (0, 0x1_0001, 2, 0, EINVAL),
        (0, 1, 2, 0x20, EINVAL),
        (0, 1, 2, -1, EINVAL),
    ] {
        let outcome = module(&program(lookup, how, rights, flags)).run("", |_| {}).await;
        assert_eq!(outcome.status, Status::Exited(code), "{lookup} {how} {rights} {flags}");
    }
}

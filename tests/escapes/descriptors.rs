//! Descriptors guessed by number, and the door that a module can knock at.

use ampoule::Status;

use crate::support::{module, python};

#[tokio::test]
async fn no_descriptor_but_those_it_was_given_can_be_guessed() {
    // 0 to 5 are its streams and its directory under three names. The host has many more open.
    let program = r#"
        (memory (export "memory") 1)
        (func $all (param $fd i32)
            (call $exit_if (i32.ne (call $fd_filestat_get (local.get $fd) (i32.const 2048)) (i32.const 8)))
            (call $exit_if (i32.ne (call $fd_read (local.get $fd) (i32.const 512) (i32.const 1) (i32.const 1024)) (i32.const 8)))
            (call $exit_if (i32.ne (call $fd_write (local.get $fd) (i32.const 512) (i32.const 1) (i32.const 1024)) (i32.const 8)))
            (call $exit_if (i32.ne (call $fd_pread (local.get $fd) (i32.const 512) (i32.const 1) (i64.const 0) (i32.const 1024)) (i32.const 8)))
            (call $exit_if (i32.ne (call $fd_pwrite (local.get $fd) (i32.const 512) (i32.const 1) (i64.const 0) (i32.const 1024)) (i32.const 8)))
            (call $exit_if (i32.ne (call $set_size (local.get $fd) (i64.const 0)) (i32.const 8)))
            (call $exit_if (i32.ne (call $fd_sync (local.get $fd)) (i32.const 8)))
            (call $exit_if (i32.ne (call $fd_readdir (local.get $fd) (i32.const 2048) (i32.const 512) (i64.const 0) (i32.const 1024)) (i32.const 8)))
            (call $exit_if (i32.ne (call $fd_renumber (local.get $fd) (i32.const 3)) (i32.const 8)))
            (call $exit_if (i32.ne (call $fd_renumber (i32.const 3) (local.get $fd)) (i32.const 8)))
            (call $exit_if (i32.ne (call $mkdir (local.get $fd) (i32.const 0) (i32.const 1)) (i32.const 8)))
            (call $exit_if (i32.ne (call $fd_close (local.get $fd)) (i32.const 8))))
        (data (i32.const 0) "n")
        (data (i32.const 512) "\00\08\00\00\08\00\00\00")
        (func (export "_start") (local $fd i32)
            (local.set $fd (i32.const 6))
            (loop $again
                (call $all (local.get $fd))
                (local.set $fd (i32.add (local.get $fd) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $fd) (i32.const 2000))))
            (call $all (i32.const -1)) (call $all (i32.const 0x7fffffff)) (call $all (i32.const 0x80000000)))
    "#;
    let outcome = module(program).run("", |_| {}).await;
    assert_eq!(outcome.status, Status::Exited(0));
}

#[tokio::test]
async fn a_descriptor_that_was_closed_or_renumbered_leads_nowhere() {
    let script = "
import errno, os
file = os.open('f', os.O_RDWR | os.O_CREAT)
os.write(file, b'x')
os.close(file)
for attempt in [lambda: os.read(file, 1), lambda: os.write(file, b'y'), lambda: os.fstat(file), lambda: os.close(file), lambda: os.ftruncate(file, 9)]:
    try:
        attempt()
    except OSError as error:
        print(errno.errorcode[error.errno], end=' ')
print(os.path.getsize('f'))
";
    let outcome = python().run(script, |_| {}).await;
    assert_eq!(outcome.stdout_text(), "EBADF EBADF EBADF EBADF EBADF 1\n", "{}", outcome.stderr_text());
}

#[tokio::test]
async fn the_door_to_the_host_has_nobody_behind_it_whatever_it_is_told() {
    let program = r#"
        (memory (export "memory") 1)
        (func $knock (param i32 i32 i32 i32)
            (call $exit_if (i32.ne (call $host_call (local.get 0) (local.get 1) (local.get 2) (local.get 3)) (i32.const -1)))
            (call $exit_if (i32.ne (i32.load (i32.const 2048)) (i32.const 0))))
        (func (export "_start") (local $i i32)
            (loop $again
                (call $knock (local.get $i) (i32.const 2048) (local.get $i) (i32.const 2048))
                (call $knock (i32.const 2048) (local.get $i) (i32.const 2048) (i32.const 64))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $again (i32.lt_u (local.get $i) (i32.const 5000))))
            (call $knock (i32.const -1) (i32.const -1) (i32.const -1) (i32.const -1))
            (call $knock (i32.const 0x80000000) (i32.const 0x7fffffff) (i32.const 0x80000000) (i32.const 0x7fffffff)))
    "#;
    assert_eq!(module(program).run("", |_| {}).await.status, Status::Exited(0));
}

/// The functions of WASI, which a script could ask the door for, and others that a host might have.
const FUNCTIONS: &str = "args_get args_sizes_get environ_get environ_sizes_get clock_res_get clock_time_get fd_advise fd_allocate \
    fd_close fd_datasync fd_fdstat_get fd_fdstat_set_flags fd_fdstat_set_rights fd_filestat_get fd_filestat_set_size \
    fd_filestat_set_times fd_pread fd_prestat_get fd_prestat_dir_name fd_pwrite fd_read fd_readdir fd_renumber fd_seek fd_sync \
    fd_tell fd_write path_create_directory path_filestat_get path_filestat_set_times path_link path_open path_readlink \
    path_remove_directory path_rename path_symlink path_unlink_file poll_oneoff proc_exit proc_raise sched_yield random_get \
    sock_accept sock_recv sock_send sock_shutdown system exec open read eval";

#[tokio::test]
async fn python_finds_nobody_behind_the_door_for_any_function() {
    let script = r#"
import sys
doors = []
for name in ['host', '_host', 'host.tools', '_reactor', '_hostcall', 'wasi_python']:
    try:
        doors.append(__import__(name, fromlist=['x']))
    except ImportError:
        pass
answers = set()
for door in doors:
    for attribute in dir(door):
        function = getattr(door, attribute)
        if attribute.startswith('__') or not callable(function) or isinstance(function, type):
            continue
        for name in sys.argv[1].split():
            for arguments in [(name,), (name.encode(),), (name, '{}'), (name, [1, 2]), ()]:
                try:
                    answers.add(repr(function(*arguments))[:80])
                except BaseException as error:
                    answers.add(type(error).__name__)
for answer in sorted(answers):
    print(answer)
"#;
    let call = ampoule::Call::new(script).arguments([FUNCTIONS]);
    let outcome = python().try_run(call).await.unwrap();
    assert_eq!(outcome.status, Status::Exited(0), "{}", outcome.stderr_text());
    println!("{}", outcome.stdout_text());
    // Errors of Python's alone: nothing that a host would have answered.
    for line in outcome.stdout_text().lines() {
        assert!(line.ends_with("Error") || ["None", "False"].contains(&line), "{}", outcome.stdout_text());
    }
}

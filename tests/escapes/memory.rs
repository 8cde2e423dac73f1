//! One call's memory, random numbers and clocks are not seen in another.

use std::collections::HashSet;
use std::time::{SystemTime, UNIX_EPOCH};

use ampoule::Status;

use crate::support::{module, python, python_data, shell};

/// Looks for a marker in all of its memory, which a call before it filled with that, as far as it can grow; then does so
/// itself and ends in one of several ways. The marker is nowhere but in the code.
fn marks(end: &str) -> String {
    format!(
        r#"(memory (export "memory") 2 400)
        (func $look (local $at i32)
            (loop $again
                (call $exit_if (i64.eq (i64.load (local.get $at)) (i64.const 0x5EED5EED5EED5EED)))
                (local.set $at (i32.add (local.get $at) (i32.const 8)))
                (br_if $again (i32.lt_u (local.get $at) (i32.mul (memory.size) (i32.const 65536))))))
        (func $mark (local $at i32)
            (loop $again
                (i64.store (local.get $at) (i64.const 0x5EED5EED5EED5EED))
                (local.set $at (i32.add (local.get $at) (i32.const 8)))
                (br_if $again (i32.lt_u (local.get $at) (i32.mul (memory.size) (i32.const 65536))))))
        (func (export "_start") (local $random i32)
            (call $look)
            (drop (memory.grow (i32.const 20)))
            (call $look)
            (call $mark)
            {end})"#
    )
}

#[tokio::test]
async fn what_one_call_left_in_its_memory_is_in_none_of_a_thousand_later_ones() {
    for (what, end, status, calls) in [
        ("ending", "", Status::Exited(0), 1000),
        ("crashing", "unreachable", Status::Trapped("wasm trap: wasm `unreachable` instruction executed".into()), 1000),
        ("running out of fuel", "(loop $on (br $on))", Status::OutOfFuel, 200),
    ] {
        let module = module(&marks(end));
        for _ in 0..calls {
            let outcome = module.run("", |limits| limits.fuel = Some(20_000_000)).await;
            assert_eq!(outcome.status, status, "{what}");
        }
    }
}

#[tokio::test]
async fn what_one_script_left_in_its_memory_is_in_none_of_a_thousand_later_ones() {
    let python = python_data();
    // Built at run time, so that the script's own text does not hold it.
    let marker = "marker = bytes(c ^ 1 for c in b'L`sjds/ui`u/op/nuids/b`mm/rddr')";
    let fills = format!(
        "{marker}\nheld = [marker * 4000 for _ in range(500)]\nheld[0].decode('latin-1').split('.')\nprint('filled')"
    );
    // What is allocated without being cleared shows what was there before.
    let looks = format!(
        "{marker}\nimport numpy\nfor size in [1 << n for n in range(4, 22)]:\n    \
         if marker in numpy.empty(size, numpy.uint8).tobytes(): print('found')\nprint('looked')"
    );
    for round in 0..10 {
        assert_eq!(python.run(&fills, |_| {}).await.stdout_text(), "filled\n");
        for _ in 0..100 {
            let outcome = python.run(&looks, |_| {}).await;
            assert_eq!(outcome.stdout_text(), "looked\n", "{round}: {}", outcome.stderr_text());
        }
    }
}

/// Asserts that no line of what many calls print is ever printed twice.
async fn all_differ(runtime: &crate::support::Runtime, script: &str, calls: usize, lines: usize) {
    let mut seen = HashSet::new();
    for _ in 0..calls {
        let outcome = runtime.run(script, |_| {}).await;
        assert_eq!(outcome.status, Status::Exited(0), "{}", outcome.stderr_text());
        assert_eq!(outcome.stdout_text().lines().count(), lines, "{}", outcome.stdout_text());
        for line in outcome.stdout_text().lines() {
            assert!(seen.insert(line.to_owned()), "twice: {line}");
        }
    }
}

#[tokio::test]
async fn no_two_calls_share_a_random_number() {
    let script = "
import os, random, secrets, tempfile, uuid
print(random.random()); print(random.getrandbits(64)); print(os.urandom(8).hex()); print(secrets.token_hex(8)); print(uuid.uuid4())
print(random.SystemRandom().random()); print(random.Random().random()); print(os.path.basename(tempfile.mktemp()))
";
    all_differ(&python(), script, 200, 8).await;
    all_differ(
        &python_data(),
        "import numpy; print(numpy.random.rand()); print(numpy.random.default_rng().random())",
        50,
        2,
    )
    .await;
    all_differ(&shell(), "head -c 8 /dev/urandom | od -An -tx1; echo $SRANDOM$SRANDOM", 200, 2).await;
}

#[tokio::test]
async fn no_two_calls_share_the_shell_s_random_variable_or_temporary_name() {
    all_differ(&shell(), "echo $RANDOM$RANDOM$RANDOM$RANDOM; mktemp", 20, 2).await;
}

#[tokio::test]
async fn no_two_calls_of_a_module_share_a_random_number() {
    let program = r#"
        (memory (export "memory") 1)
        (data (i32.const 0) "\40\00\00\00\10\00\00\00")
        (func (export "_start")
            (call $exit_if (call $random_get (i32.const 64) (i32.const 16)))
            (call $exit_if (call $fd_write (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 16))))
    "#;
    let module = module(program);
    let mut seen = HashSet::new();
    for _ in 0..500 {
        assert!(seen.insert(module.run("", |_| {}).await.stdout));
    }
}

#[tokio::test]
async fn the_clocks_are_the_host_s_now_and_not_those_of_the_image() {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let (python, shell) = (python(), shell());
    let mut last = 0.0;
    for _ in 0..20 {
        let before = now();
        let outcome = python.run("import time; print(time.time(), time.monotonic())", |_| {}).await;
        let text = outcome.stdout_text();
        let clocks: Vec<f64> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
        assert!((before - 0.1..=now() + 0.1).contains(&clocks[0]), "{text} {before}");
        let seconds: f64 = shell.run("date +%s", |_| {}).await.stdout_text().trim().parse().unwrap();
        assert!((before - 1.1..=now() + 1.1).contains(&seconds), "{seconds} {before}");
        assert!(clocks[0] > last);
        last = clocks[0];
    }
}

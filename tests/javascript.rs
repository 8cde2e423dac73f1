//! JavaScript and TypeScript as a user knows them: each case in `cases/javascript.toml`, run through the library, and
//! what a script can do to its sandbox.
//!
//! Needs the runtime: `ampoule runtime install javascript`.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use ampoule::{Call, CancellationToken, Home, Limits, Outcome, Status, Stdin, WasmExecutor};
use serde::Deserialize;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    group: String,
    /// The ending of the script's name.
    #[serde(default = "js")]
    ending: String,
    script: String,
    #[serde(default)]
    stdin: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    stdout: String,
    #[serde(default)]
    stderr_contains: Vec<String>,
    exit: u8,
}

fn js() -> String {
    "js".into()
}

fn executor() -> WasmExecutor {
    WasmExecutor::builder(Home::from_env().unwrap()).allow("javascript", "javascript").build().unwrap()
}

async fn run(executor: &WasmExecutor, call: Call) -> Outcome {
    executor.call("javascript", call, &CancellationToken::new()).await.unwrap()
}

async fn run_text(source: &str) -> Outcome {
    run(&executor(), Call::new(source)).await
}

fn of_case(case: &Case) -> Call {
    let mut call = Call::new(case.script.as_str())
        .name(format!("script.{}", case.ending))
        .arguments(case.args.iter().cloned())
        .stdin(Stdin::Bytes(case.stdin.clone().into()));
    for (path, content) in &case.files {
        call = call.file(path.as_str(), content.clone());
    }
    call
}

/// What differs from the case's expectation, one line each.
fn differences(case: &Case, outcome: &Outcome) -> Vec<String> {
    let (stdout, stderr) = (outcome.stdout_text(), outcome.stderr_text());
    let mut differences = Vec::new();
    if outcome.status != Status::Exited(case.exit) {
        differences.push(format!("{}: {:?}, not exit {}\n{stderr}", case.name, outcome.status, case.exit));
    }
    if stdout != case.stdout {
        differences.push(format!("{}: stdout {stdout:?}, not {:?}", case.name, case.stdout));
    }
    for wanted in &case.stderr_contains {
        if !stderr.contains(wanted) {
            differences.push(format!("{}: stderr {stderr:?} without {wanted:?}", case.name));
        }
    }
    differences
}

#[tokio::test]
async fn scripts_do_what_node_and_deno_do() {
    let cases = toml::from_str::<Cases>(include_str!("cases/javascript.toml")).unwrap().case;
    let groups: HashSet<&str> = cases.iter().map(|case| case.group.as_str()).collect();
    assert!(cases.len() >= 100 && groups.len() == 7, "{} cases, {groups:?}", cases.len());
    let executor = executor();
    let mut differing = Vec::new();
    for case in &cases {
        differing.extend(differences(case, &run(&executor, of_case(case)).await));
    }
    assert!(differing.is_empty(), "{} differences:\n{}", differing.len(), differing.join("\n"));
}

#[tokio::test]
async fn each_call_has_random_numbers_of_its_own() {
    let script = "const c = require('crypto');\n\
                  console.log(Math.random(), c.randomUUID(), c.randomBytes(8).toString('hex'), \
                  crypto.getRandomValues(new Uint32Array(1))[0]);";
    let executor = executor();
    let mut seen = HashSet::new();
    for _ in 0..20 {
        for number in run(&executor, Call::new(script)).await.stdout_text().split_whitespace() {
            assert!(seen.insert(number.to_owned()), "{number} came twice");
        }
    }
    assert_eq!(seen.len(), 80);
}

#[tokio::test]
async fn random_numbers_are_spread_over_their_range() {
    let script = "let s = 0, b = new Array(10).fill(0);\n\
                  for (let i = 0; i < 10000; i++) { const r = Math.random(); s += r; b[Math.floor(r * 10)]++; }\n\
                  console.log(Math.abs(s / 10000 - 0.5) < 0.02, b.every((n) => n > 850 && n < 1150));";
    assert_eq!(run_text(script).await.stdout_text(), "true true\n");
}

#[tokio::test]
async fn each_call_has_the_time_of_now_and_starts_its_clock() {
    let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let outcome = run_text("console.log(Date.now()); console.log(performance.now() < 1000);").await;
    let stdout = outcome.stdout_text();
    let (now, is_new) = stdout.split_once('\n').unwrap();
    let now: u128 = now.parse().unwrap();
    assert!(now >= before && now < before + 60_000, "{now} {before}");
    assert_eq!(is_new, "true\n");
}

#[tokio::test]
async fn a_call_sees_nothing_of_the_one_before_it() {
    let executor = executor();
    let script = "console.log(globalThis.left, Array.prototype.left, require('fs').readdirSync('.').length);\n\
                  globalThis.left = Array.prototype.left = 1; require('fs').writeFileSync('f', '');";
    for _ in 0..3 {
        assert_eq!(run(&executor, Call::new(script)).await.stdout_text(), "undefined undefined 0\n");
    }
}

#[tokio::test]
async fn the_working_directory_has_a_name_of_its_own_in_each_call() {
    let script = "const fs = require('fs'), os = require('os');\n\
                  fs.writeFileSync(process.cwd() + '/a', 'x');\n\
                  console.log(fs.readFileSync(os.tmpdir() + '/a', 'utf8'), process.env.HOME === process.cwd(), \
                  __dirname === process.cwd(), process.env.PWD === process.cwd());\n\
                  console.log(process.cwd());";
    let executor = executor();
    let mut seen = HashSet::new();
    for _ in 0..3 {
        let stdout = run(&executor, Call::new(script)).await.stdout_text();
        let (found, directory) = stdout.split_once('\n').unwrap();
        assert_eq!(found, "x true true true");
        assert!(directory.starts_with("/scratch/") && seen.insert(directory.to_owned()), "{directory}");
    }
}

#[tokio::test]
async fn the_runtime_s_own_names_are_not_the_script_s() {
    let outcome = run_text(
        "console.log(typeof ampoule, typeof print, typeof scriptArgs, typeof Atomics, typeof SharedArrayBuffer, \
         typeof Worker, Object.keys(globalThis).length);",
    );
    assert_eq!(outcome.await.stdout_text(), "undefined undefined undefined undefined undefined undefined 14\n");
}

/// The ways to compute without end, each in a form that gives nothing back to the host.
#[tokio::test]
async fn scripts_without_end_are_timed_out() {
    let executor = executor();
    for (name, script) in [
        ("a.js", "console.log('x'); while (true) {}"),
        ("a.mjs", "console.log('x'); while (true) await 1;"),
        ("a.js", "console.log('x'); (function f() { Promise.resolve().then(f); })();"),
        ("a.js", "console.log('x'); process.nextTick(function f() { process.nextTick(f); });"),
        ("a.js", "console.log('x'); setInterval(() => {}, 1);"),
        ("a.js", "console.log('x'); setTimeout(() => {}, 1e6);"),
        ("a.js", "console.log('x'); /(a+)+b/.test('a'.repeat(40));"),
        ("a.js", "process.on('exit', () => { while (true) {} }); console.log('x');"),
    ] {
        let mut call = Call::new(script).name(name);
        call.limits.timeout = Some(Duration::from_millis(150));
        let outcome = run(&executor, call).await;
        assert_eq!(outcome.status, Status::TimedOut, "{script}");
        assert_eq!(outcome.stdout_text(), "x\n", "{script}");
        assert!(outcome.usage.wall_time < Duration::from_secs(5), "{script}: {:?}", outcome.usage.wall_time);
    }
}

#[tokio::test]
async fn scripts_that_take_all_memory_end_by_themselves() {
    let executor = executor();
    for script in [
        "const all = []; while (true) all.push(new Uint8Array(1 << 20).fill(1));",
        "let text = 'x'; while (true) text += text;",
        "const all = []; while (true) all.push('y'.repeat(100000) + all.length);",
    ] {
        let mut call = Call::new(script);
        call.limits.memory_bytes = 64 << 20;
        let outcome = run(&executor, call).await;
        assert_eq!(outcome.status, Status::Exited(1), "{script}: {}", outcome.stderr_text());
        assert!(outcome.usage.peak_memory_bytes <= 64 << 20);
    }
}

#[tokio::test]
async fn deep_nesting_ends_in_an_error_or_a_trap() {
    let executor = executor();
    for script in [
        "(function f() { return f() + 1; })();",
        "class A { get x() { return this.x; } } new A().x;",
        "new Function('return ' + '['.repeat(1e5) + ']'.repeat(1e5));",
        "JSON.parse('['.repeat(1e6) + ']'.repeat(1e6));",
        "const o = { toString() { return '' + o; } }; '' + o;",
    ] {
        let outcome = run(&executor, Call::new(script)).await;
        assert!(matches!(outcome.status, Status::Exited(1) | Status::Trapped(_)), "{script}: {:?}", outcome.status);
    }
}

#[tokio::test]
async fn a_thousand_lines_of_typescript_take_the_filter_no_more_fuel_than_they_did() {
    let part = "export class Point<T extends number> { constructor(public x: T, readonly y: T = x) {} \n\
                length(scale?: number): number { return Math.hypot(this.x, this.y) * (scale ?? 1); }\n}\n\
                type Pair<A> = [A, A];\nexport const swap = <A,>([a, b]: Pair<A>): Pair<A> => [b, a];\n";
    let text: String = (0..200)
        .map(|i| {
            part.replace("Point", &format!("P{i}")).replace("swap", &format!("s{i}")).replace("Pair", &format!("Q{i}"))
        })
        .collect();
    assert!(text.lines().count() >= 1000);
    // The filter is a program like any other.
    let filter = WasmExecutor::builder(Home::from_env().unwrap()).allow("filter", "typescript").build().unwrap();
    let (mut fastest, mut fuel) = (Duration::MAX, 0);
    for _ in 0..40 {
        let call = Call::new("").arguments(["a.ts"]).stdin(Stdin::Bytes(text.clone().into()));
        let outcome = filter.call("filter", call, &CancellationToken::new()).await.unwrap();
        assert_eq!(outcome.status, Status::Exited(0), "{}", outcome.stderr_text());
        fastest = fastest.min(outcome.usage.wall_time);
        fuel = outcome.usage.fuel;
    }
    println!("{fastest:?} and {fuel} units of fuel for {} lines", text.lines().count());
    // Fuel does not depend on what else runs. The bound is 5 % above what was measured.
    assert!(fuel < 32_600_000, "{fuel}");
    let call = Call::new(format!("{text}console.log(new P199(3).length());\n")).name("big.ts");
    assert_eq!(run(&executor(), call).await.stdout_text(), "4.242640687119285\n");
}

/// Ways to write that the parser takes long for, or much memory: each is a short text.
#[tokio::test]
async fn typescript_that_blows_up_its_parser_ends_at_the_call_s_limits() {
    let executor = executor();
    let arrows = "a?(b):c=>".repeat(3_640);
    let arguments = "a<".repeat(32 << 10);
    let nested = format!("let x = {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    for text in [arrows, arguments, nested] {
        let mut limits = Limits::default();
        (limits.timeout, limits.memory_bytes) = (Some(Duration::from_secs(1)), 64 << 20);
        let start = Instant::now();
        let call = Call::new(text.clone()).name("a.ts").limits(limits);
        let outcome = executor.call("javascript", call, &CancellationToken::new()).await.unwrap();
        let what = format!("{}: {:?} {}", &text[..20], outcome.status, outcome.stderr_text());
        assert!(!matches!(outcome.status, Status::Exited(0)), "{what}");
        assert!(start.elapsed() < Duration::from_secs(2), "{what}");
        assert!(outcome.usage.peak_memory_bytes <= 64 << 20, "{what}");
    }
    assert_eq!(run(&executor, Call::new("console.log(1 as number)").name("a.ts")).await.stdout_text(), "1\n");
}

#[tokio::test]
async fn what_the_filter_takes_of_fuel_is_the_call_s() {
    let executor = executor();
    let fuel = async |name: &str| run(&executor, Call::new("console.log(1)").name(name)).await.usage.fuel;
    let (filtered, plain) = (fuel("a.ts").await, fuel("a.js").await);
    assert!(filtered > plain + 20_000, "{filtered} and {plain}");
    let mut limits = Limits::default();
    // Two calls of one script differ by some hundred units.
    limits.fuel = Some(plain + 10_000);
    let call = |name: &str| Call::new("console.log(1)").name(name).limits(limits.clone());
    for (name, status) in [("a.js", Status::Exited(0)), ("a.ts", Status::OutOfFuel)] {
        let outcome = executor.call("javascript", call(name), &CancellationToken::new()).await.unwrap();
        assert_eq!(outcome.status, status, "{name}");
    }
}

#[tokio::test]
async fn a_mistake_in_a_module_is_thrown_where_it_is_imported() {
    let executor = executor();
    let call = |script: &str| Call::new(script.to_owned()).name("a.mts").file("wrong.ts", "export let = ;");
    assert_eq!(run(&executor, call("console.log(1)")).await.stdout_text(), "1\n");
    let outcome = run(&executor, call("import './wrong.ts'")).await;
    assert_eq!(outcome.status, Status::Exited(1));
    assert!(outcome.stderr_text().contains("wrong.ts:1"), "{}", outcome.stderr_text());
}

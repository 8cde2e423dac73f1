//! What scripts cost, in a unit without noise: a guard against slow-downs that no stopwatch sees.
//!
//! Needs the runtime: `ampoule runtime install python`.

use ampoule::{Call, CancellationToken, Home, Status, WasmExecutor};

/// A script, what it prints, and the fuel it took when the table was last looked at. A change of the boot files, of
/// the package or of the engine moves the figures; a move upwards wants a reason.
const TABLE: [(&str, &str, u64); 3] = [
    ("print('hi')", "hi\n", 376_600),
    (
        "import json, re\nwords = re.findall(r'\\w+', 'the cat and the hat ' * 50)\n\
         print(json.dumps({w: words.count(w) for w in sorted(set(words))}))",
        "{\"and\": 50, \"cat\": 50, \"hat\": 50, \"the\": 100}\n",
        2_660_000,
    ),
    ("print(sum(i * i for i in range(10_000)))", "333283335000\n", 18_830_000),
];

/// In parts of a hundred: an image that is made anew is not the same to the last byte.
const TOLERANCE: u64 = 1;

async fn fuel(executor: &WasmExecutor, script: &str, printed: &str) -> u64 {
    let call = Call::new(script).name("script.py");
    let outcome = executor.call("python", call, &CancellationToken::new()).await.unwrap();
    assert_eq!((outcome.status, String::from_utf8(outcome.stdout).unwrap()), (Status::Exited(0), printed.to_owned()));
    outcome.usage.fuel
}

#[tokio::test]
async fn a_script_takes_the_same_fuel_in_every_call_and_no_more_than_it_did() {
    let home = Home::from_env().unwrap();
    let executor = WasmExecutor::builder(home.clone()).allow("python", "python").build().unwrap();
    let another = WasmExecutor::builder(home).allow("python", "python").build().unwrap();
    for (script, printed, usual) in TABLE {
        let first = fuel(&executor, script, printed).await;
        for _ in 0..10 {
            assert_eq!(fuel(&executor, script, printed).await, first, "{script}");
        }
        assert_eq!(fuel(&another, script, printed).await, first, "{script}: another executor");
        let margin = usual * TOLERANCE / 100;
        assert!((usual - margin..=usual + margin).contains(&first), "{script}: {first} units, not about {usual}");
    }
}

//! Scripts that are large, endless or hostile end, say why in the shell's words, and spoil nothing for the next.
//!
//! Each prints what it took: `cargo test --release --test sh -- --nocapture`.

use std::time::{Duration, Instant};

use ampoule::{Call, Outcome, Status, Stdin};
use tokio::io::AsyncWriteExt;

use crate::shell::{SHELL, run};

/// Runs a script with some time, prints what it took, and sees that the next call is served.
async fn outcome(name: &str, call: Call, seconds: u64) -> Outcome {
    let shell = &SHELL;
    let mut call = call.name("script.sh");
    call.limits.timeout = Some(Duration::from_secs(seconds));
    call.limits.source_bytes = 64 << 20;
    call.limits.stdin_bytes = 256 << 20;
    let start = Instant::now();
    let outcome = run(shell, call).await;
    let (time, usage) = (start.elapsed(), &outcome.usage);
    let megabytes = usage.peak_memory_bytes >> 20;
    println!("{name}: {:?} in {time:.1?}, {} units of fuel, {megabytes} MiB", outcome.status, usage.fuel);
    println!("  stderr: {}", outcome.stderr_text().chars().take(200).collect::<String>());
    assert!(!outcome.stderr_text().contains("panicked"), "{name}");
    let next = run(shell, Call::new("echo served")).await;
    assert_eq!((next.status, next.stdout.as_slice()), (Status::Exited(0), &b"served\n"[..]), "after {name}");
    outcome
}

async fn prints(name: &str, script: &str, expected: &str) {
    let outcome = outcome(name, Call::new(script), 30).await;
    assert_eq!((outcome.status.clone(), outcome.stdout_text().as_ref()), (Status::Exited(0), expected));
}

/// A script that fails in the shell's own way, or that a limit on time stops.
async fn ends(name: &str, script: String, seconds: u64) {
    let outcome = outcome(name, Call::new(script), seconds).await;
    assert!(!matches!(outcome.status, Status::Trapped(_)), "{:?}", outcome.status);
}

#[tokio::test]
async fn an_endless_writer_ends_with_its_reader() {
    prints("yes", "yes | head -2", "y\ny\n").await;
    prints("seq", "seq 1 1000000 | head -1", "1\n").await;
    prints("seq to its end", "seq 1 1000000 | tail -1", "1000000\n").await;
}

#[tokio::test]
async fn a_large_file_passes_through_a_pipe_in_little_memory() {
    let script = "head -c 104857600 /dev/zero >f; cat f | wc -c";
    let outcome = outcome("100 MiB", Call::new(script), 30).await;
    assert_eq!(outcome.stdout_text(), "104857600\n");
    assert!(outcome.usage.peak_memory_bytes < 64 << 20);
}

#[tokio::test]
async fn a_large_input_passes_through_in_little_memory() {
    let call = Call::new("cat | wc -c").stdin(Stdin::Bytes(vec![b'x'; 100 << 20].into()));
    let outcome = outcome("100 MiB of input", call, 30).await;
    assert_eq!(outcome.stdout_text(), "104857600\n");
    assert!(outcome.usage.peak_memory_bytes < 64 << 20);
}

#[tokio::test]
async fn a_large_input_that_nobody_reads_costs_nothing() {
    let call = Call::new("echo done; exit 3").stdin(Stdin::Bytes(vec![b'x'; 100 << 20].into()));
    let outcome = outcome("input unread", call, 30).await;
    assert_eq!((outcome.status.clone(), outcome.stdout_text().as_ref()), (Status::Exited(3), "done\n"));
}

#[tokio::test]
async fn input_that_never_comes_is_not_waited_for_unless_it_is_read() {
    let never = || {
        let (mine, theirs) = tokio::io::duplex(16);
        (mine, Stdin::Stream(Box::new(theirs)))
    };
    let (_open, stdin) = never();
    let done = outcome("input not there", Call::new("sleep 0.05; echo done").stdin(stdin), 5).await;
    assert_eq!((done.status.clone(), done.stdout_text().as_ref()), (Status::Exited(0), "done\n"));
    let (_open, stdin) = never();
    let waits = outcome("input awaited", Call::new("echo before; read x").stdin(stdin), 1).await;
    assert_eq!((waits.status.clone(), waits.stdout_text().as_ref()), (Status::TimedOut, "before\n"));
}

/// What dash prints for the same scripts, when `1`, `2` and `3` come on lines of their own after they have started.
#[tokio::test]
async fn input_that_comes_late_goes_to_the_commands_that_read_it() {
    const F: &str = ">f echo F1; ";
    for (script, stdout) in [
        ("read a; read b; echo $a-$b; cat", "1-2\n3\n"),
        ("printf x | { read v; echo $v; }; cat", "x\n1\n2\n3\n"),
        ("echo a | cat; printf b | tr b c; read x; echo $x", "a\nc1\n"),
        ("cat <<E\nhere\nE\nread x; echo $x", "here\n1\n"),
        ("while read l; do echo \"<$l>\"; done <<E\na\nE\nread x; echo $x", "<a>\n1\n"),
        ("while read l; do echo \"[$l]\"; cat f; done", "[1]\nF1\n[2]\nF1\n[3]\nF1\n"),
        ("f() { read x; echo f$x; }; f; f; cat", "f1\nf2\n3\n"),
        ("x=$(read y; echo $y); read z; echo $x$z", "12\n"),
        ("( read x; echo $x ); read y; echo $y", "1\n2\n"),
        ("sort f; wc -l f; grep -c F f; read x; echo $x", "F1\n1 f\n1\n1\n"),
        ("cat f -", "F1\n1\n2\n3\n"),
        ("read x <f; exec 3<f; read a <&3; read b; echo $x $a $b", "F1 F1 1\n"),
        ("seq 2 | while read n; do echo n$n; done; read x; echo $x", "n1\nn2\n1\n"),
        ("sort; echo end", "1\n2\n3\nend\n"),
    ] {
        let (mut mine, theirs) = tokio::io::duplex(16);
        let writes = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            mine.write_all(b"1\n2\n3\n").await.unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
            drop(mine);
        };
        let call = Call::new(format!("{F}{script}")).stdin(Stdin::Stream(Box::new(theirs)));
        let (outcome, ()) = tokio::join!(outcome(script, call, 5), writes);
        assert_eq!((outcome.status.clone(), outcome.stdout_text().as_str()), (Status::Exited(0), stdout), "{script}");
    }
}

#[tokio::test]
async fn commands_that_read_no_input_do_not_wait_for_it() {
    for script in ["echo abc | tr a b; ls; date >f; sort f >g", "cat <f2; f() { echo in f; }; f | cat; sed -n 1p f2"] {
        let (_open, never) = tokio::io::duplex(16);
        let call = Call::new(format!(">f2 echo a; {script}; echo done"));
        let outcome = outcome(script, call.stdin(Stdin::Stream(Box::new(never))), 5).await;
        assert_eq!(outcome.status, Status::Exited(0), "{script}");
        assert!(outcome.stdout_text().ends_with("done\n"), "{script}");
    }
}

#[tokio::test]
async fn a_script_that_sleeps_or_computes_without_end_is_timed_out() {
    for script in
        ["echo a; sleep 100", "echo a; while :; do :; done", "echo a; (sleep 100); echo b", "echo a; yes >/dev/null"]
    {
        let outcome = outcome(script, Call::new(script), 1).await;
        assert_eq!((outcome.status.clone(), outcome.stdout_text().as_ref()), (Status::TimedOut, "a\n"), "{script}");
    }
}

#[tokio::test]
async fn output_is_written_as_it_comes() {
    let outcome = outcome("output", Call::new("echo a; echo b >&2; for i in 1 2; do echo $i; sleep 9; done"), 1).await;
    assert_eq!((outcome.stdout_text().as_ref(), outcome.stderr_text().as_ref()), ("a\n1\n", "b\n"));
}

#[tokio::test]
async fn a_fork_bomb_ends() {
    ends("fork bomb", "f() { f | f & }; f".into(), 5).await;
    ends("pipe bomb", "f() { f | f; }; f".into(), 5).await;
    ends("job bomb", "f() { f & f & }; f; wait".into(), 5).await;
}

#[tokio::test]
async fn deep_nesting_fails_in_the_shell_s_words() {
    let deep = 100_000;
    ends("subshells", format!("{}echo x{}", "(".repeat(deep), ")".repeat(deep)), 10).await;
    ends("groups", format!("{}echo x;{}", "{ ".repeat(deep), "};".repeat(deep)), 10).await;
    ends("conditions", format!("{}echo x;{}", "if :; then ".repeat(deep), "fi;".repeat(deep)), 10).await;
    ends("substitutions", format!("echo {}x{}", "$(echo ".repeat(deep), ")".repeat(deep)), 10).await;
    ends("unfinished subshells", "(".repeat(deep), 10).await;
    ends("arithmetic", format!("echo $(({}1{}))", "(".repeat(deep), ")".repeat(deep)), 10).await;
    ends("defaults", format!("echo {}x{}", "${a:-".repeat(deep), "}".repeat(deep)), 10).await;
    ends("backquotes", "`".repeat(deep), 10).await;
    ends("recursion", "f() { f; }; f".into(), 10).await;
    ends("recursion in a substitution", "f() { x=$(f); }; f".into(), 10).await;
    ends("recursion in a subshell", "f() { (f); }; f".into(), 10).await;
    ends("recursion by eval", "x='eval \"$x\"'; eval \"$x\"".into(), 10).await;
    ends("recursion by a trap", "trap 'kill -USR1 $$' USR1; kill -USR1 $$".into(), 10).await;
    ends("a shell in a shell", "x='sh -c \"$x\"'; export x; sh -c \"$x\"".into(), 10).await;
    ends("a file that sources itself", "echo '. ./f' >f; . ./f".into(), 10).await;
    for depth in [20, 45, 90] {
        ends("less deep subshells", format!("{}echo x{}", "( ".repeat(depth), " )".repeat(depth)), 10).await;
        ends("less deep substitutions", format!("echo {}x{}", "$(echo ".repeat(depth), ")".repeat(depth)), 10).await;
    }
}

#[tokio::test]
async fn odd_texts_are_no_trouble() {
    ends("a long line", format!("echo {}", "word ".repeat(2 << 20)), 30).await;
    ends("a long word", format!("echo {} | wc -c", "w".repeat(10 << 20)), 30).await;
    ends("an endless here-document", format!("cat <<E\n{}", "text\n".repeat(100_000)), 30).await;
    ends("NUL bytes", "echo a\0b; echo c".into(), 10).await;
    ends("control characters", "\u{1}\u{7f}\u{80} \u{feff} | \r\n".into(), 10).await;
    ends("many variables", "i=0; while [ $i -lt 20000 ]; do eval v$i=x; i=$((i+1)); done; echo $v19999".into(), 30)
        .await;
    ends("a variable that grows", "x=x; while :; do x=$x$x; done".into(), 10).await;
    ends(
        "a pattern that tries everything",
        "case aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa in *a*a*a*a*a*a*a*a*b) ;; esac".into(),
        10,
    )
    .await;
}

#[tokio::test]
async fn syntax_errors_name_the_line_and_end_with_two() {
    for script in
        ["echo a\nif true; then\n", "echo a\n)\n", "echo a\necho \"b\n", "echo a\nfor in x\n", "echo a\ncase x in"]
    {
        let outcome = outcome("syntax error", Call::new(script), 5).await;
        assert_eq!(outcome.status, Status::Exited(2), "{script}");
        assert!(outcome.stderr_text().contains("line "), "{script}: {}", outcome.stderr_text());
    }
}

/// Fuel is what does not vary from run to run and machine to machine. The bounds are 5 % above what was measured, so
/// that a guest or a mend that makes every command dearer shows; the times are printed beside it.
#[tokio::test]
async fn a_small_script_and_a_long_loop_take_no_more_fuel_than_they_did() {
    async fn measured(script: &str, calls: usize, most_fuel: u64) {
        let mut runs = Vec::new();
        for _ in 0..calls {
            let start = Instant::now();
            let outcome = outcome(script, Call::new(script), 30).await;
            assert_eq!(outcome.status, Status::Exited(0), "{script}");
            runs.push((start.elapsed(), outcome.usage.fuel));
        }
        runs.sort();
        let (time, fuel) = runs[runs.len() / 2];
        println!("{script}: median {time:?}, least {:?}, {fuel} units of fuel", runs[0].0);
        assert!(fuel < most_fuel, "{script}: {fuel} units of fuel");
    }
    measured("echo hi", 2_000, 215_000).await;
    measured("i=0; while [ $i -lt 10000 ]; do i=$((i+1)); done", 5, 885_000_000).await;
}

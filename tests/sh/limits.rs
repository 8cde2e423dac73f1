//! Each limit that a shell script can reach, at it and just over it.

use ampoule::{Call, CancellationToken, ExecuteError, Limits, Outcome, Status};

use crate::shell::{SHELL, run};

async fn limited(script: &str, change: impl FnOnce(&mut Limits)) -> Outcome {
    let mut call = Call::new(script).name("script.sh");
    change(&mut call.limits);
    run(&SHELL, call).await
}

async fn refusal(call: Call) -> ExecuteError {
    SHELL.call("sh", call, &CancellationToken::new()).await.expect_err("the call ran")
}

/// What a script prints whose commands may fail.
async fn prints(script: &str, change: impl FnOnce(&mut Limits)) -> String {
    let outcome = limited(script, change).await;
    assert!(matches!(outcome.status, Status::Exited(_)), "{:?}", outcome.status);
    outcome.stdout_text()
}

#[tokio::test]
async fn a_script_ends_within_its_fuel_and_is_stopped_with_a_little_less() {
    let script = "i=0; while [ $i -lt 200 ]; do i=$((i+1)); done; echo $i";
    let fuel = limited(script, |_| {}).await.usage.fuel;
    let with = async |fuel| limited(script, |limits| limits.fuel = Some(fuel)).await;
    assert_eq!(with(fuel + fuel / 100).await.stdout_text(), "200\n");
    let stopped = with(fuel - fuel / 100).await;
    assert_eq!(stopped.status, Status::OutOfFuel);
    assert!(stopped.usage.fuel <= fuel && stopped.usage.fuel > fuel - fuel / 50, "{:?}", stopped.usage);
}

#[tokio::test]
async fn a_variable_fits_its_memory_and_does_not_fit_less() {
    let ExecuteError::Refused(ampoule::CallError::ImageTooLarge { bytes: image, .. }) = refusal({
        let mut call = Call::new("");
        call.limits.memory_bytes = 1;
        call
    })
    .await
    else {
        panic!("the image has no size")
    };
    let script = "x=$(yes | head -c 16000000); echo ${#x}";
    let with = async |more: u64| limited(script, |limits| limits.memory_bytes = image + more).await;
    assert_eq!(with(256 << 20).await.stdout_text(), "15999999\n");
    let less = with(8 << 20).await;
    assert!(!less.stdout_text().contains("15999999"), "{less:?}");
    assert!(less.usage.peak_memory_bytes <= image + (8 << 20));
    assert!(!matches!(less.status, Status::Exited(0) | Status::Trapped(_)), "{less:?}");
}

#[tokio::test]
async fn output_at_the_cap_is_whole_and_one_byte_more_is_cut() {
    for (text, truncated) in [("0123456789", false), ("0123456789x", true)] {
        let script = format!("printf {text}; printf {text} >&2; echo after >f; cat f | wc -l >/dev/null");
        let outcome = limited(&script, |limits| (limits.stdout_bytes, limits.stderr_bytes) = (10, 10)).await;
        assert_eq!((outcome.status, outcome.truncated), (Status::Exited(0), truncated));
        assert_eq!((outcome.stdout.as_slice(), outcome.stderr.as_slice()), (&b"0123456789"[..], &b"0123456789"[..]));
    }
}

#[tokio::test]
async fn arguments_are_taken_at_their_limit_and_refused_one_byte_over() {
    // `a.sh`, `one` and `NAME=two`, each with the NUL at its end.
    let call = |bytes| {
        let call = Call::new("echo $1 $NAME").name("a.sh").arguments(["one"]).variable("NAME", "two");
        let mut limits = Limits::default();
        limits.arguments_bytes = bytes;
        call.limits(limits)
    };
    assert_eq!(run(&SHELL, call(18)).await.stdout_text(), "one two\n");
    assert!(refusal(call(17)).await.to_string().contains("takes 18 bytes, but `arguments_bytes` allows 17"));
}

#[tokio::test]
async fn a_file_of_the_scratch_bytes_is_written_and_one_byte_more_is_an_error() {
    let script = "printf '%100s' x >f && wc -c <f; printf '%101s' x 2>&1 >g || echo failed; rm f; printf '%100s' x >h && echo again";
    let outcome = limited(script, |limits| limits.scratch_bytes = 100).await;
    let stdout = outcome.stdout_text();
    assert!(stdout.starts_with("100\n") && stdout.ends_with("failed\nagain\n"), "{stdout} {}", outcome.stderr_text());
}

#[tokio::test]
async fn as_many_files_as_allowed_are_made_and_one_more_is_an_error() {
    let script = ": >a; mkdir b; ln -s a c; : >d && echo four; true 2>/dev/null >e || echo no; ls | wc -l";
    assert_eq!(prints(script, |limits| limits.scratch_entries = 4).await, "four\nno\n4\n");
}

#[tokio::test]
async fn folders_lie_as_deep_as_allowed_and_no_deeper() {
    let script = "mkdir -p a/b/c && echo three; mkdir a/b/c/d 2>/dev/null || echo no";
    assert_eq!(prints(script, |limits| limits.scratch_depth = 3).await, "three\nno\n");
}

#[tokio::test]
async fn a_path_is_as_long_as_allowed_and_no_longer() {
    let name = |length| "n".repeat(length);
    let script = format!("echo x >{} && echo fits; echo x 2>/dev/null >{} || echo no", name(100), name(101));
    assert_eq!(prints(&script, |limits| limits.path_bytes = 100).await, "fits\nno\n");
}

#[tokio::test]
async fn as_many_random_bytes_as_allowed_come_at_once_and_one_more_is_a_trap() {
    let script = "head -c 1000 /dev/urandom | wc -c";
    // The shell asks for a block of the device at once, and for little besides.
    let asked = 64 << 10;
    let with = async |bytes| limited(script, |limits| limits.random_bytes = bytes).await;
    let outcome = with(asked).await;
    assert_eq!(outcome.stdout_text().trim(), "1000");
    assert!(outcome.usage.random_bytes >= asked, "{outcome:?}");
    let outcome = with(asked - 1).await;
    assert!(matches!(&outcome.status, Status::Trapped(reason) if reason.contains(&asked.to_string())), "{outcome:?}");
}

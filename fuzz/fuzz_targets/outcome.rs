//! The cutter of output: at most the cap, a beginning of what there was, and no character split.

#![no_main]

use ampoule::{Outcome, Status};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u16, &[u8], &str)| {
    let (cap, bytes, text) = (usize::from(input.0) % 300, input.1, input.2);
    let outcome = Outcome::new(Status::Exited(0), bytes, text).capped(cap);
    assert!(outcome.stdout.len() <= cap && outcome.stderr.len() <= cap);
    assert!(bytes.starts_with(&outcome.stdout) && text.as_bytes().starts_with(&outcome.stderr));
    assert!(std::str::from_utf8(&outcome.stderr).is_ok());
    assert_eq!(outcome.truncated, bytes.len() > cap || text.len() > cap);
    // Not more is cut off than the beginning of one character.
    assert!(bytes.len() <= cap || outcome.stdout.len() + 3 >= cap);
    assert!(text.len() <= cap || outcome.stderr.len() + 3 >= cap);
    assert_eq!(outcome.clone().capped(cap), outcome);
});

//! The second cap: an executor that keeps more than it was told is cut here, and a notice says that something is missing.

use crate::script::Outcome;

/// Cuts each stream at the cap. Where something was cut, here or before, one notice is added to the stream that lacks
/// something, on top of the cap; standard output when that is not known.
pub(super) fn capped(outcome: Outcome, cap: usize) -> Outcome {
    let only_errors = outcome.stderr.len() > cap && outcome.stdout.len() <= cap
        || outcome.usage.stderr_bytes > cap as u64 && outcome.usage.stdout_bytes <= cap as u64;
    let mut outcome = outcome.capped(cap);
    if outcome.truncated {
        let stream = if only_errors { &mut outcome.stderr } else { &mut outcome.stdout };
        let line_end = if stream.is_empty() || stream.ends_with(b"\n") { "" } else { "\n" };
        stream.extend_from_slice(format!("{line_end}[output truncated at {cap} bytes]\n").as_bytes());
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Status;

    #[test]
    fn output_at_the_cap_is_whole_and_one_byte_more_is_cut_with_one_notice() {
        let outcome = |stdout: &str, stderr: &str| capped(Outcome::new(Status::Exited(0), stdout, stderr), 4);
        assert_eq!(outcome("abcd", "efgh"), Outcome::new(Status::Exited(0), "abcd", "efgh"));
        let cut = outcome("abcde", "efghi");
        assert_eq!(
            (cut.stdout_text().as_str(), cut.stderr_text().as_str()),
            ("abcd\n[output truncated at 4 bytes]\n", "efgh")
        );
        let cut = outcome("ab", "efg\nh");
        assert_eq!(
            (cut.stdout_text().as_str(), cut.stderr_text().as_str()),
            ("ab", "efg\n[output truncated at 4 bytes]\n")
        );
        assert!(cut.truncated);
        assert_eq!(outcome("aé😀", "").stdout_text(), "aé\n[output truncated at 4 bytes]\n");
    }

    #[test]
    fn what_the_executor_cut_gets_the_notice_too() {
        let mut outcome = Outcome::new(Status::TimedOut, "", "");
        outcome.truncated = true;
        assert_eq!(capped(outcome, 4).stdout_text(), "[output truncated at 4 bytes]\n");
    }
}

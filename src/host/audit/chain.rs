//! How entries hang together: each line holds its number and the hash of the line before it.

use std::path::Path;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::noted::{Noted, may_end};
use super::{AuditEntry, AuditError};
use crate::runtime::digest::hex;

/// The end of a chain: how many entries there are, and the hash of the last.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Head {
    /// The number of the last entry; the first is 1.
    pub number: u64,
    /// The SHA-256 of its line, 64 hexadecimal digits.
    pub hash: String,
    /// When it was written.
    pub time: SystemTime,
}

/// A line as it is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Line {
    /// Its number.
    pub number: u64,
    /// When it was written: RFC 3339, UTC, to the millisecond.
    pub time: String,
    /// The hash of the line before; of 64 zeros for the first.
    pub previous: String,
    /// What it says.
    #[serde(flatten)]
    pub entry: AuditEntry,
}

/// The first place where a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
#[non_exhaustive]
pub struct Fault {
    /// The line, counted from 1.
    pub line: u64,
    /// What is wrong.
    pub problem: String,
}

/// How far the clock may be set back without a word: what keeps clocks right sets them back by less.
const TOLERANCE: Duration = Duration::from_secs(2);

impl Default for Head {
    fn default() -> Head {
        Head { number: 0, hash: "0".repeat(64), time: SystemTime::UNIX_EPOCH }
    }
}

impl Head {
    /// The line for the next entry, without its end, and the head that it makes.
    pub(super) fn next(&self, entry: &AuditEntry) -> Result<(String, Head), AuditError> {
        if entry.time + TOLERANCE < self.time {
            return Err(AuditError::ClockWentBack { now: entry.time, last: self.time });
        }
        let time = entry.time.max(self.time);
        let line = Line {
            number: self.number + 1,
            time: humantime::format_rfc3339_millis(time).to_string(),
            previous: self.hash.clone(),
            entry: entry.clone(),
        };
        let text = serde_json::to_string(&line).map_err(|error| AuditError::Other(error.into()))?;
        let head = Head { number: line.number, hash: hash(&text), time };
        Ok((text, head))
    }

    /// The head after this line, which is checked to follow. The error says what is wrong.
    pub(super) fn follow(&self, text: &str) -> Result<(Head, Line), String> {
        let (head, line) = Head::of(text)?;
        if line.number != self.number + 1 {
            return Err(format!(
                "it has the number {}, but {} was to come: entries are missing",
                line.number,
                self.number + 1
            ));
        }
        if line.previous != self.hash {
            return Err(
                "it does not hold the hash of the line before it: one of the two was changed, or one is missing".into(),
            );
        }
        if head.time + Duration::from_millis(1) < self.time {
            return Err("it is older than the line before it".into());
        }
        Ok((head, line))
    }

    /// The head that this line alone makes.
    pub(super) fn of(text: &str) -> Result<(Head, Line), String> {
        let line: Line = serde_json::from_str(text).map_err(|error| format!("it is no audit entry: {error}"))?;
        let time = humantime::parse_rfc3339(&line.time).map_err(|_| format!("its time {:?} is none", line.time))?;
        Ok((Head { number: line.number, hash: hash(text), time }, line))
    }
}

fn hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Follows a chain to its end, and holds it to what was noted of that.
pub(super) fn verify<'a>(
    lines: impl Iterator<Item = std::io::Result<std::borrow::Cow<'a, str>>>,
    noted: Option<&Noted>,
) -> Result<Head, Fault> {
    let (mut head, mut count) = (Head::default(), 0);
    for line in lines {
        count += 1;
        let fault = |problem| Fault { line: count, problem };
        let line = line.map_err(|error| fault(error.to_string()))?;
        head = head.follow(&line).map_err(fault)?.0;
        noted.map_or(Ok(()), |noted| noted.allows(head.number, &head.hash)).map_err(fault)?;
    }
    may_end(noted, &head).map_err(|problem| Fault { line: count, problem })?;
    Ok(head)
}

/// A chain that cannot be added to.
pub(super) fn damaged(path: &Path, problem: impl Into<String>) -> AuditError {
    AuditError::Damaged { path: path.to_owned(), problem: problem.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::audit::AuditEvent;

    fn entry(seconds: u64) -> AuditEntry {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        AuditEntry::new(time, AuditEvent::Allowed, "c", "t", "s", "a.py")
    }

    fn chain() -> Vec<String> {
        let mut head = Head::default();
        (1..=4)
            .map(|second| {
                let (line, next) = head.next(&entry(second)).unwrap();
                head = next;
                line
            })
            .collect()
    }

    fn verified(lines: &[String]) -> Result<Head, Fault> {
        let noted = chain().last().map(|line| Noted::from(&Head::of(line).unwrap().0));
        verify(lines.iter().map(|line| Ok(line.as_str().into())), noted.as_ref())
    }

    #[test]
    fn a_whole_chain_is_verified_to_its_head() {
        let lines = chain();
        let head = verified(&lines).unwrap();
        assert_eq!((head.number, &head.hash), (4, &hash(&lines[3])));
    }

    #[test]
    fn a_line_that_was_changed_removed_added_or_moved_shows() {
        for index in 0..4 {
            let mut changed = chain();
            changed[index] = changed[index].replace("a.py", "b.py");
            assert!(verified(&changed).is_err(), "{index}");
        }
        for index in 0..4 {
            let mut removed = chain();
            removed.remove(index);
            assert_eq!(verified(&removed).unwrap_err().line, (index as u64 + 1).min(3));
        }
        let mut moved = chain();
        moved.swap(1, 2);
        assert!(verified(&moved).is_err());
        let mut added = chain();
        added.insert(2, added[1].clone());
        assert!(verified(&added).is_err());
        assert!(verified(&[]).is_err());
    }

    #[test]
    fn a_clock_that_goes_back_further_than_clocks_do_stops_the_chain() {
        let (_, head) = Head::default().next(&entry(100)).unwrap();
        let (_, later) = head.next(&entry(98)).unwrap();
        assert_eq!(later.time, head.time);
        assert!(matches!(head.next(&entry(97)), Err(AuditError::ClockWentBack { .. })));
    }
}

//! The end of a chain as it was noted beside it. A chain alone does not show that its last entries are missing.

use super::Head;

/// The number of an entry and the hash of its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Noted {
    pub number: u64,
    pub hash: String,
}

impl From<&Head> for Noted {
    fn from(head: &Head) -> Noted {
        Noted { number: head.number, hash: head.hash.clone() }
    }
}

impl Noted {
    /// Whether an entry of the chain is the one that was noted, as far as it is that one.
    pub fn allows(&self, number: u64, hash: &str) -> Result<(), String> {
        if number == self.number && hash != self.hash {
            return Err(format!("it is not the entry {number} that was written, whose hash was {}", self.hash));
        }
        Ok(())
    }
}

/// Whether a chain may end like this. A note is written after its entry, so after a crash it may be of an earlier one, but
/// never of a later.
pub(super) fn may_end(noted: Option<&Noted>, end: &Head) -> Result<(), String> {
    match noted {
        Some(noted) if noted.number > end.number => Err(format!(
            "it ends with entry {}, but entry {} was written: entries are missing at the end",
            end.number, noted.number
        )),
        Some(noted) => noted.allows(end.number, &end.hash),
        // A crash may come between the first entry and its note.
        None if end.number > 1 => Err(format!(
            "it ends with entry {}, and what notes its end is gone: whether entries are missing there cannot be told",
            end.number
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(number: u64, hash: &str) -> Head {
        Head { number, hash: hash.into(), ..Head::default() }
    }

    #[test]
    fn a_chain_may_end_with_what_was_noted_or_later_and_not_before_it() {
        let noted = Noted { number: 3, hash: "c".into() };
        assert_eq!(may_end(Some(&noted), &end(3, "c")), Ok(()));
        assert_eq!(may_end(Some(&noted), &end(4, "d")), Ok(()));
        assert!(may_end(Some(&noted), &end(3, "x")).unwrap_err().contains("not the entry 3"));
        assert!(may_end(Some(&noted), &end(2, "b")).unwrap_err().contains("entries are missing"));
    }

    #[test]
    fn a_note_is_missing_only_where_a_crash_can_have_prevented_it() {
        assert_eq!(may_end(None, &end(0, "")), Ok(()));
        assert_eq!(may_end(None, &end(1, "a")), Ok(()));
        assert!(may_end(None, &end(2, "b")).unwrap_err().contains("is gone"));
    }
}

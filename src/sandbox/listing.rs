//! A directory as the guest reads it, piece by piece.
//!
//! The engine's WASI lists the whole directory again for each piece and looks at each entry, so that reading one of
//! thousands of entries takes millions of looks. Here it is listed when the guest reads its beginning, and the pieces
//! that follow are of that listing, as those of an open directory are elsewhere.

/// The length of a directory entry before its name.
pub(super) const HEAD: usize = 24;

/// The longest name that file systems take.
pub(super) const LONGEST_NAME: usize = 255;

/// What was in a directory when the guest read its beginning.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The entries as the guest gets them, one behind the other.
    bytes: Vec<u8>,
    /// Where each entry begins.
    starts: Vec<usize>,
}

impl Listing {
    /// The entries that WASI wrote. What follows the last whole one is left out.
    pub fn new(mut bytes: Vec<u8>) -> Listing {
        let mut starts = Vec::new();
        let mut at = 0;
        while let Some(head) = bytes.get(at..at + HEAD) {
            let length = u32::from_le_bytes([head[16], head[17], head[18], head[19]]) as usize;
            if at + HEAD + length > bytes.len() {
                break;
            }
            starts.push(at);
            at += HEAD + length;
        }
        bytes.truncate(at);
        Listing { bytes, starts }
    }

    /// What fits into `length` bytes from the entry `cookie` on. The last one may be cut, which tells the guest that
    /// there is more.
    pub fn piece(&self, cookie: u64, length: usize) -> &[u8] {
        let start = usize::try_from(cookie).ok().and_then(|cookie| self.starts.get(cookie));
        let rest = &self.bytes[start.copied().unwrap_or(self.bytes.len())..];
        &rest[..rest.len().min(length)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Vec<u8> {
        let mut entry = vec![0; HEAD];
        entry[16] = name.len() as u8;
        entry.extend_from_slice(name.as_bytes());
        entry
    }

    #[test]
    fn a_piece_begins_at_its_entry_and_is_cut_where_there_is_no_more_room() {
        let (first, second) = (entry("."), entry("name"));
        let listing = Listing::new([first.clone(), second.clone(), second[..9].to_vec()].concat());
        assert_eq!(listing.piece(0, 30), [&first[..], &second[..5]].concat());
        assert_eq!(listing.piece(1, 28), second);
        for beyond in [2, 3, u64::MAX] {
            assert_eq!(listing.piece(beyond, 100), [0; 0]);
        }
    }
}

//! What a guest may put into its temporary directory: bytes and entries, counted as it goes.
//!
//! WASI has no disk quota, so each call that could make a file longer or a directory fuller asks here first. The
//! directory belongs to one call and only its guest changes it, so counting cannot be raced.

use std::collections::HashMap;

/// The counts, and what they may reach.
#[derive(Debug)]
pub(super) struct Quota {
    bytes: Count,
    entries: Count,
    /// Bytes written to files, in all.
    written: u64,
    touched: bool,
    /// The files that are open, by descriptor. A file that lost its last name still takes its bytes until its last
    /// descriptor is closed.
    open: HashMap<u32, FileId>,
    open_at_most: usize,
    most_open: usize,
    nameless: HashMap<FileId, u64>,
}

/// Identifies a file, whatever its names.
pub(super) type FileId = u64;

#[derive(Debug)]
struct Count {
    used: u64,
    /// The most that was used.
    peak: u64,
    limit: u64,
}

impl Count {
    fn of(limit: u64) -> Count {
        Count { used: 0, peak: 0, limit }
    }

    fn set(&mut self, used: u64) {
        self.used = used;
        self.peak = self.peak.max(used);
    }

    fn has_room_for(&self, more: u64) -> bool {
        more <= self.limit.saturating_sub(self.used)
    }
}

/// There is no room for what the guest wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Full;

impl Quota {
    pub fn new(bytes: u64, entries: u64, open_files: usize) -> Quota {
        Quota {
            bytes: Count::of(bytes),
            entries: Count::of(entries),
            written: 0,
            touched: false,
            open: HashMap::new(),
            open_at_most: open_files,
            most_open: 0,
            nameless: HashMap::new(),
        }
    }

    /// The host put something there before the guest started.
    pub fn placed(&mut self, entries: u64, bytes: u64) {
        self.touched |= entries > 0;
        self.entries.set(self.entries.used + entries);
        self.resized(0, bytes);
    }

    /// Whether a file may grow from `from` to `to` bytes.
    pub fn may_grow(&self, from: u64, to: u64) -> Result<(), Full> {
        if self.bytes.has_room_for(to.saturating_sub(from)) { Ok(()) } else { Err(Full) }
    }

    /// A file's length went from `from` to `to`.
    pub fn resized(&mut self, from: u64, to: u64) {
        self.bytes.set(self.bytes.used.saturating_sub(from).saturating_add(to));
    }

    /// How many files are open.
    pub fn open_files(&self) -> usize {
        self.open.len()
    }

    /// Bytes went to a file.
    pub fn wrote(&mut self, bytes: u64) {
        self.written += bytes;
    }

    /// Whether one more name may be made, for something that takes this many bytes at once.
    pub fn may_create(&self, bytes: u64) -> Result<(), Full> {
        if self.entries.has_room_for(1) && self.bytes.has_room_for(bytes) { Ok(()) } else { Err(Full) }
    }

    /// A name was made.
    pub fn created(&mut self) {
        self.touched = true;
        self.entries.set(self.entries.used + 1);
    }

    /// A name was removed. `last` is the file and its length if it was the file's last name.
    pub fn removed(&mut self, last: Option<(FileId, u64)>) {
        self.touched = true;
        self.entries.set(self.entries.used.saturating_sub(1));
        if let Some((file, length)) = last {
            if self.open.values().any(|open| *open == file) {
                self.nameless.insert(file, length);
            } else {
                self.resized(length, 0);
            }
        }
    }

    /// A name, a time or something else of the directory was changed that is not counted.
    pub fn touch(&mut self) {
        self.touched = true;
    }

    /// Whether anything in the directory was ever changed.
    pub fn touched(&self) -> bool {
        self.touched
    }

    /// Whether one more descriptor may be opened.
    pub fn may_open(&self) -> Result<(), Full> {
        if self.open.len() < self.open_at_most { Ok(()) } else { Err(Full) }
    }

    /// A descriptor was opened.
    pub fn opened(&mut self, descriptor: u32, file: FileId) {
        self.open.insert(descriptor, file);
        self.most_open = self.most_open.max(self.open.len());
    }

    /// The file behind a descriptor, if it was opened by the guest.
    pub fn file(&self, descriptor: u32) -> Option<FileId> {
        self.open.get(&descriptor).copied()
    }

    /// A descriptor was closed; `length` is the file's length just before.
    pub fn closed(&mut self, descriptor: u32, length: u64) {
        let Some(file) = self.open.remove(&descriptor) else { return };
        if !self.open.values().any(|open| *open == file) && self.nameless.remove(&file).is_some() {
            self.resized(length, 0);
        }
    }

    /// A descriptor got another number. What had that number was closed before.
    pub fn renumbered(&mut self, from: u32, to: u32) {
        if let Some(file) = self.open.remove(&from) {
            self.open.insert(to, file);
        }
    }

    /// The entries there are.
    pub fn entries(&self) -> u64 {
        self.entries.used
    }

    /// Bytes written to files, in all.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The most bytes and entries that there were, and the most files that were open.
    pub fn peaks(&self) -> (u64, u64, u64) {
        (self.bytes.peak, self.entries.peak, self.most_open as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_up_to_the_limit_and_freed_with_the_last_name() {
        let mut quota = Quota::new(10, 2, 2);
        assert_eq!(quota.may_grow(0, 10), Ok(()));
        assert_eq!(quota.may_grow(0, 11), Err(Full));
        quota.resized(0, 10);
        assert_eq!(quota.may_grow(10, 11), Err(Full));
        quota.created();
        quota.removed(Some((7, 10)));
        assert_eq!(quota.may_grow(0, 10), Ok(()));
    }

    #[test]
    fn a_file_without_a_name_takes_its_bytes_until_it_is_closed() {
        let mut quota = Quota::new(10, 2, 4);
        quota.created();
        quota.opened(5, 7);
        quota.opened(6, 7);
        quota.resized(0, 10);
        quota.removed(Some((7, 10)));
        quota.closed(5, 10);
        assert_eq!(quota.may_grow(0, 1), Err(Full));
        quota.renumbered(6, 9);
        quota.closed(9, 10);
        assert_eq!(quota.may_grow(0, 10), Ok(()));
    }

    #[test]
    fn entries_and_descriptors_have_limits_of_their_own() {
        let mut quota = Quota::new(10, 1, 1);
        assert_eq!(quota.may_create(0), Ok(()));
        quota.created();
        assert_eq!(quota.may_create(0), Err(Full));
        quota.removed(None);
        assert_eq!(quota.may_create(0), Ok(()));
        quota.opened(4, 1);
        assert_eq!(quota.may_open(), Err(Full));
        quota.closed(4, 0);
        assert_eq!(quota.may_open(), Ok(()));
    }
}

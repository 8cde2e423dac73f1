//! How deep the guest's folders lie inside each other.
//!
//! A guest can make a folder below any folder it has open and move it anywhere later, so its path says nothing. Which
//! folder holds which is written down here instead; only the call's own guest changes it.

use std::collections::HashMap;

use super::quota::FileId;

/// The folders that a call made or was given, each with the one that holds it.
#[derive(Debug)]
pub(super) struct Tree {
    holders: HashMap<FileId, FileId>,
    limit: usize,
    deepest: usize,
}

/// A folder would lie deeper than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooDeep;

impl Tree {
    pub fn new(limit: usize) -> Tree {
        Tree { holders: HashMap::new(), limit, deepest: 0 }
    }

    /// The folders from the top down to this one, itself included. The top itself is not known here, and has none.
    fn depth(&self, folder: FileId) -> usize {
        std::iter::successors(self.holders.get(&folder), |holder| self.holders.get(holder)).count()
    }

    /// Whether a folder may be made in this one.
    pub fn may_make(&self, holder: FileId) -> Result<(), TooDeep> {
        if self.depth(holder) < self.limit { Ok(()) } else { Err(TooDeep) }
    }

    /// A folder was made.
    pub fn made(&mut self, folder: FileId, holder: FileId) {
        self.holders.insert(folder, holder);
        self.deepest = self.deepest.max(self.depth(folder));
    }

    /// Whether a folder may be moved to this one, with all that lies in it.
    pub fn may_move(&self, folder: FileId, holder: FileId) -> Result<(), TooDeep> {
        let depth = self.depth(holder);
        // One that goes no deeper takes nothing deeper, and most moves are such.
        if depth < self.depth(folder) || depth + self.height(folder) <= self.limit { Ok(()) } else { Err(TooDeep) }
    }

    /// A folder was moved to this one.
    pub fn moved(&mut self, folder: FileId, holder: FileId) {
        let was = self.depth(folder);
        self.made(folder, holder);
        let depth = self.depth(folder);
        if depth > was {
            self.deepest = self.deepest.max(depth - 1 + self.height(folder));
        }
    }

    /// The folders on the longest way down from this one, itself included.
    fn height(&self, folder: FileId) -> usize {
        let mut inside: HashMap<FileId, Vec<FileId>> = HashMap::new();
        for (inner, holder) in &self.holders {
            inside.entry(*holder).or_default().push(*inner);
        }
        let (mut level, mut height) = (vec![folder], 0);
        while !level.is_empty() {
            height += 1;
            level = level.iter().flat_map(|folder| inside.remove(folder).unwrap_or_default()).collect();
        }
        height
    }

    /// A folder was removed.
    pub fn removed(&mut self, folder: FileId) {
        self.holders.remove(&folder);
    }

    /// The most folders that lay inside each other.
    pub fn deepest(&self) -> usize {
        self.deepest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP: FileId = 0;

    #[test]
    fn folders_may_lie_as_deep_as_the_limit_and_no_deeper() {
        let mut tree = Tree::new(2);
        assert_eq!(tree.may_make(TOP), Ok(()));
        tree.made(1, TOP);
        assert_eq!(tree.may_make(1), Ok(()));
        tree.made(2, 1);
        assert_eq!((tree.may_make(2), tree.deepest()), (Err(TooDeep), 2));
        assert_eq!(Tree::new(0).may_make(TOP), Err(TooDeep));
    }

    #[test]
    fn a_folder_takes_what_lies_in_it_along_when_it_is_moved() {
        let mut tree = Tree::new(3);
        for (folder, holder) in [(1, TOP), (2, 1), (3, TOP), (4, 3)] {
            tree.made(folder, holder);
        }
        assert_eq!(tree.may_move(1, 3), Ok(()));
        assert_eq!(tree.may_move(1, 4), Err(TooDeep));
        tree.moved(1, 3);
        assert_eq!((tree.deepest(), tree.may_make(2)), (3, Err(TooDeep)));
        // Back to the top, which is never too deep.
        assert_eq!(tree.may_move(1, TOP), Ok(()));
        tree.moved(1, TOP);
        assert_eq!(tree.may_make(2), Ok(()));
    }

    #[test]
    fn a_folder_that_was_removed_holds_nothing_and_takes_no_depth() {
        let mut tree = Tree::new(2);
        tree.made(1, TOP);
        tree.made(2, 1);
        tree.removed(2);
        assert_eq!(tree.may_move(1, TOP), Ok(()));
        assert_eq!(tree.height(1), 1);
    }
}

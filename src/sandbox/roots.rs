//! Which folder of the host each of a guest's descriptors came from.
//!
//! The engine checks each directory of a call by itself, and two of the guest's descriptors may lie in different ones. What
//! is moved or linked from one to the other would pass by what is counted, or outlive the call, so it is refused, as between
//! two file systems.

use std::collections::HashMap;

use wasmtime_wasi::p1::types::Fd;

/// The descriptors that are open, each with its root.
#[derive(Debug, Default)]
pub(super) struct Roots(HashMap<u32, Root>);

/// A directory that the call was given, named by its first descriptor.
type Root = u32;

impl Roots {
    /// The call was given this directory, of which `root` is the first descriptor.
    pub fn given(&mut self, descriptor: u32, root: Root) {
        self.0.insert(descriptor, root);
    }

    /// A descriptor was opened from another.
    pub fn opened(&mut self, descriptor: Fd, from: Fd) {
        match self.of(from) {
            Some(root) => self.0.insert(descriptor.into(), root),
            None => self.0.remove(&descriptor.into()),
        };
    }

    /// A descriptor was closed.
    pub fn closed(&mut self, descriptor: Fd) {
        self.0.remove(&descriptor.into());
    }

    /// A descriptor got another number. What had that number was closed.
    pub fn renumbered(&mut self, from: Fd, to: Fd) {
        if u32::from(from) == u32::from(to) {
            return;
        }
        self.closed(to);
        if let Some(root) = self.0.remove(&from.into()) {
            self.0.insert(to.into(), root);
        }
    }

    /// The root of a descriptor, if it is of a directory or a file.
    pub fn of(&self, descriptor: Fd) -> Option<Root> {
        self.0.get(&descriptor.into()).copied()
    }

    /// Whether two descriptors are known to be of different roots. What is none the engine refuses.
    pub fn differ(&self, [one, other]: [Fd; 2]) -> bool {
        matches!((self.of(one), self.of(other)), (Some(one), Some(other)) if one != other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fds(one: u32, other: u32) -> [Fd; 2] {
        [one.into(), other.into()]
    }

    #[test]
    fn a_descriptor_keeps_its_root_through_every_number_it_gets_and_loses_it_when_it_is_closed() {
        let mut roots = Roots::default();
        for (descriptor, root) in [(3, 3), (4, 4), (5, 4)] {
            roots.given(descriptor, root);
        }
        assert!(roots.differ(fds(3, 4)) && !roots.differ(fds(4, 5)));
        roots.opened(6.into(), 3.into());
        roots.opened(7.into(), 6.into());
        assert!(roots.differ(fds(7, 5)) && !roots.differ(fds(7, 3)));
        // Onto one of the other root, and onto itself.
        roots.renumbered(7.into(), 4.into());
        roots.renumbered(4.into(), 4.into());
        assert!(roots.differ(fds(4, 5)) && !roots.differ(fds(4, 3)));
        assert_eq!(roots.of(7.into()), None);
        roots.closed(4.into());
        roots.opened(4.into(), 5.into());
        assert!(!roots.differ(fds(4, 5)));
        // A stream, and one that is not there.
        roots.renumbered(1.into(), 4.into());
        assert_eq!(roots.of(4.into()), None);
        assert!(!roots.differ(fds(4, 9)));
    }
}

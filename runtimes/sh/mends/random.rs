//! Random numbers that are each call's own, though all calls start from one image.

use std::sync::atomic::Ordering;

use super::Interpreter;

/// The state of a shell that has given no random number yet.
pub(super) const UNSEEDED: u32 = 0;

impl Interpreter {
    /// What `$RANDOM` goes on from.
    pub(super) fn seeded_random_state(&self) -> u32 {
        let state = self.random_state.load(Ordering::Relaxed);
        if state != UNSEEDED {
            return state;
        }
        let seed = entropy() as u32 | 1;
        self.random_state.store(seed, Ordering::Relaxed);
        seed
    }
}

/// 64 bits of the system's.
pub(crate) fn entropy() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the host answers every such request");
    u64::from_le_bytes(bytes)
}

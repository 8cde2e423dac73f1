//! Slots: a memory image mapped copy-on-write at the start of a reserved range, reset after each call by undoing only
//! what the call wrote.
//!
//! This folder holds all the `unsafe` of the crate: the mappings ([`map`]), the slots that hand them to the engine
//! ([`slot`], [`pool`]), the stacks guests run on ([`stack`]) and the one call that loads compiled code ([`code`]).
//!
//! The data flows one way: an [`ImageFile`] is what a slot starts from; a [`SlotPool`] keeps the slots of one image
//! and is the engine's `MemoryCreator`; a [`slot::Slot`] is one call's linear memory and goes back to its pool, equal
//! to the image again, when the store is dropped.
#![allow(unsafe_code, reason = "this is the crate's one home of unsafe code")]

mod code;
mod faults;
mod map;
mod pool;
mod scan;
mod slot;
mod stack;

pub(crate) use code::load_code;
pub(crate) use pool::{Creator, SlotPool};
pub(crate) use slot::ImageFile;
pub use slot::Reset;
pub(crate) use stack::{StackPool, Stacks};

/// The address space a linear memory reserves: all that a 32-bit memory can address, so that it never moves and
/// compiled code needs no bounds checks.
pub(crate) const RESERVED_BYTES: u64 = 4 << 30;

/// The range behind the reservation that always faults: a constant offset in an access is added without a check.
pub(crate) const GUARD_BYTES: u64 = 32 << 20;

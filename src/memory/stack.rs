//! The stacks that guests run on, kept from call to call.
//!
//! A guest runs on a stack of its own so that it can be set aside while it sleeps. Mapping one takes longer than many
//! a call does, so they are pooled. What a guest left there is native frames of compiled code: no later guest can
//! address them, since WebAssembly has no access to the stack it runs on.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::{StackCreator, StackMemory};

use super::faults::Faults;
use super::map::{Reservation, page_size};

/// The stacks of one engine.
pub(crate) struct StackPool {
    idle: Mutex<Vec<Stack>>,
    keep: usize,
}

impl StackPool {
    /// A pool that keeps at most `keep` stacks for later.
    pub fn new(keep: usize) -> Arc<StackPool> {
        Arc::new(StackPool { idle: Mutex::default(), keep })
    }
}

/// What an engine with this pool asks when it needs a stack.
pub(crate) struct Stacks(pub Arc<StackPool>);

// SAFETY: each stack is page-aligned and has an inaccessible page below it. It is zero-filled when new; a stack that
// is used again is not zeroed, which is why engines with this pool do not ask for zeroing.
unsafe impl StackCreator for Stacks {
    fn new_stack(&self, size: usize, _zeroed: bool) -> Result<Box<dyn StackMemory>, wasmtime::Error> {
        let idle = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let stack = match idle {
            // One engine asks for one size; a stack of another size would be a mistake of this crate.
            Some(stack) if stack.size() >= size => stack,
            _ => Stack::new(size)?,
        };
        Ok(Box::new(Lent { pool: self.0.clone(), stack: Some(stack), faults: Faults::so_far() }))
    }
}

struct Stack {
    reservation: Reservation,
}

/// How much of a stack stays resident while it is idle. What lies deeper is given back to the system: one call's deep
/// recursion must not be kept in memory for good.
#[cfg(target_os = "linux")]
const RESIDENT: usize = 256 << 10;

impl Stack {
    fn new(size: usize) -> Result<Stack, wasmtime::Error> {
        let page = page_size();
        let size = size.next_multiple_of(page);
        let mut reservation = Reservation::new(size + page)?;
        reservation.commit(page..page + size)?;
        Ok(Stack { reservation })
    }

    fn size(&self) -> usize {
        self.reservation.len() - page_size()
    }

    fn top(&self) -> *mut u8 {
        self.reservation.base().wrapping_add(self.reservation.len())
    }

    #[cfg(target_os = "linux")]
    fn trim(&self) {
        let deep = self.size().saturating_sub(RESIDENT) / page_size() * page_size();
        let base = self.reservation.base().wrapping_add(page_size());
        // SAFETY: the range lies inside the stack, which nobody runs on; its pages read as zero afterwards. An error
        // leaves them resident, which is harmless.
        let _ = unsafe { rustix::mm::madvise(base.cast(), deep, rustix::mm::Advice::LinuxDontNeed) };
    }

    #[cfg(not(target_os = "linux"))]
    fn trim(&self) {}
}

/// A stack in use.
struct Lent {
    pool: Arc<StackPool>,
    /// Always there until the drop takes it.
    stack: Option<Stack>,
    /// The page faults when it was lent.
    faults: Option<Faults>,
}

impl Lent {
    fn stack(&self) -> &Stack {
        self.stack.as_ref().expect("a lent stack is there until it is dropped")
    }
}

// SAFETY: `top` is page-aligned, the range below it down to the guard page is accessible, and the stack is owned by
// this value until it is dropped.
unsafe impl StackMemory for Lent {
    fn top(&self) -> *mut u8 {
        self.stack().top()
    }

    fn range(&self) -> Range<usize> {
        let top = self.stack().top() as usize;
        top - self.stack().size()..top
    }

    fn guard_range(&self) -> Range<*mut u8> {
        let base = self.stack().reservation.base();
        base..base.wrapping_add(page_size())
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let Some(stack) = self.stack.take() else { return };
        // Without a fault it takes no more memory than it did before.
        if !Faults::none_since(self.faults) {
            stack.trim();
        }
        let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < self.pool.keep {
            idle.push(stack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_comes_back_to_its_pool_and_is_used_again() {
        let pool = StackPool::new(1);
        let creator = Stacks(pool.clone());
        let first = creator.new_stack(1 << 20, false).unwrap();
        let top = first.top();
        drop(first);
        assert_eq!(pool.idle.lock().unwrap().len(), 1);
        assert_eq!(creator.new_stack(1 << 20, false).unwrap().top(), top);
    }

    #[test]
    fn a_pool_keeps_no_more_stacks_than_it_was_told() {
        let pool = StackPool::new(1);
        let creator = Stacks(pool.clone());
        drop([creator.new_stack(1 << 16, false).unwrap(), creator.new_stack(1 << 16, false).unwrap()]);
        assert_eq!(pool.idle.lock().unwrap().len(), 1);
    }

    #[test]
    fn the_whole_stack_can_be_written_and_the_guard_lies_below_it() {
        let stack = Stacks(StackPool::new(0)).new_stack(1 << 16, false).unwrap();
        let range = stack.range();
        assert_eq!(range.len(), 1 << 16);
        assert_eq!(stack.guard_range().end as usize, range.start);
        // SAFETY: the range is the stack's own accessible memory.
        unsafe { std::slice::from_raw_parts_mut(range.start as *mut u8, range.len()) }.fill(1);
    }
}

//! The page faults of this process: a page that nobody faulted on is as it was.
//!
//! The first write to a page of a private mapping, and the first touch of any page, is a fault that the kernel counts.
//! Where the count has not changed there is nothing new to look for, and the system need not be asked what it is.

/// A reading of the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Faults(u64);

impl Faults {
    /// The faults of all threads so far. `None` where the system does not count them, which equals no reading.
    pub fn so_far() -> Option<Faults> {
        os::counted().then(os::faults)
    }

    /// Whether no thread of the process has faulted since `earlier`.
    pub fn none_since(earlier: Option<Faults>) -> bool {
        earlier.is_some() && earlier == Faults::so_far()
    }
}

#[cfg(target_os = "linux")]
mod os {
    use super::Faults;
    use crate::memory::map::{Reservation, page_size};
    use std::sync::LazyLock;

    pub fn faults() -> Faults {
        // SAFETY: all zeros is a valid `rusage`, and the call writes no further than its end.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            // It cannot fail: the target is valid and so is the pointer.
            libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
            usage
        };
        Faults((usage.ru_minflt as u64).wrapping_add(usage.ru_majflt as u64))
    }

    /// Tried, not assumed: some systems that pass for Linux leave the fields at zero.
    pub fn counted() -> bool {
        static COUNTED: LazyLock<bool> = LazyLock::new(|| {
            let page = page_size();
            let Ok(mut reservation) = Reservation::new(page) else { return false };
            if reservation.commit(0..page).is_err() {
                return false;
            }
            let before = faults();
            // SAFETY: the page was just made writable and belongs to the reservation.
            unsafe { reservation.base().write_volatile(1) };
            faults() != before
        });
        *COUNTED
    }
}

#[cfg(not(target_os = "linux"))]
mod os {
    use super::Faults;

    pub fn faults() -> Faults {
        Faults(0)
    }

    pub fn counted() -> bool {
        false
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::memory::map::{Reservation, page_size};

    #[test]
    fn the_first_write_to_a_page_is_counted() {
        let page = page_size();
        let mut reservation = Reservation::new(page).unwrap();
        reservation.commit(0..page).unwrap();
        let before = Faults::so_far();
        assert!(before.is_some(), "this system counts no page faults");
        // SAFETY: the page was just committed.
        unsafe { reservation.base().write_volatile(1) };
        assert!(!Faults::none_since(before));
    }

    #[test]
    fn no_reading_is_never_taken_for_no_fault() {
        assert!(!Faults::none_since(None));
    }
}

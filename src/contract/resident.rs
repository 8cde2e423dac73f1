//! How much memory this process holds, and how that grew.

/// Resident bytes of this process. `None` where the system does not say it in `/proc`.
pub fn bytes() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_bytes()?)
}

#[cfg(unix)]
fn page_bytes() -> Option<u64> {
    u64::try_from(rustix::param::page_size()).ok()
}

#[cfg(not(unix))]
fn page_bytes() -> Option<u64> {
    None
}

/// The most that the process held more than at the start, looked at now and then.
#[derive(Debug)]
pub struct Growth {
    before: Option<u64>,
    most: u64,
}

impl Growth {
    pub fn new() -> Growth {
        Growth { before: bytes(), most: 0 }
    }

    pub fn look(&mut self) {
        if let (Some(before), Some(now)) = (self.before, bytes()) {
            self.most = self.most.max(now.saturating_sub(before));
        }
    }

    pub fn most(&self) -> u64 {
        self.most
    }
}

//! Permission bits, which WASI's files do not have: remembered for as long as the call lasts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The bits that a script has set, by path.
#[derive(Default)]
pub struct Modes(Mutex<BTreeMap<PathBuf, u32>>);

impl Modes {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bits of a path, where a script has set any.
    pub fn get(&self, path: &Path) -> Option<u32> {
        self.lock().get(path).copied()
    }

    pub fn set(&self, path: &Path, mode: u32) {
        self.lock().insert(path.to_owned(), mode);
    }

    /// What was at `path`, and below it, is gone.
    pub fn removed(&self, path: &Path) {
        self.lock().retain(|known, _| !known.starts_with(path));
    }

    /// What was at `from`, and below it, is now at `to`.
    pub fn renamed(&self, from: &Path, to: &Path) {
        let mut modes = self.lock();
        modes.retain(|known, _| !known.starts_with(to));
        let moved: Vec<_> = modes.keys().filter(|known| known.starts_with(from)).cloned().collect();
        for path in moved {
            if let (Some(mode), Ok(rest)) = (modes.remove(&path), path.strip_prefix(from)) {
                let place = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
                modes.insert(place, mode);
            }
        }
    }
}

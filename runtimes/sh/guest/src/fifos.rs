//! Named pipes, which WASI's files do not have: a file whose reader waits until something was written, and takes it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a reader sleeps before it looks again.
const PAUSE: Duration = Duration::from_millis(1);

/// The named pipes that a script has made.
#[derive(Default)]
pub struct Fifos(Mutex<BTreeSet<PathBuf>>);

impl Fifos {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, path: &Path) {
        self.lock().insert(path.to_owned());
    }

    pub fn has(&self, path: &Path) -> bool {
        self.lock().contains(path)
    }

    /// What was at `path`, and below it, is gone.
    pub fn removed(&self, path: &Path) {
        self.lock().retain(|known| !known.starts_with(path));
    }

    /// What was written so far, when there is something. What else runs goes on meanwhile.
    pub async fn take(&self, path: &Path) -> std::io::Result<Vec<u8>> {
        loop {
            let bytes = std::fs::read(path)?;
            if !bytes.is_empty() {
                std::fs::write(path, b"")?;
                return Ok(bytes);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

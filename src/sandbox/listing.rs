//! A directory as the guest reads it, piece by piece.
//!
//! The engine's WASI lists the whole directory again for each piece and looks at each entry, so that reading one of
//! thousands of entries takes millions of looks. Here it is listed when the guest reads its beginning, and the pieces
//! that follow are of that listing, as those of an open directory are elsewhere.
//!
//! Listing looks at each entry and cannot be given up on the way. Where there may be many, it is done on a thread for
//! blocking work, so that the call's own thread is there when a timeout is due.

use std::mem;
use std::sync::LazyLock;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use wasmtime_wasi::WasiCtxBuilder;
use wasmtime_wasi::p1::WasiP1Ctx;
use wasmtime_wasi::p1::types::{Errno, Error, Fd};
use wasmtime_wasi::p1::wasi_snapshot_preview1::WasiSnapshotPreview1;
use wiggle::{GuestMemory, GuestPtr};

use super::caught::elsewhere;
use super::wasi::{Guarded, Result};

/// The length of a directory entry before its name.
const HEAD: usize = 24;

/// Few names are longer, and where many are, the directory is listed once more. Room for the longest would be megabytes,
/// which the allocator keeps for each thread that listed.
const USUAL_NAME: usize = 40;

/// As many are listed elsewhere at once as there are cores. More would take no less time, and each thread that ever did it
/// keeps memory for the next.
static PLACES: LazyLock<Semaphore> = LazyLock::new(|| {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Semaphore::new(cores)
});

/// A directory of fewer entries is listed in less time than it takes to hand it to another thread and back.
const FEW: u64 = 64;

impl Guarded {
    /// All that is in a directory.
    pub(super) async fn list(&mut self, fd: Fd) -> Result<Listing> {
        // How many entries the call's own directory holds is known; the runtime's are few; a host's folder is anything.
        let entries = self.quota.entries();
        if entries < FEW && !self.sees_host_folders {
            return list(&mut self.inner, fd, entries).await;
        }
        let place = PLACES.acquire().await.map_err(|closed| Error::trap(wasmtime::Error::msg(closed.to_string())))?;
        let nothing = WasiCtxBuilder::new().build_p1();
        let mut inner = mem::replace(&mut self.inner, nothing);
        let host = Handle::current();
        let listed = elsewhere(move || {
            let listing = host.block_on(list(&mut inner, fd, entries));
            drop(place);
            (inner, listing)
        });
        // Without it there is no context to go on with: the call ends with what went wrong.
        let (inner, listing) = listed.await.map_err(|problem| Error::trap(wasmtime::Error::msg(problem)))?;
        self.inner = inner;
        listing
    }
}

/// All that is in a directory of perhaps so many entries.
async fn list(context: &mut WasiP1Ctx, fd: Fd, entries: u64) -> Result<Listing> {
    let entry = HEAD + USUAL_NAME;
    let mut length = (entries as usize).saturating_add(3).saturating_mul(entry).clamp(4096, 8 << 20);
    loop {
        let mut bytes = vec![0; length];
        let mut memory = GuestMemory::Unshared(&mut bytes);
        let size = u32::try_from(length).map_err(|_| Errno::Overflow)?;
        let found = context.fd_readdir(&mut memory, fd, GuestPtr::new(0), size, 0).await?;
        if found < size {
            bytes.truncate(found as usize);
            bytes.shrink_to_fit();
            return Ok(Listing::new(bytes));
        }
        length = length.saturating_mul(4);
    }
}

/// What was in a directory when the guest read its beginning.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// The entries as the guest gets them, one behind the other.
    bytes: Vec<u8>,
    /// Where each entry begins.
    starts: Vec<usize>,
}

impl Listing {
    /// The entries that WASI wrote. What follows the last whole one is left out.
    pub fn new(mut bytes: Vec<u8>) -> Listing {
        let mut starts = Vec::new();
        let mut at = 0;
        while let Some(head) = bytes.get(at..at + HEAD) {
            let length = u32::from_le_bytes([head[16], head[17], head[18], head[19]]) as usize;
            if at + HEAD + length > bytes.len() {
                break;
            }
            starts.push(at);
            at += HEAD + length;
        }
        bytes.truncate(at);
        Listing { bytes, starts }
    }

    /// What fits into `length` bytes from the entry `cookie` on. The last one may be cut, which tells the guest that
    /// there is more.
    pub fn piece(&self, cookie: u64, length: usize) -> &[u8] {
        let start = usize::try_from(cookie).ok().and_then(|cookie| self.starts.get(cookie));
        let rest = &self.bytes[start.copied().unwrap_or(self.bytes.len())..];
        &rest[..rest.len().min(length)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Vec<u8> {
        let mut entry = vec![0; HEAD];
        entry[16] = name.len() as u8;
        entry.extend_from_slice(name.as_bytes());
        entry
    }

    #[test]
    fn a_piece_begins_at_its_entry_and_is_cut_where_there_is_no_more_room() {
        let (first, second) = (entry("."), entry("name"));
        let listing = Listing::new([first.clone(), second.clone(), second[..9].to_vec()].concat());
        assert_eq!(listing.piece(0, 30), [&first[..], &second[..5]].concat());
        assert_eq!(listing.piece(1, 28), second);
        for beyond in [2, 3, u64::MAX] {
            assert_eq!(listing.piece(beyond, 100), [0; 0]);
        }
    }
}

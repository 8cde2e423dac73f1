//! The operating system's part: reserving address space, laying a file over it, giving pages back.
//!
//! One type for all systems, [`Reservation`]; what differs is in `unix` and `windows` below it. Everything is in whole
//! pages of the system.

use std::fs::File;
use std::io;
use std::ops::Range;

#[cfg(unix)]
use unix as os;
#[cfg(windows)]
use windows as os;

pub(super) use os::page_size;

/// A range of address space that belongs to this process and faults until parts of it are made accessible.
pub(super) struct Reservation {
    base: *mut u8,
    len: usize,
}

// SAFETY: a reservation is plain memory that is owned by this value alone; nothing about it is tied to a thread.
unsafe impl Send for Reservation {}
// SAFETY: through a shared reference only `base` and `len` can be read.
unsafe impl Sync for Reservation {}

impl Reservation {
    /// Reserves `len` bytes, rounded up to whole pages, without access to any.
    pub fn new(len: usize) -> io::Result<Reservation> {
        let len = len
            .max(1)
            .checked_next_multiple_of(page_size())
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Reservation { base: os::reserve(len)?, len })
    }

    pub fn base(&self) -> *mut u8 {
        self.base
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// Lays the first `len` bytes of `file` over the start of the range, private to this mapping: what is written there
    /// never reaches the file. Whatever was there before is gone.
    #[cfg(unix)]
    pub fn map_private(&mut self, file: &File, len: usize) -> io::Result<()> {
        let range = self.checked(0..len)?;
        os::map_private(self.base, range.len(), file)
    }

    /// Makes `range` readable and writable. Pages that were not accessible before read as zero.
    pub fn commit(&mut self, range: Range<usize>) -> io::Result<()> {
        let range = self.checked(range)?;
        if range.is_empty() {
            return Ok(());
        }
        // SAFETY: `checked` keeps the range inside this reservation.
        os::commit(unsafe { self.base.add(range.start) }, range.len())
    }

    /// Gives the pages of `range` back: their content is gone and every access faults.
    pub fn release(&mut self, range: Range<usize>) -> io::Result<()> {
        let range = self.checked(range)?;
        if range.is_empty() {
            return Ok(());
        }
        // SAFETY: `checked` keeps the range inside this reservation.
        os::release(unsafe { self.base.add(range.start) }, range.len())
    }

    /// The range rounded outwards to whole pages, refused when it leaves the reservation.
    fn checked(&self, range: Range<usize>) -> io::Result<Range<usize>> {
        let page = page_size();
        let start = range.start / page * page;
        let end = range.end.checked_next_multiple_of(page).unwrap_or(usize::MAX);
        if range.start > range.end || end > self.len {
            let text = format!("bytes {range:?} of a reservation of {} bytes", self.len);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        Ok(start..end)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the range was reserved by `new` with this length and is not used after this.
        unsafe { os::unreserve(self.base, self.len) }
    }
}

/// A file's content, readable through memory for as long as the value lives.
pub(super) struct ReadOnly {
    base: *const u8,
    len: usize,
}

// SAFETY: the memory is only read.
unsafe impl Send for ReadOnly {}
// SAFETY: the memory is only read.
unsafe impl Sync for ReadOnly {}

impl ReadOnly {
    /// Maps the first `len` bytes of `file`, rounded up to whole pages (zeros past the file's end).
    pub fn new(file: &File, len: usize) -> io::Result<ReadOnly> {
        Ok(ReadOnly { base: os::map_read_only(file, len)?, len })
    }

    pub fn as_slice(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: `new` mapped `len` readable bytes. Nobody writes the file: it lies in a folder that only this user
        // can write, under a name made of its digest, and is replaced, never changed, by an install.
        unsafe { std::slice::from_raw_parts(self.base, self.len) }
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, not used after this.
        unsafe { os::unmap_read_only(self.base, self.len) }
    }
}

#[cfg(unix)]
mod unix {
    use super::*;
    use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};
    use std::ptr;

    pub fn page_size() -> usize {
        rustix::param::page_size()
    }

    // On Linux the range is not counted against the overcommit limit until it is used.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const UNCOUNTED: MapFlags = MapFlags::NORESERVE;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const UNCOUNTED: MapFlags = MapFlags::empty();

    pub fn reserve(len: usize) -> io::Result<*mut u8> {
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let base = unsafe {
            rustix::mm::mmap_anonymous(ptr::null_mut(), len, ProtFlags::empty(), MapFlags::PRIVATE | UNCOUNTED)
        }?;
        Ok(base.cast())
    }

    pub fn map_private(base: *mut u8, len: usize, file: &File) -> io::Result<()> {
        if len == 0 {
            return Ok(());
        }
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the caller owns `base..base + len`, so replacing its pages harms nobody else.
        unsafe {
            rustix::mm::mmap(base.cast(), len, protection, MapFlags::PRIVATE | MapFlags::FIXED | UNCOUNTED, file, 0)
        }?;
        Ok(())
    }

    pub fn commit(base: *mut u8, len: usize) -> io::Result<()> {
        // SAFETY: the caller owns the range.
        unsafe { rustix::mm::mprotect(base.cast(), len, MprotectFlags::READ | MprotectFlags::WRITE) }?;
        Ok(())
    }

    pub fn release(base: *mut u8, len: usize) -> io::Result<()> {
        // A new mapping over the old one: unlike advice to the kernel, it is certain to drop the content.
        // SAFETY: the caller owns the range.
        unsafe {
            rustix::mm::mmap_anonymous(
                base.cast(),
                len,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::FIXED | UNCOUNTED,
            )
        }?;
        Ok(())
    }

    pub unsafe fn unreserve(base: *mut u8, len: usize) {
        // SAFETY: the caller's promise. A failure leaves address space reserved, which harms nobody.
        let _ = unsafe { rustix::mm::munmap(base.cast(), len) };
    }

    pub fn map_read_only(file: &File, len: usize) -> io::Result<*const u8> {
        if len == 0 {
            return Ok(ptr::null());
        }
        // SAFETY: a new mapping at an address of the kernel's choice touches no existing memory.
        let base = unsafe { rustix::mm::mmap(ptr::null_mut(), len, ProtFlags::READ, MapFlags::SHARED, file, 0) }?;
        Ok(base.cast::<u8>().cast_const())
    }

    pub unsafe fn unmap_read_only(base: *const u8, len: usize) {
        if len > 0 {
            // SAFETY: the caller's promise.
            let _ = unsafe { rustix::mm::munmap(base.cast_mut().cast(), len) };
        }
    }
}

#[cfg(windows)]
mod windows {
    use super::*;
    use std::io::{Read, Seek};
    use std::ptr;
    use windows_sys::Win32::System::Memory::{
        MEM_COMMIT, MEM_DECOMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_NOACCESS, PAGE_READWRITE, VirtualAlloc, VirtualFree,
    };
    use windows_sys::Win32::System::SystemInformation::{GetSystemInfo, SYSTEM_INFO};

    pub fn page_size() -> usize {
        // SAFETY: all zeros is a valid SYSTEM_INFO, and the call only writes to it.
        let info = unsafe {
            let mut info: SYSTEM_INFO = std::mem::zeroed();
            GetSystemInfo(&mut info);
            info
        };
        info.dwPageSize as usize
    }

    pub fn reserve(len: usize) -> io::Result<*mut u8> {
        // SAFETY: a new reservation at an address of the system's choice touches no existing memory.
        non_null(unsafe { VirtualAlloc(ptr::null(), len, MEM_RESERVE, PAGE_NOACCESS) })
    }

    pub fn commit(base: *mut u8, len: usize) -> io::Result<()> {
        // SAFETY: the caller owns the range.
        non_null(unsafe { VirtualAlloc(base.cast(), len, MEM_COMMIT, PAGE_READWRITE) })?;
        Ok(())
    }

    pub fn release(base: *mut u8, len: usize) -> io::Result<()> {
        // SAFETY: the caller owns the range.
        if unsafe { VirtualFree(base.cast(), len, MEM_DECOMMIT) } == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    pub unsafe fn unreserve(base: *mut u8, _len: usize) {
        // SAFETY: the caller's promise. A failure leaves address space reserved, which harms nobody.
        let _ = unsafe { VirtualFree(base.cast(), 0, MEM_RELEASE) };
    }

    /// A copy: a mapped file cannot be replaced on Windows, and an install must be able to.
    pub fn map_read_only(mut file: &File, len: usize) -> io::Result<*const u8> {
        if len == 0 {
            return Ok(ptr::null());
        }
        // SAFETY: a new allocation at an address of the system's choice.
        let base = non_null(unsafe { VirtualAlloc(ptr::null(), len, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) })?;
        // SAFETY: `len` bytes were just allocated, zeroed, and nobody else knows them.
        let mut bytes = unsafe { std::slice::from_raw_parts_mut(base, len) };
        file.rewind()?;
        while !bytes.is_empty() {
            match file.read(bytes)? {
                0 => break,
                n => bytes = &mut bytes[n..],
            }
        }
        Ok(base.cast_const())
    }

    pub unsafe fn unmap_read_only(base: *const u8, len: usize) {
        if len > 0 {
            // SAFETY: the caller's promise.
            let _ = unsafe { VirtualFree(base.cast_mut().cast(), 0, MEM_RELEASE) };
        }
    }

    fn non_null(base: *mut core::ffi::c_void) -> io::Result<*mut u8> {
        if base.is_null() { Err(io::Error::last_os_error()) } else { Ok(base.cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn byte(reservation: &Reservation, at: usize) -> u8 {
        assert!(at < reservation.len());
        // SAFETY: the tests only read what they committed.
        unsafe { reservation.base().add(at).read() }
    }

    #[test]
    fn committed_pages_are_zero_again_after_a_release() {
        let page = page_size();
        let mut reservation = Reservation::new(8 * page).unwrap();
        reservation.commit(page..3 * page).unwrap();
        // SAFETY: the page was just committed.
        unsafe { reservation.base().add(page).write(7) };
        reservation.release(page..3 * page).unwrap();
        reservation.commit(page..3 * page).unwrap();
        assert_eq!(byte(&reservation, page), 0);
    }

    #[test]
    fn ranges_outside_the_reservation_are_refused() {
        let page = page_size();
        let mut reservation = Reservation::new(2 * page).unwrap();
        assert!(reservation.commit(0..2 * page + 1).is_err());
        assert!(reservation.release(page..usize::MAX).is_err());
        #[allow(clippy::reversed_empty_ranges, reason = "the reversed range is the subject")]
        let reversed = reservation.commit(page..0);
        assert!(reversed.is_err());
    }

    #[cfg(unix)]
    #[test]
    fn writes_to_a_private_mapping_do_not_reach_the_file() {
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, &[1; 100]).unwrap();
        let mut reservation = Reservation::new(page_size()).unwrap();
        reservation.map_private(&file, 100).unwrap();
        assert_eq!(byte(&reservation, 99), 1);
        // SAFETY: the page was just mapped.
        unsafe { reservation.base().write(9) };
        assert_eq!(ReadOnly::new(&file, 100).unwrap().as_slice(), [1; 100]);
    }
}

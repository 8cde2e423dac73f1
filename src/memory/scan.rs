//! Finding the pages a call wrote, on Linux 6.7 and later.
//!
//! In a private file mapping a page that was only read is still the file's; a page that was written is the process's
//! own (anonymous). The `PAGEMAP_SCAN` request walks the page tables and lists just those, swapped ones included.

use std::io;
use std::ops::Range;

#[cfg(target_os = "linux")]
pub(super) use linux::Scanner;
#[cfg(not(target_os = "linux"))]
pub(super) use missing::Scanner;

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use rustix::ioctl::{Ioctl, IoctlOutput, Opcode, ioctl, opcode};
    use std::fs::File;
    use std::os::raw::c_void;

    /// Asks the kernel which pages of a private file mapping were written.
    pub struct Scanner {
        pagemap: File,
    }

    const PAGE_IS_FILE: u64 = 1 << 2;
    const PAGE_IS_PRESENT: u64 = 1 << 3;
    const PAGE_IS_SWAPPED: u64 = 1 << 4;

    /// `struct page_region` of `linux/fs.h`.
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct PageRegion {
        start: u64,
        end: u64,
        categories: u64,
    }

    /// `struct pm_scan_arg` of `linux/fs.h`.
    #[repr(C)]
    #[derive(Default)]
    struct ScanArguments {
        size: u64,
        flags: u64,
        start: u64,
        end: u64,
        walk_end: u64,
        vec: u64,
        vec_len: u64,
        max_pages: u64,
        category_inverted: u64,
        category_mask: u64,
        category_anyof_mask: u64,
        return_mask: u64,
    }

    struct Scan<'a>(&'a mut ScanArguments);

    // SAFETY: the opcode is the one of `struct pm_scan_arg`, the pointer leads to such a struct for the whole call,
    // and the vector it names is alive and as long as it says (see `written`).
    unsafe impl Ioctl for Scan<'_> {
        type Output = usize;
        const IS_MUTATING: bool = true;

        fn opcode(&self) -> Opcode {
            opcode::read_write::<ScanArguments>(b'f', 16)
        }

        fn as_ptr(&mut self) -> *mut c_void {
            (&raw mut *self.0).cast()
        }

        unsafe fn output_from_ptr(regions: IoctlOutput, _: *mut c_void) -> rustix::io::Result<usize> {
            usize::try_from(regions).map_err(|_| rustix::io::Errno::OVERFLOW)
        }
    }

    impl Scanner {
        pub fn new() -> io::Result<Scanner> {
            Ok(Scanner { pagemap: File::open("/proc/self/pagemap")? })
        }

        /// Calls `visit` with each run of written pages in `base..base + len`, as offsets from `base`.
        pub fn written(&self, base: *const u8, len: usize, mut visit: impl FnMut(Range<usize>)) -> io::Result<()> {
            const REGIONS: usize = 512;
            let mut regions = [PageRegion::default(); REGIONS];
            let base = base as u64;
            let end = base + len as u64;
            let mut start = base;
            while start < end {
                let mut arguments = ScanArguments {
                    size: size_of::<ScanArguments>() as u64,
                    start,
                    end,
                    vec: regions.as_mut_ptr() as u64,
                    vec_len: REGIONS as u64,
                    category_inverted: PAGE_IS_FILE,
                    category_mask: PAGE_IS_FILE,
                    category_anyof_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
                    return_mask: PAGE_IS_PRESENT,
                    ..ScanArguments::default()
                };
                // SAFETY: see the `Ioctl` implementation; the request only reads page tables.
                let found = unsafe { ioctl(&self.pagemap, Scan(&mut arguments)) }?;
                for region in &regions[..found.min(REGIONS)] {
                    visit((region.start - base) as usize..(region.end - base) as usize);
                }
                if arguments.walk_end <= start {
                    return Err(io::Error::other("PAGEMAP_SCAN made no progress"));
                }
                start = arguments.walk_end;
            }
            Ok(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod missing {
    use super::*;

    /// This system has no way to list written pages; a value of this type never exists.
    pub enum Scanner {}

    impl Scanner {
        pub fn new() -> io::Result<Scanner> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub fn written(&self, _: *const u8, _: usize, _: impl FnMut(Range<usize>)) -> io::Result<()> {
            match *self {}
        }
    }
}

//! One slot: a reserved range that starts as an image and can be made equal to it again.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use super::faults::Faults;
use super::map::{ReadOnly, Reservation};
use super::scan::Scanner;

/// How a slot is made equal to its image again after a call.
///
/// The ways differ in speed, never in what a guest can see. [`Reset::best`] picks the fastest that works here; the
/// others can be forced, for tests and for systems on which the probe is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reset {
    /// Copy back only the pages that were written, found with `PAGEMAP_SCAN`. Linux 6.7 and later.
    Scan,
    /// Map the image file anew, which drops every written page. Any Unix.
    Remap,
    /// Copy the whole image back. Any system.
    Copy,
}

impl Reset {
    /// The fastest way that works on this system.
    pub fn best() -> Reset {
        if scan_works().unwrap_or(false) {
            Reset::Scan
        } else if cfg!(unix) {
            Reset::Remap
        } else {
            Reset::Copy
        }
    }
}

/// Maps two pages of a file, writes the second, and looks whether the scan finds just that one. Older kernels do not
/// know the request, and some containers forbid it.
fn scan_works() -> io::Result<bool> {
    let page = super::map::page_size();
    let file = tempfile::tempfile()?;
    file.set_len(2 * page as u64)?;
    let image = ImageFile::from_file(file, 2 * page)?;
    let mut region = Region::new(&image, Reset::Remap, 2 * page)?;
    region.bytes_mut()[page] = 1;
    let mut found = Vec::new();
    Scanner::new()?.written(region.base(), 2 * page, |run| found.push(run))?;
    Ok(matches!(found.as_slice(), [run] if *run == (page..2 * page)))
}

/// The file a slot starts from: a linear memory as it was when the image was made.
pub(crate) struct ImageFile {
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix maps the file itself"))]
    file: File,
    view: ReadOnly,
}

impl ImageFile {
    /// Opens the image at `path`, which must hold exactly `len` bytes.
    pub fn open(path: &Path, len: u64) -> io::Result<ImageFile> {
        let file = File::open(path)?;
        let found = file.metadata()?.len();
        if found != len {
            let text = format!("the image holds {found} bytes, but {len} were written");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let len = usize::try_from(len).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
        ImageFile::from_file(file, len)
    }

    fn from_file(file: File, len: usize) -> io::Result<ImageFile> {
        let view = ReadOnly::new(&file, len)?;
        Ok(ImageFile { file, view })
    }

    pub fn bytes(&self) -> &[u8] {
        self.view.as_slice()
    }

    pub fn len(&self) -> usize {
        self.bytes().len()
    }
}

/// The address space of one linear memory: the image at its start, then what the guest grew, then nothing accessible.
pub(super) struct Region {
    reservation: Reservation,
    /// Accessible bytes; at least the image's length, and equal to it after a reset.
    size: usize,
    /// What was written since the image was mapped, by any call: such pages stay this process's own.
    written: Vec<Range<usize>>,
    /// The page faults when `written` was last known to be complete.
    complete: Option<Faults>,
}

/// A call that wrote more pages than this has its slot mapped anew instead of copied back: a page once written is
/// copied after every later call, and the next tenants must not pay for one that wrote far more than usual.
const COPY_BACK_AT_MOST: usize = 8 << 20;

/// From so many bytes on, pages that a call left as they were are given up instead of kept: looking at them after every
/// call takes longer than faulting in again the few that a call writes.
const KEEP_UNWRITTEN_AT_MOST: usize = 2 << 20;

/// What is compared with the image and copied back as a whole. A divisor of every system's page size.
const COPIED_AT_ONCE: usize = 4096;

impl Region {
    /// Reserves `reserved` bytes and lays the image at their start.
    pub fn new(image: &ImageFile, reset: Reset, reserved: usize) -> io::Result<Region> {
        let reservation = Reservation::new(reserved.max(image.len()))?;
        let mut region = Region { reservation, size: image.len(), written: Vec::new(), complete: None };
        match reset {
            #[cfg(unix)]
            Reset::Scan | Reset::Remap => region.reservation.map_private(&image.file, image.len())?,
            _ => {
                region.reservation.commit(0..image.len())?;
                region.bytes_mut().copy_from_slice(image.bytes());
            }
        }
        Ok(region)
    }

    pub fn base(&self) -> *mut u8 {
        self.reservation.base()
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn grow(&mut self, size: usize) -> io::Result<()> {
        if size > self.size {
            self.reservation.commit(self.size..size)?;
            self.size = size;
        }
        Ok(())
    }

    /// The accessible bytes. Only for a region that no instance uses.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `size` bytes from the base are accessible, and `&mut self` says nobody else looks at them: the
        // engine's view of them ended with the store (`Slot` hands the region out only after its own drop began).
        unsafe { std::slice::from_raw_parts_mut(self.base(), self.size) }
    }

    /// Makes the region equal to the image again and gives the grown part back.
    ///
    /// After an error the region is in no known state and must be dropped.
    pub fn reset(&mut self, image: &ImageFile, reset: Reset, scanner: Option<&Scanner>) -> io::Result<()> {
        if self.size > image.len() {
            self.reservation.release(image.len()..self.size)?;
            self.size = image.len();
        }
        match (reset, scanner) {
            (Reset::Scan, Some(scanner)) => self.copy_written_back(image, scanner),
            (Reset::Copy, _) => {
                self.bytes_mut().copy_from_slice(image.bytes());
                Ok(())
            }
            _ => self.remap(image),
        }
    }

    /// Copies back every page that any call wrote since the image was mapped. When the last call wrote few of many, an
    /// earlier one wrote far more than usual, and the slot is mapped anew.
    ///
    /// A page becomes this process's own by a fault, in a call or between two (`mlockall` breaks the sharing of all of
    /// them). When there was none since the pages were last listed, they are the same, and the walk over the page
    /// tables, which takes longer than the copying, is left out.
    fn copy_written_back(&mut self, image: &ImageFile, scanner: &Scanner) -> io::Result<()> {
        // Read before the pages are listed: a fault meanwhile counts as one after it.
        let faults = Faults::so_far();
        if !(self.complete.is_some() && self.complete == faults) {
            let (base, len) = (self.base(), self.size);
            self.complete = None;
            self.written.clear();
            scanner.written(base, len, |run| self.written.push(run.start..run.end.min(len)))?;
            self.complete = faults;
        }
        let kept = self.written.iter().map(Range::len).sum::<usize>();
        if kept > COPY_BACK_AT_MOST {
            return self.remap(image);
        }
        let (written, mut copied) = (std::mem::take(&mut self.written), 0);
        for run in &written {
            let pages = self.bytes_mut()[run.clone()].chunks_mut(COPIED_AT_ONCE);
            for (page, original) in pages.zip(image.bytes()[run.clone()].chunks(COPIED_AT_ONCE)) {
                if page != original {
                    page.copy_from_slice(original);
                    copied += page.len();
                }
            }
        }
        self.written = written;
        if kept > KEEP_UNWRITTEN_AT_MOST && copied < kept / 4 {
            return self.remap(image);
        }
        Ok(())
    }

    #[cfg(unix)]
    fn remap(&mut self, image: &ImageFile) -> io::Result<()> {
        self.complete = None;
        self.written.clear();
        self.reservation.map_private(&image.file, image.len())
    }

    #[cfg(not(unix))]
    fn remap(&mut self, image: &ImageFile) -> io::Result<()> {
        self.bytes_mut().copy_from_slice(image.bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Write;

    const PAGE: usize = 65536;

    fn image(pages: usize) -> ImageFile {
        let mut file = tempfile::tempfile().unwrap();
        let bytes: Vec<u8> = (0..pages * PAGE).map(|i| (i / 251) as u8).collect();
        file.write_all(&bytes).unwrap();
        ImageFile::from_file(file, bytes.len()).unwrap()
    }

    fn ways() -> Vec<Reset> {
        let mut ways = vec![Reset::Copy];
        if cfg!(unix) {
            ways.push(Reset::Remap);
        }
        if Reset::best() == Reset::Scan {
            ways.push(Reset::Scan);
        }
        ways
    }

    #[test]
    fn every_page_written_and_grown_to_the_end_is_undone_in_every_way() {
        let image = image(4);
        for way in ways() {
            let scanner = Scanner::new().ok();
            let mut region = Region::new(&image, way, 32 * PAGE).unwrap();
            for _ in 0..3 {
                region.grow(32 * PAGE).unwrap();
                region.bytes_mut().fill(0xEE);
                region.reset(&image, way, scanner.as_ref()).unwrap();
                assert_eq!(region.size(), image.len(), "{way:?}");
                assert!(region.bytes_mut() == image.bytes(), "{way:?}");
                region.grow(5 * PAGE).unwrap();
                assert!(region.bytes_mut()[4 * PAGE..].iter().all(|byte| *byte == 0), "{way:?}");
                region.reset(&image, way, scanner.as_ref()).unwrap();
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pages_that_one_call_wrote_are_given_up_by_the_next_that_writes_few() {
        let image = image(2 * KEEP_UNWRITTEN_AT_MOST / PAGE);
        let Ok(scanner) = Scanner::new() else { return };
        let mut region = Region::new(&image, Reset::Scan, image.len()).unwrap();
        let kept = |region: &Region| {
            let mut kept = 0;
            scanner.written(region.base(), region.size(), |run| kept += run.len()).unwrap();
            kept
        };
        for _ in 0..2 {
            region.bytes_mut().fill(0xEE);
            region.reset(&image, Reset::Scan, Some(&scanner)).unwrap();
            assert_eq!(kept(&region), image.len());
            region.bytes_mut()[PAGE] ^= 0xFF;
            region.reset(&image, Reset::Scan, Some(&scanner)).unwrap();
            assert_eq!(kept(&region), 0);
            assert!(region.bytes_mut() == image.bytes());
        }
    }

    #[test]
    fn a_call_that_wrote_more_than_is_copied_back_is_undone_too() {
        let image = image(2 * COPY_BACK_AT_MOST / PAGE);
        for way in ways() {
            let scanner = Scanner::new().ok();
            let mut region = Region::new(&image, way, image.len()).unwrap();
            region.bytes_mut().fill(0xEE);
            region.reset(&image, way, scanner.as_ref()).unwrap();
            assert!(region.bytes_mut() == image.bytes(), "{way:?}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_slot_equals_its_image_after_each_of_many_calls_with_any_writes_and_growth(
            calls in prop::collection::vec(
                (prop::collection::vec((0..8 * PAGE, any::<u8>()), 0..60), 0..4_usize), 1..8),
        ) {
            let image = image(4);
            for way in ways() {
                let scanner = Scanner::new().ok();
                let mut region = Region::new(&image, way, 8 * PAGE).unwrap();
                for (writes, grown) in &calls {
                    region.grow((4 + grown) * PAGE).unwrap();
                    for (at, value) in writes {
                        if let Some(byte) = region.bytes_mut().get_mut(*at) {
                            *byte = *value;
                        }
                    }
                    region.reset(&image, way, scanner.as_ref()).unwrap();
                    prop_assert_eq!(region.size(), image.len());
                    prop_assert!(region.bytes_mut() == image.bytes());
                }
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn pages_that_became_the_process_s_own_between_two_calls_are_undone() {
        let image = image(4);
        let scanner = Scanner::new().ok();
        let mut region = Region::new(&image, Reset::best(), 4 * PAGE).unwrap();
        for _ in 0..3 {
            region.bytes_mut()[PAGE] = 0xEE;
            region.reset(&image, Reset::best(), scanner.as_ref()).unwrap();
        }
        // What `mlockall` does to every writable page, without the right to lock that much.
        let (base, size) = (region.base(), region.size());
        // SAFETY: the range is the region's own, and its content stays as it is.
        unsafe { rustix::mm::madvise(base.cast(), size, rustix::mm::Advice::LinuxPopulateWrite) }.unwrap();
        region.bytes_mut().fill(0xEE);
        region.reset(&image, Reset::best(), scanner.as_ref()).unwrap();
        assert!(region.bytes_mut() == image.bytes());
    }

    #[test]
    fn pages_written_without_a_fault_are_those_of_earlier_calls_and_are_undone() {
        let image = image(4);
        let scanner = Scanner::new().ok();
        let mut region = Region::new(&image, Reset::best(), 4 * PAGE).unwrap();
        for _ in 0..100 {
            region.bytes_mut()[PAGE] = 0xEE;
            region.bytes_mut()[3 * PAGE + 5] = 0xEE;
            region.reset(&image, Reset::best(), scanner.as_ref()).unwrap();
            assert!(region.bytes_mut() == image.bytes());
        }
    }
}

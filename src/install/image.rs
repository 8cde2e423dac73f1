//! Making images: the memory a module starts with, and what it is after a warm-up.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use crate::Limits;
use crate::memory::Reset;
use crate::runtime::record::{DriverRecord, FileRecord, ImageRecord, Record};
use crate::runtime::split::Split;
use crate::runtime::{Home, Loading, Program, digest};
use crate::sandbox::{Sandbox, ScratchRoot, Ticker, WarmUp, Warmed};

use super::InstallError;

/// Memory is written to the image file in pieces of this size, and pieces of zeros are left out: the file has holes.
const PIECE: usize = 4096;

/// The name under which the memory is known that the module starts with.
const BASE: &str = "base";

/// Makes the images of one module.
pub(super) struct Maker<'a> {
    pub home: &'a Home,
    /// A folder for what is not finished.
    pub partial: &'a Path,
    /// What a warm-up may use.
    pub limits: &'a Limits,
    /// The exported names of the module's mutable globals.
    pub globals: &'a [String],
}

/// What the warm-up of a runtime may use: more than a call, but not without end.
pub(super) fn warm_up_limits() -> Limits {
    Limits { timeout: Some(Duration::from_secs(600)), fuel: None, memory_bytes: 2 << 30, ..Limits::default() }
}

/// What the start function of somebody's program may use, which runs once, before its first call.
pub(super) fn start_limits() -> Limits {
    let memory_bytes = super::program::INITIAL_MEMORY_BYTES;
    Limits { timeout: Some(Duration::from_secs(5)), memory_bytes, ..Limits::default() }
}

impl Maker<'_> {
    /// The memory as the data segments make it, and after the start function if there is one.
    pub fn base(&self, split: &Split, record: &Record) -> Result<ImageRecord, InstallError> {
        let lay_down = |file: &mut File| {
            file.set_len(split.memory_bytes)?;
            for (offset, data) in &split.data {
                file.seek(SeekFrom::Start(*offset))?;
                file.write_all(data)?;
            }
            Ok(())
        };
        // Another image is made from it, and no call starts from it itself.
        let is_passing = split.has_start || record.driver == DriverRecord::Turn;
        let memory = if is_passing { self.store_aside(lay_down)? } else { self.store(lay_down)? };
        // The code still sets the globals to their first values: there is nothing to restore.
        let base = ImageRecord { memory, globals: Vec::new(), buffer: None, directory_names: Vec::new() };
        if !split.has_start {
            return Ok(base);
        }
        refuse_warm_up(split, BASE)?;
        self.run(record, BASE, &base, &WarmUp::start())
    }

    /// The image after `_initialize` and the warm-up texts, for a runtime that has any.
    pub fn warm(
        &self,
        split: &Split,
        record: &Record,
        name: &str,
        base: &ImageRecord,
        texts: &[String],
    ) -> Result<ImageRecord, InstallError> {
        if record.driver != DriverRecord::Turn {
            if texts.is_empty() {
                self.sandbox(record, name, base)?;
                return Ok(base.clone());
            }
            let problem = "a runtime of WASI commands has no warm-up".to_owned();
            return Err(InstallError::WarmUp { image: name.to_owned(), problem });
        }
        refuse_warm_up(split, name)?;
        self.run(record, name, base, &WarmUp::turns(texts))
    }

    /// Loads what was made so far, as a call would: a module that cannot be linked is refused here.
    fn sandbox(&self, record: &Record, name: &str, image: &ImageRecord) -> Result<Sandbox, InstallError> {
        let failed = |problem: String| InstallError::WarmUp { image: name.to_owned(), problem };
        let mut record = record.clone();
        record.images.insert(name.to_owned(), image.clone());
        let loading = Loading { reset: Reset::best(), keep: 0 };
        let program =
            Program::of_record(self.home, &record, name, loading).map_err(|error| failed(error.to_string()))?;
        Sandbox::new(program).map_err(|error| failed(format!("{error:#}")))
    }

    /// Runs a guest on `from`, an image of the record's runtime, and takes its memory and globals afterwards.
    pub fn run(
        &self,
        record: &Record,
        name: &str,
        from: &ImageRecord,
        warm_up: &WarmUp<'_>,
    ) -> Result<ImageRecord, InstallError> {
        let failed = |problem: String| InstallError::WarmUp { image: name.to_owned(), problem };
        let sandbox = self.sandbox(record, name, from)?;
        let scratch = ScratchRoot::new(self.partial).map_err(|error| failed(error.to_string()))?;
        let ticker = Ticker::start(vec![sandbox.program.engine.weak()]).map_err(|error| failed(error.to_string()))?;
        let _ticking = ticker.running();
        let warmed = wait_for(sandbox.warm(warm_up, self.globals, self.limits, &scratch));
        let Warmed { memory, globals, buffer, directory_names } = warmed.map_err(failed)?;
        let memory = self.store(|file| write_sparse(file, &memory))?;
        Ok(ImageRecord { memory, globals, buffer, directory_names })
    }

    /// Writes an image and moves it to its place, named after its digest.
    fn store(&self, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<FileRecord, InstallError> {
        let partial = self.partial.join("image");
        write_image(&partial, write).map_err(io_error(&partial))?;
        let place = self.home.image(&digest::of_file(&partial).map_err(io_error(&partial))?);
        std::fs::rename(&partial, &place).map_err(io_error(&place))?;
        FileRecord::of(self.home, &place).map_err(io_error(&place))
    }

    /// Writes an image that goes with the folder for what is not finished.
    fn store_aside(&self, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<FileRecord, InstallError> {
        let place = self.partial.join(BASE);
        write_image(&place, write).and_then(|()| FileRecord::of(self.home, &place)).map_err(io_error(&place))
    }
}

fn write_image(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut file = File::create(path)?;
    write(&mut file)?;
    file.sync_all()
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> InstallError + use<> {
    let path = path.to_owned();
    move |error| InstallError::Io { path, error }
}

fn refuse_warm_up(split: &Split, image: &str) -> Result<(), InstallError> {
    match split.no_warm_image {
        None => Ok(()),
        Some(reason) => {
            let problem = format!("the module {reason}, which an image cannot hold");
            Err(InstallError::WarmUp { image: image.to_owned(), problem })
        }
    }
}

/// Drives a warm-up on a thread of its own, so that an install can also be called from inside an async runtime.
fn wait_for(warm_up: impl Future<Output = Result<Warmed, String>> + Send) -> Result<Warmed, String> {
    let drive = || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        runtime.map_err(|error| error.to_string())?.block_on(warm_up)
    };
    std::thread::scope(|scope| {
        scope.spawn(drive).join().unwrap_or_else(|_| Err("the warm-up's thread panicked".to_owned()))
    })
}

fn write_sparse(file: &mut File, memory: &[u8]) -> io::Result<()> {
    file.set_len(memory.len() as u64)?;
    let mut end = 0;
    for (index, piece) in memory.chunks(PIECE).enumerate() {
        if piece.iter().any(|byte| *byte != 0) {
            let start = index * PIECE;
            if start != end {
                file.seek(SeekFrom::Start(start as u64))?;
            }
            file.write_all(piece)?;
            end = start + piece.len();
        }
    }
    Ok(())
}

//! Running a guest only for what it leaves in its memory.

use std::time::Duration;

use wasmtime::{Extern, Instance, Store};

use super::call::entries;
use super::heap::Heap;
use super::stdio::{Capture, Stdin};
use super::{
    Ambient, Entry, Environment, Guarded, Guest, InputFile, Limiter, Mounted, Quota, Sandbox, ScratchRoot, Streams,
    function,
};
use crate::Limits;
use crate::runtime::read_globals;
use crate::runtime::record::{Buffer, GlobalRecord};
use crate::runtime::split::START;

/// The buffer that each image of a turn runtime holds for the text of a call. A larger text is allocated in the call.
const BUFFER_BYTES: u32 = 64 << 10;

/// What a guest does before its image is taken.
pub(crate) struct WarmUp<'a> {
    /// The export to call first, if there is one and the module has it.
    first: Option<&'static str>,
    /// The texts to run then, one turn each.
    texts: &'a [String],
    /// Files in the working directory.
    files: &'a [InputFile],
}

impl<'a> WarmUp<'a> {
    /// The start function that was taken out of the module.
    pub fn start() -> WarmUp<'static> {
        WarmUp { first: Some(START), texts: &[], files: &[] }
    }

    /// A reactor's `_initialize`, then these texts.
    pub fn turns(texts: &'a [String]) -> WarmUp<'a> {
        WarmUp { first: Some("_initialize"), texts, files: &[] }
    }

    /// These texts on an image that was warmed before, with files in the working directory.
    pub fn again(texts: &'a [String], files: &'a [InputFile]) -> WarmUp<'a> {
        WarmUp { first: None, texts, files }
    }
}

/// What a warm-up left.
pub(crate) struct Warmed {
    pub memory: Vec<u8>,
    /// The mutable globals.
    pub globals: Vec<GlobalRecord>,
    /// A buffer for texts.
    pub buffer: Option<Buffer>,
    /// Where the memory holds the name of the call's directory.
    pub directory_names: Vec<u32>,
}

impl Sandbox {
    /// Runs a warm-up with fixed clocks and random numbers. The error is text for a person, with what the guest wrote.
    pub async fn warm(
        &self,
        warm_up: &WarmUp<'_>,
        globals: &[String],
        limits: &Limits,
        scratch: &ScratchRoot,
    ) -> Result<Warmed, String> {
        let streams = Streams {
            stdout: Capture::new(limits.stdout_bytes, None),
            stderr: Capture::new(limits.stderr_bytes, None),
        };
        let timeout = limits.timeout.unwrap_or(Duration::MAX);
        let warmed = tokio::time::timeout(timeout, self.warm_with(warm_up, globals, limits, scratch, &streams)).await;
        let failed = |problem: String| {
            let (stdout, stderr) = (streams.stdout.finish().bytes, streams.stderr.finish().bytes);
            let said = [stdout, stderr].concat();
            format!("{problem}\n{}", String::from_utf8_lossy(&said)).trim_end().to_owned()
        };
        match warmed {
            Ok(Ok(warmed)) => Ok(warmed),
            Ok(Err(error)) => Err(failed(format!("{error:#}"))),
            Err(_) => Err(failed(format!("it took longer than {timeout:?}"))),
        }
    }

    async fn warm_with(
        &self,
        warm_up: &WarmUp<'_>,
        globals: &[String],
        limits: &Limits,
        scratch: &ScratchRoot,
        streams: &Streams,
    ) -> wasmtime::Result<Warmed> {
        let directory = scratch.placeholder()?;
        let variables = Environment::constant(&self.program.environment);
        let context = self.context(&directory, Stdin::Closed, streams, Ambient::Fixed, limits, |builder| {
            builder.arg(&self.program.name).envs(variables.pairs());
        })?;
        let mut quota = Quota::new(limits.scratch_bytes, limits.scratch_entries, limits.open_files);
        for file in warm_up.files {
            directory.place(&file.path, &file.content)?;
        }
        quota.placed(entries(warm_up.files), warm_up.files.iter().map(|file| file.content.len() as u64).sum());
        let guest = Guest {
            wasi: Mounted::new(Guarded::new(context, quota, limits)),
            limiter: Limiter::new(limits, self.program.image_bytes),
        };
        let mut store = self.store(guest, limits)?;
        let instance = self.instantiate(&mut store, directory.id()).await?;

        if let Some(first) = warm_up.first.and_then(|first| self.program.module.get_export_index(first)) {
            function::<(), ()>(&mut store, &instance, &first)?.call_async(&mut store, ()).await?;
        }
        let buffer = self.turns(&mut store, &instance, warm_up.texts).await?;
        // The numbers would be there in every call, and the files not.
        if store.data().wasi.inner.quota.open_files() > 0 {
            wasmtime::bail!("the warm-up left a file open, which an image cannot hold: close it");
        }
        let globals = read_globals(&mut store, &self.program.module, &instance, globals)?;
        let memory = instance.get_export(&mut store, "memory").and_then(Extern::into_memory);
        let memory = memory.ok_or_else(|| wasmtime::format_err!("the module does not export its memory"))?;
        let memory = memory.data(&store).to_vec();
        Ok(Warmed { directory_names: directory.id().places(&memory), memory, globals, buffer })
    }

    async fn turns(
        &self,
        store: &mut Store<Guest>,
        instance: &Instance,
        texts: &[String],
    ) -> wasmtime::Result<Option<Buffer>> {
        let Entry::Turn { memory, allocate, turn } = &self.entry else { return Ok(None) };
        if texts.is_empty() {
            return Ok(None);
        }
        let heap = Heap::of(store, instance);
        for (index, text) in texts.iter().enumerate() {
            let status = self.turn(store, instance, [memory, allocate, turn], text).await?;
            if status != 0 {
                wasmtime::bail!("warm-up file {} of {} ended with status {status}", index + 1, texts.len());
            }
            // After each: what belongs to one file then lies together, too.
            if let Some(heap) = &heap {
                heap.fill_gaps(store).await?;
            }
        }
        let pointer = function::<u32, u32>(store, instance, allocate)?.call_async(&mut *store, BUFFER_BYTES).await?;
        Ok((pointer != 0).then_some(Buffer { pointer, bytes: BUFFER_BYTES }))
    }
}

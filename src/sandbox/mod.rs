//! One call: a fresh store, a WASI context that holds one directory, pipes for the standard streams, fuel, a deadline.
//!
//! [`Sandbox`] is a loaded image with everything resolved that does not change from call to call; [`Sandbox::run`] is
//! the life of one call, from the checks to the outcome. Whatever ends it, and even when its future is dropped in the
//! middle, the store, the slot and the directory go with it.

mod ambient;
mod call;
mod caught;
mod environment;
mod error;
mod filter;
mod folders;
mod guest;
mod hand_on;
mod heap;
mod imports;
mod listing;
mod mounts;
mod opened;
mod quota;
mod redirect;
mod rights;
mod roots;
mod scratch;
mod stdio;
mod ticker;
mod transfer;
mod tree;
mod used;
mod warm;
mod wasi;

use std::time::Instant;

use tokio_util::sync::CancellationToken;
use wasmtime::{
    Instance, InstancePre, Linker, Memory, ModuleExport, Store, Trap, TypedFunc, UpdateDeadline, WasmParams,
    WasmResults,
};
use wasmtime_wasi::{FsPerms, WasiCtxBuilder};

pub(crate) use ambient::Ambient;
pub use call::{Access, Call, CallError, Folder, InputFile};
use caught::{caught, elsewhere};
use environment::Environment;
pub(crate) use error::RunError;
use error::not_placed;
pub(crate) use filter::Filter;
use filter::{Filtering, Spent, Unfiltered};
pub(crate) use guest::Guest;
use guest::Limiter;
pub(crate) use imports::{IMPORTS_LISTED, unknown_imports};
use mounts::Mounted;
#[cfg(feature = "host")]
pub(crate) use opened::Identity;
pub(crate) use opened::Opened;
use quota::Quota;
use scratch::Id;
#[cfg(feature = "task")]
pub(crate) use scratch::reading;
pub(crate) use scratch::{Scratch, ScratchRoot};
use stdio::{Capture, GuestStdin};
pub use stdio::{Sink, Stdin};
pub(crate) use ticker::Ticker;
pub(crate) use warm::{WarmUp, Warmed};
use wasi::{Exit, Guarded};

use crate::Limits;
use crate::runtime::Program;
use crate::runtime::record::DriverRecord;
use crate::script::{Outcome, Status, Usage};

/// A loaded image, ready to run calls.
pub(crate) struct Sandbox {
    pub program: Program,
    instance: InstancePre<Guest>,
    entry: Entry,
    tables: Tables,
    /// What the files of some endings go through first.
    pub filters: Vec<Filter>,
}

/// The descriptor of the first directory that a guest is given: those before it are the standard streams.
const FIRST_DIRECTORY: u32 = 3;

/// The tables that an instance starts with.
struct Tables {
    number: u64,
    /// The elements of the largest.
    largest: u64,
}

/// The exports that start a guest.
enum Entry {
    Command { start: ModuleExport },
    Turn { memory: ModuleExport, allocate: ModuleExport, turn: ModuleExport },
}

/// The streams of a call that is running.
struct Streams {
    stdout: Capture,
    stderr: Capture,
}

impl Sandbox {
    /// Resolves the imports and exports of a program.
    pub fn new(program: Program) -> wasmtime::Result<Sandbox> {
        let mut linker = Linker::new(&program.engine);
        guest::link(&mut linker)?;
        let instance = linker.instantiate_pre(&program.module)?;
        let export = |name: &str| {
            let export = program.module.get_export_index(name);
            export.ok_or_else(|| wasmtime::format_err!("the module does not export `{name}`"))
        };
        let entry = match program.driver {
            DriverRecord::Command | DriverRecord::Program => Entry::Command { start: export("_start")? },
            DriverRecord::Turn => {
                Entry::Turn { memory: export("memory")?, allocate: export("host_alloc")?, turn: export("turn")? }
            }
        };
        let needed = program.module.resources_required();
        let tables = Tables { number: needed.num_tables.into(), largest: needed.max_initial_table_size.unwrap_or(0) };
        Ok(Sandbox { program, instance, entry, tables, filters: Vec::new() })
    }

    /// Runs one call to its end, its timeout, or the cancellation.
    pub async fn run(
        &self,
        call: Call,
        roots: &ScratchRoot,
        ticker: &Ticker,
        cancel: &CancellationToken,
    ) -> Result<Outcome, RunError> {
        call.check()?;
        self.check_image(&call.limits)?;
        if cancel.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        let scratch = roots.scratch().map_err(RunError::Scratch)?;
        let opened = self.open_folders(&call)?;
        let Call { source, name, arguments, environment, stdin, mut files, folders, mut limits, .. } = call;
        let Call { stdout, stderr, skill, keep, .. } = call;
        let name = name.unwrap_or_else(|| self.program.default_script_name.clone());
        let mut variables = match self.entry {
            Entry::Command { .. } => Environment::constant(&self.program.environment),
            // It has read those long ago, and gets the rest with its turn.
            Entry::Turn { .. } => Environment::default(),
        };
        variables.add_call(&scratch.id().guest_path(), skill.as_deref(), environment);
        let arguments = std::iter::once(name).chain(arguments).collect::<Vec<_>>();

        let streams = Streams {
            stdout: Capture::new(limits.stdout_bytes, stdout),
            stderr: Capture::new(limits.stderr_bytes, stderr),
        };
        let mut quota = Quota::new(limits.scratch_bytes, limits.scratch_entries, limits.open_files);
        let mut filtering =
            Filtering { filters: &self.filters, limits: &limits, roots, ticker, cancel, spent: Spent::default() };
        let filtered = match filtering.files(&mut files).await {
            Ok(()) => filtering.script(&arguments[0], source).await,
            Err(unfiltered) => Err(unfiltered),
        };
        let spent = filtering.spent;
        let source = match filtered {
            Ok(source) => source,
            // It never starts. A mistake is its author's to read, as an engine would say it.
            Err(unfiltered) => {
                let status = match unfiltered {
                    Unfiltered::Mistake(shown) => {
                        streams.stderr.say(&shown);
                        Status::Exited(1)
                    }
                    Unfiltered::Stopped(status) => status,
                    Unfiltered::Failed(error) => return Err(error),
                };
                scratch.give_back();
                return Ok(outcome(status, &streams, spent.into()));
            }
        };
        spent.left_of(&mut limits);
        // A command finds its script as a file; a reactor gets the text with its turn; a program is its own script.
        let script = (self.program.driver == DriverRecord::Command).then(|| script_file(&arguments[0]));
        if let Some(script) = &script {
            files.push(InputFile { path: script.clone(), content: source.clone().into() });
        }
        for file in &files {
            scratch.place(&file.path, &file.content).map_err(|error| not_placed(file, error))?;
        }
        // A relative name is a folder in the call's directory, which leads to the host's.
        let inside: Vec<&Folder> = folders.iter().filter(|folder| folder.is_inside()).collect();
        for folder in &inside {
            scratch.place_folder(&folder.guest).map_err(RunError::Scratch)?;
        }
        let named = call::folders_on_the_way(&files, &inside);
        quota.placed(
            call::entries(&files) + named.len() as u64,
            files.iter().map(|file| file.content.len() as u64).sum(),
        );
        let mut refused = None;
        let context = self
            .context(&scratch, stdin, &streams, Ambient::Host, &limits, |builder| {
                if let Entry::Command { .. } = self.entry {
                    match &script {
                        Some(script) => builder.args(&self.program.command_line(script, &arguments[1..])),
                        None => builder.args(&arguments),
                    };
                    builder.envs(variables.pairs());
                }
                for (folder, opened) in folders.iter().zip(&opened) {
                    let permissions = match folder.access {
                        Access::ReadOnly => FsPerms::ReadOnly,
                        Access::ReadWrite => FsPerms::ReadWrite,
                    };
                    if let Err(error) = builder.preopened_dir(opened.door(), &folder.guest, permissions) {
                        refused = Some(folder.refused(error));
                        return;
                    }
                }
            })
            .map_err(RunError::Scratch)?;
        if let Some(refused) = refused {
            return Err(refused.into());
        }
        let mut guarded = Guarded::new(context, quota, &limits);
        guarded.sees_host_folders = !folders.is_empty();
        let mut wasi = Mounted::new(guarded);
        // A WASI command has its directory a third time: see `context`.
        let own = FIRST_DIRECTORY + self.program.mounts.len() as u32;
        let first_folder = own + if let Entry::Command { .. } = self.entry { 3 } else { 2 };
        for ((folder, opened), descriptor) in folders.iter().zip(&opened).zip(first_folder..) {
            wasi.inner.is_the_one(descriptor, opened).await.map_err(|error| folder.refused(error))?;
        }
        let on_the_way = call::folders(&files).into_iter().chain(named.iter().map(String::as_str));
        let placed = wasi.inner.placed(own, on_the_way).await;
        placed.map_err(|error| RunError::Scratch(std::io::Error::other(error)))?;
        wasi.given(FIRST_DIRECTORY..own, own..first_folder, folders.len());
        let mounted = folders.iter().zip(first_folder..).filter(|(folder, _)| folder.is_inside());
        let mounted = wasi.mount(own, mounted.map(|(folder, descriptor)| (folder.guest.clone(), descriptor))).await;
        mounted.map_err(|error| RunError::Scratch(std::io::Error::other(error)))?;
        let guest = Guest { wasi, limiter: Limiter::new(&limits, self.program.image_bytes) };
        let mut store = self.store(guest, &limits).map_err(RunError::Engine)?;

        let start = Instant::now();
        let text = match self.entry {
            Entry::Command { .. } => None,
            Entry::Turn { .. } => {
                let seed = self.program.seed.then(rand::random::<[u8; 48]>);
                Some(turn_text(&source, &arguments, &variables, &scratch.id().guest_path(), seed))
            }
        };
        let ended = {
            let _ticking = ticker.running();
            // It runs from here, not from when the guest first lets it be looked at. A guest that keeps asking for what
            // is ready uses up the task's budget, and a clock that is bound by it would say nothing until the next poll.
            let clock = limits.timeout.map(|timeout| tokio::task::unconstrained(tokio::time::sleep(timeout)));
            let timeout = async {
                match clock {
                    Some(clock) => clock.await,
                    None => std::future::pending().await,
                }
            };
            // Dropping the guest's future unwinds the guest: nothing of it runs on after this block. The clock is looked
            // at first: a guest whose time is up gets no other turn.
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(RunError::Cancelled),
                () = timeout => None,
                ended = caught(self.drive(&mut store, scratch.id(), text.as_deref())) => Some(ended),
            }
        };
        let wall_time = spent.wall_time + start.elapsed();

        let fuel = limits.fuel.unwrap_or(u64::MAX).saturating_sub(store.get_fuel().map_err(RunError::Engine)?);
        let Guest { wasi: Mounted { inner: Guarded { quota, tree, used, .. }, .. }, limiter } = store.data();
        let peak_memory_bytes = limiter.peak_memory_bytes;
        let (entries, touched) = (quota.entries(), quota.touched());
        let (scratch_bytes, scratch_entries, open_files) = quota.peaks();
        let usage = Usage {
            fuel: spent.fuel + fuel,
            wall_time,
            peak_memory_bytes: spent.peak_memory_bytes.max(peak_memory_bytes as u64),
            table_elements: limiter.peak_table_elements as u64,
            stdin_bytes: used.stdin_bytes,
            bytes_written: quota.written(),
            scratch_bytes,
            scratch_entries,
            scratch_depth: tree.deepest() as u64,
            open_files,
            path_bytes: used.path_bytes,
            poll_subscriptions: used.poll_subscriptions,
            random_bytes: used.random_bytes,
            hostcall_bytes: used.hostcall_bytes,
            ..Usage::default()
        };
        free(store, peak_memory_bytes.saturating_sub(self.program.image_bytes)).await;
        let status = match ended {
            None => Status::TimedOut,
            Some(Ok(ended)) => status(ended)?,
            Some(Err(panic)) => {
                return Err(RunError::Engine(wasmtime::format_err!("a fault of the sandbox itself: {panic}")));
            }
        };
        let outcome = outcome(status, &streams, usage);
        if touched || keep.is_some() {
            clean_up(scratch, entries, keep, files, limits.scratch_bytes).await?;
        } else {
            scratch.give_back();
        }
        Ok(outcome)
    }

    /// The call's folders, each opened for good, unless whoever gave it has done so.
    fn open_folders(&self, call: &Call) -> Result<Vec<Opened>, CallError> {
        let open = |folder: &Folder| {
            if let (Entry::Turn { .. }, true) = (&self.entry, folder.guest.starts_with('/')) {
                return Err(CallError::FolderForScript {
                    image: self.program.name.clone(),
                    host: folder.host.clone(),
                    guest: folder.guest.clone(),
                });
            }
            let opened = folder.opened().map_err(|error| folder.refused(error))?;
            opened.check().map_err(|error| folder.refused(error))?;
            Ok(opened)
        };
        call.folders.iter().map(open).collect()
    }

    fn check_image(&self, limits: &Limits) -> Result<(), CallError> {
        call::at_most("tables", self.tables.number, "tables", limits.tables as u64)?;
        let elements = self.tables.largest;
        call::at_most("elements in a table", elements, "table_elements", limits.table_elements as u64)?;
        let bytes = self.program.image_bytes as u64;
        if bytes <= limits.memory_bytes {
            return Ok(());
        }
        Err(CallError::ImageTooLarge { image: self.program.name.clone(), bytes, allowed: limits.memory_bytes })
    }

    /// A WASI context: the runtime's folders read-only, the call's directory, the streams, and nothing else.
    ///
    /// The order of the directories is part of the image: the guest's C library numbered them when it was made.
    fn context(
        &self,
        scratch: &Scratch,
        stdin: Stdin,
        streams: &Streams,
        ambient: Ambient,
        limits: &Limits,
        more: impl FnOnce(&mut WasiCtxBuilder),
    ) -> std::io::Result<wasmtime_wasi::p1::WasiP1Ctx> {
        let mut builder = WasiCtxBuilder::new();
        // File operations take microseconds on the call's own directory; handing each to another thread takes longer.
        // Sleeps never block: see `wasi::Guarded`.
        builder.allow_blocking_current_thread(true).max_random_size(limits.random_bytes);
        builder.stdin(GuestStdin::new(stdin)).stdout(streams.stdout.clone()).stderr(streams.stderr.clone());
        let mounts =
            self.program.mounts.iter().map(|(host, guest)| (host.as_path(), guest.as_str(), FsPerms::ReadOnly));
        let name = scratch.id().guest_path();
        let own = [scratch::TMP, &name].map(|guest| (scratch.path(), guest, FsPerms::ReadWrite));
        // A reactor changes to its directory; a command starts at `/`, and its C library looks for relative paths here.
        let here = match self.entry {
            Entry::Command { .. } => Some((scratch.path(), ".", FsPerms::ReadWrite)),
            Entry::Turn { .. } => None,
        };
        let own = own.into_iter().chain(here);
        for (host, guest, permissions) in mounts.chain(own) {
            builder.preopened_dir(host, guest, permissions).map_err(std::io::Error::other)?;
        }
        ambient.apply(&mut builder);
        more(&mut builder);
        Ok(builder.build_p1())
    }

    fn store(&self, guest: Guest, limits: &Limits) -> wasmtime::Result<Store<Guest>> {
        let mut store = Store::new(&self.program.engine, guest);
        store.limiter(|guest| &mut guest.limiter);
        store.set_fuel(limits.fuel.unwrap_or(u64::MAX))?;
        store.set_hostcall_fuel(limits.hostcall_bytes);
        // At each tick a computing guest lets the host look whether it is to stop. It waits its turn as tokio's tasks do:
        // one that woke itself at once would keep its thread from the timers for many ticks.
        store.epoch_deadline_callback(|_| Ok(UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now()))));
        store.set_epoch_deadline(1);
        Ok(store)
    }

    /// An instance that is what the image was, but for the name of its directory.
    async fn instantiate(&self, store: &mut Store<Guest>, directory: Id) -> wasmtime::Result<Instance> {
        let instance = self.instance.instantiate_async(&mut *store).await?;
        self.program.restore_globals(&mut *store, &instance)?;
        self.program.name_directory(&mut *store, &instance, directory.bytes())?;
        Ok(instance)
    }

    /// Instantiates the image and runs the guest to its end. The result is the exit code.
    async fn drive(
        &self,
        store: &mut Store<Guest>,
        directory: Id,
        text: Option<&str>,
    ) -> Result<wasmtime::Result<u8>, RunError> {
        let instance = match self.instantiate(store, directory).await {
            Ok(instance) => instance,
            // Its own segments do not fit into its memory or tables.
            Err(error) if error.is::<Trap>() => return Ok(Err(error)),
            Err(error) => return Err(RunError::Engine(error)),
        };
        Ok(match &self.entry {
            Entry::Command { start } => self.command(store, &instance, start).await,
            Entry::Turn { memory, allocate, turn } => {
                self.turn(store, &instance, [memory, allocate, turn], text.unwrap_or_default()).await
            }
        })
    }

    async fn command(
        &self,
        store: &mut Store<Guest>,
        instance: &Instance,
        start: &ModuleExport,
    ) -> wasmtime::Result<u8> {
        function::<(), ()>(store, instance, start)?.call_async(store, ()).await?;
        Ok(0)
    }

    async fn turn(
        &self,
        store: &mut Store<Guest>,
        instance: &Instance,
        [memory, allocate, turn]: [&ModuleExport; 3],
        text: &str,
    ) -> wasmtime::Result<u8> {
        let memory: Memory = instance
            .get_module_export(&mut *store, memory)
            .and_then(wasmtime::Extern::into_memory)
            .ok_or_else(|| wasmtime::format_err!("the module's `memory` is none"))?;
        let length = u32::try_from(text.len())?;
        let pointer = match self.program.buffer {
            Some(buffer) if length <= buffer.bytes => buffer.pointer,
            _ => function::<u32, u32>(store, instance, allocate)?.call_async(&mut *store, length).await?,
        };
        // The pointer is the guest's word: `write` checks it against the memory.
        memory.write(&mut *store, pointer as usize, text.as_bytes())?;
        let status = function::<(u32, u32), u32>(store, instance, turn)?.call_async(store, (pointer, length)).await?;
        Ok(status as u8)
    }
}

/// What came of a call, with what its streams kept.
fn outcome(status: Status, streams: &Streams, usage: Usage) -> Outcome {
    let (stdout, stderr) = (streams.stdout.finish(), streams.stderr.finish());
    let usage = Usage { stdout_bytes: stdout.written, stderr_bytes: stderr.written, ..usage };
    let truncated = stdout.truncated || stderr.truncated;
    Outcome { status, stdout: stdout.bytes, stderr: stderr.bytes, truncated, usage }
}

fn function<P: WasmParams, R: WasmResults>(
    store: &mut Store<Guest>,
    instance: &Instance,
    export: &ModuleExport,
) -> wasmtime::Result<TypedFunc<P, R>> {
    let function = instance.get_module_export(&mut *store, export).and_then(wasmtime::Extern::into_func);
    function.ok_or_else(|| wasmtime::format_err!("an entry of the module is no function"))?.typed(store)
}

/// The file a command's script is put into: the last part of its name.
fn script_file(name: &str) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or_default();
    if crate::runtime::is_inside(file) { file.to_owned() } else { "script".to_owned() }
}

/// The text of a turn: the call as a JSON object.
fn turn_text(
    source: &str,
    arguments: &[String],
    variables: &Environment,
    directory: &str,
    seed: Option<[u8; 48]>,
) -> String {
    let environment: serde_json::Map<_, _> =
        variables.pairs().iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let mut call = serde_json::json!({
        "name": arguments[0],
        "source": source,
        "args": &arguments[1..],
        "env": environment,
        "cwd": directory,
    });
    if let Some(seed) = seed {
        call["seed"] = crate::runtime::digest::hex(&seed).into();
    }
    call.to_string()
}

/// How the guest ended, from the typed reason that ended it.
fn status(ended: Result<wasmtime::Result<u8>, RunError>) -> Result<Status, RunError> {
    Ok(match ended? {
        Ok(code) => Status::Exited(code),
        Err(error) => {
            if let Some(Exit(code)) = error.downcast_ref() {
                // A process's exit code is its lowest eight bits.
                Status::Exited(*code as u8)
            } else if let Some(Trap::OutOfFuel) = error.downcast_ref() {
                Status::OutOfFuel
            } else if let Some(trap) = error.downcast_ref::<Trap>() {
                Status::Trapped(trap.to_string())
            } else {
                // The host refused what the guest asked: a pointer outside its memory, too many random bytes.
                Status::Trapped(error.root_cause().to_string())
            }
        }
    })
}

/// Memory beyond the image up to this size is given back where the call ran; handing it to another thread takes longer.
const FREED_IN_PLACE: usize = 8 << 20;

/// Drops a store, on a thread for blocking work where its guest grew by much: giving half a gigabyte back to the system
/// takes tens of milliseconds, in which other calls' time may be up.
async fn free(store: Store<Guest>, grown: usize) {
    if grown <= FREED_IN_PLACE {
        return;
    }
    // Whatever becomes of it, the store is gone.
    if let Err(error) = elsewhere(move || drop(store)).await {
        tracing::warn!(%error, "a store was not dropped on another thread");
    }
}

/// A directory with at most this many entries is removed where the call ran; handing it to another thread takes longer.
/// There are file systems that take some milliseconds for each folder.
const REMOVED_IN_PLACE: u64 = 4;

/// Keeps what is to be kept and removes the directory, on a thread for blocking work where that may take long.
async fn clean_up(
    scratch: Scratch,
    entries: u64,
    keep: Option<std::path::PathBuf>,
    placed: Vec<InputFile>,
    bytes: u64,
) -> Result<(), RunError> {
    if keep.is_none() && entries <= REMOVED_IN_PLACE {
        scratch.remove();
        return Ok(());
    }
    let work = move || {
        let kept = match keep {
            Some(target) => scratch.keep(&target, &placed, bytes).map_err(|error| RunError::Keep { target, error }),
            None => Ok(0),
        };
        scratch.remove();
        kept
    };
    let left_out = elsewhere(work).await.map_err(|error| RunError::Scratch(std::io::Error::other(error)))??;
    if left_out > 0 {
        tracing::warn!(
            left_out,
            "not everything was kept: links, special files, names too long, and more bytes than the limit on disk are left out"
        );
    }
    Ok(())
}

//! Standard input: read only as far as a script asks for it, and never waited for by one that does not.
//!
//! The interpreter takes its input as a text or from a pipe. Input that is there as a whole when the script starts, and
//! is small, is handed over as a text. All other input becomes the first stage of a pipeline whose last stage is the
//! script itself. There, the interpreter hands all input to a command or a function that it does not know not to read,
//! so a script that names nothing that reads is given none.
#![allow(unsafe_code, reason = "Rust's library cannot ask whether a stream is ready")]

use std::cell::{Cell, RefCell};
use std::io::Read;
use std::time::Duration;

use bashkit::{Builtin, BuiltinContext, Command, CommandContext, CommandStatus, ExecResult, Result, async_trait};

/// The most input that is looked at before the script starts.
const SMALL_BYTES: usize = 64 << 10;

/// How long a script may wait for something else until input is looked at again.
const PAUSE: Duration = Duration::from_millis(2);

/// The name of the command that passes standard input on.
pub const COMMAND: &str = "ampoule:input";

/// The name of the command that says that the script has ended, with its status.
pub const END: &str = "ampoule:end";

/// The words without which a script does not read its input.
const READERS: &[&str] = &[
    "awk",
    "base32",
    "base64",
    "basenc",
    "bash",
    "bc",
    "bzip2",
    "cat",
    "cksum",
    "cmp",
    "column",
    "comm",
    "csplit",
    "cut",
    "dd",
    "diff",
    "egrep",
    "expand",
    "fgrep",
    "fmt",
    "fold",
    "grep",
    "gunzip",
    "gzip",
    "head",
    "hexdump",
    "iconv",
    "jq",
    "join",
    "less",
    "mapfile",
    "md5sum",
    "more",
    "nl",
    "numfmt",
    "od",
    "parallel",
    "paste",
    "patch",
    "pr",
    "python",
    "python3",
    "read",
    "readarray",
    "rev",
    "rg",
    "sed",
    "sh",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shuf",
    "sort",
    "split",
    "stdin",
    "strings",
    "sum",
    "tac",
    "tail",
    "tar",
    "tee",
    "tr",
    "tsort",
    "unexpand",
    "uniq",
    "wc",
    "xargs",
    "xxd",
    "yq",
    "zcat",
];

thread_local! {
    /// What was read before the script started.
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// Whether the script has ended, and nobody waits for input.
    static ENDED: Cell<bool> = const { Cell::new(false) };
}

/// What there is of standard input when a script starts.
pub enum Stdin {
    /// All of it.
    Whole(Vec<u8>),
    /// Perhaps more than was read so far.
    Streamed,
}

/// Reads what is there without waiting, up to a limit.
pub fn look() -> Stdin {
    let mut read = Vec::new();
    while read.len() < SMALL_BYTES && is_ready() {
        match read_some(&mut read) {
            0 => return Stdin::Whole(read),
            _ => continue,
        }
    }
    READ.set(read);
    Stdin::Streamed
}

/// Whether a script may read its input, as far as its words say.
pub fn is_read_by(source: &str) -> bool {
    source.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| READERS.binary_search(&word).is_ok())
}

/// The script with standard input as it comes: the lines are where they were.
pub fn streaming(source: &str) -> String {
    format!("{COMMAND} | {{ ( {source}\n); {END} $? </dev/null; }}")
}

fn read_some(into: &mut Vec<u8>) -> usize {
    let mut buffer = [0; 16 << 10];
    let length = std::io::stdin().lock().read(&mut buffer).unwrap_or(0);
    into.extend_from_slice(&buffer[..length]);
    length
}

/// Passes standard input on to the next stage of a pipeline.
pub struct PassInput;

#[async_trait]
impl Command for PassInput {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let mut chunk = READ.take();
        loop {
            // Ends with an error when the script does, which is how this command ends as well.
            ctx.stdout.write_all(&chunk).await?;
            while !is_ready() {
                if ENDED.get() {
                    return Ok(CommandStatus::success());
                }
                tokio::time::sleep(PAUSE).await;
            }
            chunk.clear();
            if read_some(&mut chunk) == 0 {
                return Ok(CommandStatus::success());
            }
        }
    }
}

/// Notes that the script has ended.
pub struct End;

#[async_trait]
impl Builtin for End {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        ENDED.set(true);
        let exit_code = ctx.args.first().and_then(|status| status.parse().ok()).unwrap_or_default();
        Ok(ExecResult { exit_code, ..ExecResult::default() })
    }
}

/// Whether a read of standard input would return at once.
fn is_ready() -> bool {
    const STDIN_READABLE: u8 = 1;
    let subscriptions = [Subscription::clock(0), Subscription::readable()];
    let mut events = [Event::default(); 2];
    let mut count = 0;
    // SAFETY: both arrays hold as many elements as the call is told, in WASI's layout.
    let error = unsafe { poll_oneoff(subscriptions.as_ptr(), events.as_mut_ptr(), 2, &raw mut count) };
    // A host that cannot say is read from.
    error != 0 || events[..count.min(2)].iter().any(|event| event.kind == STDIN_READABLE)
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn poll_oneoff(subscriptions: *const Subscription, events: *mut Event, length: usize, count: *mut usize) -> u32;
}

/// WASI's `subscription`.
#[repr(C)]
struct Subscription {
    user_data: u64,
    kind: u64,
    /// A clock's number, or a descriptor.
    subject: u64,
    timeout: u64,
    precision: u64,
    flags: u64,
}

impl Subscription {
    fn clock(timeout: u64) -> Subscription {
        const MONOTONIC: u64 = 1;
        Subscription { user_data: 0, kind: 0, subject: MONOTONIC, timeout, precision: 0, flags: 0 }
    }

    fn readable() -> Subscription {
        Subscription { user_data: 1, kind: 1, subject: 0, timeout: 0, precision: 0, flags: 0 }
    }
}

/// WASI's `event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    user_data: u64,
    error: u16,
    kind: u8,
    bytes: u64,
    flags: u64,
}

//! `ampoule run`: one script, its output as it comes or as one JSON object.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use ampoule::{Call, CancellationToken, ExecuteError, Installer, Limits, Outcome, Sink, Status, Stdin, WasmExecutor};
use anyhow::Context;
use clap::Args;

use super::prepare::Script;
use super::signals::Ends;
use super::{exit, input, say, units, writing};

#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    script: Script,
    #[command(flatten)]
    limits: LimitArgs,
    /// Set a variable; nothing of the host's environment is passed on
    #[arg(long, value_name = "NAME=VALUE", value_parser = units::variable)]
    env: Vec<(String, String)>,
    /// Say which skill the script belongs to: sets TRACON_SKILL_NAME, and TRACON_SKILL_TEMP to its directory
    #[arg(long, value_name = "NAME")]
    skill: Option<String>,
    /// Take standard input from a file
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// Copy what the script left in its working directory to DIR; files it was given and did not change are left out
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Print one JSON object with the outcome instead of the output; with `error` alone where there is no outcome
    #[arg(long)]
    json: bool,
    /// Fail when the runtime is not installed or the program not compiled, instead of doing that
    #[arg(long)]
    no_install: bool,
    /// The script's arguments
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// The limits that can be set on the command line.
#[derive(Args)]
pub struct LimitArgs {
    /// Stop the script after this time [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    timeout: Option<Duration>,
    /// Stop the script after this many units of fuel [default: 500000000000]
    #[arg(long, value_name = "N")]
    fuel: Option<u64>,
    /// Linear memory, the interpreter's included [default: 512MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    memory: Option<u64>,
    /// Kept bytes of each output stream [default: 1MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    max_output: Option<u64>,
    /// Bytes of files in the working directory [default: 256MiB]
    #[arg(long, value_name = "SIZE", value_parser = units::bytes)]
    max_disk: Option<u64>,
}

impl LimitArgs {
    /// The defaults with what was given.
    pub fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        limits.timeout = self.timeout.or(limits.timeout);
        limits.fuel = self.fuel.or(limits.fuel);
        limits.memory_bytes = self.memory.unwrap_or(limits.memory_bytes);
        limits.scratch_bytes = self.max_disk.unwrap_or(limits.scratch_bytes);
        if let Some(bytes) = self.max_output {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            (limits.stdout_bytes, limits.stderr_bytes) = (bytes, bytes);
        }
        limits
    }
}

impl Run {
    pub fn run(self, installer: &Installer) -> anyhow::Result<u8> {
        let json = self.json;
        let result = self.done(installer);
        if let (true, Err(error)) = (json, &result) {
            // Whoever reads the object need not look elsewhere for what is wrong.
            writeln!(io::stdout(), "{}", serde_json::json!({ "error": format!("{error:#}") }))?;
        }
        result
    }

    fn done(self, installer: &Installer) -> anyhow::Result<u8> {
        let limits = self.limits.limits();
        limits.check()?;
        let prepared = self.script.prepare(installer, !self.no_install)?;
        let executor =
            WasmExecutor::builder(installer.home().clone()).allow("script", &prepared.image).keep_idle(1).build()?;

        let mut call = Call::new(prepared.source).arguments(self.arguments);
        call.name = prepared.name;
        call.environment = self.env;
        call.skill = self.skill;
        call.files = prepared.files;
        call.limits = limits;
        call.keep = self.keep;
        check_descriptors()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.context("the asynchronous runtime cannot start")?;
        call.stdin = match self.stdin {
            Some(path) => {
                let input = input::of_file(&path, call.limits.stdin_bytes, runtime.handle());
                input.with_context(|| format!("the input `{}`", path.display()))?
            }
            None if prepared.took_stdin => Stdin::Closed,
            None => input::standard(),
        };
        let result = runtime.block_on(one(&executor, call, self.json));
        // Dropping the runtime would wait for the thread that reads our standard input, which may never get any.
        runtime.shutdown_background();
        result
    }
}

/// Fails where there are too few descriptors to listen for an interrupt: the asynchronous runtime would panic.
#[cfg(unix)]
fn check_descriptors() -> anyhow::Result<()> {
    use std::os::fd::AsFd;
    const NEEDED: usize = 10;
    let stdin = io::stdin();
    let copies: io::Result<Vec<_>> = (0..NEEDED).map(|_| stdin.as_fd().try_clone_to_owned()).collect();
    copies.map(drop).context("a run needs some descriptors: raise the limit on open files (ulimit -n)")
}

/// There is no such limit on this system.
#[cfg(not(unix))]
fn check_descriptors() -> anyhow::Result<()> {
    Ok(())
}

/// Runs the call and shows what it does.
async fn one(executor: &WasmExecutor, mut call: Call, json: bool) -> anyhow::Result<u8> {
    let cancel = CancellationToken::new();
    let mut writers = Vec::new();
    if !json {
        call.stdout = Some(writer(Stream::Stdout, cancel.clone(), &mut writers));
        call.stderr = Some(writer(Stream::Stderr, cancel.clone(), &mut writers));
    }
    // Listened for before the script starts.
    let mut ends = Ends::new()?;
    let mut asked_to_end = None;
    let interrupted = async {
        asked_to_end = Some(ends.next().await);
        cancel.cancel();
        std::future::pending::<()>().await;
    };
    let limits = call.limits.clone();
    let (result, written) = tokio::select! {
        biased;
        () = interrupted => unreachable!("it waits for ever"),
        ended = async {
            let result = executor.call("script", call, &cancel).await;
            let mut written = Vec::new();
            for writer in writers {
                written.push(writing::done(writer, &cancel).await);
            }
            (result, written)
        } => ended,
    };
    let mut broken = false;
    for written in written {
        match (written, asked_to_end) {
            (Some(Err(error)), _) if error.kind() == io::ErrorKind::BrokenPipe => broken = true,
            (Some(Err(error)), _) => return Err(error).context("the script's output cannot be written"),
            (None, Some(code)) => return Ok(code),
            _ => {}
        }
    }
    let outcome = match result {
        Err(ExecuteError::Cancelled) if broken => return Ok(exit::BROKEN_PIPE),
        Err(ExecuteError::Cancelled) if asked_to_end == Some(exit::TERMINATED) => return Ok(exit::TERMINATED),
        result => result?,
    };
    if json {
        writeln!(io::stdout(), "{}", serde_json::to_string(&outcome)?)?;
    } else {
        notices(&outcome, &limits);
    }
    Ok(outcome.status.exit_code().unwrap_or(exit::TIMED_OUT))
}

/// What a person should know and the script did not say.
fn notices(outcome: &Outcome, limits: &Limits) {
    match &outcome.status {
        Status::TimedOut => {
            let timeout = limits.timeout.unwrap_or_default();
            say(format_args!("stopped at the timeout of {} (--timeout)", humantime::format_duration(timeout)));
        }
        Status::OutOfFuel => {
            say(format_args!(
                "stopped when its {} units of fuel were used up (--fuel)",
                limits.fuel.unwrap_or(u64::MAX)
            ));
        }
        Status::Trapped(reason) => say(format_args!("the script crashed inside the sandbox: {reason}")),
        _ => {}
    }
    if outcome.truncated {
        let (stdout, stderr) = (outcome.usage.stdout_bytes, outcome.usage.stderr_bytes);
        say(format_args!(
            "output was cut at {} bytes of a stream (--max-output): the script wrote {stdout} to standard output \
             and {stderr} to standard error",
            limits.stdout_bytes
        ));
    }
}

#[derive(Clone, Copy)]
enum Stream {
    Stdout,
    Stderr,
}

/// Writes a stream's pieces to ours as they come, on a thread of its own. When the other end goes away, the call is
/// cancelled.
fn writer(stream: Stream, cancel: CancellationToken, writers: &mut Vec<JoinHandle<io::Result<()>>>) -> Sink {
    let (sink, mut pieces) = Sink::channel(16);
    writers.push(std::thread::spawn(move || {
        let mut out: Box<dyn Write> = match stream {
            Stream::Stdout => Box::new(io::stdout()),
            Stream::Stderr => Box::new(io::stderr()),
        };
        let written = (|| {
            while let Some(piece) = pieces.blocking_recv() {
                out.write_all(&piece)?;
                if io::stdout().is_terminal() || pieces.is_empty() {
                    out.flush()?;
                }
            }
            out.flush()
        })();
        if written.is_err() {
            cancel.cancel();
        }
        written
    }));
    sink
}

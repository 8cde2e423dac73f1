//! `ampoule bench`: whole calls, each in a fresh store, beside a native command started as a process.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ampoule::{Call, CancellationToken, InputFile, Installer, Limits, Outcome, Status, WasmExecutor};
use anyhow::{Context, bail, ensure};
use clap::Args;
use serde::Serialize;

use super::exit;
use super::prepare::{Prepared, Script};
use super::program::is_program;
use super::run::LimitArgs;

#[derive(Args)]
pub struct Bench {
    #[command(flatten)]
    script: Script,
    #[command(flatten)]
    limits: LimitArgs,
    /// How many calls
    #[arg(short = 'n', long = "runs", default_value_t = 200, value_name = "N")]
    runs: usize,
    /// How many callers at once
    #[arg(long, default_value_t = 1, value_name = "N")]
    jobs: usize,
    /// The native command to compare with [default: the runtime's, such as `python3 -I -S SCRIPT`]; empty for none
    #[arg(long, value_name = "COMMAND")]
    vs: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Fail when the runtime is not installed or the program not compiled, instead of doing that
    #[arg(long)]
    no_install: bool,
}

/// Calls before the measured ones: the first fill slots and caches.
const WARM_UP_CALLS: usize = 10;

/// The result, in milliseconds.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    runs: usize,
    jobs: usize,
    #[serde(flatten)]
    times: Times,
    calls_per_second: f64,
    fuel_used: u64,
    native: Option<Times>,
    /// The native median over ours.
    ratio: Option<f64>,
}

#[derive(Serialize, Clone, Copy)]
#[serde(rename_all = "camelCase")]
struct Times {
    min_ms: f64,
    median_ms: f64,
    p99_ms: f64,
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Times {
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize].as_secs_f64() * 1000.0;
        Times { min_ms: at(0.0), median_ms: at(0.5), p99_ms: at(0.99) }
    }
}

impl Bench {
    pub fn run(self, installer: &Installer) -> anyhow::Result<u8> {
        ensure!(self.runs > 0, "-n is 0, but at least one call is needed");
        ensure!((1..=1024).contains(&self.jobs), "--jobs is {}, but it may be 1 to 1024", self.jobs);
        let limits = self.limits.limits();
        limits.check()?;
        let native = native_command(self.vs.as_deref(), self.script.path(), installer, &self.script)?;
        let prepared = self.script.prepare(installer, !self.no_install)?;
        let executor = WasmExecutor::builder(installer.home().clone()).allow("script", &prepared.image).build()?;

        let calls = Calls { executor, prepared, limits };
        let (times, elapsed, outcome) = measure(Arc::new(calls), self.runs, self.jobs)?;
        let calls_per_second = self.runs as f64 / elapsed.as_secs_f64();
        let times = Times::of(times);
        let native = native.map(|command| native_times(&command, self.runs.min(200))).transpose()?;
        let ratio = native.map(|native| native.median_ms / times.median_ms);
        let report = Report {
            runs: self.runs,
            jobs: self.jobs,
            times,
            calls_per_second,
            fuel_used: outcome.usage.fuel,
            native,
            ratio,
        };
        if self.json {
            writeln!(io::stdout(), "{}", serde_json::to_string(&report)?)?;
        } else {
            print(&report)?;
        }
        Ok(exit::OK)
    }
}

struct Calls {
    executor: WasmExecutor,
    prepared: Prepared,
    limits: Limits,
}

impl Calls {
    async fn one(&self) -> anyhow::Result<(Duration, Outcome)> {
        let mut call = Call::new(self.prepared.source.as_str()).limits(self.limits.clone());
        call.name = self.prepared.name.clone();
        call.files = self.prepared.files.iter().map(InputFile::clone).collect();
        let start = Instant::now();
        let outcome = self.executor.call("script", call, &CancellationToken::new()).await?;
        let elapsed = start.elapsed();
        if outcome.status != Status::Exited(0) {
            let stderr = outcome.stderr_text();
            bail!(
                "the script did not end with 0 but with {:?}, so there is nothing to measure\n{stderr}",
                outcome.status
            );
        }
        Ok((elapsed, outcome))
    }
}

/// Makes the calls, shared out between the jobs, and returns each one's time, the time of all, and one outcome.
fn measure(calls: Arc<Calls>, runs: usize, jobs: usize) -> anyhow::Result<(Vec<Duration>, Duration, Outcome)> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(jobs).enable_all().build()?;
    runtime.block_on(async {
        let spawn = |runs: usize| {
            let next = Arc::new(AtomicUsize::new(0));
            let workers: Vec<_> = (0..jobs)
                .map(|_| {
                    let (calls, next) = (calls.clone(), next.clone());
                    tokio::spawn(async move {
                        let mut times = Vec::new();
                        let mut last = None;
                        while next.fetch_add(1, Ordering::Relaxed) < runs {
                            let (time, outcome) = calls.one().await?;
                            times.push(time);
                            last = Some(outcome);
                        }
                        anyhow::Ok((times, last))
                    })
                })
                .collect();
            workers
        };
        for worker in spawn(WARM_UP_CALLS * jobs) {
            worker.await??;
        }
        let start = Instant::now();
        let mut times = Vec::new();
        let mut last = None;
        for worker in spawn(runs) {
            let (some, outcome) = worker.await??;
            times.extend(some);
            last = outcome.or(last);
        }
        let elapsed = start.elapsed();
        Ok((times, elapsed, last.context("no call was made")?))
    })
}

/// The native command as words, or none.
fn native_command(
    vs: Option<&str>,
    path: Option<&Path>,
    installer: &Installer,
    script: &Script,
) -> anyhow::Result<Option<Vec<String>>> {
    if let Some(vs) = vs {
        let words = shlex::split(vs).with_context(|| format!("--vs `{vs}` has an open quote"))?;
        return Ok((!words.is_empty()).then_some(words));
    }
    let Some(path) = path else { return Ok(None) };
    if script.runtime.is_none() && is_program(path)? {
        return Ok(None);
    }
    let recipe = match &script.runtime {
        Some(image) => installer.recipe(image)?,
        None => installer.catalog().by_extension(path)?,
    };
    let words = recipe.manifest.native_command.clone();
    let there = words.first().is_some_and(|program| quiet(&[program.clone(), "--version".into()]).status().is_ok());
    Ok(there.then(|| words.into_iter().chain([path.display().to_string()]).collect()))
}

fn quiet(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

fn native_times(words: &[String], runs: usize) -> anyhow::Result<Times> {
    let mut times = Vec::new();
    for _ in 0..runs {
        let start = Instant::now();
        let status = quiet(words).status().with_context(|| format!("the native command `{}`", words.join(" ")))?;
        times.push(start.elapsed());
        ensure!(status.success(), "the native command `{}` failed: {status}", words.join(" "));
    }
    Ok(Times::of(times))
}

fn print(report: &Report) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut row = |name: &str, times: &Times| {
        writeln!(
            out,
            "{name:<8} min {:.3} ms   median {:.3} ms   p99 {:.3} ms",
            times.min_ms, times.median_ms, times.p99_ms
        )
    };
    row("sealed", &report.times)?;
    if let Some(native) = &report.native {
        row("native", native)?;
    }
    writeln!(
        out,
        "{} calls by {} at once: {:.0} calls/s, {} units of fuel each",
        report.runs, report.jobs, report.calls_per_second, report.fuel_used
    )?;
    if let Some(ratio) = report.ratio {
        writeln!(out, "the native median is {ratio:.1} times ours")?;
    }
    Ok(())
}

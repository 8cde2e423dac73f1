//! `ampoule task`: list, show, run.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ampoule::host::{Grant, GrantStore, HostConfig, MemoryGrants, ScriptHost};
use ampoule::permissions::{NamedFolder, Scope};
use ampoule::task::{self, StreamName, TaskCall, TaskEvent, TaskRunner, TaskRuntime, TaskSet, TraceContext};
use ampoule::{CancellationToken, Compiler, CompilerProcess, Installer, Limits, WasmExecutor};
use anyhow::{Context, anyhow, ensure};
use clap::{Args, Subcommand};

use super::control::HostArgs;
use super::install::{Shown, ensure as ensure_installed};
use super::signals::Ends;
use super::{exit, printable, say, writing};

#[derive(Subcommand)]
pub enum Task {
    /// List the tasks
    List {
        #[command(flatten)]
        tasks: Tasks,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show a task, with what it has by default, as JSON
    Show {
        #[command(flatten)]
        tasks: Tasks,
        /// The task
        id: String,
    },
    /// Run a task: its output as it comes, then the whole result as JSON. Ends with 0 when it completed, else with 1
    Run(Run),
}

#[derive(Args)]
pub struct Tasks {
    /// The file that the tasks are in
    #[arg(long = "tasks", default_value = "tasks.toml", value_name = "FILE")]
    file: PathBuf,
}

#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    tasks: Tasks,
    #[command(flatten)]
    host: HostArgs,
    /// The task
    id: String,
    /// Arguments behind the task's own: a JSON array of strings
    #[arg(long, value_name = "JSON", value_parser = arguments, allow_hyphen_values = true)]
    args: Option<Arguments>,
    /// Variables, which win over the task's own: a JSON object of strings
    #[arg(long, value_name = "JSON", value_parser = variables)]
    env: Option<Variables>,
    /// Stop the task after this many milliseconds [default: the task's own timeout]
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Take standard input from a file
    #[arg(long, value_name = "FILE")]
    stdin: Option<PathBuf>,
    /// The trace that the call belongs to, as W3C Trace Context writes it
    #[arg(long, env = "TRACEPARENT", value_name = "TRACEPARENT", hide_env = true)]
    traceparent: Option<String>,
    /// Show the output on standard error, and only the result, on one line, on standard output
    #[arg(long)]
    json: bool,
    /// Fail when the runtime is not installed, instead of installing it
    #[arg(long)]
    no_install: bool,
}

/// The value of `--args`.
#[derive(Clone)]
struct Arguments(Vec<String>);

/// The value of `--env`.
#[derive(Clone)]
struct Variables(BTreeMap<String, String>);

fn arguments(text: &str) -> Result<Arguments, String> {
    let expected = r#"write a JSON array of strings, such as '["--name", "Ada"]'"#;
    serde_json::from_str(text).map(Arguments).map_err(|error| format!("{error}; {expected}"))
}

fn variables(text: &str) -> Result<Variables, String> {
    let expected = r#"write a JSON object of strings, such as '{"LEVEL": "debug"}'"#;
    serde_json::from_str(text).map(Variables).map_err(|error| format!("{error}; {expected}"))
}

impl Task {
    pub fn run(self, installer: &Installer) -> anyhow::Result<u8> {
        match self {
            Task::List { tasks, json } => {
                let set = TaskSet::from_file(&tasks.file)?;
                if json {
                    let tasks: Vec<&task::Task> = set.tasks().collect();
                    writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&tasks)?)?;
                    return Ok(exit::OK);
                }
                for task in set.tasks() {
                    let description = task.description.as_deref().unwrap_or_default();
                    let off = if task.disabled { "  (switched off)" } else { "" };
                    let line = format!(
                        "{}  {}  {}  {description}{off}",
                        task.id,
                        task.runtime.name(),
                        task.entrypoint.display()
                    );
                    writeln!(io::stdout(), "{}", printable(line.trim_end()))?;
                }
            }
            Task::Show { tasks, id } => {
                let set = TaskSet::from_file(&tasks.file)?;
                writeln!(io::stdout(), "{}", serde_json::to_string_pretty(set.get(&id)?)?)?;
            }
            Task::Run(run) => return run.run(installer),
        }
        Ok(exit::OK)
    }
}

/// The name of the executor here, which a configuration has to say.
const EXECUTOR: &str = "wasm";

impl Run {
    fn run(self, installer: &Installer) -> anyhow::Result<u8> {
        let set = TaskSet::from_file(&self.tasks.file)?;
        let task = set.get(&self.id)?.clone();
        let call = self.call()?;
        let home = installer.home();
        let (config, grants): (_, Arc<dyn GrantStore>) = match self.host.config()? {
            Some(config) => (config, Arc::new(self.host.grants(home)?)),
            None => (local(&set), Arc::new(MemoryGrants::new([Grant::skill("local", "tasks")]))),
        };
        let audit = self.host.audit(home)?;

        let mut limits = Limits::default();
        limits.timeout = Some(config.longest_timeout);
        limits.source_bytes = limits.source_bytes.max(config.max_script_bytes);
        limits.stdout_bytes = config.max_output_bytes;
        limits.stderr_bytes = config.max_output_bytes;
        let mut builder = WasmExecutor::builder(home.clone()).limits(limits).keep_idle(1);
        let mut program = None;
        if task.runtime == TaskRuntime::Executable {
            program = self.program(installer, &set, &task)?;
            if let Some(program) = &program {
                builder = builder.allow(&program.interpreter, &program.image);
            }
        } else {
            // What the host does not allow it denies: nothing is loaded for it.
            if let Some(image) = config.interpreter(&task.extension()) {
                let runs_scripts = installer.runs_scripts(image)?;
                ensure!(runs_scripts, "the host's interpreter `{image}` runs no scripts: name the runtime that does");
                ensure_installed(installer, image, !self.no_install)?;
                builder = builder.allow(image, image);
            }
        }
        let host = ScriptHost::builder(config, EXECUTOR, Arc::new(builder.build()?), audit).grants(grants).build()?;
        let mut runner = TaskRunner::builder(host, set);
        if let Some(program) = program {
            runner = runner.program(program);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.context("the asynchronous runtime cannot start")?;
        let code = runtime.block_on(shown(&runner.build(), &self.id, call, self.json));
        runtime.shutdown_background();
        match self.host.named() {
            Some(host) => code.context(host),
            None => code,
        }
    }

    fn call(&self) -> anyhow::Result<TaskCall> {
        let mut call = TaskCall::new();
        if let Some(Arguments(arguments)) = &self.args {
            call = call.args(arguments);
        }
        if let Some(Variables(variables)) = &self.env {
            call.env = variables.clone();
        }
        call.timeout = self.timeout.map(Duration::from_millis);
        if let Some(path) = &self.stdin {
            let text = std::fs::read_to_string(path).with_context(|| format!("the input `{}`", path.display()))?;
            call = call.stdin(text);
        }
        if let Some(parent) = self.traceparent.as_deref().filter(|parent| !parent.is_empty()) {
            call = call.trace(TraceContext::parse(parent)?);
        }
        Ok(call)
    }

    fn program(
        &self,
        installer: &Installer,
        set: &TaskSet,
        task: &task::Task,
    ) -> anyhow::Result<Option<task::TaskProgram>> {
        let this =
            std::env::current_exe().context("this program cannot find itself, to compile in a process of its own")?;
        let compiler = Compiler::Process(CompilerProcess::new(this, [super::program::COMPILE_MODULE]));
        let mut progress = Shown::default();
        let program = set.program(task, installer, &compiler, &mut |step| progress.step(&step));
        progress.end(program.is_ok());
        Ok(program?)
    }
}

/// What suits the person at this terminal, whose own tasks these are: all runtimes, and as the most that a task may ask
/// for the folder of the tasks and any variable that it names.
fn local(set: &TaskSet) -> HostConfig {
    let mut config = HostConfig::new(EXECUTOR);
    config.scripts_enabled = true;
    config.interpreters = TaskRuntime::ALL
        .into_iter()
        .flat_map(|runtime| {
            let interpreter = runtime.image().unwrap_or("program");
            runtime.extensions().iter().map(move |extension| ((*extension).to_owned(), interpreter.to_owned()))
        })
        .collect();
    let limits = Limits::default();
    config.longest_timeout = Duration::from_secs(24 * 3600);
    config.max_output_bytes = limits.stdout_bytes;
    config.max_script_bytes = limits.source_bytes;
    config.max_arguments_bytes = limits.arguments_bytes;
    let folder = || Scope::only([NamedFolder::new(set.folder()).named("tasks")]);
    config.max_permissions.read = folder();
    config.max_permissions.write = folder();
    config.max_permissions.env = Scope::All;
    config
}

/// Runs the task, shows what it writes as it comes, then its result.
async fn shown(runner: &TaskRunner, id: &str, call: TaskCall, json: bool) -> anyhow::Result<u8> {
    let cancel = CancellationToken::new();
    let mut run = runner.start(id, call, &cancel)?;
    let (lines, mut waiting) = tokio::sync::mpsc::channel::<TaskEvent>(16);
    let broken = cancel.clone();
    let writer = std::thread::spawn(move || {
        let mut written = Ok(());
        while let Some(event) = waiting.blocking_recv() {
            if written.is_ok() {
                written = write(&event, json);
                if written.is_err() {
                    broken.cancel();
                }
            }
        }
        written
    });
    let mut ends = Ends::new()?;
    let mut asked_to_end = None;
    let interrupted = async {
        asked_to_end = Some(ends.next().await);
        cancel.cancel();
        std::future::pending::<()>().await;
    };
    let (result, written) = tokio::select! {
        biased;
        () = interrupted => unreachable!("it waits for ever"),
        ended = async {
            use tokio_stream::StreamExt;
            while let Some(event) = run.next().await {
                // Once it is to end, what nobody takes is not waited for.
                tokio::select! {
                    biased;
                    _ = lines.send(event) => {}
                    () = cancel.cancelled() => {}
                }
            }
            drop(lines);
            (run.result().await, writing::done(writer, &cancel).await)
        } => ended,
    };
    match (written, asked_to_end) {
        (Some(written), _) => written?,
        (None, Some(code)) => return Ok(code),
        (None, None) => return Err(anyhow!("the output could not be shown")),
    }
    let result = result?;
    let text = if json { serde_json::to_string(&result)? } else { serde_json::to_string_pretty(&result)? };
    writeln!(io::stdout(), "{text}")?;
    Ok(asked_to_end.unwrap_or(u8::from(!result.success)))
}

fn write(event: &TaskEvent, json: bool) -> io::Result<()> {
    match event {
        TaskEvent::Line { stream: StreamName::Stdout, text } if !json => {
            let mut out = io::stdout().lock();
            writeln!(out, "{text}")?;
            out.flush()
        }
        TaskEvent::Line { text, .. } => writeln!(io::stderr(), "{text}"),
        TaskEvent::Retry { attempt, delay, error } => {
            let error = error.as_deref().unwrap_or("it failed");
            say(format_args!("{error}; trying again in {delay:?} (attempt {attempt})"));
            Ok(())
        }
        _ => Ok(()),
    }
}

//! The command line: one file per subcommand.

mod audit;
mod bench;
mod control;
pub mod exit;
mod files;
mod grant;
mod image;
mod imports;
mod input;
mod install;
#[cfg(feature = "mcp")]
mod mcp;
mod prepare;
mod program;
mod run;
mod runtime;
#[cfg(feature = "serve")]
mod serve;
mod signals;
mod task;
mod telemetry;
mod units;
mod writing;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;

use ampoule::{Catalog, CompilerProcess, Home, Installer};
use clap::{Parser, Subcommand};

/// Run untrusted scripts, sealed inside WebAssembly.
#[derive(Parser)]
#[command(version, after_help = exit::HELP)]
pub struct Cli {
    // The variable is read by the library, too. Read by the parser it would count as an option that was given, and show in
    // the usage lines of errors.
    /// The folder that installed runtimes are kept in [default: ampoule in the user's cache folder] [env: AMPOULE_HOME]
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a script
    #[command(after_help = exit::HELP)]
    Run(run::Run),
    /// Measure calls of a script, each in a fresh store, beside a native command
    Bench(bench::Bench),
    /// Compile a WASI program ahead of its first run, and print the name it is then known by
    Compile(program::Compile),
    /// Read a module from standard input and write its code to standard output
    #[command(name = program::COMPILE_MODULE, hide = true)]
    CompileModule,
    /// Offer tools to agents, by the Model Context Protocol
    #[cfg(feature = "mcp")]
    Mcp(mcp::Mcp),
    /// Run scripts that come over HTTP
    #[cfg(feature = "serve")]
    Serve(serve::Serve),
    /// Add, install, list, verify and remove runtimes
    #[command(subcommand)]
    Runtime(runtime::Runtime),
    /// Make and keep images of your own: a runtime with your imports and data already there
    #[command(subcommand)]
    Image(image::Image),
    /// Run tasks in several languages, each with the permissions that it names
    #[command(subcommand)]
    Task(task::Task),
    /// Say who may run which script
    #[command(subcommand)]
    Grant(grant::Grants),
    /// Look at what was allowed and denied, and whether the record is whole
    #[command(subcommand)]
    Audit(audit::Audit),
}

impl Command {
    fn log(&self) -> telemetry::Log {
        match self {
            #[cfg(feature = "mcp")]
            Command::Mcp(mcp) => telemetry::Log::Service(mcp.service.log_format),
            #[cfg(feature = "serve")]
            Command::Serve(serve) => telemetry::Log::Service(serve.service.log_format),
            _ => telemetry::Log::Warnings,
        }
    }
}

/// Makes a file that would be larger than the system lets this process make (`ulimit -f`) an error of the write's, which
/// it is to a script, and not the end of the process.
#[cfg(unix)]
fn bear_the_limit_on_files() {
    let noted = std::sync::Arc::default();
    if let Err(error) = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, noted) {
        tracing::debug!(%error, "SIGXFSZ ends this process");
    }
}

/// There is no such limit on this system.
#[cfg(not(unix))]
fn bear_the_limit_on_files() {}

/// A text from somebody else, such as a name: what could move the cursor or hide something is shown escaped.
fn printable(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// Says something on standard error. Whoever reads it may have gone away: then nobody is to be told.
fn say(what: impl Display) {
    let _ = writeln!(io::stderr(), "ampoule: {what}");
}

impl Cli {
    /// Runs the command and returns the exit code.
    pub fn run(self) -> u8 {
        bear_the_limit_on_files();
        let logging = self.command.log().begin();
        let result = logging.and_then(|_logging| self.command());
        result.unwrap_or_else(|error| {
            let code = exit::code_of(&error);
            let option = exit::option_of(&error).map_or_else(String::new, |option| format!(" ({option})"));
            if code != exit::BROKEN_PIPE {
                say(format_args!("{error:#}{option}"));
            }
            code
        })
    }

    fn command(self) -> anyhow::Result<u8> {
        let mut installer = self.installer()?;
        match self.command {
            Command::Run(run) => run.run(&installer),
            Command::Bench(bench) => bench.run(&installer),
            Command::Compile(compile) => compile.run(&installer),
            Command::CompileModule => Ok(CompilerProcess::serve().map(|()| exit::OK)?),
            #[cfg(feature = "mcp")]
            Command::Mcp(mcp) => mcp.run(&installer),
            #[cfg(feature = "serve")]
            Command::Serve(serve) => serve.run(&installer),
            Command::Runtime(runtime) => runtime.run(&mut installer),
            Command::Image(image) => image.run(&mut installer),
            Command::Task(task) => task.run(&installer),
            Command::Grant(grants) => grants.run(installer.home()),
            Command::Audit(audit) => audit.run(installer.home()),
        }
    }

    fn installer(&self) -> anyhow::Result<Installer> {
        let home = match &self.home {
            Some(home) if !home.as_os_str().is_empty() => Home::at(std::path::absolute(home)?),
            _ => Home::from_env()?,
        };
        let catalog = Catalog::of(&home);
        Ok(Installer::new(home, catalog))
    }
}

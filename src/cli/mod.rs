//! The command line: one file per subcommand.

mod bench;
pub mod exit;
mod files;
mod image;
mod input;
mod install;
mod mentions;
mod prepare;
mod program;
mod run;
mod runtime;
mod units;

use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;

use ampoule::{Catalog, CompilerProcess, Home, Installer};
use clap::{Parser, Subcommand};

/// Run untrusted scripts, sealed inside WebAssembly.
#[derive(Parser)]
#[command(version, after_help = exit::HELP)]
pub struct Cli {
    /// The folder that installed runtimes are kept in [default: ampoule in the user's cache folder]
    #[arg(long, global = true, env = "AMPOULE_HOME", value_name = "DIR", hide_env_values = true)]
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
    /// Add, install, list, verify and remove runtimes
    #[command(subcommand)]
    Runtime(runtime::Runtime),
    /// Make and keep images of your own: a runtime with your imports and data already there
    #[command(subcommand)]
    Image(image::Image),
}

/// Says something on standard error. Whoever reads it may have gone away: then nobody is to be told.
fn say(what: impl Display) {
    let _ = writeln!(io::stderr(), "ampoule: {what}");
}

impl Cli {
    /// Runs the command and returns the exit code.
    pub fn run(self) -> u8 {
        let filter = tracing_subscriber::EnvFilter::try_from_env("AMPOULE_LOG").unwrap_or_else(|_| "warn".into());
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).without_time().init();
        let result = self.installer().and_then(|mut installer| match self.command {
            Command::Run(run) => run.run(&installer),
            Command::Bench(bench) => bench.run(&installer),
            Command::Compile(compile) => compile.run(&installer),
            Command::CompileModule => Ok(CompilerProcess::serve().map(|()| exit::OK)?),
            Command::Runtime(runtime) => runtime.run(&mut installer),
            Command::Image(image) => image.run(&mut installer),
        });
        result.unwrap_or_else(|error| {
            let code = exit::code_of(&error);
            let option = exit::option_of(&error).map_or_else(String::new, |option| format!(" ({option})"));
            if code != exit::BROKEN_PIPE {
                say(format_args!("{error:#}{option}"));
            }
            code
        })
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

//! The command-line program: parses, calls the library, maps to an exit code.

mod cli;

use std::process::ExitCode;

use clap::Parser;

/// The engine allocates and frees megabytes in each call, which this allocator keeps at hand.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let code = match cli::Cli::try_parse() {
        Ok(cli) => cli.run(),
        Err(error) => {
            let _ = error.print();
            if error.use_stderr() { cli::exit::FAILED } else { cli::exit::OK }
        }
    };
    // Not a return: a thread may still be waiting for standard input, and nothing else is left to end.
    std::process::exit(code.into())
}

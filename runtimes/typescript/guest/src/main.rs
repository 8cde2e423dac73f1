//! A filter from TypeScript to JavaScript: the text comes from standard input, the first argument is its path, and the
//! JavaScript goes to standard output with a source map at its end.
//!
//! A mistake in the text is shown on standard error as an engine would, and the exit code is 1. Where the second argument
//! is `module`, the JavaScript throws the mistake instead: it is wrong only if the script asks for it.

mod javascript;
mod mistake;

use std::io::{self, Read, Write};
use std::process::ExitCode;

fn main() -> io::Result<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "script.ts".to_owned());
    let is_module = arguments.next().is_some_and(|role| role == "module");
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let code = match javascript::of(&path, &text) {
        Ok(code) => code,
        Err(mistake) if is_module => mistake::thrown(&mistake),
        Err(mistake) => {
            io::stderr().write_all(mistake.as_bytes())?;
            return Ok(ExitCode::FAILURE);
        }
    };
    io::stdout().write_all(code.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

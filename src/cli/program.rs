//! WASI programs on the command line, and `ampoule compile`, which makes one ready ahead of its first run.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use ampoule::{Compiler, CompilerProcess, Installer, PROGRAM_BYTES, assembled};
use anyhow::Context;
use clap::Args;

use super::exit::{self, NotCompiled};
use super::install::Shown;

#[derive(Args)]
pub struct Compile {
    /// The programs, modules of WASI preview 1 (.wasm, or their text .wat)
    #[arg(required = true, value_name = "FILE")]
    programs: Vec<PathBuf>,
}

impl Compile {
    /// Prints the name of each program's image, which an allow-list takes, and which `--runtime` does.
    pub fn run(self, installer: &Installer) -> anyhow::Result<u8> {
        for path in &self.programs {
            writeln!(io::stdout(), "{}", ready(installer, path, true)?)?;
        }
        Ok(exit::OK)
    }
}

/// The words that make this program a process that compiles: see [`CompilerProcess`].
pub const COMPILE_MODULE: &str = "compile-module";

/// Whether the file is a program, by its extension or its first bytes.
pub fn is_program(path: &Path) -> anyhow::Result<bool> {
    if has_extension(path, "wasm") || is_text(path) {
        return Ok(true);
    }
    // What comes through a pipe can be read but once.
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(false);
    }
    let mut beginning = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut beginning));
    // A file that is shorter, or cannot be read, is for others to talk about.
    Ok(read.is_ok() && beginning == *b"\0asm")
}

/// Whether the file is WebAssembly in text form, by its extension.
fn is_text(path: &Path) -> bool {
    has_extension(path, "wat")
}

fn has_extension(path: &Path, expected: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(expected))
}

/// Makes the program at `path` ready, by a process of its own that can be stopped, and returns its image's name.
pub fn ready(installer: &Installer, path: &Path, may_compile: bool) -> anyhow::Result<String> {
    let shown = path.display();
    let mut module = Vec::new();
    let file = File::open(path).with_context(|| format!("the program `{shown}`"))?;
    // One byte more than is allowed, so that the limit can say so.
    let read = file.take(PROGRAM_BYTES as u64 + 1).read_to_end(&mut module);
    read.with_context(|| format!("the program `{shown}`"))?;
    if is_text(path) {
        let binary = assembled(&module).map(|binary| binary.into_owned());
        module = binary.with_context(|| format!("the program `{shown}`"))?;
    }
    if !may_compile {
        let image = installer.ready_program(&module)?;
        return image.ok_or_else(|| NotCompiled(shown.to_string()).into());
    }
    let this =
        std::env::current_exe().context("this program cannot find itself, to compile in a process of its own")?;
    let compiler = Compiler::Process(CompilerProcess::new(this, [COMPILE_MODULE]));
    let mut progress = Shown::default();
    let image = installer.program(&module, &compiler, &mut |step| progress.step(&step));
    progress.end(image.is_ok());
    image.with_context(|| format!("`{shown}`"))
}

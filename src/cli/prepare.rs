//! From a path on the command line to a script or program, what runs it, and the files beside it.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use ampoule::{InputFile, Installer, Limits};
use anyhow::{Context, ensure};
use clap::Args;

use super::files::Files;
use super::install::ensure as ensure_installed;
use super::program;

/// Which script, and what runs it.
#[derive(Args)]
pub struct Script {
    /// The runtime image, such as python or python-data [default: by the script's extension and what it mentions; python
    /// for -e and -]
    #[arg(long, short, visible_alias = "image", value_name = "NAME")]
    pub runtime: Option<String>,
    /// Code to run instead of a file
    #[arg(short = 'e', long = "eval", value_name = "CODE", conflicts_with = "script", allow_hyphen_values = true)]
    eval: Option<String>,
    /// Do not copy modules that lie beside the script and that it mentions
    #[arg(long)]
    isolated: bool,
    /// Copy a file, or a folder with all that is in it, into the script's directory; may be repeated
    #[arg(long = "file", value_name = "PATH")]
    given: Vec<PathBuf>,
    /// The script's file, a WASI program (.wasm or .wat), or - for standard input
    #[arg(required_unless_present_any = ["eval", "runtime"])]
    script: Option<PathBuf>,
}

/// A script or program that was read, with what runs it ready.
pub struct Prepared {
    pub image: String,
    pub name: Option<String>,
    /// The script's text. A program has none.
    pub source: String,
    pub files: Vec<InputFile>,
    /// Standard input was the script.
    pub took_stdin: bool,
}

/// What runs code that has no file name.
const DEFAULT_RUNTIME: &str = "python";

/// The largest script that is read at all: past the limit, so that the limit can say so.
const READ_AT_MOST: u64 = 64 << 20;

impl Script {
    /// The script's path, when it is a file.
    pub fn path(&self) -> Option<&Path> {
        self.script.as_deref().filter(|path| *path != OsStr::new("-"))
    }

    /// Reads the script, finds its runtime, and installs that unless it is there or `may_install` is false.
    pub fn prepare(self, installer: &Installer, may_install: bool) -> anyhow::Result<Prepared> {
        let program = match (&self.runtime, self.path()) {
            (Some(image), _) if !installer.runs_scripts(image)? => {
                let nothing_to_run = self.script.is_none() && self.eval.is_none();
                ensure!(nothing_to_run, "`{image}` runs no scripts: it is a program itself");
                ensure_installed(installer, image, may_install)?;
                Some((image.clone(), None))
            }
            (None, Some(path)) if program::is_program(path)? => {
                Some((program::ready(installer, path, may_install)?, file_name(path)))
            }
            _ => None,
        };
        if let Some((image, name)) = program {
            let mut files = Files::default();
            for given in &self.given {
                files.give(given)?;
            }
            return Ok(Prepared { image, name, source: String::new(), files: files.into_inner(), took_stdin: false });
        }
        ensure!(self.script.is_some() || self.eval.is_some(), "there is no script: name a file, - or -e CODE");
        let prepared = self.script(installer)?;
        ensure_installed(installer, &prepared.image, may_install)?;
        Ok(prepared)
    }

    fn script(self, installer: &Installer) -> anyhow::Result<Prepared> {
        let catalog = installer.catalog();
        let recipe = match (&self.runtime, self.path()) {
            (Some(image), _) => installer.recipe(image)?,
            (None, Some(path)) => {
                // What is missing has no extension worth talking about.
                fs::metadata(path).with_context(|| format!("the script `{}`", path.display()))?;
                catalog.by_extension(path)?
            }
            (None, None) => catalog.by_image(DEFAULT_RUNTIME)?,
        };
        let image = |source: &str| match &self.runtime {
            Some(image) => image.clone(),
            None => recipe.manifest.image_for(source).to_owned(),
        };
        let path = self.path().map(Path::to_owned);
        let mut files = Files::default();
        for path in &self.given {
            files.give(path)?;
        }
        let prepared = |name, source: String, files: Files, took_stdin| Prepared {
            image: image(&source),
            name,
            source,
            files: files.into_inner(),
            took_stdin,
        };
        Ok(match (self.eval.clone(), path) {
            (Some(code), _) => prepared(None, code, files, false),
            (None, None) => prepared(None, text("standard input", &mut std::io::stdin().lock())?, files, true),
            (None, Some(path)) => {
                let shown = path.display().to_string();
                ensure!(!path.is_dir(), "the script `{shown}` is a directory");
                let mut file = fs::File::open(&path).with_context(|| format!("the script `{shown}`"))?;
                let source = text(&format!("`{shown}`"), &mut file)?;
                // A text beyond the limit is refused anyhow, and is not searched first.
                if !self.isolated && source.len() <= Limits::default().source_bytes {
                    let manifest = &recipe.manifest;
                    let endings = [manifest.extensions.as_slice(), &manifest.companions].concat();
                    files.give_mentioned(&path, &source, &endings)?;
                }
                prepared(file_name(&path), source, files, false)
            }
        })
    }
}

/// A file's name alone: where it lies on the host is not the script's to know.
fn file_name(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn text(what: &str, from: &mut dyn Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    from.take(READ_AT_MOST).read_to_end(&mut bytes).with_context(|| format!("the script {what}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!("the script {what} is not UTF-8 text: byte {at} begins no character")
    })
}

//! From a path on the command line to a script, its runtime and the files beside it.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use ampoule::{InputFile, Installer, Recipe};
use anyhow::{Context, bail, ensure};
use clap::Args;

/// Which script, and what runs it.
#[derive(Args)]
pub struct Script {
    /// The runtime image [default: by the script's extension; python for -e and -]
    #[arg(long, short, value_name = "NAME")]
    pub runtime: Option<String>,
    /// Code to run instead of a file
    #[arg(short = 'e', long = "eval", value_name = "CODE", conflicts_with = "script", allow_hyphen_values = true)]
    eval: Option<String>,
    /// Leave the source files beside the script out of its working directory
    #[arg(long)]
    isolated: bool,
    /// The script's file, or - for standard input
    #[arg(required_unless_present = "eval")]
    script: Option<PathBuf>,
}

/// A script that was read.
pub struct Prepared {
    pub image: String,
    pub name: Option<String>,
    pub source: String,
    pub files: Vec<InputFile>,
    /// Standard input was the script.
    pub took_stdin: bool,
}

/// What runs code that has no file name.
const DEFAULT_RUNTIME: &str = "python";

/// Source files beside the script that are given to it, at most.
const FILES_AT_MOST: usize = 1000;
/// Their bytes, at most.
const BYTES_AT_MOST: u64 = 16 << 20;
/// The largest script that is read at all: past the limit, so that the limit can say so.
const READ_AT_MOST: u64 = 64 << 20;

impl Script {
    /// The script's path, when it is a file.
    pub fn path(&self) -> Option<&Path> {
        self.script.as_deref().filter(|path| *path != OsStr::new("-"))
    }

    /// Reads the script and finds its runtime.
    pub fn prepare(self, installer: &Installer) -> anyhow::Result<Prepared> {
        let catalog = installer.catalog();
        let recipe = match (&self.runtime, self.path()) {
            (Some(image), _) => catalog.by_image(image)?,
            (None, Some(path)) => {
                // What is missing has no extension worth talking about.
                fs::metadata(path).with_context(|| format!("the script `{}`", path.display()))?;
                catalog.by_extension(path)?
            }
            (None, None) => catalog.by_image(DEFAULT_RUNTIME)?,
        };
        let image = self.runtime.clone().unwrap_or_else(|| recipe.manifest.name.clone());
        let path = self.path().map(Path::to_owned);
        let prepared = |name, source, files, took_stdin| Prepared { image, name, source, files, took_stdin };
        Ok(match (self.eval, path) {
            (Some(code), _) => prepared(None, code, Vec::new(), false),
            (None, None) => prepared(None, text("standard input", &mut std::io::stdin().lock())?, Vec::new(), true),
            (None, Some(path)) => {
                let shown = path.display().to_string();
                ensure!(!path.is_dir(), "the script `{shown}` is a directory");
                let mut file = fs::File::open(&path).with_context(|| format!("the script `{shown}`"))?;
                let files = if self.isolated { Vec::new() } else { beside(&path, recipe)? };
                let source = text(&format!("`{shown}`"), &mut file)?;
                prepared(Some(shown), source, files, false)
            }
        })
    }
}

fn text(what: &str, from: &mut dyn Read) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    from.take(READ_AT_MOST).read_to_end(&mut bytes).with_context(|| format!("the script {what}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow::anyhow!("the script {what} is not UTF-8 text: byte {at} begins no character")
    })
}

/// The source files beside the script: those in its folder with the runtime's extensions, and those in sub-folders
/// that are packages (have an `__init__` file of such an extension). Links are not followed.
fn beside(script: &Path, recipe: &Recipe) -> anyhow::Result<Vec<InputFile>> {
    let root = match script.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    // Its text goes to the interpreter itself.
    let script_in_root = script.file_name().map_or(root.clone(), |name| root.join(name));
    let extensions = &recipe.manifest.extensions;
    let is_source = |path: &Path| {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        extension.is_some_and(|extension| extensions.contains(&extension))
    };
    let is_package = |folder: &Path| extensions.iter().any(|e| folder.join(format!("__init__.{e}")).is_file());

    let mut files = Vec::new();
    let mut bytes = 0;
    let mut folders = vec![(root, String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        let entries = fs::read_dir(&folder).with_context(|| format!("the script's folder `{}`", folder.display()))?;
        for entry in entries {
            let entry = entry?;
            // A name that is no text cannot be imported, nor given to the guest.
            let Ok(name) = entry.file_name().into_string() else { continue };
            let (path, kind) = (entry.path(), entry.file_type()?);
            let guest = format!("{prefix}{name}");
            if kind.is_dir() && is_package(&path) {
                folders.push((path, format!("{guest}/")));
            } else if kind.is_file() && is_source(&path) && path != script_in_root {
                bytes += entry.metadata()?.len();
                if files.len() == FILES_AT_MOST || bytes > BYTES_AT_MOST {
                    bail!(
                        "the source files beside the script are more than {FILES_AT_MOST} or than {BYTES_AT_MOST} bytes \
                         (at `{}`): run it with --isolated, or from a folder of its own",
                        path.display()
                    );
                }
                let content = fs::read(&path).with_context(|| format!("`{}`, beside the script", path.display()))?;
                files.push(InputFile { path: guest, content: content.into() });
            }
        }
    }
    Ok(files)
}

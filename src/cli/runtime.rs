//! `ampoule runtime`: install, list, verify, remove, path.

use std::io::{self, Write};
use std::path::PathBuf;

use ampoule::{InstallFrom, Installer, State};
use anyhow::bail;
use clap::Subcommand;
use indicatif::HumanBytes;
use serde_json::json;

use super::install::{Shown, install};
use super::{exit, say};

#[derive(Subcommand)]
pub enum Runtime {
    /// Fetch, verify, compile and warm a runtime
    Install {
        /// The runtime, or one of its images
        name: String,
        /// Take the package from this file instead of fetching it
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// Add a runtime of your own to the catalog, and install it
    Add {
        /// Its runtime.toml, or the folder that holds it
        path: PathBuf,
    },
    /// List the runtimes and their state
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check every file of the installed runtimes against its digest
    Verify {
        /// One runtime or program [default: all]
        name: Option<String>,
    },
    /// Remove an installed runtime or a compiled program; one that you added leaves the catalog, too
    Remove {
        /// The runtime
        name: String,
    },
    /// Print the folder that runtimes are kept in
    Path,
}

impl Runtime {
    pub fn run(self, installer: &mut Installer) -> anyhow::Result<u8> {
        match self {
            Runtime::Add { path } => {
                let mut progress = Shown::default();
                let added = installer.add(&path, &mut |step| progress.step(&step));
                progress.end(added.is_ok());
                say(format_args!("the runtime `{}` is added and ready", added?));
            }
            Runtime::Install { name, from } => {
                let from = from.map_or(InstallFrom::Manifest, InstallFrom::File);
                install(installer, &name, &from)?;
                let bytes = installer.installed_bytes(&name)?.unwrap_or(0);
                say(format_args!("the runtime `{name}` is ready ({})", HumanBytes(bytes)));
            }
            Runtime::List { json } => list(installer, json)?,
            Runtime::Verify { name } => {
                let asked = name.map_or_else(|| Asked::All(all(installer)), Asked::Named);
                verify(installer, asked)?;
            }
            Runtime::Remove { name } => {
                if !installer.remove(&name)? {
                    bail!("the runtime `{name}` is not installed");
                }
            }
            Runtime::Path => writeln!(io::stdout(), "{}", installer.home().root().display())?,
        }
        Ok(exit::OK)
    }
}

pub fn word(state: &State) -> &'static str {
    match state {
        State::Missing => "missing",
        State::Ready => "ready",
        State::Outdated => "outdated",
        State::Damaged(_) => "damaged",
        _ => "unknown",
    }
}

fn list(installer: &Installer, as_json: bool) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for recipe in installer.catalog().recipes() {
        let manifest = &recipe.manifest;
        rows.push(json!({
            "name": manifest.name,
            "version": manifest.version,
            "extensions": manifest.extensions,
            "images": manifest.image_names().collect::<Vec<_>>(),
            "state": word(&installer.state(&manifest.name)?),
            "bytes": installer.installed_bytes(&manifest.name)?,
            "description": manifest.description,
            "digest": installer.digest(&manifest.name)?,
        }));
    }
    for program in installer.others().into_iter().filter(|other| other.made_from.is_none()) {
        rows.push(json!({
            "name": program.name,
            "version": "-",
            "extensions": [],
            "images": [program.name],
            "state": word(&installer.state(&program.name)?),
            "bytes": program.bytes,
            "description": "a WASI program that was compiled",
            "digest": installer.digest(&program.name)?,
        }));
    }
    if as_json {
        writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(());
    }
    for row in rows {
        let words = |key: &str| {
            let words = row[key].as_array().into_iter().flatten().filter_map(|word| word.as_str());
            match words.collect::<Vec<_>>().as_slice() {
                [] => "-".to_owned(),
                words => words.join(","),
            }
        };
        let size = row["bytes"].as_u64().map_or("-".to_owned(), |bytes| HumanBytes(bytes).to_string());
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let (name, version, state) = (text("name"), text("version"), text("state"));
        writeln!(
            io::stdout(),
            "{name} {version}  {state}  {size}  extensions: {}  images: {}  digest: {:.16}",
            words("extensions"),
            words("images"),
            text("digest")
        )?;
        writeln!(io::stdout(), "    {}", text("description"))?;
    }
    Ok(())
}

/// Which runtimes or images are to be verified.
pub enum Asked {
    /// One, which has to be there.
    Named(String),
    /// All there are; one that is not installed is no fault.
    All(Vec<String>),
}

/// Looks at each file of these, and fails when one is not as it was installed.
pub fn verify(installer: &Installer, asked: Asked) -> anyhow::Result<()> {
    let (names, may_be_missing) = match asked {
        Asked::Named(name) => (vec![name], false),
        Asked::All(names) => (names, true),
    };
    let mut bad = 0;
    for name in &names {
        let state = installer.verify(name)?;
        writeln!(io::stdout(), "{name}: {}", word(&state))?;
        if let State::Damaged(error) = &state {
            writeln!(io::stdout(), "    {error}; run `{}` to make it anew", command_for(installer, name))?;
        }
        bad += usize::from(match state {
            State::Ready => false,
            State::Missing => !may_be_missing,
            _ => true,
        });
    }
    if bad > 0 {
        bail!("{bad} of {} cannot be used as they are", names.len());
    }
    Ok(())
}

/// The command that makes a runtime, a program or an image anew.
fn command_for(installer: &Installer, name: &str) -> String {
    let other = installer.others().into_iter().find(|other| other.name == name);
    match other.map(|other| other.made_from) {
        None => format!("ampoule runtime install {name}"),
        Some(None) => "ampoule compile PROGRAM".to_owned(),
        Some(Some(from)) => format!("ampoule image build --from {from} --warm FILE --name {name}"),
    }
}

/// The runtimes of the catalog, and the programs that are compiled.
fn all(installer: &Installer) -> Vec<String> {
    let recipes = installer.catalog().recipes().map(|recipe| recipe.manifest.name.clone());
    let programs = installer.others().into_iter().filter(|other| other.made_from.is_none()).map(|other| other.name);
    recipes.chain(programs).collect()
}

//! `ampoule runtime`: install, list, verify, remove, path.

use std::io::{self, Write};
use std::path::PathBuf;

use ampoule::{InstallFrom, Installer, State};
use anyhow::bail;
use clap::Subcommand;
use indicatif::HumanBytes;
use serde_json::json;

use super::install::install;
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
    /// List the runtimes and their state
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check every file of the installed runtimes against its digest
    Verify {
        /// One runtime [default: all that are installed]
        name: Option<String>,
    },
    /// Remove an installed runtime
    Remove {
        /// The runtime
        name: String,
    },
    /// Print the folder that runtimes are kept in
    Path,
}

impl Runtime {
    pub fn run(self, installer: &Installer) -> anyhow::Result<u8> {
        match self {
            Runtime::Install { name, from } => {
                let from = from.map_or(InstallFrom::Manifest, InstallFrom::File);
                install(installer, &name, &from)?;
                let bytes = installer.installed_bytes(&name)?.unwrap_or(0);
                say(format_args!("the runtime `{name}` is ready ({})", HumanBytes(bytes)));
            }
            Runtime::List { json } => list(installer, json)?,
            Runtime::Verify { name } => verify(installer, name)?,
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

fn word(state: &State) -> &'static str {
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
        }));
    }
    if as_json {
        writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&rows)?)?;
        return Ok(());
    }
    for row in rows {
        let words = |key: &str| {
            let words = row[key].as_array().into_iter().flatten().filter_map(|word| word.as_str());
            words.collect::<Vec<_>>().join(",")
        };
        let size = row["bytes"].as_u64().map_or("-".to_owned(), |bytes| HumanBytes(bytes).to_string());
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        let (name, version, state) = (text("name"), text("version"), text("state"));
        writeln!(
            io::stdout(),
            "{name} {version}  {state}  {size}  .{}  images: {}",
            words("extensions"),
            words("images")
        )?;
        writeln!(io::stdout(), "    {}", text("description"))?;
    }
    Ok(())
}

fn verify(installer: &Installer, name: Option<String>) -> anyhow::Result<()> {
    let named = name.is_some();
    let names = match name {
        Some(name) => vec![name],
        None => installer.catalog().recipes().map(|recipe| recipe.manifest.name.clone()).collect(),
    };
    let mut bad = 0;
    for name in names {
        let state = installer.verify(&name)?;
        writeln!(io::stdout(), "{name}: {}", word(&state))?;
        if let State::Damaged(error) = &state {
            writeln!(io::stdout(), "    {error}; run `ampoule runtime install {name}` to make it anew")?;
        }
        bad += usize::from(!matches!(state, State::Ready) && (named || !matches!(state, State::Missing)));
    }
    if bad > 0 {
        bail!("{bad} of the runtimes cannot be used as they are");
    }
    Ok(())
}

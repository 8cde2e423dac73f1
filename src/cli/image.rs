//! `ampoule image`: images of the user's own.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use ampoule::{Installer, OwnImage};
use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use indicatif::HumanBytes;
use serde_json::json;

use super::files::Files;
use super::install::Shown;
use super::runtime::{Asked, verify, word};
use super::{exit, say, units};

#[derive(Subcommand)]
pub enum Image {
    /// Make an image from another: its memory after a warm-up of yours, such as imports and data that scripts use
    Build(Build),
    /// List your images and their state
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check every file of your images against its digest
    Verify {
        /// One image [default: all of yours]
        name: Option<String>,
    },
    /// Remove an image of yours
    Remove {
        /// The image
        name: String,
    },
}

#[derive(Args)]
pub struct Build {
    /// The image to start from, such as python or python-data
    #[arg(long, value_name = "IMAGE")]
    from: String,
    /// The warm-up, in the runtime's language
    #[arg(long, value_name = "FILE")]
    warm: PathBuf,
    /// The new image's name: lower-case letters, digits and -
    #[arg(long, value_name = "NAME")]
    name: String,
    /// Give the warm-up a file, or a folder with all that is in it; may be repeated
    #[arg(long = "file", value_name = "PATH")]
    given: Vec<PathBuf>,
    /// Stop the warm-up after this time [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    timeout: Option<Duration>,
}

impl Image {
    pub fn run(self, installer: &mut Installer) -> anyhow::Result<u8> {
        match self {
            Image::Build(build) => build.run(installer)?,
            Image::List { json } => list(installer, json)?,
            Image::Verify { name } => {
                let asked = match name {
                    Some(name) => Asked::Named(own(installer, &name)?),
                    None => Asked::All(names(installer)),
                };
                verify(installer, asked)?;
            }
            Image::Remove { name } => {
                let name = own(installer, &name)?;
                installer.remove(&name)?;
            }
        }
        Ok(exit::OK)
    }
}

impl Build {
    fn run(self, installer: &Installer) -> anyhow::Result<()> {
        let text = fs::read_to_string(&self.warm).with_context(|| format!("the warm-up `{}`", self.warm.display()))?;
        let mut files = Files::default();
        for path in &self.given {
            files.give(path)?;
        }
        let mut image = OwnImage::new(self.name, self.from, text);
        image.files = files.into_inner();
        image.timeout = self.timeout.unwrap_or(image.timeout);
        let mut progress = Shown::default();
        let built = installer.build_image(&image, &mut |step| progress.step(&step));
        progress.end(built.is_ok());
        built?;
        say(format_args!("the image `{0}` is ready: ampoule run --image {0} SCRIPT", image.name));
        Ok(())
    }
}

/// The names of the user's images.
fn names(installer: &Installer) -> Vec<String> {
    installer.others().into_iter().filter(|other| other.made_from.is_some()).map(|other| other.name).collect()
}

/// The name, if it is one of the user's images.
fn own(installer: &Installer, name: &str) -> anyhow::Result<String> {
    let names = names(installer);
    if names.iter().any(|known| known == name) {
        return Ok(name.to_owned());
    }
    bail!(
        "you have no image named `{name}`; you have: {}",
        if names.is_empty() { "none".into() } else { names.join(", ") }
    )
}

fn list(installer: &Installer, as_json: bool) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for other in installer.others() {
        let Some(from) = other.made_from else { continue };
        let state = word(&installer.state(&other.name)?);
        rows.push(json!({ "name": other.name, "from": from, "state": state, "bytes": other.bytes }));
        if !as_json {
            writeln!(io::stdout(), "{}  {state}  {}  from {from}", other.name, HumanBytes(other.bytes))?;
        }
    }
    if as_json {
        writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&rows)?)?;
    }
    Ok(())
}

//! `ampoule serve`: the HTTP runner.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use ampoule::runner::{AllowList, Runner};
use ampoule::serve::{Address, Config, Face, Service, Tokens, token_digest};
use ampoule::{CancellationToken, Installer};
use anyhow::{Context, ensure};
use clap::Args;

use super::telemetry::LogFormat;
use super::{exit, say, signals};

#[derive(Args)]
#[command(after_help = "Without --listen, and where the configuration names no address, it listens on 127.0.0.1:8085.")]
pub struct Serve {
    #[command(flatten)]
    pub service: ServiceArgs,
    /// Check the configuration, load the runtimes, and end
    #[arg(long)]
    check: bool,
    /// Make a token, print it and its entry for the configuration, and end
    #[arg(long, conflicts_with = "check")]
    new_token: bool,
}

/// Where a service listens, and whom it serves.
#[derive(Args)]
pub struct ServiceArgs {
    /// The configuration, a TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// An address to listen on, instead of the configuration's; may be repeated
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Vec<Address>,
    /// A file with a token for all tenants, readable by its owner alone
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// How to write the log
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub log_format: LogFormat,
}

impl ServiceArgs {
    /// The configuration with what was given, checked.
    pub fn config(&self) -> anyhow::Result<Config> {
        let mut config = match &self.config {
            Some(path) => Config::read(path)?,
            None => Config::default(),
        };
        if !self.listen.is_empty() {
            config.listen = self.listen.clone();
        }
        if let Some(path) = &self.token_file {
            config.tokens.add_file(path)?;
        }
        config.check()?;
        Ok(config)
    }
}

/// The runner of a configuration, its images loaded.
pub fn runner(installer: &Installer, config: &Config) -> anyhow::Result<Arc<Runner>> {
    let allowed = match &config.runtimes {
        Some(values) => AllowList::named(installer, values)?,
        None => AllowList::installed(installer)?,
    };
    ensure!(!allowed.is_empty(), "no runtime is installed: run `ampoule runtime install python`, `sh` or `javascript`");
    let runner = Runner::new(installer.home().clone(), allowed, config.policy.clone());
    Ok(Arc::new(runner.context("the runtimes cannot be loaded")?))
}

impl Serve {
    pub fn run(self, installer: &Installer) -> anyhow::Result<u8> {
        if self.new_token {
            return new_token();
        }
        let config = self.service.config()?;
        let runner = runner(installer, &config)?;
        if self.check {
            let tokens = if config.tokens.is_empty() { "no token is needed" } else { "a token is needed" };
            writeln!(io::stdout(), "the configuration is sound: it allows {}, and {tokens}", runner.allowed())?;
            return Ok(exit::OK);
        }
        serve(runner, config, Face::Runs)
    }
}

/// Serves until the system or somebody at the terminal asks for an end. A second time, calls that run are cancelled.
pub fn serve(runner: Arc<Runner>, mut config: Config, face: Face) -> anyhow::Result<u8> {
    fit_descriptors(&mut config);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.context("the asynchronous runtime cannot start")?.block_on(async {
        let (end, now) = (CancellationToken::new(), CancellationToken::new());
        // Listened for before anybody can know that there is a service to end.
        let mut asked = signals::Ends::new()?;
        let service = Service::start(runner, config, face).await?;
        let mut stdout = io::stdout().lock();
        for address in service.addresses() {
            writeln!(stdout, "listening on {address}")?;
        }
        stdout.flush()?;
        drop(stdout);
        tokio::spawn({
            let (end, now) = (end.clone(), now.clone());
            async move {
                asked.next().await;
                end.cancel();
                asked.next().await;
                now.cancel();
            }
        });
        service.run(end, now).await;
        Ok(exit::OK)
    })
}

fn new_token() -> anyhow::Result<u8> {
    let token = Tokens::generate();
    writeln!(io::stdout(), "{token}")?;
    let digest = token_digest(&token);
    say("this is the only time that the token is shown; for the configuration, with a name and its tenants:");
    eprintln!("\n[[tokens]]\nname = \"NAME\"\nsha256 = \"{digest}\"\ntenants = [\"TENANT\"]   # or \"any\"");
    Ok(exit::OK)
}

/// Lets the process have as many descriptors as it may, and takes no more connections than they suffice for.
#[cfg(unix)]
fn fit_descriptors(config: &mut Config) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        limit.current = limit.maximum;
        if setrlimit(Resource::Nofile, limit).is_err() {
            limit = getrlimit(Resource::Nofile);
        }
    }
    // What a call may open, and some for the process itself.
    let policy = &config.policy;
    let calls = policy.slots.saturating_mul(policy.limits.open_files + 8).saturating_add(100);
    let descriptors = limit.current.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let most = descriptors.saturating_sub(calls).max(descriptors / 4).max(1);
    if config.requests.connections > most {
        tracing::warn!(descriptors, connections = most, "the limit on open files allows no more connections");
        config.requests.connections = most;
    }
}

#[cfg(not(unix))]
fn fit_descriptors(_config: &mut Config) {}

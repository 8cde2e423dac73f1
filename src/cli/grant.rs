//! `ampoule grant`: add, list, revoke.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use ampoule::Home;
use ampoule::host::{ContentPin, Grant, GrantStore};
use anyhow::{Context, anyhow, bail};
use clap::Subcommand;

use super::control::HostArgs;
use super::{exit, printable, say, units};

#[derive(Subcommand)]
pub enum Grants {
    /// Let a tenant run a script, or all scripts of a skill
    Add {
        #[command(flatten)]
        host: HostArgs,
        /// Who may
        #[arg(long, default_value = "local", value_name = "NAME")]
        tenant: String,
        /// The skill; the tasks of a tasks.toml are the scripts of the skill `tasks`
        #[arg(long, default_value = "tasks", value_name = "NAME")]
        skill: String,
        /// The script, or the task's id [default: all of the skill]
        #[arg(long, value_name = "NAME")]
        script: Option<String>,
        /// For how long, such as 30d [default: until it is revoked]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        expires: Option<Duration>,
        /// Only for this content of the script: a file to look at, whose digest is kept. A stored script needs one
        #[arg(long, value_name = "FILE", requires = "script", conflicts_with = "pin")]
        content: Option<PathBuf>,
        /// Only for the content with this pin, as a denial names it
        #[arg(long, value_name = "HEX")]
        pin: Option<ContentPin>,
    },
    /// List the grants
    List {
        #[command(flatten)]
        host: HostArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a grant away
    Revoke {
        #[command(flatten)]
        host: HostArgs,
        /// The grant, as `list` names it
        id: String,
    },
}

impl Grants {
    pub fn run(self, home: &Home) -> anyhow::Result<u8> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(self.done(home))?;
        Ok(exit::OK)
    }

    async fn done(self, home: &Home) -> anyhow::Result<()> {
        let store = |host: HostArgs| host.grants(home);
        let failed = |error: ampoule::host::StoreError| anyhow!(error);
        match self {
            Grants::Add { host, tenant, skill, script, expires, content, pin } => {
                for (what, name) in [("tenant", Some(&tenant)), ("skill", Some(&skill)), ("script", script.as_ref())] {
                    if name.is_some_and(|name| name.trim().is_empty()) {
                        bail!("the grant's {what} is blank: give it a name");
                    }
                }
                let pin = match (&content, &script) {
                    (Some(path), Some(script)) => {
                        let text = std::fs::read_to_string(path)
                            .with_context(|| format!("the content `{}`", path.display()))?;
                        Some(ContentPin::of_script(&skill, script, &text))
                    }
                    _ => pin,
                };
                let mut grant = match script {
                    Some(script) => Grant::script(tenant, skill, script),
                    None => Grant::skill(tenant, skill),
                };
                grant.pin = pin;
                if let Some(expires) = expires {
                    let end = SystemTime::now().checked_add(expires).filter(|end| *end <= Grant::latest());
                    grant.expires = Some(end.context("--expires is after the year 9999: leave it out for no end")?);
                }
                let id = grant.id.clone();
                store(host)?.add(grant).await.map_err(failed)?;
                writeln!(io::stdout(), "{id}")?;
            }
            Grants::List { host, json } => {
                let grants = store(host)?.list().await.map_err(failed)?;
                if json {
                    writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&grants)?)?;
                    return Ok(());
                }
                let now = SystemTime::now();
                for grant in grants {
                    let until = match grant.expires {
                        None => "until it is revoked".to_owned(),
                        Some(end) if end <= now => format!("expired {}", humantime::format_rfc3339_seconds(end)),
                        Some(end) => format!("until {}", humantime::format_rfc3339_seconds(end)),
                    };
                    let pin = grant.pin.map_or(String::new(), |pin| format!("  pin {pin}"));
                    let script = grant.script.unwrap_or_else(|| "*".into());
                    let line = format!("{}  {}  {}/{script}  {until}{pin}", grant.id, grant.tenant, grant.skill);
                    writeln!(io::stdout(), "{}", printable(&line))?;
                }
            }
            Grants::Revoke { host, id } => {
                if !store(host)?.revoke(&id).await.map_err(failed)? {
                    bail!("there is no grant {id}: `ampoule grant list` shows those there are");
                }
                say(format_args!("the grant {id} is revoked"));
            }
        }
        Ok(())
    }
}

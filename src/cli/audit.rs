//! `ampoule audit`: tail, verify.

use std::io::{self, Write};
use std::path::PathBuf;

use ampoule::Home;
use ampoule::host::{AuditEvent, AuditPlace, JsonLinesAudit, Line, SqliteAudit};
use anyhow::{bail, ensure};
use clap::{Args, Subcommand};

use super::control::{HostArgs, place_of};
use super::{exit, printable};

#[derive(Subcommand)]
pub enum Audit {
    /// Show the last entries
    Tail {
        #[command(flatten)]
        which: Which,
        /// How many
        #[arg(short = 'n', default_value_t = 10, value_name = "N")]
        count: usize,
        /// Print the lines as they are, JSON
        #[arg(long)]
        json: bool,
    },
    /// Check that no entry was changed or removed: each holds the hash of the one before it
    Verify {
        #[command(flatten)]
        which: Which,
        /// Fail unless the last entry has this hash, which an earlier `verify` printed
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
    },
}

#[derive(Args)]
pub struct Which {
    #[command(flatten)]
    host: HostArgs,
    /// The audit's file, JSON lines or SQLite [default: the host's]
    file: Option<PathBuf>,
}

impl Which {
    fn place(&self, home: &Home) -> anyhow::Result<AuditPlace> {
        self.file.as_deref().map_or_else(|| self.host.audit_place(home), place_of)
    }
}

impl Audit {
    pub fn run(self, home: &Home) -> anyhow::Result<u8> {
        match self {
            Audit::Tail { which, count, json } => {
                let lines = match which.place(home)? {
                    AuditPlace::File(path) => JsonLinesAudit::tail(path, count)?,
                    AuditPlace::Sqlite(path) => SqliteAudit::tail(path, count)?,
                    _ => bail!("the audit is of a kind that this command does not know"),
                };
                for line in lines {
                    let text = if json { serde_json::to_string(&line)? } else { readable(&line) };
                    writeln!(io::stdout(), "{text}")?;
                }
            }
            Audit::Verify { which, head: expected } => {
                let (path, verified) = match which.place(home)? {
                    AuditPlace::File(path) => (path.clone(), JsonLinesAudit::verify(path)?),
                    AuditPlace::Sqlite(path) => (path.clone(), SqliteAudit::verify(path)?),
                    _ => bail!("the audit is of a kind that this command does not know"),
                };
                let shown = path.display();
                let head = match verified {
                    Ok(head) => head,
                    Err(fault) => bail!("the audit `{shown}` is not as it was written: {fault}"),
                };
                if let Some(expected) = expected {
                    ensure!(
                        expected.eq_ignore_ascii_case(&head.hash),
                        "the audit `{shown}` ends with {}, not with {expected}: entries came after it, or it is not there",
                        head.hash
                    );
                }
                writeln!(io::stdout(), "{shown}: {} entries, whole; head {}", head.number, head.hash)?;
            }
        }
        Ok(exit::OK)
    }
}

/// An entry as one line for a person. Names come from callers.
fn readable(line: &Line) -> String {
    let entry = &line.entry;
    let what = match (entry.event, &entry.denied, &entry.ended) {
        (AuditEvent::Denied, Some(because), _) => format!("denied ({}): {}", because.gate, because.reason),
        (AuditEvent::Finished, _, Some(ended)) => {
            let code = ended.exit_code.map_or(String::new(), |code| format!(" {code}"));
            format!("{}{code} after {:?}", ended.status, ended.took)
        }
        (event, ..) => format!("{event:?}").to_lowercase(),
    };
    let text = format!("{} {} {} {}/{} {what}", line.time, entry.call, entry.tenant, entry.skill, entry.script);
    printable(&text)
}

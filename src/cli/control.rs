//! The control plane on the command line: its configuration, and where its audit and its grants are.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ampoule::Home;
use ampoule::host::{AuditPlace, AuditSink, HostConfig, JsonLinesAudit, SqliteAudit, SqliteGrants};
use anyhow::{Context, ensure};
use clap::Args;

use super::files;

/// Which host.
#[derive(Args)]
pub struct HostArgs {
    /// The host's configuration [default: what suits the person at this terminal]
    #[arg(long = "host", env = "AMPOULE_HOST", value_name = "FILE", hide_env_values = true)]
    config: Option<PathBuf>,
}

impl HostArgs {
    /// The configuration, if one is named.
    pub fn config(&self) -> anyhow::Result<Option<HostConfig>> {
        let named = self.config.as_ref().filter(|path| !path.as_os_str().is_empty());
        named.map(|path| HostConfig::from_file(path).with_context(|| format!("`{}`", path.display()))).transpose()
    }

    /// What is said before an error of a host that is named: what the error advises is for that one.
    pub fn named(&self) -> Option<String> {
        let named = self.config.as_ref().filter(|path| !path.as_os_str().is_empty());
        named.map(|path| format!("on the host of `--host {}`", path.display()))
    }

    /// Where the audit is.
    pub fn audit_place(&self, home: &Home) -> anyhow::Result<AuditPlace> {
        let named = self.config()?.and_then(|config| config.audit);
        named.map_or_else(|| Ok(AuditPlace::File(folder(home)?.join("audit.jsonl"))), Ok)
    }

    /// Where the grants are.
    pub fn grants_place(&self, home: &Home) -> anyhow::Result<PathBuf> {
        let named = self.config()?.and_then(|config| config.grants);
        named.map_or_else(|| Ok(folder(home)?.join("grants.db")), Ok)
    }

    /// Opens the audit to write to it.
    pub fn audit(&self, home: &Home) -> anyhow::Result<Arc<dyn AuditSink>> {
        Ok(match self.audit_place(home)? {
            AuditPlace::File(path) => Arc::new(JsonLinesAudit::open(path)?),
            AuditPlace::Sqlite(path) => Arc::new(SqliteAudit::open(path)?),
            _ => anyhow::bail!("the configuration's audit is of a kind that this command does not know"),
        })
    }

    /// Opens the grants.
    pub fn grants(&self, home: &Home) -> anyhow::Result<SqliteGrants> {
        Ok(SqliteGrants::open(self.grants_place(home)?)?)
    }
}

/// The folder of the host of the person at this terminal.
fn folder(home: &Home) -> anyhow::Result<PathBuf> {
    let folder = home.root().join("host");
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&folder).with_context(|| format!("the host's folder `{}`", folder.display()))?;
    Ok(folder)
}

/// What kind of audit a file is, by its first bytes.
pub fn place_of(path: &Path) -> anyhow::Result<AuditPlace> {
    let mut beginning = Vec::new();
    let file = files::open(path).with_context(|| format!("the audit `{}`", path.display()))?;
    ensure!(file.metadata()?.is_file(), "the audit `{}` is no file", path.display());
    file.take(16).read_to_end(&mut beginning).with_context(|| format!("the audit `{}`", path.display()))?;
    let path = path.to_owned();
    Ok(if beginning == b"SQLite format 3\0" { AuditPlace::Sqlite(path) } else { AuditPlace::File(path) })
}

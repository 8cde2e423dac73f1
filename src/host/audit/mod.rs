//! The audit: what was allowed, what was denied and why, and how it ended.
//!
//! An entry is on the disk before the call that it is about begins. Each holds the hash of the line before it, so that a
//! line that was changed or removed shows. No entry holds a script's text, its input or a variable's value: hashes, names
//! and sizes only.

mod chain;
mod entry;
mod head_file;
mod lines;
mod memory;
mod noted;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::path::PathBuf;
use std::time::SystemTime;

pub use chain::{Fault, Head, Line};
pub use entry::{AuditEntry, AuditEvent, DeniedBecause, Ended};
pub(crate) use entry::{clipped, clipped_detail};
pub use lines::JsonLinesAudit;
pub use memory::MemoryAudit;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteAudit;

/// Where entries go.
#[async_trait::async_trait]
pub trait AuditSink: Send + Sync {
    /// Writes an entry behind the others. When this returns, the entry outlives a crash of the machine; when it fails,
    /// nothing runs. Gives the end of the chain, which is this entry's.
    async fn append(&self, entry: &AuditEntry) -> Result<Head, AuditError>;

    /// Files and folders of the host that no task may be shown: those that it writes. Default: none.
    fn private_places(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Why an entry could not be written, or an audit not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The file cannot be opened, written or brought to the disk.
    #[error("the audit `{}` cannot be {doing}: {error}; nothing runs without it: make room, or let this user write it", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Why it failed.
        error: std::io::Error,
    },
    /// What is there is no audit, or is damaged.
    #[error(
        "the audit `{}` is damaged: {problem}; nothing is added to it: look at it with `ampoule audit verify`, then move it \
         away to begin another",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: String,
    },
    /// The file was exchanged or removed while it was open.
    #[error("the audit `{}` was moved, removed or exchanged while it was in use: start the host again", path.display())]
    Exchanged {
        /// The file.
        path: PathBuf,
    },
    /// The time is before that of the last entry.
    #[error(
        "the clock says {}, but the last audit entry is of {}: what has expired would be valid again; set the clock right",
        humantime::format_rfc3339_millis(*now), humantime::format_rfc3339_millis(*last)
    )]
    ClockWentBack {
        /// The clock.
        now: SystemTime,
        /// The last entry.
        last: SystemTime,
    },
    /// What failed in a sink of yours.
    #[error(transparent)]
    Other(#[from] Box<dyn std::error::Error + Send + Sync>),
}

//! An audit in memory, for hosts that send it elsewhere, and for tests.

use std::sync::{Mutex, PoisonError};

use super::{AuditEntry, AuditError, AuditSink, Head};

/// Keeps entries in memory: they do not outlive the process. It grows without end; [`MemoryAudit::take`] empties it.
#[derive(Debug, Default)]
pub struct MemoryAudit(Mutex<(Head, Vec<AuditEntry>)>);

impl MemoryAudit {
    /// An empty one.
    pub fn new() -> MemoryAudit {
        MemoryAudit::default()
    }

    /// The entries so far, which are then no longer kept.
    pub fn take(&self) -> Vec<AuditEntry> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).1)
    }
}

#[async_trait::async_trait]
impl AuditSink for MemoryAudit {
    async fn append(&self, entry: &AuditEntry) -> Result<Head, AuditError> {
        let mut audit = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, head) = audit.0.next(entry)?;
        audit.0 = head.clone();
        audit.1.push(entry.clone());
        Ok(head)
    }
}

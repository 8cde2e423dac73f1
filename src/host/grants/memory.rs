//! Grants in memory.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Grant, GrantStore, StoreError};

/// Keeps grants in memory: they do not outlive the process.
#[derive(Debug, Default)]
pub struct MemoryGrants(Mutex<Vec<Grant>>);

impl MemoryGrants {
    /// With these grants.
    pub fn new(grants: impl IntoIterator<Item = Grant>) -> MemoryGrants {
        MemoryGrants(Mutex::new(grants.into_iter().collect()))
    }

    fn grants(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait::async_trait]
impl GrantStore for MemoryGrants {
    async fn find(&self, tenant: &str, skill: &str, script: &str) -> Result<Option<Grant>, StoreError> {
        let grants = self.grants();
        let mut fitting = grants.iter().rev().filter(|grant| grant.tenant == tenant && grant.skill == skill);
        let narrow = fitting.clone().find(|grant| grant.script.as_deref() == Some(script));
        Ok(narrow.or_else(|| fitting.find(|grant| grant.script.is_none())).cloned())
    }

    async fn add(&self, grant: Grant) -> Result<(), StoreError> {
        self.grants().push(grant);
        Ok(())
    }

    async fn list(&self) -> Result<Vec<Grant>, StoreError> {
        Ok(self.grants().clone())
    }

    async fn revoke(&self, id: &str) -> Result<bool, StoreError> {
        let mut grants = self.grants();
        let before = grants.len();
        grants.retain(|grant| grant.id != id);
        Ok(grants.len() < before)
    }
}

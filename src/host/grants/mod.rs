//! Grants: which tenant may run which script, until when, and with which content.

mod memory;
mod pin;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use serde::Serialize;

pub use memory::MemoryGrants;
pub use pin::{ContentPin, PinError};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteGrants;

/// What went wrong in a store of grants or scripts.
pub type StoreError = Box<dyn std::error::Error + Send + Sync>;

/// Lets a tenant run one script of a skill, or all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Grant {
    /// Its name: 16 hexadecimal digits.
    pub id: String,
    /// Who may.
    pub tenant: String,
    /// The skill.
    pub skill: String,
    /// The script; none for every script of the skill.
    pub script: Option<String>,
    /// The content that was looked at when it was granted. A stored script runs only with one.
    pub pin: Option<ContentPin>,
    /// From when on it no longer counts. Default: never.
    #[serde(serialize_with = "time")]
    pub expires: Option<SystemTime>,
    /// When it was made.
    #[serde(serialize_with = "created")]
    pub created: SystemTime,
}

fn time<S: serde::Serializer>(time: &Option<SystemTime>, serializer: S) -> Result<S::Ok, S::Error> {
    match time {
        None => serializer.serialize_none(),
        Some(time) => created(time, serializer),
    }
}

fn created<S: serde::Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&humantime::format_rfc3339_seconds((*time).min(Grant::latest())))
}

impl Grant {
    /// A grant for every script of a skill, without a pin or an end.
    pub fn skill(tenant: impl Into<String>, skill: impl Into<String>) -> Grant {
        Grant {
            id: format!("{:016x}", rand::random::<u64>()),
            tenant: tenant.into(),
            skill: skill.into(),
            script: None,
            pin: None,
            expires: None,
            created: SystemTime::now(),
        }
    }

    /// A grant for one script.
    pub fn script(tenant: impl Into<String>, skill: impl Into<String>, script: impl Into<String>) -> Grant {
        Grant { script: Some(script.into()), ..Grant::skill(tenant, skill) }
    }

    /// The latest end that can be written down, that of the year 9999. A later one counts as this.
    pub fn latest() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_799)
    }

    /// Pins the content.
    pub fn pinned(mut self, pin: ContentPin) -> Grant {
        self.pin = Some(pin);
        self
    }

    /// Sets its end.
    pub fn until(mut self, expires: SystemTime) -> Grant {
        self.expires = Some(expires);
        self
    }
}

/// Where grants are kept.
#[async_trait::async_trait]
pub trait GrantStore: Send + Sync {
    /// The grant that decides for a script: one for the script itself beats one for its skill, whatever it says, and of
    /// two alike the one that was added last counts. An expired one is given as well: it decides, and its answer is no.
    async fn find(&self, tenant: &str, skill: &str, script: &str) -> Result<Option<Grant>, StoreError>;
    /// Adds a grant.
    async fn add(&self, grant: Grant) -> Result<(), StoreError>;
    /// All grants, in the order in which they were added.
    async fn list(&self) -> Result<Vec<Grant>, StoreError>;
    /// Takes a grant away; whether it was there.
    async fn revoke(&self, id: &str) -> Result<bool, StoreError>;

    /// Files and folders of the host that no task may be shown: those that it writes. Default: none.
    fn private_places(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

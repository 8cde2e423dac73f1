//! The scripts that a host knows.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::grants::StoreError;
use super::schema::ArgumentSchema;
use crate::script::Origin;

/// A script that a host knows.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Script {
    /// The skill it belongs to.
    pub skill: String,
    /// Its name: a plain file name for a stored script, a path inside the skill's folder for a file.
    pub name: String,
    /// Where its text is from.
    pub origin: Origin,
    /// Its text.
    pub content: Arc<str>,
    /// A file script's path on the host, for the executor's information.
    pub source_path: Option<PathBuf>,
    /// What its arguments must be. Default: anything.
    pub schema: Option<ArgumentSchema>,
    /// What the allow-list is asked for. Default: the extension of the name.
    pub extension: Option<String>,
    /// What runs it, when the allow-list has its extension. Default: what the allow-list says.
    pub interpreter: Option<String>,
}

impl Script {
    /// A stored script.
    pub fn stored(skill: impl Into<String>, name: impl Into<String>, content: impl Into<Arc<str>>) -> Script {
        Script {
            skill: skill.into(),
            name: name.into(),
            origin: Origin::Stored,
            content: content.into(),
            source_path: None,
            schema: None,
            extension: None,
            interpreter: None,
        }
    }

    /// A script that was read from a file.
    pub fn file(skill: impl Into<String>, name: impl Into<String>, content: impl Into<Arc<str>>) -> Script {
        Script { origin: Origin::File, ..Script::stored(skill, name, content) }
    }

    /// Sets what its arguments must be.
    pub fn schema(mut self, schema: ArgumentSchema) -> Script {
        self.schema = Some(schema);
        self
    }

    pub(super) fn extension(&self) -> Option<&str> {
        let name = self.name.rsplit(['/', '\\']).next().unwrap_or_default();
        let own = name.rsplit_once('.').map(|(_, extension)| extension).filter(|extension| !extension.is_empty());
        self.extension.as_deref().or(own)
    }
}

/// Where a host looks its scripts up, at each call.
#[async_trait::async_trait]
pub trait ScriptCatalog: Send + Sync {
    /// The script, or nothing when the tenant has none of this name.
    async fn find(&self, tenant: &str, skill: &str, script: &str) -> Result<Option<Script>, StoreError>;
    /// All scripts of a skill, which a grant for the whole of it pins.
    async fn skill(&self, tenant: &str, skill: &str) -> Result<Vec<Script>, StoreError>;
}

/// Scripts in memory, the same for every tenant.
#[derive(Debug, Default, Clone)]
pub struct MemoryCatalog(BTreeMap<(String, String), Script>);

impl MemoryCatalog {
    /// With these scripts. Of two with one name the later counts.
    pub fn new(scripts: impl IntoIterator<Item = Script>) -> MemoryCatalog {
        let keyed = scripts.into_iter().map(|script| ((script.skill.clone(), script.name.clone()), script));
        MemoryCatalog(keyed.collect())
    }
}

#[async_trait::async_trait]
impl ScriptCatalog for MemoryCatalog {
    async fn find(&self, _: &str, skill: &str, script: &str) -> Result<Option<Script>, StoreError> {
        Ok(self.0.get(&(skill.to_owned(), script.to_owned())).cloned())
    }

    async fn skill(&self, _: &str, skill: &str) -> Result<Vec<Script>, StoreError> {
        Ok(self.0.values().filter(|script| script.skill == skill).cloned().collect())
    }
}

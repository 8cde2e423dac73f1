//! Gates about who may: a grant that has not expired, for this content.

use super::super::audit::clipped;
use super::super::grants::ContentPin;
use super::{Denial, Gate, Passage};
use crate::script::Origin;

/// There is a grant, and its time is not over.
pub(in crate::host) struct Granted;

#[async_trait::async_trait]
impl Gate for Granted {
    fn name(&self) -> &'static str {
        "grant"
    }

    async fn pass(&self, passage: &mut Passage<'_>) -> Result<(), Denial> {
        let call = passage.call;
        let script = clipped(&call.script);
        let found = passage.stores.grants.find(&call.tenant, &call.skill, &call.script).await;
        let found = found.map_err(|error| Denial::Unchecked { script: script.clone(), problem: error.to_string() })?;
        let Some(grant) = found else {
            let (tenant, skill) = (clipped(&call.tenant), clipped(&call.skill));
            return Err(Denial::NoGrant { tenant, skill, script });
        };
        if let Some(expired) = grant.expires.filter(|expires| *expires <= passage.now) {
            return Err(Denial::Expired { grant: grant.id, script, expired });
        }
        passage.grant = Some(grant);
        Ok(())
    }
}

/// A stored script is the one that was granted.
pub(in crate::host) struct Pinned;

#[async_trait::async_trait]
impl Gate for Pinned {
    fn name(&self) -> &'static str {
        "pin"
    }

    async fn pass(&self, passage: &mut Passage<'_>) -> Result<(), Denial> {
        let (script, name) = passage.script()?;
        if script.origin != Origin::Stored {
            return Ok(());
        }
        let unchecked = |problem: String| Denial::Unchecked { script: name.clone(), problem };
        let grant = passage.grant.as_ref().ok_or_else(|| unchecked("no grant was looked up".into()))?;
        let found = match &grant.script {
            Some(_) => ContentPin::of_script(&script.skill, &script.name, &script.content),
            None => {
                let call = passage.call;
                let scripts = passage.stores.catalog.skill(&call.tenant, &call.skill).await;
                let scripts = scripts.map_err(|error| unchecked(error.to_string()))?;
                let stored = scripts.iter().filter(|script| script.origin == Origin::Stored);
                // What runs is what is pinned, also when the catalog changed between the two looks at it.
                let others = stored.filter(|other| other.name != script.name);
                let pairs = others.map(|other| (other.name.as_str(), &*other.content));
                ContentPin::of_skill(&script.skill, pairs.chain([(script.name.as_str(), &*script.content)]))
            }
        };
        let id = grant.id.clone();
        match &grant.pin {
            None => Err(Denial::NotPinned { grant: id, script: name, found }),
            Some(pinned) if *pinned != found => {
                Err(Denial::OtherContent { grant: id, script: name, pinned: pinned.clone(), found })
            }
            Some(_) => Ok(()),
        }
    }
}

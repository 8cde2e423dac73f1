//! How many calls run at once, for one tenant and in all, and how many may wait for that.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Policy;

/// The places in which calls run: a tenant's first, then one of all. Who waits, waits in order.
pub(super) struct Slots {
    all: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// Those that have a call running or waiting: a tenant's name comes from outside, and there may be any number.
    tenants: Mutex<HashMap<String, Known>>,
    policy: Policy,
}

struct Known {
    tenant: Arc<Tenant>,
    calls: usize,
}

struct Tenant {
    slots: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A place in which one call runs. Free again when it is dropped.
pub(super) struct Slot<'a> {
    // Given back in this order: what waits for the tenant's place waits for the other next.
    _of_all: OwnedSemaphorePermit,
    _of_tenant: OwnedSemaphorePermit,
    _tenant: InUse<'a>,
}

/// No slot is free, and no more may wait for one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Busy {
    /// One tenant has as many waiting as it may.
    #[error("{waiting} calls of the tenant wait for one of its {slots} slots already, as many as may: try again later")]
    Tenant {
        /// How many wait.
        waiting: usize,
        /// How many of its calls run at once.
        slots: usize,
    },
    /// As many as may are waiting.
    #[error("{waiting} calls wait for one of {slots} slots already, as many as may: try again later")]
    All {
        /// How many wait.
        waiting: usize,
        /// How many calls run at once.
        slots: usize,
    },
    /// It has waited as long as it may.
    #[error("no slot was free within {0:?}: try again later")]
    Waited(Duration),
}

impl Slots {
    pub fn new(policy: &Policy) -> Slots {
        Slots {
            all: Arc::new(Semaphore::new(policy.slots.min(Semaphore::MAX_PERMITS))),
            waiting: AtomicUsize::new(0),
            tenants: Mutex::default(),
            policy: policy.clone(),
        }
    }

    /// Takes a slot for a call of this tenant, and waits for it where there is a place to wait.
    pub async fn take(&self, tenant: &str) -> Result<Slot<'_>, Busy> {
        let in_use = self.of(tenant);
        // Without a look at the clock where nothing is to be waited for.
        let free = in_use.tenant.slots.clone().try_acquire_owned().ok().and_then(|of_tenant| {
            let of_all = self.all.clone().try_acquire_owned().ok()?;
            Some((of_all, of_tenant))
        });
        let (of_all, of_tenant) = match free {
            Some(free) => free,
            None => self.wait(tenant, &in_use.tenant).await?,
        };
        Ok(Slot { _of_all: of_all, _of_tenant: of_tenant, _tenant: in_use })
    }

    async fn wait(&self, name: &str, tenant: &Tenant) -> Result<(OwnedSemaphorePermit, OwnedSemaphorePermit), Busy> {
        let policy = &self.policy;
        let _of_tenant = Place::take(&tenant.waiting, policy.queue_of(name))
            .map_err(|waiting| Busy::Tenant { waiting, slots: policy.slots_of(name) })?;
        let _of_all =
            Place::take(&self.waiting, policy.queue).map_err(|waiting| Busy::All { waiting, slots: policy.slots })?;
        let both = async {
            let of_tenant = tenant.slots.clone().acquire_owned().await;
            let of_all = self.all.clone().acquire_owned().await;
            (of_all.expect("it is never closed"), of_tenant.expect("it is never closed"))
        };
        tokio::time::timeout(policy.queue_time, both).await.map_err(|_| Busy::Waited(policy.queue_time))
    }

    fn of(&self, name: &str) -> InUse<'_> {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        let known = tenants.entry(name.to_owned()).or_insert_with(|| {
            let slots = self.policy.slots_of(name).min(Semaphore::MAX_PERMITS);
            let tenant = Tenant { slots: Arc::new(Semaphore::new(slots)), waiting: AtomicUsize::new(0) };
            Known { tenant: Arc::new(tenant), calls: 0 }
        });
        known.calls += 1;
        InUse { slots: self, name: name.to_owned(), tenant: known.tenant.clone() }
    }
}

/// A tenant that has a call running or waiting. With the last of them it is forgotten.
struct InUse<'a> {
    slots: &'a Slots,
    name: String,
    tenant: Arc<Tenant>,
}

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        let mut tenants = self.slots.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = tenants.get_mut(&self.name) {
            known.calls -= 1;
            if known.calls == 0 {
                tenants.remove(&self.name);
            }
        }
    }
}

/// A place in a queue. Free again when it is dropped.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    /// The error says how many wait.
    fn take(waiting: &'a AtomicUsize, most: usize) -> Result<Place<'a>, usize> {
        let taken = waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| (now < most).then_some(now + 1));
        taken.map(|_| Place(waiting))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(change: impl FnOnce(&mut Policy)) -> Slots {
        let mut policy = Policy { slots: 2, slots_per_tenant: 1, queue: 2, queue_per_tenant: 1, ..Policy::default() };
        policy.queue_time = Duration::from_millis(50);
        change(&mut policy);
        Slots::new(&policy)
    }

    #[tokio::test]
    async fn a_tenant_s_slots_and_its_queue_are_its_own() {
        let slots = slots(|_| {});
        let first = slots.take("a").await.unwrap();
        let _other = slots.take("b").await.unwrap();
        let (waits, refused) = tokio::join!(slots.take("a"), slots.take("a"));
        assert_eq!(waits.err(), Some(Busy::Waited(Duration::from_millis(50))));
        assert_eq!(refused.err(), Some(Busy::Tenant { waiting: 1, slots: 1 }));
        drop(first);
        slots.take("a").await.unwrap();
    }

    #[tokio::test]
    async fn who_waits_gets_the_slot_that_becomes_free() {
        let slots = slots(|policy| policy.queue_time = Duration::from_secs(10));
        let first = slots.take("a").await.unwrap();
        let free = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            drop(first);
        };
        let (second, ()) = tokio::join!(slots.take("a"), free);
        second.unwrap();
    }

    #[tokio::test]
    async fn beyond_the_queue_of_all_a_call_is_refused_at_once() {
        let slots = slots(|policy| policy.slots = 1);
        let _first = slots.take("a").await.unwrap();
        let (b, c, d) = tokio::join!(slots.take("b"), slots.take("c"), slots.take("d"));
        assert!(matches!((b.err(), c.err()), (Some(Busy::Waited(_)), Some(Busy::Waited(_)))));
        assert_eq!(d.err(), Some(Busy::All { waiting: 2, slots: 1 }));
    }

    #[tokio::test]
    async fn tenants_without_calls_are_forgotten() {
        let slots = slots(|policy| policy.slots = 100);
        for name in 0..1000 {
            drop(slots.take(&name.to_string()).await.unwrap());
        }
        let held = slots.take("held").await.unwrap();
        let refused = slots.take("held").await;
        assert!(refused.is_err());
        drop(refused);
        assert_eq!(slots.tenants.lock().unwrap().len(), 1);
        drop(held);
        assert!(slots.tenants.lock().unwrap().is_empty());
        assert_eq!(slots.waiting.load(Ordering::Relaxed), 0);
    }
}

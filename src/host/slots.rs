//! Slots: how many scripts run at once, for one tenant and in all.
//!
//! Whoever finds none waits. A tenant's own slot is taken first, so that one who waits for the host holds no more places
//! in its queue than it may have scripts: both queues are first come, first served, and no tenant can fill the second one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The slots of a host.
pub(super) struct Slots {
    all: Arc<Semaphore>,
    tenants: Arc<Tenants>,
    per_tenant: usize,
}

/// Those of whom something runs or waits.
type Tenants = Mutex<HashMap<String, Arc<Semaphore>>>;

/// A slot that is held. Dropping it frees it.
pub(super) struct Slot {
    // Both go before the entry is looked at: fields are dropped in this order.
    _own: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
    _entry: Entry,
}

/// A tenant's place in the table, for as long as anybody waits or runs.
struct Entry {
    tenants: Arc<Tenants>,
    tenant: String,
    semaphore: Option<Arc<Semaphore>>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut tenants = lock(&self.tenants);
        self.semaphore = None;
        // The table's own is the last.
        if tenants.get(&self.tenant).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            tenants.remove(&self.tenant);
        }
    }
}

fn lock(tenants: &Tenants) -> MutexGuard<'_, HashMap<String, Arc<Semaphore>>> {
    tenants.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slots {
    pub fn new(per_tenant: usize, all: usize) -> Slots {
        Slots { all: Arc::new(Semaphore::new(all)), tenants: Arc::default(), per_tenant }
    }

    /// Waits for a slot. Dropping the future gives up the place in the queue.
    pub async fn take(&self, tenant: &str) -> Slot {
        let semaphore = lock(&self.tenants)
            .entry(tenant.to_owned())
            .or_insert_with(|| Arc::new(Semaphore::new(self.per_tenant)))
            .clone();
        let entry =
            Entry { tenants: self.tenants.clone(), tenant: tenant.to_owned(), semaphore: Some(semaphore.clone()) };
        let own = semaphore.acquire_owned().await.expect("the semaphore is never closed");
        let all = self.all.clone().acquire_owned().await.expect("the semaphore is never closed");
        Slot { _own: own, _all: all, _entry: entry }
    }

    /// How many slots are free, and how many tenants have something that runs or waits.
    pub fn free(&self) -> (usize, usize) {
        (self.all.available_permits(), lock(&self.tenants).len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    async fn waits(slots: &Slots, tenant: &str) -> bool {
        tokio::time::timeout(Duration::from_millis(20), slots.take(tenant)).await.is_err()
    }

    #[tokio::test]
    async fn a_tenant_has_its_slots_and_the_host_its_own_and_each_comes_back() {
        let slots = Slots::new(2, 3);
        let first = slots.take("a").await;
        let _second = slots.take("a").await;
        assert!(waits(&slots, "a").await);
        let third = slots.take("b").await;
        assert!(waits(&slots, "b").await);
        drop(first);
        let again = slots.take("b").await;
        assert!(waits(&slots, "a").await);
        assert_eq!(slots.free(), (0, 2));
        drop((third, again));
        assert_eq!(slots.free(), (2, 1));
    }

    #[tokio::test]
    async fn one_that_gives_up_waiting_leaves_nothing_behind() {
        let slots = Slots::new(1, 1);
        let held = slots.take("a").await;
        for tenant in ["a", "b", "c"] {
            assert!(waits(&slots, tenant).await);
        }
        assert_eq!(slots.free(), (0, 1));
        drop(held);
        assert_eq!(slots.free(), (1, 0));
    }
}

//! Many tenants, grants, slots, cancellations and failing sinks at once, against what may never be.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ampoule::host::{
    AuditEntry, AuditError, AuditEvent, AuditSink, ContentPin, Grant, Head, HostError, MemoryAudit, Script,
};
use ampoule::{CancellationToken, ExecuteError, Outcome, ScriptExecutor, ScriptRequest, Status, async_trait};
use proptest::prelude::*;
use tokio::time::{Instant, sleep, timeout};

use crate::world::{SKILL, World};

/// What a script does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    Ends,
    Sleeps,
    IgnoresItsCancellation,
    Panics,
}

#[derive(Debug, Clone)]
struct Step {
    tenant: usize,
    script: usize,
    /// Milliseconds after the beginning.
    at: u64,
    /// Milliseconds after it began, if at all.
    cancelled: Option<u64>,
    /// Whether the caller goes away instead of cancelling.
    goes_away: bool,
}

const SCRIPTS: [Does; 4] = [Does::Ends, Does::Sleeps, Does::IgnoresItsCancellation, Does::Panics];
const TENANTS: usize = 5;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..TENANTS, 0..SCRIPTS.len(), 0..200_u64, proptest::option::of(0..120_u64), any::<bool>());
    let step =
        step.prop_map(|(tenant, script, at, cancelled, goes_away)| Step { tenant, script, at, cancelled, goes_away });
    proptest::collection::vec(step, 1..60)
}

/// A sink of which each entry whose number is on the list fails.
struct Failing {
    kept: MemoryAudit,
    entries: Mutex<Vec<AuditEntry>>,
    count: AtomicUsize,
    fails: Vec<usize>,
}

#[async_trait]
impl AuditSink for Failing {
    async fn append(&self, entry: &AuditEntry) -> Result<Head, AuditError> {
        // As a disk does, it takes its time.
        sleep(Duration::from_millis(1)).await;
        if self.fails.contains(&self.count.fetch_add(1, Ordering::SeqCst)) {
            return Err(AuditError::Other("no space left on device".into()));
        }
        let head = self.kept.append(entry).await?;
        self.entries.lock().unwrap().push(entry.clone());
        Ok(head)
    }
}

/// Runs nothing that the audit does not know, never more than there are slots.
struct Watching {
    sink: Arc<Failing>,
    running: Mutex<HashMap<String, usize>>,
    most: AtomicUsize,
    most_of_a_tenant: AtomicUsize,
    unaudited: AtomicUsize,
    calls: AtomicUsize,
}

struct Counted<'a>(&'a Watching, String);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        *self.0.running.lock().unwrap().get_mut(&self.1).unwrap() -= 1;
    }
}

#[async_trait]
impl ScriptExecutor for Watching {
    async fn execute(&self, request: ScriptRequest, cancel: CancellationToken) -> Result<Outcome, ExecuteError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let run = request.run_id.clone().unwrap();
        let known = self
            .sink
            .entries
            .lock()
            .unwrap()
            .iter()
            .any(|entry| entry.event == AuditEvent::Allowed && entry.run.as_ref() == Some(&run));
        if !known {
            self.unaudited.fetch_add(1, Ordering::SeqCst);
        }
        let _counted = {
            let mut running = self.running.lock().unwrap();
            *running.entry(request.tenant_id.clone()).or_default() += 1;
            self.most.fetch_max(running.values().sum(), Ordering::SeqCst);
            self.most_of_a_tenant.fetch_max(running[&request.tenant_id], Ordering::SeqCst);
            Counted(self, request.tenant_id.clone())
        };
        match SCRIPTS[request.content.parse::<usize>().unwrap()] {
            Does::Ends => {
                sleep(Duration::from_millis(10)).await;
                Ok(Outcome::new(Status::Exited(0), "", ""))
            }
            Does::Sleeps => tokio::select! {
                () = cancel.cancelled() => Err(ExecuteError::Cancelled),
                () = sleep(request.timeout) => Ok(Outcome::new(Status::TimedOut, "", "")),
            },
            Does::IgnoresItsCancellation => std::future::pending().await,
            Does::Panics => {
                sleep(Duration::from_millis(5)).await;
                // A panic that no hook writes out: writing takes longer than the test.
                std::panic::resume_unwind(Box::new("the executor's own fault"))
            }
        }
    }
}

async fn drive(steps: Vec<Step>, fails: Vec<usize>, per_tenant: usize, all: usize) -> Result<(), TestCaseError> {
    let mut world = World::with("");
    let all = all.max(per_tenant);
    (world.config.slots_per_tenant, world.config.slots) = (per_tenant, all);
    (world.config.timeout, world.config.grace) = (Duration::from_millis(60), Duration::from_millis(20));
    world.scripts = (0..SCRIPTS.len()).map(|n| Script::stored(SKILL, format!("{n}.py"), n.to_string())).collect();
    // The last tenant has no grant, the one before it one for other content, the one before that one that has expired.
    let pin = |n: usize| ContentPin::of_script(SKILL, &format!("{n}.py"), &n.to_string());
    let grant = |tenant: usize, n: usize| Grant::script(format!("t{tenant}"), SKILL, format!("{n}.py"));
    world.grants = (0..SCRIPTS.len())
        .flat_map(|n| {
            let other = ContentPin::of_script(SKILL, "x", "y");
            let expired = grant(2, n).pinned(pin(n)).until(std::time::SystemTime::UNIX_EPOCH);
            [grant(0, n).pinned(pin(n)), grant(1, n).pinned(pin(n)), expired, grant(3, n).pinned(other)]
        })
        .collect();
    let may = |tenant: usize| tenant < 2;
    let sink =
        Arc::new(Failing { kept: MemoryAudit::new(), entries: Mutex::default(), count: AtomicUsize::new(0), fails });
    let watching = Arc::new(Watching {
        sink: sink.clone(),
        running: Mutex::default(),
        most: AtomicUsize::new(0),
        most_of_a_tenant: AtomicUsize::new(0),
        unaudited: AtomicUsize::new(0),
        calls: AtomicUsize::new(0),
    });
    let host = ampoule::host::ScriptHost::builder(world.config.clone(), "recording", watching.clone(), sink.clone())
        .catalog(Arc::new(ampoule::host::MemoryCatalog::new(world.scripts.clone())))
        .grants(Arc::new(ampoule::host::MemoryGrants::new(world.grants.clone())))
        .build()
        .unwrap();

    let start = Instant::now();
    let calls: Vec<_> = steps
        .iter()
        .cloned()
        .enumerate()
        .map(|(number, step)| {
            let host = host.clone();
            tokio::spawn(async move {
                sleep(Duration::from_millis(step.at)).await;
                let mut call =
                    ampoule::host::ScriptCall::new(format!("t{}", step.tenant), SKILL, format!("{}.py", step.script));
                call.run = Some(number.to_string());
                let cancel = CancellationToken::new();
                let run = host.run(call, &cancel);
                let result = match step.cancelled {
                    None => Some(run.await),
                    Some(after) if step.goes_away => timeout(Duration::from_millis(after), run).await.ok(),
                    Some(after) => {
                        let stop = async {
                            sleep(Duration::from_millis(after)).await;
                            cancel.cancel();
                            std::future::pending::<()>().await;
                        };
                        tokio::select! { result = run => Some(result), () = stop => None }
                    }
                };
                (number, step, result)
            })
        })
        .collect();
    // No starvation: even if each waited for all of the others, one after the other, they would have ended by then.
    let longest = Duration::from_millis(200) + Duration::from_millis(200) * steps.len() as u32;
    let mut ended = Vec::new();
    for call in calls {
        let joined = timeout(longest, call).await;
        prop_assert!(joined.is_ok(), "a call never ended");
        ended.push(joined.unwrap().unwrap());
    }
    prop_assert!(start.elapsed() <= longest);
    // Those whose callers went away end, too.
    for _ in 0..200 {
        if host.free_slots() == (all, 0) {
            break;
        }
        sleep(Duration::from_millis(5)).await;
    }
    prop_assert_eq!(host.free_slots(), (all, 0), "a slot is lost");
    sleep(Duration::from_millis(20)).await;

    prop_assert!(watching.most.load(Ordering::SeqCst) <= all, "more than the host's slots");
    prop_assert!(watching.most_of_a_tenant.load(Ordering::SeqCst) <= per_tenant, "more than the tenant's slots");
    prop_assert_eq!(watching.unaudited.load(Ordering::SeqCst), 0, "a run without an entry");

    let entries = sink.entries.lock().unwrap();
    let events = |number: usize| {
        let run = number.to_string();
        entries.iter().filter(|entry| entry.run.as_ref() == Some(&run)).map(|entry| entry.event).collect::<Vec<_>>()
    };
    for (number, step, result) in &ended {
        let events = events(*number);
        // Each is allowed or denied at most once, and has one end at most.
        let beginnings = events.iter().filter(|event| **event != AuditEvent::Finished).count();
        prop_assert!(beginnings <= 1 && events.len() <= 2, "{:?}", events);
        match result {
            Some(Ok(_)) => prop_assert!(may(step.tenant) && events.contains(&AuditEvent::Allowed)),
            Some(Err(HostError::Denied { .. })) => {
                prop_assert!(!may(step.tenant) && !events.contains(&AuditEvent::Allowed));
            }
            Some(Err(HostError::Unaudited(_))) => prop_assert!(may(step.tenant) && events.is_empty()),
            Some(Err(HostError::Execute(_))) => prop_assert_eq!(SCRIPTS[step.script], Does::Panics),
            Some(Err(HostError::Cancelled)) => prop_assert!(step.cancelled.is_some()),
            Some(Err(error)) => prop_assert!(false, "{error}"),
            None => prop_assert!(step.cancelled.is_some()),
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn never_more_than_the_slots_no_run_without_an_entry_no_slot_lost_nobody_starved(
        steps in steps(),
        fails in proptest::collection::vec(0..80_usize, 0..8),
        per_tenant in 1..4_usize,
        all in 1..6_usize,
    ) {
        // The clock stands still but for when everybody waits, so that it is the same each time and takes no time.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(drive(steps, fails, per_tenant, all))?;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_same_holds_on_several_threads_in_real_time() {
    let steps = (0..300)
        .map(|n| Step {
            tenant: n % TENANTS,
            script: n / 7 % SCRIPTS.len(),
            at: (n as u64 * 37) % 200,
            cancelled: (n % 3 == 0).then_some((n as u64 * 13) % 120),
            goes_away: n % 2 == 0,
        })
        .collect();
    drive(steps, vec![3, 40, 41, 90], 2, 5).await.unwrap();
}

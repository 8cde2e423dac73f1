//! From the audit entry to the end: slots, watchdog, second cap, records.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use ampoule::host::{AuditEvent, ContentPin, Grant, HostError, ScriptHost};
use ampoule::{CancellationToken, Status};
use tokio::time::sleep;

use crate::world::{FAILS, FLOODS, Full, IGNORES, NAME, PANICS, SKILL, SLEEPS, World, call};

/// Waits until it is so.
async fn until(what: &str, so: impl Fn() -> bool) {
    for _ in 0..1000 {
        if so() {
            return;
        }
        sleep(Duration::from_millis(5)).await;
    }
    panic!("it never came to this: {what}");
}

fn statuses(world: &World) -> Vec<String> {
    let entries = world.audit.take();
    let ended = entries.iter().filter_map(|entry| entry.ended.as_ref());
    ended.map(|ended| ended.status.clone()).collect()
}

#[tokio::test]
async fn a_call_whose_audit_entry_cannot_be_written_never_reaches_the_executor() {
    let mut world = World::with("x");
    world.sink = Some(Arc::new(Full));
    let error = world.run(call()).await.unwrap_err();
    assert!(matches!(error, HostError::Unaudited(_)), "{error}");
    assert!(error.to_string().contains("was not made") && error.to_string().contains("no space left"), "{error}");
    assert_eq!(world.executor.calls(), 0);
}

#[tokio::test]
async fn the_entry_is_there_before_the_executor_is_called_and_the_end_of_the_call_after_it() {
    let world = World::with(SLEEPS);
    let host = world.host();
    let cancel = CancellationToken::new();
    let running = tokio::spawn({
        let (host, cancel) = (host.clone(), cancel.clone());
        async move { host.run(call().arguments("{}"), &cancel).await }
    });
    until("the executor was called", || world.executor.calls() == 1).await;
    let before = world.audit.take();
    assert_eq!((before.len(), before[0].event), (1, AuditEvent::Allowed));
    let entry = &before[0];
    assert_eq!(entry.script_sha256, Some(ampoule::content_sha256(SLEEPS)));
    assert_eq!(entry.arguments_sha256, Some(ampoule::content_sha256("{}")));
    assert_eq!((entry.script_bytes, entry.arguments_bytes), (Some(SLEEPS.len() as u64), Some(2)));
    assert_eq!(
        (entry.interpreter.as_deref(), entry.grant.as_deref()),
        (Some("python-3.15"), Some(world.grants[0].id.as_str()))
    );
    cancel.cancel();
    running.await.unwrap().unwrap_err();
    let after = world.audit.take();
    assert_eq!((after.len(), after[0].event, &after[0].call), (1, AuditEvent::Finished, &entry.call));
}

#[tokio::test]
async fn no_entry_holds_a_text_an_input_or_a_value() {
    let world = World::with("secret text");
    let mut asked = call().arguments("secret input");
    asked.extras.environment.push(("NAME".into(), "secret value".into()));
    // This executor takes none, and says so.
    assert!(matches!(world.run(asked).await, Err(HostError::Execute(ampoule::ExecuteError::Unsupported))));
    world.run(call().arguments("secret input")).await.unwrap();
    let entries = world.audit.take();
    assert_eq!(entries.len(), 4);
    assert!(!serde_json::to_string(&entries).unwrap().contains("secret"));
}

#[tokio::test]
async fn a_tenant_has_its_slots_and_the_rest_wait_and_are_not_rejected() {
    let world = World::with(SLEEPS);
    let host = world.host();
    let cancel = CancellationToken::new();
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let (host, cancel) = (host.clone(), cancel.clone());
            tokio::spawn(async move { host.run(call().timeout(Duration::from_millis(50)), &cancel).await })
        })
        .collect();
    for running in calls {
        assert_eq!(running.await.unwrap().unwrap().outcome.status, Status::TimedOut);
    }
    assert_eq!(world.executor.most.load(Ordering::SeqCst), 2);
    assert_eq!(host.free_slots(), (8, 0));
}

#[tokio::test]
async fn tenants_together_have_the_host_s_slots_and_none_takes_another_s() {
    let mut world = World::with(SLEEPS);
    (world.config.slots_per_tenant, world.config.slots) = (2, 3);
    let pin = ContentPin::of_script(SKILL, NAME, SLEEPS);
    world.grants = (0..4).map(|n| Grant::script(format!("tenant-{n}"), SKILL, NAME).pinned(pin.clone())).collect();
    let host = world.host();
    let start = Instant::now();
    let run = |tenant: usize| {
        let host = host.clone();
        tokio::spawn(async move {
            let mut asked = call().timeout(Duration::from_millis(50));
            asked.tenant = format!("tenant-{tenant}");
            host.run(asked, &CancellationToken::new()).await.unwrap();
            (tenant, start.elapsed())
        })
    };
    // One floods the host, the others come once and last.
    let mut calls: Vec<_> = (0..20).map(|_| run(0)).collect();
    sleep(Duration::from_millis(10)).await;
    calls.extend((1..4).map(run));
    let mut last_of = [Duration::ZERO; 4];
    for running in calls {
        let (tenant, at) = running.await.unwrap();
        last_of[tenant] = last_of[tenant].max(at);
    }
    assert_eq!(world.executor.most.load(Ordering::SeqCst), 3);
    assert_eq!(world.executor.most_of_a_tenant.load(Ordering::SeqCst), 2);
    assert!(last_of[1..].iter().all(|at| *at < last_of[0] / 2), "they waited behind the flood: {last_of:?}");
}

#[tokio::test]
async fn a_slot_is_freed_on_every_way_out() {
    for (content, expected) in [
        ("ends", "exited"),
        (SLEEPS, "timedOut"),
        (IGNORES, "timedOut"),
        (PANICS, "failed"),
        (FAILS, "failed"),
        (FLOODS, "exited"),
    ] {
        let mut world = World::with(content);
        world.config.grace = Duration::from_millis(50);
        let host = world.host();
        let _ = host.run(call().timeout(Duration::from_millis(50)), &CancellationToken::new()).await;
        assert_eq!(host.free_slots(), (8, 0), "{content}");
        assert_eq!(statuses(&world), [expected], "{content}");
    }
    // The caller cancels, or goes away.
    for content in [SLEEPS, IGNORES] {
        for goes_away in [false, true] {
            let mut world = World::with(content);
            world.config.grace = Duration::from_millis(50);
            let host = world.host();
            let cancel = CancellationToken::new();
            let mut running = Box::pin(host.run(call(), &cancel));
            tokio::select! {
                _ = &mut running => panic!("it ended"),
                () = until("it runs", || world.executor.calls() == 1) => {}
            }
            if goes_away {
                drop(running);
            } else {
                cancel.cancel();
                assert!(matches!(running.await, Err(HostError::Cancelled)));
            }
            until("the slot is free", || host.free_slots() == (8, 0)).await;
            let mut found = Vec::new();
            for _ in 0..200 {
                found.extend(statuses(&world));
                if !found.is_empty() {
                    break;
                }
                sleep(Duration::from_millis(5)).await;
            }
            assert_eq!(found, ["cancelled"], "{content} {goes_away}");
        }
    }
}

#[tokio::test]
async fn one_that_is_cancelled_while_it_waits_for_a_slot_is_written_down_and_never_runs() {
    let mut world = World::with(SLEEPS);
    (world.config.slots_per_tenant, world.config.slots) = (1, 1);
    let host = world.host();
    let first = tokio::spawn({
        let host = host.clone();
        async move { host.run(call().timeout(Duration::from_millis(300)), &CancellationToken::new()).await }
    });
    until("the first runs", || world.executor.calls() == 1).await;
    let cancel = CancellationToken::new();
    tokio::spawn({
        let cancel = cancel.clone();
        async move {
            sleep(Duration::from_millis(30)).await;
            cancel.cancel();
        }
    });
    assert!(matches!(host.run(call(), &cancel).await, Err(HostError::Cancelled)));
    first.await.unwrap().unwrap();
    assert_eq!(world.executor.calls(), 1);
    assert_eq!(statuses(&world), ["cancelled", "timedOut"]);
    assert_eq!(host.free_slots(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_watchdog_waits_for_the_timeout_and_five_seconds_then_records_a_timeout() {
    let world = World::with(IGNORES);
    let start = tokio::time::Instant::now();
    let run = world.run(call().timeout(Duration::from_secs(30))).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 35);
    assert_eq!((run.outcome.status, run.record.given_up), (Status::TimedOut, true));
    assert_eq!(statuses(&world), ["timedOut"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_executor_that_blocks_its_thread_holds_neither_the_caller_nor_the_slot() {
    struct Blocks;
    #[ampoule::async_trait]
    impl ampoule::ScriptExecutor for Blocks {
        async fn execute(
            &self,
            _: ampoule::ScriptRequest,
            _: CancellationToken,
        ) -> Result<ampoule::Outcome, ampoule::ExecuteError> {
            std::thread::sleep(Duration::from_secs(2));
            Err(ampoule::ExecuteError::Cancelled)
        }
    }
    let mut world = World::with("x");
    world.config.grace = Duration::from_millis(100);
    let host = ScriptHost::builder(world.config.clone(), "recording", Arc::new(Blocks), world.audit.clone())
        .catalog(Arc::new(ampoule::host::MemoryCatalog::new(world.scripts.clone())))
        .grants(Arc::new(ampoule::host::MemoryGrants::new(world.grants.clone())))
        .build()
        .unwrap();
    let start = Instant::now();
    let run = host.run(call().timeout(Duration::from_millis(100)), &CancellationToken::new()).await.unwrap();
    assert!(start.elapsed() < Duration::from_millis(1500), "{:?}", start.elapsed());
    assert_eq!((run.outcome.status, host.free_slots()), (Status::TimedOut, (8, 0)));
}

#[tokio::test]
async fn output_is_capped_again_and_one_notice_is_added() {
    let mut world = World::with(FLOODS);
    world.config.max_output_bytes = 1000;
    let run = world.run(call()).await.unwrap();
    let notice = "[output truncated at 1000 bytes]";
    let (stdout, stderr) = (run.outcome.stdout_text(), run.outcome.stderr_text());
    assert_eq!(stdout, format!("{}\n{notice}\n", "x".repeat(1000)));
    assert_eq!((stderr.len(), (stdout + &stderr).matches(notice).count()), (1000, 1));
    assert!(run.outcome.truncated && run.record.truncated);
}

#[tokio::test]
async fn what_an_executor_did_wrong_is_its_error_and_is_written_down() {
    for content in [PANICS, FAILS] {
        let world = World::with(content);
        let error = world.run(call()).await.unwrap_err();
        assert!(matches!(error, HostError::Execute(_)), "{error}");
        let entries = world.audit.take();
        assert_eq!(entries.len(), 2);
        assert!(entries[1].ended.as_ref().unwrap().error.is_some(), "{content}");
    }
}

#[tokio::test]
async fn a_call_is_seen_in_the_metrics() {
    let recorder = Names::default();
    // This runtime has one thread: all of the call is seen by its recorder.
    let _guard = metrics::set_default_local_recorder(&recorder);
    let mut world = World::with("x");
    world.run(call()).await.unwrap();
    world.config.scripts_enabled = false;
    world.run(call()).await.unwrap_err();
    let found = recorder.0.lock().unwrap().clone();
    for name in [
        "ampoule_calls_total",
        "ampoule_calls_denied_total",
        "ampoule_call_seconds",
        "ampoule_slot_wait_seconds",
        "ampoule_audit_seconds",
        "ampoule_calls_running",
    ] {
        assert!(found.contains(name), "{name} is not in {found:?}");
    }
}

/// Remembers the names of all metrics.
#[derive(Default)]
struct Names(std::sync::Mutex<std::collections::BTreeSet<String>>);

impl Names {
    fn see(&self, key: &metrics::Key) {
        self.0.lock().unwrap().insert(key.name().to_owned());
    }
}

impl metrics::Recorder for Names {
    fn describe_counter(&self, _: metrics::KeyName, _: Option<metrics::Unit>, _: metrics::SharedString) {}
    fn describe_gauge(&self, _: metrics::KeyName, _: Option<metrics::Unit>, _: metrics::SharedString) {}
    fn describe_histogram(&self, _: metrics::KeyName, _: Option<metrics::Unit>, _: metrics::SharedString) {}

    fn register_counter(&self, key: &metrics::Key, _: &metrics::Metadata<'_>) -> metrics::Counter {
        self.see(key);
        metrics::Counter::noop()
    }

    fn register_gauge(&self, key: &metrics::Key, _: &metrics::Metadata<'_>) -> metrics::Gauge {
        self.see(key);
        metrics::Gauge::noop()
    }

    fn register_histogram(&self, key: &metrics::Key, _: &metrics::Metadata<'_>) -> metrics::Histogram {
        self.see(key);
        metrics::Histogram::noop()
    }
}

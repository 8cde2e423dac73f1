//! The clock that makes computing guests look up: one thread for all engines of an executor.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::EngineWeak;

/// How often a computing guest gives the host a chance to stop it, while there are no more calls than cores.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// How often it does at least, however many calls there are.
const SHORTEST_TICK: Duration = Duration::from_millis(1);

/// The time between two ticks. Calls that share a thread take turns at ticks, so the more there are, the shorter a turn
/// has to be for each to be looked at within some tens of milliseconds.
fn tick(running: usize, cores: usize) -> Duration {
    let turns = u32::try_from(running.div_ceil(cores)).unwrap_or(u32::MAX);
    (TICK / turns.max(1)).max(SHORTEST_TICK)
}

/// How many ticks the thread goes on after the last call, so that calls that follow each other need not wake it.
const LINGER: u32 = 50;

/// Raises the epoch of its engines every [`TICK`], or more often, while calls are running, and sleeps otherwise.
///
/// It belongs to an executor and ends with it; nothing ticks behind the user's back.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// Calls that are running.
    running: AtomicUsize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default, PartialEq, Eq)]
enum State {
    /// The thread ticks.
    #[default]
    Awake,
    /// The thread waits for a call to begin.
    Asleep,
    /// The thread is to end.
    Stopped,
}

impl Ticker {
    /// Starts the thread for these engines.
    pub fn start(engines: Vec<EngineWeak>) -> std::io::Result<Ticker> {
        let shared = Arc::new(Shared::default());
        let thread = std::thread::Builder::new().name("ampoule-ticker".into()).spawn({
            let shared = shared.clone();
            move || shared.tick(&engines)
        })?;
        Ok(Ticker { shared, thread: Some(thread) })
    }

    /// Keeps the ticker going until the value is dropped.
    pub fn running(&self) -> Running<'_> {
        if self.shared.running.fetch_add(1, Ordering::SeqCst) == 0 {
            let mut state = self.shared.lock();
            if *state == State::Asleep {
                *state = State::Awake;
                self.shared.changed.notify_one();
            }
        }
        Running(&self.shared)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        *self.shared.lock() = State::Stopped;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A call is running.
pub(crate) struct Running<'a>(&'a Shared);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self, engines: &[EngineWeak]) {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let mut idle = 0;
        let mut state = self.lock();
        while *state != State::Stopped {
            // Looked at under the lock: a call that begins now finds the thread awake, or wakes it.
            let running = self.running.load(Ordering::SeqCst);
            idle = if running > 0 { 0 } else { idle + 1 };
            if idle > LINGER {
                *state = State::Asleep;
                while *state == State::Asleep {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                idle = 0;
                continue;
            }
            let wait = self.changed.wait_timeout(state, tick(running, cores));
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
            if running > 0 {
                engines.iter().filter_map(EngineWeak::upgrade).for_each(|engine| engine.increment_epoch());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn ticks_come_more_often_the_more_calls_share_a_core() {
        let milliseconds = [0, 1, 2, 3, 4, 20, 1000].map(|running| tick(running, 2).as_millis());
        assert_eq!(milliseconds, [10, 10, 10, 5, 5, 1, 1]);
    }

    #[test]
    fn the_thread_ticks_while_a_call_runs_and_sleeps_when_none_has_for_a_while() {
        let ticker = Ticker::start(Vec::new()).unwrap();
        let asleep = || *ticker.shared.lock() == State::Asleep;
        let until = |wanted: bool| {
            let start = Instant::now();
            while asleep() != wanted {
                assert!(start.elapsed() < 20 * LINGER * TICK, "the ticker is not {wanted}");
                std::thread::sleep(TICK);
            }
        };
        until(true);
        let running = ticker.running();
        assert!(!asleep());
        std::thread::sleep(2 * LINGER * TICK);
        assert!(!asleep());
        drop(running);
        until(true);
    }
}

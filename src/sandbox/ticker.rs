//! The clock that makes computing guests look up: one thread for all engines of an executor.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// How often a computing guest gives the host a chance to stop it.
pub(crate) const TICK: Duration = Duration::from_millis(10);

/// Raises the epoch of its engines every [`TICK`] while a call is running, and sleeps otherwise.
///
/// It belongs to an executor and ends with it; nothing ticks behind the user's back.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    running: usize,
    stopped: bool,
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
        let mut state = self.shared.lock();
        state.running += 1;
        if state.running == 1 {
            self.shared.changed.notify_one();
        }
        Running(&self.shared)
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
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
        self.0.lock().running -= 1;
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // Nothing that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self, engines: &[EngineWeak]) {
        let mut state = self.lock();
        while !state.stopped {
            state = if state.running == 0 {
                self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
            } else {
                self.changed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner).0
            };
            if state.running > 0 {
                engines.iter().filter_map(EngineWeak::upgrade).for_each(|engine| Engine::increment_epoch(&engine));
            }
        }
    }
}

//! The clocks and the random numbers a guest gets: the host's in a call, constants while an image is made.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};

/// Which clocks and random numbers a guest gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ambient {
    /// The host's.
    Host,
    /// The same in every run, so that an image made twice is the same twice.
    Fixed,
}

impl Ambient {
    pub fn apply(self, builder: &mut WasiCtxBuilder) {
        if self == Ambient::Fixed {
            builder
                .wall_clock(FixedClock::default())
                .monotonic_clock(FixedClock::default())
                .secure_random(StdRng::seed_from_u64(0))
                .insecure_random(StdRng::seed_from_u64(0))
                .insecure_random_seed(0);
        }
    }
}

/// The time at which images are made: 2026-01-01T00:00:00Z.
const EPOCH: Duration = Duration::from_secs(1_767_225_600);

/// A clock that moves on by a microsecond whenever it is read, so that a guest that waits for it is not stuck.
#[derive(Default)]
struct FixedClock(AtomicU64);

impl FixedClock {
    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

impl HostWallClock for FixedClock {
    fn resolution(&self) -> Duration {
        Duration::from_micros(1)
    }

    fn now(&self) -> Duration {
        EPOCH + self.elapsed()
    }
}

impl HostMonotonicClock for FixedClock {
    fn resolution(&self) -> u64 {
        1_000
    }

    fn now(&self) -> u64 {
        self.elapsed().as_nanos() as u64
    }
}

//! A script's files made what its engine runs, by programs that are sealed as the script is: see [`Transform`].

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Call, InputFile, RunError, Sandbox, ScratchRoot, Stdin, Ticker};
use crate::Limits;
use crate::runtime::Transform;
use crate::script::{Status, Usage};

/// A filter may make this many times as much of a text, and a little more.
const GROWTH: usize = 8;

/// What a filter may make of next to nothing.
const LEAST_BYTES: usize = 64 << 10;

/// A program that files of some endings go through.
pub(crate) struct Filter {
    pub transform: Transform,
    pub sandbox: Arc<Sandbox>,
}

/// Runs a call's filters within the call's own limits.
pub(super) struct Filtering<'a> {
    pub filters: &'a [Filter],
    pub limits: &'a Limits,
    pub roots: &'a ScratchRoot,
    pub ticker: &'a Ticker,
    pub cancel: &'a CancellationToken,
    pub spent: Spent,
}

/// What filtering took of a call's limits.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Spent {
    pub fuel: u64,
    pub wall_time: Duration,
    pub peak_memory_bytes: u64,
}

impl Spent {
    /// What is left of limits.
    pub fn left_of(self, limits: &mut Limits) {
        limits.fuel = limits.fuel.map(|fuel| fuel.saturating_sub(self.fuel));
        limits.timeout = limits.timeout.map(|timeout| timeout.saturating_sub(self.wall_time));
    }
}

impl From<Spent> for Usage {
    fn from(spent: Spent) -> Usage {
        let Spent { fuel, wall_time, peak_memory_bytes } = spent;
        Usage { fuel, wall_time, peak_memory_bytes, ..Usage::default() }
    }
}

/// Why there is nothing for the engine to run.
pub(super) enum Unfiltered {
    /// The text has a mistake: this shows it.
    Mistake(Vec<u8>),
    /// The filter was stopped, as the script would have been.
    Stopped(Status),
    /// The sandbox failed.
    Failed(RunError),
}

/// Which of a call's texts a filter is given.
#[derive(Clone, Copy)]
enum Role {
    /// The script itself.
    Script,
    /// A file that it may ask for.
    Module,
}

impl<'a> Filtering<'a> {
    /// The script's text as the engine takes it.
    pub async fn script(&mut self, name: &str, source: String) -> Result<String, Unfiltered> {
        let Some(filter) = self.filter_of(name) else { return Ok(source) };
        let made = self.run(filter, name, Role::Script, source.into_bytes()).await?;
        String::from_utf8(made).map_err(|error| Unfiltered::Mistake(format!("{name}: {error}\n").into_bytes()))
    }

    /// The files beside it likewise, in their places. What is wrong with one is the script's affair when it asks for it.
    pub async fn files(&mut self, files: &mut [InputFile]) -> Result<(), Unfiltered> {
        for file in files {
            let Some(filter) = self.filter_of(&file.path) else { continue };
            file.content = self.run(filter, &file.path, Role::Module, file.content.to_vec()).await?.into();
        }
        Ok(())
    }

    fn filter_of(&self, path: &str) -> Option<&'a Filter> {
        self.filters.iter().find(|filter| filter.transform.takes(path))
    }

    async fn run(&mut self, filter: &Filter, path: &str, role: Role, text: Vec<u8>) -> Result<Vec<u8>, Unfiltered> {
        let role = match role {
            Role::Script => "script",
            Role::Module => "module",
        };
        let mut limits = self.limits.clone();
        self.spent.left_of(&mut limits);
        limits.stdin_bytes = text.len();
        limits.stdout_bytes = text.len().saturating_mul(GROWTH).saturating_add(LEAST_BYTES);
        let call = Call::new("").arguments([path, role]).stdin(Stdin::Bytes(text.into())).limits(limits);
        // A filter's own files go through none: the futures are no deeper than this.
        let running = Box::pin(filter.sandbox.run(call, self.roots, self.ticker, self.cancel));
        let outcome = running.await.map_err(Unfiltered::Failed)?;
        self.spent.fuel += outcome.usage.fuel;
        self.spent.wall_time += outcome.usage.wall_time;
        self.spent.peak_memory_bytes = self.spent.peak_memory_bytes.max(outcome.usage.peak_memory_bytes);
        match outcome.status {
            Status::Exited(0) if outcome.truncated => Err(Unfiltered::Mistake(
                format!("{path}: what `{}` makes of it is too long\n", filter.transform.with).into(),
            )),
            Status::Exited(0) => Ok(outcome.stdout),
            Status::Exited(_) => Err(Unfiltered::Mistake(outcome.stderr)),
            Status::Trapped(reason) => {
                Err(Unfiltered::Stopped(Status::Trapped(format!("{} of {path}: {reason}", filter.transform.with))))
            }
            stopped => Err(Unfiltered::Stopped(stopped)),
        }
    }
}

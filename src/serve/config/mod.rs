//! The service's configuration: a TOML file is read into plain tables ([`file`]), and those are checked and made into
//! what the service needs.

mod file;
mod units;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::address::{Address, AddressError};
use super::tokens::{Tenants, TokenError, Tokens};
use crate::runner::{Policy, PolicyError, TenantPolicy};

/// What the service listens on, whom it serves, and how much.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Config {
    /// Where it listens. Default: `127.0.0.1:8085`.
    pub listen: Vec<Address>,
    /// The permission bits of a socket in the file system. Default: 600.
    pub socket_mode: u32,
    /// The allow-list: each value that a request may name, and the installed image that runs it. `None`: the installed
    /// runtimes by their names.
    pub runtimes: Option<BTreeMap<String, String>>,
    /// Ceilings, slots and queues.
    pub policy: Policy,
    /// What a request may be, and how many connections there are.
    pub requests: Requests,
    /// Who may use it. None: everybody on this machine.
    pub tokens: Tokens,
    /// How long calls that run may go on when the service is told to end. Default: 30 s.
    pub shutdown_time: Duration,
}

/// What the service takes of a request before it is a job.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Requests {
    /// Bytes of one body. Default: 16 MiB. On breach: 413.
    pub body_bytes: usize,
    /// Bytes of all bodies that are held at once. Default: 512 MiB. On breach: 503. Where there are tokens, one takes no
    /// more than half; on breach: 429.
    pub bodies_bytes: usize,
    /// From when a connection waits for a request to the end of the request's head, and so the time that an idle
    /// connection is kept. Default: 75 s. On breach: the connection is closed.
    pub head_time: Duration,
    /// From a request's head to the end of its body. Default: 30 s. On breach: 408.
    pub body_time: Duration,
    /// How long a client may take nothing of an answer. Default: 30 s. On breach: the connection is closed.
    pub write_time: Duration,
    /// Bytes of all answers that are being sent, as the scripts wrote them. Default: 512 MiB. On breach: 503. Where there
    /// are tokens, one takes no more than half; on breach: 429.
    pub answers_bytes: usize,
    /// Connections that are open at once. Default: 4,096. On breach: those that have been idle for the longest are
    /// closed; where none is idle, probes are answered, and who asks for anything else gets 503.
    pub connections: usize,
    /// Sessions of tools for agents that are open at once. Default: 1,000. On breach: 503.
    pub sessions: usize,
    /// Those of one token, where there are tokens. Default: 250. On breach: 429.
    pub sessions_per_token: usize,
    /// How long a session may idle, or as long as a call may wait and run, where that is longer. Default: 5 min. On
    /// breach: it is closed.
    pub session_time: Duration,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            listen: vec![Address::Tcp(([127, 0, 0, 1], 8085).into())],
            socket_mode: 0o600,
            runtimes: None,
            policy: Policy::default(),
            requests: Requests::default(),
            tokens: Tokens::default(),
            shutdown_time: Duration::from_secs(30),
        }
    }
}

impl Default for Requests {
    fn default() -> Requests {
        Requests {
            body_bytes: 16 << 20,
            bodies_bytes: 512 << 20,
            head_time: Duration::from_secs(75),
            body_time: Duration::from_secs(30),
            write_time: Duration::from_secs(30),
            answers_bytes: 512 << 20,
            connections: 4096,
            sessions: 1000,
            sessions_per_token: 250,
            session_time: Duration::from_secs(300),
        }
    }
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration `{}` cannot be read: {error}", path.display())]
    Read {
        /// Where.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The file is not TOML, or holds what no setting is or a value that none takes.
    #[error("the configuration `{}` is wrong: {error}", path.display())]
    Parse {
        /// Where.
        path: PathBuf,
        /// What is wrong, and in which line.
        error: Box<toml::de::Error>,
    },
    /// An address that is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// A token that cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// Ceilings or slots that cannot be meant.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// A setting's value cannot be meant.
    #[error("`{setting}` is {value}, but {expected}")]
    Value {
        /// Which setting.
        setting: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// Everybody who reaches this machine could run scripts on it.
    #[error(
        "`{0}` can be reached from other machines, and there is no token: add one (`ampoule serve --new-token`), or listen on 127.0.0.1"
    )]
    OpenToAll(Address),
}

impl Config {
    /// The configuration in a TOML file. What it does not say has its default.
    pub fn read(path: &Path) -> Result<Config, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Read { path: path.to_owned(), error })?;
        let file: file::File =
            toml::from_str(&text).map_err(|error| ConfigError::Parse { path: path.to_owned(), error: error.into() })?;
        // A path in it is meant from where it lies.
        Config::of(file, path.parent().unwrap_or(Path::new("")))
    }

    fn of(file: file::File, folder: &Path) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        if let Some(listen) = file.listen {
            config.listen = listen.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        }
        if let Some(mode) = file.socket_mode {
            let expected = "it must be permission bits as text, such as \"660\"";
            let bits = u32::from_str_radix(&mode, 8).ok().filter(|bits| *bits <= 0o777);
            config.socket_mode = bits.ok_or(ConfigError::Value { setting: "socket-mode", value: mode, expected })?;
        }
        config.runtimes = file.runtimes;
        file.limits.apply(&mut config.policy.limits);
        file.concurrency.apply(&mut config.policy);
        file.requests.apply(&mut config.requests, &mut config.policy.files_out);
        config.policy.tenants =
            file.tenants.into_iter().map(|(name, table)| (name, TenantPolicy::from(table))).collect();
        for token in file.tokens {
            let tenants = match token.tenants {
                file::TenantsTable::Any(_) => Tenants::Any,
                file::TenantsTable::These(names) => Tenants::These(names),
            };
            config.tokens.add(&token.name, &token.sha256, tenants)?;
        }
        if let Some(path) = file.token_file {
            config.tokens.add_file(&folder.join(path))?;
        }
        if let Some(time) = file.shutdown_time {
            config.shutdown_time = time.into();
        }
        Ok(config)
    }

    /// Checks what no single setting shows: that it listens somewhere, that nobody unknown can come from elsewhere, and
    /// that calls can run.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.policy.check()?;
        let value = |setting, value: String, expected| Err(ConfigError::Value { setting, value, expected });
        if self.listen.is_empty() {
            return value("listen", "empty".into(), "it must name an address, such as 127.0.0.1:8085");
        }
        let requests = &self.requests;
        if requests.bodies_bytes < requests.body_bytes {
            return value("requests.bodies", requests.bodies_bytes.to_string(), "it must be at least `requests.body`");
        }
        if requests.answers_bytes < self.policy.answer_bytes() {
            let expected = "it must be at least one answer: `requests.files-out` and twice `limits.max-output`";
            return value("requests.answers", requests.answers_bytes.to_string(), expected);
        }
        if requests.connections == 0 {
            return value("requests.connections", "0".into(), "it must be at least 1");
        }
        if requests.sessions == 0 || requests.sessions_per_token == 0 {
            return value("requests.sessions or sessions-per-token", "0".into(), "it must be at least 1");
        }
        for (setting, time) in [
            ("requests.head-time", requests.head_time),
            ("requests.body-time", requests.body_time),
            ("requests.write-time", requests.write_time),
            ("requests.session-time", requests.session_time),
        ] {
            if time.is_zero() {
                return value(setting, "0".into(), "it must be longer");
            }
        }
        if let Some(runtimes) = &self.runtimes
            && runtimes.is_empty()
        {
            return value(
                "runtimes",
                "empty".into(),
                "it must allow something; leave it out for all that is installed",
            );
        }
        match self.listen.iter().find(|address| !address.is_local()) {
            Some(address) if self.tokens.is_empty() => Err(ConfigError::OpenToAll(address.clone())),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;

//! What a host allows, from TOML, checked as a whole before anything starts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::permissions::{NamedFolder, Permissions, Scope};

/// What a host allows. Everything is denied that is not named.
///
/// ```toml
/// executor = "wasm"
/// scripts_enabled = true
/// timeout = "30s"
/// [interpreters]
/// py = "python"
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct HostConfig {
    /// The name of the executor that scripts run on. The host does not start with another one.
    pub executor: String,
    /// Whether scripts run at all. Default: no.
    #[serde(default)]
    pub scripts_enabled: bool,
    /// The interpreter for each file extension, without its dot, in any case. Default: none.
    #[serde(default)]
    pub interpreters: BTreeMap<String, String>,
    /// When a script is stopped that asks for no time of its own. Default: 30 s.
    #[serde(default = "default::timeout", deserialize_with = "duration")]
    pub timeout: Duration,
    /// The longest time that a script may ask for; more is denied. Default: 10 min.
    #[serde(default = "default::longest_timeout", deserialize_with = "duration")]
    pub longest_timeout: Duration,
    /// How long beyond its timeout, or its cancellation, an executor is waited for. Default: 5 s.
    #[serde(default = "default::grace", deserialize_with = "duration")]
    pub grace: Duration,
    /// Kept bytes of each output stream. On breach it is cut, and one notice says so. Default: 256 KiB.
    #[serde(default = "default::max_output_bytes")]
    pub max_output_bytes: usize,
    /// Bytes of a call's arguments. On breach the call is denied. Default: 16 KiB.
    #[serde(default = "default::max_arguments_bytes")]
    pub max_arguments_bytes: usize,
    /// Bytes of a script's text. On breach the call is denied. Default: 64 KiB.
    #[serde(default = "default::max_script_bytes")]
    pub max_script_bytes: usize,
    /// Scripts of one tenant at once; further ones wait. Default: 2.
    #[serde(default = "default::slots_per_tenant")]
    pub slots_per_tenant: usize,
    /// Scripts at once in all; further ones wait. Default: 8.
    #[serde(default = "default::slots")]
    pub slots: usize,
    /// The most that a task may ask for. Default: nothing.
    #[serde(default)]
    pub max_permissions: Permissions,
    /// Where the audit is kept.
    #[serde(default)]
    pub audit: Option<AuditPlace>,
    /// Where grants are kept: an SQLite file.
    #[serde(default)]
    pub grants: Option<PathBuf>,
    /// The file that this was read from, which no task is shown.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// Where an audit is kept. In TOML: `audit = { file = "audit.jsonl" }` or `audit = { sqlite = "audit.db" }`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum AuditPlace {
    /// A file of one JSON object a line.
    File(PathBuf),
    /// An SQLite file.
    Sqlite(PathBuf),
}

mod default {
    use std::time::Duration;

    pub fn timeout() -> Duration {
        Duration::from_secs(30)
    }
    pub fn longest_timeout() -> Duration {
        Duration::from_secs(600)
    }
    pub fn grace() -> Duration {
        Duration::from_secs(5)
    }
    pub fn max_output_bytes() -> usize {
        256 << 10
    }
    pub fn max_arguments_bytes() -> usize {
        16 << 10
    }
    pub fn max_script_bytes() -> usize {
        64 << 10
    }
    pub fn slots_per_tenant() -> usize {
        2
    }
    pub fn slots() -> usize {
        8
    }
}

fn duration<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text)
        .map_err(|_| serde::de::Error::custom(format!("{text:?} is no duration; write \"5s\", \"250ms\" or \"1m\"")))
}

/// A configuration that cannot be meant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the host's configuration `{}` cannot be read: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// It is no TOML, or has a key or a value that cannot be.
    #[error("the host's configuration cannot be understood: {0}")]
    Parse(toml::de::Error),
    /// A value that cannot be meant.
    #[error("the host's configuration says {key} = {value}, but {expected}")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The executor is not the one that was named.
    #[error(
        "the host was given the executor `{found}`, but its configuration names `{named}`: scripts run only where the \
         configuration says; change one of the two"
    )]
    Executor {
        /// The executor's name.
        found: String,
        /// The configuration's.
        named: String,
    },
}

impl HostConfig {
    /// A configuration for scripts on this executor, in which nothing is allowed yet.
    pub fn new(executor: impl Into<String>) -> HostConfig {
        HostConfig {
            executor: executor.into(),
            scripts_enabled: false,
            interpreters: BTreeMap::new(),
            timeout: default::timeout(),
            longest_timeout: default::longest_timeout(),
            grace: default::grace(),
            max_output_bytes: default::max_output_bytes(),
            max_arguments_bytes: default::max_arguments_bytes(),
            max_script_bytes: default::max_script_bytes(),
            slots_per_tenant: default::slots_per_tenant(),
            slots: default::slots(),
            max_permissions: Permissions::none(),
            audit: None,
            grants: None,
            file: None,
        }
    }

    /// Reads and checks TOML. Relative paths in it are taken from `folder`.
    pub fn from_toml(text: &str, folder: &Path) -> Result<HostConfig, ConfigError> {
        let mut config: HostConfig = toml::from_str(text).map_err(ConfigError::Parse)?;
        config.settle(folder);
        config.check()?;
        Ok(config)
    }

    /// Reads and checks a file, whose relative paths are taken from its folder.
    pub fn from_file(path: impl AsRef<Path>) -> Result<HostConfig, ConfigError> {
        let read = |error| ConfigError::Read { path: path.as_ref().to_owned(), error };
        let text = std::fs::read_to_string(&path).map_err(read)?;
        let path = std::path::absolute(&path).map_err(read)?;
        let mut config = HostConfig::from_toml(&text, path.parent().unwrap_or(Path::new("/")))?;
        config.file = Some(path);
        Ok(config)
    }

    fn settle(&mut self, folder: &Path) {
        let absolute = |path: &mut PathBuf| *path = folder.join(&*path);
        match &mut self.audit {
            Some(AuditPlace::File(path) | AuditPlace::Sqlite(path)) => absolute(path),
            None => {}
        }
        if let Some(path) = &mut self.grants {
            absolute(path);
        }
        for scope in [&mut self.max_permissions.read, &mut self.max_permissions.write] {
            if let Scope::Only(folders) = scope {
                *scope = Scope::only(std::mem::take(folders).into_iter().map(|given| {
                    // It keeps the name that it was given by its relative path.
                    let name = given.name.or_else(|| relative_name(&given.path));
                    NamedFolder { path: folder.join(&given.path), name }
                }));
            }
        }
    }

    /// Checks that every value can be meant.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key: &str, value: String, expected| Err(ConfigError::Value { key: key.into(), value, expected });
        if self.executor.trim().is_empty() {
            return refuse("executor", format!("{:?}", self.executor), "it must name the executor that scripts run on");
        }
        for (key, value) in
            [("timeout", self.timeout), ("longest_timeout", self.longest_timeout), ("grace", self.grace)]
        {
            if value.is_zero() || value > Duration::from_secs(24 * 3600) {
                return refuse(key, format!("{value:?}"), "it must be more than nothing and at most a day");
            }
        }
        if self.timeout > self.longest_timeout {
            let value = format!("{:?}", self.timeout);
            return refuse("timeout", value, "it may not be longer than `longest_timeout`");
        }
        for (key, value) in [
            ("max_output_bytes", self.max_output_bytes),
            ("max_arguments_bytes", self.max_arguments_bytes),
            ("max_script_bytes", self.max_script_bytes),
            ("slots_per_tenant", self.slots_per_tenant),
            ("slots", self.slots),
        ] {
            if value == 0 {
                return refuse(key, "0".into(), "it must be at least 1");
            }
        }
        if self.slots > MOST_SLOTS {
            return refuse("slots", self.slots.to_string(), "it may be 100000 at most");
        }
        if self.slots_per_tenant > self.slots {
            let value = self.slots_per_tenant.to_string();
            return refuse("slots_per_tenant", value, "one tenant cannot have more than there are (`slots`)");
        }
        for (extension, interpreter) in &self.interpreters {
            let key = format!("interpreters.{extension}");
            if extension.is_empty() || extension.contains(['.', '/', '\\']) {
                return refuse(&key, format!("{interpreter:?}"), "an extension is written without a dot, such as `py`");
            }
            if interpreter.trim().is_empty() {
                return refuse(&key, format!("{interpreter:?}"), "it must name an interpreter");
            }
            let twice = |other: &&String| *other != extension && other.eq_ignore_ascii_case(extension);
            if self.interpreters.keys().any(|other| twice(&other)) {
                return refuse(&key, format!("{interpreter:?}"), "the extension is there twice, in another case");
            }
        }
        for (key, scope) in [
            ("max_permissions.read", &self.max_permissions.read),
            ("max_permissions.write", &self.max_permissions.write),
        ] {
            if *scope == Scope::All {
                return refuse(key, "true".into(), "a ceiling names its folders");
            }
        }
        if self.max_permissions.ffi {
            return refuse("max_permissions.ffi", "true".into(), "native code is never let in");
        }
        Ok(())
    }

    /// The interpreter for a file extension.
    pub fn interpreter(&self, extension: &str) -> Option<&str> {
        let found = self.interpreters.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension));
        found.map(|(_, interpreter)| interpreter.as_str())
    }
}

/// What the semaphores and a thoughtless configuration can bear.
const MOST_SLOTS: usize = 100_000;

fn relative_name(path: &Path) -> Option<String> {
    if path.is_absolute() {
        return None;
    }
    let parts: Option<Vec<&str>> = path
        .components()
        .filter(|part| *part != std::path::Component::CurDir)
        .map(|part| part.as_os_str().to_str())
        .collect();
    parts.map(|parts| parts.join("/")).filter(|name| crate::runtime::is_inside(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        HostConfig::from_toml(text, Path::new("/etc")).unwrap_err().to_string()
    }

    #[test]
    fn what_is_left_out_is_denied_and_has_the_known_defaults() {
        let config = HostConfig::from_toml("executor = 'wasm'", Path::new("/etc")).unwrap();
        assert_eq!(config, HostConfig::new("wasm"));
        assert!(!config.scripts_enabled && config.interpreters.is_empty());
        assert_eq!((config.timeout, config.grace), (Duration::from_secs(30), Duration::from_secs(5)));
        assert_eq!((config.max_output_bytes, config.max_arguments_bytes), (256 << 10, 16 << 10));
        assert_eq!((config.max_script_bytes, config.slots_per_tenant, config.slots), (64 << 10, 2, 8));
    }

    #[test]
    fn an_unknown_key_or_a_value_that_cannot_be_meant_is_refused_by_name() {
        for (text, says) in [
            ("", "missing field `executor`"),
            ("executor = 'wasm'\ntimeot = '1s'", "unknown field `timeot`"),
            ("executor = ' '", "executor"),
            ("executor = 'wasm'\ntimeout = 'soon'", "\"soon\" is no duration"),
            ("executor = 'wasm'\ntimeout = '0s'", "timeout = 0ns"),
            ("executor = 'wasm'\ntimeout = '11m'", "longer than `longest_timeout`"),
            ("executor = 'wasm'\nslots = 0", "slots = 0"),
            ("executor = 'wasm'\nslots = 1", "slots_per_tenant = 2"),
            ("executor = 'wasm'\nmax_output_bytes = -1", "max_output_bytes"),
            ("executor = 'wasm'\n[interpreters]\n'.py' = 'python'", "interpreters..py"),
            ("executor = 'wasm'\n[interpreters]\npy = 'python'\nPY = 'other'", "twice"),
            ("executor = 'wasm'\n[max_permissions]\nread = true", "a ceiling names its folders"),
            ("executor = 'wasm'\n[max_permissions]\nreads = ['x']", "max_permissions"),
            ("executor = 'wasm'\naudit = { postgres = 'x' }", "unknown variant `postgres`"),
        ] {
            assert!(error(text).contains(says), "{text}: {}", error(text));
        }
    }

    #[test]
    fn an_extension_is_found_in_any_case() {
        let config = HostConfig::from_toml("executor = 'wasm'\n[interpreters]\nPy = 'python'", Path::new("/")).unwrap();
        assert_eq!((config.interpreter("py"), config.interpreter("PY")), (Some("python"), Some("python")));
        assert_eq!(config.interpreter("sh"), None);
    }
}

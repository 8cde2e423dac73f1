//! A folder of tasks and a runner for them, on the real executor.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use ampoule::host::{AuditEntry, Grant, HostConfig, MemoryAudit, MemoryGrants, ScriptHost};
use ampoule::task::{TaskCall, TaskError, TaskResult, TaskRunner, TaskRuntime, TaskSet};
use ampoule::{CancellationToken, Catalog, Compiler, Home, Installer, Limits, WasmExecutor};
use tempfile::TempDir;

/// All three runtimes, loaded once.
pub static EXECUTOR: LazyLock<Arc<WasmExecutor>> = LazyLock::new(|| Arc::new(executor(&[])));

/// An executor with the three runtimes and these programs, as pairs of interpreter and image.
pub fn executor(programs: &[(&str, &str)]) -> WasmExecutor {
    let mut limits = Limits::default();
    limits.timeout = Some(Duration::from_secs(600));
    let builder = WasmExecutor::builder(Home::from_env().unwrap()).limits(limits);
    let runtimes = ["python", "sh", "javascript"].map(|name| (name, name));
    let all = runtimes.iter().chain(programs);
    all.fold(builder, |builder, (interpreter, image)| builder.allow(*interpreter, *image)).build().unwrap()
}

/// A folder with scripts and a `tasks.toml`.
pub struct World {
    pub folder: TempDir,
    pub config: HostConfig,
    pub audit: Arc<MemoryAudit>,
    pub grants: Vec<Grant>,
}

impl World {
    pub fn new() -> World {
        let mut config = HostConfig::new("wasm");
        config.scripts_enabled = true;
        for runtime in TaskRuntime::ALL {
            for extension in runtime.extensions() {
                let interpreter = runtime.image().unwrap_or("program");
                config.interpreters.insert((*extension).to_owned(), interpreter.to_owned());
            }
        }
        let grants = vec![Grant::skill("local", "tasks")];
        World { folder: tempfile::tempdir().unwrap(), config, audit: Arc::default(), grants }
    }

    /// With one task, `t`, and its script; the rest of its table is `more`.
    pub fn of(runtime: &str, file: &str, script: &str, more: &str) -> World {
        let world = World::new();
        world.write(file, script);
        world.write("tasks.toml", &format!("[tasks.t]\nruntime = '{runtime}'\nentrypoint = '{file}'\n{more}"));
        world
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Lets tasks ask for this, as the configuration's `max_permissions`.
    pub fn allow(mut self, ceiling: &str) -> World {
        let text = format!("executor = 'wasm'\n[max_permissions]\n{ceiling}");
        self.config.max_permissions = HostConfig::from_toml(&text, self.folder.path()).unwrap().max_permissions;
        self
    }

    pub fn set(&self) -> TaskSet {
        TaskSet::from_file(self.path("tasks.toml")).unwrap()
    }

    pub fn runner(&self) -> TaskRunner {
        let set = self.set();
        let installer = Installer::new(Home::from_env().unwrap(), Catalog::built_in());
        let programs: Vec<_> = set
            .tasks()
            .filter_map(|task| set.program(task, &installer, &Compiler::InProcess, &mut |_| {}).unwrap())
            .collect();
        let executor = if programs.is_empty() {
            EXECUTOR.clone()
        } else {
            let images: Vec<(&str, &str)> =
                programs.iter().map(|program| (program.interpreter.as_str(), program.image.as_str())).collect();
            Arc::new(executor(&images))
        };
        let host = ScriptHost::builder(self.config.clone(), "wasm", executor, self.audit.clone())
            .grants(Arc::new(MemoryGrants::new(self.grants.clone())))
            .build()
            .unwrap();
        let runner = TaskRunner::builder(host, set);
        programs.into_iter().fold(runner, |runner, program| runner.program(program)).build()
    }

    pub async fn try_run(&self, call: TaskCall) -> Result<TaskResult, TaskError> {
        self.runner().run("t", call, &CancellationToken::new()).await
    }

    pub async fn run(&self, call: TaskCall) -> TaskResult {
        self.try_run(call).await.unwrap()
    }

    /// The error of a call that is denied, after checking that the audit has it and that nothing ran.
    pub async fn denied(&self) -> String {
        let error = self.try_run(TaskCall::new()).await.expect_err("it ran");
        let entries: Vec<AuditEntry> = self.audit.take();
        assert!(entries.len() == 1 && entries[0].denied.is_some(), "{error}: {entries:?}");
        error.to_string()
    }
}

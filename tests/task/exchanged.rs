//! Folders that are exchanged after a task's permission was looked at.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use ampoule::host::{MemoryGrants, ScriptHost};
use ampoule::task::{TaskCall, TaskError, TaskResult, TaskRunner};
use ampoule::{CancellationToken, ExecuteError, Extras, Outcome, ScriptExecutor, ScriptRequest};

use crate::world::{EXECUTOR, World};

/// Does what another task that may write the folder could do at this moment, then runs the script.
struct Exchanging {
    folder: PathBuf,
    target: PathBuf,
}

#[ampoule::async_trait]
impl ScriptExecutor for Exchanging {
    async fn execute(&self, request: ScriptRequest, cancel: CancellationToken) -> Result<Outcome, ExecuteError> {
        self.execute_with(request, Extras::default(), cancel).await
    }

    async fn execute_with(
        &self,
        request: ScriptRequest,
        extras: Extras,
        cancel: CancellationToken,
    ) -> Result<Outcome, ExecuteError> {
        fs::rename(&self.folder, self.folder.with_extension("moved")).unwrap();
        std::os::unix::fs::symlink(&self.target, &self.folder).unwrap();
        EXECUTOR.execute_with(request, extras, cancel).await
    }
}

async fn run(world: &World, target: PathBuf) -> Result<TaskResult, TaskError> {
    let executor = Arc::new(Exchanging { folder: world.path("out/sub"), target });
    let host = ScriptHost::builder(world.config.clone(), "wasm", executor, world.audit.clone())
        .grants(Arc::new(MemoryGrants::new(world.grants.clone())))
        .build()
        .unwrap();
    TaskRunner::builder(host, world.set()).build().run("t", TaskCall::new(), &CancellationToken::new()).await
}

#[tokio::test]
async fn a_folder_that_becomes_a_link_after_it_was_looked_at_shows_nothing_of_where_it_leads() {
    for access in ["read", "write"] {
        let script = "cat out/sub/file; echo changed >out/sub/file";
        let permissions = format!("permissions = {{ {access} = ['out/sub'] }}");
        let world = World::of("shell", "t.sh", script, &permissions).allow("read = ['out']\nwrite = ['out']");
        world.write("out/sub/file", "inside");
        let hidden = tempfile::tempdir().unwrap();
        fs::write(hidden.path().join("file"), "secret").unwrap();
        let ran = run(&world, hidden.path().to_owned()).await;
        assert_eq!(fs::read_to_string(hidden.path().join("file")).unwrap(), "secret", "{ran:?}");
        match ran {
            // Where the open folder itself can be given, it is.
            Ok(result) => assert_eq!(result.stdout, "inside", "{}", result.stderr),
            Err(error) => {
                assert!(
                    !cfg!(target_os = "linux") && error.to_string().contains("another lies at its path"),
                    "{error}"
                );
            }
        }
    }
}

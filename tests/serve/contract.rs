//! The twelve claims hold through HTTP: `HttpExecutor` on a served runner is an executor like any other.

use std::sync::Arc;

use ampoule::contract::{Scripts, Subject};
use ampoule::{
    CancellationToken, ExecuteError, HttpExecutor, Outcome, ScriptExecutor, ScriptRequest, async_trait,
    contract_coverage, executor_contract,
};

use crate::server::Server;

/// The client, and the service that it calls, which lives as long.
struct Served {
    client: HttpExecutor,
    _server: Arc<Server>,
}

#[async_trait]
impl ScriptExecutor for Served {
    async fn execute(&self, request: ScriptRequest, cancel: CancellationToken) -> Result<Outcome, ExecuteError> {
        self.client.execute(request, cancel).await
    }
}

fn subject(runtime: &str, scripts: Scripts) -> Subject {
    let server = Arc::new(Server::start("[limits]\nmax-output = '8MiB'\n[requests]\nbody = '32MiB'"));
    let client = HttpExecutor::new(&server.url("")).unwrap();
    let left = server.clone();
    Subject::new(Served { client, _server: server }, runtime, scripts).leftovers(move || left.files_left())
}

executor_contract!(sh, || subject("sh", Scripts::sh()));
executor_contract!(python, || subject("python", Scripts::python().without_children()));
executor_contract!(javascript, || subject("javascript", Scripts::javascript().without_children()));

contract_coverage!(executor: sh);
contract_coverage!(executor: python);
contract_coverage!(executor: javascript);

#[tokio::test]
async fn what_is_refused_elsewhere_is_the_same_error_here() {
    let server = Server::start("[runtimes]\n'shell' = 'sh'");
    let client = HttpExecutor::new(&server.url("")).unwrap();
    let run = |request: ScriptRequest| client.execute(request, CancellationToken::new());
    let outcome = run(ScriptRequest::stored("shell", "a.sh", "echo hi")).await.unwrap();
    assert_eq!(outcome.stdout_text(), "hi\n");

    let error = run(ScriptRequest::stored("python", "a.py", "")).await.unwrap_err();
    let ExecuteError::NotAllowed { interpreter, allowed } = error else { panic!("{error}") };
    assert_eq!((interpreter.as_str(), allowed.as_str()), ("python", "shell"));

    let mut request = ScriptRequest::stored("shell", "a.sh", "echo hi");
    request.content = "echo other".into();
    let error = run(request).await.unwrap_err();
    assert!(matches!(error, ExecuteError::ContentMismatch { .. }), "{error}");

    let error = run(ScriptRequest::stored("shell", "a.sh", "#".repeat(5 << 20))).await.unwrap_err().to_string();
    assert!(error.contains("413") && error.contains("source_bytes"), "{error}");
}

#[tokio::test]
async fn a_service_that_is_not_there_is_an_error_that_names_it() {
    let client = HttpExecutor::new("http://127.0.0.1:9").unwrap();
    let request = ScriptRequest::stored("sh", "a.sh", "echo hi");
    let error = client.execute(request, CancellationToken::new()).await.unwrap_err().to_string();
    assert!(error.contains("http://127.0.0.1:9/runs") && error.contains("cannot be reached"), "{error}");
}

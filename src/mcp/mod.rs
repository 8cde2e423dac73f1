//! Tools for agents, by the Model Context Protocol: `run_script` and `list_runtimes`. Feature `mcp`.
//!
//! [`serve_stdio`] speaks to the program that started this one; [`routes`] adds the protocol's streamable HTTP to a
//! [`Service`](crate::serve::Service), at `/mcp`. `docs/agents.md` says how agents are told of either.

mod arguments;
mod hints;
mod progress;
mod results;
mod sessions;
mod stdio;
mod tools;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use axum::middleware::from_fn_with_state;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use tokio_util::sync::CancellationToken;

use crate::ExecuteError;
use crate::runner::{RunError, Runner};
use crate::serve::{Caller, Config, UNNAMED};

/// The path of the protocol over HTTP.
pub const PATH: &str = "/mcp";

/// How long after the end what was answered may take to go out.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Speaks over standard input and output until the other side closes them, or `end` is cancelled.
pub async fn serve_stdio(runner: Arc<Runner>, end: CancellationToken) -> io::Result<()> {
    let tools = Tools { runner };
    let (input, output) = rmcp::transport::stdio();
    let (input, output, written) = stdio::checked(input, output);
    let service = tools.serve_with_ct((input, output), end).await.map_err(io::Error::other)?;
    service.waiting().await.map_err(io::Error::other)?;
    // The last answers may still be on their way.
    tokio::time::timeout(LAST_WORDS, written).await.map_or(Ok(()), |written| written.map_err(io::Error::other)?)
}

/// The protocol over HTTP, for a service of this configuration. Its sessions end when `end` is cancelled.
pub fn routes(runner: Arc<Runner>, end: CancellationToken, config: &Config) -> axum::Router {
    let sessions = sessions::Sessions::new(config);
    let config = StreamableHttpServerConfig::default()
        // Who may come is the service's to say: see `serve::Guard`.
        .disable_allowed_hosts()
        .with_max_request_body_bytes(config.requests.body_bytes)
        .with_cancellation_token(end);
    let tools = move || Ok(Tools { runner: runner.clone() });
    let service = StreamableHttpService::new(tools, sessions.manager(), config);
    axum::Router::new().route_service(PATH, service).layer(from_fn_with_state(sessions, sessions::layer))
}

/// The two tools, of one connection.
struct Tools {
    runner: Arc<Runner>,
}

const INSTRUCTIONS: &str = "\
Runs code in a sandbox: each call starts anew, with nothing of earlier calls, and has one directory of its own, which is \
the working directory. There is no network and there are no processes. Print what is to be seen. Files that the code \
leaves in its working directory come back with the result, images as images.";

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("ampoule", env!("CARGO_PKG_VERSION"));
        info.with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all(&self.runner, tenant(caller(&context)))))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all(&self.runner, UNNAMED).into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match request.name.as_ref() {
            tools::LIST_RUNTIMES => Ok(results::runtimes(&self.runner, tenant(caller(&context))).into()),
            tools::RUN_SCRIPT => self.run_script(request, context).await,
            other => {
                let there_are =
                    format!("there is no tool `{other}`; there are {}, {}", tools::RUN_SCRIPT, tools::LIST_RUNTIMES);
                Err(ErrorData::invalid_params(there_are, None))
            }
        }
    }
}

/// Who calls. Over standard input and output there is one caller, who started this program: none.
fn caller(context: &RequestContext<RoleServer>) -> Option<&Caller> {
    context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Caller>())
}

/// For whom.
fn tenant(caller: Option<&Caller>) -> &str {
    caller.map_or(UNNAMED, |caller| caller.tenants.of_unnamed())
}

impl Tools {
    /// What a script or its call does wrong is a result that the agent reads, and can mend.
    async fn run_script(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = match arguments::Arguments::read(request.arguments) {
            Ok(arguments) => arguments,
            Err(problem) => return Ok(results::refused(problem).into()),
        };
        let caller = caller(&context);
        let tenant = tenant(caller).to_owned();
        if caller.is_some_and(|caller| !caller.tenants.include(&tenant)) {
            let problem = "this token is not for one tenant alone, so it cannot be known whose call this is";
            return Ok(results::refused(problem).into());
        }
        let (job, started) = match arguments.into_job(tenant) {
            Ok(job) => job,
            Err(problem) => return Ok(results::refused(problem).into()),
        };
        let limits = self.runner.policy().limits_of(&job.tenant);
        let progress = progress::Progress::of(&context, limits.timeout);
        let run = self.runner.run(job, &context.ct);
        match progress.told_during(run, started).await {
            Ok(finished) => Ok(results::finished(&finished, &limits).into()),
            // The protocol wants no answer to a request that was cancelled.
            Err(RunError::Execute(ExecuteError::Cancelled)) => Err(ErrorData::internal_error("cancelled", None)),
            Err(error) => results::error(error).map(Into::into),
        }
    }
}

//! `ampoule mcp`: tools for agents.

use ampoule::serve::Face;
use ampoule::{CancellationToken, Installer, mcp};
use anyhow::Context;
use clap::Args;

use super::serve::{ServiceArgs, runner, serve};
use super::{exit, signals};

#[derive(Args)]
#[command(
    after_help = "Without --listen, the protocol is spoken over standard input and output, whatever addresses the configuration names."
)]
pub struct Mcp {
    #[command(flatten)]
    pub service: ServiceArgs,
}

impl Mcp {
    pub fn run(self, installer: &Installer) -> anyhow::Result<u8> {
        let config = self.service.config()?;
        let runner = runner(installer, &config)?;
        let end = CancellationToken::new();
        if !self.service.listen.is_empty() {
            let routes = mcp::routes(runner.clone(), end.clone(), &config);
            return serve(runner, config, Face::Other { routes, quiet: end });
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        runtime.context("the asynchronous runtime cannot start")?.block_on(async {
            let mut asked = signals::Ends::new()?;
            tokio::select! {
                ended = mcp::serve_stdio(runner.clone(), end.clone()) => ended.context("the client does not speak the protocol")?,
                _ = asked.next() => {}
            }
            runner.stop();
            Ok(exit::OK)
        })
    }
}

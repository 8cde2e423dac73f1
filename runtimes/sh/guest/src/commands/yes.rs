//! `yes`: the same line until nobody reads it.

use bashkit::{Command, CommandContext, CommandStatus, Result, async_trait};

pub struct Yes;

/// Output is written in pieces of about this size.
const PIECE_BYTES: usize = 4 << 10;

#[async_trait]
impl Command for Yes {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let line = if ctx.args.is_empty() { "y".to_owned() } else { ctx.args.join(" ") } + "\n";
        let piece = line.repeat((PIECE_BYTES / line.len()).max(1));
        loop {
            ctx.stdout.write_all(piece.as_bytes()).await?;
            // To one who takes everything at once, a write never waits: others get their turn here.
            tokio::task::yield_now().await;
        }
    }
}

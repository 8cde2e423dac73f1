//! Utilities of ours. Bashkit's hold their whole input, stop at a number of lines or seconds of their own, or know few
//! of their options; these pass on what comes as it comes, and leave stopping to the host.

mod bre;
mod cat;
mod echo;
mod expr;
mod head;
mod ls;
mod options;
mod seq;
mod sleep;
mod source;
mod tee;
mod wc;
mod yes;

use bashkit::{BashBuilder, CommandContext, CommandStatus, Result};

use crate::input;

/// Registers them.
pub fn add_to(builder: BashBuilder) -> BashBuilder {
    builder
        .builtin("echo", Box::new(echo::Echo))
        .command("cat", cat::Cat)
        .command("expr", expr::Expr)
        .command("head", head::Head)
        .command("ls", ls::Ls)
        .command("seq", seq::Seq)
        .command("sleep", sleep::Sleep)
        .command("tee", tee::Tee)
        .command("wc", wc::Wc)
        .command("yes", yes::Yes)
        .command(input::COMMAND, input::PassInput)
        .builtin(input::END, Box::new(input::End))
}

/// Writes a message of the command to standard error.
async fn complain(ctx: &CommandContext<'_>, message: &str) -> Result<CommandStatus> {
    ctx.stderr.write_all(format!("{}: {message}\n", ctx.name).as_bytes()).await?;
    Ok(CommandStatus::with_code(1))
}

//! `tee`: standard input to standard output and to files, as it comes.

use std::path::Path;

use bashkit::{Command, CommandContext, CommandStatus, Result, async_trait, normalize_path, vfs_join};

use super::complain;
use super::options::{self, Item};
use super::source::Source;

pub struct Tee;

#[async_trait]
impl Command for Tee {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let known = ["a", "i", "p", "append", "ignore-interrupts"].map(|name| (name, false));
        let items = match options::parse(ctx.args, &known) {
            Ok(items) => items,
            Err(wrong) => return complain(&ctx, &wrong.message()).await,
        };
        let append = items.iter().any(|item| matches!(item, Item::Option("a" | "append", _)));
        let mut status = CommandStatus::success();
        let mut paths = Vec::new();
        let mut copies = Vec::new();
        for item in &items {
            match item {
                Item::Operand("/dev/stdout") => copies.push(&ctx.stdout),
                Item::Operand("/dev/stderr") => copies.push(&ctx.stderr),
                Item::Operand(operand) => {
                    let path = normalize_path(&vfs_join(ctx.cwd, Path::new(operand)));
                    let opened =
                        if append { ctx.fs.append_file(&path, b"") } else { ctx.fs.write_file(&path, b"") }.await;
                    match opened {
                        Ok(()) => paths.push(path),
                        Err(error) => status = complain(&ctx, &format!("{operand}: {error}")).await?,
                    }
                }
                Item::Option(..) => {}
            }
        }
        let mut source = Source::Input(ctx.stdin.clone());
        while let Some(piece) = source.read().await? {
            for path in &paths {
                ctx.fs.append_file(path, &piece).await?;
            }
            for copy in &copies {
                copy.write_all(&piece).await?;
            }
            ctx.stdout.write_all(&piece).await?;
        }
        Ok(status)
    }
}

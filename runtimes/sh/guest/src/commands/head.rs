//! `head`: the first lines or bytes, after which nothing more is read.

use std::collections::VecDeque;

use bashkit::{Command, CommandContext, CommandStatus, Result, async_trait};

use super::complain;
use super::options::{self, Item};
use super::source::Source;

pub struct Head;

/// How much of a source is wanted.
#[derive(Clone, Copy)]
enum Amount {
    Lines(u64),
    Bytes(u64),
    AllButLines(u64),
    AllButBytes(u64),
}

#[async_trait]
impl Command for Head {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let known = [("n", true), ("c", true), ("q", false), ("v", false), ("z", false)].into_iter().chain([
            ("lines", true),
            ("bytes", true),
            ("quiet", false),
            ("silent", false),
            ("verbose", false),
        ]);
        let known: Vec<_> = known.collect();
        let args = with_old_option(ctx.args);
        let items = match options::parse(&args, &known) {
            Ok(items) => items,
            Err(wrong) => return complain(&ctx, &wrong.message()).await,
        };
        let mut amount = Amount::Lines(10);
        let mut titles = None;
        let mut operands = Vec::new();
        for item in items {
            match item {
                Item::Operand(operand) => operands.push(operand),
                Item::Option("q" | "quiet" | "silent", _) => titles = Some(false),
                Item::Option("v" | "verbose", _) => titles = Some(true),
                Item::Option(option, value) => {
                    let lines = option.starts_with(['n', 'l']);
                    let value = value.unwrap_or_default();
                    amount = match Amount::parse(value, lines) {
                        Some(amount) => amount,
                        None => {
                            let what = if lines { "lines" } else { "bytes" };
                            return complain(&ctx, &format!("invalid number of {what}: '{value}'")).await;
                        }
                    };
                }
            }
        }
        if operands.is_empty() {
            operands.push("-");
        }
        let titles = titles.unwrap_or(operands.len() > 1);
        let mut status = CommandStatus::success();
        for (index, operand) in operands.iter().enumerate() {
            let mut source = match Source::open(&ctx, operand).await {
                Ok(source) => source,
                Err(reason) => {
                    status = complain(&ctx, &format!("cannot open '{operand}' for reading: {reason}")).await?;
                    continue;
                }
            };
            if titles {
                let title = if *operand == "-" { "standard input" } else { operand };
                let gap = if index > 0 { "\n" } else { "" };
                ctx.stdout.write_all(format!("{gap}==> {title} <==\n").as_bytes()).await?;
            }
            amount.pass(&ctx, &mut source).await?;
        }
        Ok(status)
    }
}

/// `-5` as `-n5`.
fn with_old_option(args: &[String]) -> Vec<String> {
    let mut args = args.to_vec();
    if let Some(first) = args.first_mut()
        && let Some(digits) = first.strip_prefix('-')
        && digits.bytes().next().is_some_and(|byte| byte.is_ascii_digit())
    {
        *first = format!("-n{digits}");
    }
    args
}

impl Amount {
    fn parse(text: &str, lines: bool) -> Option<Amount> {
        let (number, all_but) = match text.strip_prefix('-') {
            Some(number) => (number, true),
            None => (text.strip_prefix('+').unwrap_or(text), false),
        };
        let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        let factor: u64 = match &number[digits..] {
            "" => 1,
            "b" => 512,
            "kB" => 1000,
            "k" | "K" | "KiB" => 1 << 10,
            "MB" => 1_000_000,
            "m" | "M" | "MiB" => 1 << 20,
            "G" | "GiB" => 1 << 30,
            _ => return None,
        };
        let number = number[..digits].parse::<u64>().ok()?.saturating_mul(factor);
        Some(match (lines, all_but) {
            (true, false) => Amount::Lines(number),
            (false, false) => Amount::Bytes(number),
            (true, true) => Amount::AllButLines(number),
            (false, true) => Amount::AllButBytes(number),
        })
    }

    async fn pass(self, ctx: &CommandContext<'_>, source: &mut Source) -> Result<()> {
        match self {
            Amount::Lines(lines) => pass_lines(ctx, source, lines).await,
            Amount::Bytes(bytes) => pass_bytes(ctx, source, bytes).await,
            Amount::AllButLines(lines) => pass_all_but_lines(ctx, source, lines).await,
            Amount::AllButBytes(bytes) => pass_all_but_bytes(ctx, source, bytes).await,
        }
    }
}

async fn pass_lines(ctx: &CommandContext<'_>, source: &mut Source, mut lines: u64) -> Result<()> {
    while lines > 0 {
        let Some(piece) = source.read().await? else { return Ok(()) };
        let mut end = piece.len();
        for (index, _) in piece.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
            lines -= 1;
            if lines == 0 {
                end = index + 1;
                break;
            }
        }
        ctx.stdout.write_all(&piece[..end]).await?;
    }
    Ok(())
}

async fn pass_bytes(ctx: &CommandContext<'_>, source: &mut Source, mut bytes: u64) -> Result<()> {
    while bytes > 0 {
        let Some(piece) = source.read().await? else { return Ok(()) };
        let length = piece.len().min(usize::try_from(bytes).unwrap_or(usize::MAX));
        ctx.stdout.write_all(&piece[..length]).await?;
        bytes -= length as u64;
    }
    Ok(())
}

async fn pass_all_but_lines(ctx: &CommandContext<'_>, source: &mut Source, lines: u64) -> Result<()> {
    let mut held = VecDeque::new();
    let mut line = Vec::new();
    while let Some(piece) = source.read().await? {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                held.push_back(std::mem::take(&mut line));
            }
        }
        // What is still needed at the end is the last lines, the unfinished one among them.
        while held.len() as u64 > lines {
            ctx.stdout.write_all(&held.pop_front().unwrap_or_default()).await?;
        }
    }
    if !line.is_empty() {
        held.push_back(line);
    }
    while held.len() as u64 > lines {
        ctx.stdout.write_all(&held.pop_front().unwrap_or_default()).await?;
    }
    Ok(())
}

async fn pass_all_but_bytes(ctx: &CommandContext<'_>, source: &mut Source, bytes: u64) -> Result<()> {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut held = Vec::new();
    while let Some(piece) = source.read().await? {
        held.extend_from_slice(&piece);
        let ready = held.len().saturating_sub(bytes);
        ctx.stdout.write_all(&held[..ready]).await?;
        held.drain(..ready);
    }
    Ok(())
}

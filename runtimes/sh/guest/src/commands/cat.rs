//! `cat`: passes on what it reads, piece by piece.

use bashkit::{Command, CommandContext, CommandStatus, Result, async_trait};

use super::complain;
use super::options::{self, Item};
use super::source::Source;

pub struct Cat;

/// How lines are shown.
#[derive(Default)]
struct Style {
    number_all: bool,
    number_filled: bool,
    squeeze: bool,
    ends: bool,
    tabs: bool,
    controls: bool,
}

/// Where in the output one is.
struct Place {
    line: u64,
    at_start: bool,
    empty_lines: u64,
}

#[async_trait]
impl Command for Cat {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let mut style = Style::default();
        let mut operands = Vec::new();
        let known: Vec<_> = ["n", "b", "s", "u", "E", "T", "v", "A", "e", "t", "number", "number-nonblank"]
            .into_iter()
            .chain(["squeeze-blank", "show-ends", "show-tabs", "show-nonprinting", "show-all"])
            .map(|name| (name, false))
            .collect();
        let items = match options::parse(ctx.args, &known) {
            Ok(items) => items,
            Err(wrong) => return complain(&ctx, &wrong.message()).await,
        };
        for item in items {
            match item {
                Item::Operand(operand) => operands.push(operand),
                Item::Option(option, _) => style.set(option),
            }
        }
        if operands.is_empty() {
            operands.push("-");
        }
        let mut place = Place { line: 0, at_start: true, empty_lines: 0 };
        let mut status = CommandStatus::success();
        for operand in operands {
            let mut source = match Source::open(&ctx, operand).await {
                Ok(source) => source,
                Err(reason) => {
                    status = complain(&ctx, &format!("{operand}: {reason}")).await?;
                    continue;
                }
            };
            while let Some(piece) = source.read().await? {
                if style.is_plain() {
                    ctx.stdout.write_all(&piece).await?;
                } else {
                    ctx.stdout.write_all(&style.show(&piece, &mut place)).await?;
                }
            }
        }
        Ok(status)
    }
}

impl Style {
    fn set(&mut self, option: &str) {
        match option {
            "n" | "number" => self.number_all = true,
            "b" | "number-nonblank" => self.number_filled = true,
            "s" | "squeeze-blank" => self.squeeze = true,
            "E" | "show-ends" => self.ends = true,
            "T" | "show-tabs" => self.tabs = true,
            "v" | "show-nonprinting" => self.controls = true,
            "e" => (self.controls, self.ends) = (true, true),
            "t" => (self.controls, self.tabs) = (true, true),
            "A" | "show-all" => (self.controls, self.ends, self.tabs) = (true, true, true),
            _ => {}
        }
    }

    fn is_plain(&self) -> bool {
        !(self.number_all || self.number_filled || self.squeeze || self.ends || self.tabs || self.controls)
    }

    fn show(&self, piece: &[u8], place: &mut Place) -> Vec<u8> {
        let mut shown = Vec::with_capacity(piece.len() * 2);
        for &byte in piece {
            if place.at_start {
                place.empty_lines = if byte == b'\n' { place.empty_lines + 1 } else { 0 };
                if self.squeeze && place.empty_lines > 1 {
                    continue;
                }
                if self.number_filled && byte != b'\n' || self.number_all && !self.number_filled {
                    place.line += 1;
                    shown.extend_from_slice(format!("{:6}\t", place.line).as_bytes());
                }
            }
            place.at_start = byte == b'\n';
            match byte {
                b'\n' if self.ends => shown.extend_from_slice(b"$\n"),
                b'\t' if self.tabs => shown.extend_from_slice(b"^I"),
                b'\n' | b'\t' => shown.push(byte),
                _ if self.controls => push_visible(&mut shown, byte),
                _ => shown.push(byte),
            }
        }
        shown
    }
}

/// A byte in the notation of `cat -v`.
fn push_visible(shown: &mut Vec<u8>, byte: u8) {
    let low = byte & 0x7f;
    if byte != low {
        shown.extend_from_slice(b"M-");
    }
    match low {
        0..0x20 => shown.extend_from_slice(&[b'^', low + 0x40]),
        0x7f => shown.extend_from_slice(b"^?"),
        _ => shown.push(low),
    }
}

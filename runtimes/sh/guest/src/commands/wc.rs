//! `wc`: counts what it reads and holds none of it.

use std::path::Path;

use bashkit::{Command, CommandContext, CommandStatus, Result, async_trait, normalize_path, vfs_join};

use super::complain;
use super::options::{self, Item};
use super::source::Source;

pub struct Wc;

/// What is counted, in the order in which it is printed.
#[derive(Default, Clone, Copy)]
struct Counts {
    lines: u64,
    words: u64,
    characters: u64,
    bytes: u64,
    longest_line: u64,
}

/// Which counts are printed, in the same order.
#[derive(Default, Clone, Copy)]
struct Wanted([bool; 5]);

#[async_trait]
impl Command for Wc {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let known = ["l", "w", "m", "c", "L", "lines", "words", "chars", "bytes", "max-line-length"];
        let known = known.map(|name| (name, false));
        let items = match options::parse(ctx.args, &known) {
            Ok(items) => items,
            Err(wrong) => return complain(&ctx, &wrong.message()).await,
        };
        let mut wanted = Wanted::default();
        let mut operands = Vec::new();
        for item in items {
            match item {
                Item::Operand(operand) => operands.push(operand),
                Item::Option(option, _) => wanted.add(option),
            }
        }
        wanted.or_usual();
        let named = !operands.is_empty();
        if !named {
            operands.push("-");
        }
        let width = width(&ctx, &operands, wanted, named).await;
        let mut total = Counts::default();
        let mut status = CommandStatus::success();
        for operand in &operands {
            let counts = match Source::open(&ctx, operand).await {
                Ok(mut source) => count(&mut source).await?,
                Err(reason) => {
                    status = complain(&ctx, &format!("{operand}: {reason}")).await?;
                    continue;
                }
            };
            total.add(counts);
            let name = if named { *operand } else { "" };
            ctx.stdout.write_all(wanted.line(counts, width, name).as_bytes()).await?;
        }
        if operands.len() > 1 {
            ctx.stdout.write_all(wanted.line(total, width, "total").as_bytes()).await?;
        }
        Ok(status)
    }
}

/// The width of the numbers: wide enough for the sizes of all files, and for any where a size is not known before.
async fn width(ctx: &CommandContext<'_>, operands: &[&str], wanted: Wanted, named: bool) -> usize {
    const UNKNOWN: usize = 7;
    if operands.len() == 1 && wanted.0.iter().filter(|wanted| **wanted).count() == 1 {
        return 1;
    }
    if !named || operands.contains(&"-") {
        return UNKNOWN;
    }
    let mut bytes = 0;
    for operand in operands {
        let path = normalize_path(&vfs_join(ctx.cwd, Path::new(operand)));
        match ctx.fs.stat(&path).await {
            Ok(metadata) if metadata.file_type.is_file() => bytes += metadata.size,
            Ok(_) => return UNKNOWN,
            Err(_) => {}
        }
    }
    bytes.to_string().len()
}

async fn count(source: &mut Source) -> Result<Counts> {
    let mut counts = Counts::default();
    let (mut in_word, mut column) = (false, 0);
    while let Some(piece) = source.read().await? {
        counts.bytes += piece.len() as u64;
        for &byte in &piece {
            // A byte that goes on with a character counts for none.
            let starts_character = byte & 0xc0 != 0x80;
            counts.characters += u64::from(starts_character);
            let space = matches!(byte, b' ' | b'\t'..=b'\r');
            counts.words += u64::from(in_word && space);
            in_word = !space;
            match byte {
                b'\n' | b'\r' | 0x0c => {
                    counts.lines += u64::from(byte == b'\n');
                    counts.longest_line = counts.longest_line.max(column);
                    column = 0;
                }
                b'\t' => column += 8 - column % 8,
                _ => column += u64::from(starts_character && byte >= b' '),
            }
        }
    }
    counts.words += u64::from(in_word);
    counts.longest_line = counts.longest_line.max(column);
    Ok(counts)
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.lines += other.lines;
        self.words += other.words;
        self.characters += other.characters;
        self.bytes += other.bytes;
        self.longest_line = self.longest_line.max(other.longest_line);
    }
}

impl Wanted {
    fn add(&mut self, option: &str) {
        let index = match option {
            "l" | "lines" => 0,
            "w" | "words" => 1,
            "m" | "chars" => 2,
            "c" | "bytes" => 3,
            _ => 4,
        };
        self.0[index] = true;
    }

    fn or_usual(&mut self) {
        if !self.0.contains(&true) {
            self.0 = [true, true, false, true, false];
        }
    }

    fn line(self, counts: Counts, width: usize, name: &str) -> String {
        let Counts { lines, words, characters, bytes, longest_line } = counts;
        let numbers = [lines, words, characters, bytes, longest_line].into_iter().zip(self.0);
        let numbers = numbers.filter(|(_, wanted)| *wanted).map(|(number, _)| format!("{number:width$}"));
        let mut line = numbers.collect::<Vec<_>>().join(" ");
        if !name.is_empty() {
            line = format!("{line} {name}");
        }
        line + "\n"
    }
}

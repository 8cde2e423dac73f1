//! `ls`: names, and what is known of them.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use bashkit::{
    Command, CommandContext, CommandStatus, FileType, Metadata, Result, async_trait, normalize_path, vfs_join,
};

use super::options::{self, Item};

pub struct Ls;

/// Whom files belong to, as far as a script is told.
const OWNER: &str = "user";
/// Columns of a line, where names stand beside each other.
const LINE_WIDTH: usize = 80;
/// What a file takes on a disk, in kilobytes.
const BLOCK_BYTES: u64 = 4096;

#[derive(Default)]
struct Style {
    letters: String,
}

impl Style {
    fn has(&self, letter: char) -> bool {
        self.letters.contains(letter)
    }

    /// The last of these letters that was given.
    fn last_of(&self, letters: &str) -> Option<char> {
        self.letters.chars().rev().find(|letter| letters.contains(*letter))
    }
}

struct Entry {
    name: String,
    path: PathBuf,
    metadata: Metadata,
}

const SHORT: &str = "1AaCdFfGghiklmNnopQqRrStUuxXcHLsv";
const LONG: [(&str, char); 9] = [
    ("all", 'a'),
    ("almost-all", 'A'),
    ("directory", 'd'),
    ("human-readable", 'h'),
    ("inode", 'i'),
    ("recursive", 'R'),
    ("reverse", 'r'),
    ("size", 's'),
    ("classify", 'F'),
];
/// Long names that change nothing here.
const IGNORED: [(&str, bool); 5] =
    [("help", false), ("color", false), ("time-style", true), ("group-directories-first", false), ("full-time", false)];

#[async_trait]
impl Command for Ls {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let letters: Vec<String> = SHORT.chars().map(String::from).collect();
        let mut known: Vec<(&str, bool)> = letters.iter().map(|letter| (letter.as_str(), false)).collect();
        known.extend(LONG.iter().map(|(name, _)| (*name, false)));
        known.extend(IGNORED);
        let (mut style, mut operands) = (Style::default(), Vec::new());
        match options::parse(ctx.args, &known) {
            Ok(items) => {
                for item in items {
                    match item {
                        Item::Operand(operand) => operands.push(operand),
                        Item::Option(name, _) => match LONG.iter().find(|(long, _)| *long == name) {
                            Some((_, letter)) => style.letters.push(*letter),
                            None if name.len() == 1 => style.letters.push_str(name),
                            None => {}
                        },
                    }
                }
            }
            Err(wrong) => {
                complain(&ctx, &wrong.message()).await?;
                return Ok(CommandStatus::with_code(2));
            }
        }
        if ctx.args.iter().any(|arg| arg == "--help") {
            ctx.stdout.write_all(b"Usage: ls [OPTION]... [FILE]...\nList what is known of the FILEs.\n").await?;
            return Ok(CommandStatus::success());
        }
        if operands.is_empty() {
            operands.push(".");
        }
        let (mut files, mut folders, mut status) = (Vec::new(), Vec::new(), 0);
        for operand in &operands {
            let path = normalize_path(&vfs_join(ctx.cwd, Path::new(operand)));
            // A link is followed to a folder, unless it is the link that is shown.
            let shown_itself = style.has('d') || style.has('l') || style.has('F');
            let found = match ctx.fs.lstat(&path).await {
                Ok(link) if link.file_type == FileType::Symlink && !(shown_itself && !operand.ends_with('/')) => {
                    ctx.fs.stat(&path).await.or(Ok(link))
                }
                found => found,
            };
            match found {
                _ if operand.is_empty() => {
                    status = 2;
                    complain(&ctx, "cannot access '': No such file or directory").await?;
                }
                Ok(metadata) => {
                    let is_folder = metadata.file_type.is_dir() && !style.has('d');
                    let entry = Entry { name: (*operand).to_owned(), path, metadata };
                    if is_folder { folders.push(entry) } else { files.push(entry) }
                }
                Err(_) => {
                    status = 2;
                    complain(&ctx, &format!("cannot access '{operand}': No such file or directory")).await?;
                }
            }
        }
        sort(&mut files, &style);
        sort(&mut folders, &style);
        let mut any = !files.is_empty();
        if any {
            let text = show(&ctx, &files, &style).await;
            ctx.stdout.write_all(text.as_bytes()).await?;
        }
        let named = operands.len() > 1 || style.has('R');
        folders.reverse();
        while let Some(folder) = folders.pop() {
            let Some(entries) = entries(&ctx, &folder, &style).await else {
                status = status.max(2);
                complain(&ctx, &format!("cannot open directory '{}': Permission denied", folder.name)).await?;
                continue;
            };
            let mut text = if any { "\n".to_owned() } else { String::new() };
            any = true;
            if named {
                text.push_str(&format!("{}:\n", folder.name));
            }
            if style.has('l') || style.has('n') || style.has('s') || style.has('o') || style.has('g') {
                text.push_str(&format!("total {}\n", entries.iter().map(|entry| blocks(&entry.metadata)).sum::<u64>()));
            }
            text.push_str(&show(&ctx, &entries, &style).await);
            ctx.stdout.write_all(text.as_bytes()).await?;
            if style.has('R') {
                let inner = entries
                    .into_iter()
                    .rev()
                    .filter(|entry| entry.metadata.file_type.is_dir() && !matches!(entry.name.as_str(), "." | ".."));
                let below = |entry: Entry| Entry {
                    name: format!("{}/{}", folder.name.trim_end_matches('/'), entry.name),
                    ..entry
                };
                folders.extend(inner.map(below));
            }
        }
        Ok(CommandStatus::with_code(status))
    }
}

async fn complain(ctx: &CommandContext<'_>, message: &str) -> Result<()> {
    ctx.stderr.write_all(format!("ls: {message}\n").as_bytes()).await
}

/// What is in a folder, as far as it is shown.
async fn entries(ctx: &CommandContext<'_>, folder: &Entry, style: &Style) -> Option<Vec<Entry>> {
    let hidden = style.last_of("aAf");
    let mut entries: Vec<Entry> = Vec::new();
    for found in ctx.fs.read_dir(&folder.path).await.ok()? {
        if hidden.is_some() || !found.name.starts_with('.') {
            entries.push(Entry { path: folder.path.join(&found.name), name: found.name, metadata: found.metadata });
        }
    }
    if matches!(hidden, Some('a' | 'f')) {
        for name in [".", ".."] {
            let path = normalize_path(&folder.path.join(name));
            let metadata = ctx.fs.stat(&path).await.unwrap_or_else(|_| folder.metadata.clone());
            entries.push(Entry { name: name.to_owned(), path, metadata });
        }
    }
    sort(&mut entries, style);
    Some(entries)
}

fn sort(entries: &mut [Entry], style: &Style) {
    let by_name = |a: &Entry, b: &Entry| a.name.cmp(&b.name);
    let ending = |entry: &Entry| entry.name.rfind('.').map_or(String::new(), |at| entry.name[at..].to_owned());
    let order = |a: &Entry, b: &Entry| -> Ordering {
        match style.last_of("tSUfX") {
            Some('t') => b.metadata.modified.cmp(&a.metadata.modified).then_with(|| by_name(a, b)),
            Some('S') => b.metadata.size.cmp(&a.metadata.size).then_with(|| by_name(a, b)),
            Some('X') => ending(a).cmp(&ending(b)).then_with(|| by_name(a, b)),
            Some(_) => Ordering::Equal,
            None => by_name(a, b),
        }
    };
    entries.sort_by(order);
    if style.has('r') {
        entries.reverse();
    }
}

async fn show(ctx: &CommandContext<'_>, entries: &[Entry], style: &Style) -> String {
    let is_long = style.has('l') || style.has('n') || style.has('o') || style.has('g');
    let sizes: Vec<String> = entries.iter().map(|entry| size(&entry.metadata, style)).collect();
    let width = sizes.iter().map(String::len).max().unwrap_or(0);
    let blocks_width = entries.iter().map(|entry| blocks(&entry.metadata).to_string().len()).max().unwrap_or(0);
    let mut cells = Vec::new();
    for (entry, size) in entries.iter().zip(&sizes) {
        let mut cell = String::new();
        if style.has('i') {
            cell.push_str(&format!("{} ", number(&entry.path)));
        }
        if style.has('s') {
            cell.push_str(&format!("{:>blocks_width$} ", blocks(&entry.metadata)));
        }
        if is_long {
            let owner = if style.has('n') { "0" } else { OWNER };
            let links = if entry.metadata.file_type.is_dir() { 2 } else { 1 };
            cell.push_str(&format!("{} {links} ", mode(&entry.metadata)));
            if !style.has('g') {
                cell.push_str(&format!("{owner} "));
            }
            if !style.has('o') && !style.has('G') {
                cell.push_str(&format!("{owner} "));
            }
            cell.push_str(&format!("{size:>width$} {} ", when(entry.metadata.modified)));
        }
        cell.push_str(&name(&entry.name, style));
        cell.push_str(mark(&entry.metadata, style, is_long));
        if is_long
            && entry.metadata.file_type == FileType::Symlink
            && let Ok(target) = ctx.fs.read_link(&entry.path).await
        {
            cell.push_str(&format!(" -> {}", target.display()));
        }
        cells.push(cell);
    }
    match style.last_of("1mCxl") {
        Some('m') => separated(&cells),
        Some('C') => columns(&cells, false),
        Some('x') => columns(&cells, true),
        _ => cells.iter().map(|cell| format!("{cell}\n")).collect(),
    }
}

/// With commas between, in lines.
fn separated(cells: &[String]) -> String {
    let (mut text, mut width) = (String::new(), 0);
    for (i, cell) in cells.iter().enumerate() {
        let length = cell.chars().count() + 2;
        if i > 0 {
            text.push(',');
            if width + length >= LINE_WIDTH {
                text.push('\n');
                width = 0;
            } else {
                text.push(' ');
            }
        }
        width += length;
        text.push_str(cell);
    }
    if !cells.is_empty() {
        text.push('\n');
    }
    text
}

/// In as few lines as hold them, downwards or `across`.
fn columns(cells: &[String], across: bool) -> String {
    let lengths: Vec<usize> = cells.iter().map(|cell| cell.chars().count()).collect();
    let place = |index: usize, lines: usize, count: usize| match across {
        true => (index / count, index % count),
        false => (index % lines, index / lines),
    };
    for lines in 1..=cells.len() {
        let count = cells.len().div_ceil(lines);
        let mut widths = vec![0; count];
        for (index, length) in lengths.iter().enumerate() {
            let (_, column) = place(index, lines, count);
            widths[column] = widths[column].max(length + 2);
        }
        if widths.iter().sum::<usize>() > LINE_WIDTH + 2 && lines < cells.len() {
            continue;
        }
        let mut rows = vec![Vec::new(); lines];
        for (index, cell) in cells.iter().enumerate() {
            let (line, column) = place(index, lines, count);
            rows[line].push((cell, column));
        }
        let row = |cells: &Vec<(&String, usize)>| {
            let padded = cells.iter().map(|(cell, column)| format!("{cell:<0$}", widths[*column]));
            format!("{}\n", padded.collect::<String>().trim_end())
        };
        return rows.iter().filter(|row| !row.is_empty()).map(row).collect();
    }
    String::new()
}

fn name(name: &str, style: &Style) -> String {
    match style.last_of("QN") {
        Some('Q') => format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\"")),
        _ => name.to_owned(),
    }
}

fn mark(metadata: &Metadata, style: &Style, is_long: bool) -> &'static str {
    let all = style.has('F');
    match metadata.file_type {
        FileType::Directory if all || style.has('p') => "/",
        FileType::Symlink if all && !is_long => "@",
        FileType::Fifo if all => "|",
        FileType::File if all && metadata.mode & 0o111 != 0 => "*",
        _ => "",
    }
}

fn mode(metadata: &Metadata) -> String {
    let kind = match metadata.file_type {
        FileType::Directory => 'd',
        FileType::Symlink => 'l',
        FileType::Fifo => 'p',
        FileType::File => '-',
    };
    let bit = |(i, letter): (usize, char)| if metadata.mode >> (8 - i) & 1 == 1 { letter } else { '-' };
    std::iter::once(kind).chain("rwxrwxrwx".chars().enumerate().map(bit)).collect()
}

fn blocks(metadata: &Metadata) -> u64 {
    match metadata.file_type {
        FileType::File => metadata.size.div_ceil(BLOCK_BYTES) * (BLOCK_BYTES / 1024),
        FileType::Directory => BLOCK_BYTES / 1024,
        _ => 0,
    }
}

fn size(metadata: &Metadata, style: &Style) -> String {
    if !style.has('h') || metadata.size < 1024 {
        return metadata.size.to_string();
    }
    let (mut number, mut unit) = (metadata.size as f64, 0);
    while number >= 1024.0 && unit < 5 {
        number /= 1024.0;
        unit += 1;
    }
    let letter = ["", "K", "M", "G", "T", "P"][unit];
    // Sizes are never shown smaller than they are.
    if number < 10.0 {
        format!("{:.1}{letter}", (number * 10.0).ceil() / 10.0)
    } else {
        format!("{:.0}{letter}", number.ceil())
    }
}

/// A number of its own for each path: there are no inodes to tell.
fn number(path: &Path) -> u64 {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().fold(17, |sum: u64, byte| (sum * 31 + u64::from(*byte)) % 100_000_007)
}

/// The day and the time of files of the last half year, the day and the year of others.
fn when(time: SystemTime) -> String {
    let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64);
    let (then, now) = (seconds(time), seconds(SystemTime::now()));
    let (year, month, day) = civil(then.div_euclid(86_400));
    let name = &"JanFebMarAprMayJunJulAugSepOctNovDec"[month * 3..month * 3 + 3];
    let minutes = then.rem_euclid(86_400) / 60;
    if (0..15_778_476).contains(&(now - then)) {
        format!("{name} {day:>2} {:02}:{:02}", minutes / 60, minutes % 60)
    } else {
        format!("{name} {day:>2}  {year}")
    }
}

/// Year, month from 0 and day of a number of days since 1970.
fn civil(days: i64) -> (i64, usize, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = (shifted_month + 2) % 12;
    (year + era * 400 + i64::from(month < 2), month as usize, day)
}

//! `seq`: numbers, as many as are asked for.

use bashkit::{Command, CommandContext, CommandStatus, Result, async_trait};

use super::complain;

pub struct Seq;

/// Output is written in pieces of about this size.
const PIECE_BYTES: usize = 4 << 10;

/// How numbers are printed.
struct Style<'a> {
    separator: &'a str,
    /// The same number of digits for all.
    padded: bool,
    /// As `printf` would write them.
    format: Option<Format<'a>>,
}

/// A format with one conversion: `%03g` between two texts.
#[derive(Clone, Copy)]
struct Format<'a> {
    before: &'a str,
    flags: &'a str,
    width: usize,
    precision: Option<usize>,
    /// No digits behind the point that are not needed.
    short: bool,
    after: &'a str,
}

#[async_trait]
impl Command for Seq {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let mut style = Style { separator: "\n", padded: false, format: None };
        let mut numbers = Vec::new();
        let mut args = ctx.args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            match arg {
                "-w" | "--equal-width" => style.padded = true,
                "-s" | "--separator" => match args.next() {
                    Some(separator) => style.separator = separator,
                    None => return complain(&ctx, "option requires an argument -- 's'").await,
                },
                "-f" | "--format" => match args.next().map(|text| (text, Format::parse(text))) {
                    Some((_, Some(format))) => style.format = Some(format),
                    Some((text, None)) => {
                        return complain(&ctx, &format!("format '{text}' is not one of a number")).await;
                    }
                    None => return complain(&ctx, "option requires an argument -- 'f'").await,
                },
                "--" => {}
                _ if arg.starts_with("-s") => style.separator = &arg[2..],
                _ if arg.starts_with("--separator=") => style.separator = &arg["--separator=".len()..],
                _ => numbers.push(arg),
            }
        }
        let (first, step, last) = match numbers[..] {
            [last] => ("1", "1", last),
            [first, last] => (first, "1", last),
            [first, step, last] => (first, step, last),
            [] => return complain(&ctx, "missing operand").await,
            [_, _, _, extra, ..] => return complain(&ctx, &format!("extra operand '{extra}'")).await,
        };
        let mut parsed = Vec::new();
        for text in [first, step, last] {
            match Decimal::parse(text) {
                Some(number) => parsed.push(number),
                None => return complain(&ctx, &format!("invalid floating point argument: '{text}'")).await,
            }
        }
        let digits = parsed[0].digits.max(parsed[1].digits);
        let scale = digits.max(parsed[2].digits);
        let [first, step, last] = [0, 1, 2].map(|index| parsed[index].scaled(scale));
        if step == 0 {
            return complain(&ctx, "invalid Zero increment value: '0'").await;
        }
        write(&ctx, &style, [first, step, last], scale, digits).await
    }
}

async fn write(
    ctx: &CommandContext<'_>,
    style: &Style<'_>,
    [first, step, last]: [i128; 3],
    scale: usize,
    digits: usize,
) -> Result<CommandStatus> {
    let text = |number: i128| {
        let sign = if number < 0 { "-" } else { "" };
        let unit = 10_i128.pow(scale as u32);
        let whole = number.abs() / unit;
        let part = format!("{:0scale$}", number.abs() % unit);
        if digits == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{}", &part[..digits]) }
    };
    let width = if style.padded { text(first).len().max(text(last).len()) } else { 0 };
    let mut piece = String::with_capacity(PIECE_BYTES + 64);
    let mut number = first;
    let mut any = false;
    while if step > 0 { number <= last } else { number >= last } {
        if any {
            piece.push_str(style.separator);
        }
        any = true;
        let plain = text(number);
        match style.format {
            Some(format) => piece.push_str(&format.write(number as f64 / 10_f64.powi(scale as i32))),
            None => pad(&mut piece, &plain, width),
        }
        if piece.len() >= PIECE_BYTES {
            ctx.stdout.write_all(piece.as_bytes()).await?;
            piece.clear();
        }
        number += step;
    }
    if any {
        piece.push('\n');
    }
    ctx.stdout.write_all(piece.as_bytes()).await?;
    Ok(CommandStatus::success())
}

/// Zeros between the sign and the digits, up to a width.
fn pad(piece: &mut String, plain: &str, width: usize) {
    match plain.strip_prefix('-') {
        Some(rest) if plain.len() < width => piece.push_str(&format!("-{rest:0>0$}", width - 1)),
        _ => piece.push_str(&format!("{plain:0>width$}")),
    }
}

impl<'a> Format<'a> {
    fn parse(text: &'a str) -> Option<Format<'a>> {
        let (before, rest) = text.split_once('%')?;
        let end = rest.find(['f', 'g', 'e'])?;
        let (spec, after) = (&rest[..end], &rest[end + 1..]);
        let digits = spec.find(|c| !"-+ 0".contains(c)).unwrap_or(spec.len());
        let (flags, size) = spec.split_at(digits);
        let (width, precision) = match size.split_once('.') {
            Some((width, precision)) => (width, Some(if precision.is_empty() { 0 } else { precision.parse().ok()? })),
            None => (size, None),
        };
        let width = if width.is_empty() { 0 } else { width.parse().ok()? };
        if rest[end..].starts_with('e') || after.contains('%') || width > 4096 || precision.is_some_and(|n| n > 64) {
            return None;
        }
        Some(Format { before, flags, width, precision, short: rest[end..].starts_with('g'), after })
    }

    fn write(&self, number: f64) -> String {
        let mut digits = match (self.short, self.precision) {
            (true, _) => format!("{}", number.abs()),
            (false, precision) => format!("{:.*}", precision.unwrap_or(6), number.abs()),
        };
        let sign = match number < 0.0 {
            true => "-",
            false if self.flags.contains('+') => "+",
            false if self.flags.contains(' ') => " ",
            false => "",
        };
        let missing = self.width.saturating_sub(sign.len() + digits.len());
        if self.flags.contains('-') {
            digits.push_str(&" ".repeat(missing));
        } else if self.flags.contains('0') {
            digits.insert_str(0, &"0".repeat(missing));
        } else {
            return format!("{}{}{sign}{digits}{}", self.before, " ".repeat(missing), self.after);
        }
        format!("{}{sign}{digits}{}", self.before, self.after)
    }
}

/// A number with a few digits after the point, exactly.
struct Decimal {
    units: i128,
    digits: usize,
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (sign, number) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        let all = format!("{whole}{part}");
        if all.is_empty() || all.len() > 24 || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(Decimal { units: sign * all.parse::<i128>().ok()?, digits: part.len() })
    }

    fn scaled(&self, digits: usize) -> i128 {
        self.units * 10_i128.pow((digits - self.digits) as u32)
    }
}

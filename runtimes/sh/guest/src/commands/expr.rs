//! `expr`: numbers, comparisons and patterns.

use bashkit::{Command, CommandContext, CommandStatus, Result, async_trait};

use super::bre::Pattern;

pub struct Expr;

/// What is wrong, for which `expr` ends with 2.
type Parsed = std::result::Result<String, String>;

/// Brackets nest this deep at most.
const DEPTH_AT_MOST: usize = 1000;

/// Operators, from those that bind least.
const LEVELS: [&[&str]; 5] = [&["|"], &["&"], &["<", "<=", "=", "==", "!=", ">=", ">"], &["+", "-"], &["*", "/", "%"]];

#[async_trait]
impl Command for Expr {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let words: Vec<&str> = ctx.args.iter().map(String::as_str).collect();
        let words = if words.first() == Some(&"--") { &words[1..] } else { &words[..] };
        let mut parser = Parser { words, at: 0, depth: 0 };
        let result = match parser.level(0) {
            Ok(_) if parser.at < words.len() => {
                Err(format!("syntax error: unexpected argument '{}'", words[parser.at]))
            }
            result => result,
        };
        match result {
            Ok(value) => {
                ctx.stdout.write_all(format!("{value}\n").as_bytes()).await?;
                Ok(CommandStatus::with_code(i32::from(is_null(&value))))
            }
            Err(message) => {
                ctx.stderr.write_all(format!("expr: {message}\n").as_bytes()).await?;
                Ok(CommandStatus::with_code(2))
            }
        }
    }
}

/// Empty, or a zero.
fn is_null(value: &str) -> bool {
    let digits = value.strip_prefix('-').unwrap_or(value);
    value.is_empty() || (!digits.is_empty() && digits.bytes().all(|byte| byte == b'0'))
}

struct Parser<'a> {
    words: &'a [&'a str],
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> std::result::Result<&'a str, String> {
        let missing = || match self.words.last() {
            Some(last) => format!("syntax error: missing argument after '{last}'"),
            None => "missing operand".to_owned(),
        };
        let word = *self.words.get(self.at).ok_or_else(missing)?;
        self.at += 1;
        Ok(word)
    }

    fn level(&mut self, level: usize) -> Parsed {
        if level == LEVELS.len() {
            return self.matching();
        }
        let mut left = self.level(level + 1)?;
        while let Some(operator) = self.words.get(self.at).copied().filter(|word| LEVELS[level].contains(word)) {
            self.at += 1;
            let right = self.level(level + 1)?;
            left = apply(operator, left, right)?;
        }
        Ok(left)
    }

    fn matching(&mut self) -> Parsed {
        let mut left = self.primary()?;
        while self.words.get(self.at) == Some(&":") {
            self.at += 1;
            let pattern = self.primary()?;
            left = matched(&left, &pattern)?;
        }
        Ok(left)
    }

    fn primary(&mut self) -> Parsed {
        // The last word is never the name of a function.
        let is_function = self.at + 1 < self.words.len();
        match self.next()? {
            "(" => {
                self.depth += 1;
                if self.depth > DEPTH_AT_MOST {
                    return Err("expression is nested too deep".to_owned());
                }
                let value = self.level(0)?;
                self.depth -= 1;
                match self.next() {
                    Ok(")") => Ok(value),
                    _ => Err("syntax error: expecting ')'".to_owned()),
                }
            }
            ")" => Err("syntax error: unexpected ')'".to_owned()),
            "+" => Ok(self.next()?.to_owned()),
            "length" if is_function => Ok(self.matching()?.chars().count().to_string()),
            "match" if is_function => {
                let text = self.matching()?;
                let pattern = self.matching()?;
                matched(&text, &pattern)
            }
            "index" if is_function => {
                let text = self.matching()?;
                let wanted = self.matching()?;
                Ok(text.chars().position(|found| wanted.contains(found)).map_or(0, |at| at + 1).to_string())
            }
            "substr" if is_function => {
                let text = self.matching()?;
                let (from, length) = (self.matching()?, self.matching()?);
                let place = |text: &str| text.parse::<i64>().ok().and_then(|number| usize::try_from(number).ok());
                let (Some(from @ 1..), Some(length)) = (place(&from), place(&length)) else { return Ok(String::new()) };
                Ok(text.chars().skip(from - 1).take(length).collect())
            }
            word => Ok(word.to_owned()),
        }
    }
}

fn apply(operator: &str, left: String, right: String) -> Parsed {
    let numbers = || left.parse::<i64>().ok().zip(right.parse::<i64>().ok());
    Ok(match operator {
        "|" if !is_null(&left) => left,
        "|" if is_null(&right) => "0".to_owned(),
        "|" => right,
        "&" if is_null(&left) || is_null(&right) => "0".to_owned(),
        "&" => left,
        "+" | "-" | "*" | "/" | "%" => {
            let (a, b) = numbers().ok_or("non-integer argument")?;
            let result = match operator {
                "+" => a.checked_add(b),
                "-" => a.checked_sub(b),
                "*" => a.checked_mul(b),
                _ if b == 0 => return Err("division by zero".to_owned()),
                "/" => a.checked_div(b),
                _ => Some(a.wrapping_rem(b)),
            };
            result.ok_or_else(|| "Numerical result out of range".to_owned())?.to_string()
        }
        _ => {
            let order = numbers().map_or_else(|| left.cmp(&right), |(a, b)| a.cmp(&b));
            let holds = match operator {
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                "!=" => order.is_ne(),
                ">=" => order.is_ge(),
                ">" => order.is_gt(),
                _ => order.is_eq(),
            };
            u8::from(holds).to_string()
        }
    })
}

/// What the first group of the pattern holds, or without one how much matches.
fn matched(text: &str, pattern: &str) -> Parsed {
    let pattern = Pattern::parse(pattern)?;
    let text: Vec<char> = text.chars().collect();
    let found = pattern.match_start(&text);
    Ok(match (pattern.has_groups(), found) {
        (true, found) => found.map(|(_, group)| group).unwrap_or_default(),
        (false, found) => found.map_or(0, |(length, _)| length).to_string(),
    })
}

//! `sleep`: for as long as the call lasts, if it is told so.

use std::time::Duration;

use bashkit::{Command, CommandContext, CommandStatus, Result, async_trait};

use super::complain;

pub struct Sleep;

/// Longer than any call.
const LONGEST_SECONDS: f64 = 1e9;

#[async_trait]
impl Command for Sleep {
    async fn execute(&self, ctx: CommandContext<'_>) -> Result<CommandStatus> {
        let mut seconds = 0.0;
        let operands: Vec<_> = ctx.args.iter().filter(|arg| *arg != "--").collect();
        if operands.is_empty() {
            return complain(&ctx, "missing operand").await;
        }
        for operand in operands {
            match parse(operand) {
                Some(more) => seconds += more,
                None if operand.starts_with('-') => {
                    let letter = operand.chars().nth(1).unwrap_or('-');
                    return complain(&ctx, &format!("invalid option -- '{letter}'")).await;
                }
                None => return complain(&ctx, &format!("invalid time interval '{operand}'")).await,
            }
        }
        tokio::time::sleep(Duration::from_secs_f64(f64::min(seconds, LONGEST_SECONDS))).await;
        Ok(CommandStatus::success())
    }
}

/// A number with an optional unit, in seconds.
fn parse(text: &str) -> Option<f64> {
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h', 'd']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, "s"),
    };
    let factor = match unit {
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => 1.0,
    };
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+'));
    if plain || number == "inf" || number == "infinity" { Some(number.parse::<f64>().ok()? * factor) } else { None }
}

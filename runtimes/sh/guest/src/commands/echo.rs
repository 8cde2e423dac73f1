//! `echo` as POSIX's XSI option has it, and dash: escapes are always read, and the one option is `-n`.

use bashkit::{Builtin, BuiltinContext, ExecResult, Result, async_trait};

pub struct Echo;

#[async_trait]
impl Builtin for Echo {
    async fn execute(&self, ctx: BuiltinContext<'_>) -> Result<ExecResult> {
        let (words, newline) = match ctx.args {
            [option, words @ ..] if option == "-n" => (words, false),
            words => (words, true),
        };
        let mut text = Vec::new();
        for (index, word) in words.iter().enumerate() {
            if index > 0 {
                text.push(b' ');
            }
            if !push_word(&mut text, word.as_bytes()) {
                return Ok(printed(text));
            }
        }
        if newline {
            text.push(b'\n');
        }
        Ok(printed(text))
    }
}

fn printed(text: Vec<u8>) -> ExecResult {
    ExecResult { stdout: text.into(), ..ExecResult::default() }
}

/// Adds a word with its escapes read. Whether output goes on: `\c` ends it.
fn push_word(text: &mut Vec<u8>, mut word: &[u8]) -> bool {
    while let Some(at) = word.iter().position(|byte| *byte == b'\\') {
        text.extend_from_slice(&word[..at]);
        let escape = word.get(at + 1).copied();
        word = word.get(at + 2..).unwrap_or_default();
        let byte = match escape {
            Some(b'a') => 0x07,
            Some(b'b') => 0x08,
            Some(b'c') => return false,
            Some(b'e') => 0x1b,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'v') => 0x0b,
            Some(b'\\') => b'\\',
            Some(b'0') => {
                let digits = word.iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
                let value = word[..digits].iter().fold(0, |value: u32, digit| value * 8 + u32::from(digit - b'0'));
                word = &word[digits..];
                value as u8
            }
            Some(other) => {
                text.push(b'\\');
                other
            }
            None => b'\\',
        };
        text.push(byte);
    }
    text.extend_from_slice(word);
    true
}

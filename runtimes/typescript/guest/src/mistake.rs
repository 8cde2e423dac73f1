//! A mistake in a text, as an engine would show it.

use oxc_diagnostics::OxcDiagnostic;

/// Fails with the first of the mistakes that were found, if any were.
pub fn first_of<'a>(
    path: &str,
    text: &str,
    mistakes: impl IntoIterator<Item = &'a OxcDiagnostic>,
) -> Result<(), String> {
    mistakes.into_iter().next().map_or(Ok(()), |mistake| Err(shown(path, text, mistake)))
}

/// Where it is, the line, and what is wrong.
fn shown(path: &str, text: &str, mistake: &OxcDiagnostic) -> String {
    let offset = mistake.labels.first().map_or(0, |label| label.offset() as usize).min(text.len());
    let before = text.get(..offset).unwrap_or_default();
    let number = before.matches('\n').count() + 1;
    let line = text.lines().nth(number - 1).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let indent: String = before[start..].chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    format!("{path}:{number}\n{line}\n{indent}^\n\nSyntaxError: {}\n", mistake.message)
}

/// JavaScript that throws a mistake which was shown.
pub fn thrown(shown: &str) -> String {
    // What JSON writes, JavaScript reads as a string.
    format!("throw new SyntaxError({});\n", serde_json::Value::from(shown))
}

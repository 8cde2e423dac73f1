//! Text as a shell reads it back in.

/// `text` within single quotes, and runs of single quotes within double ones.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    loop {
        let plain = rest.find('\'').unwrap_or(rest.len());
        let (before, after) = rest.split_at(plain);
        out.extend(["'", before, "'"]);
        rest = after.trim_start_matches('\'');
        if rest.len() < after.len() {
            out.extend(["\"", &after[..after.len() - rest.len()], "\""]);
        }
        if rest.is_empty() {
            return out;
        }
    }
}

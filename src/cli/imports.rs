//! Which of the modules beside it a JavaScript means.

/// Whether a JavaScript means the module `name`: a path leads to it, its ending is there, or it is imported. A word that
/// only happens to be its name does not count.
pub fn imports(text: &str, name: &str, extensions: &[String]) -> bool {
    places(text, name).any(|(before, after)| {
        let has_ending = after.strip_prefix('.').is_some_and(|rest| {
            let ending: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            extensions.contains(&ending)
        });
        let is_imported = before.strip_suffix(['\'', '"', '`']).is_some_and(|code| {
            let code = code.trim_end();
            let word = |word: &str| code.ends_with(word);
            word("from")
                || word("import")
                || ["require", "import"]
                    .iter()
                    .any(|call| code.strip_suffix('(').is_some_and(|code| code.trim_end().ends_with(call)))
        });
        name.starts_with("./") || before.ends_with('/') || has_ending || is_imported
    })
}

/// What stands before and behind each place where `name` is a word of its own.
fn places<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).filter_map(move |(at, found)| {
        let (before, after) = (&text[..at], &text[at + found.len()..]);
        let goes_on_before = found.starts_with(is_word) && before.ends_with(is_word);
        let goes_on_after = found.ends_with(is_word) && after.starts_with(is_word);
        (!goes_on_before && !goes_on_after).then_some((before, after))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn javascript_means_a_module_by_path_ending_or_import() {
        let endings = ["js", "ts", "json"].map(str::to_owned);
        let means = |text: &str| imports(text, "hi", &endings);
        for text in [
            "import x from './hi'",
            "require('../lib/hi')",
            "readFileSync('hi.json')",
            "import { a } from \"hi\"",
            "import 'hi'",
            "await import( `hi` )",
            "const a = require ('hi')",
            "new URL('hi.ts', import.meta.url)",
        ] {
            assert!(means(text), "{text}");
        }
        for text in ["console.log('hi')", "hi()", "const hi = 1; hi.there", "// say hi", "'from: hi'", "x.hi"] {
            assert!(!means(text), "{text}");
        }
    }
}

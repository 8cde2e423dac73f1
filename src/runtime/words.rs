//! Words in a script's text, by which its image and the files it needs are found.

/// Whether `name` stands in the text as a word of its own: what comes before it and after it is part of no word.
pub fn mentions(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, found)| {
        let before = text[..at].chars().next_back().filter(|_| found.starts_with(is_word));
        let after = text[at + found.len()..].chars().next().filter(|_| found.ends_with(is_word));
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_mentioned_only_as_a_word_of_its_own() {
        assert!(mentions("import shapes", "shapes"));
        assert!(mentions("from shapes.round import x", "shapes"));
        assert!(mentions("import a, 'x/shapes.js'", "shapes"));
        assert!(!mentions("import reshapes, shapes2, _shapes", "shapes"));
        assert!(mentions("import './lib/a.js'", "./lib/"));
        assert!(!mentions("import './library/a.js'", "./lib/"));
    }
}

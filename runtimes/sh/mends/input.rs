//! Which utilities read their standard input to its end.

/// Whether a utility does, as far as its arguments tell. One that may read files, or nothing, counts as one that does
/// not: its input is then there for what comes after it.
pub(super) fn is_read_to_its_end(name: &str, args: &[String]) -> bool {
    let (before, with_value, script) = match name {
        "tee" | "tr" | "xargs" => return true,
        "cat" | "md5sum" | "nl" | "rev" | "sha256sum" | "tac" | "uniq" | "wc" => (0, "", false),
        "head" | "tail" => (0, "nc", false),
        "cut" => (0, "bcdf", false),
        "sort" => (0, "kto", false),
        "awk" | "grep" | "sed" => (1, "ABCFefmv", true),
        _ => return false,
    };
    // The pattern or the program, unless an option gives it.
    let mut operands_of_its_own = before;
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.strip_prefix('-') {
            Some("") => {}
            Some(option) => {
                let mut letters = option.chars();
                let Some(letter) = letters.next() else { continue };
                if script && matches!(letter, 'e' | 'f') {
                    operands_of_its_own = 0;
                }
                if with_value.contains(letter) && letters.next().is_none() {
                    args.next();
                }
            }
            None if operands_of_its_own > 0 => operands_of_its_own -= 1,
            None => return false,
        }
    }
    true
}

//! What utilities do with their standard input, as far as their names and arguments tell.

use super::{Arc, Interpreter, pipe::Pipe};

impl Interpreter {
    /// After a command for which input was taken from a pipe: what `read` left goes back. Any other was given all there is.
    pub(super) fn give_back(&mut self, name: &str, pipe: Arc<Pipe>) {
        let left = self.pipeline_stdin.take();
        if name == "read" {
            pipe.unread(left.unwrap_or_default().as_bytes());
            self.pipe_in = Some(pipe);
        } else {
            self.pipeline_stdin = Some(crate::StreamData::new());
        }
    }
}

/// How a utility reads its standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reads {
    /// Not at all: it reads none, or files that it is given.
    Nothing,
    /// To its end.
    ToTheEnd,
    /// That cannot be told, or it depends.
    Perhaps,
}

/// Utilities that read their input unless they are given files: the operands before those, and the options that take a
/// value.
const FILTERS: &[(&str, usize, &str)] = &[
    ("awk", 1, "Ffv"),
    ("cat", 0, ""),
    ("cut", 0, "bcdf"),
    ("grep", 1, "ABCDdefm"),
    ("head", 0, "nc"),
    ("md5sum", 0, ""),
    ("nl", 0, "bdfhilnpsvw"),
    ("rev", 0, ""),
    ("sed", 1, "efl"),
    ("sha256sum", 0, ""),
    ("sort", 0, "koStT"),
    ("tac", 0, "s"),
    ("tail", 0, "ncs"),
    ("uniq", 0, "fsw"),
    ("wc", 0, ""),
];

/// Other utilities that may read it, and those that run others.
const READERS: &[&str] = &[
    "base32",
    "base64",
    "basenc",
    "bash",
    "bc",
    "bzip2",
    "cksum",
    "cmp",
    "column",
    "comm",
    "csplit",
    "dash",
    "dd",
    "diff",
    "egrep",
    "env",
    "expand",
    "fgrep",
    "fmt",
    "fold",
    "gunzip",
    "gzip",
    "hexdump",
    "iconv",
    "join",
    "jq",
    "less",
    "mapfile",
    "more",
    "nice",
    "nohup",
    "numfmt",
    "od",
    "parallel",
    "paste",
    "patch",
    "pr",
    "read",
    "readarray",
    "rg",
    "select",
    "sh",
    "sha1sum",
    "sha224sum",
    "sha384sum",
    "sha512sum",
    "shuf",
    "split",
    "stdbuf",
    "strings",
    "sum",
    "tar",
    "time",
    "timeout",
    "tsort",
    "unexpand",
    "unzip",
    "xxd",
    "yq",
    "zcat",
    "zip",
];

pub(super) fn reads(name: &str, args: &[String]) -> Reads {
    if matches!(name, "tee" | "tr" | "xargs") {
        return Reads::ToTheEnd;
    }
    if args.iter().any(|arg| arg == "-" || arg == "/dev/stdin") {
        return Reads::Perhaps;
    }
    if name == "jq" && args.iter().any(|arg| arg == "-n" || arg == "--null-input") {
        return Reads::Nothing;
    }
    if let ("command" | "builtin", Some((name, args))) = (name, args.split_first()) {
        return match reads(name, args) {
            Reads::Nothing => Reads::Nothing,
            _ => Reads::Perhaps,
        };
    }
    match FILTERS.iter().find(|(filter, ..)| *filter == name) {
        Some((_, operands, options)) => filter_reads(name, args, *operands, options),
        None if READERS.binary_search(&name).is_ok() => Reads::Perhaps,
        // One of ours has a name that no script would give.
        None if name.contains(':') && name.len() > 1 => Reads::Perhaps,
        None => Reads::Nothing,
    }
}

fn filter_reads(name: &str, args: &[String], mut operands_of_its_own: usize, with_value: &str) -> Reads {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.strip_prefix('-') {
            // It may take the next argument as its value.
            Some(long) if long.starts_with('-') && !long.contains('=') => return Reads::Perhaps,
            Some(option) => {
                let mut letters = option.chars();
                let Some(letter) = letters.next() else { continue };
                // The pattern or the program comes with it.
                if matches!((name, letter), ("awk", 'f') | ("grep" | "sed", 'e' | 'f')) {
                    operands_of_its_own = 0;
                }
                if with_value.contains(letter) && letters.next().is_none() {
                    args.next();
                }
            }
            None if operands_of_its_own > 0 => operands_of_its_own -= 1,
            None => return Reads::Nothing,
        }
    }
    Reads::ToTheEnd
}

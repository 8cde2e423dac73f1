//! Command-line options in the manner of `getopt`.

/// One thing on a command line.
pub enum Item<'a> {
    /// A letter or a long name, and its value if it takes one.
    Option(&'a str, Option<&'a str>),
    Operand(&'a str),
}

/// What is wrong with a command line.
pub enum Wrong {
    Unknown(String),
    NoValue(String),
}

impl Wrong {
    pub fn message(&self) -> String {
        match self {
            Wrong::Unknown(name) if name.len() > 1 => format!("unrecognized option '--{name}'"),
            Wrong::Unknown(name) => format!("invalid option -- '{name}'"),
            Wrong::NoValue(name) if name.len() > 1 => format!("option '--{name}' requires an argument"),
            Wrong::NoValue(name) => format!("option requires an argument -- '{name}'"),
        }
    }
}

/// Which options there are: letters and long names, and whether a value follows.
pub type Known<'a> = &'a [(&'a str, bool)];

/// Splits arguments into options and operands, wherever they stand. After `--` there are operands only.
pub fn parse<'a>(args: &'a [String], known: Known<'_>) -> Result<Vec<Item<'a>>, Wrong> {
    let takes_value = |name: &str| {
        let found = known.iter().find(|(option, _)| *option == name);
        found.map(|(_, value)| *value).ok_or_else(|| Wrong::Unknown(name.to_owned()))
    };
    let mut items = Vec::new();
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        if arg == "--" {
            items.extend(args.by_ref().map(Item::Operand));
        } else if let Some(long) = arg.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            let value = match (takes_value(name)?, value) {
                (true, None) => Some(args.next().ok_or_else(|| Wrong::NoValue(name.to_owned()))?),
                (true, value) => value,
                (false, _) => None,
            };
            items.push(Item::Option(name, value));
        } else if arg.len() > 1 && arg.starts_with('-') {
            let mut rest = &arg[1..];
            while let Some(letter) = rest.chars().next() {
                let (name, after) = rest.split_at(letter.len_utf8());
                rest = after;
                if !takes_value(name)? {
                    items.push(Item::Option(name, None));
                    continue;
                }
                let value = if rest.is_empty() { args.next() } else { Some(rest) };
                items.push(Item::Option(name, Some(value.ok_or_else(|| Wrong::NoValue(name.to_owned()))?)));
                rest = "";
            }
        } else {
            items.push(Item::Operand(arg));
        }
    }
    Ok(items)
}

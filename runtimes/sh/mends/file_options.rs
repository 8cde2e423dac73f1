//! Options of `mkdir`, `cp`, `mv` and `rm`.

use std::path::Path;

use crate::fs::FileSystem;

/// The permission bits behind `-m`, if they are a number, and the arguments without them.
pub fn mode_taken(args: &[String]) -> (Option<u32>, Vec<String>) {
    let (mut mode, mut rest) = (None, Vec::new());
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let value = match arg.strip_prefix("--mode=") {
            Some(value) => Some(value),
            None if arg.starts_with('-') && !arg.starts_with("--") => arg.split_once('m').map(|(_, value)| value),
            None => None,
        };
        let Some(value) = value else {
            rest.push(arg.clone());
            continue;
        };
        // What is before the `m` are options without a value: `-pm 700`.
        if let Some((before, _)) = arg.split_once('m').filter(|(before, _)| before.len() > 1 && *before != "--") {
            rest.push(before.to_owned());
        }
        let value = if value.is_empty() { args.next().map_or("", String::as_str) } else { value };
        mode = u32::from_str_radix(value, 8).ok();
    }
    (mode, rest)
}

/// Whether an option is given by its letter, or by the long name that begins with it.
pub fn has(args: &[String], letter: char) -> bool {
    let long = match letter {
        'a' => "--archive",
        'n' => "--no-clobber",
        'p' => "--preserve",
        _ => "--verbose",
    };
    let options = args.iter().take_while(|arg| *arg != "--").filter(|arg| arg.starts_with('-'));
    options.into_iter().any(|arg| arg == long || (!arg.starts_with("--") && arg.contains(letter)))
}

/// The arguments with the folder of `-t` behind them.
pub fn target_last(args: &[String]) -> Vec<String> {
    let (mut folder, mut rest) = (None, Vec::new());
    let mut left = args.iter();
    while let Some(arg) = left.next() {
        if let Some(value) = arg.strip_prefix("--target-directory=") {
            folder = Some(value.to_owned());
        } else if arg == "-t" || arg == "--target-directory" {
            folder = left.next().cloned();
        } else {
            rest.push(arg.clone());
        }
    }
    rest.extend(folder);
    rest
}

/// What was copied or moved to, as it was named.
pub fn shown(named: &str, path: &Path, is_folder: bool) -> String {
    match path.file_name() {
        Some(name) if is_folder => format!("{}/{}", named.trim_end_matches('/'), name.to_string_lossy()),
        _ => named.to_owned(),
    }
}

/// Gives a copy the time of what was copied.
pub async fn keep_time(fs: &dyn FileSystem, from: &Path, to: &Path) {
    if let Ok(found) = fs.stat(from).await {
        let _ = fs.set_modified_time(to, found.modified).await;
    }
}

//! Mends: small edits to a crate's source, each of which has to fit exactly.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The text files of a source tree, by their paths in it.
pub type Sources = BTreeMap<PathBuf, String>;

/// What one file of `runtimes/sh/mends` says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mend {
    /// What is wrong without it: for those who read the file.
    #[serde(rename = "why")]
    _why: String,
    /// Files of ours that the crate gets.
    #[serde(default, rename = "add")]
    additions: Vec<Addition>,
    #[serde(default, rename = "edit")]
    edits: Vec<Edit>,
}

/// A file that lies beside the mend, and its place in the crate.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Addition {
    from: PathBuf,
    to: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    /// Inside the crate.
    file: PathBuf,
    /// A piece of text that is there once. Only what it begins is searched: as far as the closing brace that is
    /// indented like the line the piece is in.
    within: Option<String>,
    find: String,
    /// How often `find` has to be there. All of them are edited.
    #[serde(default = "once")]
    occurs: usize,
    /// What takes its place, or comes before or after it: one of the three.
    put: Option<String>,
    before: Option<String>,
    after: Option<String>,
}

fn once() -> usize {
    1
}

impl Mend {
    pub fn parse(text: &str) -> Result<Mend, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// Applies it to the crate's sources. `read` gives the text of a file that lies beside the mend.
    pub fn apply(&self, sources: &mut Sources, read: impl Fn(&Path) -> Result<String, String>) -> Result<(), String> {
        for Addition { from, to } in &self.additions {
            if sources.insert(to.clone(), read(from)?).is_some() {
                return Err(format!("`{}` is there already", to.display()));
            }
        }
        for edit in &self.edits {
            let name = edit.file.display();
            let text = sources.get_mut(&edit.file).ok_or_else(|| format!("there is no file `{name}`"))?;
            *text = edit.apply(text).map_err(|problem| format!("`{name}`: {problem}"))?;
        }
        Ok(())
    }
}

impl Edit {
    fn apply(&self, text: &str) -> Result<String, String> {
        let (before, part, after) = match &self.within {
            Some(anchor) => split(text, anchor)?,
            None => ("", text, ""),
        };
        let find = &self.find;
        expect(part, find, self.occurs)?;
        let new = match (&self.put, &self.before, &self.after) {
            (Some(new), None, None) => new.clone(),
            (None, Some(new), None) => format!("{new}{find}"),
            (None, None, Some(new)) => format!("{find}{new}"),
            _ => return Err(format!("an edit has one of `put`, `before` and `after`; this has not:\n{find}")),
        };
        Ok(format!("{before}{}{after}", part.replace(find, &new)))
    }
}

fn expect(text: &str, find: &str, occurs: usize) -> Result<(), String> {
    match text.matches(find).count() {
        // An empty text is everywhere.
        _ if find.is_empty() => Err("an edit looks for an empty text".to_owned()),
        count if count == occurs => Ok(()),
        count => Err(format!("this is there {count} times, not {occurs}:\n{find}")),
    }
}

/// The text before what `anchor` begins, that, and the rest.
fn split<'a>(text: &'a str, anchor: &str) -> Result<(&'a str, &'a str, &'a str), String> {
    expect(text, anchor, 1)?;
    let start = text.find(anchor).unwrap_or_default();
    let line = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let indentation: String = text[line..].chars().take_while(|letter| *letter == ' ').collect();
    let end = format!("\n{indentation}}}");
    let length = text[start..].find(&end).ok_or_else(|| format!("no brace closes what this begins:\n{anchor}"))?;
    let (before, rest) = text.split_at(start);
    let (part, after) = rest.split_at(length + end.len());
    Ok((before, part, after))
}

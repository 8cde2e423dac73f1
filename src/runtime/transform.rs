//! Which of a script's files are not what its engine runs, and what makes them so.

use serde::{Deserialize, Serialize};

/// Files with these endings go through a filter before the engine sees them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Transform {
    /// The endings, without the dot: of the script, where its name has one, and of the files it is given.
    pub extensions: Vec<String>,
    /// The image of the filter, a WASI program in the catalog: the file is its standard input, the file's path its
    /// argument. With exit code 0 its standard output takes the file's place; with another, the file has a mistake, and
    /// standard error shows it.
    pub with: String,
}

impl Transform {
    /// Whether it is meant for the file at `path`.
    pub(crate) fn takes(&self, path: &str) -> bool {
        let file = path.rsplit('/').next().unwrap_or_default();
        let Some((_, extension)) = file.rsplit_once('.') else { return false };
        self.extensions.iter().any(|own| own.eq_ignore_ascii_case(extension))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_transformed_by_its_ending_alone() {
        let typescript = Transform { extensions: vec!["ts".into(), "mts".into()], with: "typescript".into() };
        for (path, is_taken) in [("a.ts", true), ("b/c.MTS", true), ("a.js", false), ("ts", false), ("a.ts/b", false)] {
            assert_eq!(typescript.takes(path), is_taken, "{path}");
        }
    }
}

//! Turning a script's text into what its runtime's engine runs, on the host and before the call.

#[cfg(feature = "typescript")]
mod typescript;

use std::io;

use serde::{Deserialize, Serialize};

/// Some of a runtime's files are not what its engine runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TransformSpec {
    /// The endings of the files that are changed, without the dot: the script, where its name has one, and the files it
    /// is given.
    pub extensions: Vec<String>,
    /// How they are changed.
    pub with: Transform,
}

/// How a text is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Transform {
    /// TypeScript to JavaScript: types go, enums, namespaces and parameter properties become code. A source map at the
    /// text's end leads back to the original lines.
    Typescript,
}

/// Why a text was not changed.
#[derive(Debug)]
pub(crate) enum TransformError {
    /// It has a mistake, which is its author's: the text is what to show of it.
    #[cfg_attr(not(feature = "typescript"), allow(dead_code, reason = "no transform is built in"))]
    Script(String),
    /// The system has no thread for it.
    #[cfg_attr(not(feature = "typescript"), allow(dead_code, reason = "no transform is built in"))]
    Host(io::Error),
    /// This build cannot do it.
    #[cfg_attr(feature = "typescript", allow(dead_code, reason = "every transform is built in"))]
    Missing,
}

impl Transform {
    /// The text of the file `path` as the engine takes it.
    pub(crate) async fn apply(self, path: &str, text: &str) -> Result<String, TransformError> {
        match self {
            #[cfg(feature = "typescript")]
            Transform::Typescript => {
                let text = typescript::to_javascript(path, text).await.map_err(TransformError::Host)?;
                text.map_err(TransformError::Script)
            }
            #[cfg(not(feature = "typescript"))]
            Transform::Typescript => {
                let _ = (path, text);
                Err(TransformError::Missing)
            }
        }
    }

    /// A text that fails with this mistake when the engine runs it.
    pub(crate) fn failing(self, mistake: &str) -> String {
        match self {
            // What JSON writes, JavaScript reads as a string.
            Transform::Typescript => format!("throw new SyntaxError({});\n", serde_json::Value::from(mistake)),
        }
    }

    /// The Cargo feature that brings it.
    pub(crate) fn feature(self) -> &'static str {
        match self {
            Transform::Typescript => "typescript",
        }
    }
}

/// How the file at `path` is changed, if at all.
pub(crate) fn of_path(specs: &[TransformSpec], path: &str) -> Option<Transform> {
    if specs.is_empty() {
        return None;
    }
    let (_, extension) = path.rsplit('/').next()?.rsplit_once('.')?;
    let takes = |spec: &&TransformSpec| spec.extensions.iter().any(|own| own.eq_ignore_ascii_case(extension));
    specs.iter().find(takes).map(|spec| spec.with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_changed_by_its_ending_alone() {
        let specs = [TransformSpec { extensions: vec!["ts".into(), "mts".into()], with: Transform::Typescript }];
        for (path, is_changed) in [("a.ts", true), ("b/c.MTS", true), ("a.js", false), ("ts", false), ("a.ts/b", false)]
        {
            assert_eq!(of_path(&specs, path).is_some(), is_changed, "{path}");
        }
        assert_eq!(of_path(&[], "a.ts"), None);
    }
}

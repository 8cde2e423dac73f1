//! One key of a permission set.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How far one permission goes. In TOML and JSON: `false`, `true`, or a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Scope<T: Ord> {
    /// Not at all: the default.
    #[default]
    Nothing,
    /// As far as the host's ceiling goes.
    All,
    /// These and no others.
    Only(BTreeSet<T>),
}

impl<T: Ord> Scope<T> {
    /// These and no others; none of them is nothing.
    pub fn only(values: impl IntoIterator<Item = T>) -> Scope<T> {
        let values: BTreeSet<T> = values.into_iter().collect();
        if values.is_empty() { Scope::Nothing } else { Scope::Only(values) }
    }

    /// What either allows.
    pub(super) fn merge(self, other: Scope<T>) -> Scope<T> {
        match (self, other) {
            (Scope::All, _) | (_, Scope::All) => Scope::All,
            (Scope::Nothing, other) => other,
            (scope, Scope::Nothing) => scope,
            (Scope::Only(mut ours), Scope::Only(others)) => {
                ours.extend(others);
                Scope::Only(ours)
            }
        }
    }

    /// The values that are named, none for [`Scope::Nothing`] and [`Scope::All`].
    pub fn named(&self) -> impl Iterator<Item = &T> {
        match self {
            Scope::Only(values) => Some(values),
            Scope::Nothing | Scope::All => None,
        }
        .into_iter()
        .flatten()
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form<T> {
    Switch(bool),
    Values(Vec<T>),
}

impl<'de, T: Ord + Deserialize<'de>> Deserialize<'de> for Scope<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Form::deserialize(deserializer)? {
            Form::Switch(false) => Scope::Nothing,
            Form::Switch(true) => Scope::All,
            Form::Values(values) => Scope::only(values),
        })
    }
}

impl<T: Ord + Serialize> Serialize for Scope<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Scope::Nothing => Form::Switch(false),
            Scope::All => Form::Switch(true),
            Scope::Only(values) => Form::Values(values.iter().collect::<Vec<&T>>()),
        }
        .serialize(serializer)
    }
}

/// A folder of the host, and the name under which a script finds it in its working directory. In TOML and JSON: the
/// path alone, or `{ path = "/srv/data", as = "data" }`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "FolderForm", into = "FolderForm")]
#[non_exhaustive]
pub struct NamedFolder {
    /// The folder on the host; a relative path is one in the folder of the tasks.
    pub path: PathBuf,
    /// Its name. Default: the path as it is written when that is relative, so that a script finds it where it would
    /// outside; else the path's last part.
    pub name: Option<String>,
}

impl NamedFolder {
    /// The folder at this path, under its own name.
    pub fn new(path: impl Into<PathBuf>) -> NamedFolder {
        NamedFolder { path: path.into(), name: None }
    }

    /// Gives it another name.
    pub fn named(mut self, name: impl Into<String>) -> NamedFolder {
        self.name = Some(name.into());
        self
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum FolderForm {
    Path(PathBuf),
    Named(Named),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    path: PathBuf,
    #[serde(rename = "as")]
    name: String,
}

impl From<FolderForm> for NamedFolder {
    fn from(form: FolderForm) -> NamedFolder {
        match form {
            FolderForm::Path(path) => NamedFolder::new(path),
            FolderForm::Named(Named { path, name }) => NamedFolder::new(path).named(name),
        }
    }
}

impl From<NamedFolder> for FolderForm {
    fn from(folder: NamedFolder) -> FolderForm {
        match folder.name {
            None => FolderForm::Path(folder.path),
            Some(name) => FolderForm::Named(Named { path: folder.path, name }),
        }
    }
}

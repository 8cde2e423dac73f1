//! What a task may do beyond computing: the keys of a permission set, its presets, and the ceiling it is held to.

mod ceiling;
mod granted;
mod preset;
mod protected;
mod scope;
mod way;

use serde::{Deserialize, Serialize};

pub use granted::{Granted, PermissionError};
pub use preset::Preset;
pub use protected::Protected;
pub use scope::{NamedFolder, Scope};

/// What a task asks for, or the most that a host allows. Default: nothing.
///
/// In TOML a table of these keys, each `true`, `false` or a list; `preset` adds those of a preset. A preset's name alone
/// stands for the table: `permissions = "readOnly"`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Form", into = "Table")]
#[non_exhaustive]
pub struct Permissions {
    /// Hosts that may be talked to. The sandbox has no network: a task that asks for one is refused.
    pub net: Scope<String>,
    /// Folders of the host that may be read. They show in the script's working directory.
    pub read: Scope<NamedFolder>,
    /// Folders of the host that may be read and changed.
    pub write: Scope<NamedFolder>,
    /// Variables of the host that are passed on.
    pub env: Scope<String>,
    /// Runtimes that the script may start. The sandbox starts none: a task that asks for one is refused.
    pub run: Scope<String>,
    /// Native libraries. Always refused.
    pub ffi: bool,
    /// Hosts that modules may be loaded from. As for `net`.
    pub import: Scope<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Form {
    Preset(Preset),
    Table(Box<Table>),
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Table {
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<Preset>,
    net: Scope<String>,
    read: Scope<NamedFolder>,
    write: Scope<NamedFolder>,
    env: Scope<String>,
    run: Scope<String>,
    ffi: bool,
    import: Scope<String>,
}

impl From<Form> for Permissions {
    fn from(form: Form) -> Permissions {
        match form {
            Form::Preset(preset) => preset.permissions(),
            Form::Table(table) => {
                let Table { preset, net, read, write, env, run, ffi, import } = *table;
                let own = Permissions { net, read, write, env, run, ffi, import };
                preset.map_or_else(Permissions::none, Preset::permissions).merge(own)
            }
        }
    }
}

impl From<Permissions> for Table {
    fn from(permissions: Permissions) -> Table {
        let Permissions { net, read, write, env, run, ffi, import } = permissions;
        Table { preset: None, net, read, write, env, run, ffi, import }
    }
}

impl Permissions {
    /// Nothing at all: what a task has that says nothing.
    pub fn none() -> Permissions {
        Permissions::default()
    }

    /// What either of the two allows.
    pub fn merge(self, other: Permissions) -> Permissions {
        Permissions {
            net: self.net.merge(other.net),
            read: self.read.merge(other.read),
            write: self.write.merge(other.write),
            env: self.env.merge(other.env),
            run: self.run.merge(other.run),
            ffi: self.ffi || other.ffi,
            import: self.import.merge(other.import),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct File {
        permissions: Permissions,
    }

    fn read(text: &str) -> Result<Permissions, toml::de::Error> {
        toml::from_str::<File>(text).map(|file| file.permissions)
    }

    #[test]
    fn a_permission_set_is_a_preset_a_table_or_both() {
        assert_eq!(read("permissions = 'none'").unwrap(), Permissions::none());
        assert_eq!(read("permissions = 'minimal'").unwrap(), Permissions::none());
        assert_eq!(read("permissions = 'readOnly'").unwrap().read, Scope::All);
        assert_eq!(read("[permissions]").unwrap(), Permissions::none());
        let both = read("[permissions]\npreset = 'readOnly'\nenv = ['LANG']\nread = ['data']").unwrap();
        assert_eq!((both.read, both.env), (Scope::All, Scope::only(["LANG".to_owned()])));
        let named = read("[permissions]\nwrite = [{ path = '/srv/out', as = 'out' }]").unwrap();
        assert_eq!(named.write, Scope::only([NamedFolder::new("/srv/out").named("out")]));
        for wrong in ["permissions = 'everything'", "[permissions]\nnets = true", "[permissions]\nread = 1"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn merging_gives_what_either_allows() {
        let one = read("[permissions]\nenv = ['A']\nread = true\nwrite = false").unwrap();
        let two = read("[permissions]\nenv = ['B']\nread = ['x']\nwrite = ['y']\nffi = true").unwrap();
        let both = one.merge(two);
        assert_eq!(both.env, Scope::only(["A".to_owned(), "B".to_owned()]));
        assert_eq!((both.read, both.write), (Scope::All, Scope::only([NamedFolder::new("y")])));
        assert!(both.ffi);
    }
}

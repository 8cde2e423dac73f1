//! Permission sets that have a name.

use serde::{Deserialize, Serialize};

use super::{Permissions, Scope};

/// A permission set with a name. Each goes as far as the host's ceiling and no further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Preset {
    /// Nothing. `minimal` is another name for it.
    #[serde(alias = "minimal")]
    None,
    /// Reading: every folder that the ceiling names.
    ReadOnly,
    /// The network and modules from it.
    Network,
    /// Reading and writing.
    Filesystem,
    /// Everything but native libraries, which are always refused.
    Full,
}

impl Preset {
    /// What it stands for.
    pub fn permissions(self) -> Permissions {
        let mut permissions = Permissions::none();
        match self {
            Preset::None => {}
            Preset::ReadOnly => permissions.read = Scope::All,
            Preset::Network => (permissions.net, permissions.import) = (Scope::All, Scope::All),
            Preset::Filesystem => (permissions.read, permissions.write) = (Scope::All, Scope::All),
            Preset::Full => {
                let all = || Scope::All;
                permissions = Permissions {
                    net: all(),
                    read: Scope::All,
                    write: Scope::All,
                    env: all(),
                    run: all(),
                    ffi: false,
                    import: all(),
                };
            }
        }
        permissions
    }
}

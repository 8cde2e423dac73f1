//! `runtime.toml`: what a runtime is made of.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Transform;
use super::words::mentions;

/// A runtime's description, as its `runtime.toml` gives it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Manifest {
    /// The name under which the runtime is installed and chosen: lower-case letters, digits and `-`.
    pub name: String,
    /// The version of the program in it, as a person would say it.
    pub version: String,
    /// One line for `ampoule runtime list`.
    #[serde(default)]
    pub description: String,
    /// Script file extensions that select this runtime, without the dot.
    #[serde(default)]
    pub extensions: Vec<String>,
    /// Endings of other files that scripts import, such as data: copied like modules from beside a script.
    #[serde(default)]
    pub companions: Vec<String>,
    /// How a call starts the guest.
    pub driver: Driver,
    /// For a command, what comes before the script's own arguments, `argv[0]` first; one of the words is `{script}`, for
    /// the script's file. Default: the script's file alone.
    #[serde(default = "script_alone")]
    pub arguments: Vec<String>,
    /// The name a script has where the host gives none, such as `-e` code: used for messages and `argv[0]`.
    #[serde(default = "default_script_name")]
    pub default_script_name: String,
    /// The native command that `ampoule bench` compares with; the script's path is added to it.
    #[serde(default)]
    pub native_command: Vec<String>,
    /// Where the runtime's files come from.
    pub source: Source,
    /// The program: a path inside the source.
    pub module: String,
    /// Functions to export that the module knows only in its name section.
    #[serde(default)]
    pub exports: Vec<String>,
    /// A file beside the manifest with functions to add to the module: WebAssembly in text or binary form that imports
    /// what it needs from `module` by name, the names of the name section included.
    #[serde(default)]
    pub graft: Option<String>,
    /// Whether each call's text also has `seed`, 96 hexadecimal digits of fresh random bits, for a module that has no
    /// way to ask the host for them.
    #[serde(default)]
    pub seed: bool,
    /// Files taken from the source into the runtime's own folder.
    #[serde(default)]
    pub extract: Vec<Extract>,
    /// Folders of the runtime that the guest sees, read-only.
    #[serde(default)]
    pub mounts: Vec<Mount>,
    /// The environment while images are made, and the constants each call gets.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Files that go through a filter before the engine sees them. The filters' runtimes are installed with this one.
    #[serde(default)]
    pub transforms: Vec<Transform>,
    /// The images, by name. The runtime's default image has the runtime's name.
    pub images: BTreeMap<String, ImageSpec>,
}

/// The word of [`Manifest::arguments`] that stands for the script's file.
pub(crate) const SCRIPT_WORD: &str = "{script}";

fn script_alone() -> Vec<String> {
    vec![SCRIPT_WORD.into()]
}

fn default_script_name() -> String {
    "script".into()
}

/// How a call starts the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Driver {
    /// A WASI command: `_start` runs it, the script lies in the working directory, and [`Manifest::arguments`] say where
    /// it stands among the arguments.
    Command,
    /// A WASI command that is itself what a call runs: `_start`, with the call's arguments alone. There is no script.
    Program,
    /// A reactor that runs text: `host_alloc(len) -> pointer`, `turn(pointer, len) -> status`. The warm-up leaves it so
    /// that a turn whose text is a JSON object, with `name`, `source`, `args`, `env` and `cwd`, runs that script. The
    /// status's lowest eight bits are the exit code.
    Turn,
}

/// Where a runtime's files come from.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", untagged)]
#[non_exhaustive]
pub enum Source {
    /// A wheel, fetched with the user's own package client.
    Wheel {
        /// The package's name.
        pypi: String,
        /// The one version that is accepted.
        version: String,
        /// The wheel's SHA-256, lower-case hexadecimal. Another wheel is refused.
        sha256: String,
        /// The wheel's size in bytes, for the progress display.
        bytes: u64,
    },
    /// Files that lie beside the manifest.
    Folder {
        /// The folder, relative to the manifest.
        folder: String,
    },
}

/// One file, or the files of one archive, taken from the source.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Extract {
    /// The path inside the source. `a.zip!b.zip` names the member `b.zip` of the archive `a.zip`.
    pub from: String,
    /// The path inside the runtime's folder.
    pub to: String,
    /// Whether `from` is a zip archive whose members are wanted instead of itself.
    #[serde(default)]
    pub unpack: bool,
}

impl Extract {
    /// The file of the source that it is taken from: an archive, where `from` names a member.
    pub(crate) fn source_file(&self) -> &str {
        self.from.split('!').next().unwrap_or_default()
    }
}

/// A folder that the guest sees, read-only.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mount {
    /// The folder, relative to the runtime's.
    pub folder: String,
    /// Where the guest sees it.
    pub guest: String,
}

/// How an image is made.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ImageSpec {
    /// Files beside the manifest whose text is run, in this order, before the image is taken. Empty for the memory as
    /// the module starts with it.
    #[serde(default)]
    pub warm_up: Vec<String>,
    /// Words that make a script run on this image when nobody chose one: modules that it holds, or that import those.
    #[serde(default)]
    pub words: Vec<String>,
}

/// A manifest that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// It is not the TOML that a manifest is.
    #[error("the manifest `{origin}` cannot be read: {error}")]
    Syntax {
        /// Which manifest.
        origin: String,
        /// What the parser says, with the place.
        error: Box<toml::de::Error>,
    },
    /// A value is not allowed.
    #[error("the manifest `{origin}`: `{key}` is `{value}`, but {expected}")]
    Value {
        /// Which manifest.
        origin: String,
        /// The key.
        key: String,
        /// What it is.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
}

impl Manifest {
    /// Reads and checks a manifest. `origin` names it in errors.
    pub fn parse(origin: &str, text: &str) -> Result<Manifest, ManifestError> {
        let manifest: Manifest = toml::from_str(text)
            .map_err(|error| ManifestError::Syntax { origin: origin.to_owned(), error: Box::new(error) })?;
        manifest.check(origin)?;
        Ok(manifest)
    }

    fn check(&self, origin: &str) -> Result<(), ManifestError> {
        let refuse = |key: &str, value: &str, expected| {
            Err(ManifestError::Value { origin: origin.into(), key: key.into(), value: value.into(), expected })
        };
        for (key, name) in std::iter::once(("name", &self.name)).chain(self.images.keys().map(|name| ("images", name)))
        {
            if !is_plain_name(name) {
                return refuse(key, name, "names are lower-case letters, digits and `-`, 64 at most");
            }
        }
        if self.arguments.iter().filter(|word| *word == SCRIPT_WORD).count() != 1 {
            return refuse("arguments", &self.arguments.join(" "), "exactly one of the words must be `{script}`");
        }
        if self.driver != Driver::Command && self.arguments != script_alone() {
            return refuse("arguments", &self.arguments.join(" "), "only the driver `command` has a say in them");
        }
        if let Some(word) = self.arguments.iter().find(|word| word.contains('\0')) {
            return refuse("arguments", &word.escape_default().to_string(), "a word cannot hold a NUL");
        }
        for transform in &self.transforms {
            if !is_plain_name(&transform.with) || self.images.contains_key(&transform.with) {
                return refuse("transforms.with", &transform.with, "it must be the image of another runtime");
            }
        }
        if !self.images.contains_key(&self.name) {
            return refuse("images", &self.name, "the default image must have the runtime's own name");
        }
        if let Source::Wheel { sha256, .. } = &self.source
            && (sha256.len() != 64 || !sha256.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
        {
            return refuse("source.sha256", sha256, "it must be 64 lower-case hexadecimal digits");
        }
        let mut paths = vec![("module", &self.module)];
        paths.extend(self.graft.iter().map(|graft| ("graft", graft)));
        paths.extend(self.extract.iter().map(|extract| ("extract.to", &extract.to)));
        let outer: Vec<String> = self.extract.iter().map(|extract| extract.source_file().to_owned()).collect();
        paths.extend(outer.iter().map(|file| ("extract.from", file)));
        if let Source::Folder { folder } = &self.source
            && folder != "."
        {
            paths.push(("source.folder", folder));
        }
        paths.extend(self.mounts.iter().map(|mount| ("mounts.folder", &mount.folder)));
        paths.extend(self.images.values().flat_map(|image| &image.warm_up).map(|file| ("warm-up", file)));
        for (key, path) in paths {
            if !is_inside(path) {
                return refuse(key, path, "it must be a relative path without `..`");
            }
        }
        for mount in &self.mounts {
            let inside = mount.guest.strip_prefix('/').is_some_and(is_inside);
            if !inside || is_under(&mount.guest, "/scratch") || is_under(&mount.guest, "/tmp") {
                return refuse("mounts.guest", &mount.guest, "it must be an absolute path outside /scratch and /tmp");
            }
        }
        Ok(())
    }

    /// The files beside the manifest that an install reads, its own left out.
    pub(crate) fn files_beside(&self) -> Vec<String> {
        let mut files: Vec<String> = self.images.values().flat_map(|image| image.warm_up.iter().cloned()).collect();
        files.extend(self.graft.clone());
        if let Source::Folder { folder } = &self.source {
            let extracted = self.extract.iter().map(Extract::source_file);
            let inside = |file: &str| if folder == "." { file.to_owned() } else { format!("{folder}/{file}") };
            files.extend(extracted.chain([self.module.as_str()]).map(inside));
        }
        files.sort();
        files.dedup();
        files
    }

    /// Whether scripts run on it. It is itself what runs otherwise, such as a filter of another runtime.
    pub fn runs_scripts(&self) -> bool {
        self.driver != Driver::Program
    }

    /// The image for a script that nobody chose one for: the first whose [`words`](ImageSpec::words) the text mentions,
    /// else the runtime's own.
    pub fn image_for(&self, source: &str) -> &str {
        let fits = |image: &&ImageSpec| image.words.iter().any(|word| mentions(source, word));
        self.images.iter().find(|(_, image)| fits(image)).map_or(&self.name, |(name, _)| name)
    }

    /// The images' names, the default one first.
    pub fn image_names(&self) -> impl Iterator<Item = &str> {
        let others = self.images.keys().filter(|name| **name != self.name);
        std::iter::once(self.name.as_str()).chain(others.map(String::as_str))
    }
}

fn is_under(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a name can be a runtime's or an image's, and so a folder's: lower-case letters, digits and `-`.
pub(crate) fn is_plain_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// Whether a path stays inside the folder it is relative to, on every system.
pub(crate) fn is_inside(path: &str) -> bool {
    !path.is_empty()
        && !path.contains(['\\', ':', '\0'])
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        name = "tiny"
        version = "1"
        driver = "command"
        module = "tiny.wasm"
        source = { folder = "." }
        [images.tiny]
    "#;

    fn error(change: impl Fn(&str) -> String) -> String {
        Manifest::parse("tiny.toml", &change(GOOD)).unwrap_err().to_string()
    }

    #[test]
    fn a_small_manifest_is_read() {
        let manifest = Manifest::parse("tiny.toml", GOOD).unwrap();
        assert_eq!(manifest.driver, Driver::Command);
        assert!(matches!(manifest.source, Source::Folder { .. }));
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_place() {
        assert!(error(|good| format!("nonsense = 1\n{good}")).contains("nonsense"));
    }

    #[test]
    fn names_and_paths_that_could_leave_their_folder_are_refused() {
        assert!(error(|good| good.replace("\"tiny\"", "\"../x\"")).contains("`name` is `../x`"));
        for path in ["../tiny.wasm", "/tiny.wasm", "a//b", "C:tiny.wasm", "a\\\\b", ""] {
            let error = error(|good| good.replace("tiny.wasm", path));
            assert!(error.contains("`module`"), "{path}: {error}");
        }
    }

    #[test]
    fn a_command_s_arguments_name_the_script_once() {
        let with = |arguments: &str| {
            Manifest::parse("tiny.toml", &GOOD.replace("module =", &format!("arguments = {arguments}\nmodule =")))
        };
        assert_eq!(Manifest::parse("tiny.toml", GOOD).unwrap().arguments, ["{script}"]);
        assert_eq!(with(r#"["lua", "{script}"]"#).unwrap().arguments, ["lua", "{script}"]);
        for wrong in ["[]", r#"["lua"]"#, r#"["{script}", "{script}"]"#, r#"["a\u0000b", "{script}"]"#] {
            assert!(with(wrong).unwrap_err().to_string().contains("`arguments`"), "{wrong}");
        }
        let error = error(|good| good.replace("\"command\"", "\"turn\"\narguments = [\"a\", \"{script}\"]"));
        assert!(error.contains("only the driver `command`"), "{error}");
    }

    #[test]
    fn the_default_image_must_be_there() {
        assert!(error(|good| good.replace("[images.tiny]", "[images.other]")).contains("the runtime's own name"));
    }

    #[test]
    fn a_mount_over_the_call_s_own_directories_is_refused() {
        for guest in ["/scratch", "/tmp/x", "relative", "/a/../tmp"] {
            let error = error(|good| format!("{good}\n[[mounts]]\nfolder = \"lib\"\nguest = \"{guest}\""));
            assert!(error.contains("mounts.guest"), "{guest}: {error}");
        }
    }
}

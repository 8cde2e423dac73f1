//! The runtimes that can be installed: the built-in ones, and any folder with a `runtime.toml`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Home, Manifest, ManifestError, digest};

/// A manifest and the files that lie beside it.
#[derive(Debug, Clone)]
pub struct Recipe {
    /// What the runtime is made of.
    pub manifest: Manifest,
    text: String,
    files: Files,
}

#[derive(Debug, Clone)]
enum Files {
    BuiltIn(&'static [BuiltInFile]),
    Folder(PathBuf),
    Program(Arc<[u8]>),
}

/// A file's name and content.
type BuiltInFile = (&'static str, &'static [u8]);

/// Where the files beside a manifest are.
pub(crate) enum Beside<'a> {
    /// In this program.
    BuiltIn(&'static [BuiltInFile]),
    /// In the manifest's folder.
    Folder(&'a Path),
    /// There is but the module.
    Program(&'a Arc<[u8]>),
}

/// The content of a file. What is none, such as a pipe or a device, may never end.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file"));
    }
    fs::read(path)
}

/// A runtime that cannot be found or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogError {
    /// No runtime has the name.
    #[error("there is no runtime named `{name}`; there are: {known}")]
    NoSuchRuntime {
        /// The name asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// No runtime takes the extension.
    #[error("no runtime runs files {}; known endings: {known}; or name one with --runtime", ending(extension))]
    NoSuchExtension {
        /// The extension asked for, with its dot; empty for none.
        extension: String,
        /// The extensions there are.
        known: String,
    },
    /// A name, an image or an extension belongs to another runtime already.
    #[error("`{value}` is taken by the runtime `{by}`: choose another name, image or extension")]
    Taken {
        /// What both have.
        value: String,
        /// The runtime that had it first.
        by: String,
    },
    /// A file beside the manifest cannot be read.
    #[error("the runtime file `{}` cannot be read: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The manifest is wrong.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
}

impl Recipe {
    fn built_in(text: &'static str, files: &'static [BuiltInFile]) -> Recipe {
        let manifest = Manifest::parse("built in", text).expect("the built-in manifests are tested");
        Recipe { manifest, text: text.to_owned(), files: Files::BuiltIn(files) }
    }

    /// The runtime whose `runtime.toml` lies in `folder`.
    pub fn from_folder(folder: &Path) -> Result<Recipe, CatalogError> {
        let path = folder.join("runtime.toml");
        let text = read_file(&path).and_then(|text| String::from_utf8(text).map_err(io::Error::other));
        let text = text.map_err(|error| CatalogError::File { path: path.clone(), error })?;
        let manifest = Manifest::parse(&path.display().to_string(), &text)?;
        Ok(Recipe { manifest, text, files: Files::Folder(folder.to_owned()) })
    }

    /// A WASI program as a runtime of its own, which has no name but its digest: `wasm-` and 32 digits.
    pub(crate) fn program(module: &[u8]) -> Recipe {
        let name = format!("wasm-{}", &digest::of_bytes(module)[..32]);
        let text = format!(
            "name = '{name}'\nversion = '-'\ndriver = 'program'\ndefault-script-name = 'program.wasm'\n\
             module = 'program.wasm'\nsource.folder = '.'\n[images.{name}]\n"
        );
        let manifest = Manifest::parse("of a program", &text).expect("every digest makes a sound manifest");
        Recipe { manifest, text, files: Files::Program(module.into()) }
    }

    /// The text of a file beside the manifest.
    pub(crate) fn text(&self, name: &str) -> Result<String, CatalogError> {
        let failed = |error| CatalogError::File { path: name.into(), error };
        String::from_utf8(self.content(name)?)
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))
    }

    /// The content of a file beside the manifest.
    pub(crate) fn content(&self, name: &str) -> Result<Vec<u8>, CatalogError> {
        match &self.files {
            Files::BuiltIn(files) => {
                let found = files.iter().find(|(known, _)| *known == name);
                let missing = || CatalogError::File { path: name.into(), error: io::ErrorKind::NotFound.into() };
                found.map(|(_, content)| content.to_vec()).ok_or_else(missing)
            }
            Files::Program(module) => Ok(module.to_vec()),
            Files::Folder(folder) => {
                let path = folder.join(name);
                read_file(&path).map_err(|error| CatalogError::File { path, error })
            }
        }
    }

    /// Where the files beside the manifest are.
    pub(crate) fn beside(&self) -> Beside<'_> {
        match &self.files {
            Files::BuiltIn(files) => Beside::BuiltIn(files),
            Files::Folder(folder) => Beside::Folder(folder),
            Files::Program(module) => Beside::Program(module),
        }
    }

    /// The digest of everything that decides what an install makes: the manifest, the warm-up files, the graft, and, for
    /// a source in a folder, the module.
    pub(crate) fn digest(&self) -> Result<String, CatalogError> {
        let mut parts = vec![digest::of_bytes(self.text.as_bytes())];
        for image in self.manifest.images.values() {
            for file in &image.warm_up {
                parts.push(digest::of_bytes(&self.content(file)?));
            }
        }
        if let Some(graft) = &self.manifest.graft {
            parts.push(digest::of_bytes(&self.content(graft)?));
        }
        if let super::Source::Folder { folder } = &self.manifest.source {
            let module = match folder.as_str() {
                "." => self.manifest.module.clone(),
                folder => format!("{folder}/{}", self.manifest.module),
            };
            parts.push(digest::of_bytes(&self.content(&module)?));
        }
        Ok(digest::of_bytes(parts.join("\n").as_bytes()))
    }
}

/// The runtimes that can be installed, by name.
#[derive(Debug, Clone)]
pub struct Catalog {
    recipes: BTreeMap<String, Recipe>,
}

impl Catalog {
    /// The runtimes that come with this crate.
    pub fn built_in() -> Catalog {
        let python = Recipe::built_in(
            include_str!("../../runtimes/python/runtime.toml"),
            &[
                ("start.py", include_bytes!("../../runtimes/python/start.py")),
                ("wasi.py", include_bytes!("../../runtimes/python/wasi.py")),
                ("warm.py", include_bytes!("../../runtimes/python/warm.py")),
                ("warm-data.py", include_bytes!("../../runtimes/python/warm-data.py")),
                ("boot.py", include_bytes!("../../runtimes/python/boot.py")),
                ("ending.py", include_bytes!("../../runtimes/python/ending.py")),
                ("seal.py", include_bytes!("../../runtimes/python/seal.py")),
            ],
        );
        let sh = Recipe::built_in(
            include_str!("../../runtimes/sh/runtime.toml"),
            &[
                ("warm.sh", include_bytes!("../../runtimes/sh/warm.sh")),
                // Built from `runtimes/sh/guest` by this crate's build script.
                ("ampoule_sh.wasm", include_bytes!(concat!(env!("OUT_DIR"), "/ampoule_sh.wasm"))),
            ],
        );

        let javascript = Recipe::built_in(
            include_str!("../../runtimes/javascript/runtime.toml"),
            &[
                ("entry.wat", include_bytes!("../../runtimes/javascript/entry.wat")),
                ("base.js", include_bytes!("../../runtimes/javascript/base.js")),
                ("errors.js", include_bytes!("../../runtimes/javascript/errors.js")),
                ("words.js", include_bytes!("../../runtimes/javascript/words.js")),
                ("inspect.js", include_bytes!("../../runtimes/javascript/inspect.js")),
                ("collections.js", include_bytes!("../../runtimes/javascript/collections.js")),
                ("events.js", include_bytes!("../../runtimes/javascript/events.js")),
                ("loop.js", include_bytes!("../../runtimes/javascript/loop.js")),
                ("encoding.js", include_bytes!("../../runtimes/javascript/encoding.js")),
                ("buffer.js", include_bytes!("../../runtimes/javascript/buffer.js")),
                ("web.js", include_bytes!("../../runtimes/javascript/web.js")),
                ("random.js", include_bytes!("../../runtimes/javascript/random.js")),
                ("output.js", include_bytes!("../../runtimes/javascript/output.js")),
                ("console.js", include_bytes!("../../runtimes/javascript/console.js")),
                ("locales.js", include_bytes!("../../runtimes/javascript/locales.js")),
                ("intl.js", include_bytes!("../../runtimes/javascript/intl.js")),
                ("path.js", include_bytes!("../../runtimes/javascript/path.js")),
                ("url.js", include_bytes!("../../runtimes/javascript/url.js")),
                ("stream.js", include_bytes!("../../runtimes/javascript/stream.js")),
                ("util.js", include_bytes!("../../runtimes/javascript/util.js")),
                ("fs.js", include_bytes!("../../runtimes/javascript/fs.js")),
                ("process.js", include_bytes!("../../runtimes/javascript/process.js")),
                ("crypto.js", include_bytes!("../../runtimes/javascript/crypto.js")),
                ("assert.js", include_bytes!("../../runtimes/javascript/assert.js")),
                ("readline.js", include_bytes!("../../runtimes/javascript/readline.js")),
                ("others.js", include_bytes!("../../runtimes/javascript/others.js")),
                ("deno.js", include_bytes!("../../runtimes/javascript/deno.js")),
                ("sources.js", include_bytes!("../../runtimes/javascript/sources.js")),
                ("modules.js", include_bytes!("../../runtimes/javascript/modules.js")),
                ("call.js", include_bytes!("../../runtimes/javascript/call.js")),
                ("seal.js", include_bytes!("../../runtimes/javascript/seal.js")),
            ],
        );
        let typescript = Recipe::built_in(
            include_str!("../../runtimes/typescript/runtime.toml"),
            // Built from `runtimes/typescript/guest` likewise.
            &[("ampoule_typescript.wasm", include_bytes!(concat!(env!("OUT_DIR"), "/ampoule_typescript.wasm")))],
        );
        Catalog {
            recipes: [python, sh, javascript, typescript]
                .into_iter()
                .map(|recipe| (recipe.manifest.name.clone(), recipe))
                .collect(),
        }
    }

    /// The runtimes that come with this crate, and those that the user has added to `home`. One that cannot be read, or
    /// that has something of a built-in one, is left out with a warning.
    pub fn of(home: &Home) -> Catalog {
        let mut catalog = Catalog::built_in();
        let mut folders: Vec<_> = fs::read_dir(home.added()).into_iter().flatten().flatten().collect();
        folders.sort_by_key(fs::DirEntry::file_name);
        for folder in folders {
            match Recipe::from_folder(&folder.path()).and_then(|recipe| catalog.clone().with(recipe)) {
                Ok(with) => catalog = with,
                Err(error) => {
                    let name = folder.file_name();
                    tracing::warn!("the runtime `{}`, which was added, is left out: {error}", name.display());
                }
            }
        }
        catalog
    }

    /// The same catalog with one more runtime. Its name, images and extensions must be its own.
    pub fn with(mut self, recipe: Recipe) -> Result<Catalog, CatalogError> {
        let manifest = &recipe.manifest;
        for known in self.recipes.values().map(|known| &known.manifest) {
            let image = manifest.images.keys().find(|image| known.images.contains_key(*image));
            let extension = manifest.extensions.iter().find(|extension| known.extensions.contains(extension));
            let shared = (known.name == manifest.name).then_some(&manifest.name).or(image).or(extension);
            if let Some(shared) = shared {
                return Err(CatalogError::Taken { value: shared.clone(), by: known.name.clone() });
            }
        }
        self.recipes.insert(manifest.name.clone(), recipe);
        Ok(self)
    }

    /// All runtimes, in the order of their names.
    pub fn recipes(&self) -> impl Iterator<Item = &Recipe> {
        self.recipes.values()
    }

    /// The runtime that has an image (or is itself) of this name.
    pub fn by_image(&self, image: &str) -> Result<&Recipe, CatalogError> {
        let found = self.recipes.values().find(|recipe| recipe.manifest.images.contains_key(image));
        found.ok_or_else(|| self.no_such(image, []))
    }

    /// There is no runtime of this name. Those that there are run scripts, and some may be no recipe's.
    pub(crate) fn no_such(&self, name: &str, others: impl IntoIterator<Item = String>) -> CatalogError {
        let manifests = self.recipes.values().map(|recipe| &recipe.manifest).filter(|manifest| manifest.runs_scripts());
        let images = manifests.flat_map(|manifest| manifest.image_names().map(str::to_owned));
        CatalogError::NoSuchRuntime { name: name.to_owned(), known: list(images.chain(others)) }
    }

    /// The runtime that runs the script at `path`, by the path's extension, whatever its case.
    pub fn by_extension(&self, path: &Path) -> Result<&Recipe, CatalogError> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        let takes = |recipe: &&Recipe| {
            extension.as_ref().is_some_and(|extension| recipe.manifest.extensions.contains(extension))
        };
        self.recipes.values().find(takes).ok_or_else(|| CatalogError::NoSuchExtension {
            extension: extension.map_or_else(String::new, |extension| format!(".{extension}")),
            known: list(self.recipes.values().flat_map(|recipe| &recipe.manifest.extensions).map(|e| format!(".{e}"))),
        })
    }
}

fn ending(extension: &str) -> String {
    if extension.is_empty() { "with no extension".to_owned() } else { format!("that end in `{extension}`") }
}

fn list(names: impl Iterator<Item = String>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_manifests_are_sound_and_their_files_are_there() {
        for recipe in Catalog::built_in().recipes() {
            recipe.digest().unwrap();
        }
    }

    #[test]
    fn a_runtime_is_found_by_extension_whatever_its_case() {
        let catalog = Catalog::built_in();
        assert_eq!(catalog.by_extension(Path::new("a/B.PY")).unwrap().manifest.name, "python");
        let error = catalog.by_extension(Path::new("a.rb")).unwrap_err().to_string();
        assert!(error.contains("`.rb`") && error.contains(".py"), "{error}");
        assert!(catalog.by_extension(Path::new("Makefile")).unwrap_err().to_string().contains("no extension"));
    }

    #[test]
    fn a_runtime_can_be_added_unless_something_of_it_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let recipe = |name: &str, extension: &str, image: &str| {
            let text = format!(
                "name = '{name}'\nversion = '1'\nextensions = ['{extension}']\ndriver = 'command'\n\
                 module = 'm.wasm'\n[source]\nfolder = '.'\n[images.{name}]\n[images.{image}]\n"
            );
            fs::write(folder.path().join("runtime.toml"), text).unwrap();
            Recipe::from_folder(folder.path()).unwrap()
        };
        let catalog = Catalog::built_in().with(recipe("own", "own", "own-large")).unwrap();
        assert_eq!(catalog.by_image("own-large").unwrap().manifest.name, "own");
        for (name, extension, image) in [("own", "a", "b"), ("a", "py", "b"), ("a", "b", "python-data")] {
            let error = catalog.clone().with(recipe(name, extension, image)).unwrap_err();
            assert!(matches!(error, CatalogError::Taken { .. }), "{error}");
        }
    }

    #[test]
    fn an_image_is_found_with_its_runtime() {
        let catalog = Catalog::built_in();
        assert_eq!(catalog.by_image("python-data").unwrap().manifest.name, "python");
        assert!(catalog.by_image("ruby").unwrap_err().to_string().contains("python-data"));
    }
}

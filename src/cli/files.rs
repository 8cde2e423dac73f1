//! The files a script is given: those named with `--file`, and the sources beside it that it mentions.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ampoule::{InputFile, mentions};
use anyhow::{Context, bail, ensure};

use super::imports::imports;

/// Files that are given to a script, at most.
const FILES_AT_MOST: usize = 1000;
/// Their bytes, at most.
const BYTES_AT_MOST: u64 = 64 << 20;

/// Files on their way into a script's directory.
#[derive(Default)]
pub struct Files {
    files: Vec<InputFile>,
    paths: BTreeSet<String>,
    bytes: u64,
}

/// A module that may be imported: a source file, a folder that is a package, or one whose files are named by path.
struct Candidate {
    name: String,
    path: PathBuf,
    is_folder: bool,
}

/// The files that make a folder a module of its own name, without their endings.
const PACKAGE_MARKS: [&str; 2] = ["__init__", "index"];

impl Files {
    pub fn into_inner(self) -> Vec<InputFile> {
        self.files
    }

    /// A file, or a folder with all that is in it, under its own name. Links inside the folder are left out.
    pub fn give(&mut self, path: &Path) -> anyhow::Result<()> {
        let shown = path.display();
        let metadata = fs::metadata(path).with_context(|| format!("--file `{shown}`"))?;
        let name = path.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
        let name = name.with_context(|| format!("--file `{shown}` has no name that a script could use"))?;
        if metadata.is_dir() {
            ensure!(!self.has(&name), "--file `{shown}`: the script is given another `{name}` already; rename one");
            return self.add_folder(path, &name, &|_| true);
        }
        ensure!(metadata.is_file(), "--file `{shown}` is neither a file nor a folder");
        ensure!(!self.has(&name), "--file `{shown}`: the script is given another `{name}` already; rename one");
        self.add(path, name)
    }

    /// Whether there is a file or a folder of this name.
    fn has(&self, name: &str) -> bool {
        self.paths
            .iter()
            .any(|path| path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }

    /// The modules in the script's folder that its text mentions, or the text of another that is given.
    ///
    /// Every folder of scripts has some that do not belong to this one. A script that makes up the names of its
    /// modules as it runs needs `--file`.
    pub fn give_mentioned(&mut self, script: &Path, text: &str, extensions: &[String]) -> anyhow::Result<()> {
        let folder = match script.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut candidates = candidates(folder, script.file_name(), extensions)?;
        let is_javascript = extensions.iter().any(|extension| extension == "js");
        let is_meant = |text: &str, name: &str| {
            if is_javascript { imports(text, name, extensions) } else { mentions(text, name) }
        };
        let mut texts = vec![text.to_owned()];
        while let Some(text) = texts.pop() {
            let (mentioned, others) = candidates.into_iter().partition(|candidate| is_meant(&text, &candidate.name));
            candidates = others;
            for Candidate { path, is_folder, .. } in mentioned {
                let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
                let first = self.files.len();
                if is_folder {
                    self.add_folder(&path, name, &|path| is_source(path, extensions))?;
                } else {
                    self.add(&path, name.to_owned())?;
                }
                texts
                    .extend(self.files[first..].iter().map(|file| String::from_utf8_lossy(&file.content).into_owned()));
            }
        }
        Ok(())
    }

    fn add_folder(&mut self, folder: &Path, name: &str, wanted: &dyn Fn(&Path) -> bool) -> anyhow::Result<()> {
        let mut folders = vec![(folder.to_owned(), name.to_owned())];
        while let Some((folder, prefix)) = folders.pop() {
            let entries = fs::read_dir(&folder).with_context(|| format!("the folder `{}`", folder.display()))?;
            for entry in entries {
                let entry = entry?;
                // A name that is no text cannot be given to the guest.
                let Ok(name) = entry.file_name().into_string() else { continue };
                let (path, kind) = (entry.path(), entry.file_type()?);
                let guest = format!("{prefix}/{name}");
                if kind.is_dir() {
                    folders.push((path, guest));
                } else if kind.is_file() && wanted(&path) {
                    self.add(&path, guest)?;
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, guest: String) -> anyhow::Result<()> {
        if !self.paths.insert(guest.clone()) {
            return Ok(());
        }
        let shown = path.display();
        let mut content = Vec::new();
        // No more of it than tells that it is too much.
        let read = open(path).and_then(|file| file.take(BYTES_AT_MOST - self.bytes + 1).read_to_end(&mut content));
        self.bytes += read.with_context(|| format!("the script's file `{shown}`"))? as u64;
        if self.files.len() == FILES_AT_MOST || self.bytes > BYTES_AT_MOST {
            bail!(
                "the files given to the script are more than {FILES_AT_MOST} or than {BYTES_AT_MOST} bytes (at \
                 `{shown}`): name fewer with --file, or leave those beside the script out with --isolated"
            );
        }
        self.files.push(InputFile { path: guest, content: content.into() });
        Ok(())
    }
}

/// Opens a file to read it, and does not wait for one that has nothing to give yet, as some of the system's have.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    options.open(path)
}

fn candidates(
    folder: &Path,
    script: Option<&std::ffi::OsStr>,
    extensions: &[String],
) -> anyhow::Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("the script's folder `{}`", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()).map(str::to_owned) else { continue };
        let kind = entry.file_type()?;
        let is_package = || {
            let marks = PACKAGE_MARKS.iter().flat_map(|mark| extensions.iter().map(move |e| format!("{mark}.{e}")));
            marks.into_iter().any(|mark| path.join(mark).is_file())
        };
        if kind.is_dir() {
            // Without such a file a path has to lead into it: `./name/part.js`.
            let name = if is_package() { name } else { format!("./{name}/") };
            candidates.push(Candidate { name, path, is_folder: true });
        } else if kind.is_file() && is_source(&path, extensions) && Some(entry.file_name().as_os_str()) != script {
            candidates.push(Candidate { name, path, is_folder: false });
        }
    }
    Ok(candidates)
}

fn is_source(path: &Path, extensions: &[String]) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
    extension.is_some_and(|extension| extensions.contains(&extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_script_and_its_modules_mention_is_given_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("main.py", "import one");
        write("one.py", "from pack import part");
        write("pack/__init__.py", "");
        write("pack/part/deep.py", "import two");
        write("pack/data.csv", "no source");
        write("two.py", "");
        write("other.py", "import one");
        let mut files = Files::default();
        files.give_mentioned(&folder.path().join("main.py"), "import one", &["py".to_owned()]).unwrap();
        let mut paths: Vec<String> = files.into_inner().into_iter().map(|file| file.path).collect();
        paths.sort();
        assert_eq!(paths, ["one.py", "pack/__init__.py", "pack/part/deep.py", "two.py"]);
    }

    #[test]
    fn folders_that_paths_lead_into_are_given_and_data_with_them() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("lib/part.mjs", "import data from '../data.json' with { type: 'json' };"),
            ("lib/readme.md", ""),
            ("data.json", "{}"),
            ("pack/index.js", ""),
            ("other/x.js", ""),
            ("word.js", ""),
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let text = "import './lib/part.mjs'; require('./pack'); other(); console.log('word');";
        let mut files = Files::default();
        let endings = ["js", "mjs", "json"].map(str::to_owned);
        files.give_mentioned(&folder.path().join("main.js"), text, &endings).unwrap();
        let mut paths: Vec<String> = files.into_inner().into_iter().map(|file| file.path).collect();
        paths.sort();
        assert_eq!(paths, ["data.json", "lib/part.mjs", "pack/index.js"]);
    }

    #[test]
    fn a_folder_that_is_given_comes_with_all_that_is_in_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("data/sub")).unwrap();
        fs::write(folder.path().join("data/sub/a.csv"), "1").unwrap();
        let mut files = Files::default();
        files.give(&folder.path().join("data")).unwrap();
        assert_eq!(files.into_inner()[0].path, "data/sub/a.csv");
        assert!(Files::default().give(&folder.path().join("none")).is_err());
    }
}

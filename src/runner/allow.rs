//! The allow-list: what a job may name, and the images behind each name.

use std::collections::BTreeMap;
use std::fmt;

use crate::{InstallError, Installer, Manifest, Recipe, State};

/// For each value that a job may name, the image or images that run it.
#[derive(Debug, Clone, Default)]
pub struct AllowList(BTreeMap<String, Images>);

#[derive(Debug, Clone)]
enum Images {
    /// This image, whatever the script says.
    One(String),
    /// An installed runtime: the image that holds what the script mentions, else the runtime's own.
    Runtime(Box<Manifest>),
}

impl AllowList {
    /// Every runtime of the catalog that is installed and ready, by its name. Those that run no scripts, such as the
    /// filters of others, are left out.
    pub fn installed(installer: &Installer) -> Result<AllowList, InstallError> {
        let mut allowed = AllowList::default();
        let runs_scripts = |recipe: &&Recipe| recipe.manifest.runs_scripts();
        for recipe in installer.catalog().recipes().filter(runs_scripts) {
            let name = &recipe.manifest.name;
            if let State::Ready = installer.state(name)? {
                allowed.0.insert(name.clone(), Images::Runtime(Box::new(recipe.manifest.clone())));
            }
        }
        Ok(allowed)
    }

    /// These values, each for one installed image or, where the image is a runtime's own, for that runtime.
    pub fn named(installer: &Installer, values: &BTreeMap<String, String>) -> Result<AllowList, InstallError> {
        let mut allowed = AllowList::default();
        for (value, image) in values {
            let recipe = installer.recipe(image).ok().filter(|recipe| recipe.manifest.name == *image);
            let images = match recipe {
                Some(recipe) => Images::Runtime(Box::new(recipe.manifest.clone())),
                None => Images::One(image.clone()),
            };
            allowed.0.insert(value.clone(), images);
        }
        Ok(allowed)
    }

    /// The image for this value and script. `None`: the value is not on the list.
    pub fn image(&self, value: &str, source: &str) -> Option<&str> {
        self.0.get(value).map(|images| match images {
            Images::One(image) => image.as_str(),
            Images::Runtime(manifest) => manifest.image_for(source),
        })
    }

    /// Whether there is nothing on it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values in order, each with its images.
    pub fn entries(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        self.0.iter().map(|(value, images)| (value.as_str(), images.names()))
    }

    /// The manifest behind a value, where that is a runtime.
    pub fn manifest(&self, value: &str) -> Option<&Manifest> {
        match self.0.get(value)? {
            Images::One(_) => None,
            Images::Runtime(manifest) => Some(manifest),
        }
    }

    /// The images of all values.
    pub(super) fn images(&self) -> impl Iterator<Item = &str> {
        self.0.values().flat_map(Images::names)
    }
}

impl Images {
    fn names(&self) -> Vec<&str> {
        match self {
            Images::One(image) => vec![image],
            Images::Runtime(manifest) => manifest.image_names().collect(),
        }
    }
}

/// The values, for messages.
impl fmt::Display for AllowList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing");
        }
        for (index, value) in self.0.keys().enumerate() {
            write!(f, "{}{value}", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

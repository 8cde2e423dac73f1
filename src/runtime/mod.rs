//! From a manifest to something that can be instantiated.
//!
//! [`Manifest`] says what a runtime is made of and [`Catalog`] which ones there are; [`Home`] is where installed ones
//! lie, [`Record`](record::Record) what belongs together there; [`split`](split::split) takes a module apart into code
//! and data; [`Program`] is an image loaded into an engine.

mod bulk;
mod catalog;
pub(crate) mod digest;
pub(crate) mod engine;
pub(crate) mod graft;
mod home;
mod manifest;
mod program;
pub(crate) mod record;
pub(crate) mod split;
mod transform;
mod words;

pub(crate) use catalog::Beside;
pub use catalog::{Catalog, CatalogError, Recipe};
pub use graft::GraftError;
pub use home::{Home, HomeError};
pub(crate) use home::{HomeLock, create_private_dir};
pub use manifest::{Driver, Extract, ImageSpec, Manifest, ManifestError, Mount, Source};
pub(crate) use manifest::{is_inside, is_plain_name};
pub use program::LoadError;
pub(crate) use program::{Loading, Program, find, read_globals};
pub use record::RecordError;
pub use split::SplitError;
pub use transform::Transform;
pub use words::mentions;

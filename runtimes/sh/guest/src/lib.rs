//! The POSIX shell that runs inside a sandbox: bashkit's interpreter over WASI's files and streams.
//!
//! The host calls [`reactor`]'s functions. Texts that it hands over while it makes an image prepare the [`shell`]; a
//! text that begins with a brace is a [`request`], a script to run. What a script sees as a file system is in
//! [`files`] and [`devices`]; its standard streams are in [`streams`] and [`input`]; [`commands`] has the utilities
//! that are ours because bashkit's hold their input in memory or stop early.

mod commands;
mod devices;
mod directory;
mod failure;
mod fifos;
mod files;
mod input;
mod limits;
mod links;
mod memory;
mod modes;
mod reactor;
mod request;
mod shell;
mod streams;

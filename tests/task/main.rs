//! Tasks: what each may do, what comes of them, and the folders that every runtime sees.
//!
//! Needs the runtimes: `ampoule runtime install python`, `sh` and `javascript`.

mod bad_input;
#[cfg(feature = "cli")]
mod command_line;
#[cfg(unix)]
mod exchanged;
mod folders;
mod permissions;
#[cfg(feature = "cli")]
#[path = "../program/mod.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod program;
mod rows;
mod streaming;
mod world;

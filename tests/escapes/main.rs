//! What a script could try to get out, or to reach what is another's: all of it must fail.
//!
//! Needs the runtimes: `ampoule runtime install python` and `ampoule runtime install sh`.

mod attempts;
mod descriptors;
mod given;
mod kept;
mod leftovers;
mod links;
mod memory;
mod mounts;
mod names;
mod outside;
mod paths;
mod roots;
mod streams;
#[path = "../support/mod.rs"]
mod support;
mod swapped;

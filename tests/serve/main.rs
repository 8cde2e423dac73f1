//! `ampoule serve`: the real program over a real socket on 127.0.0.1.
//!
//! Needs the runtimes: `ampoule runtime install python`, `sh` and `javascript`.

#[path = "../program/mod.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod program;
#[allow(dead_code, reason = "some is for Unix alone")]
mod server;

mod answers;
mod bad_input;
mod clients;
mod contract;
mod events;
mod files;
mod limits;
mod load;
mod observed;
mod openapi;
mod shutdown;
mod slow;
mod starting;
mod tokens;
mod wire;

//! Every executor holds the contract: ours with each runtime, in process and through the program, and a plain process
//! on the host's shell; executors that break one claim fail that claim and no other.
//!
//! Needs the runtimes: `ampoule runtime install python`, `sh` and `javascript`.

#[path = "../program/mod.rs"]
#[allow(dead_code, reason = "each test uses a part of it")]
mod program;

mod command_line;
mod in_process;
#[cfg(unix)]
mod native;
mod wrong;

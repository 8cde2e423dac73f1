//! The shell as a user knows it: what scripts do, and what bounds those that do too much.
//!
//! Needs the shell's module, built in `runtimes/sh/guest`: `AMPOULE_SH_WASM` is its path. Without it there is nothing
//! to test, and the tests say so.

mod bounds;
mod cases;
mod shell;

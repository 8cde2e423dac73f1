//! The shell as a user knows it: what scripts do, and what bounds those that do too much.
//!
//! Needs the runtime: `ampoule runtime install sh`.

mod bounds;
mod cases;
mod limits;
mod shell;

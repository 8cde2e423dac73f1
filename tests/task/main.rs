//! Tasks: what each may do, what comes of them, and the folders that every runtime sees.
//!
//! Needs the runtimes: `ampoule runtime install python`, `sh` and `javascript`.

mod folders;

//! What goes into an executor and what comes out.

mod outcome;
mod request;
mod wire;

pub(crate) use outcome::whole_characters;
pub use outcome::{Outcome, Status, TRAP_EXIT_CODE, Usage};
pub use request::{Origin, ScriptRequest, content_sha256};

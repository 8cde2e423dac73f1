//! WASI programs: what a file must be to be run as one.

use std::borrow::Cow;
use std::fmt::Write;

use wasmparser::{ExternalKind, Parser, Payload, Validator};

use crate::runtime::engine;
use crate::sandbox::unknown_imports;

/// What WebAssembly in binary form begins with.
const MAGIC: &[u8] = b"\0asm";

/// The largest program that is taken: 64 MiB.
pub const PROGRAM_BYTES: usize = 64 << 20;

/// The longest text form of a program that is taken: 2 MiB. Text takes its reader a hundred times its own length.
pub const TEXT_BYTES: usize = 2 << 20;

/// What is shown of a mistake in a program's text, which may have it in a line without end.
const SHOWN_OF_A_MISTAKE: usize = 1000;

/// The memory that a program may begin with, after its start function if it has one: 1 GiB. What it may have while it
/// runs is the call's limit.
pub(super) const INITIAL_MEMORY_BYTES: u64 = 1 << 30;

/// Why a file is no program that can be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// It is too large.
    #[error("it holds {bytes} bytes, but a program may hold {PROGRAM_BYTES} at most")]
    TooLarge {
        /// How large it is.
        bytes: u64,
    },
    /// It is something else.
    #[error("it is no WebAssembly: it begins with {0}, not with \\0asm")]
    NotWebAssembly(String),
    /// Its text is too long.
    #[error(
        "its text holds {bytes} bytes, but text may hold {TEXT_BYTES} at most: make it binary first, with wat2wasm"
    )]
    TextTooLong {
        /// How long it is.
        bytes: u64,
    },
    /// Its text is none that WebAssembly has.
    #[error("{0}")]
    Text(String),
    /// A component, which is another format.
    #[error(
        "it is a WebAssembly component (WASI preview 2), and only modules of preview 1 are run: build it for \
         wasm32-wasip1"
    )]
    Component,
    /// It has no entry.
    #[error(
        "it exports no function `_start` without parameters and results, so it is a library or a program for another \
         host: build it as a WASI command (wasm32-wasip1)"
    )]
    NoStart,
    /// It wants what there is not.
    #[error("it imports what is not there in this sandbox, which offers WASI preview 1: {}", list(imports))]
    Imports {
        /// The first of them, as `module.name`.
        imports: Vec<String>,
    },
    /// It begins with too much memory.
    #[error("it begins with {bytes} bytes of memory, but a program may begin with {INITIAL_MEMORY_BYTES} at most")]
    Memory {
        /// How much it is.
        bytes: u64,
    },
    /// It is damaged.
    #[error("it is not valid: {0}")]
    Invalid(wasmparser::BinaryReaderError),
    /// The engine refused.
    #[error("{0:#}")]
    Engine(wasmtime::Error),
}

impl From<wasmparser::BinaryReaderError> for ProgramError {
    fn from(error: wasmparser::BinaryReaderError) -> ProgramError {
        ProgramError::Invalid(error)
    }
}

fn list(imports: &[String]) -> String {
    let mut text = imports.join(", ");
    if imports.len() == crate::sandbox::IMPORTS_LISTED {
        let _ = write!(text, " and perhaps more");
    }
    text
}

/// A program in binary form, from that or from text (`.wat`).
pub fn assembled(file: &[u8]) -> Result<Cow<'_, [u8]>, ProgramError> {
    if file.starts_with(MAGIC) {
        return Ok(file.into());
    }
    if file.len() > TEXT_BYTES {
        return Err(ProgramError::TextTooLong { bytes: file.len() as u64 });
    }
    wat::parse_bytes(file).map_err(|error| {
        let mut shown = error.to_string();
        if let Some((end, _)) = shown.char_indices().nth(SHOWN_OF_A_MISTAKE) {
            shown.truncate(end);
            shown.push('…');
        }
        ProgramError::Text(shown)
    })
}

/// Checks what can be checked without compiling the program.
pub(super) fn check(module: &[u8]) -> Result<(), ProgramError> {
    const COMPONENT_LAYER: &[u8] = &[1, 0];
    if module.len() > PROGRAM_BYTES {
        return Err(ProgramError::TooLarge { bytes: module.len() as u64 });
    }
    if !module.starts_with(MAGIC) {
        let beginning = &module[..module.len().min(MAGIC.len())];
        return Err(ProgramError::NotWebAssembly(match beginning {
            [] => "nothing".to_owned(),
            beginning => beginning.escape_ascii().to_string(),
        }));
    }
    if module.get(6..8) == Some(COMPONENT_LAYER) {
        return Err(ProgramError::Component);
    }
    let types = Validator::new_with_features(engine::features()).validate_all(module)?;
    let types = types.as_ref();
    let mut starts = false;
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::MemorySection(memories) => {
                for memory in memories {
                    let bytes = memory?.initial.saturating_mul(crate::runtime::split::WASM_PAGE);
                    if bytes > INITIAL_MEMORY_BYTES {
                        return Err(ProgramError::Memory { bytes });
                    }
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports {
                    let export = export?;
                    if export.name == "_start" && export.kind == ExternalKind::Func {
                        let ty = types[types.core_function_at(export.index)].unwrap_func();
                        starts = ty.params().is_empty() && ty.results().is_empty();
                    }
                }
            }
            _ => {}
        }
    }
    if !starts {
        return Err(ProgramError::NoStart);
    }
    let imports = unknown_imports(module).map_err(ProgramError::Engine)?;
    if imports.is_empty() { Ok(()) } else { Err(ProgramError::Imports { imports }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_taken_up_to_its_length_and_refused_one_byte_over() {
        let text = |bytes: usize| ["(module)", &" ".repeat(bytes - "(module)".len())].concat().into_bytes();
        assert!(assembled(&text(TEXT_BYTES)).unwrap().starts_with(MAGIC));
        let error = assembled(&text(TEXT_BYTES + 1)).unwrap_err().to_string();
        assert!(error.contains("2097153 bytes") && error.contains("wat2wasm"), "{error}");
        // Binary form has a bound of its own.
        assert_eq!(assembled(&[MAGIC, &[0; TEXT_BYTES]].concat()).unwrap().len(), MAGIC.len() + TEXT_BYTES);
    }

    #[test]
    fn of_a_mistake_no_more_is_shown_than_helps() {
        let error = assembled("(".repeat(1 << 20).as_bytes()).unwrap_err().to_string();
        assert!(error.len() < 4 * SHOWN_OF_A_MISTAKE, "{} bytes", error.len());
    }
}

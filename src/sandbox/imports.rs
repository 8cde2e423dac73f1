//! Which of a module's imports the sandbox has nothing for.

use wasm_encoder::{Module as Encoder, RawSection};
use wasmparser::{Parser, Payload, Validator};
use wasmtime::{ExternType, Linker, Module, UnknownImportError};

use super::guest::{Guest, link};
use crate::runtime::engine;

/// Imports that are named at most.
pub(crate) const IMPORTS_LISTED: usize = 20;

/// The imports that nothing here answers to, as `module.name`, the first [`IMPORTS_LISTED`] of them.
///
/// Only the types and the imports are given to the engine: nothing of the module's code is compiled.
pub(crate) fn unknown_imports(module: &[u8]) -> wasmtime::Result<Vec<String>> {
    let engine = engine::compiler()?;
    let stub = stub(module)?;
    Validator::new_with_features(engine::features()).validate_all(&stub)?;
    let module = Module::new(&engine, stub)?;
    let mut linker = Linker::<Guest>::new(&engine);
    link(&mut linker)?;
    let mut unknown = Vec::new();
    while unknown.len() < IMPORTS_LISTED {
        let error = match linker.instantiate_pre(&module) {
            Ok(_) => break,
            Err(error) => error,
        };
        let Some(import) = error.downcast_ref::<UnknownImportError>() else {
            // One that is there, but not of this type.
            return Err(error);
        };
        let (from, name) = (import.module().to_owned(), import.name().to_owned());
        unknown.push(format!("{from}.{name}"));
        let ExternType::Func(ty) = import.ty() else { break };
        linker.func_new(&from, &name, ty, |_, _, _| Ok(()))?;
    }
    Ok(unknown)
}

/// A module of the same types and imports, and nothing else.
fn stub(module: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let mut encoder = Encoder::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            payload @ (Payload::TypeSection(_) | Payload::ImportSection(_)) => {
                if let Some((id, range)) = payload.as_section() {
                    encoder.section(&RawSection { id, data: &module[range] });
                }
            }
            Payload::CodeSectionStart { .. } => break,
            _ => {}
        }
    }
    Ok(encoder.finish())
}

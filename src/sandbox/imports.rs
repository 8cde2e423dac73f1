//! Which of a module's imports the sandbox has nothing for.

use std::collections::HashSet;

use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{EntityType, ImportSection, Module as Encoder, TypeSection};
use wasmparser::{FuncType, Import, Parser, Payload, TypeRef};
use wasmtime::{ExternType, Linker, Module, UnknownImportError};

use super::guest::{Guest, link};
use crate::runtime::engine;

/// Imports that are named at most.
pub(crate) const IMPORTS_LISTED: usize = 20;

/// The imports that nothing here answers to, as `module.name`, the first [`IMPORTS_LISTED`] of them.
///
/// Only the imports and their types are given to the engine: nothing of the module's code is compiled. What is given is
/// a few imports at a time, because the engine compiles something for each type.
pub(crate) fn unknown_imports(module: &[u8]) -> wasmtime::Result<Vec<String>> {
    const AT_ONCE: usize = 100;
    let (types, mut imports) = types_and_imports(module)?;
    // The same import may be there a million times. Of those that are left, all but as many as there are functions here
    // are unknown or of another type, and the first of those end this.
    let mut seen = HashSet::new();
    imports.retain(|import| {
        let ty = match import.ty {
            TypeRef::Func(index) | TypeRef::FuncExact(index) => types.get(index as usize),
            _ => None,
        };
        seen.insert((import.module, import.name, ty))
    });
    let mut unknown = Vec::new();
    for some in imports.chunks(AT_ONCE) {
        unknown.extend(unknown_of(&stub(&types, some)?)?);
        if unknown.len() >= IMPORTS_LISTED {
            break;
        }
    }
    unknown.truncate(IMPORTS_LISTED);
    Ok(unknown)
}

fn unknown_of(stub: &[u8]) -> wasmtime::Result<Vec<String>> {
    let engine = engine::compiler()?;
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
        unknown.push(format!("{}.{}", shown(&from), shown(&name)));
        let ExternType::Func(ty) = import.ty() else { break };
        linker.func_new(&from, &name, ty, |_, _, _| Ok(()))?;
    }
    Ok(unknown)
}

/// A name that a stranger chose, for a person's eyes.
fn shown(name: &str) -> String {
    const CHARACTERS: usize = 60;
    let cut = name.chars().nth(CHARACTERS).is_some();
    let shown: String = name.chars().take(CHARACTERS).flat_map(char::escape_debug).collect();
    if cut { shown + "…" } else { shown }
}

/// The types of a module's functions, and its imports.
fn types_and_imports(module: &[u8]) -> wasmtime::Result<(Vec<FuncType>, Vec<Import<'_>>)> {
    let (mut types, mut imports) = (Vec::new(), Vec::new());
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::TypeSection(section) => {
                types = section.into_iter_err_on_gc_types().collect::<Result<_, _>>()?;
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    imports.push(import?);
                }
            }
            Payload::CodeSectionStart { .. } => break,
            _ => {}
        }
    }
    Ok((types, imports))
}

/// A module with these imports, their types, and nothing else.
fn stub(types: &[FuncType], imports: &[Import<'_>]) -> wasmtime::Result<Vec<u8>> {
    let mut wanted = TypeSection::new();
    let mut section = ImportSection::new();
    let mut same = RoundtripReencoder;
    for import in imports {
        let ty = match import.ty {
            TypeRef::Func(index) | TypeRef::FuncExact(index) => {
                let ty = types.get(index as usize);
                let ty = ty.ok_or_else(|| wasmtime::format_err!("an import is of a type that is not there"))?;
                let number = wanted.len();
                same.func_type(ty.clone()).map(|ty| wanted.ty().func_type(&ty))?;
                EntityType::Function(number)
            }
            other => same.entity_type(other)?,
        };
        section.import(import.module, import.name, ty);
    }
    let mut encoder = Encoder::new();
    encoder.section(&wanted).section(&section);
    Ok(encoder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_that_are_not_there_are_named_as_text() {
        let module = wat::parse_str(
            r#"(module
                (import "wasi_snapshot_preview1" "fd_close" (func (param i32) (result i32)))
                (import "env" "\1b[2J" (func (param i64)))
                (import "env" "memory" (memory 1)))"#,
        );
        assert_eq!(unknown_imports(&module.unwrap()).unwrap(), ["env.\\u{1b}[2J", "env.memory"]);
    }

    #[test]
    fn the_types_that_no_import_uses_cost_nothing() {
        let types = "(type (func (param i32 i64 f32)))".repeat(200_000);
        let module = wat::parse_str(format!("(module {types} (import \"a\" \"b\" (func (type 7))))")).unwrap();
        let start = std::time::Instant::now();
        assert_eq!(unknown_imports(&module).unwrap(), ["a.b"]);
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }

    #[test]
    fn of_very_many_imports_the_first_are_named() {
        let imports: String = (0..50_000).map(|n| format!("(import \"a\" \"{n}\" (func (param i32)))")).collect();
        let unknown = unknown_imports(&wat::parse_str(format!("(module {imports})")).unwrap()).unwrap();
        assert_eq!((unknown.len(), unknown[19].as_str()), (IMPORTS_LISTED, "a.19"));
    }

    #[test]
    fn an_import_that_is_repeated_is_looked_at_once() {
        let type_of = "(type (func (param i32) (result i32)))".repeat(100_000);
        let imports: String = (0..100_000)
            .map(|n| format!("(import \"wasi_snapshot_preview1\" \"fd_close\" (func (type {n})))"))
            .collect();
        let module = wat::parse_str(format!("(module {type_of} {imports})")).unwrap();
        let start = std::time::Instant::now();
        assert_eq!(unknown_imports(&module).unwrap(), [""; 0]);
        assert!(start.elapsed().as_secs() < 5, "{:?}", start.elapsed());
    }
}

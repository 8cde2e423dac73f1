//! Adding functions to a module that was built without them.
//!
//! A runtime whose module lacks what the host calls brings a small module of its own, the *graft*. It imports what it
//! needs from the module by name, exported or not, as `(import "module" "NAME" (func ...))` and
//! `(import "module" "memory" (memory 0))`. What it exports, the module exports as well; a function that it exports as
//! `replace:NAME` takes the place of the module's function of that name, wherever that is called from. It may have
//! globals, which become the module's; tables, memories, data and a start function it may not have.

use std::collections::HashMap;

use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{
    CodeSection, ExportKind, ExportSection, FunctionSection, GlobalSection, Module, RawSection, TypeSection,
};

use wasmparser::{
    CompositeInnerType, Export, ExternalKind, FuncType, FunctionBody, Global, KnownCustom, Name, Parser, Payload,
    TypeRef, Validator,
};

/// What a graft imports from.
const MODULE: &str = "module";

/// What the name begins with under which a graft exports a function to put in another's place.
const REPLACE: &str = "replace:";

/// Why a graft does not fit its module.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraftError {
    /// It is no WebAssembly text or module.
    #[error("it is not valid: {0}")]
    Text(String),
    /// It, or the module, is not valid WebAssembly.
    #[error("not a valid WebAssembly module: {0}")]
    Invalid(#[from] wasmparser::BinaryReaderError),
    /// It names a function that the module has under no name.
    #[error("the module has no function named `{0}`, neither exported nor in its name section")]
    NoSuchFunction(String),
    /// The module's function has another type.
    #[error("the module's function `{name}` is of the type {found}, not {wanted}")]
    OtherType {
        /// The function.
        name: String,
        /// Its type in the module.
        found: String,
        /// Its type in the graft.
        wanted: String,
    },
    /// Both export something under one name.
    #[error("the module exports `{0}` already")]
    Taken(String),
    /// It has what a graft may not have.
    #[error("it has {0}; it may have functions, globals and exports, and import from `module`")]
    Unsupported(String),
}

/// What is looked at in either module.
#[derive(Default)]
struct Survey<'a> {
    types: Vec<FuncType>,
    /// The type of each function, imported ones first.
    functions: Vec<u32>,
    imported_functions: Vec<&'a str>,
    globals: Vec<Global<'a>>,
    imported_globals: u32,
    exports: Vec<Export<'a>>,
    bodies: Vec<FunctionBody<'a>>,
    functions_by_name: HashMap<&'a str, u32>,
    /// Imports and sections that a graft may not have.
    foreign: Option<String>,
}

/// `module` with the functions of `graft`, which is WebAssembly in text or binary form.
pub(crate) fn graft(module: &[u8], graft: &[u8]) -> Result<Vec<u8>, GraftError> {
    let graft = wat::parse_bytes(graft).map_err(|error| GraftError::Text(error.to_string()))?;
    Validator::new_with_features(super::engine::features()).validate_all(&graft)?;
    let (stock, scion) = (survey(module)?, survey(&graft)?);
    if let Some(foreign) = scion.foreign {
        return Err(GraftError::Unsupported(foreign));
    }
    let plan = Plan::new(&stock, &scion)?;
    encode(module, &stock, &scion, plan)
}

impl Survey<'_> {
    fn function(&self, name: &str) -> Result<u32, GraftError> {
        let is_it = |export: &&Export<'_>| export.kind == ExternalKind::Func && export.name == name;
        let exported = self.exports.iter().find(is_it).map(|export| export.index);
        let found = exported.or_else(|| self.functions_by_name.get(name).copied());
        found.ok_or_else(|| GraftError::NoSuchFunction(name.to_owned()))
    }

    fn type_of(&self, function: u32) -> &FuncType {
        // Both modules are valid: their indices are inside.
        &self.types[self.functions[function as usize] as usize]
    }
}

fn survey(module: &[u8]) -> Result<Survey<'_>, GraftError> {
    let mut survey = Survey::default();
    let mut foreign = |what: &str| _ = survey.foreign.get_or_insert_with(|| what.to_owned());
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::TypeSection(types) => {
                for group in types {
                    for ty in group?.into_types() {
                        match ty.composite_type.inner {
                            CompositeInnerType::Func(ty) => survey.types.push(ty),
                            _ => return Err(GraftError::Unsupported("types that are not functions'".to_owned())),
                        }
                    }
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    let import = import?;
                    if import.module != MODULE {
                        foreign(&format!("an import from `{}`", import.module));
                    }
                    match import.ty {
                        TypeRef::Func(ty) => {
                            survey.functions.push(ty);
                            survey.imported_functions.push(import.name);
                        }
                        TypeRef::Memory(_) => {}
                        TypeRef::Global(_) => {
                            survey.imported_globals += 1;
                            foreign("an imported global");
                        }
                        _ => foreign("an import that is neither function nor memory"),
                    }
                }
            }
            Payload::FunctionSection(functions) => {
                for ty in functions {
                    survey.functions.push(ty?);
                }
            }
            Payload::GlobalSection(globals) => survey.globals = globals.into_iter().collect::<Result<_, _>>()?,
            Payload::ExportSection(exports) => survey.exports = exports.into_iter().collect::<Result<_, _>>()?,
            Payload::CodeSectionEntry(body) => survey.bodies.push(body),
            Payload::TableSection(_) => foreign("a table"),
            Payload::MemorySection(_) => foreign("a memory"),
            Payload::TagSection(_) => foreign("a tag"),
            Payload::ElementSection(_) => foreign("an element segment"),
            Payload::DataSection(_) => foreign("a data segment"),
            Payload::StartSection { .. } => foreign("a start function"),
            Payload::CustomSection(section) => {
                if let KnownCustom::Name(names) = section.as_known() {
                    // A damaged name section knows fewer functions; what is missing is said by name.
                    for name in names.into_iter().map_while(Result::ok) {
                        if let Name::Function(functions) = name {
                            let functions = functions.into_iter().map_while(Result::ok);
                            survey.functions_by_name.extend(functions.map(|naming| (naming.name, naming.index)));
                        }
                    }
                }
            }
            _ => {}
        }
    }
    Ok(survey)
}

/// Where everything of the graft goes.
struct Plan {
    /// The new index of each function of the graft.
    functions: Vec<u32>,
    /// The bodies that take another's place: the function's index in the module, and the body's number in the graft.
    replaced: HashMap<u32, usize>,
    /// The numbers of the bodies that are added.
    added: Vec<usize>,
    /// What is exported besides.
    exports: Vec<(String, ExportKind, u32)>,
    first_type: u32,
    first_global: u32,
}

impl Plan {
    fn new(stock: &Survey<'_>, scion: &Survey<'_>) -> Result<Plan, GraftError> {
        let fits = |name: &str, own: u32| {
            let index = stock.function(name)?;
            let (found, wanted) = (stock.type_of(index), scion.type_of(own));
            if found == wanted {
                return Ok(index);
            }
            Err(GraftError::OtherType { name: name.into(), found: found.to_string(), wanted: wanted.to_string() })
        };
        let mut functions = Vec::new();
        for (own, name) in scion.imported_functions.iter().enumerate() {
            functions.push(fits(name, own as u32)?);
        }
        let mut replacing = HashMap::new();
        for export in &scion.exports {
            if let Some(name) = export.name.strip_prefix(REPLACE) {
                replacing.insert(export.index, fits(name, export.index)?);
            }
        }
        let (mut replaced, mut added) = (HashMap::new(), Vec::new());
        for body in 0..scion.bodies.len() {
            match replacing.get(&(functions.len() as u32)) {
                Some(index) => {
                    replaced.insert(*index, body);
                    functions.push(*index);
                }
                None => {
                    functions.push((stock.functions.len() + added.len()) as u32);
                    added.push(body);
                }
            }
        }
        let first_global = stock.globals.len() as u32 + stock.imported_globals;
        let mut exports = Vec::new();
        for export in scion.exports.iter().filter(|export| !export.name.starts_with(REPLACE)) {
            let (kind, index) = match export.kind {
                ExternalKind::Func => (ExportKind::Func, functions[export.index as usize]),
                ExternalKind::Global => (ExportKind::Global, first_global + export.index),
                _ => return Err(GraftError::Unsupported(format!("the export `{}`", export.name))),
            };
            if stock.exports.iter().any(|taken| taken.name == export.name) {
                return Err(GraftError::Taken(export.name.to_owned()));
            }
            exports.push((export.name.to_owned(), kind, index));
        }
        let first_type = stock.types.len() as u32;
        Ok(Plan { functions, replaced, added, exports, first_type, first_global })
    }
}

/// Gives indices of the graft their meaning in the module.
impl Reencode for Plan {
    type Error = std::convert::Infallible;

    fn function_index(&mut self, index: u32) -> Result<u32, reencode::Error<Self::Error>> {
        Ok(self.functions[index as usize])
    }

    fn global_index(&mut self, index: u32) -> Result<u32, reencode::Error<Self::Error>> {
        Ok(self.first_global + index)
    }

    fn type_index(&mut self, index: u32) -> Result<u32, reencode::Error<Self::Error>> {
        Ok(self.first_type + index)
    }
}

fn encode(module: &[u8], stock: &Survey<'_>, scion: &Survey<'_>, mut plan: Plan) -> Result<Vec<u8>, GraftError> {
    let unsupported = |error: reencode::Error<_>| GraftError::Unsupported(error.to_string());
    let mut types = TypeSection::new();
    for ty in &scion.types {
        types.ty().func_type(&plan.func_type(ty.clone()).map_err(unsupported)?);
    }
    let imported = scion.imported_functions.len();
    let mut functions = FunctionSection::new();
    for body in plan.added.clone() {
        functions.function(plan.first_type + scion.functions[imported + body]);
    }
    let mut globals = GlobalSection::new();
    for global in &scion.globals {
        plan.parse_global(&mut globals, global.clone()).map_err(unsupported)?;
    }
    let mut exports = ExportSection::new();
    for (name, kind, index) in &plan.exports {
        exports.export(name, *kind, *index);
    }

    let mut encoder = Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        match &payload {
            Payload::CodeSectionStart { .. } => {
                let code = code(module, stock, scion, &mut plan).map_err(unsupported)?;
                encoder.section(&code);
            }
            payload => {
                let Some((id, range)) = payload.as_section() else { continue };
                let old = &module[range];
                let longer = match payload {
                    Payload::TypeSection(_) => lengthened(old, &types, types.len()),
                    Payload::FunctionSection(_) => lengthened(old, &functions, functions.len()),
                    Payload::GlobalSection(_) => lengthened(old, &globals, globals.len()),
                    Payload::ExportSection(_) => lengthened(old, &exports, exports.len()),
                    _ => old.to_vec(),
                };
                encoder.section(&RawSection { id, data: &longer });
            }
        }
    }
    Ok(encoder.finish())
}

/// The module's code, with what is replaced and what is added.
fn code(
    module: &[u8],
    stock: &Survey<'_>,
    scion: &Survey<'_>,
    plan: &mut Plan,
) -> Result<CodeSection, reencode::Error<std::convert::Infallible>> {
    let mut code = CodeSection::new();
    let first = stock.functions.len() - stock.bodies.len();
    for (number, body) in stock.bodies.iter().enumerate() {
        match plan.replaced.get(&((first + number) as u32)).copied() {
            Some(own) => plan.parse_function_body(&mut code, scion.bodies[own].clone())?,
            None => _ = code.raw(&module[body.range()]),
        }
    }
    for own in plan.added.clone() {
        plan.parse_function_body(&mut code, scion.bodies[own].clone())?;
    }
    Ok(code)
}

/// A section's content with the items of another behind its own.
fn lengthened(old: &[u8], more: &dyn wasm_encoder::Encode, items: u32) -> Vec<u8> {
    let mut section = Vec::new();
    more.encode(&mut section);
    // What is encoded begins with its length in bytes, and the content with the number of items, as `old` does.
    let (_, content) = number(&section);
    let (_, added) = number(content);
    let (count, own) = number(old);
    let mut longer = Vec::new();
    wasm_encoder::Encode::encode(&(count + items), &mut longer);
    longer.extend_from_slice(own);
    longer.extend_from_slice(added);
    longer
}

/// The LEB128 number at the start, and what follows it. The bytes come from a parsed module.
fn number(bytes: &[u8]) -> (u32, &[u8]) {
    let mut value = 0;
    for (place, byte) in bytes.iter().enumerate() {
        value |= u32::from(byte & 0x7F) << (7 * place);
        if byte & 0x80 == 0 {
            return (value, &bytes[place + 1..]);
        }
    }
    (value, &[])
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOCK: &str = r#"(module
        (import "env" "f" (func $f (param i32)))
        (global $g (mut i32) (i32.const 7))
        (memory (export "memory") 1)
        (func $hidden (param i32) (result i32) (i32.add (local.get 0) (global.get $g)))
        (func (export "run") (result i32) (call $hidden (i32.const 1)))
    )"#;

    fn grafted(text: &str) -> Result<String, GraftError> {
        let module = graft(&wat::parse_str(STOCK).unwrap(), text.as_bytes())?;
        Validator::new_with_features(super::super::engine::features()).validate_all(&module).unwrap();
        let engine = wasmtime::Engine::default();
        let module = wasmtime::Module::new(&engine, &module).unwrap();
        let mut store = wasmtime::Store::new(&engine, ());
        let import = wasmtime::Func::wrap(&mut store, |_: i32| {});
        let instance = wasmtime::Instance::new(&mut store, &module, &[import.into()]).unwrap();
        let mut call = |name: &str| {
            let function = instance.get_typed_func::<(), i32>(&mut store, name);
            function.map(|function| function.call(&mut store, ()).unwrap())
        };
        Ok(format!("{:?} {:?}", call("run").ok(), call("more").ok()))
    }

    fn refusal(text: &str) -> String {
        grafted(text).unwrap_err().to_string()
    }

    #[test]
    fn a_graft_adds_functions_and_globals_and_calls_what_the_module_does_not_export() {
        let text = r#"(module
            (import "module" "hidden" (func $hidden (param i32) (result i32)))
            (import "module" "memory" (memory 0))
            (global $count (mut i32) (i32.const 30))
            (func (export "more") (result i32)
                (i32.store (i32.const 8) (call $hidden (global.get $count)))
                (call $last))
            (func $last (result i32) (i32.load (i32.const 8))))"#;
        assert_eq!(grafted(text).unwrap(), "Some(8) Some(37)");
    }

    #[test]
    fn a_function_is_replaced_wherever_it_is_called_from() {
        let text = r#"(module (func (export "replace:hidden") (param i32) (result i32) (i32.const 99)))"#;
        assert_eq!(grafted(text).unwrap(), "Some(99) None");
    }

    #[test]
    fn what_does_not_fit_is_refused_by_name() {
        let import = |name: &str, ty: &str| refusal(&format!(r#"(module (import "module" "{name}" (func {ty})))"#));
        assert!(import("missing", "").contains("no function named `missing`"));
        let other = import("hidden", "");
        assert!(other.contains("`hidden` is of the type") && other.contains("i32"), "{other}");
        assert!(refusal(r#"(module (func (export "run")))"#).contains("exports `run` already"));
        assert!(refusal("(module (memory 1))").contains("a memory"));
        assert!(refusal(r#"(module (import "env" "f" (func)))"#).contains("an import from `env`"));
        assert!(refusal("nonsense").contains("not valid"));
    }
}

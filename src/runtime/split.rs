//! Taking a module apart: code without data, and the memory its data would have made.
//!
//! The code keeps everything but its active data segments and its start function; its mutable globals (and, on
//! request, functions known only by the name section) are exported, so that an image can be taken of a running
//! instance and laid under a fresh one. Instructions that fill or copy much memory are made to let the host look up
//! ([`bulk`]). What cannot be taken apart is refused with a reason.

use std::collections::HashMap;

use wasm_encoder::{
    CodeSection, ConstExpr, DataCountSection, DataSection, DataSegment, DataSegmentMode, Encode, ExportKind,
    ExportSection, FunctionSection, Module as Encoder, RawSection, Section, TypeSection,
};
use wasmparser::{
    Data, DataKind, ExternalKind, FunctionBody, GlobalType, Name, Operator, Parser, Payload, TypeRef, ValType,
    Validator,
};

use super::bulk;

/// The export under which the start function can be called, when there is one.
pub(crate) const START: &str = "ampoule:start";

/// WebAssembly's unit of memory.
pub(crate) const WASM_PAGE: u64 = 65536;

/// A module taken apart.
pub(crate) struct Split {
    /// The module without active data and start function, with its mutable globals exported.
    pub code: Vec<u8>,
    /// The active data segments: where each lies and what it holds, in the order they are laid down.
    pub data: Vec<(u64, Vec<u8>)>,
    /// The size of the memory the module starts with, in bytes.
    pub memory_bytes: u64,
    /// The exported names of the mutable globals.
    pub globals: Vec<String>,
    /// Whether a start function is exported as [`START`].
    pub has_start: bool,
    /// Why a running instance of this module cannot be made an image, if it cannot.
    pub no_warm_image: Option<&'static str>,
}

/// Why a module cannot be taken apart.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// The bytes are no valid WebAssembly module of the features that are switched on.
    #[error("not a valid WebAssembly module: {0}")]
    Invalid(#[from] wasmparser::BinaryReaderError),
    /// The module is valid, but an image cannot stand for it.
    #[error("the module {0}, which this sandbox does not support")]
    Unsupported(&'static str),
    /// A function that the manifest wants exported is not there.
    #[error("the module has no function named `{0}` to export")]
    NoSuchFunction(String),
}

/// Where a mutable global's export is numbered from: its index in the module.
fn global_export(index: u32) -> String {
    format!("ampoule:global:{index}")
}

#[derive(Default)]
struct Survey<'a> {
    memory: Option<wasmparser::MemoryType>,
    globals: Vec<GlobalType>,
    global_values: Vec<Option<u64>>,
    imported_globals: u32,
    exports: Vec<wasmparser::Export<'a>>,
    start: Option<u32>,
    data: Vec<Data<'a>>,
    has_data_count: bool,
    functions_by_name: HashMap<&'a str, u32>,
    changes_tables: bool,
    drops_segments: bool,
    uses_passive_data: bool,
    types: u32,
    imported_functions: u32,
    bodies: Vec<FunctionBody<'a>>,
    /// Whether [`bulk`] has something to replace.
    is_bulky: bool,
}

/// Takes `module` apart and exports the functions in `extra_exports` (name in the name section) as well.
pub(crate) fn split(module: &[u8], extra_exports: &[String]) -> Result<Split, SplitError> {
    Validator::new_with_features(super::engine::features()).validate_all(module)?;
    let survey = survey(module)?;
    let data = active_data(&survey)?;
    let code = encode(module, &survey, extra_exports)?;

    let mutable = survey.globals.iter().enumerate().filter(|(_, global)| global.mutable);
    let no_warm_image = if survey.changes_tables {
        Some("changes its tables")
    } else if survey.drops_segments {
        Some("drops passive segments")
    } else if mutable.clone().any(|(_, global)| !is_number(global.content_type)) {
        Some("has mutable globals that hold references")
    } else {
        None
    };
    Ok(Split {
        code,
        data,
        memory_bytes: survey.memory.map_or(0, |memory| memory.initial * WASM_PAGE),
        globals: mutable.map(|(index, _)| global_export(index as u32)).collect(),
        has_start: survey.start.is_some(),
        no_warm_image,
    })
}

fn is_number(ty: ValType) -> bool {
    matches!(ty, ValType::I32 | ValType::I64 | ValType::F32 | ValType::F64 | ValType::V128)
}

fn survey(module: &[u8]) -> Result<Survey<'_>, SplitError> {
    let mut survey = Survey::default();
    for payload in Parser::new(0).parse_all(module) {
        match payload? {
            Payload::TypeSection(types) => {
                for group in types {
                    survey.types += group?.types().len() as u32;
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    match import?.ty {
                        TypeRef::Memory(_) => return Err(SplitError::Unsupported("imports its memory")),
                        TypeRef::Global(ty) => {
                            survey.globals.push(ty);
                            survey.global_values.push(None);
                            survey.imported_globals += 1;
                        }
                        TypeRef::Func(_) | TypeRef::FuncExact(_) => survey.imported_functions += 1,
                        _ => {}
                    }
                }
            }
            Payload::MemorySection(memories) => {
                for memory in memories {
                    let memory = memory?;
                    if survey.memory.is_some() {
                        return Err(SplitError::Unsupported("has more than one memory"));
                    }
                    if memory.memory64 {
                        return Err(SplitError::Unsupported("has a 64-bit memory"));
                    }
                    if memory.shared {
                        return Err(SplitError::Unsupported("has a shared memory"));
                    }
                    if memory.page_size_log2.is_some() {
                        return Err(SplitError::Unsupported("has a custom page size"));
                    }
                    survey.memory = Some(memory);
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    let global = global?;
                    survey.globals.push(global.ty);
                    let value = constant(&global.init_expr, &survey.global_values);
                    survey.global_values.push(value);
                }
            }
            Payload::ExportSection(exports) => survey.exports = exports.into_iter().collect::<Result<_, _>>()?,
            Payload::StartSection { func, .. } => survey.start = Some(func),
            Payload::DataCountSection { .. } => survey.has_data_count = true,
            Payload::DataSection(data) => survey.data = data.into_iter().collect::<Result<_, _>>()?,
            Payload::CodeSectionEntry(body) => {
                survey.is_bulky |= bulk::is_in(&body)?;
                for operator in body.get_operators_reader()? {
                    match operator? {
                        Operator::TableSet { .. }
                        | Operator::TableGrow { .. }
                        | Operator::TableFill { .. }
                        | Operator::TableCopy { .. }
                        | Operator::TableInit { .. } => survey.changes_tables = true,
                        Operator::MemoryInit { .. } => survey.uses_passive_data = true,
                        Operator::DataDrop { .. } => {
                            survey.uses_passive_data = true;
                            survey.drops_segments = true;
                        }
                        Operator::ElemDrop { .. } => survey.drops_segments = true,
                        _ => {}
                    }
                }
                survey.bodies.push(body);
            }
            Payload::CustomSection(section) => {
                if let wasmparser::KnownCustom::Name(names) = section.as_known() {
                    // A damaged name section is no fault of the module: names are only looked up on request.
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

/// The value of a constant expression of integers, if it does not depend on the host.
fn constant(expression: &wasmparser::ConstExpr<'_>, globals: &[Option<u64>]) -> Option<u64> {
    let mut stack: Vec<u64> = Vec::new();
    for operator in expression.get_operators_reader() {
        let value = match operator.ok()? {
            Operator::I32Const { value } => u64::from(value as u32),
            Operator::I64Const { value } => value as u64,
            Operator::GlobalGet { global_index } => (*globals.get(global_index as usize)?)?,
            operator @ (Operator::I32Add | Operator::I32Sub | Operator::I32Mul) => {
                let (right, left) = (stack.pop()? as u32, stack.pop()? as u32);
                u64::from(match operator {
                    Operator::I32Add => left.wrapping_add(right),
                    Operator::I32Sub => left.wrapping_sub(right),
                    _ => left.wrapping_mul(right),
                })
            }
            Operator::End => break,
            _ => return None,
        };
        stack.push(value);
    }
    stack.pop()
}

fn active_data(survey: &Survey<'_>) -> Result<Vec<(u64, Vec<u8>)>, SplitError> {
    let size = survey.memory.map_or(0, |memory| memory.initial * WASM_PAGE);
    let mut data = Vec::new();
    for segment in &survey.data {
        let DataKind::Active { offset_expr, .. } = &segment.kind else { continue };
        let offset = constant(offset_expr, &survey.global_values)
            .ok_or(SplitError::Unsupported("lays data at an address that depends on its imports"))?;
        if offset + segment.data.len() as u64 > size {
            // Instantiating it would trap: better said here, once.
            return Err(SplitError::Unsupported("has a data segment that does not fit its memory"));
        }
        data.push((offset, segment.data.to_vec()));
    }
    Ok(data)
}

fn encode(module: &[u8], survey: &Survey<'_>, extra_exports: &[String]) -> Result<Vec<u8>, SplitError> {
    let mut encoder = Encoder::new();
    let mut exported = false;
    let raw = |encoder: &mut Encoder, id: u8, range: &std::ops::Range<usize>| {
        encoder.section(&RawSection { id, data: &module[range.clone()] });
    };
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload?;
        // The exports belong before everything that follows the global section; a module without an export section of
        // its own gets one there.
        if !exported && follows_exports(&payload) {
            encoder.section(&exports(survey, extra_exports)?);
            exported = true;
        }
        match &payload {
            Payload::ExportSection(_) | Payload::StartSection { .. } | Payload::CustomSection(_) => {}
            Payload::DataCountSection { range, .. } => {
                if survey.uses_passive_data {
                    raw(&mut encoder, DataCountSection { count: 0 }.id(), range);
                }
            }
            Payload::DataSection(_) => {
                if survey.uses_passive_data {
                    encoder.section(&emptied_data(survey));
                }
            }
            Payload::TypeSection(types) if survey.is_bulky => {
                extend(&mut encoder, TypeSection::new().id(), &module[types.range()], 1, &bulk::TYPE)?;
            }
            Payload::FunctionSection(functions) if survey.is_bulky => {
                let mut types = Vec::new();
                for _ in 0..bulk::FUNCTIONS {
                    survey.types.encode(&mut types);
                }
                let content = &module[functions.range()];
                extend(&mut encoder, FunctionSection::new().id(), content, bulk::FUNCTIONS, &types)?;
            }
            Payload::CodeSectionStart { .. } if survey.is_bulky => {
                let first = survey.imported_functions + survey.bodies.len() as u32;
                encoder.section(&bulk::code(module, &survey.bodies, first)?);
            }
            Payload::CodeSectionStart { range, .. } => raw(&mut encoder, CodeSection::new().id(), range),
            payload => {
                if let Some((id, range)) = payload.as_section() {
                    raw(&mut encoder, id, &range);
                }
            }
        }
    }
    Ok(encoder.finish())
}

/// Writes a section with more items at its end.
fn extend(encoder: &mut Encoder, id: u8, content: &[u8], more: u32, items: &[u8]) -> Result<(), SplitError> {
    let data =
        bulk::extended(content, more, items).ok_or(SplitError::Unsupported("has too many types or functions"))?;
    encoder.section(&RawSection { id, data: &data });
    Ok(())
}

fn follows_exports(payload: &Payload<'_>) -> bool {
    matches!(
        payload,
        Payload::ExportSection(_)
            | Payload::StartSection { .. }
            | Payload::ElementSection(_)
            | Payload::DataCountSection { .. }
            | Payload::CodeSectionStart { .. }
            | Payload::DataSection(_)
            | Payload::End(_)
    )
}

fn exports(survey: &Survey<'_>, extra_exports: &[String]) -> Result<ExportSection, SplitError> {
    let mut section = ExportSection::new();
    for export in &survey.exports {
        let kind = match export.kind {
            ExternalKind::Func | ExternalKind::FuncExact => ExportKind::Func,
            ExternalKind::Table => ExportKind::Table,
            ExternalKind::Memory => ExportKind::Memory,
            ExternalKind::Global => ExportKind::Global,
            ExternalKind::Tag => ExportKind::Tag,
        };
        section.export(export.name, kind, export.index);
    }
    for (index, global) in survey.globals.iter().enumerate() {
        if global.mutable {
            section.export(&global_export(index as u32), ExportKind::Global, index as u32);
        }
    }
    if let Some(start) = survey.start {
        section.export(START, ExportKind::Func, start);
    }
    for name in extra_exports {
        if survey.exports.iter().any(|export| export.name == name) {
            continue;
        }
        let index = survey.functions_by_name.get(name.as_str());
        section.export(name, ExportKind::Func, *index.ok_or_else(|| SplitError::NoSuchFunction(name.clone()))?);
    }
    Ok(section)
}

/// The data section with every active segment emptied in place, so that the indices of the passive ones stay.
fn emptied_data(survey: &Survey<'_>) -> DataSection {
    let mut section = DataSection::new();
    let zero = ConstExpr::i32_const(0);
    for segment in &survey.data {
        match segment.kind {
            DataKind::Passive => section.passive(segment.data.iter().copied()),
            DataKind::Active { memory_index, .. } => section.segment(DataSegment {
                mode: DataSegmentMode::Active { memory_index, offset: &zero },
                data: std::iter::empty(),
            }),
        };
    }
    section
}

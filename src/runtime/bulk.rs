//! Making the instructions that fill and copy memory let the host look up.
//!
//! One `memory.fill` or `memory.copy` can write all the memory there is, which takes tenths of a second for 512 MiB and
//! seconds for 4 GiB, and nothing stops it meanwhile: an engine interrupts code at loops and calls alone. So each is
//! replaced with a call of a function that does the same piece by piece in a loop. Those whose length is a small
//! constant stay as they are.

use std::ops::Range;

use wasm_encoder::{BlockType, CodeSection, Encode, Function, InstructionSink};
use wasmparser::{BinaryReaderError, FunctionBody, Operator};

use super::split::WASM_PAGE;

/// The most that is filled or copied at once: some tenths of a millisecond.
const PIECE: i32 = 1 << 20;

/// The type of both functions, as the type section holds it: three numbers go in, nothing comes out.
pub(super) const TYPE: [u8; 6] = [0x60, 3, 0x7F, 0x7F, 0x7F, 0];

/// How many functions are added behind those of the module: [`fill`] and [`copy`].
pub(super) const FUNCTIONS: u32 = 2;

/// An instruction to replace: where it lies in the module, and whether it copies.
struct Site {
    range: Range<usize>,
    copies: bool,
}

/// The sites in a function's body.
fn sites(body: &FunctionBody<'_>) -> Result<Vec<Site>, BinaryReaderError> {
    let mut sites = Vec::new();
    let mut reader = body.get_operators_reader()?;
    let mut small = false;
    while !reader.eof() {
        let start = reader.original_position();
        let operator = reader.read()?;
        let copies = matches!(operator, Operator::MemoryCopy { .. });
        if !small && (copies || matches!(operator, Operator::MemoryFill { .. })) {
            sites.push(Site { range: start..reader.original_position(), copies });
        }
        small = matches!(operator, Operator::I32Const { value: 0..=PIECE });
    }
    Ok(sites)
}

/// Whether a body has an instruction to replace.
pub(super) fn is_in(body: &FunctionBody<'_>) -> Result<bool, BinaryReaderError> {
    Ok(!sites(body)?.is_empty())
}

/// The code section of `bodies` with the instructions replaced, and the two functions, whose indices are `first` and
/// the one after it.
pub(super) fn code(module: &[u8], bodies: &[FunctionBody<'_>], first: u32) -> Result<CodeSection, BinaryReaderError> {
    let mut section = CodeSection::new();
    let mut replaced = Vec::new();
    for body in bodies {
        replaced.clear();
        let mut at = body.range().start;
        for site in sites(body)? {
            replaced.extend_from_slice(&module[at..site.range.start]);
            InstructionSink::new(&mut replaced).call(first + u32::from(site.copies));
            at = site.range.end;
        }
        replaced.extend_from_slice(&module[at..body.range().end]);
        section.raw(&replaced);
    }
    section.function(&fill());
    section.function(&copy());
    Ok(section)
}

/// A section that holds a number of items, with more at its end.
pub(super) fn extended(content: &[u8], more: u32, items: &[u8]) -> Option<Vec<u8>> {
    let mut count: u64 = 0;
    let mut length = 0;
    loop {
        let byte = *content.get(length)?;
        count |= u64::from(byte & 0x7F).checked_shl(7 * length as u32)?;
        length += 1;
        if byte & 0x80 == 0 {
            break;
        }
    }
    let mut extended = Vec::with_capacity(content.len() + items.len() + 5);
    (u32::try_from(count).ok()?.checked_add(more)?).encode(&mut extended);
    extended.extend_from_slice(&content[length..]);
    extended.extend_from_slice(items);
    Some(extended)
}

const TO: u32 = 0;
const LENGTH: u32 = 2;

/// `memory.fill` of any length. What does not fit the memory traps as it did, if after some pieces; no one sees those.
fn fill() -> Function {
    const VALUE: u32 = 1;
    let mut function = Function::new([]);
    let mut code = function.instructions();
    is_long(&mut code).if_(BlockType::Empty).loop_(BlockType::Empty);
    code.local_get(TO).local_get(VALUE).i32_const(PIECE).memory_fill(0);
    add(&mut code, TO, PIECE);
    add(&mut code, LENGTH, -PIECE);
    is_long(&mut code).br_if(0).end().end();
    code.local_get(TO).local_get(VALUE).local_get(LENGTH).memory_fill(0).end();
    function
}

/// `memory.copy` of any length: from the front or from the back, so that nothing is written over before it is read.
fn copy() -> Function {
    const FROM: u32 = 1;
    let mut function = Function::new([]);
    let mut code = function.instructions();
    is_long(&mut code).if_(BlockType::Empty);
    code.local_get(TO).local_get(FROM).i32_le_u().if_(BlockType::Empty).loop_(BlockType::Empty);
    code.local_get(TO).local_get(FROM).i32_const(PIECE).memory_copy(0, 0);
    add(&mut code, TO, PIECE);
    add(&mut code, FROM, PIECE);
    add(&mut code, LENGTH, -PIECE);
    is_long(&mut code).br_if(0).end();
    code.else_();
    // From the back the first address may lie beyond 32 bits. The place written to is the one further behind.
    code.local_get(TO).i64_extend_i32_u().local_get(LENGTH).i64_extend_i32_u().i64_add();
    code.memory_size(0).i64_extend_i32_u().i64_const(WASM_PAGE as i64).i64_mul().i64_gt_u().if_(BlockType::Empty);
    code.local_get(TO).local_get(FROM).local_get(LENGTH).memory_copy(0, 0);
    code.end().loop_(BlockType::Empty);
    add(&mut code, LENGTH, -PIECE);
    code.local_get(TO).local_get(LENGTH).i32_add().local_get(FROM).local_get(LENGTH).i32_add();
    code.i32_const(PIECE).memory_copy(0, 0);
    is_long(&mut code).br_if(0).end().end().end();
    code.local_get(TO).local_get(FROM).local_get(LENGTH).memory_copy(0, 0).end();
    function
}

/// Whether there is more to do than one piece.
fn is_long<'a, 'b>(code: &'a mut InstructionSink<'b>) -> &'a mut InstructionSink<'b> {
    code.local_get(LENGTH).i32_const(PIECE).i32_gt_u()
}

fn add(code: &mut InstructionSink<'_>, local: u32, number: i32) {
    code.local_get(local).i32_const(number).i32_add().local_set(local);
}

#[cfg(test)]
mod tests {
    use super::super::split::split;
    use proptest::prelude::*;
    use wasmtime::{Instance, Module, Store};

    const MODULE: &str = r#"(module
        (import "host" "call" (func (param i32)))
        (type (func (param i32 i32 i32)))
        (memory (export "memory") 80)
        (func (export "fill") (param i32 i32 i32)
            (memory.fill (local.get 0) (local.get 1) (local.get 2)))
        (func (export "copy") (param i32 i32 i32)
            (memory.copy (local.get 0) (local.get 1) (local.get 2)))
        (func (export "both") (param i32 i32 i32)
            (block (memory.fill (local.get 0) (local.get 1) (i32.const 8))
                (memory.copy (local.get 0) (local.get 2) (local.get 2)))))"#;

    const BYTES: u32 = 80 << 16;

    /// The module as it is and as it becomes.
    fn both() -> [Module; 2] {
        let module = wat::parse_str(MODULE).unwrap();
        let engine = wasmtime::Engine::default();
        let split = split(&module, &[]).unwrap().code;
        assert_ne!(split, module);
        [Module::new(&engine, module).unwrap(), Module::new(&engine, split).unwrap()]
    }

    /// The memory after a call on a memory of some numbers, or nothing if the call trapped.
    fn after(module: &Module, name: &str, arguments: (u32, u32, u32)) -> Option<Vec<u8>> {
        let mut store = Store::new(module.engine(), ());
        let nothing = wasmtime::Func::wrap(&mut store, |_: i32| {});
        let instance = Instance::new(&mut store, module, &[nothing.into()]).unwrap();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        for (index, byte) in memory.data_mut(&mut store).iter_mut().enumerate() {
            *byte = (index / 251) as u8;
        }
        let function = instance.get_typed_func::<(u32, u32, u32), ()>(&mut store, name).unwrap();
        function.call(&mut store, arguments).ok()?;
        Some(memory.data(&store).to_vec())
    }

    #[track_caller]
    fn is_the_same(modules: &[Module; 2], name: &str, arguments: (u32, u32, u32)) -> bool {
        let [was, is] = modules.each_ref().map(|module| after(module, name, arguments));
        assert!(was == is, "{name} {arguments:?}");
        was.is_some()
    }

    #[test]
    fn filling_and_copying_at_the_edges_does_what_it_did() {
        let modules = both();
        let piece = super::PIECE as u32;
        for length in [0, 1, piece - 1, piece, piece + 1, 2 * piece, 2 * piece + 1, BYTES - 1, BYTES] {
            assert!(is_the_same(&modules, "fill", (BYTES - length, 0xEE, length)), "{length}");
            assert!(!is_the_same(&modules, "fill", (BYTES - length + 1, 0xEE, length)), "{length}");
            assert!(!is_the_same(&modules, "fill", (u32::MAX, 0xEE, length)), "{length}");
            for (to, from) in [(0, BYTES - length), (BYTES - length, 0), (1, 0), (0, 1)] {
                let fits = to + length <= BYTES && from + length <= BYTES;
                assert_eq!(is_the_same(&modules, "copy", (to, from, length)), fits, "{to} {from} {length}");
            }
            assert!(!is_the_same(&modules, "copy", (u32::MAX, 0, length)), "{length}");
            assert!(!is_the_same(&modules, "copy", (0, u32::MAX, length)), "{length}");
        }
        for length in [u32::MAX, 1 << 31] {
            assert!(!is_the_same(&modules, "fill", (0, 1, length)));
            assert!(!is_the_same(&modules, "copy", (5, 0, length)));
            assert!(!is_the_same(&modules, "copy", (0, 5, length)));
        }
        is_the_same(&modules, "both", (100, 7, 3 << 20));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn any_copy_of_any_overlap_does_what_it_did(
            to in 0..BYTES, from in 0..BYTES, length in 0..BYTES, near in any::<bool>(),
        ) {
            let modules = both();
            let from = if near { (to + from % 4096).saturating_sub(2048) } else { from };
            is_the_same(&modules, "copy", (to, from, length));
            is_the_same(&modules, "fill", (to, from, length));
        }
    }
}

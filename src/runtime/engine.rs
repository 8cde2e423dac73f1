//! The engine's configuration: one function, so that what compiles code and what loads it never differ.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use wasmparser::WasmFeatures;
use wasmtime::{Config, Engine, MemoryCreator, OptLevel, Strategy};

use crate::Limits;
use crate::memory::{GUARD_BYTES, RESERVED_BYTES, StackPool, Stacks};

/// The native stack a guest may use. CPython recurses on it: its own recursion limit must come first.
const WASM_STACK_BYTES: usize = Limits::STACK_BYTES;

/// The whole stack of a guest: its own part and room for the host calls made from it.
const STACK_BYTES: usize = WASM_STACK_BYTES + (2 << 20);

/// The address space for exception objects, apart from the guest's memory. Full, it fails the throw.
const EXCEPTION_HEAP_BYTES: u64 = 64 << 20;

/// The WebAssembly that guests may be made of: what LLVM emits today and exceptions, which CPython's build uses.
/// Threads, memory64, several memories, garbage-collected types and the component model are off.
pub(crate) fn features() -> WasmFeatures {
    WasmFeatures::WASM2
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::EXCEPTIONS
        | WasmFeatures::RELAXED_SIMD
        | WasmFeatures::GC_TYPES
}

/// Everything about an engine that the compiled code depends on, and what it does not depend on but every engine here
/// shares.
fn config() -> Config {
    let mut config = Config::new();
    config
        .strategy(Strategy::Cranelift)
        .cranelift_opt_level(OptLevel::Speed)
        .consume_fuel(true)
        .epoch_interruption(true)
        // The memory never moves and needs no bounds checks; slots reserve just this.
        .memory_reservation(RESERVED_BYTES)
        .memory_guard_size(GUARD_BYTES)
        .memory_may_move(false)
        .guard_before_linear_memory(false)
        // Images are ours (see `crate::memory`), not the engine's.
        .memory_init_cow(false)
        .gc_heap_reservation(EXCEPTION_HEAP_BYTES)
        .gc_heap_guard_size(GUARD_BYTES)
        .gc_heap_may_move(false)
        // What a trap was is all that is told; where it was helps nobody and costs time.
        .wasm_backtrace_max_frames(None)
        .native_unwind_info(false)
        .generate_address_map(false)
        .max_wasm_stack(WASM_STACK_BYTES)
        .async_stack_size(STACK_BYTES)
        .wasm_exceptions(true)
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_gc(false)
        .wasm_component_model(false);
    config
}

/// An engine that compiles, and runs nothing.
pub(crate) fn compiler() -> wasmtime::Result<Engine> {
    Engine::new(&config())
}

/// An engine that runs the code of one image: its memories are the image's slots, its stacks are pooled.
pub(crate) fn runner(memories: Arc<dyn MemoryCreator>, stacks: Arc<StackPool>) -> wasmtime::Result<Engine> {
    let mut config = config();
    config.with_host_memory(memories);
    // The engine does not take stacks of ours on Windows.
    if cfg!(unix) {
        config.with_host_stack(Arc::new(Stacks(stacks)));
    }
    Engine::new(&config)
}

/// What compiled code is good for: this version of the engine, this target, this configuration. Code under another
/// fingerprint is never loaded.
pub(crate) fn fingerprint(engine: &Engine) -> String {
    struct Sha(Sha256);
    impl Hasher for Sha {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            unreachable!("the whole digest is used")
        }
    }
    let mut sha = Sha(Sha256::new());
    // The engine's own hash covers its version, the target, the processor's features and each setting that changes
    // the code.
    engine.precompile_compatibility_hash().hash(&mut sha);
    super::digest::hex(&sha.0.finalize())[..16].to_owned()
}

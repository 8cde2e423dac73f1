//! How deep commands may nest: as deep as the stack holds.

/// What one command may use of the stack for itself, whatever it does: parse a text, match a pattern, run `awk`.
#[cfg(target_family = "wasm")]
const RESERVE: usize = 2 << 20;

/// Whether so little of the stack is left that no command should begin. A module's stack lies below its data, and grows
/// down to address 0: the address of a local variable is what is left.
#[cfg(target_family = "wasm")]
pub(super) fn is_too_deep() -> bool {
    let here = 0_u8;
    std::hint::black_box(&raw const here) as usize <= RESERVE
}

/// Elsewhere the stack is not known.
#[cfg(not(target_family = "wasm"))]
pub(super) fn is_too_deep() -> bool {
    false
}

//! Tells the linker what the host expects of the module.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The parser and what follows it call themselves for each level of nesting. The host's 8 MiB for compiled code end
    // first, which is a trap that says so; running out of this one would be a fault in memory.
    println!("cargo::rustc-link-arg-bins=-zstack-size={}", 12 << 20);
}

//! Tells the linker what the host expects of the module.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The interpreter nests futures deeply: this much holds what its own limits on nesting allow.
    println!("cargo::rustc-link-arg-cdylib=-zstack-size={}", 8 << 20);
    // The host tidies the heap with them before it takes the image.
    for function in ["malloc", "free"] {
        println!("cargo::rustc-link-arg-cdylib=--export={function}");
    }
}

//! Tells the linker what the host expects of the module.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // How deep a script's functions may call each other: the interpreter stops before the end of it. Its compiled code
    // takes six tenths of that from the 8 MiB of stack that the host gives it, which must not end before.
    println!("cargo::rustc-link-arg-cdylib=-zstack-size={}", 12 << 20);
    // The host tidies the heap with them before it takes the image.
    for function in ["malloc", "free"] {
        println!("cargo::rustc-link-arg-cdylib=--export={function}");
    }
}

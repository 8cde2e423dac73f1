//! Standard output and standard error: written as it comes, without a buffer.

use std::io::Write;

pub fn write_stdout(bytes: &[u8]) {
    // Rust's standard output holds a line back; a descriptor of our own does not.
    let mut stdout = std::io::stdout().lock();
    // What the host no longer takes is dropped, as for a program whose output nobody reads to the end.
    let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
}

pub fn write_stderr(bytes: &[u8]) {
    let _ = std::io::stderr().write_all(bytes);
}

//! The `filbert` binary.
fn main() {}

//! The `filbert` binary.

#![forbid(unsafe_code)]

fn main() {}

//! Derives the Compact encoding for structs; use it through `filbert_wire::Compact`.
#![forbid(unsafe_code)]

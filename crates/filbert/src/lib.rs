//! Filbert.

#![forbid(unsafe_code)]

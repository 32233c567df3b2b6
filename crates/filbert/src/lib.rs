//! Filbert.

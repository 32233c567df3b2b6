//! Derives the Compact encoding for structs; use it through `filbert_wire::Compact`.
//!
//! Runs in the compiler only. The order of the fields by name is worked out here, so that reading and writing find a field by its index.
#![forbid(unsafe_code)]

mod attributes;
mod expand;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes a struct a Compact object: implements `filbert_wire::compact::Compact`, `ToData` and `FromData`.
///
/// - `#[compact(name = "employee")]` on the struct: the name of the type in all languages; without it, the name of the struct.
/// - `#[compact(crate = some::path)]` on the struct: where `filbert_wire` is found, when not under its own name.
/// - `#[compact(rename = "hiredOn")]` on a field: its name in the schema.
/// - `#[compact(default)]` on a field: its default value when an object comes with a schema that lacks it. Without it that is
///   an error, but for an `Option`, which is then `None`.
#[proc_macro_derive(Compact, attributes(compact))]
pub fn derive_compact(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::compact(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

//! Reads `#[compact(...)]`.

use syn::{Attribute, LitStr, Path, parse_quote};

/// What stands on the struct.
pub(crate) struct OfStruct {
    pub(crate) name: Option<String>,
    pub(crate) wire: Path,
}

impl OfStruct {
    pub(crate) fn read(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut found = Self { name: None, wire: parse_quote!(::filbert_wire) };
        for attribute in ours(attributes) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("name") {
                    found.name = Some(meta.value()?.parse::<LitStr>()?.value());
                    Ok(())
                } else if meta.path.is_ident("crate") {
                    found.wire = meta.value()?.parse()?;
                    Ok(())
                } else {
                    Err(meta.error("on a struct, compact takes `name = \"...\"` and `crate = path`"))
                }
            })?;
        }
        Ok(found)
    }
}

/// What stands on a field.
#[derive(Default)]
pub(crate) struct OfField {
    pub(crate) rename: Option<String>,
    pub(crate) default: bool,
}

impl OfField {
    pub(crate) fn read(attributes: &[Attribute]) -> syn::Result<Self> {
        let mut found = Self::default();
        for attribute in ours(attributes) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    found.rename = Some(meta.value()?.parse::<LitStr>()?.value());
                    Ok(())
                } else if meta.path.is_ident("default") {
                    found.default = true;
                    Ok(())
                } else {
                    Err(meta.error("on a field, compact takes `rename = \"...\"` and `default`"))
                }
            })?;
        }
        Ok(found)
    }
}

fn ours(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("compact"))
}

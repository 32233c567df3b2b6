//! Writes the implementations for one struct.

use crate::attributes::{OfField, OfStruct};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Data, DeriveInput, Error, Field, Fields, Ident, Type, ext::IdentExt, spanned::Spanned};

/// A field of the struct, and what it is called in the schema.
struct Known<'a> {
    ident: &'a Ident,
    kind: &'a Type,
    name: String,
    default: bool,
    /// Its index in the schema.
    index: usize,
}

pub(crate) fn compact(input: &DeriveInput) -> syn::Result<TokenStream> {
    let attributes = OfStruct::read(&input.attrs)?;
    let wire = &attributes.wire;
    let ident = &input.ident;
    if !input.generics.params.is_empty() {
        let message = "a Compact struct cannot be generic: its schema is one for all";
        return Err(Error::new_spanned(&input.generics, message));
    }
    let type_name = attributes.name.unwrap_or_else(|| ident.unraw().to_string());
    let fields = numbered(fields(input)?)?;

    let descriptors = fields.iter().map(|Known { kind, name, .. }| {
        quote_spanned!(kind.span()=> (#name, <#kind as #wire::compact::CompactField>::KIND))
    });
    let within = fields.iter().map(|Known { kind, .. }| {
        quote_spanned!(kind.span()=> <#kind as #wire::compact::CompactField>::schemas(found);)
    });
    let writes = fields.iter().map(|Known { ident, kind, index, .. }| {
        quote_spanned!(kind.span()=>
            #wire::compact::CompactField::write_field(&self.#ident, writer, #index)?;)
    });
    let reads = fields.iter().map(|Known { ident, kind, name, default, index }| {
        if *default {
            quote_spanned!(kind.span()=> #ident: reader.field_or_default(#name, #index)?,)
        } else {
            quote_spanned!(kind.span()=> #ident: reader.field(#name, #index)?,)
        }
    });

    Ok(quote! {
        #[automatically_derived]
        impl #wire::compact::Compact for #ident {
            fn schema() -> &'static #wire::compact::Schema {
                static SCHEMA: ::std::sync::LazyLock<#wire::compact::Schema> = ::std::sync::LazyLock::new(|| {
                    #wire::compact::Schema::of_struct(#type_name, &[#(#descriptors),*])
                });
                &SCHEMA
            }

            fn schemas(found: &mut ::std::vec::Vec<&'static #wire::compact::Schema>) {
                let own = <Self as #wire::compact::Compact>::schema();
                // A struct may contain itself.
                if !found.iter().any(|schema| schema.id() == own.id()) {
                    found.push(own);
                    #(#within)*
                }
            }

            fn write_fields(
                &self,
                writer: &mut #wire::compact::CompactWriter<'_>,
            ) -> ::core::result::Result<(), #wire::EncodeError> {
                #(#writes)*
                ::core::result::Result::Ok(())
            }

            fn read_fields(
                reader: &mut #wire::compact::CompactReader<'_, '_>,
            ) -> ::core::result::Result<Self, #wire::DecodeError> {
                ::core::result::Result::Ok(Self { #(#reads)* })
            }
        }

        #[automatically_derived]
        impl #wire::ToData for #ident {
            fn type_id(&self) -> i32 {
                #wire::type_id::COMPACT
            }

            fn payload_size(&self) -> usize {
                #wire::compact::record_size::<Self>()
            }

            fn write_payload(
                &self,
                out: &mut #wire::Output,
            ) -> ::core::result::Result<(), #wire::EncodeError> {
                #wire::compact::write_record(self, out)
            }

            fn schemas(found: &mut ::std::vec::Vec<&'static #wire::compact::Schema>) {
                <Self as #wire::compact::Compact>::schemas(found);
            }
        }

        #[automatically_derived]
        impl #wire::FromData for #ident {
            fn read_payload(
                type_id: i32,
                input: &mut #wire::Input<'_>,
            ) -> ::core::result::Result<Self, #wire::DecodeError> {
                #wire::compact::read_typed(type_id, input)
            }
        }
    })
}

fn fields(input: &DeriveInput) -> syn::Result<Vec<Known<'_>>> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "only a struct can be Compact; wrap an enum in `Json`"));
    };
    match &data.fields {
        Fields::Named(fields) => fields.named.iter().map(known).collect(),
        Fields::Unit => Ok(Vec::new()),
        Fields::Unnamed(fields) => {
            Err(Error::new_spanned(fields, "the fields of a Compact struct need names: the schema has them"))
        }
    }
}

fn known(field: &Field) -> syn::Result<Known<'_>> {
    let Some(ident) = &field.ident else { return Err(Error::new_spanned(field, "the field has no name")) };
    let OfField { rename, default } = OfField::read(&field.attrs)?;
    Ok(Known {
        ident,
        kind: &field.ty,
        name: rename.unwrap_or_else(|| ident.unraw().to_string()),
        default,
        index: 0,
    })
}

/// Gives each field its index in the schema, which is sorted by UTF-16 code units, as Java compares strings. The fields stay as declared:
/// that is the order in which they are written, so an object has the same bytes as from a Java or Python class that is declared alike,
/// and as a key it is found from there.
fn numbered(mut fields: Vec<Known<'_>>) -> syn::Result<Vec<Known<'_>>> {
    let mut order: Vec<usize> = (0..fields.len()).collect();
    order.sort_by(|left, right| fields[*left].name.encode_utf16().cmp(fields[*right].name.encode_utf16()));
    if let Some(pair) = order.windows(2).find(|pair| fields[pair[0]].name == fields[pair[1]].name) {
        let second = &fields[pair[0].max(pair[1])];
        return Err(Error::new_spanned(second.ident, format!("two fields are named {:?}", second.name)));
    }
    for (index, position) in order.into_iter().enumerate() {
        fields[position].index = index;
    }
    Ok(fields)
}

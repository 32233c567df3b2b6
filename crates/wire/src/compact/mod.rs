//! Compact: structs as Hazelcast's Compact objects, whose fields every client and every query reads by name.
//!
//! The schema of a Rust struct is static, made from the types of its fields. A schema guessed from values was rejected: it would
//! change with every `None`.
//!
//! A schema travels apart from the objects that use it, under its fingerprint. [`ToData::schemas`](crate::ToData::schemas) says which ones a
//! type needs; a member keeps those that it was sent, and finds them by [`SchemaSource`].

mod field;
mod fingerprint;
mod kind;
mod reader;
mod record;
mod schema;
mod values;
mod writer;

pub use field::CompactField;
pub use kind::FieldKind;
pub use reader::{CompactReader, read_record, read_typed};
pub use record::CompactRecord;
pub use schema::{DuplicateField, FieldDescriptor, NO_SCHEMAS, Schema, SchemaSource};
pub use values::compact_data;
pub use writer::{CompactWriter, record_size, write_record};

use crate::data::{DecodeError, EncodeError};

/// A struct with a Compact form. Derive it:
///
/// ```
/// use filbert_wire::{Compact, FromData, LocalDate, ToData};
///
/// #[derive(Debug, PartialEq, Compact)]
/// #[compact(name = "employee")]
/// struct Employee {
///     name: String,
///     #[compact(rename = "hiredOn")]
///     hired: Option<LocalDate>,
///     salary: i64,
///     manager: Option<Box<Employee>>,
/// }
///
/// let boss = Employee { name: "Ada".into(), hired: LocalDate::new(1833, 6, 5), salary: 900, manager: None };
/// let data = boss.to_data()?;
/// assert_eq!(Employee::from_data(&data)?, boss);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a Compact struct",
    note = "add `#[derive(Compact)]` to it"
)]
pub trait Compact: Sized {
    /// Its fields.
    fn schema() -> &'static Schema;

    /// Adds its schema and those of the structs within, each once.
    fn schemas(found: &mut Vec<&'static Schema>);

    /// Writes the fields.
    fn write_fields(&self, writer: &mut CompactWriter<'_>) -> Result<(), EncodeError>;

    /// Reads the fields, perhaps by an older or newer schema of the same name.
    fn read_fields(reader: &mut CompactReader<'_, '_>) -> Result<Self, DecodeError>;
}

impl<T: Compact> Compact for Box<T> {
    fn schema() -> &'static Schema {
        T::schema()
    }

    fn schemas(found: &mut Vec<&'static Schema>) {
        T::schemas(found);
    }

    fn write_fields(&self, writer: &mut CompactWriter<'_>) -> Result<(), EncodeError> {
        T::write_fields(self, writer)
    }

    fn read_fields(reader: &mut CompactReader<'_, '_>) -> Result<Self, DecodeError> {
        T::read_fields(reader).map(Self::new)
    }
}

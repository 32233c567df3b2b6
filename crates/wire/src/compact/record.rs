//! `CompactRecord`: reads single fields of a Compact object without its Rust type, as queries do.

use super::{
    CompactReader, FieldKind, Schema, SchemaSource,
    field::{read_bits, read_numbers},
    reader::{Extent, known},
};
use crate::data::{Data, DecodeError, Input, Payload, Value, type_id};
use std::sync::Arc;

/// A Compact object and its schema. Nothing is decoded before it is asked for.
///
/// ```
/// use filbert_wire::{Compact, ToData, Value, compact::{Compact as _, CompactRecord, Schema}};
/// use std::{collections::HashMap, sync::Arc};
///
/// #[derive(Compact)]
/// #[compact(name = "person")]
/// struct Person {
///     name: String,
///     age: i32,
/// }
///
/// let data = Person { name: "Ada".into(), age: 36 }.to_data()?;
/// let schemas = HashMap::from([(Person::schema().id(), Arc::new(Person::schema().clone()))]);
/// let record = CompactRecord::of_data(&data, &schemas)?;
/// assert_eq!(record.field("age")?, Some(Value::Int(36)));
/// assert_eq!(record.field("size")?, None);
/// let name = Person::schema().position("name").expect("it has one");
/// assert_eq!(record.text_at(name)?, Some("Ada"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct CompactRecord<'a> {
    schema: Arc<Schema>,
    input: Input<'a>,
    extent: Extent,
}

impl<'a> CompactRecord<'a> {
    /// The record in a `Data`, whose schema and the schemas of objects within are found in `schemas`.
    pub fn of_data(data: &'a Data, schemas: &'a dyn SchemaSource) -> Result<Self, DecodeError> {
        if data.type_id() != type_id::COMPACT {
            return Err(DecodeError::WrongType { expected: "a Compact value", found: data.type_id() });
        }
        let mut input = Input::with_schemas(data.payload(), schemas);
        let record = Self::next(&mut input)?;
        input.finish()?;
        Ok(record)
    }

    fn next(input: &mut Input<'a>) -> Result<Self, DecodeError> {
        let schema = known(input.schemas(), input.get()?)?;
        let extent = Extent::next(&schema, input)?;
        Ok(Self { schema, input: input.again_at(extent.end, extent.end), extent })
    }

    /// Goes over the object that begins here, and gives it as a `Data` of its own.
    pub(crate) fn skip(input: &mut Input<'_>) -> Result<Data, DecodeError> {
        let start = input.offset();
        let schema = known(input.schemas(), input.get()?)?;
        let extent = Extent::next(&schema, input)?;
        // Read once more, and so paid for: many offsets may lead here.
        let bytes = input.within(start, extent.end, |input| input.bytes("a Compact value", input.left()))?;
        Ok(Data::new(type_id::COMPACT, bytes))
    }

    /// Its fields.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The value of a field; `None` when there is no such field. An object within is a [`Value::Opaque`] of type Compact, to be
    /// read by [`CompactRecord::of_data`] in turn, or at once by [`CompactRecord::path`].
    pub fn field(&self, name: &str) -> Result<Option<Value>, DecodeError> {
        self.schema.position(name).map(|index| self.field_at(index)).transpose()
    }

    /// The value of the field at that place of the [schema](CompactRecord::schema), for who looked it up before.
    ///
    /// # Panics
    /// When the schema has fewer fields.
    pub fn field_at(&self, index: usize) -> Result<Value, DecodeError> {
        let mut input = self.input.clone();
        value(&mut CompactReader::of_parts(&self.schema, &mut input, self.extent), index)
    }

    /// The text of the field at that place, which is of kind String; nothing when it is null. It is not copied.
    ///
    /// # Panics
    /// When the schema has fewer fields.
    pub fn text_at(&self, index: usize) -> Result<Option<&'a str>, DecodeError> {
        let mut input = self.input.clone();
        let mut reader = CompactReader::of_parts(&self.schema, &mut input, self.extent);
        match reader.kind(index) {
            FieldKind::String => Ok(reader.variable(index, Input::text)?.flatten()),
            _ => Err(reader.wrong_kind(index, FieldKind::String)),
        }
    }

    /// The value at the end of a path of names, as `["address", "city"]`. Null on the way gives null; `None` when a name is
    /// not there, or leads to something that has no fields.
    pub fn path<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<Option<Value>, DecodeError> {
        let mut names = names.into_iter();
        let Some(first) = names.next() else { return Ok(None) };
        let mut found = self.field(first)?;
        for name in names {
            found = match found {
                Some(Value::Opaque(data)) if data.type_id() == type_id::COMPACT => {
                    CompactRecord::of_data(&data, self.input.schemas())?.field(name)?
                }
                Some(Value::Null) => return Ok(Some(Value::Null)),
                _ => return Ok(None),
            };
        }
        Ok(found)
    }
}

/// Reads a field of whatever kind.
fn value(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Value, DecodeError> {
    use FieldKind::*;

    macro_rules! one {
        ($variant:ident) => {
            reader.variable(index, Payload::read)?.map(Value::$variant)
        };
    }
    macro_rules! many {
        ($variant:ident) => {
            reader
                .items(index, |input| Payload::read(input).map(Value::$variant))?
                .map(|items| Value::List(items.into_iter().map(|item| item.unwrap_or(Value::Null)).collect()))
        };
    }
    macro_rules! numbers {
        ($variant:ident) => {
            reader.variable(index, read_numbers)?.map(Value::$variant)
        };
    }
    let found = match reader.kind(index) {
        Boolean => Some(Value::Bool(reader.boolean(index)?)),
        Int8 => Some(Value::Byte(reader.fixed(index)?)),
        Int16 => Some(Value::Short(reader.fixed(index)?)),
        Int32 => Some(Value::Int(reader.fixed(index)?)),
        Int64 => Some(Value::Long(reader.fixed(index)?)),
        Float32 => Some(Value::Float(reader.fixed(index)?)),
        Float64 => Some(Value::Double(reader.fixed(index)?)),
        NullableBoolean => one!(Bool),
        NullableInt8 => one!(Byte),
        NullableInt16 => one!(Short),
        NullableInt32 => one!(Int),
        NullableInt64 => one!(Long),
        NullableFloat32 => one!(Float),
        NullableFloat64 => one!(Double),
        String => one!(String),
        Decimal => one!(Decimal),
        Time => one!(LocalTime),
        Date => one!(LocalDate),
        Timestamp => one!(LocalDateTime),
        TimestampWithTimezone => one!(OffsetDateTime),
        Compact => reader.variable(index, CompactRecord::skip)?.map(Value::Opaque),
        ArrayOfBoolean => reader.variable(index, read_bits)?.map(Value::BoolArray),
        ArrayOfInt8 => numbers!(ByteArray),
        ArrayOfInt16 => numbers!(ShortArray),
        ArrayOfInt32 => numbers!(IntArray),
        ArrayOfInt64 => numbers!(LongArray),
        ArrayOfFloat32 => numbers!(FloatArray),
        ArrayOfFloat64 => numbers!(DoubleArray),
        ArrayOfString => reader.items(index, Payload::read)?.map(Value::StringArray),
        ArrayOfDecimal => many!(Decimal),
        ArrayOfTime => many!(LocalTime),
        ArrayOfDate => many!(LocalDate),
        ArrayOfTimestamp => many!(LocalDateTime),
        ArrayOfTimestampWithTimezone => many!(OffsetDateTime),
        ArrayOfNullableBoolean => many!(Bool),
        ArrayOfNullableInt8 => many!(Byte),
        ArrayOfNullableInt16 => many!(Short),
        ArrayOfNullableInt32 => many!(Int),
        ArrayOfNullableInt64 => many!(Long),
        ArrayOfNullableFloat32 => many!(Float),
        ArrayOfNullableFloat64 => many!(Double),
        ArrayOfCompact => reader.items(index, CompactRecord::skip)?.map(|items| {
            Value::List(items.into_iter().map(|item| item.map_or(Value::Null, Value::Opaque)).collect())
        }),
    };
    Ok(found.unwrap_or(Value::Null))
}

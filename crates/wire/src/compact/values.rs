//! Writes a Compact object from values, without its Rust type: what queries do that make or change one.

use super::{CompactWriter, FieldKind, Schema, field::write_bits, writer::write_fields};
use crate::data::{Data, EncodeError, Output, Payload, Value, type_id};

/// The Compact object with these values, in the order of [`Schema::fields`]: the counterpart of [`CompactRecord`](super::CompactRecord).
/// A value has the kind that [`CompactRecord::field`](super::CompactRecord::field) gives for its field, or is null where that may be.
///
/// ```
/// use filbert_wire::compact::{CompactRecord, FieldDescriptor, FieldKind, Schema, compact_data};
/// use filbert_wire::Value;
/// use std::{collections::HashMap, sync::Arc};
///
/// let fields = vec![
///     FieldDescriptor { name: "age".into(), kind: FieldKind::NullableInt32 },
///     FieldDescriptor { name: "name".into(), kind: FieldKind::String },
/// ];
/// let schema = Arc::new(Schema::new("person", fields)?);
/// let data = compact_data(&schema, &[Value::Null, Value::String("Ada".into())])?;
/// let schemas = HashMap::from([(schema.id(), schema)]);
/// let record = CompactRecord::of_data(&data, &schemas)?;
/// assert_eq!(record.field("name")?, Some(Value::String("Ada".into())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When a value is not of its field's kind, or there are more or fewer values than fields.
pub fn compact_data(schema: &Schema, values: &[Value]) -> Result<Data, EncodeError> {
    if values.len() != schema.fields().len() {
        return Err(EncodeError::FieldCount {
            type_name: schema.type_name().to_owned(),
            fields: schema.fields().len(),
            values: values.len(),
        });
    }
    let mut out = Output::of_type(type_id::COMPACT, 64);
    write_fields(schema, &mut out, |writer| {
        values.iter().enumerate().try_for_each(|(index, value)| write(writer, schema, index, value))
    })?;
    Ok(out.finish())
}

fn write(
    writer: &mut CompactWriter<'_>,
    schema: &Schema,
    index: usize,
    value: &Value,
) -> Result<(), EncodeError> {
    use FieldKind::*;

    let field = &schema.fields()[index];
    let wrong = |found: &Value| EncodeError::WrongField {
        field: field.name.clone(),
        expected: field.kind,
        found: format!("{found:?}").chars().take(100).collect(),
    };
    macro_rules! one {
        ($variant:ident) => {
            match value {
                Value::$variant(value) => writer.variable(index, |out| value.write(out)),
                other => Err(wrong(other)),
            }
        };
    }
    macro_rules! numbers {
        ($variant:ident) => {
            match value {
                Value::$variant(items) => writer.variable(index, |out| out.array(items)),
                other => Err(wrong(other)),
            }
        };
    }
    macro_rules! many {
        ($variant:ident) => {
            match value {
                Value::List(items) => {
                    let inner = items.iter().map(|item| match item {
                        Value::Null => Ok(None),
                        Value::$variant(item) => Ok(Some(item)),
                        other => Err(wrong(other)),
                    });
                    let inner = inner.collect::<Result<Vec<_>, _>>()?;
                    writer.items(index, inner.into_iter(), Payload::write)
                }
                other => Err(wrong(other)),
            }
        };
    }
    macro_rules! fixed {
        ($variant:ident) => {
            match value {
                Value::$variant(value) => {
                    writer.fixed(index, *value);
                    Ok(())
                }
                other => Err(wrong(other)),
            }
        };
    }
    match (field.kind, value) {
        (Boolean, Value::Bool(value)) => {
            writer.boolean(index, *value);
            Ok(())
        }
        (Boolean, other) => Err(wrong(other)),
        (Int8, _) => fixed!(Byte),
        (Int16, _) => fixed!(Short),
        (Int32, _) => fixed!(Int),
        (Int64, _) => fixed!(Long),
        (Float32, _) => fixed!(Float),
        (Float64, _) => fixed!(Double),
        // All other kinds take null, which is what a field is that nobody writes.
        (_, Value::Null) => Ok(()),
        (NullableBoolean, _) => one!(Bool),
        (NullableInt8, _) => one!(Byte),
        (NullableInt16, _) => one!(Short),
        (NullableInt32, _) => one!(Int),
        (NullableInt64, _) => one!(Long),
        (NullableFloat32, _) => one!(Float),
        (NullableFloat64, _) => one!(Double),
        (String, _) => one!(String),
        (Decimal, _) => one!(Decimal),
        (Time, _) => one!(LocalTime),
        (Date, _) => one!(LocalDate),
        (Timestamp, _) => one!(LocalDateTime),
        (TimestampWithTimezone, _) => one!(OffsetDateTime),
        (Compact, Value::Opaque(data)) if data.type_id() == type_id::COMPACT => {
            writer.variable(index, |out| object(data, out))
        }
        (ArrayOfBoolean, Value::BoolArray(items)) => writer.variable(index, |out| write_bits(items, out)),
        (ArrayOfInt8, Value::ByteArray(bytes)) => writer.variable(index, |out| out.prefixed(bytes)),
        (ArrayOfInt16, _) => numbers!(ShortArray),
        (ArrayOfInt32, _) => numbers!(IntArray),
        (ArrayOfInt64, _) => numbers!(LongArray),
        (ArrayOfFloat32, _) => numbers!(FloatArray),
        (ArrayOfFloat64, _) => numbers!(DoubleArray),
        (ArrayOfString, Value::StringArray(items)) => {
            writer.items(index, items.iter().map(Option::as_ref), Payload::write)
        }
        (ArrayOfDecimal, _) => many!(Decimal),
        (ArrayOfTime, _) => many!(LocalTime),
        (ArrayOfDate, _) => many!(LocalDate),
        (ArrayOfTimestamp, _) => many!(LocalDateTime),
        (ArrayOfTimestampWithTimezone, _) => many!(OffsetDateTime),
        (ArrayOfNullableBoolean, _) => many!(Bool),
        (ArrayOfNullableInt8, _) => many!(Byte),
        (ArrayOfNullableInt16, _) => many!(Short),
        (ArrayOfNullableInt32, _) => many!(Int),
        (ArrayOfNullableInt64, _) => many!(Long),
        (ArrayOfNullableFloat32, _) => many!(Float),
        (ArrayOfNullableFloat64, _) => many!(Double),
        (ArrayOfCompact, Value::List(items)) => {
            let inner = items.iter().map(|item| match item {
                Value::Null => Ok(None),
                Value::Opaque(data) if data.type_id() == type_id::COMPACT => Ok(Some(data)),
                other => Err(wrong(other)),
            });
            let inner = inner.collect::<Result<Vec<_>, _>>()?;
            writer.items(index, inner.into_iter(), object)
        }
        (Compact | ArrayOfBoolean | ArrayOfInt8 | ArrayOfString | ArrayOfCompact, other) => Err(wrong(other)),
    }
}

/// An object within is the payload that it has alone.
fn object(data: &Data, out: &mut Output) -> Result<(), EncodeError> {
    out.bytes(data.payload());
    Ok(())
}

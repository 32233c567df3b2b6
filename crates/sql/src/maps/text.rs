//! Values as text: what a text column shows of something that is no text.

use filbert_wire::compact::{CompactRecord, SchemaSource};
use filbert_wire::{DecodeError, Value, type_id};
use serde_json::Value as Json;
use std::fmt::Write;

/// How deep objects within objects are shown; what is deeper is an error.
const MAX_DEPTH: u32 = 64;

/// The value as text: strings as they are, numbers and dates as they are written, everything with parts as JSON.
pub(crate) fn text_of(value: &Value, schemas: &dyn SchemaSource) -> Result<String, DecodeError> {
    Ok(match value {
        Value::String(text) | Value::Json(text) => text.clone(),
        other => match to_json(other, schemas, 0)? {
            Json::String(text) => text,
            json => json.to_string(),
        },
    })
}

/// The value as JSON.
pub(crate) fn to_json(value: &Value, schemas: &dyn SchemaSource, depth: u32) -> Result<Json, DecodeError> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::TooDeep { offset: 0, limit: MAX_DEPTH });
    }
    let float = |number: f64| {
        serde_json::Number::from_f64(number).map_or_else(|| number.to_string().into(), Json::Number)
    };
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Byte(value) => (*value).into(),
        Value::Short(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::Long(value) => (*value).into(),
        // The shortest digits that are this number, and not those of its 64-bit neighbour.
        Value::Float(value) => value.to_string().parse().map_or_else(|_| value.to_string().into(), float),
        Value::Double(value) => float(*value),
        Value::Char(unit) => String::from_utf16_lossy(&[*unit]).into(),
        Value::String(text) => text.as_str().into(),
        Value::Json(text) => serde_json::from_str(text).unwrap_or_else(|_| text.as_str().into()),
        Value::Uuid(id) => id.to_string().into(),
        Value::ByteArray(bytes) => hex(bytes).into(),
        Value::BoolArray(items) => items.as_slice().into(),
        Value::CharArray(units) => String::from_utf16_lossy(units).into(),
        Value::ShortArray(items) => items.as_slice().into(),
        Value::IntArray(items) => items.as_slice().into(),
        Value::LongArray(items) => items.as_slice().into(),
        Value::FloatArray(items) => Json::Array(
            items
                .iter()
                .map(|item| to_json(&Value::Float(*item), schemas, depth))
                .collect::<Result<_, _>>()?,
        ),
        Value::DoubleArray(items) => Json::Array(items.iter().map(|item| float(*item)).collect()),
        Value::StringArray(items) => {
            items.iter().map(|item| item.as_deref().map_or(Json::Null, Json::from)).collect()
        }
        Value::List(items) => {
            Json::Array(items.iter().map(|item| to_json(item, schemas, depth + 1)).collect::<Result<_, _>>()?)
        }
        Value::BigInteger(number) => number.to_string().into(),
        Value::Decimal(number) => number.to_string().into(),
        Value::LocalDate(date) => date.to_string().into(),
        Value::LocalTime(time) => time.to_string().into(),
        Value::LocalDateTime(time) => time.to_string().into(),
        Value::OffsetDateTime(time) => time.to_string().into(),
        Value::Date(ms) => (*ms).into(),
        Value::Opaque(data) if data.type_id() == type_id::COMPACT => {
            let record = CompactRecord::of_data(data, schemas)?;
            let mut members = serde_json::Map::new();
            for field in record.schema().fields() {
                let value = record.field(&field.name)?.unwrap_or(Value::Null);
                members.insert(field.name.clone(), to_json(&value, schemas, depth + 1)?);
            }
            Json::Object(members)
        }
        Value::Opaque(data) => hex(data.payload()).into(),
        other => format!("{other:?}").into(),
    })
}

/// Bytes as text, in PostgreSQL's way.
fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 + bytes.len() * 2);
    text.push_str("\\x");
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

//! `Value`: whatever a [`Data`] holds, for code that does not know the type beforehand, such as predicates and aggregations.
//!
//! A value whose form is not known here (Portable, pickled Python, a custom serializer) stays an opaque `Data`; so does a list that
//! contains one, because only its own serializer knows where such an item ends.

use super::{
    BigInteger, Data, Decimal, DecodeError, EncodeError, FromData, Input, LocalDate, LocalDateTime,
    LocalTime, OffsetDateTime, Output, ToData,
    payload::Payload,
    type_id::{self, *},
};
use crate::compact::{CompactRecord, SchemaSource};
use uuid::Uuid;

/// What a [`Data`] holds. `==` is structural: an int is never equal to a long; for the equality of queries see [`Value::compare`].
///
/// Decoding takes memory in proportion to the input: an item of a list, 4 bytes at least, becomes one `Value`.
///
/// ```
/// use filbert_wire::{FromData, ToData, Value};
///
/// let data = vec!["a", "b"].to_data()?;
/// let value = Value::from_data(&data)?;
/// assert_eq!(value, Value::List(vec![Value::String("a".into()), Value::String("b".into())]));
/// assert_eq!(value.to_data()?, data);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// 8 bits.
    Byte(i8),
    /// 16 bits.
    Short(i16),
    /// 32 bits.
    Int(i32),
    /// 64 bits.
    Long(i64),
    /// 32 bits of floating point.
    Float(f32),
    /// 64 bits of floating point.
    Double(f64),
    /// One UTF-16 code unit, which may be half of a pair.
    Char(u16),
    /// Text.
    String(String),
    /// A UUID.
    Uuid(Uuid),
    /// The text of a JSON value; it was not parsed.
    Json(String),
    /// Bytes.
    ByteArray(Vec<u8>),
    /// Booleans.
    BoolArray(Vec<bool>),
    /// UTF-16 code units.
    CharArray(Vec<u16>),
    /// Shorts.
    ShortArray(Vec<i16>),
    /// Ints.
    IntArray(Vec<i32>),
    /// Longs.
    LongArray(Vec<i64>),
    /// Floats.
    FloatArray(Vec<f32>),
    /// Doubles.
    DoubleArray(Vec<f64>),
    /// Strings, of which any may be null.
    StringArray(Vec<Option<String>>),
    /// Values of any kind. Read from Java's lists, sets and object arrays, written as an ArrayList.
    List(Vec<Value>),
    /// A whole number of any size.
    BigInteger(BigInteger),
    /// A decimal number of any size.
    Decimal(Decimal),
    /// A date.
    LocalDate(LocalDate),
    /// A time of the day.
    LocalTime(LocalTime),
    /// A date and time in no particular time zone.
    LocalDateTime(LocalDateTime),
    /// A date and time with its offset from UTC.
    OffsetDateTime(OffsetDateTime),
    /// Milliseconds since 1970, UTC: Java's Date.
    Date(i64),
    /// Anything else, as it came: its type id says what it is. A Compact object is read with [`CompactRecord`].
    Opaque(Data),
}

impl Value {
    /// Whether this is null.
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl FromData for Value {
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        fn or_null<T>(found: Option<T>, value: impl FnOnce(T) -> Value) -> Value {
            found.map_or(Value::Null, value)
        }
        Ok(match type_id {
            NULL => Self::Null,
            BOOLEAN => Self::Bool(input.get()?),
            BYTE => Self::Byte(input.get()?),
            SHORT => Self::Short(input.get()?),
            INTEGER => Self::Int(input.get()?),
            LONG => Self::Long(input.get()?),
            FLOAT => Self::Float(input.get()?),
            DOUBLE => Self::Double(input.get()?),
            CHAR => Self::Char(input.get()?),
            STRING => or_null(input.text()?, |text| Self::String(text.to_owned())),
            JSON => or_null(input.text()?, |text| Self::Json(text.to_owned())),
            type_id::UUID => Self::Uuid(Payload::read(input)?),
            BYTE_ARRAY => or_null(input.prefixed("a byte array")?, |bytes| Self::ByteArray(bytes.to_vec())),
            BOOLEAN_ARRAY => or_null(input.array("a boolean array")?, Self::BoolArray),
            CHAR_ARRAY => or_null(input.array("a char array")?, Self::CharArray),
            SHORT_ARRAY => or_null(input.array("a short array")?, Self::ShortArray),
            INTEGER_ARRAY => or_null(input.array("an int array")?, Self::IntArray),
            LONG_ARRAY => or_null(input.array("a long array")?, Self::LongArray),
            FLOAT_ARRAY => or_null(input.array("a float array")?, Self::FloatArray),
            DOUBLE_ARRAY => or_null(input.array("a double array")?, Self::DoubleArray),
            STRING_ARRAY => or_null(strings(input)?, Self::StringArray),
            _ if is_list(type_id) => or_null(input.objects(Self::read_payload)?, Self::List),
            BIG_INTEGER => Self::BigInteger(Payload::read(input)?),
            BIG_DECIMAL => Self::Decimal(Payload::read(input)?),
            LOCAL_DATE => Self::LocalDate(Payload::read(input)?),
            LOCAL_TIME => Self::LocalTime(Payload::read(input)?),
            LOCAL_DATE_TIME => Self::LocalDateTime(Payload::read(input)?),
            OFFSET_DATE_TIME => Self::OffsetDateTime(Payload::read(input)?),
            DATE => Self::Date(input.get()?),
            COMPACT => Self::Opaque(CompactRecord::skip(input)?),
            _ => return Err(DecodeError::UnknownForm { type_id }),
        })
    }

    fn from_data_with(data: &Data, schemas: &dyn SchemaSource) -> Result<Self, DecodeError> {
        if data.type_id() == COMPACT {
            return Ok(Self::Opaque(data.clone()));
        }
        let mut input = Input::with_schemas(data.payload(), schemas);
        match Self::read_payload(data.type_id(), &mut input) {
            // Also when an item within cannot be skipped: then nobody here knows where it ends.
            Err(
                DecodeError::UnknownForm { .. }
                | DecodeError::UnknownSchema { .. }
                | DecodeError::NumberTooLong { .. },
            ) => Ok(Self::Opaque(data.clone())),
            Err(error) => Err(error),
            Ok(value) => input.finish().map(|()| value),
        }
    }
}

/// Java's collections that are written as a count and that many objects.
pub(crate) fn is_list(type_id: i32) -> bool {
    matches!(
        type_id,
        OBJECT_ARRAY
            | ARRAY_LIST
            | LINKED_LIST
            | COPY_ON_WRITE_ARRAY_LIST
            | HASH_SET
            | LINKED_HASH_SET
            | COPY_ON_WRITE_ARRAY_SET
    )
}

/// A string array: a count, and strings that may be null.
fn strings(input: &mut Input<'_>) -> Result<Option<Vec<Option<String>>>, DecodeError> {
    let Some(count) = input.length("a string array", 4)? else { return Ok(None) };
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        items.push(input.text()?.map(str::to_owned));
    }
    Ok(Some(items))
}

impl ToData for Value {
    fn type_id(&self) -> i32 {
        match self {
            Self::Null => NULL,
            Self::Bool(_) => BOOLEAN,
            Self::Byte(_) => BYTE,
            Self::Short(_) => SHORT,
            Self::Int(_) => INTEGER,
            Self::Long(_) => LONG,
            Self::Float(_) => FLOAT,
            Self::Double(_) => DOUBLE,
            Self::Char(_) => CHAR,
            Self::String(_) => STRING,
            Self::Uuid(_) => type_id::UUID,
            Self::Json(_) => JSON,
            Self::ByteArray(_) => BYTE_ARRAY,
            Self::BoolArray(_) => BOOLEAN_ARRAY,
            Self::CharArray(_) => CHAR_ARRAY,
            Self::ShortArray(_) => SHORT_ARRAY,
            Self::IntArray(_) => INTEGER_ARRAY,
            Self::LongArray(_) => LONG_ARRAY,
            Self::FloatArray(_) => FLOAT_ARRAY,
            Self::DoubleArray(_) => DOUBLE_ARRAY,
            Self::StringArray(_) => STRING_ARRAY,
            Self::List(_) => ARRAY_LIST,
            Self::BigInteger(_) => BIG_INTEGER,
            Self::Decimal(_) => BIG_DECIMAL,
            Self::LocalDate(_) => LOCAL_DATE,
            Self::LocalTime(_) => LOCAL_TIME,
            Self::LocalDateTime(_) => LOCAL_DATE_TIME,
            Self::OffsetDateTime(_) => OFFSET_DATE_TIME,
            Self::Date(_) => DATE,
            Self::Opaque(data) => data.type_id(),
        }
    }

    fn payload_size(&self) -> usize {
        match self {
            Self::Null => 0,
            Self::Bool(_) | Self::Byte(_) => 1,
            Self::Short(_) | Self::Char(_) => 2,
            Self::Int(_) | Self::Float(_) => 4,
            Self::Long(_) | Self::Double(_) | Self::Date(_) => 8,
            Self::String(text) | Self::Json(text) => text.size(),
            Self::Uuid(uuid) => uuid.size(),
            Self::ByteArray(bytes) => 4 + bytes.len(),
            Self::BoolArray(items) => 4 + items.len(),
            Self::CharArray(items) => 4 + items.len() * 2,
            Self::ShortArray(items) => 4 + items.len() * 2,
            Self::IntArray(items) => 4 + items.len() * 4,
            Self::LongArray(items) => 4 + items.len() * 8,
            Self::FloatArray(items) => 4 + items.len() * 4,
            Self::DoubleArray(items) => 4 + items.len() * 8,
            Self::StringArray(items) => {
                4 + items.iter().map(|text| 4 + text.as_ref().map_or(0, String::len)).sum::<usize>()
            }
            // The depth is not known to be bounded before writing; a guess is enough here.
            Self::List(items) => 4 + items.len() * 8,
            Self::BigInteger(number) => number.size(),
            Self::Decimal(number) => number.size(),
            Self::LocalDate(date) => date.size(),
            Self::LocalTime(time) => time.size(),
            Self::LocalDateTime(moment) => moment.size(),
            Self::OffsetDateTime(moment) => moment.size(),
            Self::Opaque(data) => data.payload().len(),
        }
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        match self {
            Self::Null => Ok(()),
            Self::Bool(value) => value.write(out),
            Self::Byte(value) => value.write(out),
            Self::Short(value) => value.write(out),
            Self::Int(value) => value.write(out),
            Self::Long(value) | Self::Date(value) => value.write(out),
            Self::Float(value) => value.write(out),
            Self::Double(value) => value.write(out),
            Self::Char(value) => value.write(out),
            Self::String(text) | Self::Json(text) => text.write(out),
            Self::Uuid(uuid) => uuid.write(out),
            Self::ByteArray(bytes) => out.prefixed(bytes),
            Self::BoolArray(items) => out.array(items),
            Self::CharArray(items) => out.array(items),
            Self::ShortArray(items) => out.array(items),
            Self::IntArray(items) => out.array(items),
            Self::LongArray(items) => out.array(items),
            Self::FloatArray(items) => out.array(items),
            Self::DoubleArray(items) => out.array(items),
            Self::StringArray(items) => {
                out.length(items.len())?;
                items.iter().try_for_each(|item| match item {
                    Some(text) => text.write(out),
                    None => {
                        out.put(-1_i32);
                        Ok(())
                    }
                })
            }
            Self::List(items) => items.write_payload(out),
            Self::BigInteger(number) => number.write(out),
            Self::Decimal(number) => number.write(out),
            Self::LocalDate(date) => date.write(out),
            Self::LocalTime(time) => time.write(out),
            Self::LocalDateTime(moment) => moment.write(out),
            Self::OffsetDateTime(moment) => moment.write(out),
            Self::Opaque(data) => {
                out.payload_of(data);
                Ok(())
            }
        }
    }

    fn to_data(&self) -> Result<Data, EncodeError> {
        match self {
            Self::Opaque(data) => Ok(data.clone()),
            other => super::to_data::encode(other),
        }
    }
}

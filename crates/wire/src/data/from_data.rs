//! `FromData`: reads a [`Data`] as a Rust type.
//!
//! Numbers are read across types as long as nothing is lost: Python writes the smallest type that fits, Java what was declared, and a
//! program that asks for an `i64` wants the number. What would be lost is an error, never a rounded or cut number.

use super::{
    BigInteger, Data, Decimal, DecodeError, Input, LocalDate, LocalDateTime, LocalTime, OffsetDateTime,
    payload::Payload,
    type_id::{self, *},
    value::is_list,
};
use crate::compact::{NO_SCHEMAS, SchemaSource};
use bytes::Bytes;
use uuid::Uuid;

/// A type that can be read from a [`Data`]: those of [`ToData`](crate::ToData) that own what they hold.
///
/// ```
/// use filbert_wire::{DecodeError, FromData, ToData};
///
/// let data = 300_i16.to_data()?;
/// assert_eq!(i64::from_data(&data)?, 300);
/// assert!(matches!(i8::from_data(&data), Err(DecodeError::DoesNotFit { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from Hazelcast `Data`",
    note = "Hazelcast has no unsigned and no 128-bit numbers: read a signed type, or `BigInteger`",
    note = "a struct needs `#[derive(Compact)]`; any serde type can be wrapped: `Json<T>`"
)]
pub trait FromData: Sized {
    /// Reads a payload of that type id, and no byte more.
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError>;

    /// Reads a value. Compact structs are read when they have the schema of their Rust type.
    fn from_data(data: &Data) -> Result<Self, DecodeError> {
        Self::from_data_with(data, NO_SCHEMAS)
    }

    /// Reads a value; Compact structs also when they were written with another schema of the same type name.
    fn from_data_with(data: &Data, schemas: &dyn SchemaSource) -> Result<Self, DecodeError> {
        let mut input = Input::with_schemas(data.payload(), schemas);
        let value = Self::read_payload(data.type_id(), &mut input)?;
        input.finish()?;
        Ok(value)
    }
}

fn mismatch(expected: &'static str, found: i32) -> DecodeError {
    if found == NULL {
        DecodeError::UnexpectedNull { expected }
    } else {
        DecodeError::WrongType { expected, found }
    }
}

/// A whole number of any type, as the widest.
fn whole(expected: &'static str, type_id: i32, input: &mut Input<'_>) -> Result<i128, DecodeError> {
    Ok(match type_id {
        LONG => input.get::<i64>()?.into(),
        INTEGER => input.get::<i32>()?.into(),
        SHORT => input.get::<i16>()?.into(),
        BYTE => input.get::<i8>()?.into(),
        BIG_INTEGER => {
            let number = BigInteger::read(input)?;
            number.to_i128().ok_or_else(|| DecodeError::DoesNotFit { expected, found: number.to_string() })?
        }
        other => return Err(mismatch(expected, other)),
    })
}

macro_rules! whole_numbers {
    ($($type:ty, $name:literal;)*) => {$(
        impl FromData for $type {
            fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
                let number = whole($name, type_id, input)?;
                Self::try_from(number)
                    .map_err(|_| DecodeError::DoesNotFit { expected: $name, found: number.to_string() })
            }
        }
    )*};
}

whole_numbers! {
    i8, "i8";
    i16, "i16";
    i32, "i32";
    i64, "i64";
}

impl FromData for BigInteger {
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        match type_id {
            BIG_INTEGER => Payload::read(input),
            other => whole(Self::NAME, other, input).map(Self::from),
        }
    }
}

impl FromData for Decimal {
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        match type_id {
            BIG_DECIMAL => Payload::read(input),
            other => BigInteger::read_payload(other, input).map(|number| Self::from_parts(number, 0)),
        }
    }
}

impl FromData for f64 {
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        match type_id {
            DOUBLE => input.get(),
            FLOAT => input.get::<f32>().map(Self::from),
            other => {
                let number = whole("f64", other, input)?;
                // The way back tells whether the number was rounded; 2^127 and more come back as i128::MAX, which is not.
                let float = number as Self;
                if float as i128 == number && number != i128::MAX {
                    Ok(float)
                } else {
                    Err(DecodeError::DoesNotFit { expected: "f64", found: number.to_string() })
                }
            }
        }
    }
}

impl FromData for f32 {
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        if type_id == FLOAT {
            return input.get();
        }
        let wide = f64::read_payload(type_id, input)?;
        let narrow = wide as Self;
        if f64::from(narrow) == wide || wide.is_nan() {
            Ok(narrow)
        } else {
            Err(DecodeError::DoesNotFit { expected: "f32", found: wide.to_string() })
        }
    }
}

macro_rules! by_payload {
    ($($type:ty = $type_id:expr;)*) => {$(
        impl FromData for $type {
            fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
                if type_id == $type_id { Payload::read(input) } else { Err(mismatch(Self::NAME, type_id)) }
            }
        }
    )*};
}

by_payload! {
    bool = BOOLEAN;
    String = STRING;
    Uuid = type_id::UUID;
    LocalDate = LOCAL_DATE;
    LocalTime = LOCAL_TIME;
    LocalDateTime = LOCAL_DATE_TIME;
    OffsetDateTime = OFFSET_DATE_TIME;
}

impl FromData for () {
    fn read_payload(type_id: i32, _input: &mut Input<'_>) -> Result<Self, DecodeError> {
        if type_id == NULL { Ok(()) } else { Err(mismatch("null", type_id)) }
    }
}

impl FromData for char {
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        if type_id != CHAR {
            return Err(mismatch("a char", type_id));
        }
        let unit: u16 = input.get()?;
        Self::from_u32(unit.into()).ok_or(DecodeError::Invalid {
            what: "character (half of a surrogate pair)",
            offset: input.offset(),
        })
    }
}

impl FromData for Vec<u8> {
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        const NAME: &str = "a byte array";
        if type_id != BYTE_ARRAY {
            return Err(mismatch(NAME, type_id));
        }
        let bytes = input.prefixed(NAME)?;
        bytes.map(<[u8]>::to_vec).ok_or(DecodeError::UnexpectedNull { expected: NAME })
    }
}

impl FromData for Bytes {
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        Vec::read_payload(type_id, input).map(Self::from)
    }
}

/// Reads lists, and arrays of numbers or strings as well: a list of `i32` is read from an int array too.
impl<T: FromData> FromData for Vec<T> {
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        let found = match type_id {
            _ if is_list(type_id) => input.objects(T::read_payload)?,
            BOOLEAN_ARRAY => items(input, BOOLEAN, 1)?,
            CHAR_ARRAY => items(input, CHAR, 2)?,
            SHORT_ARRAY => items(input, SHORT, 2)?,
            INTEGER_ARRAY => items(input, INTEGER, 4)?,
            LONG_ARRAY => items(input, LONG, 8)?,
            FLOAT_ARRAY => items(input, FLOAT, 4)?,
            DOUBLE_ARRAY => items(input, DOUBLE, 8)?,
            STRING_ARRAY => string_items(input)?,
            other => return Err(mismatch("a list", other)),
        };
        found.ok_or(DecodeError::UnexpectedNull { expected: "a list" })
    }
}

/// The items of an array, which all have one type and do not say so.
fn items<T: FromData>(
    input: &mut Input<'_>,
    type_id: i32,
    size: usize,
) -> Result<Option<Vec<T>>, DecodeError> {
    let Some(count) = input.length("an array", size)? else { return Ok(None) };
    (0..count).map(|_| T::read_payload(type_id, input)).collect::<Result<_, _>>().map(Some)
}

/// The items of a string array, of which each may be null.
fn string_items<T: FromData>(input: &mut Input<'_>) -> Result<Option<Vec<T>>, DecodeError> {
    let Some(count) = input.length("a string array", 4)? else { return Ok(None) };
    let item = |_| {
        let start = input.offset();
        if input.get::<i32>()? == -1 {
            return T::read_payload(NULL, input);
        }
        input.seek(start)?;
        T::read_payload(STRING, input)
    };
    (0..count).map(item).collect::<Result<_, _>>().map(Some)
}

impl<T: FromData> FromData for Option<T> {
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        if type_id == NULL { Ok(None) } else { T::read_payload(type_id, input).map(Some) }
    }
}

impl<T: FromData> FromData for Box<T> {
    fn read_payload(type_id: i32, input: &mut Input<'_>) -> Result<Self, DecodeError> {
        T::read_payload(type_id, input).map(Self::new)
    }
}

/// A `Data` as it is. As an item of a list it is of unknown length, and so refused.
impl FromData for Data {
    fn read_payload(type_id: i32, _input: &mut Input<'_>) -> Result<Self, DecodeError> {
        Err(DecodeError::UnknownForm { type_id })
    }

    fn from_data_with(data: &Data, _schemas: &dyn SchemaSource) -> Result<Self, DecodeError> {
        Ok(data.clone())
    }
}

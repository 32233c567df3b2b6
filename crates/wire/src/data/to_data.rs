//! `ToData`: which Rust types become a [`Data`], and as what; the table stands at the trait.
//!
//! A type that Hazelcast lacks does not compile. A silent mapping was rejected: a `u64` that becomes a negative long in Python is found
//! too late.
//!
//! Traits with one implementation per type were preferred to a serde format: serde cannot tell a byte array from a list of
//! numbers, nor a UUID from 16 bytes, and it knows no schema before it has seen a value. What is serde's own field, structures without a
//! declared schema, is [`Json<T>`](crate::Json).

use super::{
    BigInteger, Data, Decimal, EncodeError, LocalDate, LocalDateTime, LocalTime, OffsetDateTime, Output,
    payload::Payload,
    type_id::{self, *},
};
use crate::compact::Schema;
use bytes::Bytes;
use std::borrow::Cow;
use uuid::Uuid;

/// A type that becomes a [`Data`].
///
/// ```
/// use filbert_wire::{FromData, ToData};
///
/// let key = "filbert".to_data()?;
/// assert_eq!((key.type_id(), String::from_data(&key)?), (-11, "filbert".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// | Rust | Hazelcast | type id |
/// |---|---|---|
/// | `()`, `None` | null | 0 |
/// | `bool` | Boolean | -4 |
/// | `i8`, `i16`, `i32`, `i64` | Byte, Short, Integer, Long | -3, -6, -7, -8 |
/// | `f32`, `f64` | Float, Double | -9, -10 |
/// | `char` | Character; beyond the first plane an error | -5 |
/// | `str`, `String`, `Cow<str>` | String | -11 |
/// | `[u8]`, `Vec<u8>`, `[u8; N]`, `Bytes` | byte\[\] | -12 |
/// | [`Array<T>`](crate::Array) | boolean\[\], short\[\], int\[\], long\[\], float\[\], double\[\], String\[\] | -13 to -20 |
/// | `Uuid` | UUID | -21 |
/// | [`BigInteger`], [`Decimal`] | BigInteger, BigDecimal | -26, -27 |
/// | `[T]`, `Vec<T>`, `[T; N]` | ArrayList | -29 |
/// | [`LocalDate`], [`LocalTime`], [`LocalDateTime`], [`OffsetDateTime`] | the same of java.time | -51 to -54 |
/// | a struct with [`#[derive(Compact)]`](macro@crate::Compact) | Compact | -55 |
/// | [`Json<T>`](crate::Json), for every serde type `T` | HazelcastJsonValue | -130 |
///
/// `Option<T>`, `Box<T>` and `&T` are written as `T`; a [`Value`](crate::Value) and a [`Data`] as what they hold.
///
/// The types that Hazelcast lacks do not compile. Cast `u8`, `u16` and `u32` to the next larger signed type, make a [`BigInteger`] of `u64`,
/// `i128` and `u128`, and decide what `usize` is:
///
/// ```compile_fail
/// use filbert_wire::ToData;
///
/// let data = 1_u64.to_data();
/// ```
///
/// ```
/// use filbert_wire::{BigInteger, ToData};
///
/// let data = BigInteger::from(i128::from(u64::MAX)).to_data();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no form as Hazelcast `Data`",
    note = "Hazelcast has no unsigned and no 128-bit numbers: use the next larger signed type, or `BigInteger`",
    note = "a struct needs `#[derive(Compact)]`; any serde type can be wrapped: `Json(value)`"
)]
pub trait ToData {
    /// How the payload is to be read.
    fn type_id(&self) -> i32;

    /// How many bytes [`ToData::write_payload`] appends; a guess costs a second allocation, nothing else.
    fn payload_size(&self) -> usize;

    /// Appends the payload.
    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError>;

    /// Adds the schemas of the Compact types that such a value may contain: others must be given them before the value.
    fn schemas(_found: &mut Vec<&'static Schema>) {}

    /// The value as [`Data`].
    fn to_data(&self) -> Result<Data, EncodeError> {
        encode(self)
    }
}

/// Header and payload, in one allocation when the size is exact.
pub(crate) fn encode<T: ToData + ?Sized>(value: &T) -> Result<Data, EncodeError> {
    let mut out = Output::of_type(value.type_id(), value.payload_size());
    value.write_payload(&mut out)?;
    Ok(out.finish())
}

macro_rules! by_payload {
    ($($type:ty = $type_id:expr;)*) => {$(
        impl ToData for $type {
            fn type_id(&self) -> i32 {
                $type_id
            }

            fn payload_size(&self) -> usize {
                self.size()
            }

            fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
                self.write(out)
            }
        }
    )*};
}

by_payload! {
    bool = BOOLEAN;
    i8 = BYTE;
    i16 = SHORT;
    i32 = INTEGER;
    i64 = LONG;
    f32 = FLOAT;
    f64 = DOUBLE;
    Uuid = type_id::UUID;
    BigInteger = BIG_INTEGER;
    Decimal = BIG_DECIMAL;
    LocalDate = LOCAL_DATE;
    LocalTime = LOCAL_TIME;
    LocalDateTime = LOCAL_DATE_TIME;
    OffsetDateTime = OFFSET_DATE_TIME;
}

/// Types whose payload is a length and bytes.
macro_rules! by_bytes {
    ($($type:ty = $type_id:expr, [$($generics:tt)*];)*) => {$(
        impl<$($generics)*> ToData for $type {
            fn type_id(&self) -> i32 {
                $type_id
            }

            fn payload_size(&self) -> usize {
                4 + self.len()
            }

            fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
                let bytes: &[u8] = self.as_ref();
                out.prefixed(bytes)
            }
        }
    )*};
}

by_bytes! {
    str = STRING, [];
    String = STRING, [];
    [u8] = BYTE_ARRAY, [];
    Vec<u8> = BYTE_ARRAY, [];
    Bytes = BYTE_ARRAY, [];
    [u8; N] = BYTE_ARRAY, [const N: usize];
}

impl ToData for () {
    fn type_id(&self) -> i32 {
        NULL
    }

    fn payload_size(&self) -> usize {
        0
    }

    fn write_payload(&self, _out: &mut Output) -> Result<(), EncodeError> {
        Ok(())
    }
}

impl ToData for char {
    fn type_id(&self) -> i32 {
        CHAR
    }

    fn payload_size(&self) -> usize {
        2
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        let unit = u16::try_from(*self).map_err(|_| EncodeError::WideCharacter { character: *self })?;
        out.put(unit);
        Ok(())
    }
}

impl<T: ToData> ToData for [T] {
    fn type_id(&self) -> i32 {
        ARRAY_LIST
    }

    fn payload_size(&self) -> usize {
        4 + self.iter().map(|item| 4 + item.payload_size()).sum::<usize>()
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        out.length(self.len())?;
        out.nested(|out| {
            self.iter().try_for_each(|item| {
                out.put(item.type_id());
                item.write_payload(out)
            })
        })
    }

    fn schemas(found: &mut Vec<&'static Schema>) {
        T::schemas(found);
    }
}

impl<T: ToData> ToData for Option<T> {
    fn type_id(&self) -> i32 {
        self.as_ref().map_or(NULL, T::type_id)
    }

    fn payload_size(&self) -> usize {
        self.as_ref().map_or(0, T::payload_size)
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        self.as_ref().map_or(Ok(()), |value| value.write_payload(out))
    }

    fn schemas(found: &mut Vec<&'static Schema>) {
        T::schemas(found);
    }
}

/// Types that are written as another one that they lead to.
macro_rules! by_target {
    ($([$($generics:tt)*] $type:ty => $target:ty;)*) => {$(
        impl<$($generics)*> ToData for $type {
            fn type_id(&self) -> i32 {
                <$target>::type_id(self)
            }

            fn payload_size(&self) -> usize {
                <$target>::payload_size(self)
            }

            fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
                <$target>::write_payload(self, out)
            }

            fn schemas(found: &mut Vec<&'static Schema>) {
                <$target>::schemas(found);
            }

            fn to_data(&self) -> Result<Data, EncodeError> {
                <$target>::to_data(self)
            }
        }
    )*};
}

by_target! {
    [T: ToData + ?Sized] &T => T;
    [T: ToData + ?Sized] Box<T> => T;
    [] Cow<'_, str> => str;
    [T: ToData] Vec<T> => [T];
    [T: ToData, const N: usize] [T; N] => [T];
}

impl ToData for Data {
    fn type_id(&self) -> i32 {
        Data::type_id(self)
    }

    fn payload_size(&self) -> usize {
        self.payload().len()
    }

    fn write_payload(&self, out: &mut Output) -> Result<(), EncodeError> {
        out.payload_of(self);
        Ok(())
    }

    fn to_data(&self) -> Result<Data, EncodeError> {
        Ok(self.clone())
    }
}

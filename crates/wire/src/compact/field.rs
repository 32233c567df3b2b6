//! `CompactField`: which Rust types a field of a `#[derive(Compact)]` struct may have, and of which kind it then is.
//!
//! | Rust | kind |
//! |---|---|
//! | `bool`, `i8`, `i16`, `i32`, `i64`, `f32`, `f64` | Boolean, Int8 to Int64, Float32, Float64 |
//! | `Option` of these | NullableBoolean, NullableInt8 ... |
//! | `String`, [`Decimal`], [`LocalTime`], [`LocalDate`], [`LocalDateTime`], [`OffsetDateTime`] | String, Decimal, Time, Date, Timestamp, TimestampWithTimezone |
//! | a struct that is `Compact` | Compact |
//! | `Vec` of all these, also of `Option` of them | ArrayOf..., of the numbers ArrayOfNullable... |
//! | `Vec<u8>` | ArrayOfInt8, a byte array |
//!
//! Where a kind may hold null, `Option<T>` is the same kind as `T`. A number is read from its nullable kind too, and the other way round,
//! as Hazelcast does, so that a field may become optional without a new name.

use super::{Compact, CompactReader, CompactWriter, FieldKind, Schema, read_record, write_record};
use crate::data::{
    Decimal, DecodeError, EncodeError, Fixed, Input, LocalDate, LocalDateTime, LocalTime, OffsetDateTime,
    Output, Payload,
};

/// A type that a field of a Compact struct may have.
///
/// ```compile_fail
/// #[derive(filbert_wire::Compact)]
/// struct Stock {
///     pieces: u64, // Hazelcast has no unsigned numbers
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "a field of a Compact struct cannot be a `{Self}`",
    note = "numbers are bool, i8, i16, i32, i64, f32, f64 and Decimal: for an unsigned or 128-bit number use a wider \
            signed type or Decimal",
    note = "other fields are String, LocalDate, LocalTime, LocalDateTime, OffsetDateTime, structs with \
            #[derive(Compact)], and Option or Vec of all these"
)]
pub trait CompactField: Sized {
    /// The kind of the field.
    const KIND: FieldKind;

    /// Writes the field with that index in the schema.
    fn write_field(&self, writer: &mut CompactWriter<'_>, index: usize) -> Result<(), EncodeError>;

    /// Reads the field with that index in the schema.
    fn read_field(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError>;

    /// The value when the schema has no such field: none, but for options.
    fn absent() -> Option<Self> {
        None
    }

    /// Adds the schemas of structs within.
    fn schemas(_found: &mut Vec<&'static Schema>) {}
}

/// Numbers and booleans: fixed in size, and with nullable kinds of their own.
trait Scalar: Payload + Copy {
    const PLAIN: FieldKind;
    const NULLABLE: FieldKind;
    const ARRAY: FieldKind;
    const NULLABLE_ARRAY: FieldKind;

    fn write_fixed(self, writer: &mut CompactWriter<'_>, index: usize);
    fn read_fixed(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError>;
    fn write_array(items: &[Self], out: &mut Output) -> Result<(), EncodeError>;
    fn read_array(input: &mut Input<'_>) -> Result<Vec<Self>, DecodeError>;

    fn read_option(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Option<Self>, DecodeError> {
        match reader.kind(index) {
            kind if kind == Self::PLAIN => Self::read_fixed(reader, index).map(Some),
            kind if kind == Self::NULLABLE => reader.variable(index, Payload::read),
            _ => Err(reader.wrong_kind(index, Self::PLAIN)),
        }
    }

    fn read_items(
        reader: &mut CompactReader<'_, '_>,
        index: usize,
    ) -> Result<Option<Vec<Option<Self>>>, DecodeError> {
        match reader.kind(index) {
            kind if kind == Self::ARRAY => {
                let items = reader.variable(index, Self::read_array)?;
                Ok(items.map(|items| items.into_iter().map(Some).collect()))
            }
            kind if kind == Self::NULLABLE_ARRAY => reader.items(index, Payload::read),
            _ => Err(reader.wrong_kind(index, Self::ARRAY)),
        }
    }
}

macro_rules! numbers {
    ($($type:ty: $plain:ident $nullable:ident $array:ident $nullable_array:ident;)*) => {$(
        impl Scalar for $type {
            const PLAIN: FieldKind = FieldKind::$plain;
            const NULLABLE: FieldKind = FieldKind::$nullable;
            const ARRAY: FieldKind = FieldKind::$array;
            const NULLABLE_ARRAY: FieldKind = FieldKind::$nullable_array;

            fn write_fixed(self, writer: &mut CompactWriter<'_>, index: usize) {
                writer.fixed(index, self);
            }

            fn read_fixed(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError> {
                reader.fixed(index)
            }

            fn write_array(items: &[Self], out: &mut Output) -> Result<(), EncodeError> {
                out.array(items)
            }

            fn read_array(input: &mut Input<'_>) -> Result<Vec<Self>, DecodeError> {
                read_numbers(input)
            }
        }
    )*};
}

numbers! {
    i8: Int8 NullableInt8 ArrayOfInt8 ArrayOfNullableInt8;
    i16: Int16 NullableInt16 ArrayOfInt16 ArrayOfNullableInt16;
    i32: Int32 NullableInt32 ArrayOfInt32 ArrayOfNullableInt32;
    i64: Int64 NullableInt64 ArrayOfInt64 ArrayOfNullableInt64;
    f32: Float32 NullableFloat32 ArrayOfFloat32 ArrayOfNullableFloat32;
    f64: Float64 NullableFloat64 ArrayOfFloat64 ArrayOfNullableFloat64;
}

/// An array of numbers; whether it is null says its offset, not its length.
pub(super) fn read_numbers<T: Fixed>(input: &mut Input<'_>) -> Result<Vec<T>, DecodeError> {
    input.array(T::NAME)?.ok_or(DecodeError::UnexpectedNull { expected: "an array" })
}

impl Scalar for bool {
    const PLAIN: FieldKind = FieldKind::Boolean;
    const NULLABLE: FieldKind = FieldKind::NullableBoolean;
    const ARRAY: FieldKind = FieldKind::ArrayOfBoolean;
    const NULLABLE_ARRAY: FieldKind = FieldKind::ArrayOfNullableBoolean;

    fn write_fixed(self, writer: &mut CompactWriter<'_>, index: usize) {
        writer.boolean(index, self);
    }

    fn read_fixed(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError> {
        reader.boolean(index)
    }

    fn write_array(items: &[Self], out: &mut Output) -> Result<(), EncodeError> {
        write_bits(items, out)
    }

    fn read_array(input: &mut Input<'_>) -> Result<Vec<Self>, DecodeError> {
        read_bits(input)
    }
}

/// A count, and a bit for each.
pub(super) fn write_bits(items: &[bool], out: &mut Output) -> Result<(), EncodeError> {
    out.length(items.len())?;
    for bits in items.chunks(8) {
        let byte = bits.iter().enumerate().fold(0, |byte, (bit, set)| byte | u8::from(*set) << bit);
        out.put(byte);
    }
    Ok(())
}

/// What [`write_bits`] wrote.
pub(super) fn read_bits(input: &mut Input<'_>) -> Result<Vec<bool>, DecodeError> {
    const WHAT: &str = "an array of boolean";
    let offset = input.offset();
    let said: i32 = input.get()?;
    let count = usize::try_from(said).ok().filter(|count| count.div_ceil(8) <= input.left());
    let count = count.ok_or(DecodeError::BadLength {
        what: WHAT,
        offset,
        length: said.into(),
        left: input.left(),
    })?;
    let bytes = input.bytes(WHAT, count.div_ceil(8))?;
    Ok((0..count).map(|bit| bytes[bit / 8] >> (bit % 8) & 1 == 1).collect())
}

/// `T`, `Option<T>`, `Vec<T>` and `Vec<Option<T>>` for numbers and booleans.
macro_rules! scalar_fields {
    ($($type:ty)*) => {$(
        impl CompactField for $type {
            const KIND: FieldKind = Self::PLAIN;

            fn write_field(&self, writer: &mut CompactWriter<'_>, index: usize) -> Result<(), EncodeError> {
                self.write_fixed(writer, index);
                Ok(())
            }

            fn read_field(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError> {
                Self::read_option(reader, index)?.ok_or_else(|| reader.null_field(index))
            }
        }

        impl CompactField for Option<$type> {
            const KIND: FieldKind = <$type>::NULLABLE;

            fn write_field(&self, writer: &mut CompactWriter<'_>, index: usize) -> Result<(), EncodeError> {
                self.map_or(Ok(()), |value| writer.variable(index, |out| value.write(out)))
            }

            fn read_field(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError> {
                <$type>::read_option(reader, index)
            }

            fn absent() -> Option<Self> {
                Some(None)
            }
        }

        impl CompactField for Vec<$type> {
            const KIND: FieldKind = <$type>::ARRAY;

            fn write_field(&self, writer: &mut CompactWriter<'_>, index: usize) -> Result<(), EncodeError> {
                writer.variable(index, |out| <$type>::write_array(self, out))
            }

            fn read_field(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError> {
                if reader.kind(index) == Self::KIND {
                    let items = reader.variable(index, <$type>::read_array)?;
                    return items.ok_or_else(|| reader.null_field(index));
                }
                let items = <$type>::read_items(reader, index)?;
                all_there(reader, index, items)
            }
        }

        impl CompactField for Vec<Option<$type>> {
            const KIND: FieldKind = <$type>::NULLABLE_ARRAY;

            fn write_field(&self, writer: &mut CompactWriter<'_>, index: usize) -> Result<(), EncodeError> {
                writer.items(index, self.iter().map(Option::as_ref), Payload::write)
            }

            fn read_field(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError> {
                <$type>::read_items(reader, index)?.ok_or_else(|| reader.null_field(index))
            }
        }
    )*};
}

scalar_fields! { bool i8 i16 i32 i64 f32 f64 }

/// The items, when there are such and none is null.
fn all_there<T>(
    reader: &CompactReader<'_, '_>,
    index: usize,
    items: Option<Vec<Option<T>>>,
) -> Result<Vec<T>, DecodeError> {
    let items = items.and_then(|items| items.into_iter().collect::<Option<Vec<_>>>());
    items.ok_or_else(|| reader.null_field(index))
}

/// `T`, `Option<T>`, `Vec<T>` and `Vec<Option<T>>` for types whose size varies, so that null is among their values.
macro_rules! variable_fields {
    ($([$($generics:tt)*] $type:ty: $kind:ident $array:ident, $write:expr, $read:expr, $schemas:expr;)*) => {$(
        impl<$($generics)*> CompactField for $type {
            const KIND: FieldKind = FieldKind::$kind;

            fn write_field(&self, writer: &mut CompactWriter<'_>, index: usize) -> Result<(), EncodeError> {
                writer.variable(index, |out| $write(self, out))
            }

            fn read_field(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError> {
                Option::<$type>::read_field(reader, index)?.ok_or_else(|| reader.null_field(index))
            }

            fn schemas(found: &mut Vec<&'static Schema>) {
                $schemas(found);
            }
        }

        impl<$($generics)*> CompactField for Option<$type> {
            const KIND: FieldKind = FieldKind::$kind;

            fn write_field(&self, writer: &mut CompactWriter<'_>, index: usize) -> Result<(), EncodeError> {
                self.as_ref().map_or(Ok(()), |value| value.write_field(writer, index))
            }

            fn read_field(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError> {
                if reader.kind(index) == Self::KIND {
                    reader.variable(index, $read)
                } else {
                    Err(reader.wrong_kind(index, Self::KIND))
                }
            }

            fn absent() -> Option<Self> {
                Some(None)
            }

            fn schemas(found: &mut Vec<&'static Schema>) {
                $schemas(found);
            }
        }

        impl<$($generics)*> CompactField for Vec<$type> {
            const KIND: FieldKind = FieldKind::$array;

            fn write_field(&self, writer: &mut CompactWriter<'_>, index: usize) -> Result<(), EncodeError> {
                writer.items(index, self.iter().map(Some), $write)
            }

            fn read_field(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError> {
                let items = Vec::<Option<$type>>::read_field(reader, index)?;
                all_there(reader, index, Some(items))
            }

            fn schemas(found: &mut Vec<&'static Schema>) {
                $schemas(found);
            }
        }

        impl<$($generics)*> CompactField for Vec<Option<$type>> {
            const KIND: FieldKind = FieldKind::$array;

            fn write_field(&self, writer: &mut CompactWriter<'_>, index: usize) -> Result<(), EncodeError> {
                writer.items(index, self.iter().map(Option::as_ref), $write)
            }

            fn read_field(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError> {
                if reader.kind(index) != Self::KIND {
                    return Err(reader.wrong_kind(index, Self::KIND));
                }
                reader.items(index, $read)?.ok_or_else(|| reader.null_field(index))
            }

            fn schemas(found: &mut Vec<&'static Schema>) {
                $schemas(found);
            }
        }
    )*};
}

/// Plain values contain no schema.
fn no_schemas(_found: &mut Vec<&'static Schema>) {}

variable_fields! {
    [] String: String ArrayOfString, Payload::write, Payload::read, no_schemas;
    [] Decimal: Decimal ArrayOfDecimal, Payload::write, Payload::read, no_schemas;
    [] LocalTime: Time ArrayOfTime, Payload::write, Payload::read, no_schemas;
    [] LocalDate: Date ArrayOfDate, Payload::write, Payload::read, no_schemas;
    [] LocalDateTime: Timestamp ArrayOfTimestamp, Payload::write, Payload::read, no_schemas;
    [] OffsetDateTime: TimestampWithTimezone ArrayOfTimestampWithTimezone,
        Payload::write, Payload::read, no_schemas;
    [T: Compact] T: Compact ArrayOfCompact, write_record, read_record, T::schemas;
}

/// Bytes are Java's `byte[]`, whose items are signed; here they are as in all of Rust.
impl CompactField for Vec<u8> {
    const KIND: FieldKind = FieldKind::ArrayOfInt8;

    fn write_field(&self, writer: &mut CompactWriter<'_>, index: usize) -> Result<(), EncodeError> {
        writer.variable(index, |out| out.prefixed(self))
    }

    fn read_field(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError> {
        if reader.kind(index) == Self::KIND {
            reader.variable(index, read_numbers)?.ok_or_else(|| reader.null_field(index))
        } else {
            let bytes = Vec::<i8>::read_field(reader, index)?;
            Ok(bytes.into_iter().map(i8::cast_unsigned).collect())
        }
    }
}

/// An array that may be null: the same kind as the array.
impl<T> CompactField for Option<Vec<T>>
where
    Vec<T>: CompactField,
{
    const KIND: FieldKind = <Vec<T>>::KIND;

    fn write_field(&self, writer: &mut CompactWriter<'_>, index: usize) -> Result<(), EncodeError> {
        self.as_ref().map_or(Ok(()), |items| items.write_field(writer, index))
    }

    fn read_field(reader: &mut CompactReader<'_, '_>, index: usize) -> Result<Self, DecodeError> {
        match Vec::read_field(reader, index) {
            // The array itself, or one of its items?
            Err(DecodeError::NullField { .. }) if reader.variable(index, |_| Ok(()))?.is_none() => Ok(None),
            found => found.map(Some),
        }
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn schemas(found: &mut Vec<&'static Schema>) {
        <Vec<T>>::schemas(found);
    }
}

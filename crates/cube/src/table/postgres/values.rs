//! Values as the server sends them, in its binary form, to Arrow arrays.

use super::kind::Kind;
use arrow::array::{
    ArrayRef, BooleanBuilder, Date32Builder, Decimal128Builder, Float32Builder, Float64Builder, Int16Builder,
    Int32Builder, Int64Builder, StringBuilder, Time64MicrosecondBuilder, TimestampMicrosecondBuilder,
};
use postgres::types::{FromSql, Type};
use std::error::Error;
use std::sync::Arc;

/// Days and microseconds from 1970 to 2000, where the server's calendar begins.
const DAYS: i32 = 10_957;
const MICROS: i64 = 946_684_800_000_000;

/// The bytes of a value.
pub(super) struct Raw<'a>(&'a [u8]);

impl Raw<'_> {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// The values of a column of a batch that is being read.
pub(super) enum Values {
    Bool(BooleanBuilder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    Decimal(Decimal128Builder, i8),
    Number(Float64Builder),
    Text(StringBuilder),
    Padded(StringBuilder),
    Date(Date32Builder),
    Time(Time64MicrosecondBuilder),
    Timestamp(TimestampMicrosecondBuilder),
    Uuid(StringBuilder),
}

/// Appends what `read` makes of the bytes, or that there is no value.
macro_rules! append {
    ($builder:expr, $raw:expr, $read:expr) => {
        match $raw {
            Some(Raw(bytes)) => $builder.append_value($read(bytes)?),
            None => $builder.append_null(),
        }
    };
}

impl Values {
    /// None yet of so many.
    pub(super) fn new(kind: Kind, rows: usize) -> Self {
        let texts = || StringBuilder::with_capacity(rows, rows * 8);
        match kind {
            Kind::Bool => Self::Bool(BooleanBuilder::with_capacity(rows)),
            Kind::Int16 => Self::Int16(Int16Builder::with_capacity(rows)),
            Kind::Int32 => Self::Int32(Int32Builder::with_capacity(rows)),
            Kind::Int64 => Self::Int64(Int64Builder::with_capacity(rows)),
            Kind::Float32 => Self::Float32(Float32Builder::with_capacity(rows)),
            Kind::Float64 => Self::Float64(Float64Builder::with_capacity(rows)),
            Kind::Decimal(_, after) => {
                Self::Decimal(Decimal128Builder::with_capacity(rows).with_data_type(kind.data_type()), after)
            }
            Kind::Number => Self::Number(Float64Builder::with_capacity(rows)),
            Kind::Text | Kind::Word => Self::Text(texts()),
            Kind::Padded => Self::Padded(texts()),
            Kind::Date => Self::Date(Date32Builder::with_capacity(rows)),
            Kind::Time => Self::Time(Time64MicrosecondBuilder::with_capacity(rows)),
            Kind::Timestamp | Kind::Instant => Self::Timestamp(
                TimestampMicrosecondBuilder::with_capacity(rows).with_data_type(kind.data_type()),
            ),
            Kind::Uuid => Self::Uuid(texts()),
        }
    }

    /// Adds a value; an error says what cannot be read.
    pub(super) fn push(&mut self, raw: Option<Raw<'_>>) -> Result<(), String> {
        match self {
            Self::Bool(values) => append!(values, raw, |bytes| Ok::<_, String>(of::<1>(bytes)? != [0])),
            Self::Int16(values) => append!(values, raw, |bytes| of(bytes).map(i16::from_be_bytes)),
            Self::Int32(values) => append!(values, raw, |bytes| of(bytes).map(i32::from_be_bytes)),
            Self::Int64(values) => append!(values, raw, |bytes| of(bytes).map(i64::from_be_bytes)),
            // One NaN is as good as another for the server; only those above all numbers are for Arrow.
            Self::Float32(values) => append!(values, raw, |bytes| of(bytes).map(|bytes| {
                let value = f32::from_be_bytes(bytes);
                if value.is_nan() { f32::NAN } else { value }
            })),
            Self::Float64(values) => append!(values, raw, |bytes| of(bytes).map(|bytes| {
                let value = f64::from_be_bytes(bytes);
                if value.is_nan() { f64::NAN } else { value }
            })),
            Self::Decimal(values, after) => {
                append!(values, raw, |bytes| Numeric::of(bytes)?.scaled(i32::from(*after)))
            }
            Self::Number(values) => append!(values, raw, |bytes| Numeric::of(bytes)?.nearest()),
            Self::Text(values) => append!(values, raw, text),
            Self::Padded(values) => {
                append!(values, raw, |bytes| text(bytes).map(|text| text.trim_end_matches(' ')))
            }
            Self::Date(values) => append!(values, raw, date),
            Self::Time(values) => append!(values, raw, |bytes| of(bytes).map(i64::from_be_bytes)),
            Self::Timestamp(values) => append!(values, raw, timestamp),
            Self::Uuid(values) => append!(values, raw, uuid),
        }
        Ok(())
    }

    /// All that were added.
    pub(super) fn finish(self) -> ArrayRef {
        match self {
            Self::Bool(mut values) => Arc::new(values.finish()),
            Self::Int16(mut values) => Arc::new(values.finish()),
            Self::Int32(mut values) => Arc::new(values.finish()),
            Self::Int64(mut values) => Arc::new(values.finish()),
            Self::Float32(mut values) => Arc::new(values.finish()),
            Self::Float64(mut values) | Self::Number(mut values) => Arc::new(values.finish()),
            Self::Decimal(mut values, _) => Arc::new(values.finish()),
            Self::Text(mut values) | Self::Padded(mut values) | Self::Uuid(mut values) => {
                Arc::new(values.finish())
            }
            Self::Date(mut values) => Arc::new(values.finish()),
            Self::Time(mut values) => Arc::new(values.finish()),
            Self::Timestamp(mut values) => Arc::new(values.finish()),
        }
    }
}

fn of<const N: usize>(bytes: &[u8]) -> Result<[u8; N], String> {
    bytes.try_into().map_err(|_| format!("a value has {} bytes instead of {N}", bytes.len()))
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "a text is not UTF-8".to_owned())
}

fn date(bytes: &[u8]) -> Result<i32, String> {
    let days = i32::from_be_bytes(of(bytes)?);
    let is_finite = !matches!(days, i32::MIN | i32::MAX);
    let days = days.checked_add(DAYS).filter(|_| is_finite);
    days.ok_or_else(|| "a date is infinite, or too far away; filter such rows out".to_owned())
}

fn timestamp(bytes: &[u8]) -> Result<i64, String> {
    let micros = i64::from_be_bytes(of(bytes)?);
    let is_finite = !matches!(micros, i64::MIN | i64::MAX);
    let micros = micros.checked_add(MICROS).filter(|_| is_finite);
    micros.ok_or_else(|| "a time is infinite, or too far away; filter such rows out".to_owned())
}

fn uuid(bytes: &[u8]) -> Result<String, String> {
    let bytes: [u8; 16] = of(bytes)?;
    let mut text = String::with_capacity(36);
    for (position, byte) in bytes.into_iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
    }
    Ok(text)
}

/// A `numeric`: digits to the base of 10,000, the first of which counts 10,000 to the power of `weight`.
struct Numeric<'a> {
    weight: i32,
    sign: u16,
    digits: &'a [[u8; 2]],
}

const NEGATIVE: u16 = 0x4000;

impl<'a> Numeric<'a> {
    fn of(bytes: &'a [u8]) -> Result<Self, String> {
        let malformed = || "a numeric is malformed".to_owned();
        let (words, []) = bytes.as_chunks::<2>() else { return Err(malformed()) };
        let [count, weight, sign, _, digits @ ..] = words else { return Err(malformed()) };
        if usize::from(u16::from_be_bytes(*count)) != digits.len() {
            return Err(malformed());
        }
        Ok(Self { weight: i16::from_be_bytes(*weight).into(), sign: u16::from_be_bytes(*sign), digits })
    }

    fn is_finite(&self) -> bool {
        matches!(self.sign, 0 | NEGATIVE)
    }

    /// The value times 10 to the power of `after`.
    fn scaled(&self, after: i32) -> Result<i128, String> {
        let told =
            || "a numeric is NaN, infinite, or has more than 38 digits; filter such rows out".to_owned();
        let mut total = Some(0_i128).filter(|_| self.is_finite());
        for (digit, position) in self.digits.iter().zip(0_i32..) {
            let digit = i128::from(u16::from_be_bytes(*digit));
            let power = 4 * (self.weight - position) + after;
            let part = match u32::try_from(power) {
                Ok(power) => 10_i128.checked_pow(power).and_then(|power| digit.checked_mul(power)),
                // Only zeros stand beyond the digits that the column was declared with.
                Err(_) => 10_i128.checked_pow(power.unsigned_abs()).map(|power| digit / power),
            };
            // A zero is one however far away.
            let part = if digit == 0 { Some(0) } else { part };
            total = total.zip(part).and_then(|(total, part)| total.checked_add(part));
        }
        let total = total.ok_or_else(told)?;
        Ok(if self.sign == NEGATIVE { -total } else { total })
    }

    /// The nearest double.
    fn nearest(&self) -> Result<f64, String> {
        match self.sign {
            0 | NEGATIVE => {
                let mut text = String::from(if self.sign == NEGATIVE { "-0" } else { "0" });
                for digit in self.digits {
                    text.push_str(&format!("{:04}", u16::from_be_bytes(*digit)));
                }
                let power = 4 * (self.weight + 1 - i32::try_from(self.digits.len()).unwrap_or(i32::MAX / 8));
                text.push_str(&format!("e{power}"));
                text.parse().map_err(|_| "a numeric is malformed".to_owned())
            }
            0xd000 => Ok(f64::INFINITY),
            0xf000 => Ok(f64::NEG_INFINITY),
            _ => Ok(f64::NAN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numeric(weight: i16, sign: u16, digits: &[u16]) -> Vec<u8> {
        let head = [digits.len() as u16, weight as u16, sign, 0];
        head.iter().chain(digits).flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn numerics_are_read_to_the_last_digit() {
        let scaled = |bytes: &[u8], after| Numeric::of(bytes).and_then(|number| number.scaled(after));
        // -12345.67
        let bytes = numeric(1, NEGATIVE, &[1, 2345, 6700]);
        assert_eq!(scaled(&bytes, 2), Ok(-1_234_567));
        assert_eq!(scaled(&bytes, 4), Ok(-123_456_700));
        assert_eq!(Numeric::of(&bytes).unwrap().nearest(), Ok(-12_345.67));
        // 0.00000001
        assert_eq!(scaled(&numeric(-2, 0, &[1]), 8), Ok(1));
        assert_eq!(Numeric::of(&numeric(-2, 0, &[1])).unwrap().nearest(), Ok(1e-8));
        assert_eq!(scaled(&numeric(0, 0, &[]), 3), Ok(0));
        assert!(scaled(&numeric(20, 0, &[1]), 0).is_err());
        assert!(scaled(&numeric(0, 0xc000, &[]), 0).is_err());
        assert!(Numeric::of(&numeric(0, 0xc000, &[])).unwrap().nearest().unwrap().is_nan());
        assert!(scaled(&[0, 1, 0], 0).is_err());
    }

    #[test]
    fn what_arrow_has_no_value_for_is_an_error() {
        assert_eq!(date(&0_i32.to_be_bytes()), Ok(DAYS));
        assert!(date(&i32::MAX.to_be_bytes()).is_err());
        assert!(timestamp(&i64::MIN.to_be_bytes()).is_err());
        assert!(timestamp(&(i64::MAX - 5).to_be_bytes()).is_err());
        assert!(of::<4>(&[1]).is_err());
        let id: Vec<u8> = (0..16).map(|byte| byte * 17).collect();
        assert_eq!(uuid(&id).unwrap(), "00112233-4455-6677-8899-aabbccddeeff");
    }
}

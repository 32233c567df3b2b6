//! A column while it is filled: stored values in, an Arrow array out.
//!
//! A value goes into a column of another type when nothing is lost: a short into BIGINT, the text `2024-02-29` into DATE, everything into
//! VARCHAR. What would be lost is an error in words. Two exceptions: floating-point columns round, as everywhere in SQL, and a column of
//! timestamps with microseconds, which reaches further, cuts off what is finer.

use super::cell::Cell;
use super::decimals;
use super::text::text_of;
use arrow::array::timezone::Tz;
use arrow::array::{
    ArrayBuilder, ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder,
    Decimal256Builder, Float32Builder, Float64Builder, Int8Builder, Int16Builder, Int32Builder, Int64Builder,
    StringBuilder, Time64NanosecondBuilder, TimestampMicrosecondBuilder, TimestampNanosecondBuilder,
};
use arrow::compute::kernels::cast_utils::{Parser, parse_decimal, string_to_datetime};
use arrow::datatypes::{
    DataType, Date32Type, Decimal256Type, Float64Type, Int64Type, Time64NanosecondType, TimeUnit,
    TimestampNanosecondType, i256,
};
use arrow::temporal_conversions::SECONDS_IN_DAY;
use filbert_wire::compact::{NO_SCHEMAS, SchemaSource};
use filbert_wire::{BigInteger, LocalDateTime, LocalTime, Value};

/// Why a value does not go into a column.
pub(crate) type Misfit = String;

/// A column while it is filled.
pub(crate) enum ColumnBuilder {
    Bool(BooleanBuilder),
    Int8(Int8Builder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    Decimal(Decimal128Builder, u8, i8),
    WideDecimal(Decimal256Builder, u8, i8),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Date(Date32Builder),
    Time(Time64NanosecondBuilder),
    /// In a time zone, or in none.
    Timestamp(TimestampNanosecondBuilder, bool),
    /// From the years that nanoseconds do not reach.
    FarTimestamp(TimestampMicrosecondBuilder, bool),
}

impl ColumnBuilder {
    /// For a column of that type; nothing when no map has such a column.
    pub(crate) fn new(data_type: &DataType) -> Option<Self> {
        Some(match data_type {
            DataType::Boolean => Self::Bool(BooleanBuilder::new()),
            DataType::Int8 => Self::Int8(Int8Builder::new()),
            DataType::Int16 => Self::Int16(Int16Builder::new()),
            DataType::Int32 => Self::Int32(Int32Builder::new()),
            DataType::Int64 => Self::Int64(Int64Builder::new()),
            DataType::Float32 => Self::Float32(Float32Builder::new()),
            DataType::Float64 => Self::Float64(Float64Builder::new()),
            DataType::Decimal128(precision, scale) => {
                let builder = Decimal128Builder::new().with_data_type(data_type.clone());
                Self::Decimal(builder, *precision, *scale)
            }
            DataType::Decimal256(precision, scale) => {
                let builder = Decimal256Builder::new().with_data_type(data_type.clone());
                Self::WideDecimal(builder, *precision, *scale)
            }
            DataType::Utf8 => Self::Text(StringBuilder::new()),
            DataType::Binary => Self::Bytes(BinaryBuilder::new()),
            DataType::Date32 => Self::Date(Date32Builder::new()),
            DataType::Time64(TimeUnit::Nanosecond) => Self::Time(Time64NanosecondBuilder::new()),
            DataType::Timestamp(TimeUnit::Nanosecond, zone) => {
                let builder = TimestampNanosecondBuilder::new().with_data_type(data_type.clone());
                Self::Timestamp(builder, zone.is_some())
            }
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                let builder = TimestampMicrosecondBuilder::new().with_data_type(data_type.clone());
                Self::FarTimestamp(builder, zone.is_some())
            }
            _ => return None,
        })
    }

    /// Adds one value.
    pub(crate) fn append(&mut self, cell: &Cell<'_>, schemas: &dyn SchemaSource) -> Result<(), Misfit> {
        macro_rules! whole {
            ($builder:ident) => {{
                let number = whole(cell)?;
                let narrow = number
                    .map(|number| number.try_into().map_err(|_| format!("{number} is out of its range")));
                $builder.append_option(narrow.transpose()?);
            }};
        }
        match self {
            Self::Text(builder) => match cell {
                Cell::Text(text) => builder.append_value(text),
                Cell::Value(Value::Null) => builder.append_null(),
                Cell::Value(Value::String(text) | Value::Json(text)) => builder.append_value(text),
                Cell::Value(other) => {
                    builder.append_value(text_of(other, schemas).map_err(|error| error.to_string())?)
                }
            },
            Self::Bool(builder) => builder.append_option(boolean(cell)?),
            Self::Int8(builder) => whole!(builder),
            Self::Int16(builder) => whole!(builder),
            Self::Int32(builder) => whole!(builder),
            Self::Int64(builder) => whole!(builder),
            Self::Float32(builder) => builder.append_option(float(cell)?.map(|number| number as f32)),
            Self::Float64(builder) => builder.append_option(float(cell)?),
            Self::Decimal(builder, precision, scale) => {
                let number = decimal(cell, *precision, *scale)?;
                builder.append_option(number.and_then(i256::to_i128));
            }
            Self::WideDecimal(builder, precision, scale) => {
                builder.append_option(decimal(cell, *precision, *scale)?);
            }
            Self::Bytes(builder) => match cell {
                Cell::Value(Value::Null) => builder.append_null(),
                Cell::Value(Value::ByteArray(bytes)) => builder.append_value(bytes),
                Cell::Value(Value::Opaque(data)) => builder.append_value(data.as_bytes()),
                other => return Err(misfit(other, "bytes")),
            },
            Self::Date(builder) => builder.append_option(date(cell)?),
            Self::Time(builder) => builder.append_option(time(cell)?),
            Self::Timestamp(builder, zoned) => builder.append_option(timestamp(cell, *zoned)?),
            Self::FarTimestamp(builder, zoned) => builder.append_option(far_timestamp(cell, *zoned)?),
        }
        Ok(())
    }

    /// Bytes of what was added.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Bool(builder) => builder.len().div_ceil(8),
            Self::Int8(builder) => builder.len(),
            Self::Int16(builder) => builder.len() * 2,
            Self::Int32(builder) => builder.len() * 4,
            Self::Int64(builder) => builder.len() * 8,
            Self::Float32(builder) => builder.len() * 4,
            Self::Float64(builder) => builder.len() * 8,
            Self::Decimal(builder, ..) => builder.len() * 16,
            Self::WideDecimal(builder, ..) => builder.len() * 32,
            Self::Text(builder) => builder.len() * 4 + builder.values_slice().len(),
            Self::Bytes(builder) => builder.len() * 4 + builder.values_slice().len(),
            Self::Date(builder) => builder.len() * 4,
            Self::Time(builder) => builder.len() * 8,
            Self::Timestamp(builder, _) => builder.len() * 8,
            Self::FarTimestamp(builder, _) => builder.len() * 8,
        }
    }

    /// The array; it is empty again then.
    pub(crate) fn finish(&mut self) -> ArrayRef {
        use std::sync::Arc;
        match self {
            Self::Bool(builder) => Arc::new(builder.finish()),
            Self::Int8(builder) => Arc::new(builder.finish()),
            Self::Int16(builder) => Arc::new(builder.finish()),
            Self::Int32(builder) => Arc::new(builder.finish()),
            Self::Int64(builder) => Arc::new(builder.finish()),
            Self::Float32(builder) => Arc::new(builder.finish()),
            Self::Float64(builder) => Arc::new(builder.finish()),
            Self::Decimal(builder, ..) => Arc::new(builder.finish()),
            Self::WideDecimal(builder, ..) => Arc::new(builder.finish()),
            Self::Text(builder) => Arc::new(builder.finish()),
            Self::Bytes(builder) => Arc::new(builder.finish()),
            Self::Date(builder) => Arc::new(builder.finish()),
            Self::Time(builder) => Arc::new(builder.finish()),
            Self::Timestamp(builder, _) => Arc::new(builder.finish()),
            Self::FarTimestamp(builder, _) => Arc::new(builder.finish()),
        }
    }
}

fn misfit(cell: &Cell<'_>, wanted: &str) -> Misfit {
    let found = match cell {
        Cell::Text(text) => format!("{:?}", shortened(text)),
        Cell::Value(Value::String(text) | Value::Json(text)) => format!("{:?}", shortened(text)),
        Cell::Value(other) => match text_of(other, NO_SCHEMAS) {
            Ok(text) => shortened(&text).to_owned(),
            Err(_) => "what is stored".to_owned(),
        },
    };
    format!("{found} is not {wanted}")
}

fn shortened(text: &str) -> &str {
    text.char_indices().nth(60).map_or(text, |(end, _)| &text[..end])
}

/// What is written in a text, for columns that are no text.
fn written<'c>(cell: &'c Cell<'_>) -> Option<&'c str> {
    match cell {
        Cell::Text(text) => Some(text),
        Cell::Value(Value::String(text)) => Some(text),
        _ => None,
    }
}

fn boolean(cell: &Cell<'_>) -> Result<Option<bool>, Misfit> {
    match (cell, written(cell)) {
        (Cell::Value(Value::Null), _) => Ok(None),
        (Cell::Value(Value::Bool(value)), _) => Ok(Some(*value)),
        (_, Some(text)) if text.eq_ignore_ascii_case("true") => Ok(Some(true)),
        (_, Some(text)) if text.eq_ignore_ascii_case("false") => Ok(Some(false)),
        _ => Err(misfit(cell, "a boolean")),
    }
}

fn whole(cell: &Cell<'_>) -> Result<Option<i64>, Misfit> {
    let no = || misfit(cell, "a whole number of 64 bits");
    let number = match cell {
        Cell::Value(Value::Null) => return Ok(None),
        Cell::Value(Value::Byte(number)) => Some(i64::from(*number)),
        Cell::Value(Value::Short(number)) => Some(i64::from(*number)),
        Cell::Value(Value::Int(number)) => Some(i64::from(*number)),
        Cell::Value(Value::Long(number)) => Some(*number),
        Cell::Value(Value::BigInteger(number)) => number.to_i128().and_then(|number| number.try_into().ok()),
        other => written(other).and_then(Int64Type::parse),
    };
    number.map(Some).ok_or_else(no)
}

fn float(cell: &Cell<'_>) -> Result<Option<f64>, Misfit> {
    let no = || misfit(cell, "a number");
    let parsed = |text: &str| Float64Type::parse(text);
    let number = match cell {
        Cell::Value(Value::Null) => return Ok(None),
        Cell::Value(Value::Byte(number)) => f64::from(*number),
        Cell::Value(Value::Short(number)) => f64::from(*number),
        Cell::Value(Value::Int(number)) => f64::from(*number),
        Cell::Value(Value::Long(number)) => *number as f64,
        Cell::Value(Value::Float(number)) => f64::from(*number),
        Cell::Value(Value::Double(number)) => *number,
        Cell::Value(Value::BigInteger(number)) => parsed(&number.to_string()).ok_or_else(no)?,
        Cell::Value(Value::Decimal(number)) => parsed(&number.to_string()).ok_or_else(no)?,
        other => written(other).and_then(parsed).ok_or_else(no)?,
    };
    Ok(Some(number))
}

fn decimal(cell: &Cell<'_>, precision: u8, scale: i8) -> Result<Option<i256>, Misfit> {
    let no = || misfit(cell, &format!("a number of {precision} digits, {scale} of them behind the point"));
    let parsed = |text: &str| parse_decimal::<Decimal256Type>(text, precision, scale).ok();
    let number = match cell {
        Cell::Value(Value::Null) => return Ok(None),
        Cell::Value(Value::Decimal(number)) => decimals::scaled(number.unscaled(), number.scale(), scale),
        Cell::Value(Value::BigInteger(number)) => decimals::scaled(number, 0, scale),
        Cell::Value(Value::Float(number)) => parsed(&number.to_string()),
        Cell::Value(Value::Double(number)) => parsed(&number.to_string()),
        other => match whole(other) {
            Ok(Some(number)) => decimals::scaled(&BigInteger::from(i128::from(number)), 0, scale),
            _ => written(other).and_then(parsed),
        },
    };
    number.and_then(|number| decimals::within(number, precision)).map(Some).ok_or_else(no)
}

fn date(cell: &Cell<'_>) -> Result<Option<i32>, Misfit> {
    let day = match cell {
        Cell::Value(Value::Null) => return Ok(None),
        Cell::Value(Value::LocalDate(date)) => i32::try_from(date.epoch_day()).ok(),
        other => written(other).and_then(Date32Type::parse),
    };
    day.map(Some).ok_or_else(|| misfit(cell, "a date"))
}

fn nanos_of_day(time: LocalTime) -> i64 {
    i64::from(time.second_of_day()) * 1_000_000_000 + i64::from(time.nano())
}

fn time(cell: &Cell<'_>) -> Result<Option<i64>, Misfit> {
    let nanos = match cell {
        Cell::Value(Value::Null) => return Ok(None),
        Cell::Value(Value::LocalTime(time)) => Some(nanos_of_day(*time)),
        other => written(other).and_then(Time64NanosecondType::parse),
    };
    nanos.map(Some).ok_or_else(|| misfit(cell, "a time of day"))
}

/// The seconds since 1970 and the nanoseconds of a moment, or of what clocks show; nothing for what is neither.
fn moment(value: &Value, zoned: bool) -> Option<(i64, u32)> {
    let seconds = |local: &LocalDateTime| {
        local.date.epoch_day() * SECONDS_IN_DAY + i64::from(local.time.second_of_day())
    };
    Some(match value {
        Value::LocalDateTime(local) => (seconds(local), local.time.nano()),
        Value::LocalDate(date) => (date.epoch_day() * SECONDS_IN_DAY, 0),
        Value::OffsetDateTime(time) if zoned => (time.epoch_second(), time.local().time.nano()),
        Value::Date(ms) if zoned => (ms.div_euclid(1_000), ms.rem_euclid(1_000) as u32 * 1_000_000),
        _ => return None,
    })
}

/// True for a time that a column with nanoseconds does not reach.
pub(crate) fn is_far(value: &Value) -> bool {
    moment(value, true).is_some_and(|(seconds, nano)| nanos(seconds, nano).is_none())
}

fn nanos(seconds: i64, nano: u32) -> Option<i64> {
    i64::try_from(i128::from(seconds) * 1_000_000_000 + i128::from(nano)).ok()
}

fn timestamp(cell: &Cell<'_>, zoned: bool) -> Result<Option<i64>, Misfit> {
    const REACH: &str = "between the years 1677 and 2262, which TIMESTAMP reaches; TIMESTAMP(6) reaches all";
    let found = match cell {
        Cell::Value(Value::Null) => return Ok(None),
        Cell::Value(value) if is_far(value) => return Err(misfit(cell, REACH)),
        Cell::Value(value) => moment(value, zoned).and_then(|(seconds, nano)| nanos(seconds, nano)),
        Cell::Text(_) => None,
    };
    let found = found.or_else(|| written(cell).and_then(TimestampNanosecondType::parse));
    if found.is_none() && written(cell).and_then(micros_of_text).is_some() {
        return Err(misfit(cell, REACH));
    }
    found.map(Some).ok_or_else(|| misfit(cell, what(zoned)))
}

fn far_timestamp(cell: &Cell<'_>, zoned: bool) -> Result<Option<i64>, Misfit> {
    let micros = |seconds: i64, nano: u32| seconds.checked_mul(1_000_000)?.checked_add((nano / 1_000).into());
    let found = match cell {
        Cell::Value(Value::Null) => return Ok(None),
        Cell::Value(value) => moment(value, zoned).and_then(|(seconds, nano)| micros(seconds, nano)),
        Cell::Text(_) => None,
    };
    let found = found.or_else(|| written(cell).and_then(micros_of_text));
    found.map(Some).ok_or_else(|| misfit(cell, what(zoned)))
}

/// The microseconds since 1970 of a written time. The parser of the type goes by way of nanoseconds, which do not reach all years.
fn micros_of_text(text: &str) -> Option<i64> {
    let utc: Tz = "+00:00".parse().ok()?;
    string_to_datetime(&utc, text).ok().map(|moment| moment.timestamp_micros())
}

const fn what(zoned: bool) -> &'static str {
    if zoned { "a moment" } else { "a date and time" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::util::display::array_value_to_string;
    use filbert_wire::{Decimal, LocalDate, OffsetDateTime};
    use std::borrow::Cow;

    /// What a column of that type shows of a value.
    fn shown(data_type: &DataType, cell: Cell<'_>) -> Result<String, Misfit> {
        let mut builder = ColumnBuilder::new(data_type).unwrap();
        builder.append(&cell, NO_SCHEMAS)?;
        let array = builder.finish();
        assert_eq!(array.data_type(), data_type);
        Ok(array_value_to_string(&array, 0).unwrap())
    }

    fn text(text: &str) -> Cell<'_> {
        Cell::Text(Cow::Borrowed(text))
    }

    #[test]
    fn what_fits_goes_in_and_what_would_be_lost_is_told() {
        let decimal = DataType::Decimal128(5, 2);
        let fits = [
            (DataType::Int8, Cell::Value(Value::Long(-128)), "-128"),
            (DataType::Int64, text("12"), "12"),
            (DataType::Float64, Cell::Value(Value::Long(3)), "3.0"),
            (DataType::Boolean, text("TRUE"), "true"),
            (decimal.clone(), Cell::Value(Value::Decimal(Decimal::new(1_500, 3))), "1.50"),
            (decimal.clone(), Cell::Value(Value::Int(-7)), "-7.00"),
            (decimal.clone(), Cell::Value(Value::Double(0.25)), "0.25"),
            (decimal.clone(), Cell::Value(Value::Decimal(Decimal::new(0, i32::MAX))), "0.00"),
            (DataType::Date32, text("2024-02-29"), "2024-02-29"),
            (DataType::Time64(TimeUnit::Nanosecond), text("01:02:03"), "01:02:03"),
            (DataType::Utf8, Cell::Value(Value::Bool(true)), "true"),
            (DataType::Utf8, Cell::Value(Value::IntArray(vec![1, 2])), "[1,2]"),
            (DataType::Utf8, Cell::Value(Value::ByteArray(vec![1, 255])), "\\x01ff"),
            (DataType::Int32, Cell::NULL, ""),
        ];
        for (data_type, cell, expected) in fits {
            assert_eq!(shown(&data_type, cell.clone()).as_deref(), Ok(expected), "{data_type} {cell:?}");
        }
        let lost = [
            (DataType::Int8, Cell::Value(Value::Long(128))),
            (DataType::Int64, Cell::Value(Value::Double(1.5))),
            (DataType::Int64, text("x")),
            (DataType::Float64, text("x")),
            (DataType::Boolean, Cell::Value(Value::Int(1))),
            (decimal.clone(), Cell::Value(Value::Decimal(Decimal::new(1_501, 3)))),
            (decimal.clone(), Cell::Value(Value::Int(1_000))),
            (decimal, Cell::Value(Value::Decimal(Decimal::new(1, i32::MIN)))),
            (DataType::Date32, text("2024-02-30")),
            (DataType::Date32, Cell::Value(Value::Long(1))),
            (DataType::Binary, text("x")),
        ];
        for (data_type, cell) in lost {
            assert!(shown(&data_type, cell.clone()).is_err(), "{data_type} {cell:?}");
        }
    }

    #[test]
    fn moments_are_shown_in_utc() {
        let date = LocalDate::new(2024, 1, 1).unwrap();
        let local = LocalDateTime { date, time: LocalTime::new(1, 0, 0, 1_999).unwrap() };
        let moment = Value::OffsetDateTime(OffsetDateTime::new(local, 3_600).unwrap());
        let zoned = super::super::kind::utc(TimeUnit::Nanosecond);
        assert_eq!(shown(&zoned, Cell::Value(moment.clone())).unwrap(), "2024-01-01T00:00:00.000001999Z");
        let unzoned = |unit| DataType::Timestamp(unit, None);
        let local = Cell::Value(Value::LocalDateTime(local));
        let nanos = shown(&unzoned(TimeUnit::Nanosecond), local.clone());
        assert_eq!(nanos.unwrap(), "2024-01-01T01:00:00.000001999");
        let micros = shown(&unzoned(TimeUnit::Microsecond), local);
        assert_eq!(micros.unwrap(), "2024-01-01T01:00:00.000001");
        for unit in [TimeUnit::Nanosecond, TimeUnit::Microsecond] {
            let refused = shown(&unzoned(unit), Cell::Value(moment.clone()));
            assert!(refused.is_err(), "a moment is no local time");
        }
    }

    #[test]
    fn times_that_nanoseconds_do_not_reach_go_into_columns_with_microseconds() {
        let date = LocalDate::new(9999, 12, 31).unwrap();
        let time = LocalTime::new(23, 59, 59, 999_999_999).unwrap();
        let far = Value::LocalDateTime(LocalDateTime { date, time });
        assert!(is_far(&far));
        for cell in [Cell::Value(far), text("9999-12-31T23:59:59.999999999")] {
            let micros = shown(&DataType::Timestamp(TimeUnit::Microsecond, None), cell.clone());
            assert_eq!(micros.unwrap(), "9999-12-31T23:59:59.999999");
            let refused = shown(&DataType::Timestamp(TimeUnit::Nanosecond, None), cell).unwrap_err();
            assert!(refused.contains("TIMESTAMP(6)"), "{refused}");
        }
    }
}

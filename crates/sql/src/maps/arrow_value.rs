//! A value of an Arrow array as the grid stores it.

use super::decimals::{has_own_scales, stored, without_zeros};
use super::kind::{Kind, sql_name};
use super::text::text_of;
use arrow::array::{Array, AsArray};
use arrow::datatypes::{
    DataType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampNanosecondType,
    i256,
};
use filbert_wire::compact::NO_SCHEMAS;
use filbert_wire::{BigInteger, LocalDate, LocalDateTime, LocalTime, OffsetDateTime, Value};

/// What stands in a row, in the kind that its type has.
pub(crate) fn value_at(array: &dyn Array, row: usize) -> Result<Value, String> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    let out_of_calendar = || "the date is outside of the calendar".to_owned();
    Ok(match array.data_type() {
        DataType::Null => Value::Null,
        DataType::Boolean => Value::Bool(array.as_boolean().value(row)),
        DataType::Int8 => Value::Byte(array.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => Value::Short(array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => Value::Int(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => Value::Long(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => Value::Float(array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => Value::Double(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => {
            let number = i256::from_i128(array.as_primitive::<Decimal128Type>().value(row));
            decimal(number, *scale, array.data_type())
        }
        DataType::Decimal256(_, scale) => {
            decimal(array.as_primitive::<Decimal256Type>().value(row), *scale, array.data_type())
        }
        DataType::Utf8 => Value::String(array.as_string::<i32>().value(row).to_owned()),
        DataType::Binary => Value::ByteArray(array.as_binary::<i32>().value(row).to_vec()),
        DataType::Date32 => {
            let day = array.as_primitive::<Date32Type>().value(row);
            Value::LocalDate(LocalDate::of_epoch_day(day.into()).ok_or_else(out_of_calendar)?)
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            let nanos = array.as_primitive::<Time64NanosecondType>().value(row);
            let time = u64::try_from(nanos).ok().and_then(LocalTime::of_nano_of_day);
            Value::LocalTime(time.ok_or("the time is not within a day")?)
        }
        DataType::Timestamp(unit @ (TimeUnit::Microsecond | TimeUnit::Nanosecond), zone) => {
            let (count, per_second) = match unit {
                TimeUnit::Nanosecond => {
                    (array.as_primitive::<TimestampNanosecondType>().value(row), 1_000_000_000)
                }
                _ => (array.as_primitive::<TimestampMicrosecondType>().value(row), 1_000_000),
            };
            let local = local_time(count, per_second).ok_or_else(out_of_calendar)?;
            match zone {
                None => Value::LocalDateTime(local),
                Some(_) => Value::OffsetDateTime(OffsetDateTime::new(local, 0).ok_or_else(out_of_calendar)?),
            }
        }
        other => return Err(format!("maps hold nothing of type {}", sql_name(other))),
    })
}

/// A number with the scale of its column, or with its own where that has none.
fn decimal(unscaled: i256, scale: i8, column: &DataType) -> Value {
    let (unscaled, scale) =
        if has_own_scales(column) { without_zeros(unscaled, scale) } else { (unscaled, scale) };
    Value::Decimal(stored(unscaled, scale))
}

fn local_time(count: i64, per_second: i64) -> Option<LocalDateTime> {
    const DAY: i64 = 86_400;
    let (seconds, parts) = (count.div_euclid(per_second), count.rem_euclid(per_second));
    let date = LocalDate::of_epoch_day(seconds.div_euclid(DAY))?;
    let nanos = seconds.rem_euclid(DAY) * 1_000_000_000 + parts * (1_000_000_000 / per_second);
    Some(LocalDateTime { date, time: LocalTime::of_nano_of_day(nanos as u64)? })
}

/// The same value in another kind, if nothing is lost.
pub(crate) fn in_kind(value: Value, kind: Kind) -> Result<Value, String> {
    let no = |value: &Value| Err(misfit(value, kind));
    let value = match (kind, value) {
        (_, Value::Null) => Value::Null,
        (Kind::Uuid, Value::String(text)) => match uuid::Uuid::try_parse(&text) {
            Ok(id) => Value::Uuid(id),
            Err(_) => return Err(format!("{text:?} is no UUID")),
        },
        (Kind::Json, Value::String(text)) => match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
            Ok(_) => Value::Json(text),
            Err(error) => return Err(format!("it is no JSON: {error}")),
        },
        (Kind::Char, Value::String(text)) => {
            let mut units = text.encode_utf16();
            match (units.next(), units.next()) {
                (Some(unit), None) => Value::Char(unit),
                _ => return Err(format!("{text:?} is not one character")),
            }
        }
        (Kind::BigInteger, Value::Decimal(number)) if number.scale() == 0 => {
            Value::BigInteger(number.unscaled().clone())
        }
        (Kind::JavaDate, Value::OffsetDateTime(time)) => {
            let ms = time.epoch_second().checked_mul(1_000);
            let ms = ms.and_then(|ms| ms.checked_add(i64::from(time.local().time.nano() / 1_000_000)));
            Value::Date(ms.ok_or("the date is outside of the calendar")?)
        }
        // A column of several kinds of numbers has the widest; what was stored as the narrower goes back where it came from.
        (Kind::Float, Value::Double(number)) if f64::from(number as f32) == number => {
            Value::Float(number as f32)
        }
        (kind, value) if kind.is_whole() => match (kind, whole(&value)) {
            (Kind::Long, Some(number)) => Value::Long(number),
            (Kind::Int, Some(number)) => Value::Int(number.try_into().or_else(|_| no(&value).map(|()| 0))?),
            (Kind::Short, Some(number)) => {
                Value::Short(number.try_into().or_else(|_| no(&value).map(|()| 0))?)
            }
            (Kind::Byte, Some(number)) => Value::Byte(number.try_into().or_else(|_| no(&value).map(|()| 0))?),
            _ => return no(&value).map(|()| Value::Null),
        },
        (kind, value) if Kind::of(&value) == Some(kind) => value,
        (_, value) => return no(&value).map(|()| Value::Null),
    };
    Ok(value)
}

/// Why a value cannot be stored in a kind, and what to do.
fn misfit(value: &Value, kind: Kind) -> String {
    let wanted = kind.sql_type();
    let number = match value {
        Value::Float(number) => format!("{number:?}"),
        Value::Double(number) => format!("{number:?}"),
        Value::Byte(_) | Value::Short(_) | Value::Int(_) | Value::Long(_) => {
            whole(value).unwrap_or_default().to_string()
        }
        other => {
            let shown = text_of(other, NO_SCHEMAS).unwrap_or_default();
            return format!("{shown:?} cannot be stored as {wanted}; CAST(... AS {wanted}) may make it one");
        }
    };
    let own = Kind::of(value).map_or("", Kind::sql_type);
    format!(
        "{number}, of the type {own}, cannot be stored as {wanted}; use CAST(... AS {wanted}), or a value of that type"
    )
}

/// The whole number that a value is.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Float(number) => whole_float((*number).into()),
        Value::Double(number) => whole_float(*number),
        Value::Decimal(number) => {
            let ten = 10_i128.checked_pow(number.scale().try_into().ok()?)?;
            let unscaled = number.unscaled().to_i128()?;
            (unscaled % ten == 0).then_some(unscaled / ten)?.try_into().ok()
        }
        Value::Byte(number) => Some((*number).into()),
        Value::Short(number) => Some((*number).into()),
        Value::Int(number) => Some((*number).into()),
        Value::Long(number) => Some(*number),
        Value::BigInteger(number) => BigInteger::to_i128(number)?.try_into().ok(),
        _ => None,
    }
}

/// Refuses a float in the place of a whole number that floats do not tell apart from its neighbours: where a column has numbers of several
/// types it is read as a float, and what is computed from that is not what was meant.
pub(crate) fn exact(old: &Value, new: &Value) -> Result<(), String> {
    match (old, new) {
        (Value::Long(old), Value::Double(_) | Value::Float(_)) if old.unsigned_abs() >= 1 << 53 => {
            Err(format!(
                "{old} has more digits than a DOUBLE keeps, as which a column with numbers of several types is read; set it to a BIGINT"
            ))
        }
        _ => Ok(()),
    }
}

/// Nothing for what is not whole, or not told apart from its neighbours.
fn whole_float(number: f64) -> Option<i64> {
    (number.fract() == 0.0 && number.abs() < (1_u64 << 53) as f64).then_some(number as i64)
}

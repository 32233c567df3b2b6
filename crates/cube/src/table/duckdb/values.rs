//! The types of columns, and values as the cube takes them: the nearest thing to what DuckDB gives.

use crate::value_type::is_text;
use arrow::array::{Array, ArrayRef, AsArray, Float32Array, Float64Array, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Float32Type, Float64Type, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
};
use std::sync::Arc;

/// The type that the cube is given for one of Arrow and its name in DuckDB; nothing when it cannot be read.
pub(super) fn known(data_type: &DataType, name: &str) -> Option<DataType> {
    match data_type {
        // Arrow's time has no zone.
        DataType::Time64(_) if name.contains("WITH TIME ZONE") => None,
        DataType::Boolean | DataType::Float32 | DataType::Float64 | DataType::Date32 => {
            Some(data_type.clone())
        }
        integer if integer.is_integer() => Some(integer.clone()),
        DataType::Time64(TimeUnit::Microsecond | TimeUnit::Nanosecond) => Some(data_type.clone()),
        DataType::Timestamp(_, None) => Some(data_type.clone()),
        // Moments do not depend on the zone that they are shown in.
        DataType::Timestamp(unit, Some(_)) => Some(DataType::Timestamp(*unit, Some("+00:00".into()))),
        text if is_text(text) => Some(DataType::Utf8),
        DataType::Decimal32(digits, after)
        | DataType::Decimal64(digits, after)
        | DataType::Decimal128(digits, after) => Some(DataType::Decimal128(*digits, *after)),
        DataType::Dictionary(keys, values) if keys.is_integer() => {
            is_text(values).then(|| DataType::Dictionary(keys.clone(), Box::new(DataType::Utf8)))
        }
        _ => None,
    }
}

/// A column of a batch as the cube takes it, of the type that is wanted if one is; an error says what cannot be read.
pub(super) fn taken(array: &ArrayRef, wanted: Option<&DataType>) -> Result<ArrayRef, String> {
    let array = match wanted {
        Some(wanted) if wanted != array.data_type() => {
            cast(array, wanted).map_err(|error| error.to_string())?
        }
        _ => Arc::clone(array),
    };
    let is_infinite = match array.data_type() {
        DataType::Date32 => has::<Date32Type>(&array, |days| days.unsigned_abs() == i32::MAX.unsigned_abs()),
        DataType::Timestamp(TimeUnit::Second, _) => has::<TimestampSecondType>(&array, is_far),
        DataType::Timestamp(TimeUnit::Millisecond, _) => has::<TimestampMillisecondType>(&array, is_far),
        DataType::Timestamp(TimeUnit::Microsecond, _) => has::<TimestampMicrosecondType>(&array, is_far),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => has::<TimestampNanosecondType>(&array, is_far),
        // One NaN is as good as another for DuckDB; only those above all numbers are for Arrow.
        DataType::Float32
            if has::<Float32Type>(&array, |value| value.is_nan() && value.is_sign_negative()) =>
        {
            let mended: Float32Array = array
                .as_primitive::<Float32Type>()
                .unary(|value| if value.is_nan() { f32::NAN } else { value });
            return Ok(Arc::new(mended));
        }
        DataType::Float64
            if has::<Float64Type>(&array, |value| value.is_nan() && value.is_sign_negative()) =>
        {
            let mended: Float64Array = array
                .as_primitive::<Float64Type>()
                .unary(|value| if value.is_nan() { f64::NAN } else { value });
            return Ok(Arc::new(mended));
        }
        _ => false,
    };
    match is_infinite {
        true => Err("a date or time is infinite; filter such rows out".to_owned()),
        false => Ok(array),
    }
}

/// Infinities are the greatest number of 64 bits and its negative.
fn is_far(ticks: i64) -> bool {
    ticks.unsigned_abs() == i64::MAX.unsigned_abs()
}

/// True when there is such a value.
fn has<T: ArrowPrimitiveType>(array: &ArrayRef, is_it: impl Fn(T::Native) -> bool) -> bool {
    let array: &PrimitiveArray<T> = array.as_primitive();
    // What stands where there is no value counts only if it has to be looked at.
    array.values().iter().any(|value| is_it(*value)) && array.iter().flatten().any(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Date32Array, TimestampMicrosecondArray};

    #[test]
    fn types_become_those_that_the_cube_knows() {
        let of = |data_type| known(&data_type, "");
        assert_eq!(of(DataType::Utf8View), Some(DataType::Utf8));
        assert_eq!(of(DataType::Decimal64(9, 2)), Some(DataType::Decimal128(9, 2)));
        let berlin = DataType::Timestamp(TimeUnit::Microsecond, Some("Europe/Berlin".into()));
        assert_eq!(of(berlin), Some(DataType::Timestamp(TimeUnit::Microsecond, Some("+00:00".into()))));
        assert_eq!(of(DataType::Binary), None);
        assert_eq!(known(&DataType::Time64(TimeUnit::Microsecond), "TIME WITH TIME ZONE"), None);
    }

    #[test]
    fn values_that_arrow_sees_differently_are_mended_or_refused() {
        let negative = f64::from_bits(f64::NAN.to_bits() | 1 << 63);
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(negative), Some(-0.0), None]));
        let mended = taken(&floats, None).unwrap();
        let mended = mended.as_primitive::<Float64Type>();
        assert_eq!(mended.value(0).to_bits(), f64::NAN.to_bits());
        assert_eq!(mended.value(1).to_bits(), (-0.0_f64).to_bits());
        assert!(mended.is_null(2));
        let days: ArrayRef = Arc::new(Date32Array::from(vec![0, -i32::MAX]));
        assert!(taken(&days, None).unwrap_err().contains("infinite"));
        let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![i64::MAX - 1]));
        assert!(taken(&times, None).is_ok());
    }
}

//! One stored value as a value of SQL.

use super::builder::ColumnBuilder;
use super::cell::Cell;
use super::decimals::digits;
use super::kind::{DECIMAL_DIGITS, Kind, Seen};
use arrow::datatypes::{DECIMAL256_MAX_PRECISION, DataType};
use datafusion::scalar::ScalarValue;
use filbert_wire::Value;
use filbert_wire::compact::SchemaSource;

/// The same value in SQL, of the type that a column of such values has.
pub(crate) fn scalar_of_value(value: Value, schemas: &dyn SchemaSource) -> Result<ScalarValue, String> {
    let Some(kind) = Kind::of(&value) else { return Ok(ScalarValue::Null) };
    let mut builder = ColumnBuilder::new(&data_type(&value)).filter(|_| kind != Kind::Opaque);
    let builder = builder.as_mut().ok_or_else(|| "SQL has no such values".to_owned())?;
    builder.append(&Cell::Value(value), schemas)?;
    ScalarValue::try_from_array(&builder.finish(), 0).map_err(|error| error.to_string())
}

/// The type of one value: a number has its own digits.
fn data_type(value: &Value) -> DataType {
    match value {
        Value::Decimal(number) => {
            let (before, behind) = digits(number);
            let all = before.saturating_add(behind).max(1);
            let widest = u32::from(DECIMAL256_MAX_PRECISION);
            match u8::try_from(all) {
                Ok(all) if all <= DECIMAL_DIGITS => DataType::Decimal128(all, behind as i8),
                _ => DataType::Decimal256(all.min(widest) as u8, behind.min(widest) as i8),
            }
        }
        _ => {
            let mut seen = Seen::default();
            seen.add(value);
            seen.data_type()
        }
    }
}

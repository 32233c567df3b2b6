//! One stored value as a value of SQL.

use super::builder::ColumnBuilder;
use super::cell::Cell;
use super::kind::{DECIMAL_DIGITS, Kind};
use datafusion::scalar::ScalarValue;
use filbert_wire::Value;
use filbert_wire::compact::SchemaSource;

/// The same value in SQL, of the type that a column of such values has.
pub(crate) fn scalar_of_value(value: Value, schemas: &dyn SchemaSource) -> Result<ScalarValue, String> {
    let Some(kind) = Kind::of(&value) else { return Ok(ScalarValue::Null) };
    let scale = match &value {
        Value::Decimal(number) => number.scale().clamp(0, i32::from(DECIMAL_DIGITS)) as i8,
        _ => 0,
    };
    let builder = ColumnBuilder::new(&kind.data_type(scale)).filter(|_| kind != Kind::Opaque);
    let mut builder = builder.ok_or_else(|| "SQL has no such values".to_owned())?;
    builder.append(Cell::Value(value), schemas)?;
    ScalarValue::try_from_array(&builder.finish(), 0).map_err(|error| error.to_string())
}

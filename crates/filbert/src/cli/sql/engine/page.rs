//! Pages of the client protocol as Arrow batches, so that rows are shown in one way wherever they come from. Numbers stay numbers;
//! everything that is shown as text is text.

use super::super::super::form::Shown;
use super::super::print::SQL_TYPE;
use filbert::arrow::array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array,
    NullArray, RecordBatch, StringArray,
};
use filbert::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use filbert::arrow::error::ArrowError;
use filbert_wire::messages::page::{
    Column, ColumnType, SqlDate, SqlDateTime, SqlDecimal, SqlOffsetDateTime, SqlTime,
};
use filbert_wire::messages::structures::SqlColumnMetadata;
use std::collections::HashMap;
use std::sync::Arc;

/// The columns that a member announces.
pub(super) fn schema(columns: &[SqlColumnMetadata]) -> Schema {
    let field = |column: &SqlColumnMetadata| {
        let kind = match ColumnType::from_number(column.kind) {
            Some(ColumnType::Boolean) => DataType::Boolean,
            Some(ColumnType::TinyInt) => DataType::Int8,
            Some(ColumnType::SmallInt) => DataType::Int16,
            Some(ColumnType::Integer) => DataType::Int32,
            Some(ColumnType::BigInt) => DataType::Int64,
            Some(ColumnType::Real) => DataType::Float32,
            Some(ColumnType::Double) => DataType::Float64,
            Some(ColumnType::Null) => DataType::Null,
            _ => DataType::Utf8,
        };
        let field = Field::new(&*column.name, kind, true);
        match ColumnType::from_number(column.kind).and_then(sql_type) {
            Some(name) => field.with_metadata(HashMap::from([(SQL_TYPE.to_owned(), name.to_owned())])),
            None => field,
        }
    };
    Schema::new(columns.iter().map(field).collect::<Vec<_>>())
}

/// The type that a column has in SQL, where it comes as text.
fn sql_type(kind: ColumnType) -> Option<&'static str> {
    Some(match kind {
        ColumnType::Decimal => "DECIMAL",
        ColumnType::Date => "DATE",
        ColumnType::Time => "TIME",
        ColumnType::Timestamp => "TIMESTAMP",
        ColumnType::TimestampWithTimeZone => "TIMESTAMP WITH TIME ZONE",
        ColumnType::Object => "OBJECT",
        ColumnType::Json => "JSON",
        _ => return None,
    })
}

/// The rows of a page.
pub(super) fn batch(schema: &SchemaRef, columns: &[Column]) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(Arc::clone(schema), columns.iter().map(array).collect())
}

fn array(column: &Column) -> ArrayRef {
    fn text<T>(values: &[Option<T>], shown: impl Fn(&T) -> String) -> ArrayRef {
        Arc::new(values.iter().map(|value| value.as_ref().map(&shown)).collect::<StringArray>())
    }
    match column {
        Column::Boolean(values) => Arc::new(BooleanArray::from(values.clone())),
        Column::TinyInt(values) => Arc::new(Int8Array::from(values.clone())),
        Column::SmallInt(values) => Arc::new(Int16Array::from(values.clone())),
        Column::Integer(values) => Arc::new(Int32Array::from(values.clone())),
        Column::BigInt(values) => Arc::new(Int64Array::from(values.clone())),
        Column::Real(values) => Arc::new(Float32Array::from(values.clone())),
        Column::Double(values) => Arc::new(Float64Array::from(values.clone())),
        Column::Varchar(values) | Column::Json(values) => text(values, |value| value.to_string()),
        Column::Decimal(values) => text(values, decimal),
        Column::Date(values) => text(values, date),
        Column::Time(values) => text(values, time),
        Column::Timestamp(values) => text(values, timestamp),
        Column::TimestampWithTimeZone(values) => text(values, offset_timestamp),
        Column::Object(values) => text(values, |value| Shown::of(value).text()),
        Column::Null(rows) => Arc::new(NullArray::new(*rows)),
    }
}

/// Digits with a point; what is larger than any number here is shown by its bytes.
fn decimal(SqlDecimal { unscaled, scale }: &SqlDecimal) -> String {
    let too_large = || format!("{unscaled:02x?} / 10^{scale}");
    if unscaled.is_empty() || unscaled.len() > 16 || scale.unsigned_abs() > 1_000 {
        return too_large();
    }
    let fill = if unscaled[0] & 0x80 == 0 { 0 } else { 0xff };
    let mut bytes = [fill; 16];
    bytes[16 - unscaled.len()..].copy_from_slice(unscaled);
    let number = i128::from_be_bytes(bytes);
    let (sign, digits) = (if number < 0 { "-" } else { "" }, number.unsigned_abs().to_string());
    match usize::try_from(*scale) {
        Ok(0) => format!("{sign}{digits}"),
        Ok(scale) => {
            let digits = format!("{digits:0>width$}", width = scale + 1);
            let (whole, part) = digits.split_at(digits.len() - scale);
            format!("{sign}{whole}.{part}")
        }
        Err(_) => format!("{sign}{digits}{}", "0".repeat(scale.unsigned_abs() as usize)),
    }
}

fn date(SqlDate { year, month, day }: &SqlDate) -> String {
    format!("{year:04}-{month:02}-{day:02}")
}

fn time(SqlTime { hour, minute, second, nanos }: &SqlTime) -> String {
    let parts = format!(".{nanos:09}");
    let parts = if *nanos == 0 { "" } else { parts.trim_end_matches('0') };
    format!("{hour:02}:{minute:02}:{second:02}{parts}")
}

fn timestamp(moment: &SqlDateTime) -> String {
    format!("{}T{}", date(&moment.date), time(&moment.time))
}

fn offset_timestamp(moment: &SqlOffsetDateTime) -> String {
    let local = format!("{}T{}", date(&moment.date), time(&moment.time));
    let minutes = moment.offset_seconds.unsigned_abs() / 60;
    match moment.offset_seconds {
        0 => format!("{local}Z"),
        seconds => {
            let sign = if seconds < 0 { '-' } else { '+' };
            format!("{local}{sign}{:02}:{:02}", minutes / 60, minutes % 60)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert::ToData;
    use filbert::arrow::util::display::array_value_to_string;

    fn shown(column: Column) -> Vec<String> {
        let columns = [SqlColumnMetadata { name: "c".into(), kind: column.kind() as i32, nullable: true }];
        let batch = batch(&Arc::new(schema(&columns)), &[column]).unwrap();
        (0..batch.num_rows()).map(|row| array_value_to_string(batch.column(0), row).unwrap()).collect()
    }

    #[test]
    fn every_type_of_column_is_shown() {
        let day = SqlDate { year: 2026, month: 3, day: 9 };
        let moment = SqlTime { hour: 1, minute: 2, second: 3, nanos: 40_000_000 };
        let at = |offset_seconds| Some(SqlOffsetDateTime { date: day, time: moment, offset_seconds });
        assert_eq!(shown(Column::Varchar(vec![Some("a".into()), None])), ["a", ""]);
        assert_eq!(shown(Column::Boolean(vec![Some(true)])), ["true"]);
        assert_eq!(shown(Column::TinyInt(vec![Some(-1)])), ["-1"]);
        assert_eq!(shown(Column::SmallInt(vec![Some(-1)])), ["-1"]);
        assert_eq!(shown(Column::Integer(vec![Some(7)])), ["7"]);
        assert_eq!(shown(Column::BigInt(vec![Some(i64::MIN)])), ["-9223372036854775808"]);
        assert_eq!(shown(Column::Real(vec![Some(0.5)])), ["0.5"]);
        assert_eq!(shown(Column::Double(vec![Some(-0.5)])), ["-0.5"]);
        assert_eq!(shown(Column::Date(vec![Some(day)])), ["2026-03-09"]);
        assert_eq!(shown(Column::Time(vec![Some(moment)])), ["01:02:03.04"]);
        assert_eq!(
            shown(Column::Timestamp(vec![Some(SqlDateTime { date: day, time: moment })])),
            ["2026-03-09T01:02:03.04"]
        );
        assert_eq!(
            shown(Column::TimestampWithTimeZone(vec![at(0), at(-9_000)])),
            ["2026-03-09T01:02:03.04Z", "2026-03-09T01:02:03.04-02:30"]
        );
        assert_eq!(shown(Column::Object(vec![Some(7_i32.to_data().unwrap())])), ["7"]);
        assert_eq!(shown(Column::Json(vec![Some("{}".into())])), ["{}"]);
        assert_eq!(shown(Column::Null(2)), ["", ""]);
    }

    #[test]
    fn decimals_are_shown_whatever_a_member_sends() {
        let of = |bytes: &[u8], scale| decimal(&SqlDecimal { unscaled: bytes.to_vec().into(), scale });
        assert_eq!(of(&[1, 0x2c], 2), "3.00");
        assert_eq!(of(&[0xff], 2), "-0.01");
        assert_eq!(of(&[7], 0), "7");
        assert_eq!(of(&[7], -3), "7000");
        for (bytes, scale) in [(&[][..], 0), (&[1; 40], 2), (&[1], i32::MIN), (&[1], i32::MAX)] {
            assert!(of(bytes, scale).contains("10^"));
        }
    }
}

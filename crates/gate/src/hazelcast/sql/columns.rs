//! Columns of Arrow as columns of the protocol's pages.
//!
//! ```text
//! Arrow                                        protocol
//! Boolean, Int8 .. Int64, Float32, Float64     the same
//! UInt8, UInt16, UInt32                        the next wider signed number
//! UInt64                                       BIGINT; what does not fit is an error
//! Utf8, Utf8View, LargeUtf8                    VARCHAR, JSON when the field says so
//! Decimal of any width                         DECIMAL; with the number's own scale where the type has all digits
//! Date, Time, Timestamp                        the same; moments in UTC
//! Binary                                       OBJECT: a byte array, or the object when the field says so
//! lists, structs, intervals                    VARCHAR, as they are shown
//! ```
//!
//! Runs on stage `mixed`, a page at a time.

use super::moments::{date, date_time, time};
use arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait};
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Decimal128Type, Decimal256Type, Field, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time64NanosecondType, TimeUnit,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType,
    UInt64Type, i256,
};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use bytes::Bytes;
use filbert_sql::{ColumnForm, has_own_scales, without_zeros};
use filbert_wire::messages::page::{Column, ColumnType, SqlDateTime, SqlDecimal, SqlOffsetDateTime};
use filbert_wire::messages::structures::SqlColumnMetadata;
use filbert_wire::{Data, ToData, Value};

/// Why a value cannot be sent.
pub(super) type Misfit = String;

/// A column of a result, and how its values are sent.
#[derive(Debug, Clone)]
pub(super) struct ColumnPlan {
    name: String,
    kind: ColumnType,
    nullable: bool,
    way: Way,
}

/// What is done to an array before its values are taken.
#[derive(Debug, Clone, PartialEq)]
enum Way {
    Direct,
    /// Of another type that holds the same.
    Cast(DataType),
    /// As it is shown to people.
    Shown,
}

impl ColumnPlan {
    pub(super) fn new(field: &Field) -> Self {
        let (kind, way) = plan(field.data_type(), ColumnForm::of(field));
        Self { name: field.name().clone(), kind, nullable: field.is_nullable(), way }
    }

    /// What clients are told of it.
    pub(super) fn metadata(&self) -> SqlColumnMetadata {
        SqlColumnMetadata { name: self.name.as_str().into(), kind: self.kind as i32, nullable: self.nullable }
    }

    /// What Hazelcast calls its type.
    pub(super) fn type_name(&self) -> &'static str {
        match self.kind {
            ColumnType::Varchar => "VARCHAR",
            ColumnType::Boolean => "BOOLEAN",
            ColumnType::TinyInt => "TINYINT",
            ColumnType::SmallInt => "SMALLINT",
            ColumnType::Integer => "INTEGER",
            ColumnType::BigInt => "BIGINT",
            ColumnType::Decimal => "DECIMAL",
            ColumnType::Real => "REAL",
            ColumnType::Double => "DOUBLE",
            ColumnType::Date => "DATE",
            ColumnType::Time => "TIME",
            ColumnType::Timestamp => "TIMESTAMP",
            ColumnType::TimestampWithTimeZone => "TIMESTAMP_WITH_TIME_ZONE",
            ColumnType::Object => "OBJECT",
            ColumnType::Json => "JSON",
            ColumnType::Null => "NULL",
        }
    }

    /// The column of a page that has no rows yet.
    pub(super) fn start(&self) -> Column {
        match self.kind {
            ColumnType::Varchar => Column::Varchar(Vec::new()),
            ColumnType::Boolean => Column::Boolean(Vec::new()),
            ColumnType::TinyInt => Column::TinyInt(Vec::new()),
            ColumnType::SmallInt => Column::SmallInt(Vec::new()),
            ColumnType::Integer => Column::Integer(Vec::new()),
            ColumnType::BigInt => Column::BigInt(Vec::new()),
            ColumnType::Decimal => Column::Decimal(Vec::new()),
            ColumnType::Real => Column::Real(Vec::new()),
            ColumnType::Double => Column::Double(Vec::new()),
            ColumnType::Date => Column::Date(Vec::new()),
            ColumnType::Time => Column::Time(Vec::new()),
            ColumnType::Timestamp => Column::Timestamp(Vec::new()),
            ColumnType::TimestampWithTimeZone => Column::TimestampWithTimeZone(Vec::new()),
            ColumnType::Object => Column::Object(Vec::new()),
            ColumnType::Json => Column::Json(Vec::new()),
            ColumnType::Null => Column::Null(0),
        }
    }

    /// Adds all values of an array.
    pub(super) fn append(&self, column: &mut Column, array: &ArrayRef) -> Result<(), Misfit> {
        let misfit = |problem: String| format!("column {:?}: {problem}", self.name);
        match &self.way {
            Way::Direct => take(column, array),
            Way::Cast(other) => {
                cast(array, other).map_err(|error| error.to_string()).and_then(|array| take(column, &array))
            }
            Way::Shown => shown(column, array),
        }
        .map_err(misfit)
    }
}

/// The type of a column on the wire.
fn plan(data_type: &DataType, form: Option<ColumnForm>) -> (ColumnType, Way) {
    let direct = |kind| (kind, Way::Direct);
    let as_if = |kind, other| (kind, Way::Cast(other));
    match data_type {
        DataType::Null => direct(ColumnType::Null),
        DataType::Boolean => direct(ColumnType::Boolean),
        DataType::Int8 => direct(ColumnType::TinyInt),
        DataType::Int16 => direct(ColumnType::SmallInt),
        DataType::Int32 => direct(ColumnType::Integer),
        DataType::Int64 | DataType::UInt64 => direct(ColumnType::BigInt),
        DataType::UInt8 => as_if(ColumnType::SmallInt, DataType::Int16),
        DataType::UInt16 => as_if(ColumnType::Integer, DataType::Int32),
        DataType::UInt32 => as_if(ColumnType::BigInt, DataType::Int64),
        DataType::Float16 => as_if(ColumnType::Real, DataType::Float32),
        DataType::Float32 => direct(ColumnType::Real),
        DataType::Float64 => direct(ColumnType::Double),
        DataType::Decimal128(..) | DataType::Decimal256(..) => direct(ColumnType::Decimal),
        DataType::Decimal32(digits, scale) | DataType::Decimal64(digits, scale) => {
            as_if(ColumnType::Decimal, DataType::Decimal128(*digits, *scale))
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if form == Some(ColumnForm::Json) => {
            direct(ColumnType::Json)
        }
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => direct(ColumnType::Varchar),
        DataType::Date32 => direct(ColumnType::Date),
        DataType::Date64 => as_if(ColumnType::Date, DataType::Date32),
        DataType::Time64(TimeUnit::Nanosecond) => direct(ColumnType::Time),
        DataType::Time32(_) | DataType::Time64(_) => {
            as_if(ColumnType::Time, DataType::Time64(TimeUnit::Nanosecond))
        }
        DataType::Timestamp(_, None) => direct(ColumnType::Timestamp),
        DataType::Timestamp(_, Some(_)) => direct(ColumnType::TimestampWithTimeZone),
        // An object's bytes are those of its `Data`; other bytes are an array.
        DataType::Binary if form == Some(ColumnForm::Object) => direct(ColumnType::Object),
        DataType::Binary => (ColumnType::Object, Way::Cast(DataType::LargeBinary)),
        DataType::LargeBinary => direct(ColumnType::Object),
        DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            as_if(ColumnType::Object, DataType::LargeBinary)
        }
        DataType::Dictionary(_, values) => match plan(values, form) {
            (kind, Way::Direct) => (kind, Way::Cast(values.as_ref().clone())),
            other => other,
        },
        _ => (ColumnType::Varchar, Way::Shown),
    }
}

fn take(column: &mut Column, array: &ArrayRef) -> Result<(), Misfit> {
    fn primitives<T: ArrowPrimitiveType>(array: &ArrayRef) -> impl Iterator<Item = Option<T::Native>> {
        array.as_primitive::<T>().iter()
    }
    match (column, array.data_type()) {
        (Column::Null(rows), _) => *rows += array.len(),
        (Column::Boolean(values), DataType::Boolean) => values.extend(array.as_boolean().iter()),
        (Column::TinyInt(values), DataType::Int8) => values.extend(primitives::<Int8Type>(array)),
        (Column::SmallInt(values), DataType::Int16) => values.extend(primitives::<Int16Type>(array)),
        (Column::Integer(values), DataType::Int32) => values.extend(primitives::<Int32Type>(array)),
        (Column::BigInt(values), DataType::Int64) => values.extend(primitives::<Int64Type>(array)),
        (Column::BigInt(values), DataType::UInt64) => {
            for value in array.as_primitive::<UInt64Type>() {
                let fits = |value: u64| {
                    i64::try_from(value).map_err(|_| format!("{value} is out of the range of BIGINT"))
                };
                values.push(value.map(fits).transpose()?);
            }
        }
        (Column::Real(values), DataType::Float32) => values.extend(primitives::<Float32Type>(array)),
        (Column::Double(values), DataType::Float64) => values.extend(primitives::<Float64Type>(array)),
        (Column::Decimal(values), own @ DataType::Decimal128(_, scale)) => {
            let number = |number: i128| decimal(i256::from_i128(number), *scale, own);
            values.extend(primitives::<Decimal128Type>(array).map(|value| value.map(number)));
        }
        (Column::Decimal(values), own @ DataType::Decimal256(_, scale)) => {
            let number = |number: i256| decimal(number, *scale, own);
            values.extend(primitives::<Decimal256Type>(array).map(|value| value.map(number)));
        }
        (Column::Varchar(values) | Column::Json(values), DataType::Utf8) => {
            values.extend(array.as_string::<i32>().iter().map(|text| text.map(Into::into)));
        }
        (Column::Varchar(values) | Column::Json(values), DataType::LargeUtf8) => {
            values.extend(array.as_string::<i64>().iter().map(|text| text.map(Into::into)));
        }
        (Column::Varchar(values) | Column::Json(values), DataType::Utf8View) => {
            values.extend(array.as_string_view().iter().map(|text| text.map(Into::into)));
        }
        (Column::Date(values), DataType::Date32) => {
            for value in array.as_primitive::<Date32Type>() {
                values.push(value.map(|day| date(day.into())).transpose()?);
            }
        }
        (Column::Time(values), DataType::Time64(TimeUnit::Nanosecond)) => {
            for value in array.as_primitive::<Time64NanosecondType>() {
                values.push(value.map(time).transpose()?);
            }
        }
        (Column::Timestamp(values), DataType::Timestamp(unit, _)) => {
            for value in moments(array, *unit) {
                values.push(value.transpose()?);
            }
        }
        (Column::TimestampWithTimeZone(values), DataType::Timestamp(unit, _)) => {
            for value in moments(array, *unit) {
                let in_utc = |SqlDateTime { date, time }| SqlOffsetDateTime { date, time, offset_seconds: 0 };
                values.push(value.transpose()?.map(in_utc));
            }
        }
        (Column::Object(values), DataType::Binary) => {
            for value in array.as_binary::<i32>() {
                let object = |bytes: &[u8]| Data::from_bytes(Bytes::copy_from_slice(bytes));
                let object = value.map(object).transpose();
                values.push(object.map_err(|error| format!("what is stored is no object: {error}"))?);
            }
        }
        (Column::Object(values), DataType::LargeBinary) => {
            for value in array.as_binary::<i64>() {
                let bytes = value.map(|bytes| Value::ByteArray(bytes.to_vec()).to_data()).transpose();
                values.push(bytes.map_err(|error| error.to_string())?);
            }
        }
        (column, other) => return Err(format!("{other} does not go into {:?}", column.kind())),
    }
    Ok(())
}

fn moments(
    array: &ArrayRef,
    unit: TimeUnit,
) -> Box<dyn Iterator<Item = Option<Result<SqlDateTime, Misfit>>> + '_> {
    macro_rules! of {
        ($type:ty, $per_second:literal) => {
            Box::new(
                array
                    .as_primitive::<$type>()
                    .iter()
                    .map(|value| value.map(|count| date_time(count, $per_second))),
            )
        };
    }
    match unit {
        TimeUnit::Second => of!(TimestampSecondType, 1),
        TimeUnit::Millisecond => of!(TimestampMillisecondType, 1_000),
        TimeUnit::Microsecond => of!(TimestampMicrosecondType, 1_000_000),
        TimeUnit::Nanosecond => of!(TimestampNanosecondType, 1_000_000_000),
    }
}

fn shown(column: &mut Column, array: &ArrayRef) -> Result<(), Misfit> {
    let Column::Varchar(values) = column else { return Err("only text is shown".to_owned()) };
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options).map_err(|error| error.to_string())?;
    for row in 0..array.len() {
        let text = || formatter.value(row).try_to_string().map_err(|error| error.to_string());
        let text = if array.is_null(row) { None } else { Some(text()?) };
        values.push(text.map(Into::into));
    }
    Ok(())
}

/// A number with the scale of its column, or with its own where that has none: big-endian, without the bytes that say nothing.
fn decimal(unscaled: i256, scale: i8, column: &DataType) -> SqlDecimal {
    let (unscaled, scale) =
        if has_own_scales(column) { without_zeros(unscaled, scale) } else { (unscaled, scale) };
    let digits = unscaled.to_be_bytes();
    let says_nothing = |at: usize| {
        let (here, next) = (digits[at], digits[at + 1]);
        (here == 0 && next < 0x80) || (here == 0xff && next >= 0x80)
    };
    let first = (0..digits.len() - 1).find(|at| !says_nothing(*at)).unwrap_or(digits.len() - 1);
    SqlDecimal { unscaled: Bytes::copy_from_slice(&digits[first..]), scale: scale.into() }
}

/// What the values of an array take in a message, roughly.
pub(super) fn message_bytes(array: &ArrayRef) -> usize {
    /// A frame around a value, or a value of fixed size.
    const EACH: usize = 16;
    fn between<O: OffsetSizeTrait>(offsets: &[O]) -> usize {
        match (offsets.first(), offsets.last()) {
            (Some(first), Some(last)) => last.as_usize() - first.as_usize(),
            _ => 0,
        }
    }
    let own = match array.data_type() {
        DataType::Utf8 => between(array.as_string::<i32>().value_offsets()),
        DataType::LargeUtf8 => between(array.as_string::<i64>().value_offsets()),
        DataType::Binary => between(array.as_binary::<i32>().value_offsets()),
        DataType::LargeBinary => between(array.as_binary::<i64>().value_offsets()),
        DataType::Utf8View => array.as_string_view().lengths().map(|length| length as usize).sum(),
        DataType::BinaryView => array.as_binary_view().lengths().map(|length| length as usize).sum(),
        data_type if data_type.is_nested() => array.get_array_memory_size(),
        _ => 0,
    };
    own + array.len() * EACH
}

#[cfg(test)]
mod tests;

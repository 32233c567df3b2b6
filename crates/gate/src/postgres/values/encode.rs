//! Rows of Arrow batches as messages. Each column is looked at once per batch; what is left per value is a call and the bytes.

use super::interval::put_binary_interval;
use super::numeric::{decimal_text, put_numeric};
use super::oid::{self, PgType, Shown};
use super::time::{self, DAY_MICROS, EPOCH_DAYS, EPOCH_MICROS};
use super::zone::{Zone, put_offset};
use crate::postgres::answer::{Format, patch_length};
use crate::postgres::failure::Failure;
use bytes::{BufMut, BytesMut};
use datafusion::arrow::array::temporal_conversions::as_datetime_with_timezone;
use datafusion::arrow::array::timezone::Tz;
use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, LargeListArray, ListArray, MapArray, PrimitiveArray,
    RecordBatch, StringBuilder, StructArray, TimestampMicrosecondArray,
};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Date64Type, Decimal128Type, Decimal256Type, DurationMicrosecondType,
    DurationMillisecondType, DurationNanosecondType, DurationSecondType, Field, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, IntervalDayTimeType, IntervalMonthDayNanoType, IntervalUnit,
    IntervalYearMonthType, Time32MillisecondType, Time32SecondType, Time64MicrosecondType,
    Time64NanosecondType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::writer::{EncoderOptions, make_encoder};
use filbert_sql::Interval;
use std::fmt::{Display, Write};
use std::sync::Arc;

/// Writes one value, which is not null.
type Put = Box<dyn Fn(usize, &mut BytesMut) -> Result<(), ArrowError> + Send + Sync>;

/// Writes what can always be written.
fn sure(put: impl Fn(usize, &mut BytesMut) + Send + Sync + 'static) -> Put {
    Box::new(move |row, out| {
        put(row, out);
        Ok(())
    })
}

/// The rows of one batch, ready to be written.
pub(in crate::postgres) struct RowEncoder {
    columns: Vec<Column>,
    rows: usize,
}

struct Column {
    name: String,
    array: ArrayRef,
    put: Put,
}

impl RowEncoder {
    /// For a client that wants its columns in these formats, and moments as text in this zone.
    pub(in crate::postgres) fn new(
        batch: &RecordBatch,
        zone: &Zone,
        format: impl Fn(usize) -> Format,
    ) -> Result<Self, Failure> {
        let schema = batch.schema();
        let column = |(at, array): (usize, &ArrayRef)| {
            let field = schema.field(at);
            Column::new(field, array, format(at), zone).map_err(|error| unsendable(field.name(), &error))
        };
        let columns = batch.columns().iter().enumerate().map(column).collect::<Result<_, _>>()?;
        Ok(Self { columns, rows: batch.num_rows() })
    }

    pub(in crate::postgres) fn rows(&self) -> usize {
        self.rows
    }

    /// Writes a row as a message of its own; nothing of it when a value cannot be written.
    pub(in crate::postgres) fn put_row(&self, row: usize, out: &mut BytesMut) -> Result<(), Failure> {
        let before = out.len();
        out.put_u8(b'D');
        let begin = out.len();
        out.put_i32(0);
        self.put_tuple(row, out).inspect_err(|_| out.truncate(before))?;
        patch_length(out, begin, 0);
        Ok(())
    }

    /// Writes the number of values and each with its length.
    pub(in crate::postgres) fn put_tuple(&self, row: usize, out: &mut BytesMut) -> Result<(), Failure> {
        out.put_u16(self.columns.len() as u16);
        for column in &self.columns {
            put_value(&column.array, &column.put, row, out)
                .map_err(|error| unsendable(&column.name, &error))?;
        }
        Ok(())
    }

    /// Writes one value without its length; false when there is none.
    pub(in crate::postgres) fn put_bare(
        &self,
        row: usize,
        column: usize,
        out: &mut BytesMut,
    ) -> Result<bool, Failure> {
        let column = &self.columns[column];
        if is_null(&column.array, row) {
            return Ok(false);
        }
        (column.put)(row, out).map_err(|error| unsendable(&column.name, &error))?;
        Ok(true)
    }

    pub(in crate::postgres) fn columns(&self) -> usize {
        self.columns.len()
    }
}

fn unsendable(column: &str, error: &ArrowError) -> Failure {
    Failure::error("22000", format!("column {column:?} cannot be sent: {error}"))
}

/// An array of nulls keeps no list of them.
fn is_null(array: &ArrayRef, row: usize) -> bool {
    array.is_null(row) || *array.data_type() == DataType::Null
}

/// Writes a value and its length, or that there is none.
fn put_value(array: &ArrayRef, put: &Put, row: usize, out: &mut BytesMut) -> Result<(), ArrowError> {
    if is_null(array, row) {
        out.put_i32(-1);
        return Ok(());
    }
    let begin = out.len();
    out.put_i32(0);
    put(row, out)?;
    patch_length(out, begin, 4);
    Ok(())
}

impl Column {
    fn new(field: &Field, array: &ArrayRef, format: Format, zone: &Zone) -> Result<Self, ArrowError> {
        let array = plain(array)?;
        let put = match oid::pg_type(field) {
            Shown::One(of) => one(&array, of, format, zone)?,
            Shown::Array(of) => list(&array, of, format, zone)?,
        };
        Ok(Self { name: field.name().clone(), array, put })
    }
}

/// Without what only saves space.
fn plain(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Dictionary(_, values) => plain(&cast(array, values)?),
        DataType::RunEndEncoded(_, values) => plain(&cast(array, values.data_type())?),
        DataType::Float16 => cast(array, &DataType::Float32),
        DataType::Decimal32(precision, scale) | DataType::Decimal64(precision, scale) => {
            cast(array, &DataType::Decimal128(*precision, *scale))
        }
        DataType::FixedSizeList(item, _) | DataType::ListView(item) | DataType::LargeListView(item) => {
            cast(array, &DataType::LargeList(Arc::clone(item)))
        }
        DataType::List(item) => cast(array, &DataType::LargeList(Arc::clone(item))),
        _ => Ok(Arc::clone(array)),
    }
}

fn one(array: &ArrayRef, of: &'static PgType, format: Format, zone: &Zone) -> Result<Put, ArrowError> {
    let binary = format == Format::Binary;
    Ok(match array.data_type() {
        DataType::Null => sure(|_, _| ()),
        _ if *of == oid::JSON && !is_text(array.data_type()) => json(array)?,
        _ if *of == oid::UUID => uuid(array, binary),
        DataType::Boolean => {
            let values = array.as_boolean().clone();
            sure(move |row, out| match (binary, values.value(row)) {
                (true, value) => out.put_u8(u8::from(value)),
                (false, true) => out.put_u8(b't'),
                (false, false) => out.put_u8(b'f'),
            })
        }
        DataType::Int8 => number::<Int8Type>(array, binary, |value, out| out.put_i16(value.into())),
        DataType::UInt8 => number::<UInt8Type>(array, binary, |value, out| out.put_i16(value.into())),
        DataType::Int16 => number::<Int16Type>(array, binary, |value, out| out.put_i16(value)),
        DataType::UInt16 => number::<UInt16Type>(array, binary, |value, out| out.put_i32(value.into())),
        DataType::Int32 => number::<Int32Type>(array, binary, |value, out| out.put_i32(value)),
        DataType::UInt32 => number::<UInt32Type>(array, binary, |value, out| out.put_i64(value.into())),
        DataType::Int64 => number::<Int64Type>(array, binary, |value, out| out.put_i64(value)),
        DataType::UInt64 => {
            number::<UInt64Type>(array, binary, |value, out| put_numeric(out, &value.to_string()))
        }
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>().clone();
            sure(move |row, out| match values.value(row) {
                value if binary => out.put_f32(value),
                value => put_float(out, &value, value.is_nan(), value.is_infinite(), 6),
            })
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>().clone();
            sure(move |row, out| match values.value(row) {
                value if binary => out.put_f64(value),
                value => put_float(out, &value, value.is_nan(), value.is_infinite(), 15),
            })
        }
        DataType::Decimal128(_, scale) => decimal::<Decimal128Type>(array, *scale, binary),
        DataType::Decimal256(_, scale) => decimal::<Decimal256Type>(array, *scale, binary),
        DataType::Utf8 => {
            let values = array.as_string::<i32>().clone();
            sure(move |row, out| put_text(out, values.value(row)))
        }
        DataType::LargeUtf8 => {
            let values = array.as_string::<i64>().clone();
            sure(move |row, out| put_text(out, values.value(row)))
        }
        DataType::Utf8View => {
            let values = array.as_string_view().clone();
            sure(move |row, out| put_text(out, values.value(row)))
        }
        DataType::Binary => {
            let values = array.as_binary::<i32>().clone();
            sure(move |row, out| put_bytes(out, values.value(row), binary))
        }
        DataType::LargeBinary => {
            let values = array.as_binary::<i64>().clone();
            sure(move |row, out| put_bytes(out, values.value(row), binary))
        }
        DataType::BinaryView => {
            let values = array.as_binary_view().clone();
            sure(move |row, out| put_bytes(out, values.value(row), binary))
        }
        DataType::FixedSizeBinary(_) => {
            let values = array.as_fixed_size_binary().clone();
            sure(move |row, out| put_bytes(out, values.value(row), binary))
        }
        DataType::Date32 => mapped::<Date32Type>(array, i64::from, date(binary)),
        DataType::Date64 => mapped::<Date64Type>(array, |ms| ms.div_euclid(86_400_000), date(binary)),
        DataType::Time32(TimeUnit::Second) => {
            mapped::<Time32SecondType>(array, |value| i64::from(value) * 1_000_000, clock(binary))
        }
        DataType::Time32(_) => {
            mapped::<Time32MillisecondType>(array, |value| i64::from(value) * 1_000, clock(binary))
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            mapped::<Time64NanosecondType>(array, |value| value.div_euclid(1_000), clock(binary))
        }
        DataType::Time64(_) => mapped::<Time64MicrosecondType>(array, |value| value, clock(binary)),
        DataType::Timestamp(unit, Some(_)) if !binary && !zone.is_utc() => moments(array, *unit, zone)?,
        DataType::Timestamp(unit, zone) => {
            let zone = if zone.is_some() { "+00" } else { "" };
            let put = moment(binary, zone);
            match unit {
                TimeUnit::Second => {
                    mapped::<TimestampSecondType>(array, |value| value.saturating_mul(1_000_000), put)
                }
                TimeUnit::Millisecond => {
                    mapped::<TimestampMillisecondType>(array, |value| value.saturating_mul(1_000), put)
                }
                TimeUnit::Microsecond => mapped::<TimestampMicrosecondType>(array, |value| value, put),
                TimeUnit::Nanosecond => {
                    mapped::<TimestampNanosecondType>(array, |value| value.div_euclid(1_000), put)
                }
            }
        }
        DataType::Duration(unit) => {
            let put = move |micros, out: &mut BytesMut| {
                put_interval(out, Interval { micros, ..Interval::default() }, binary)
            };
            match unit {
                TimeUnit::Second => {
                    mapped::<DurationSecondType>(array, |value| value.saturating_mul(1_000_000), put)
                }
                TimeUnit::Millisecond => {
                    mapped::<DurationMillisecondType>(array, |value| value.saturating_mul(1_000), put)
                }
                TimeUnit::Microsecond => mapped::<DurationMicrosecondType>(array, |value| value, put),
                TimeUnit::Nanosecond => mapped::<DurationNanosecondType>(array, |value| value / 1_000, put),
            }
        }
        DataType::Interval(unit) => interval(array, *unit, binary),
        other => return Err(ArrowError::NotYetImplemented(format!("values of type {other}"))),
    })
}

fn is_text(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// A number: in binary as `put` writes it, as text as Rust does.
fn number<T>(array: &ArrayRef, binary: bool, put: fn(T::Native, &mut BytesMut)) -> Put
where
    T: ArrowPrimitiveType,
    T::Native: Display,
{
    let values: PrimitiveArray<T> = array.as_primitive::<T>().clone();
    if binary {
        sure(move |row, out| put(values.value(row), out))
    } else {
        sure(move |row, out| {
            // Writing to memory does not fail.
            let _ = write!(out, "{}", values.value(row));
        })
    }
}

/// A number that `change` makes another of, which `put` writes.
fn mapped<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    change: fn(T::Native) -> i64,
    put: impl Fn(i64, &mut BytesMut) + Send + Sync + 'static,
) -> Put {
    let values: PrimitiveArray<T> = array.as_primitive::<T>().clone();
    sure(move |row, out| put(change(values.value(row)), out))
}

fn decimal<T>(array: &ArrayRef, scale: i8, binary: bool) -> Put
where
    T: ArrowPrimitiveType,
    T::Native: Display,
{
    let values: PrimitiveArray<T> = array.as_primitive::<T>().clone();
    sure(move |row, out| {
        let text = decimal_text(&values.value(row).to_string(), scale);
        if binary { put_numeric(out, &text) } else { out.put_slice(text.as_bytes()) }
    })
}

fn date(binary: bool) -> impl Fn(i64, &mut BytesMut) + Send + Sync {
    move |days, out| {
        if binary {
            let days = (days - i64::from(EPOCH_DAYS)).clamp(i32::MIN.into(), i32::MAX.into());
            out.put_i32(days as i32);
        } else {
            time::put_date(out, days);
        }
    }
}

fn clock(binary: bool) -> impl Fn(i64, &mut BytesMut) + Send + Sync {
    move |micros, out| {
        let micros = micros.rem_euclid(DAY_MICROS);
        if binary { out.put_i64(micros) } else { time::put_time(out, micros) }
    }
}

fn moment(binary: bool, zone: &'static str) -> impl Fn(i64, &mut BytesMut) + Send + Sync {
    move |micros, out| {
        if binary {
            out.put_i64(micros.saturating_sub(EPOCH_MICROS))
        } else {
            time::put_timestamp(out, micros, zone)
        }
    }
}

fn interval(array: &ArrayRef, unit: IntervalUnit, binary: bool) -> Put {
    match unit {
        IntervalUnit::YearMonth => {
            let values = array.as_primitive::<IntervalYearMonthType>().clone();
            sure(move |row, out| {
                put_interval(out, Interval { months: values.value(row), ..Interval::default() }, binary);
            })
        }
        IntervalUnit::DayTime => {
            let values = array.as_primitive::<IntervalDayTimeType>().clone();
            sure(move |row, out| {
                let value = values.value(row);
                let micros = i64::from(value.milliseconds) * 1_000;
                put_interval(out, Interval { days: value.days, micros, months: 0 }, binary);
            })
        }
        IntervalUnit::MonthDayNano => {
            let values = array.as_primitive::<IntervalMonthDayNanoType>().clone();
            sure(move |row, out| {
                let value = values.value(row);
                // Cut, as PostgreSQL cuts what is below a microsecond, and not down: a span may be negative.
                let micros = value.nanoseconds / 1_000;
                put_interval(out, Interval { months: value.months, days: value.days, micros }, binary);
            })
        }
    }
}

fn put_interval(out: &mut BytesMut, interval: Interval, binary: bool) {
    if binary { put_binary_interval(interval, out) } else { put_text(out, &interval.to_string()) }
}

fn put_text(out: &mut BytesMut, text: &str) {
    out.put_slice(text.as_bytes());
}

fn put_bytes(out: &mut BytesMut, bytes: &[u8], binary: bool) {
    if binary {
        out.put_slice(bytes);
        return;
    }
    const HEX: &[u8; 16] = b"0123456789abcdef";
    out.reserve(2 + bytes.len() * 2);
    out.put_slice(b"\\x");
    for byte in bytes {
        out.put_u8(HEX[usize::from(byte >> 4)]);
        out.put_u8(HEX[usize::from(byte & 15)]);
    }
}

/// The shortest text that reads as the same number; very large and very small ones with an exponent, as PostgreSQL does.
fn put_float(
    out: &mut BytesMut,
    value: &(impl Display + std::fmt::LowerExp),
    nan: bool,
    infinite: bool,
    digits: i32,
) {
    if nan {
        out.put_slice(b"NaN");
        return;
    }
    let scientific = format!("{value:e}");
    if infinite {
        out.put_slice(if scientific.starts_with('-') { b"-Infinity" } else { b"Infinity" });
        return;
    }
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let _ = if (-4..digits).contains(&exponent) {
        write!(out, "{value}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{mantissa}e{sign}{:02}", exponent.abs())
    };
}

fn uuid(array: &ArrayRef, binary: bool) -> Put {
    let values = array.as_fixed_size_binary().clone();
    sure(move |row, out| match uuid::Uuid::from_slice(values.value(row)) {
        Ok(id) if !binary => {
            let _ = write!(out, "{id}");
        }
        _ => out.put_slice(values.value(row)),
    })
}

/// Moments as text, each with the offset that the zone has then.
fn moments(array: &ArrayRef, unit: TimeUnit, zone: &Zone) -> Result<Put, ArrowError> {
    let utc: TimestampMicrosecondArray = match unit {
        TimeUnit::Second => {
            array.as_primitive::<TimestampSecondType>().unary(|value| value.saturating_mul(1_000_000))
        }
        TimeUnit::Millisecond => {
            array.as_primitive::<TimestampMillisecondType>().unary(|value| value.saturating_mul(1_000))
        }
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().clone(),
        TimeUnit::Nanosecond => {
            array.as_primitive::<TimestampNanosecondType>().unary(|value| value.div_euclid(1_000))
        }
    };
    let there: Tz = zone.name().parse()?;
    Ok(sure(move |row, out| {
        let micros = utc.value(row);
        let clock = as_datetime_with_timezone::<TimestampMicrosecondType>(micros, there);
        // What no calendar reaches has no zone either.
        let shown = clock.map_or(micros, |clock| clock.naive_local().and_utc().timestamp_micros());
        let offset = shown.saturating_sub(micros) / 1_000_000;
        let mut text = String::new();
        put_offset(&mut text, offset as i32);
        time::put_timestamp(out, shown, &text);
    }))
}

/// Objects and whatever else has no type of its own.
fn json(array: &ArrayRef) -> Result<Put, ArrowError> {
    let array = with_text_keys(array)?;
    let field = Arc::new(Field::new("value", array.data_type().clone(), true));
    // A member without a value is there all the same.
    let options = EncoderOptions::default().with_explicit_nulls(true);
    // What has no form in JSON is found before the first row is sent.
    make_encoder(&field, &array.slice(0, 0), &options)?;
    Ok(Box::new(move |row, out| {
        let one = array.slice(row, 1);
        let mut text = Vec::new();
        make_encoder(&field, &one, &options)?.encode(0, &mut text);
        out.put_slice(&text);
        Ok(())
    }))
}

/// The same with texts for the keys of maps, at any depth: the names of members are texts in JSON.
fn with_text_keys(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let renewed = |field: &Arc<Field>, values: &ArrayRef| {
        Arc::new(field.as_ref().clone().with_data_type(values.data_type().clone()))
    };
    Ok(match array.data_type() {
        DataType::Struct(fields) if !fields.is_empty() => {
            let object = array.as_struct();
            let columns: Vec<ArrayRef> =
                object.columns().iter().map(with_text_keys).collect::<Result<_, _>>()?;
            let fields = fields.iter().zip(&columns).map(|(field, column)| renewed(field, column)).collect();
            Arc::new(StructArray::try_new(fields, columns, object.nulls().cloned())?)
        }
        DataType::Map(entries, sorted) => {
            let map = array.as_map();
            let (keys, values) = (as_names(map.keys())?, with_text_keys(map.values())?);
            let DataType::Struct(fields) = entries.data_type() else {
                return Err(ArrowError::InvalidArgumentError(format!("a map of {entries}")));
            };
            let fields = fields.iter().zip([&keys, &values]).map(|(field, column)| renewed(field, column));
            let pairs = StructArray::try_new(fields.collect(), vec![keys, values], None)?;
            let entries = Arc::new(entries.as_ref().clone().with_data_type(pairs.data_type().clone()));
            let (offsets, nulls) = (map.offsets().clone(), map.nulls().cloned());
            Arc::new(MapArray::try_new(entries, offsets, pairs, nulls, *sorted)?)
        }
        DataType::List(item) => {
            let lists = array.as_list::<i32>();
            let values = with_text_keys(lists.values())?;
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            Arc::new(ListArray::try_new(renewed(item, &values), offsets, values, nulls)?)
        }
        DataType::LargeList(item) => {
            let lists = array.as_list::<i64>();
            let values = with_text_keys(lists.values())?;
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            Arc::new(LargeListArray::try_new(renewed(item, &values), offsets, values, nulls)?)
        }
        DataType::FixedSizeList(item, _) | DataType::ListView(item) | DataType::LargeListView(item) => {
            with_text_keys(&cast(array, &DataType::LargeList(Arc::clone(item)))?)?
        }
        _ => Arc::clone(array),
    })
}

/// Keys as the names of members: those that are no texts as JSON writes them.
fn as_names(keys: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let keys = plain(keys)?;
    if is_text(keys.data_type()) {
        return cast(&keys, &DataType::Utf8);
    }
    if matches!(keys.data_type(), DataType::Struct(_) | DataType::Map(..) | DataType::LargeList(_)) {
        let put = json(&keys)?;
        let mut names = StringBuilder::new();
        for row in 0..keys.len() {
            let mut name = BytesMut::new();
            put(row, &mut name)?;
            names.append_value(String::from_utf8_lossy(&name));
        }
        return Ok(Arc::new(names.finish()));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(&keys, &DataType::Utf8, &options)
}

/// An array of one dimension.
fn list(array: &ArrayRef, of: &'static PgType, format: Format, zone: &Zone) -> Result<Put, ArrowError> {
    let lists = array.as_list::<i64>().clone();
    let items = plain(lists.values())?;
    let put = one(&items, of, format, zone)?;
    Ok(Box::new(move |row, out| {
        let offsets = lists.value_offsets();
        let range = offsets[row] as usize..offsets[row + 1] as usize;
        match format {
            Format::Binary => put_binary_array(out, &items, &put, range, of),
            Format::Text => put_text_array(out, &items, &put, range),
        }
    }))
}

fn put_binary_array(
    out: &mut BytesMut,
    items: &ArrayRef,
    put: &Put,
    range: std::ops::Range<usize>,
    of: &PgType,
) -> Result<(), ArrowError> {
    out.put_i32(i32::from(!range.is_empty()));
    out.put_i32(i32::from(range.clone().any(|row| is_null(items, row))));
    out.put_u32(of.oid);
    if !range.is_empty() {
        out.put_i32(range.len() as i32);
        // Arrays of PostgreSQL begin at 1.
        out.put_i32(1);
    }
    for row in range {
        put_value(items, put, row, out)?;
    }
    Ok(())
}

fn put_text_array(
    out: &mut BytesMut,
    items: &ArrayRef,
    put: &Put,
    range: std::ops::Range<usize>,
) -> Result<(), ArrowError> {
    out.put_u8(b'{');
    let (begin, mut item) = (range.start, BytesMut::new());
    for row in range {
        if row > begin {
            out.put_u8(b',');
        }
        if is_null(items, row) {
            out.put_slice(b"NULL");
            continue;
        }
        item.clear();
        put(row, &mut item)?;
        let special =
            |byte: &u8| matches!(byte, b'{' | b'}' | b',' | b'"' | b'\\') || byte.is_ascii_whitespace();
        if item.is_empty() || item.iter().any(special) || item.eq_ignore_ascii_case(b"null") {
            out.put_u8(b'"');
            for byte in &item {
                if matches!(byte, b'"' | b'\\') {
                    out.put_u8(b'\\');
                }
                out.put_u8(*byte);
            }
            out.put_u8(b'"');
        } else {
            out.put_slice(&item);
        }
    }
    out.put_u8(b'}');
    Ok(())
}

#[cfg(test)]
mod tests;

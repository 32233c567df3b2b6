//! Rows as clients receive them.

use super::*;
use datafusion::arrow::array::{
    BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int32Array, Int64Array, IntervalMonthDayNanoArray, ListArray, StringArray, StringViewArray, StructArray,
    Time64MicrosecondArray, TimestampMicrosecondArray, TimestampNanosecondArray, TimestampSecondArray,
    UInt64Array,
};
use datafusion::arrow::datatypes::{IntervalMonthDayNano, Schema};

/// The values of the first row in a format; `None` is NULL.
fn row(columns: Vec<ArrayRef>, format: Format) -> Vec<Option<Vec<u8>>> {
    let field =
        |(at, array): (usize, &ArrayRef)| Field::new(format!("c{at}"), array.data_type().clone(), true);
    let schema = Schema::new(columns.iter().enumerate().map(field).collect::<Vec<_>>());
    let batch = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    let encoder = RowEncoder::new(&batch, &Zone::utc(), |_| format).unwrap();
    let mut out = BytesMut::new();
    encoder.put_row(0, &mut out).unwrap();
    assert_eq!(out[0], b'D');
    let length = i32::from_be_bytes(out[1..5].try_into().unwrap());
    assert_eq!(length as usize, out.len() - 1);
    let mut fields = crate::postgres::request::Fields(out.freeze().slice(5..));
    let count = fields.int16().unwrap();
    (0..count).map(|_| fields.value().unwrap().map(|value| value.to_vec())).collect()
}

fn texts(columns: Vec<ArrayRef>) -> Vec<String> {
    let text =
        |value: Option<Vec<u8>>| value.map_or("NULL".to_owned(), |value| String::from_utf8(value).unwrap());
    row(columns, Format::Text).into_iter().map(text).collect()
}

#[test]
fn values_as_text() {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(BooleanArray::from(vec![true])),
        Arc::new(Int8Array::from(vec![-8])),
        Arc::new(UInt64Array::from(vec![u64::MAX])),
        Arc::new(Float64Array::from(vec![0.1])),
        Arc::new(Float64Array::from(vec![1e20])),
        Arc::new(Float32Array::from(vec![1.5e-7])),
        Arc::new(Float64Array::from(vec![f64::NEG_INFINITY])),
        Arc::new(Decimal128Array::from(vec![-12345]).with_precision_and_scale(10, 2).unwrap()),
        Arc::new(StringViewArray::from(vec!["größer"])),
        Arc::new(BinaryArray::from(vec![&b"\x00\xff"[..]])),
        Arc::new(Date32Array::from(vec![19_782])),
        Arc::new(Time64MicrosecondArray::from(vec![3_723_000_001])),
        Arc::new(TimestampSecondArray::from(vec![1_700_000_000])),
        Arc::new(TimestampMicrosecondArray::from(vec![1_700_000_000_500_000]).with_timezone("+02:00")),
        Arc::new(TimestampNanosecondArray::from(vec![-1])),
        Arc::new(IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, 2, 3_000_000_000)])),
        Arc::new(StringArray::from(vec![None::<&str>])),
    ];
    let expected = [
        "t",
        "-8",
        "18446744073709551615",
        "0.1",
        "1e+20",
        "1.5e-07",
        "-Infinity",
        "-123.45",
        "größer",
        "\\x00ff",
        "2024-02-29",
        "01:02:03.000001",
        "2023-11-14 22:13:20",
        "2023-11-14 22:13:20.5+00",
        "1969-12-31 23:59:59.999999",
        "1 mon 2 days 00:00:03",
        "NULL",
    ];
    assert_eq!(texts(columns), expected);
}

#[test]
fn values_in_binary() {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(BooleanArray::from(vec![true])),
        Arc::new(Int8Array::from(vec![-1])),
        Arc::new(Int64Array::from(vec![258])),
        Arc::new(Float64Array::from(vec![1.0])),
        Arc::new(Date32Array::from(vec![EPOCH_DAYS + 1])),
        Arc::new(TimestampMicrosecondArray::from(vec![EPOCH_MICROS + 5])),
        Arc::new(Decimal128Array::from(vec![15]).with_precision_and_scale(10, 1).unwrap()),
        Arc::new(StringArray::from(vec![None::<&str>])),
    ];
    let expected: Vec<Option<Vec<u8>>> = vec![
        Some(vec![1]),
        Some(vec![0xff, 0xff]),
        Some(258_i64.to_be_bytes().to_vec()),
        Some(1.0_f64.to_be_bytes().to_vec()),
        Some(1_i32.to_be_bytes().to_vec()),
        Some(5_i64.to_be_bytes().to_vec()),
        Some(vec![0, 2, 0, 0, 0, 0, 0, 1, 0, 1, 0x13, 0x88]),
        None,
    ];
    assert_eq!(row(columns, Format::Binary), expected);
}

#[test]
fn arrays_and_objects() {
    let numbers = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1), None])]);
    let bytes = row(vec![Arc::new(numbers.clone())], Format::Binary).remove(0).unwrap();
    let expected: Vec<i32> = vec![1, 1, 23, 2, 1, 4, 1, -1];
    assert_eq!(bytes, expected.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<_>>());

    let mut words =
        datafusion::arrow::array::ListBuilder::new(datafusion::arrow::array::StringBuilder::new());
    words.append_value(["a b", "null", "", "x\"y", "z"].map(Some));
    let object = StructArray::from(vec![(
        Arc::new(Field::new("a", DataType::Int32, true)),
        Arc::new(Int32Array::from(vec![1])) as ArrayRef,
    )]);
    let shown = texts(vec![Arc::new(numbers), Arc::new(words.finish()), Arc::new(object)]);
    assert_eq!(shown, ["{1,NULL}", r#"{"a b","null","","x\"y",z}"#, r#"{"a":1}"#]);
}

#[test]
fn members_of_objects_are_all_there_whatever_their_keys_are() {
    use datafusion::arrow::array::{Int32Builder, MapBuilder, StringBuilder};
    let mut numbered = MapBuilder::new(None, Int32Builder::new(), StringBuilder::new());
    numbered.keys().append_slice(&[1, 2]);
    numbered.values().append_option(Some("a"));
    numbered.values().append_option(None::<&str>);
    numbered.append(true).unwrap();
    let numbered: ArrayRef = Arc::new(numbered.finish());
    let nothing = StructArray::from(vec![(
        Arc::new(Field::new("x", DataType::Int32, true)),
        Arc::new(Int32Array::from(vec![None::<i32>])) as ArrayRef,
    )]);
    let within = StructArray::from(vec![(
        Arc::new(Field::new("m", numbered.data_type().clone(), true)),
        Arc::clone(&numbered),
    )]);
    let item = Arc::new(Field::new_list_field(numbered.data_type().clone(), true));
    let offsets = datafusion::arrow::buffer::OffsetBuffer::from_lengths([1]);
    let list = ListArray::new(item, offsets, Arc::clone(&numbered), None);
    let days = MapBuilder::new(None, datafusion::arrow::array::Date32Builder::new(), Int32Builder::new());
    let mut days = days;
    days.keys().append_value(19_782);
    days.values().append_value(7);
    days.append(true).unwrap();
    let shown =
        texts(vec![numbered, Arc::new(nothing), Arc::new(within), Arc::new(list), Arc::new(days.finish())]);
    let map = r#"{"1":"a","2":null}"#;
    let expected =
        [map, r#"{"x":null}"#, &format!(r#"{{"m":{map}}}"#), &format!("[{map}]"), r#"{"2024-02-29":7}"#];
    assert_eq!(shown, expected);
}

//! Columns of every type of Arrow, through a page and back.

use super::*;
use arrow::array::*;
use arrow::datatypes::{IntervalMonthDayNano, i256};
use bytes::BytesMut;
use filbert_wire::message::{MessageReader, Request};
use filbert_wire::messages::page::{Page, SqlDate, SqlTime};
use filbert_wire::messages::sql::{Fetch, Fetched};
use std::sync::Arc;

fn column_of(field: &Field, array: ArrayRef) -> Result<Column, Misfit> {
    let plan = ColumnPlan::new(field);
    let mut column = plan.start();
    plan.append(&mut column, &array.slice(0, 1))?;
    plan.append(&mut column, &array.slice(1, array.len() - 1))?;
    assert_eq!((column.kind() as i32, column.rows()), (plan.metadata().kind, array.len()));
    Ok(column)
}

fn column(array: impl Array + 'static) -> Column {
    let field = Field::new("c", array.data_type().clone(), true);
    sent(column_of(&field, Arc::new(array)).unwrap())
}

/// What a client reads.
fn sent(column: Column) -> Column {
    let page = Page { last: true, columns: vec![column] };
    let mut out = BytesMut::new();
    Fetch::respond(&Fetched { row_page: Some(page), error: None }, 1, &mut out);
    let reader = MessageReader::new(out.freeze()).unwrap();
    Fetch::decode_response(&reader).unwrap().row_page.unwrap().columns.pop().unwrap()
}

#[test]
fn numbers_keep_their_values_and_nulls() {
    assert_eq!(column(Int8Array::from(vec![Some(-1), None])), Column::TinyInt(vec![Some(-1), None]));
    assert_eq!(column(Int16Array::from(vec![None, Some(2)])), Column::SmallInt(vec![None, Some(2)]));
    assert_eq!(column(Int32Array::from(vec![1, 2])), Column::Integer(vec![Some(1), Some(2)]));
    assert_eq!(column(Int64Array::from(vec![i64::MIN, 2])), Column::BigInt(vec![Some(i64::MIN), Some(2)]));
    assert_eq!(column(UInt8Array::from(vec![255, 0])), Column::SmallInt(vec![Some(255), Some(0)]));
    assert_eq!(column(UInt16Array::from(vec![65535, 0])), Column::Integer(vec![Some(65535), Some(0)]));
    assert_eq!(column(UInt32Array::from(vec![u32::MAX, 0])), Column::BigInt(vec![Some(4294967295), Some(0)]));
    assert_eq!(column(UInt64Array::from(vec![Some(7), None])), Column::BigInt(vec![Some(7), None]));
    assert_eq!(column(Float32Array::from(vec![1.5, 2.5])), Column::Real(vec![Some(1.5), Some(2.5)]));
    assert_eq!(column(Float64Array::from(vec![1.5, 2.5])), Column::Double(vec![Some(1.5), Some(2.5)]));
    assert_eq!(column(BooleanArray::from(vec![true, false])), Column::Boolean(vec![Some(true), Some(false)]));
    assert_eq!(column(NullArray::new(9)), Column::Null(9));
}

#[test]
fn a_number_that_does_not_fit_is_told_with_its_column() {
    let field = Field::new("big", DataType::UInt64, true);
    let array = Arc::new(UInt64Array::from(vec![1, u64::MAX]));
    let text = column_of(&field, array).unwrap_err();
    assert!(text.contains("\"big\"") && text.contains("18446744073709551615"), "{text}");
}

#[test]
fn decimals_have_as_few_bytes_and_digits_as_they_need() {
    // A column of 38 digits has numbers of scales of their own: none has zeros that nobody wrote.
    let array =
        Decimal128Array::from(vec![0, 127, 128, -128, -129, -1]).with_precision_and_scale(38, 2).unwrap();
    let Column::Decimal(values) = column(array) else { panic!() };
    let bytes: Vec<_> = values.iter().flatten().map(|value| (value.unscaled.to_vec(), value.scale)).collect();
    let expected: [(&[u8], i32); 6] =
        [(&[0], 0), (&[127], 2), (&[0, 128], 2), (&[128], 2), (&[255, 127], 2), (&[255], 2)];
    assert_eq!(bytes, expected.map(|(bytes, scale)| (bytes.to_vec(), scale)));
    let wide = Decimal256Array::from(vec![i256::from_i128(-1), i256::from_i128(256)])
        .with_precision_and_scale(76, 10)
        .unwrap();
    let Column::Decimal(values) = column(wide) else { panic!() };
    assert_eq!(values[1].as_ref().unwrap().unscaled.to_vec(), [1, 0]);
}

#[test]
fn text_of_every_kind_is_text_and_json_where_the_field_says_so() {
    let expected = Column::Varchar(vec![Some("a".into()), None, Some("ü🌰".into())]);
    let values = vec![Some("a"), None, Some("ü🌰")];
    assert_eq!(column(StringArray::from(values.clone())), expected);
    assert_eq!(column(LargeStringArray::from(values.clone())), expected);
    assert_eq!(column(StringViewArray::from(values.clone())), expected);
    let dictionary: DictionaryArray<Int32Type> = values.clone().into_iter().collect();
    assert_eq!(column(dictionary), expected);
    let field = ColumnForm::Json.mark(Field::new("j", DataType::Utf8, true));
    let json = column_of(&field, Arc::new(StringArray::from(vec![Some("{}"), None]))).unwrap();
    assert_eq!(sent(json), Column::Json(vec![Some("{}".into()), None]));
}

#[test]
fn bytes_are_an_array_or_the_object_that_they_are() {
    let Column::Object(values) = column(BinaryArray::from(vec![Some(&b"ab"[..]), None])) else { panic!() };
    let array = Value::ByteArray(b"ab".to_vec()).to_data().unwrap();
    assert_eq!(values, [Some(array.clone()), None]);
    assert_eq!(column(BinaryViewArray::from(vec![Some(&b"ab"[..]), None])), Column::Object(values));
    let field = ColumnForm::Object.mark(Field::new("o", DataType::Binary, true));
    let object = Data::new(-1, &[1, 2, 3]);
    let stored = Arc::new(BinaryArray::from(vec![Some(object.as_bytes()), None]));
    assert_eq!(sent(column_of(&field, stored).unwrap()), Column::Object(vec![Some(object), None]));
    let short = column_of(&field, Arc::new(BinaryArray::from(vec![&b"x"[..], b"y"])));
    assert!(short.unwrap_err().contains("no object"));
}

#[test]
fn moments_have_their_parts() {
    let day = |year, month, day| SqlDate { year, month, day };
    let time = |hour, minute, second, nanos| SqlTime { hour, minute, second, nanos };
    let leap = Column::Date(vec![Some(day(2024, 2, 29)), Some(day(1969, 12, 31))]);
    assert_eq!(column(Date32Array::from(vec![19_782, -1])), leap);
    assert_eq!(column(Date64Array::from(vec![19_782 * 86_400_000, -86_400_000])), leap);
    let late = Column::Time(vec![Some(time(23, 59, 59, 1_000)), None]);
    assert_eq!(column(Time64MicrosecondArray::from(vec![Some(86_399_000_001), None])), late);
    assert_eq!(column(Time64NanosecondArray::from(vec![Some(86_399_000_001_000), None])), late);
    let before = SqlDateTime { date: day(1969, 12, 31), time: time(23, 59, 59, 999_999_000) };
    let stamps = TimestampMicrosecondArray::from(vec![Some(-1), None]);
    assert_eq!(column(stamps.clone()), Column::Timestamp(vec![Some(before), None]));
    let SqlDateTime { date, time } = before;
    let zoned = SqlOffsetDateTime { date, time, offset_seconds: 0 };
    assert_eq!(column(stamps.with_timezone("UTC")), Column::TimestampWithTimeZone(vec![Some(zoned), None]));
    for array in [
        Arc::new(TimestampSecondArray::from(vec![86_400, 0])) as ArrayRef,
        Arc::new(TimestampMillisecondArray::from(vec![86_400_000, 0])),
        Arc::new(TimestampNanosecondArray::from(vec![86_400_000_000_000, 0])),
    ] {
        let field = Field::new("t", array.data_type().clone(), true);
        let Column::Timestamp(values) = column_of(&field, array).unwrap() else { panic!() };
        assert_eq!(values[0].unwrap().date, day(1970, 1, 2));
    }
    let never = Field::new("t", DataType::Timestamp(TimeUnit::Second, None), true);
    let out = column_of(&never, Arc::new(TimestampSecondArray::from(vec![0, i64::MAX])));
    assert!(out.unwrap_err().contains("calendar"));
}

#[test]
fn what_the_protocol_has_no_type_for_is_shown() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1), None]), None]);
    assert_eq!(column(list), Column::Varchar(vec![Some("[1, ]".into()), None]));
    let interval = IntervalMonthDayNanoArray::from(vec![Some(IntervalMonthDayNano::new(1, 0, 0)), None]);
    let Column::Varchar(values) = column(interval) else { panic!() };
    assert!(values[0].as_ref().unwrap().contains("1 mon"), "{values:?}");
}

#[test]
fn long_values_weigh_more_and_slices_what_is_in_them() {
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a".repeat(1_000), "b".into()]));
    assert!(message_bytes(&texts) > 1_000 && message_bytes(&texts.slice(1, 1)) < 100);
    let views: ArrayRef = Arc::new(StringViewArray::from(vec!["a".repeat(1_000), "b".into()]));
    assert!(message_bytes(&views) > 1_000 && message_bytes(&views.slice(1, 1)) < 100);
    let nulls: ArrayRef = Arc::new(NullArray::new(10));
    assert!(message_bytes(&nulls) >= 10, "rows of nothing count, or a page of them had no end");
}

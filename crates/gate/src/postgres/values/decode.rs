//! Values of parameters: from the bytes that a client bound, text or binary, to what a plan can hold.

use super::interval::read_binary_interval;
use super::numeric::numeric_text;
use super::oid::{self, PgType, Shown, arrow_type, shown};
use super::time::{EPOCH_DAYS, EPOCH_MICROS};
use super::zone::Zone;
use crate::postgres::answer::Format;
use crate::postgres::failure::Failure;
use crate::postgres::request::Fields;
use bytes::Bytes;
use datafusion::arrow::array::{Array, ArrayRef, ListArray, StringArray, StringBuilder, new_empty_array};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, IntervalMonthDayNano};
use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;
use std::sync::Arc;

/// Reads a value of type `oid`, as the client declared it, for a parameter that the plan wants as `wanted`.
pub(in crate::postgres) fn decode(
    oid: Shown,
    format: Format,
    bytes: Option<&Bytes>,
    wanted: Option<&DataType>,
    zone: &Zone,
) -> Result<ScalarValue, Failure> {
    let own = read_as(oid);
    // What it is to be: as planned where that is what the client was told, else as the client said.
    let target = wanted.filter(|wanted| shown(wanted) == oid).cloned().unwrap_or_else(|| match oid {
        Shown::One(of) if *of == oid::NUMERIC => DataType::Decimal128(38, 10),
        _ => own.clone(),
    });
    let Some(bytes) = bytes else {
        return ScalarValue::try_from(&target).map_err(|error| Failure::error("22023", error.to_string()));
    };
    let value = match (oid, format) {
        (Shown::One(of), Format::Text) => text_value(of, text_of(bytes)?, zone)?,
        (Shown::One(of), Format::Binary) => binary_value(of, bytes, zone)?,
        (Shown::Array(of), Format::Text) => list(of, text_array(of, text_of(bytes)?, zone)?),
        (Shown::Array(of), Format::Binary) => list(of, binary_array(of, bytes, zone)?),
    };
    if value.data_type() == target {
        return Ok(value);
    }
    value.cast_to(&target).map_err(|_| invalid(&oid, &value.to_string()))
}

/// The Arrow type of values as they are read.
pub(in crate::postgres) fn read_as(shown: Shown) -> DataType {
    match shown {
        Shown::One(of) => arrow_type(of),
        Shown::Array(of) => DataType::new_list(arrow_type(of), true),
    }
}

fn invalid(shown: &Shown, text: &str) -> Failure {
    let (Shown::One(of) | Shown::Array(of)) = shown;
    wrong(of, text)
}

fn wrong(of: &PgType, text: &str) -> Failure {
    let begin: String = text.chars().take(100).collect();
    Failure::error("22P02", format!("invalid input syntax for type {}: {begin:?}", of.sql_name))
}

fn wrong_binary(of: &PgType) -> Failure {
    Failure::error("22P03", format!("incorrect binary data format for type {}", of.sql_name))
}

fn text_of(bytes: &Bytes) -> Result<&str, Failure> {
    std::str::from_utf8(bytes).map_err(|_| Failure::error("22021", "a value of type text is not UTF-8"))
}

fn text_value(of: &PgType, text: &str, zone: &Zone) -> Result<ScalarValue, Failure> {
    let target = arrow_type(of);
    match target {
        DataType::Utf8 => Ok(ScalarValue::Utf8(Some(text.to_owned()))),
        DataType::Boolean => match text.trim().to_ascii_lowercase().as_str() {
            "t" | "true" | "y" | "yes" | "on" | "1" => Ok(ScalarValue::Boolean(Some(true))),
            "f" | "false" | "n" | "no" | "off" | "0" => Ok(ScalarValue::Boolean(Some(false))),
            _ => Err(wrong(of, text)),
        },
        DataType::Binary => {
            bytea(text).map(|bytes| ScalarValue::Binary(Some(bytes))).ok_or_else(|| wrong(of, text))
        }
        _ => {
            let plain = without_zone(&target, text.trim());
            if target == DataType::Date32 && !is_whole_date(plain) {
                return Err(wrong(of, text));
            }
            let array: ArrayRef = Arc::new(StringArray::from(vec![plain]));
            let cast = cast_texts(&array, &target, zone).map_err(|_| wrong(of, text))?;
            ScalarValue::try_from_array(&cast, 0).map_err(|_| wrong(of, text))
        }
    }
}

/// Texts as values; those of moments that name no zone are of this one.
fn cast_texts(texts: &ArrayRef, target: &DataType, zone: &Zone) -> Result<ArrayRef, ArrowError> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    match target {
        DataType::Timestamp(unit, Some(_)) if !zone.is_utc() => {
            let here = DataType::Timestamp(*unit, Some(Arc::clone(zone.name())));
            cast_with_options(&cast_with_options(texts, &here, &options)?, target, &options)
        }
        _ => cast_with_options(texts, target, &options),
    }
}

/// Tells if Arrow reads all of a text as a date, or nothing of it. It skips what follows the day in texts no longer than dates are:
/// `2026-03-3x` would be the third of March. The engine looks at texts in statements likewise (`WholeDates`).
fn is_whole_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > "2026-03-31".len()
        || matches!(bytes.first(), Some(b'+' | b'-'))
        || (bytes.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-')
            && bytes.last().is_some_and(u8::is_ascii_digit))
}

/// A date, or a time of day, without the zone that drivers write behind it: `1980-01-01 +00`. Neither has one, and PostgreSQL takes no notice of it.
fn without_zone<'t>(target: &DataType, text: &'t str) -> &'t str {
    let begins_zone = |letter: char| matches!(letter, '+' | '-' | 'Z' | 'z');
    let is_zone = |text: &str| match text.strip_prefix(['+', '-']) {
        Some(digits) => {
            (2..=6).contains(&digits.len())
                && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b':')
        }
        None => text.eq_ignore_ascii_case("z"),
    };
    let found = match target {
        // The signs within a date are no zone.
        DataType::Date32 => text.char_indices().find(|(at, letter)| {
            *at >= "1-1-1".len() && (*letter == ' ' || matches!(letter, '+' | 'Z' | 'z'))
        }),
        DataType::Time64(_) => text.char_indices().find(|(_, letter)| begins_zone(*letter)),
        _ => None,
    };
    match found {
        Some((at, _)) if is_zone(text[at..].trim_start()) => text[..at].trim_end(),
        _ => text,
    }
}

/// `\x` and hexadecimal digits, or the old form with escapes.
fn bytea(text: &str) -> Option<Vec<u8>> {
    if let Some(digits) = text.strip_prefix("\\x") {
        let digits = digits.as_bytes();
        let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
        let (pairs, rest) = digits.as_chunks::<2>();
        return rest
            .is_empty()
            .then(|| pairs.iter().map(|[a, b]| Some(digit(*a)? << 4 | digit(*b)?)).collect())?;
    }
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, tail @ ..] = rest {
        (bytes, rest) = match (first, tail) {
            (b'\\', [b'\\', tail @ ..]) => (pushed(bytes, b'\\'), tail),
            (b'\\', [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', tail @ ..]) => {
                (pushed(bytes, (a - b'0') << 6 | (b - b'0') << 3 | (c - b'0')), tail)
            }
            (b'\\', _) => return None,
            (byte, tail) => (pushed(bytes, *byte), tail),
        };
    }
    Some(bytes)
}

fn pushed(mut bytes: Vec<u8>, byte: u8) -> Vec<u8> {
    bytes.push(byte);
    bytes
}

fn binary_value(of: &PgType, bytes: &Bytes, zone: &Zone) -> Result<ScalarValue, Failure> {
    fn fixed<const N: usize>(bytes: &Bytes) -> Option<[u8; N]> {
        bytes.as_ref().try_into().ok()
    }
    let micros = |bytes: &Bytes| fixed(bytes).map(i64::from_be_bytes);
    let value = match of.oid {
        16 => fixed::<1>(bytes).map(|[byte]| ScalarValue::Boolean(Some(byte != 0))),
        17 => Some(ScalarValue::Binary(Some(bytes.to_vec()))),
        20 => micros(bytes).map(|value| ScalarValue::Int64(Some(value))),
        21 => fixed(bytes).map(|value| ScalarValue::Int16(Some(i16::from_be_bytes(value)))),
        23 => fixed(bytes).map(|value| ScalarValue::Int32(Some(i32::from_be_bytes(value)))),
        26 => fixed(bytes).map(|value| ScalarValue::Int64(Some(u32::from_be_bytes(value).into()))),
        700 => fixed(bytes).map(|value| ScalarValue::Float32(Some(f32::from_be_bytes(value)))),
        701 => fixed(bytes).map(|value| ScalarValue::Float64(Some(f64::from_be_bytes(value)))),
        1082 => fixed(bytes)
            .and_then(|value| i32::from_be_bytes(value).checked_add(EPOCH_DAYS))
            .map(|days| ScalarValue::Date32(Some(days))),
        1083 => micros(bytes).map(|value| ScalarValue::Time64Microsecond(Some(value))),
        1114 => micros(bytes)
            .and_then(|value| value.checked_add(EPOCH_MICROS))
            .map(|value| ScalarValue::TimestampMicrosecond(Some(value), None)),
        1184 => micros(bytes)
            .and_then(|value| value.checked_add(EPOCH_MICROS))
            .map(|value| ScalarValue::TimestampMicrosecond(Some(value), Some("+00:00".into()))),
        1186 => read_binary_interval(bytes).and_then(|interval| {
            let nanos = interval.micros.checked_mul(1_000)?;
            let value = IntervalMonthDayNano::new(interval.months, interval.days, nanos);
            Some(ScalarValue::IntervalMonthDayNano(Some(value)))
        }),
        1700 => numeric_text(bytes).map(|text| ScalarValue::Utf8(Some(text))),
        2950 => uuid::Uuid::from_slice(bytes).ok().map(|id| ScalarValue::Utf8(Some(id.to_string()))),
        // The version of the binary form comes first.
        3802 => match bytes.split_first() {
            Some((1, text)) => return text_value(of, text_of(&bytes.slice_ref(text))?, zone),
            _ => None,
        },
        _ => return text_value(of, text_of(bytes)?, zone),
    };
    value.ok_or_else(|| wrong_binary(of))
}

fn list(of: &PgType, items: ArrayRef) -> ScalarValue {
    let field = Arc::new(Field::new_list_field(arrow_type(of), true));
    ScalarValue::List(Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([items.len()]), items, None)))
}

/// Items are read straight into an Arrow array: as values of their own they would take thirty times the bytes of the message.
fn text_array(of: &PgType, text: &str, zone: &Zone) -> Result<ArrayRef, Failure> {
    texts_as(of, &items_of_text(text)?, zone).map_err(|(_, failure)| failure)
}

/// Texts as values of a type; or which of them is wrong, and why.
pub(in crate::postgres) fn texts_as(
    of: &PgType,
    texts: &StringArray,
    zone: &Zone,
) -> Result<ArrayRef, (usize, Failure)> {
    let target = arrow_type(of);
    if target == DataType::Utf8 {
        return Ok(Arc::new(texts.clone()));
    }
    let plain = match target {
        DataType::Boolean | DataType::Binary => false,
        DataType::Date32 => texts.iter().flatten().all(is_whole_date),
        _ => true,
    };
    let all: ArrayRef = Arc::new(texts.clone());
    match plain.then(|| cast_texts(&all, &target, zone)) {
        Some(Ok(array)) => Ok(array),
        // One by one: each kind of text has its own rules, and who is wrong is told.
        _ => gathered(
            &target,
            texts.iter().map(|item| item.map(|item| text_value(of, item, zone)).transpose()),
        ),
    }
}

fn binary_array(of: &PgType, bytes: &Bytes, zone: &Zone) -> Result<ArrayRef, Failure> {
    binaries_as(of, items_of_binary(bytes)?, zone).map_err(|(_, failure)| failure)
}

/// Binary values as values of a type; or which of them is wrong, and why.
pub(in crate::postgres) fn binaries_as(
    of: &PgType,
    items: Vec<Option<Bytes>>,
    zone: &Zone,
) -> Result<ArrayRef, (usize, Failure)> {
    let value = |item: Option<Bytes>| item.map(|item| binary_value(of, &item, zone)).transpose();
    gathered(&arrow_type(of), items.into_iter().map(value))
}

fn gathered(
    item_type: &DataType,
    items: impl Iterator<Item = Result<Option<ScalarValue>, Failure>>,
) -> Result<ArrayRef, (usize, Failure)> {
    let broken = |error: DataFusionError| (0, Failure::error("22023", error.to_string()));
    let null = ScalarValue::try_from(item_type).map_err(broken)?;
    let mut failed = None;
    let array = {
        let good = items.enumerate().map_while(|(at, item)| match item {
            Ok(value) => Some(value.unwrap_or_else(|| null.clone())),
            Err(failure) => {
                failed = Some((at, failure));
                None
            }
        });
        let mut good = good.peekable();
        match good.peek() {
            None => Ok(new_empty_array(item_type)),
            Some(_) => ScalarValue::iter_to_array(good),
        }
    };
    match failed {
        Some(failure) => Err(failure),
        None => array.map_err(broken),
    }
}

/// The items of an array of one dimension.
fn items_of_binary(bytes: &Bytes) -> Result<Vec<Option<Bytes>>, Failure> {
    let broken = |_| Failure::error("22P03", "incorrect binary data format for an array");
    let mut fields = Fields(bytes.clone());
    let dimensions = fields.int32().map_err(broken)?;
    fields.int32().and_then(|_| fields.int32()).map_err(broken)?;
    match dimensions {
        0 => return Ok(Vec::new()),
        1 => {}
        _ => return Err(Failure::error("0A000", "arrays of more than one dimension are not served")),
    }
    let count = usize::try_from(fields.int32().map_err(broken)?).unwrap_or(0);
    fields.int32().map_err(broken)?;
    // Each takes four bytes at least, so that a count cannot lie about much.
    let mut items = Vec::with_capacity(count.min(bytes.len() / 4));
    for _ in 0..count {
        items.push(fields.value().map_err(broken)?);
    }
    Ok(items)
}

/// The items of an array that is written `{a,"b c",NULL}`.
pub(in crate::postgres) fn items_of_text(text: &str) -> Result<StringArray, Failure> {
    let broken = || {
        Failure::error(
            "22P02",
            format!("malformed array literal: {:?}", text.chars().take(100).collect::<String>()),
        )
    };
    let inner = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')).ok_or_else(broken)?;
    let mut items = StringBuilder::new();
    if inner.trim().is_empty() {
        return Ok(items.finish());
    }
    let mut letters = inner.chars().peekable();
    let mut item = String::new();
    loop {
        item.clear();
        let mut quoted = false;
        while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        if letters.next_if_eq(&'"').is_some() {
            quoted = true;
            loop {
                match letters.next().ok_or_else(broken)? {
                    '"' => break,
                    '\\' => item.push(letters.next().ok_or_else(broken)?),
                    letter => item.push(letter),
                }
            }
            while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
        } else {
            while let Some(letter) = letters.next_if(|letter| *letter != ',') {
                match letter {
                    '{' | '}' | '"' => {
                        return Err(Failure::error(
                            "0A000",
                            "arrays of more than one dimension are not served",
                        ));
                    }
                    '\\' => item.push(letters.next().ok_or_else(broken)?),
                    letter => item.push(letter),
                }
            }
            item.truncate(item.trim_end().len());
        }
        items.append_option((quoted || !item.eq_ignore_ascii_case("null")).then_some(&item));
        match letters.next() {
            None => return Ok(items.finish()),
            Some(',') => {}
            Some(_) => return Err(broken()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::oid::type_by_oid;
    use super::*;
    use datafusion::arrow::array::Int32Array;

    fn read(oid: u32, format: Format, bytes: &'static [u8]) -> Result<ScalarValue, Failure> {
        decode(type_by_oid(oid).unwrap(), format, Some(&Bytes::from_static(bytes)), None, &Zone::utc())
    }

    #[test]
    fn values_are_read_from_text() {
        assert_eq!(read(23, Format::Text, b" 42").unwrap(), ScalarValue::Int32(Some(42)));
        assert_eq!(read(16, Format::Text, b"yes").unwrap(), ScalarValue::Boolean(Some(true)));
        assert_eq!(read(17, Format::Text, b"\\x00ff").unwrap(), ScalarValue::Binary(Some(vec![0, 255])));
        assert_eq!(
            read(17, Format::Text, b"a\\\\\\001").unwrap(),
            ScalarValue::Binary(Some(b"a\\\x01".to_vec()))
        );
        assert_eq!(read(1082, Format::Text, b"2024-02-29").unwrap(), ScalarValue::Date32(Some(19_782)));
        let moment = ScalarValue::TimestampMicrosecond(Some(1_700_000_000_500_000), None);
        assert_eq!(read(1114, Format::Text, b"2023-11-14 22:13:20.5").unwrap(), moment);
        assert_eq!(
            read(1700, Format::Text, b"1.5").unwrap(),
            ScalarValue::Decimal128(Some(15_000_000_000), 38, 10)
        );
        assert_eq!(read(25, Format::Text, b"x").unwrap(), ScalarValue::Utf8(Some("x".into())));
        for (oid, bytes) in
            [(23, &b"x"[..]), (17, b"\\xf"), (17, b"\\9"), (16, b"maybe"), (1082, b"32"), (701, b"")]
        {
            assert_eq!(read(oid, Format::Text, bytes).unwrap_err().code, "22P02", "{oid}");
        }
        assert_eq!(read(25, Format::Text, b"\xff").unwrap_err().code, "22021");
    }

    /// `2026-03-3x` was stored as the third of March.
    #[test]
    fn texts_that_are_no_dates_to_their_end_are_refused() {
        for text in [&b"2026-03-3x"[..], b"2026-3-31x", b"2026-3-3xy", b"2026-03-3-", b"2026-03-x1", b""] {
            assert_eq!(read(1082, Format::Text, text).unwrap_err().code, "22P02", "{text:?}");
        }
        let all = read(1182, Format::Text, b"{2026-03-31,2026-03-3x,2026-03-30}").unwrap_err();
        assert!(all.code == "22P02" && all.message.contains("2026-03-3x"), "{all:?}");
        let day = |text: &'static [u8]| read(1082, Format::Text, text).unwrap().to_string();
        assert_eq!([day(b"2026-03-3"), day(b" 2026-03-3 ")], ["2026-03-03"; 2]);
        assert_eq!([day(b"20260331"), day(b"2026-03-31 +00")], ["2026-03-31"; 2]);
        let days = read(1182, Format::Text, b"{\"2026-03-3 \",2026-03-31,NULL}").unwrap();
        assert_eq!(days.to_string(), "[2026-03-03, 2026-03-31, ]");
    }

    #[test]
    fn values_are_read_from_binary() {
        assert_eq!(read(21, Format::Binary, &[0, 5]).unwrap(), ScalarValue::Int16(Some(5)));
        assert_eq!(read(1082, Format::Binary, &[0, 0, 0, 0]).unwrap(), ScalarValue::Date32(Some(EPOCH_DAYS)));
        let id = "00000000-0000-0000-0000-000000000001";
        let bytes: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
        assert_eq!(read(2950, Format::Binary, bytes).unwrap(), ScalarValue::Utf8(Some(id.into())));
        for (oid, bytes) in
            [(23, &b"x"[..]), (1700, b"x"), (2950, b"x"), (1082, &[0x7f, 0xff, 0xff, 0xff]), (3802, b"")]
        {
            assert_eq!(read(oid, Format::Binary, bytes).unwrap_err().code, "22P03", "{oid}");
        }
    }

    #[test]
    fn arrays_are_read() {
        let text = read(1009, Format::Text, br#"{a, "b,\"c" ,NULL,"null"}"#).unwrap();
        let ScalarValue::List(list) = &text else { panic!("{text}") };
        let items = list.value(0);
        let items = items.as_any().downcast_ref::<StringArray>().unwrap();
        assert_eq!(items.iter().collect::<Vec<_>>(), [Some("a"), Some("b,\"c"), None, Some("null")]);
        let numbers = read(
            1007,
            Format::Binary,
            &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9],
        );
        let ScalarValue::List(list) = numbers.unwrap() else { panic!() };
        assert_eq!(list.value(0).len(), 1);
        let spaced = read(1007, Format::Text, b"{ 1,\" 2 \",NULL}").unwrap();
        let ScalarValue::List(list) = spaced else { panic!() };
        let items = list.value(0);
        let items = items.as_any().downcast_ref::<Int32Array>().unwrap();
        assert_eq!(items.iter().collect::<Vec<_>>(), [Some(1), Some(2), None]);
        assert_eq!(read(1000, Format::Text, b"{t,NULL,no}").unwrap().to_string(), "[true, , false]");
        assert_eq!(read(1007, Format::Text, b"{}").unwrap().to_string(), "[]");
        assert!(read(1007, Format::Text, b"{1,x,y}").unwrap_err().message.contains("\"x\""));
        for text in [&b"{"[..], b"{\"a}", b"{{1}}", b"a"] {
            assert!(read(1009, Format::Text, text).is_err());
        }
        assert!(
            read(
                1007,
                Format::Binary,
                &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 1]
            )
            .is_err()
        );
    }

    #[test]
    fn a_plan_may_want_another_type_of_the_same_kind() {
        let bytes = Bytes::from_static(b"7");
        let wanted = DataType::Decimal128(20, 0);
        let read =
            decode(type_by_oid(1700).unwrap(), Format::Text, Some(&bytes), Some(&wanted), &Zone::utc())
                .unwrap();
        assert_eq!(read, ScalarValue::Decimal128(Some(7), 20, 0));
        let null = decode(type_by_oid(23).unwrap(), Format::Text, None, Some(&DataType::Int32), &Zone::utc())
            .unwrap();
        assert_eq!(null, ScalarValue::Int32(None));
    }
}

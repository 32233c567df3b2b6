//! Whatever is written is read again: every kind of value, and the Rust types that have one.

use filbert_wire::{
    Array, BigInteger, Compact, Decimal, FromData, Json, LocalDate, LocalDateTime, LocalTime, OffsetDateTime,
    ToData, Value, compact::CompactRecord,
};
use proptest::{collection::vec, option, prelude::*};
use std::{collections::HashMap, sync::Arc};

fn dates() -> impl Strategy<Value = LocalDate> {
    (-999_999_999..=999_999_999, 1_u8..=12, 1_u8..=28)
        .prop_map(|(year, month, day)| LocalDate::new(year, month, day).unwrap())
}

fn times() -> impl Strategy<Value = LocalTime> {
    (0_u8..24, 0_u8..60, 0_u8..60, 0_u32..1_000_000_000)
        .prop_map(|(hour, minute, second, nano)| LocalTime::new(hour, minute, second, nano).unwrap())
}

fn moments() -> impl Strategy<Value = OffsetDateTime> {
    (dates(), times(), -86_399..86_400)
        .prop_map(|(date, time, offset)| OffsetDateTime::new(LocalDateTime { date, time }, offset).unwrap())
}

fn integers() -> impl Strategy<Value = BigInteger> {
    any::<Vec<u8>>().prop_map(|bytes| BigInteger::from_be_bytes(&bytes).unwrap())
}

fn decimals() -> impl Strategy<Value = Decimal> {
    (integers(), any::<i32>()).prop_map(|(unscaled, scale)| Decimal::from_parts(unscaled, scale))
}

fn values() -> impl Strategy<Value = Value> {
    let float = any::<f64>().prop_filter("comparable", |number| !number.is_nan());
    let plain = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i8>().prop_map(Value::Byte),
        any::<i16>().prop_map(Value::Short),
        any::<i32>().prop_map(Value::Int),
        any::<i64>().prop_map(Value::Long),
        float.clone().prop_map(|number| Value::Float(number as f32)),
        float.clone().prop_map(Value::Double),
        any::<u16>().prop_map(Value::Char),
        any::<String>().prop_map(Value::String),
        any::<u128>().prop_map(|number| Value::Uuid(uuid::Uuid::from_u128(number))),
        any::<String>().prop_map(Value::Json),
        any::<Vec<u8>>().prop_map(Value::ByteArray),
        any::<Vec<bool>>().prop_map(Value::BoolArray),
        any::<Vec<u16>>().prop_map(Value::CharArray),
        any::<Vec<i16>>().prop_map(Value::ShortArray),
        any::<Vec<i32>>().prop_map(Value::IntArray),
        any::<Vec<i64>>().prop_map(Value::LongArray),
        vec(float.clone().prop_map(|number| number as f32), 0..9).prop_map(Value::FloatArray),
        vec(float, 0..9).prop_map(Value::DoubleArray),
        vec(any::<Option<String>>(), 0..9).prop_map(Value::StringArray),
        integers().prop_map(Value::BigInteger),
        decimals().prop_map(Value::Decimal),
        dates().prop_map(Value::LocalDate),
        times().prop_map(Value::LocalTime),
        (dates(), times()).prop_map(|(date, time)| Value::LocalDateTime(LocalDateTime { date, time })),
        moments().prop_map(Value::OffsetDateTime),
        any::<i64>().prop_map(Value::Date),
    ];
    plain.prop_recursive(4, 32, 6, |inner| vec(inner, 0..6).prop_map(Value::List))
}

#[derive(Debug, Clone, PartialEq, Compact)]
struct Part {
    id: i64,
    name: String,
}

#[derive(Debug, Clone, PartialEq, Compact)]
struct Whole {
    a: bool,
    b: Option<bool>,
    c: i8,
    d: Vec<i16>,
    e: Option<Vec<Option<i32>>>,
    f: Vec<bool>,
    g: Option<f64>,
    h: Vec<u8>,
    i: Option<String>,
    j: Vec<Option<String>>,
    k: Decimal,
    l: Option<OffsetDateTime>,
    m: Vec<Part>,
    n: Option<Part>,
    o: f32,
}

fn parts() -> impl Strategy<Value = Part> {
    (any::<i64>(), any::<String>()).prop_map(|(id, name)| Part { id, name })
}

fn wholes() -> impl Strategy<Value = Whole> {
    let first = (any::<(bool, Option<bool>, i8, Vec<i16>)>(), any::<Option<Vec<Option<i32>>>>());
    let second = (any::<Vec<bool>>(), option::of(-1e9..1e9), any::<Vec<u8>>(), any::<Option<String>>());
    let third = (vec(any::<Option<String>>(), 0..9), decimals(), option::of(moments()));
    let fourth = (vec(parts(), 0..20), option::of(parts()), -1_f32..1.0);
    (first, second, third, fourth).prop_map(|(((a, b, c, d), e), (f, g, h, i), (j, k, l), (m, n, o))| Whole {
        a,
        b,
        c,
        d,
        e,
        f,
        g,
        h,
        i,
        j,
        k,
        l,
        m,
        n,
        o,
    })
}

proptest! {
    #[test]
    fn values_come_back(value in values()) {
        let data = value.to_data().unwrap();
        prop_assert_eq!(&Value::from_data(&data).unwrap(), &value);
        // The size that was foretold is what keeps it to one allocation.
        if !matches!(value, Value::List(_)) {
            prop_assert_eq!(value.payload_size(), data.payload().len());
        }
    }

    #[test]
    fn rust_types_come_back(
        lists in any::<Vec<Vec<Option<i64>>>>(),
        text in any::<String>(),
        floats in vec(-1e9..1e9, 0..9),
        map in any::<HashMap<String, Option<u64>>>(),
    ) {
        let data = lists.to_data().unwrap();
        prop_assert_eq!(lists.payload_size(), data.payload().len());
        prop_assert_eq!(Vec::<Vec<Option<i64>>>::from_data(&data).unwrap(), lists);
        prop_assert_eq!(String::from_data(&text.to_data().unwrap()).unwrap(), text);
        let floats = Array(floats);
        prop_assert_eq!(Array::from_data(&floats.to_data().unwrap()).unwrap(), floats);
        let map = Json(map);
        prop_assert_eq!(Json::from_data(&map.to_data().unwrap()).unwrap(), map);
    }

    #[test]
    fn structs_come_back(whole in wholes()) {
        let data = whole.to_data().unwrap();
        prop_assert_eq!(&Whole::from_data(&data).unwrap(), &whole);

        let mut found = Vec::new();
        <Whole as ToData>::schemas(&mut found);
        let schemas: HashMap<_, _> =
            found.into_iter().map(|schema| (schema.id(), Arc::new(schema.clone()))).collect();
        let record = CompactRecord::of_data(&data, &schemas).unwrap();
        prop_assert_eq!(record.field("k").unwrap(), Some(Value::Decimal(whole.k)));
        prop_assert_eq!(record.field("h").unwrap(), Some(Value::ByteArray(whole.h)));
        let name = whole.n.map_or(Value::Null, |part| Value::String(part.name));
        prop_assert_eq!(record.path(["n", "name"]).unwrap(), Some(name));
    }
}

#[test]
fn days_and_nanoseconds_lead_back_to_dates_and_times() {
    for day in (-1_000_000..1_000_000).step_by(37).chain([-365_000_000_000, 365_000_000_000]) {
        assert_eq!(LocalDate::of_epoch_day(day).map(LocalDate::epoch_day), Some(day));
    }
    for nanos in [0, 1, 999_999_999, 3_661_000_000_001, 86_399_999_999_999] {
        let time = LocalTime::of_nano_of_day(nanos).unwrap();
        assert_eq!(u64::from(time.second_of_day()) * 1_000_000_000 + u64::from(time.nano()), nanos);
    }
    assert_eq!(LocalTime::of_nano_of_day(86_400_000_000_000), None);
    assert_eq!(LocalTime::of_nano_of_day(u64::MAX), None);
}

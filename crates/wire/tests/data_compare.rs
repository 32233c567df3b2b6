//! The order of values: known cases, and that it is an order.

use filbert_wire::{
    BigInteger, Decimal, IndexKey, LocalDate, LocalDateTime, LocalTime, OffsetDateTime, Value,
};
use proptest::prelude::*;
use std::{
    cmp::Ordering::{self, Equal, Greater, Less},
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher},
};

fn decimal(unscaled: i128, scale: i32) -> Value {
    Value::Decimal(Decimal::new(unscaled, scale))
}

fn text(text: &str) -> Value {
    Value::String(text.into())
}

#[test]
fn numbers_of_all_kinds_stand_on_one_line() {
    let huge = BigInteger::from(i128::MAX);
    // Each less than the next.
    let line = [
        Value::Double(f64::NEG_INFINITY),
        Value::BigInteger(i128::MIN.into()),
        Value::Long(i64::MIN),
        decimal(-1, -9),
        Value::Double(-1.5),
        Value::Int(-1),
        Value::Double(-0.0),
        Value::Short(0),
        decimal(1, i32::MAX),
        Value::Float(0.0625),
        decimal(1, 1),
        Value::Byte(1),
        decimal(11, 1),
        Value::Long((1 << 53) - 1),
        Value::Double(9_007_199_254_740_992.0),
        Value::Long((1 << 53) + 1),
        Value::Long(i64::MAX),
        Value::Double(9_223_372_036_854_775_808.0),
        Value::BigInteger(huge),
        decimal(1, i32::MIN),
        Value::Double(f64::INFINITY),
        Value::Float(f32::NAN),
    ];
    for (left, one) in line.iter().enumerate() {
        for (right, other) in line.iter().enumerate() {
            assert_eq!(one.compare(other), Some(left.cmp(&right)), "{one:?} {other:?}");
            assert_eq!(one.total_cmp(other), left.cmp(&right), "{one:?} {other:?}");
        }
    }
}

#[test]
fn equal_numbers_are_equal_whatever_their_type() {
    let ones = [
        Value::Byte(1),
        Value::Short(1),
        Value::Int(1),
        Value::Long(1),
        Value::Float(1.0),
        Value::Double(1.0),
        Value::BigInteger(1.into()),
        decimal(1, 0),
        decimal(100, 2),
    ];
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let hash = |value: &Value| hasher.hash_one(IndexKey(value.clone()));
    assert_eq!(hash(&decimal(10, 2)), hash(&Value::Double(0.1)));
    assert_eq!(hash(&Value::Double(1e300)), hash(&Value::Double(1e300)));
    for one in &ones {
        assert_eq!(hash(one), hash(&ones[0]));
        assert!(ones.iter().all(|other| one.same(other)), "{one:?}");
    }
    assert!(decimal(10, 2).same(&Value::Double(0.1)));
    assert!(!Value::Float(0.1).same(&Value::Double(0.1)));
    assert!(decimal(0, 5).same(&Value::Double(0.0)));
    assert_eq!(decimal(0, 5).compare(&Value::Double(-0.0)), Some(Greater));
    assert!(Value::Double(f64::NAN).same(&Value::Double(-f64::NAN)));
}

#[test]
fn other_kinds_are_ordered_as_java_does() {
    let uuid = |number: u128| Value::Uuid(uuid::Uuid::from_u128(number));
    let at = |hour, offset| {
        let time = LocalTime::new(hour, 0, 0, 0).unwrap();
        let local = LocalDateTime { date: LocalDate::new(2024, 1, 1).unwrap(), time };
        Value::OffsetDateTime(OffsetDateTime::new(local, offset).unwrap())
    };
    for (left, right, order) in [
        (text("a"), text("b"), Some(Less)),
        (text("a"), text("ab"), Some(Less)),
        // By UTF-16 code units: the chestnut begins with D83C.
        (text("🌰"), text("\u{ff5e}"), Some(Less)),
        (text("\u{d7ff}"), text("🌰"), Some(Less)),
        (text("🌰"), text("🌲"), Some(Less)),
        (Value::Bool(false), Value::Bool(true), Some(Less)),
        (Value::Char(1), Value::Char(2), Some(Less)),
        // Its halves are signed.
        (uuid(u128::MAX), uuid(0), Some(Less)),
        (at(10, 3600), at(10, 0), Some(Less)),
        (at(10, 0), at(11, 3600), Some(Less)),
        (Value::Date(1), Value::Date(1), Some(Equal)),
        (Value::Null, Value::Null, Some(Equal)),
        (Value::Null, Value::Int(0), None),
        (Value::Int(1), text("1"), None),
        (Value::Json("1".into()), Value::Json("2".into()), None),
        (Value::ByteArray(vec![1]), Value::ByteArray(vec![1]), Some(Equal)),
        (Value::ByteArray(vec![1]), Value::ByteArray(vec![2]), None),
    ] {
        assert_eq!(left.compare(&right), order, "{left:?} {right:?}");
        assert_eq!(right.compare(&left), order.map(Ordering::reverse), "{left:?} {right:?}");
    }
}

#[test]
fn decimals_are_written_as_java_writes_them() {
    for (unscaled, scale, text) in [
        (0, 0, "0"),
        (0, 2, "0.00"),
        (5, 1, "0.5"),
        (-1250, 2, "-12.50"),
        (1, 6, "0.000001"),
        (1, 7, "1E-7"),
        (123, -2, "1.23E+4"),
        (-12, i32::MAX, "-1.2E-2147483646"),
    ] {
        assert_eq!(Decimal::new(unscaled, scale).to_string(), text);
    }
}

fn numbers() -> impl Strategy<Value = Value> {
    let small = -3_i64..3;
    prop_oneof![
        any::<i8>().prop_map(Value::Byte),
        small.clone().prop_map(Value::Long),
        any::<i64>().prop_map(Value::Long),
        any::<f64>().prop_map(Value::Double),
        any::<f32>().prop_map(Value::Float),
        small.clone().prop_map(|number| Value::Double(number as f64 / 2.0)),
        any::<i64>().prop_map(|number| Value::Double(number as f64)),
        any::<i128>().prop_map(|number| Value::BigInteger(number.into())),
        (any::<i128>(), any::<i32>()).prop_map(|(unscaled, scale)| decimal(unscaled, scale)),
        (any::<i64>(), 0..25).prop_map(|(unscaled, scale)| decimal(unscaled.into(), scale)),
        small.prop_map(|number| decimal(i128::from(number) * 50, 2)),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => numbers(),
        2 => "[ab\u{e000}🌰]{0,3}".prop_map(Value::String),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Null),
        1 => any::<i64>().prop_map(Value::Date),
        1 => proptest::collection::vec(0_u8..3, 0..3).prop_map(Value::ByteArray),
        1 => proptest::collection::vec(-1_i8..2, 0..3).prop_map(|signs| {
            Value::List(signs.into_iter().map(|sign| Value::Double(0.0 * f64::from(sign))).collect())
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn it_is_an_order(a in values(), b in values(), c in values()) {
        prop_assert_eq!(a.total_cmp(&b), b.total_cmp(&a).reverse());
        prop_assert_eq!(a.compare(&a), Some(Equal));
        if a.total_cmp(&b).is_le() && b.total_cmp(&c).is_le() {
            prop_assert!(a.total_cmp(&c).is_le());
        }
        if let Some(order) = a.compare(&b) {
            prop_assert_eq!(order, a.total_cmp(&b));
        }
        let (a, b) = (IndexKey(a), IndexKey(b));
        if a == b {
            let hasher = BuildHasherDefault::<DefaultHasher>::default();
            prop_assert_eq!(hasher.hash_one(&a), hasher.hash_one(&b), "{:?} {:?}", a, b);
        }
    }

    #[test]
    fn text_is_ordered_by_utf_16(a in ".{0,4}", b in ".{0,4}") {
        let order = a.encode_utf16().cmp(b.encode_utf16());
        prop_assert_eq!(text(&a).compare(&text(&b)), Some(order));
    }

    #[test]
    fn whole_and_decimal_numbers_agree_with_i128(a in any::<i64>(), b in any::<i64>(), scale in 0_u32..15) {
        let factor = 10_i128.pow(scale);
        let order = (i128::from(a) * factor).cmp(&i128::from(b));
        prop_assert_eq!(Value::Long(a).compare(&decimal(b.into(), scale as i32)), Some(order));
        prop_assert_eq!(BigInteger::from(i128::from(a)).cmp(&BigInteger::from(i128::from(b))), a.cmp(&b));
        let wide = i128::from(a) * i128::from(b);
        prop_assert_eq!(BigInteger::from(wide).to_string(), wide.to_string());
    }

    #[test]
    fn whole_numbers_and_doubles_are_compared_exactly(a in any::<i64>(), b in any::<i64>()) {
        // Every double of this size is a whole number that i128 holds.
        let (float, exact) = (b as f64, b as f64 as i128);
        prop_assert_eq!(Value::Long(a).compare(&Value::Double(float)), Some(i128::from(a).cmp(&exact)));
        let near = exact.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        prop_assert_eq!(Value::Long(near).compare(&Value::Double(float)), Some(i128::from(near).cmp(&exact)));
    }
}

//! Plain values against the bytes that the official Python client 5.7 writes, both ways, and how types read each other's bytes.

use bytes::Bytes;
use filbert_wire::{
    Array, BigInteger, Data, Decimal, DecodeError, EncodeError, FromData, Json, LocalDate, LocalDateTime,
    LocalTime, OffsetDateTime, ToData, Value, partition_of_name, type_id,
};
use uuid::Uuid;

fn data(hex: &str) -> Data {
    let digit = |sign: u8| (sign as char).to_digit(16).unwrap() as u8;
    let bytes: Vec<u8> =
        hex.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
    Data::from_bytes(bytes).unwrap()
}

fn hex(data: &Data) -> String {
    data.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn big(text: &str) -> Value {
    Value::BigInteger(text.parse::<i128>().unwrap().into())
}

fn decimal(unscaled: i128, scale: i32) -> Value {
    Value::Decimal(Decimal::new(unscaled, scale))
}

fn uuid() -> Uuid {
    "123e4567-e89b-12d3-a456-426614174000".parse().unwrap()
}

fn date() -> LocalDate {
    LocalDate::new(2024, 2, 29).unwrap()
}

fn time() -> LocalTime {
    LocalTime::new(23, 59, 58, 123_456_000).unwrap()
}

/// Half past five hours behind UTC.
fn moment() -> OffsetDateTime {
    OffsetDateTime::new(LocalDateTime { date: date(), time: time() }, -19_800).unwrap()
}

fn before_1970() -> LocalDateTime {
    LocalDateTime {
        date: LocalDate::new(1969, 12, 31).unwrap(),
        time: LocalTime::new(1, 2, 3, 4_000).unwrap(),
    }
}

fn inner_list() -> Value {
    Value::List(vec![Value::Bool(true), Value::Double(2.5)])
}

#[test]
fn values_have_the_bytes_that_the_python_client_writes() {
    for (bytes, value) in [
        ("00000000fffffffd64", Value::Byte(100)),
        ("00000000fffffffa0064", Value::Short(100)),
        ("00000000fffffffaff9c", Value::Short(-100)),
        ("00000000fffffff900000064", Value::Int(100)),
        ("00000000fffffff9ffffff9c", Value::Int(-100)),
        ("00000000fffffff80000000000000064", Value::Long(100)),
        ("00000000fffffff8ffffffffffffff9c", Value::Long(-100)),
        ("00000000ffffffe60000000164", big("100")),
        ("00000000ffffffe6000000019c", big("-100")),
        ("00000000fffffffc01", Value::Bool(true)),
        ("00000000fffffffc00", Value::Bool(false)),
        ("00000000fffffff6bff8000000000000", Value::Double(-1.5)),
        ("00000000fffffff73fa00000", Value::Float(1.25)),
        ("00000000fffffffb4f60", Value::Char(0x4f60)),
        ("00000000fffffff50000000a68c3a9e4bda0f09f8cb0", Value::String("hé你🌰".into())),
        ("00000000fffffff500000000", Value::String(String::new())),
        ("00000000fffffff40000000500017f80ff", Value::ByteArray(vec![0, 1, 127, 128, 255])),
        ("00000000ffffffeb123e4567e89b12d3a456426614174000", Value::Uuid(uuid())),
        ("00000000ffffff7e000000087b2261223a20317d", Value::Json("{\"a\": 1}".into())),
        ("00000000ffffffe60000000100", big("0")),
        ("00000000ffffffe600000001ff", big("-1")),
        ("00000000ffffffe6000000017f", big("127")),
        ("00000000ffffffe6000000020080", big("128")),
        ("00000000ffffffe60000000180", big("-128")),
        ("00000000ffffffe600000002ff7f", big("-129")),
        ("00000000ffffffe600000009010000000000000000", big("18446744073709551616")),
        (
            "00000000ffffffe60000001080000000000000000000000000000000",
            big("-170141183460469231731687303715884105728"),
        ),
        ("00000000ffffffe50000000204e200000002", decimal(1250, 2)),
        ("00000000ffffffe500000001ff00000003", decimal(-1, 3)),
        ("00000000ffffffe50000000101fffffffd", decimal(1, -3)),
        (
            "00000000ffffffe50000000e06163e665beb7ca6a2e1a64244cb00000003",
            decimal(123456789012345678901234567890123, 3),
        ),
        ("00000000ffffffcd000007e8021d", Value::LocalDate(date())),
        ("00000000ffffffcc173b3a075bca00", Value::LocalTime(time())),
        ("00000000ffffffca000007e8021d173b3a075bca00ffffb2a8", Value::OffsetDateTime(moment())),
        ("00000000ffffffcb000007b10c1f01020300000fa0", Value::LocalDateTime(before_1970())),
        ("00000000fffffff300000003010001", Value::BoolArray(vec![true, false, true])),
        ("00000000fffffff20000000200614f60", Value::CharArray(vec![0x61, 0x4f60])),
        ("00000000fffffff1000000020001fffe", Value::ShortArray(vec![1, -2])),
        ("00000000fffffff00000000200000001fffffffe", Value::IntArray(vec![1, -2])),
        ("00000000ffffffef000000020000000000000001fffffffffffffffe", Value::LongArray(vec![1, -2])),
        ("00000000ffffffee000000023fc00000c0200000", Value::FloatArray(vec![1.5, -2.5])),
        ("00000000ffffffed000000023ff8000000000000c004000000000000", Value::DoubleArray(vec![1.5, -2.5])),
        (
            "00000000ffffffec000000030000000161ffffffff00000000",
            Value::StringArray(vec![Some("a".into()), None, Some(String::new())]),
        ),
        (
            "00000000ffffffe300000004fffffff900000001fffffff5000000016100000000ffffffe300000002fffffffc01fffffff64004000000000000",
            Value::List(vec![Value::Int(1), Value::String("a".into()), Value::Null, inner_list()]),
        ),
    ] {
        assert_eq!(hex(&value.to_data().unwrap()), bytes, "{value:?}");
        assert_eq!(Value::from_data(&data(bytes)).unwrap(), value);
    }
}

#[test]
fn numbers_beyond_128_bits_keep_their_digits() {
    for (bytes, text) in [
        (
            "00000000ffffffe6000000111d6329f1c35ca4bfabb9f5610000000000",
            "10000000000000000000000000000000000000000",
        ),
        (
            "00000000ffffffe600000011e29cd60e3ca35b4054460a9f0000000000",
            "-10000000000000000000000000000000000000000",
        ),
    ] {
        let number = BigInteger::from_data(&data(bytes)).unwrap();
        assert_eq!((number.to_string(), number.to_i128()), (text.to_owned(), None));
        assert_eq!(hex(&number.to_data().unwrap()), bytes);
        assert!(matches!(i64::from_data(&data(bytes)), Err(DecodeError::DoesNotFit { .. })));
    }
}

#[test]
fn what_java_has_and_python_only_reads_is_read_too() {
    let linked = data("00000000ffffffe200000002fffffff900000001fffffff900000002");
    assert_eq!(Value::from_data(&linked).unwrap(), Value::List(vec![Value::Int(1), Value::Int(2)]));
    assert_eq!(Vec::<i64>::from_data(&linked).unwrap(), [1, 2]);
    let objects = data("00000000ffffffe400000001fffffff50000000178");
    assert_eq!(Vec::<String>::from_data(&objects).unwrap(), ["x"]);
    let null = data("00000000fffffff4ffffffff");
    assert_eq!(Value::from_data(&null).unwrap(), Value::Null);
}

#[test]
fn what_has_no_known_form_stays_as_it_is() {
    let pickle = data(
        "00000000ffffff8800000027635f5f6275696c74696e5f5f0a7365740a70300a28286c70310a49310a617470320a5270330a2e",
    );
    assert_eq!(Value::from_data(&pickle).unwrap(), Value::Opaque(pickle.clone()));
    assert_eq!(pickle.type_id(), type_id::PYTHON_PICKLE);
    let within = vec![Value::Int(1), Value::Opaque(pickle)].to_data().unwrap();
    assert_eq!(Value::from_data(&within).unwrap(), Value::Opaque(within.clone()));
    let error = String::from_data(&within).unwrap_err();
    assert_eq!(error.to_string(), "expected a string, found an ArrayList (type id -29)");
}

fn both_ways<T: ToData + FromData + PartialEq + std::fmt::Debug>(value: T, type_id: i32, payload: &[u8]) {
    let encoded = value.to_data().unwrap();
    assert_eq!((encoded.type_id(), encoded.payload()), (type_id, payload));
    assert_eq!(T::from_data(&encoded).unwrap(), value);
}

#[test]
fn rust_types_have_the_types_of_the_table() {
    both_ways((), 0, b"");
    both_ways(None::<i32>, 0, b"");
    both_ways(Some(true), -4, b"\x01");
    both_ways(-3_i8, -3, b"\xfd");
    both_ways(-3_i16, -6, b"\xff\xfd");
    both_ways(3_i32, -7, b"\0\0\0\x03");
    both_ways(3_i64, -8, b"\0\0\0\0\0\0\0\x03");
    both_ways(1.0_f32, -9, b"\x3f\x80\0\0");
    both_ways(1.0_f64, -10, b"\x3f\xf0\0\0\0\0\0\0");
    both_ways('ß', -5, b"\0\xdf");
    both_ways("ab".to_owned(), -11, b"\0\0\0\x02ab");
    both_ways(vec![1_u8, 2], -12, b"\0\0\0\x02\x01\x02");
    both_ways(Bytes::from_static(b"x"), -12, b"\0\0\0\x01x");
    both_ways(Array(vec![true, false]), -13, b"\0\0\0\x02\x01\0");
    both_ways(Array(vec![1_i16]), -15, b"\0\0\0\x01\0\x01");
    both_ways(Array(vec!["a".to_owned()]), -20, b"\0\0\0\x01\0\0\0\x01a");
    both_ways(Json(vec![1, 2]), -130, b"\0\0\0\x05[1,2]");
    both_ways(vec![Some('a'), None], -29, b"\0\0\0\x02\xff\xff\xff\xfb\0a\0\0\0\0");
    both_ways(Box::new(date()), -51, b"\0\0\x07\xe8\x02\x1d");
    assert_eq!([1_u8, 2].to_data().unwrap(), vec![1_u8, 2].to_data().unwrap());
    assert_eq!(["a", "b"].to_data().unwrap(), vec!["a".to_owned(), "b".to_owned()].to_data().unwrap());
}

#[test]
fn numbers_are_read_across_types_as_long_as_nothing_is_lost() {
    let read = |value: Value| {
        let data = value.to_data().unwrap();
        (
            i8::from_data(&data).ok(),
            i64::from_data(&data).ok(),
            f32::from_data(&data).ok(),
            f64::from_data(&data).ok(),
        )
    };
    assert_eq!(read(Value::Int(100)), (Some(100), Some(100), Some(100.0), Some(100.0)));
    assert_eq!(read(Value::Int(300)), (None, Some(300), Some(300.0), Some(300.0)));
    assert_eq!(read(big("-128")), (Some(-128), Some(-128), Some(-128.0), Some(-128.0)));
    let odd = (1 << 53) + 1;
    assert_eq!(read(Value::Long(odd)), (None, Some(odd), None, None));
    assert_eq!(read(Value::Long(i64::MAX)), (None, Some(i64::MAX), None, None));
    assert_eq!(read(Value::Double(0.1)), (None, None, None, Some(0.1)));
    assert_eq!(read(Value::Float(0.5)), (None, None, Some(0.5), Some(0.5)));
    assert_eq!(read(Value::Null), (None, None, None, None));
    let whole = Decimal::from_data(&5_i16.to_data().unwrap()).unwrap();
    assert_eq!(whole, Decimal::new(5, 0));
}

#[test]
fn mistakes_say_what_is_wrong() {
    let say = |error: Option<DecodeError>| error.unwrap().to_string();
    assert_eq!(
        say(i32::from_data(&"7".to_data().unwrap()).err()),
        "expected i32, found a string (type id -11)"
    );
    assert_eq!(
        say(String::from_data(&().to_data().unwrap()).err()),
        "expected a string, found null; read an Option where null is possible"
    );
    assert_eq!(
        say(i16::from_data(&70_000.to_data().unwrap()).err()),
        "the number 70000 does not fit i16; read a wider type"
    );
    assert_eq!(
        say(i64::from_data(&Data::new(type_id::LONG, &[0; 9])).err()),
        "1 bytes are left after the value, which ends at offset 8"
    );
    assert_eq!(
        say(LocalDate::from_data(&Data::new(type_id::LOCAL_DATE, &[0, 0, 7, 231, 2, 29])).err()),
        "the bytes before offset 6 are no date"
    );
    assert_eq!('🌰'.to_data(), Err(EncodeError::WideCharacter { character: '🌰' }));
    assert!(matches!(
        char::from_data(&Data::new(type_id::CHAR, &[0xd8, 0])),
        Err(DecodeError::Invalid { .. })
    ));
    assert!(matches!(Json::<i32>::from_data(&Json("a").to_data().unwrap()), Err(DecodeError::Json { .. })));
}

#[test]
fn names_live_where_the_python_client_looks_for_them() {
    for (name, partition) in [
        ("a", 73),
        ("default", 69),
        ("orders", 261),
        ("orders@7", 189),
        ("@x", 226),
        ("a@b@c", 250),
        ("hé你", 201),
        ("list@", 11),
    ] {
        assert_eq!(partition_of_name(name).number(), partition, "{name}");
    }
}

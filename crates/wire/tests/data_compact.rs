//! Compact objects against the bytes that the official Python client 5.7 writes, both ways, and what derived structs do with other schemas.

use filbert_wire::{
    Compact, Data, Decimal, DecodeError, EncodeError, FromData, LocalDate, LocalDateTime, LocalTime,
    OffsetDateTime, ToData, Value,
    compact::{Compact as _, CompactRecord, FieldDescriptor, FieldKind, Schema, compact_data},
    type_id,
};
use std::{collections::HashMap, sync::Arc};

type Schemas = HashMap<i64, Arc<Schema>>;

fn data(hex: &str) -> Data {
    let digit = |sign: u8| (sign as char).to_digit(16).unwrap() as u8;
    let bytes: Vec<u8> =
        hex.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
    Data::from_bytes(bytes).unwrap()
}

fn hex(data: &Data) -> String {
    data.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a member knows once a value of type `T` has been announced.
fn schemas_of<T: ToData>() -> Schemas {
    let mut found = Vec::new();
    T::schemas(&mut found);
    found.into_iter().map(|schema| (schema.id(), Arc::new(schema.clone()))).collect()
}

#[derive(Debug, Clone, PartialEq, Compact)]
#[compact(name = "inner")]
struct Inner {
    x: i32,
    t: Option<String>,
}

#[derive(Debug, PartialEq, Compact)]
#[compact(name = "flat")]
struct Flat {
    a: i8,
    b: i64,
    c: bool,
    d: i16,
    e: bool,
    f: f64,
    g: i32,
    h: f32,
    i: bool,
}

#[derive(Debug, PartialEq, Compact)]
#[compact(name = "empty")]
struct Empty {}

#[derive(Debug, PartialEq, Compact)]
#[compact(name = "text")]
struct Text {
    body: String,
    id: i32,
    none: Option<String>,
}

/// One field of every kind.
#[derive(Debug, PartialEq, Compact)]
#[compact(name = "all")]
struct All {
    boolean: bool,
    int8: i8,
    int16: i16,
    int32: i32,
    int64: i64,
    float32: f32,
    float64: f64,
    string: Option<String>,
    decimal: Option<Decimal>,
    time: Option<LocalTime>,
    date: Option<LocalDate>,
    timestamp: Option<LocalDateTime>,
    #[compact(rename = "timestampTz")]
    timestamp_tz: Option<OffsetDateTime>,
    compact: Option<Inner>,
    #[compact(rename = "nBoolean")]
    n_boolean: Option<bool>,
    #[compact(rename = "nInt8")]
    n_int8: Option<i8>,
    #[compact(rename = "nInt16")]
    n_int16: Option<i16>,
    #[compact(rename = "nInt32")]
    n_int32: Option<i32>,
    #[compact(rename = "nInt64")]
    n_int64: Option<i64>,
    #[compact(rename = "nFloat32")]
    n_float32: Option<f32>,
    #[compact(rename = "nFloat64")]
    n_float64: Option<f64>,
    #[compact(rename = "aBoolean")]
    a_boolean: Option<Vec<bool>>,
    #[compact(rename = "aInt8")]
    a_int8: Option<Vec<i8>>,
    #[compact(rename = "aInt16")]
    a_int16: Option<Vec<i16>>,
    #[compact(rename = "aInt32")]
    a_int32: Option<Vec<i32>>,
    #[compact(rename = "aInt64")]
    a_int64: Option<Vec<i64>>,
    #[compact(rename = "aFloat32")]
    a_float32: Option<Vec<f32>>,
    #[compact(rename = "aFloat64")]
    a_float64: Option<Vec<f64>>,
    #[compact(rename = "aString")]
    a_string: Option<Vec<Option<String>>>,
    #[compact(rename = "aDecimal")]
    a_decimal: Option<Vec<Option<Decimal>>>,
    #[compact(rename = "aTime")]
    a_time: Option<Vec<LocalTime>>,
    #[compact(rename = "aDate")]
    a_date: Option<Vec<Option<LocalDate>>>,
    #[compact(rename = "aTimestamp")]
    a_timestamp: Option<Vec<LocalDateTime>>,
    #[compact(rename = "aTimestampTz")]
    a_timestamp_tz: Option<Vec<OffsetDateTime>>,
    #[compact(rename = "aCompact")]
    a_compact: Option<Vec<Option<Inner>>>,
    #[compact(rename = "anBoolean")]
    an_boolean: Option<Vec<Option<bool>>>,
    #[compact(rename = "anInt8")]
    an_int8: Option<Vec<Option<i8>>>,
    #[compact(rename = "anInt16")]
    an_int16: Option<Vec<Option<i16>>>,
    #[compact(rename = "anInt32")]
    an_int32: Option<Vec<Option<i32>>>,
    #[compact(rename = "anInt64")]
    an_int64: Option<Vec<Option<i64>>>,
    #[compact(rename = "anFloat32")]
    an_float32: Option<Vec<Option<f32>>>,
    #[compact(rename = "anFloat64")]
    an_float64: Option<Vec<Option<f64>>>,
}

impl All {
    /// The object with every field set, or with null wherever that can be.
    fn example(set: bool) -> Self {
        fn when<T>(set: bool, value: T) -> Option<T> {
            set.then_some(value)
        }
        let decimal = Decimal::new(-1250, 2);
        let time = LocalTime::new(1, 2, 3, 4_000).unwrap();
        let date = LocalDate::new(2000, 1, 2).unwrap();
        let timestamp = LocalDateTime { date, time: LocalTime::new(3, 4, 5, 6_000).unwrap() };
        let zoned = OffsetDateTime::new(timestamp, 3600).unwrap();
        let inner = |x, t: Option<&str>| Inner { x, t: t.map(str::to_owned) };
        Self {
            boolean: true,
            int8: -1,
            int16: -2,
            int32: -3,
            int64: -4,
            float32: 0.5,
            float64: -0.25,
            string: when(set, "sé".to_owned()),
            decimal: when(set, decimal.clone()),
            time: when(set, time),
            date: when(set, date),
            timestamp: when(set, timestamp),
            timestamp_tz: when(set, zoned),
            compact: when(set, inner(7, Some("in"))),
            n_boolean: when(set, true),
            n_int8: when(set, 1),
            n_int16: when(set, 2),
            n_int32: when(set, 3),
            n_int64: when(set, 4),
            n_float32: when(set, 1.5),
            n_float64: when(set, 2.5),
            a_boolean: when(set, vec![true, false, true, true, false, false, true, false, true]),
            a_int8: when(set, vec![1, -1]),
            a_int16: when(set, vec![2, -2]),
            a_int32: when(set, vec![3, -3]),
            a_int64: when(set, vec![4, -4]),
            a_float32: when(set, vec![0.5]),
            a_float64: when(set, vec![]),
            a_string: when(set, vec![Some("x".to_owned()), None, Some("yz".to_owned())]),
            a_decimal: when(set, vec![Some(decimal), None]),
            a_time: when(set, vec![time]),
            a_date: when(set, vec![None, Some(date)]),
            a_timestamp: when(set, vec![timestamp]),
            a_timestamp_tz: when(set, vec![zoned]),
            a_compact: when(set, vec![Some(inner(1, None)), None, Some(inner(2, Some("b")))]),
            an_boolean: when(set, vec![Some(true), None, Some(false)]),
            an_int8: when(set, vec![None, Some(5)]),
            an_int16: when(set, vec![Some(6), None]),
            an_int32: when(set, vec![None, Some(7)]),
            an_int64: when(set, vec![Some(8), None]),
            an_float32: when(set, vec![None]),
            an_float64: when(set, vec![Some(1.25), None]),
        }
    }
}

const FLAT: &str = "00000000ffffffc9dcc79cba8000d51f0000010000000000400400000000000000011170bf000000fed4f905";
const EMPTY: &str = "00000000ffffffc962c9417571672020";
const INNER: &str = "00000000ffffffc9e859399bbe0d2e810000000afffffffb00000002686904";
const INNER_NULL: &str = "00000000ffffffc9e859399bbe0d2e8100000004fffffffbff";
const ALL: &str = "00000000ffffffc9ff51e86e21598c3a000001d6bfd0000000000000fffffffffffffffc3f000000fffffffdfffeff010000\
     000373c3a900000002fb1e0000000201020300000fa0000007d00102000007d0010203040500001770000007d00102030405\
     0000177000000e10e859399bbe0d2e810000000a0000000700000002696e04010100020000000300000000000000043fc000\
     004004000000000000000000094d010000000201ff000000020002fffe0000000200000003fffffffd000000020000000000\
     000004fffffffffffffffc000000013f000000000000000000000b00000003000000017800000002797a00ff050000000a00\
     00000200000002fb1e0000000200ff000000070000000101020300000fa0000000000600000002000007d00102ff00000000\
     0d00000001000007d0010203040500001770000000001100000001000007d001020304050000177000000e10000000002700\
     000003e859399bbe0d2e810000000400000001ffe859399bbe0d2e81000000090000000200000001620400ff110000000200\
     000003010000ff01000000010000000205ff000000000200000002000600ff000000040000000200000007ff000000000800\
     000002000000000000000800ff0000000000000001ff00000008000000023ff400000000000000ff008b0145010500e100bf\
     00c70097009f00ab009100cb00f50115012b017701bb01c4018f019b01a90184005800340023006f007f0083007100730077\
     0070001c002d003a0047";
const ALL_NULL: &str = "00000000ffffffc9ff51e86e21598c3a0000001cbfd0000000000000fffffffffffffffc3f000000fffffffdfffeff01ffff\
     ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";

fn agrees<T: ToData + FromData + PartialEq + std::fmt::Debug>(value: &T, expected: &str) {
    let encoded = value.to_data().unwrap();
    assert_eq!(hex(&encoded), expected);
    assert_eq!(&T::from_data(&data(expected)).unwrap(), value);
}

#[test]
fn objects_have_the_bytes_that_the_python_client_writes() {
    let flat = Flat { a: -7, b: 1 << 40, c: true, d: -300, e: false, f: 2.5, g: 70_000, h: -0.5, i: true };
    agrees(&flat, FLAT);
    agrees(&Empty {}, EMPTY);
    agrees(&Inner { x: -5, t: Some("hi".to_owned()) }, INNER);
    agrees(&Inner { x: -5, t: None }, INNER_NULL);
    agrees(&All::example(true), ALL);
    agrees(&All::example(false), ALL_NULL);
}

#[test]
fn schema_ids_are_those_that_the_python_client_computes() {
    assert_eq!(Flat::schema().id(), -2537887540174596833);
    assert_eq!(Empty::schema().id(), 7118292658705342496);
    assert_eq!(Inner::schema().id(), -1704267642911773055);
    assert_eq!(All::schema().id(), -49002561220801478);
}

/// The length of the whole value, and the offsets at its end, at the lengths where the offsets grow.
#[test]
fn offsets_take_one_two_or_four_bytes() {
    for (length, total, end) in [
        (0, 30, "04ff"),
        (246, 276, "04ff"),
        (247, 279, "0004ffff"),
        (65_526, 65_558, "0004ffff"),
        (65_527, 65_563, "00000004ffffffff"),
        (70_000, 70_036, "00000004ffffffff"),
    ] {
        let text = Text { body: "x".repeat(length), id: length as i32, none: None };
        let encoded = text.to_data().unwrap();
        assert_eq!(encoded.as_bytes().len(), total);
        assert!(hex(&encoded).ends_with(end), "{length}");
        assert_eq!(Text::from_data(&encoded).unwrap(), text);
    }
}

#[test]
fn a_record_gives_every_field_without_the_rust_type() {
    let schemas = schemas_of::<All>();
    assert_eq!(schemas.len(), 2);
    let bytes = data(ALL);
    let record = CompactRecord::of_data(&bytes, &schemas).unwrap();
    let field = |name: &str| record.field(name).unwrap().unwrap();
    assert_eq!(field("int8"), Value::Byte(-1));
    assert_eq!(field("boolean"), Value::Bool(true));
    assert_eq!(field("string"), Value::String("sé".into()));
    assert_eq!(field("decimal"), Value::Decimal(Decimal::new(-1250, 2)));
    assert_eq!(field("aInt8"), Value::ByteArray(vec![1, 255]));
    assert_eq!(field("aInt64"), Value::LongArray(vec![4, -4]));
    assert_eq!(field("aString"), Value::StringArray(vec![Some("x".into()), None, Some("yz".into())]));
    assert_eq!(field("anInt32"), Value::List(vec![Value::Null, Value::Int(7)]));
    assert_eq!(field("aDate"), {
        let date = LocalDate::new(2000, 1, 2).unwrap();
        Value::List(vec![Value::Null, Value::LocalDate(date)])
    });
    let bits = [true, false, true, true, false, false, true, false, true];
    assert_eq!(field("aBoolean"), Value::BoolArray(bits.to_vec()));
    assert_eq!(record.field("missing").unwrap(), None);

    // Objects within are whole values of their own.
    let inner = Inner { x: 7, t: Some("in".into()) }.to_data().unwrap();
    assert_eq!(field("compact"), Value::Opaque(inner));
    assert_eq!(record.path(["compact", "x"]).unwrap(), Some(Value::Int(7)));
    assert_eq!(record.path(["compact", "y"]).unwrap(), None);
    assert_eq!(record.path(["int8", "y"]).unwrap(), None);
    let Value::List(items) = field("aCompact") else { panic!("a list") };
    let last = Inner { x: 2, t: Some("b".into()) }.to_data().unwrap();
    assert_eq!((items.len(), &items[1], &items[2]), (3, &Value::Null, &Value::Opaque(last)));
}

#[test]
fn every_nullable_field_of_a_record_can_be_null() {
    let schemas = schemas_of::<All>();
    let bytes = data(ALL_NULL);
    let record = CompactRecord::of_data(&bytes, &schemas).unwrap();
    for field in All::schema().fields() {
        let scalar = matches!(
            field.kind,
            FieldKind::Boolean
                | FieldKind::Int8
                | FieldKind::Int16
                | FieldKind::Int32
                | FieldKind::Int64
                | FieldKind::Float32
                | FieldKind::Float64
        );
        assert_eq!(record.field(&field.name).unwrap().unwrap().is_null(), !scalar, "{}", field.name);
    }
    assert_eq!(record.path(["compact", "x"]).unwrap(), Some(Value::Null));
}

/// The type `inner`, some versions later: a field became optional, one went, two came.
#[derive(Debug, PartialEq, Compact)]
#[compact(name = "inner")]
struct LaterInner {
    x: Option<i32>,
    note: Option<String>,
    #[compact(default)]
    count: i64,
}

#[derive(Debug, PartialEq, Compact)]
#[compact(name = "inner")]
struct StrictInner {
    x: i64,
}

#[derive(Debug, PartialEq, Compact)]
#[compact(name = "inner")]
struct OtherInner {
    absent: i64,
}

#[test]
fn a_struct_reads_other_schemas_of_its_type() {
    let schemas = schemas_of::<Inner>();
    let old = data(INNER);
    let later = LaterInner::from_data_with(&old, &schemas).unwrap();
    assert_eq!(later, LaterInner { x: Some(-5), note: None, count: 0 });

    assert_eq!(
        LaterInner::from_data(&old),
        Err(DecodeError::UnknownSchema { schema_id: Inner::schema().id() })
    );
    let error = StrictInner::from_data_with(&old, &schemas).unwrap_err();
    assert!(matches!(error, DecodeError::WrongKind { .. }), "{error}");
    let error = OtherInner::from_data_with(&old, &schemas).unwrap_err();
    assert!(matches!(error, DecodeError::NoSuchField { .. }), "{error}");
    let error = Text::from_data_with(&old, &schemas).unwrap_err();
    assert!(matches!(error, DecodeError::WrongTypeName { .. }), "{error}");

    // And back: a null where the older type has none.
    let null = LaterInner { x: None, note: None, count: 1 }.to_data().unwrap();
    let error = Inner::from_data_with(&null, &schemas_of::<LaterInner>()).unwrap_err();
    assert_eq!(error, DecodeError::NullField { field: "x".into() });
}

#[derive(Debug, PartialEq, Compact)]
struct Numbers {
    a: Option<Vec<i32>>,
    b: Vec<Option<i64>>,
}

/// The same type with every kind changed to the one beside it.
#[derive(Debug, PartialEq, Compact)]
#[compact(name = "Numbers")]
struct OtherNumbers {
    a: Vec<Option<i32>>,
    b: Option<Vec<i64>>,
}

#[derive(Debug, PartialEq, Compact)]
#[compact(name = "Numbers")]
struct WrongNumbers {
    a: Option<Vec<String>>,
}

#[test]
fn arrays_are_read_from_the_nullable_kind_and_back() {
    let there = |a: Option<Vec<i32>>, b: Vec<Option<i64>>| {
        let data = Numbers { a, b }.to_data().unwrap();
        OtherNumbers::from_data_with(&data, &schemas_of::<Numbers>())
    };
    let read = there(Some(vec![1, 2]), vec![Some(3)]).unwrap();
    assert_eq!(read, OtherNumbers { a: vec![Some(1), Some(2)], b: Some(vec![3]) });
    let back = Numbers::from_data_with(&read.to_data().unwrap(), &schemas_of::<OtherNumbers>()).unwrap();
    assert_eq!(back, Numbers { a: Some(vec![1, 2]), b: vec![Some(3)] });
    // A null item is not a null array.
    let null = |field: &str| Err(DecodeError::NullField { field: field.into() });
    assert_eq!(there(Some(vec![]), vec![None]), null("b"));
    assert_eq!(there(None, vec![]), null("a"));

    let data = Numbers { a: None, b: vec![] }.to_data().unwrap();
    let error = WrongNumbers::from_data_with(&data, &schemas_of::<Numbers>()).unwrap_err();
    assert_eq!(error.to_string(), r#"the field "a" is an array of int32, not an array of string"#);
}

#[derive(Debug, Clone, PartialEq, Compact)]
struct Tree {
    left: Option<Box<Tree>>,
    right: Option<Box<Tree>>,
    bytes: Vec<u8>,
}

#[test]
fn a_struct_may_contain_itself() {
    let leaf = Tree { left: None, right: None, bytes: vec![0, 255] };
    let tree = Tree { left: Some(Box::new(leaf.clone())), right: Some(Box::new(leaf)), bytes: vec![] };
    assert_eq!(Tree::from_data(&tree.to_data().unwrap()).unwrap(), tree);
    assert_eq!((Tree::schema().type_name(), schemas_of::<Tree>().len()), ("Tree", 1));
    assert_eq!(Tree::schema().fields()[0].kind, FieldKind::ArrayOfInt8);

    let deep = (0..70).fold(Tree { left: None, right: None, bytes: vec![] }, |inner, _| Tree {
        left: Some(Box::new(inner)),
        right: None,
        bytes: vec![],
    });
    assert!(deep.to_data().is_err());
}

/// A tree whose two children are the same bytes, at every level: 2^60 nodes in a few hundred bytes.
#[test]
fn offsets_that_share_bytes_do_not_unfold() {
    let mut payload = Tree { left: None, right: None, bytes: vec![] }.to_data().unwrap().payload().to_vec();
    for _ in 0..60 {
        let mut outer = Tree::schema().id().to_be_bytes().to_vec();
        outer.extend_from_slice(&(payload.len() as i32).to_be_bytes());
        outer.extend_from_slice(&payload);
        // Offsets: bytes, left, right. The inner object is both children, and its first bytes a bogus array.
        match payload.len() {
            0..255 => outer.extend_from_slice(&[255, 0, 0]),
            _ => outer.extend_from_slice(&[255, 255, 0, 0, 0, 0]),
        }
        payload = outer;
    }
    let hostile = Data::new(type_id::COMPACT, &payload);
    let error = Tree::from_data(&hostile).unwrap_err();
    assert!(matches!(error, DecodeError::Overlap { .. } | DecodeError::NullField { .. }), "{error}");
}

#[test]
fn lists_hold_objects_whose_schema_is_known() {
    let items = vec![Inner { x: 1, t: None }, Inner { x: 2, t: Some("b".into()) }];
    let list = items.to_data().unwrap();
    assert_eq!(Vec::<Inner>::from_data(&list).unwrap(), items);
    let schemas = schemas_of::<Vec<Inner>>();
    let Value::List(values) = Value::from_data_with(&list, &schemas).unwrap() else { panic!("a list") };
    assert_eq!(values[1], Value::Opaque(items[1].to_data().unwrap()));
    // Without the schema nobody knows where an item ends.
    assert_eq!(Value::from_data(&list).unwrap(), Value::Opaque(list.clone()));
}

#[test]
fn a_schema_does_not_depend_on_the_order_of_its_fields() {
    let mut fields = All::schema().fields().to_vec();
    fields.reverse();
    assert_eq!(&Schema::new("all", fields.clone()).unwrap(), All::schema());
    fields.push(FieldDescriptor { name: "int8".into(), kind: FieldKind::String });
    assert_eq!(Schema::new("all", fields).unwrap_err().field, "int8");
    for kind in FieldKind::ALL {
        assert_eq!(FieldKind::from_code(kind.code()), Some(*kind));
    }
    assert_eq!([0, 5, 31, 47, -1].map(FieldKind::from_code), [None; 5]);
}

#[test]
fn an_object_is_written_again_from_the_values_of_its_fields() {
    let schemas: HashMap<_, _> =
        [All::schema(), Inner::schema()].map(|schema| (schema.id(), Arc::new(schema.clone()))).into();
    for set in [true, false] {
        let example = All::example(set);
        let data = example.to_data().unwrap();
        let record = CompactRecord::of_data(&data, &schemas).unwrap();
        let fields = record.schema().fields().iter();
        let values: Vec<_> = fields.map(|field| record.field(&field.name).unwrap().unwrap()).collect();
        let again = compact_data(All::schema(), &values).unwrap();
        assert_eq!(All::from_data(&again).unwrap(), example);
        let short = compact_data(All::schema(), &values[1..]).unwrap_err();
        assert!(matches!(short, EncodeError::FieldCount { .. }), "{short}");
        let mut wrong = values.clone();
        wrong.reverse();
        assert!(matches!(compact_data(All::schema(), &wrong), Err(EncodeError::WrongField { .. })));
    }
}

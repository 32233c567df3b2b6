//! Hostile bytes: any bytes under any type id give a value or an error, never a panic, and never far more memory than they are long.

mod support;

use filbert_wire::{
    Array, BigInteger, Data, Decimal, DecodeError, FromData, Json, LocalDateTime, MAX_DEPTH,
    MAX_NUMBER_BYTES, ToData, Value,
    compact::{CompactRecord, FieldDescriptor, FieldKind, Schema},
    type_id,
};
use proptest::prelude::*;
use std::{collections::HashMap, sync::Arc};
use support::node::{Node, node};

/// Bytes of memory that a value takes, roughly.
fn weight(value: &Value) -> usize {
    let within = match value {
        Value::String(text) | Value::Json(text) => text.len(),
        Value::ByteArray(items) => items.len(),
        Value::BoolArray(items) => items.len(),
        Value::CharArray(items) => items.len() * 2,
        Value::ShortArray(items) => items.len() * 2,
        Value::IntArray(items) => items.len() * 4,
        Value::LongArray(items) => items.len() * 8,
        Value::FloatArray(items) => items.len() * 4,
        Value::DoubleArray(items) => items.len() * 8,
        Value::StringArray(items) => {
            items.iter().map(|item| size_of_val(item) + item.as_ref().map_or(0, String::len)).sum()
        }
        Value::List(items) => items.iter().map(weight).sum(),
        Value::BigInteger(number) => number.as_be_bytes().len(),
        Value::Decimal(number) => number.unscaled().as_be_bytes().len(),
        Value::Opaque(data) => data.as_bytes().len(),
        _ => 0,
    };
    size_of::<Value>() + within
}

/// Every type id that means something, and some that do not.
fn type_ids() -> impl Strategy<Value = i32> {
    prop_oneof![-57..2_i32, Just(type_id::JSON), Just(type_id::PYTHON_PICKLE), any::<i32>()]
}

/// Bytes in which small numbers, lengths and type ids are frequent.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        any::<i32>(),
        -60..10_i32,
        0..40_i32,
        Just(i32::MAX),
        Just(i32::MIN),
        Just(type_id::ARRAY_LIST),
        Just(type_id::NULL)
    ];
    let part = prop_oneof![4 => word.prop_map(|word| word.to_be_bytes().to_vec()), 1 => any::<Vec<u8>>()];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

fn schemas_of<T: ToData>() -> HashMap<i64, Arc<Schema>> {
    let mut found = Vec::new();
    T::schemas(&mut found);
    found.into_iter().map(|schema| (schema.id(), Arc::new(schema.clone()))).collect()
}

/// Reads `data` in every way there is.
fn read_all(data: &Data) {
    if let Ok(value) = Value::from_data(data) {
        assert!(weight(&value) <= 1000 + 16 * data.as_bytes().len(), "{data:?}: {}", weight(&value));
        // What was understood can be written, and is then the same.
        let again = value.to_data().unwrap();
        let same = Value::from_data(&again).unwrap();
        assert_eq!(same.total_cmp(&value), std::cmp::Ordering::Equal);
        let _ = format!("{value:?}");
    }
    let _ = bool::from_data(data);
    let _ = i8::from_data(data);
    let _ = i64::from_data(data);
    let _ = f32::from_data(data);
    let _ = char::from_data(data);
    let _ = String::from_data(data);
    let _ = Vec::<u8>::from_data(data);
    let _ = Vec::<Option<Vec<String>>>::from_data(data);
    let _ = Array::<f64>::from_data(data);
    let _ = Json::<HashMap<String, f64>>::from_data(data);
    let _ = LocalDateTime::from_data(data);
    let _ = BigInteger::from_data(data);
    let _ = Decimal::from_data(data).map(|number| number.to_string());
    let _ = Node::from_data(data);
    read_record(data, &schemas_of::<Node>());
}

fn read_record(data: &Data, schemas: &HashMap<i64, Arc<Schema>>) {
    if let Ok(record) = CompactRecord::of_data(data, schemas) {
        for field in record.schema().fields() {
            if let Ok(Some(value)) = record.field(&field.name) {
                assert!(weight(&value) <= 1000 + 100 * data.as_bytes().len(), "{}", field.name);
            }
        }
        let _ = record.path(["first", "first", "text"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_bytes_of_any_type(type_id in type_ids(), payload in bytes()) {
        read_all(&Data::new(type_id, &payload));
    }

    #[test]
    fn mutated_objects(at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>(), depth in 0_usize..4) {
        let whole = node(depth).to_data().unwrap();
        let mut payload = whole.payload().to_vec();
        let at = at.index(payload.len());
        payload[at] = byte;
        read_all(&Data::new(type_id::COMPACT, &payload));
        payload.truncate(cut.index(payload.len()));
        read_all(&Data::new(type_id::COMPACT, &payload));
    }

    /// Any schema over any bytes: a client may send both.
    #[test]
    fn any_bytes_by_any_schema(kinds in proptest::collection::vec(0..FieldKind::ALL.len(), 0..12), mut payload in bytes()) {
        let fields = kinds.iter().enumerate();
        let fields = fields.map(|(number, kind)| FieldDescriptor { name: number.to_string(), kind: FieldKind::ALL[*kind] });
        let schema = Schema::new("any", fields.collect()).unwrap();
        let schemas = HashMap::from([(schema.id(), Arc::new(schema.clone()))]);
        // A length that fits half of the time, so that the fields are reached.
        if payload.len() > 4 && payload[0] % 2 == 0 {
            let length = (payload.len() - 4).saturating_sub(kinds.len() * 2) as i32;
            payload[..4].copy_from_slice(&length.to_be_bytes());
        }
        let bytes = [&schema.id().to_be_bytes()[..], &payload].concat();
        let data = Data::new(type_id::COMPACT, &bytes);
        if let Ok(record) = CompactRecord::of_data(&data, &schemas) {
            for field in schema.fields() {
                if let Ok(value) = record.field(&field.name) {
                    prop_assert!(weight(&value.unwrap()) <= 1000 + 100 * bytes.len());
                }
            }
        }
    }
}

#[test]
fn every_prefix_of_an_object_is_an_error() {
    let data = node(3).to_data().unwrap();
    assert_eq!(Node::from_data(&data).unwrap(), node(3));
    for length in 0..data.payload().len() {
        assert!(Node::from_data(&Data::new(type_id::COMPACT, &data.payload()[..length])).is_err());
    }
}

#[test]
fn a_length_is_not_believed() {
    for type_id in [
        type_id::STRING,
        type_id::JSON,
        type_id::BYTE_ARRAY,
        type_id::BOOLEAN_ARRAY,
        type_id::LONG_ARRAY,
        type_id::STRING_ARRAY,
        type_id::ARRAY_LIST,
        type_id::BIG_INTEGER,
        type_id::BIG_DECIMAL,
    ] {
        for length in [i32::MAX, 7, -2, i32::MIN] {
            let payload = [&length.to_be_bytes()[..], &[0; 6]].concat();
            let error = Value::from_data(&Data::new(type_id, &payload)).unwrap_err();
            assert!(matches!(error, DecodeError::BadLength { .. }), "{type_id} {length}: {error}");
        }
    }
}

#[test]
fn depth_is_bounded_both_ways() {
    let nested = |depth| (0..depth).fold(Value::Null, |inner, _| Value::List(vec![inner]));
    let deepest = nested(MAX_DEPTH);
    assert_eq!(Value::from_data(&deepest.to_data().unwrap()).unwrap(), deepest);
    assert!(nested(MAX_DEPTH + 1).to_data().is_err());
    let mut payload = Vec::new();
    for _ in 0..200_000 {
        payload.extend_from_slice(&1_i32.to_be_bytes());
        payload.extend_from_slice(&type_id::ARRAY_LIST.to_be_bytes());
    }
    payload.extend_from_slice(&0_i32.to_be_bytes());
    let error = Value::from_data(&Data::new(type_id::ARRAY_LIST, &payload)).unwrap_err();
    assert!(matches!(error, DecodeError::TooDeep { .. }), "{error}");
}

#[test]
fn endless_numbers_are_not_calculated_with() {
    let mut payload = (MAX_NUMBER_BYTES as i32 + 1).to_be_bytes().to_vec();
    payload.resize(4 + MAX_NUMBER_BYTES + 1, 1);
    let data = Data::new(type_id::BIG_INTEGER, &payload);
    assert_eq!(Value::from_data(&data).unwrap(), Value::Opaque(data.clone()));
    assert!(matches!(BigInteger::from_data(&data), Err(DecodeError::NumberTooLong { .. })));
    // Leading bytes that say nothing do not count.
    payload[4] = 0;
    assert!(BigInteger::from_data(&Data::new(type_id::BIG_INTEGER, &payload)).is_ok());
}

/// An array whose items are all the same bytes would unfold to the square of its size.
#[test]
fn items_that_share_bytes_do_not_unfold() {
    let schema =
        Schema::new("s", vec![FieldDescriptor { name: "a".into(), kind: FieldKind::ArrayOfString }]).unwrap();
    let schemas = HashMap::from([(schema.id(), Arc::new(schema.clone()))]);
    let (text, count) = (60_000_usize, 20_000_usize);
    let mut array = ((text + 4) as i32).to_be_bytes().to_vec();
    array.extend_from_slice(&(count as i32).to_be_bytes());
    array.extend_from_slice(&(text as i32).to_be_bytes());
    array.resize(array.len() + text, b'x');
    array.resize(array.len() + count * 2, 0);
    let mut payload = schema.id().to_be_bytes().to_vec();
    payload.extend_from_slice(&(array.len() as i32).to_be_bytes());
    payload.extend_from_slice(&array);
    payload.extend_from_slice(&0_i32.to_be_bytes());
    let data = Data::new(type_id::COMPACT, &payload);
    let error = CompactRecord::of_data(&data, &schemas).unwrap().field("a").unwrap_err();
    assert!(matches!(error, DecodeError::Overlap { .. }), "{error}");
}

//! Portable objects as the Python client writes them, and hostile ones.

use filbert_wire::portable::{PortableField, PortableReader, PortableRecord};
use filbert_wire::{Data, DecodeError, LocalDate, LocalTime, Value, type_id};
use proptest::prelude::*;

/// Written by hazelcast-python-client 5.7.0, fields in this order: name "Ada", age 36 (int), limb {name "hand"}, limbs [{name "a"},
/// {name "b"}], none (a null object), longs [1, 2], date 2024-02-29, price 12.50, at 2024-02-29T01:02:03.000004+01:00, times [01:02:03],
/// words ["x"], on true, ratio 0.5.
const BODY: &str = "\
    00000000ffffffff000000010000000100000000000001990000000d00000054000000620000006c0000009f000000fb0000010b \
    0000012700000133000001460000015b0000017200000183000001890000000000046e616d650900000003416461000361676505 \
    0000002400046c696d6200000000000100000002000000000000009f00000001000000900000000000046e616d65090000000468 \
    616e6400056c696d62730a000000020000000100000002000000bb000000db00000000000000db00000001000000cf0000000000 \
    046e616d6509000000016100000000000000fb00000001000000ef0000000000046e616d6509000000016200046e6f6e65000100 \
    0000010000000200056c6f6e6773100000000200000000000000010000000000000002000464617465180007e8021d0005707269 \
    636514000000000204e200000002000261741c0007e8021d01020300000fa000000e10000574696d657317000000010000016b01 \
    0203000000000005776f7264731300000001000000017800026f6e02010005726174696f083fe0000000000000";

fn body() -> Vec<u8> {
    let digits: Vec<u8> = BODY.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks_exact(2).map(byte).collect()
}

fn text(text: &str) -> Option<PortableField> {
    Some(PortableField::Value(Value::String(text.to_owned())))
}

#[test]
fn every_kind_of_field_is_read_by_its_name() {
    let bytes = body();
    let field = |name: &str| {
        let mut reader = PortableReader::new(&bytes);
        let body = reader.root().unwrap();
        reader.field(body, name).unwrap()
    };
    let value = |name: &str| match field(name) {
        Some(PortableField::Value(value)) => value,
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(value("name"), Value::String("Ada".into()));
    assert_eq!(value("age"), Value::Int(36));
    assert_eq!(value("none"), Value::Null);
    assert_eq!(value("longs"), Value::LongArray(vec![1, 2]));
    assert_eq!(value("date"), Value::LocalDate(LocalDate::new(2024, 2, 29).unwrap()));
    assert!(matches!(value("price"), Value::Decimal(price) if price.to_string() == "12.50"));
    assert!(matches!(value("at"), Value::OffsetDateTime(_)));
    let time = LocalTime::new(1, 2, 3, 0).unwrap();
    assert_eq!(value("times"), Value::List(vec![Value::LocalTime(time)]));
    assert_eq!(value("words"), Value::StringArray(vec![Some("x".into())]));
    assert_eq!((value("on"), value("ratio")), (Value::Bool(true), Value::Double(0.5)));
    assert_eq!(field("absent"), None);
}

#[test]
fn objects_within_have_fields_of_their_own() {
    let bytes = body();
    let mut reader = PortableReader::new(&bytes);
    let body = reader.root().unwrap();
    let Some(PortableField::Record(limb)) = reader.field(body, "limb").unwrap() else { panic!() };
    assert_eq!(reader.field(limb, "name").unwrap(), text("hand"));
    assert!(matches!(reader.opaque(limb), Ok(Value::Opaque(data)) if data.type_id() == type_id::PORTABLE));
    let Some(PortableField::Records(limbs)) = reader.field(body, "limbs").unwrap() else { panic!() };
    let names: Vec<_> = limbs.iter().map(|limb| reader.field(*limb, "name").unwrap()).collect();
    assert_eq!(names, [text("a"), text("b")]);
}

/// Follows `x` through objects and arrays of objects, as far as the reader lets it.
fn follow(reader: &mut PortableReader<'_>, record: PortableRecord, depth: u32) -> Result<usize, DecodeError> {
    if depth == 0 {
        return Ok(1);
    }
    match reader.field(record, "x")? {
        Some(PortableField::Record(within)) => follow(reader, within, depth - 1),
        Some(PortableField::Records(within)) => {
            within.into_iter().map(|within| follow(reader, within, depth - 1)).sum()
        }
        _ => Ok(1),
    }
}

/// An array of a thousand objects, each of them the object itself: without a budget, 10^24 visits.
#[test]
fn objects_that_contain_themselves_end_in_an_error() {
    let mut payload = [1, 1, 0, 0, 1, 36, 0].map(i32::to_be_bytes).concat();
    payload.extend([0, 1, b'x', 10]);
    payload.extend([1000, 1, 1].map(i32::to_be_bytes).concat());
    payload.extend(16_i32.to_be_bytes().repeat(1000));
    let data = Data::new(type_id::PORTABLE, &payload);
    let mut reader = PortableReader::new(data.as_bytes());
    let root = reader.root().unwrap();
    assert!(matches!(follow(&mut reader, root, 8), Err(DecodeError::Overlap { .. })));
}

proptest! {
    #[test]
    fn any_bytes_give_a_value_or_an_error(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = body();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        let mut reader = PortableReader::new(&bytes);
        if let Ok(root) = reader.root() {
            for name in ["name", "age", "limb", "limbs", "none", "longs", "date", "price", "at", "times", "words", "ratio"] {
                if let Ok(Some(PortableField::Record(within))) = reader.field(root, name) {
                    let _ = reader.opaque(within);
                }
            }
        }
    }
}

//! Predicates, aggregators and projections as the official Python client writes them: read, and written again to the same bytes; and
//! hostile variants of them, which give errors and nothing worse.

use filbert_grid::query::{
    Aggregate, Aggregator, IterationType, MAX_REGEXES, Predicate, Projection, QueryError,
};
use filbert_wire::compact::NO_SCHEMAS;
use filbert_wire::{BigInteger, Data, Decimal, LocalDate, MAX_NUMBER_BYTES, ToData, Value, type_id};
use proptest::prelude::*;

const VECTORS: &str = include_str!("vectors/python_queries.tsv");

/// Kind, name and bytes.
fn vectors() -> impl Iterator<Item = (&'static str, &'static str, Vec<u8>)> {
    VECTORS.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut columns = line.split('\t');
        let (kind, name, hex) = (columns.next().unwrap(), columns.next().unwrap(), columns.next().unwrap());
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (kind, name, (0..hex.len()).step_by(2).map(byte).collect())
    })
}

fn vector(kind: &str, name: &str) -> Data {
    let found = vectors().find(|vector| (vector.0, vector.1) == (kind, name));
    Data::from_bytes(found.unwrap_or_else(|| panic!("no vector {name}")).2).unwrap()
}

/// Reads what the kind says, and writes it again.
fn again(kind: &str, data: &Data) -> Result<Data, QueryError> {
    Ok(match kind {
        "predicate" => Predicate::from_data(data, NO_SCHEMAS)?.to_data()?,
        "aggregator" => Aggregator::from_data(data, NO_SCHEMAS)?.to_data()?,
        "projection" => Projection::from_data(data, NO_SCHEMAS)?.to_data()?,
        other => panic!("{other}"),
    })
}

#[test]
fn everything_that_python_writes_is_read_and_written_again() {
    let mut count = 0;
    for (kind, name, bytes) in vectors() {
        let data = Data::from_bytes(bytes).unwrap();
        assert_eq!(again(kind, &data).unwrap().payload(), data.payload(), "{kind} {name}");
        count += 1;
    }
    assert!(count >= 59, "{count}");
}

#[test]
fn predicates_mean_what_python_meant() {
    let uuid = "12345678-1234-5678-1234-567812345678".parse().unwrap();
    let cases = [
        ("sql", Predicate::sql("age > 30 AND name LIKE 'A%'")),
        ("and", Predicate::equal("a", 1).map(|equal| Predicate::and([equal, Predicate::True]))),
        ("or", Predicate::equal("a", "x").map(|equal| Predicate::or([equal, Predicate::False]))),
        ("not", Predicate::equal("a", Value::Null).map(Predicate::not)),
        ("between", Predicate::between("this", 1, 20)),
        ("equal", Predicate::equal("__key", 1.5)),
        ("equal bool", Predicate::equal("active", true)),
        ("equal uuid", Predicate::equal("id", Value::Uuid(uuid))),
        ("equal date", Predicate::equal("d", Value::LocalDate(LocalDate::new(2024, 2, 29).unwrap()))),
        ("equal decimal", Predicate::equal("d", Value::Decimal(Decimal::new(150, 2)))),
        ("not equal", Predicate::not_equal("a", "b")),
        ("greater", Predicate::greater("a", 1)),
        ("greater or equal", Predicate::greater_or_equal("a", 1)),
        ("less", Predicate::less("a", 1)),
        ("less or equal", Predicate::less_or_equal("a", 1)),
        ("like", Predicate::like("a", "x%")),
        ("ilike", Predicate::ilike("a", "X_")),
        ("regex", Predicate::regex("a", "c[ar].*")),
        ("instance of", Ok(Predicate::instance_of("java.lang.Boolean"))),
        ("true", Ok(Predicate::True)),
        ("false", Ok(Predicate::False)),
    ];
    for (name, expected) in cases {
        assert_eq!(Predicate::from_data(&vector("predicate", name), NO_SCHEMAS), expected, "{name}");
    }
    let Ok(Predicate::Paging(paging)) =
        Predicate::from_data(&vector("predicate", "paging anchors"), NO_SCHEMAS)
    else {
        panic!("no page");
    };
    assert_eq!((paging.page(), paging.page_size(), paging.iteration()), (2, 3, IterationType::Entry));
    assert_eq!(paging.anchors()[1].key, "k1".to_data().unwrap());
}

#[test]
fn aggregators_and_projections_mean_what_python_meant() {
    let cases = [
        ("count", Aggregate::Count),
        ("distinct", Aggregate::Distinct),
        ("double_avg", Aggregate::DoubleAverage),
        ("fixed_point_sum", Aggregate::FixedPointSum),
        ("int_avg", Aggregate::IntegerAverage),
        ("long_sum", Aggregate::LongSum),
        ("max_", Aggregate::Max),
        ("number_avg", Aggregate::NumberAverage),
    ];
    for (name, aggregate) in cases {
        let expected = Aggregator::new(aggregate, Some("b.c".parse().unwrap()));
        assert_eq!(
            Aggregator::from_data(&vector("aggregator", &format!("{name} of")), NO_SCHEMAS),
            Ok(expected)
        );
        let of_all = Aggregator::new(aggregate, None);
        assert_eq!(Aggregator::from_data(&vector("aggregator", name), NO_SCHEMAS), Ok(of_all));
    }
    let multi = Projection::Multi(vec!["a".parse().unwrap(), "b[0]".parse().unwrap()]);
    assert_eq!(Projection::from_data(&vector("projection", "multi"), NO_SCHEMAS), Ok(multi));
}

/// An object of the class, as a payload.
fn header(factory: i32, class: i32) -> Vec<u8> {
    [&[1][..], &factory.to_be_bytes(), &class.to_be_bytes()].concat()
}

fn predicate_of(payload: &[u8]) -> Result<Predicate, QueryError> {
    Predicate::from_data(&Data::new(type_id::DATA_SERIALIZABLE, payload), NO_SCHEMAS)
}

#[test]
fn nesting_is_bounded_and_width_is_not() {
    let nested = |depth: usize| {
        let not = [&header(-20, 10)[..], &type_id::DATA_SERIALIZABLE.to_be_bytes()].concat();
        [not.repeat(depth), header(-20, 14)].concat()
    };
    assert!(predicate_of(&nested(127)).is_ok());
    assert_eq!(predicate_of(&nested(128)), Err(QueryError::TooDeep { limit: 128 }));
    assert_eq!(predicate_of(&nested(100_000)), Err(QueryError::TooDeep { limit: 128 }));
    let part = [&type_id::DATA_SERIALIZABLE.to_be_bytes()[..], &header(-20, 13)].concat();
    let wide = [&header(-20, 11)[..], &1_000_000_i32.to_be_bytes(), &part.repeat(1_000_000)].concat();
    let wide = predicate_of(&wide).unwrap();
    let data = 1.to_data().unwrap();
    let entry = filbert_grid::query::Entry::new(&data, &data, NO_SCHEMAS);
    assert_eq!(wide.matches(&entry), Ok(false));
    assert_eq!(predicate_of(wide.to_data().unwrap().payload()), Ok(wide));
}

#[test]
fn hostile_lengths_and_classes_are_errors() {
    for length in [-2, -1, 0, 1, i32::MAX, i32::MIN] {
        for class in -1..20 {
            let payload = [&header(-20, class)[..], &length.to_be_bytes()].concat();
            let _ = predicate_of(&payload);
            let _ = predicate_of(&[&payload[..], b"a", &length.to_be_bytes()].concat());
        }
    }
    assert!(matches!(predicate_of(&header(-21, 1)), Err(QueryError::UnknownClass { factory: -21, .. })));
    assert!(matches!(predicate_of(&header(-20, 99)), Err(QueryError::UnknownClass { class: 99, .. })));
    assert!(matches!(predicate_of(&[0; 20]), Err(QueryError::Decode { .. })));
    let other = Predicate::from_data(&"x".to_data().unwrap(), NO_SCHEMAS);
    assert!(matches!(other, Err(QueryError::Decode { .. })));
    for class in 0..4 {
        let big = Data::new(type_id::DATA_SERIALIZABLE, &header(-29, class));
        assert!(matches!(Aggregator::from_data(&big, NO_SCHEMAS), Err(QueryError::Unsupported { .. })));
    }
    for class in [i32::MIN, -1, 99, i32::MAX] {
        let other = Data::new(type_id::DATA_SERIALIZABLE, &header(-29, class));
        assert!(matches!(Aggregator::from_data(&other, NO_SCHEMAS), Err(QueryError::UnknownClass { .. })));
    }
    let any = Projection::Single("a[any]".parse().unwrap()).to_data().unwrap();
    assert!(matches!(Projection::from_data(&any, NO_SCHEMAS), Err(QueryError::BadArgument { .. })));
}

/// A message of 16 MB could ask for some gigabytes of compiled expressions.
#[test]
fn regular_expressions_are_few() {
    let regex = |number: usize| Predicate::regex("a", &format!("{number}.*")).unwrap();
    let sent = |predicate: &Predicate| predicate_of(predicate.to_data().unwrap().payload());
    let most = Predicate::or((0..MAX_REGEXES).map(regex));
    assert_eq!(sent(&most).as_ref(), Ok(&most));
    let too_many = |found| matches!(found, Err(QueryError::TooLarge { limit: MAX_REGEXES, .. }));
    assert!(too_many(sent(&Predicate::or((0..=MAX_REGEXES).map(regex)))));
    assert!(too_many(Predicate::sql(["a REGEX 'x'"; MAX_REGEXES + 1].join(" OR "))));
    let texts = (0..=MAX_REGEXES).map(|_| Predicate::sql("a REGEX 'x'").unwrap());
    assert!(too_many(sent(&Predicate::or(texts))), "also when they are in many texts");
}

/// Digits take time by the square of their number: a list of large decimals held up whoever read it for minutes.
#[test]
fn large_numbers_are_few() {
    let number = |bytes: usize, scale| {
        let unscaled = BigInteger::from_be_bytes(&[vec![1], vec![7; bytes - 1]].concat()).unwrap();
        Value::Decimal(Decimal::from_parts(unscaled, scale))
    };
    let list = |count: i32, bytes: usize| {
        let predicate = Predicate::is_in("a", (0..count).map(|scale| number(bytes, scale))).unwrap();
        predicate_of(predicate.to_data().unwrap().payload())
    };
    assert!(list(1, MAX_NUMBER_BYTES).is_ok() && list(10_000, 16).is_ok() && list(100, 40).is_ok());
    for (count, bytes) in [(2, MAX_NUMBER_BYTES), (200, 40)] {
        assert!(matches!(list(count, bytes), Err(QueryError::TooLarge { .. })), "{count} of {bytes}");
    }
}

proptest! {
    #[test]
    fn mutated_bytes_never_panic(pick in any::<prop::sample::Index>(), changes in proptest::collection::vec(
        (any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>(), cuts in any::<bool>()) {
        let all: Vec<_> = vectors().collect();
        let (kind, _, bytes) = pick.get(&all);
        let mut bytes = bytes.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cuts {
            bytes.truncate(8 + cut.index(bytes.len() - 8));
        }
        let data = Data::from_bytes(bytes).unwrap();
        if let Ok(written) = again(kind, &data) {
            // What was read is a predicate like any other.
            prop_assert!(again(kind, &written).is_ok());
        }
    }

    #[test]
    fn random_bytes_never_panic(payload in proptest::collection::vec(any::<u8>(), 0..80), class in 0..16) {
        let _ = predicate_of(&payload);
        let _ = predicate_of(&[&header(-20, class)[..], &payload].concat());
    }
}

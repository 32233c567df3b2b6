//! Each aggregation over plain values, in one go and in parts, with the bytes of the result.

use super::*;
use filbert_wire::compact::NO_SCHEMAS;
use filbert_wire::{Decimal, Json};
use proptest::prelude::*;

/// The result over all, each value in a part of its own.
fn over(aggregate: Aggregate, attribute: Option<&str>, values: &[Data]) -> Result<Data, QueryError> {
    let aggregator = Aggregator::new(aggregate, attribute.map(|path| path.parse().unwrap()));
    let mut all = aggregator.start();
    for (number, value) in values.iter().enumerate() {
        let key = (number as i32).to_data().unwrap();
        let mut part = aggregator.start();
        part.accumulate(&Entry::new(&key, value, NO_SCHEMAS))?;
        all.combine(part);
    }
    all.finish()
}

fn values<T: ToData>(values: &[T]) -> Vec<Data> {
    values.iter().map(|value| value.to_data().unwrap()).collect()
}

fn hex(data: &Data) -> String {
    data.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn sums_and_averages_have_their_types() {
    let mixed = [2_i32.to_data(), 3_i64.to_data(), 1.5_f64.to_data(), Decimal::new(250, 2).to_data()]
        .map(Result::unwrap);
    let whole = values(&[2_i32, 3, 5]);
    let result = |aggregate, of: &[Data]| Value::from_data(&over(aggregate, None, of).unwrap()).unwrap();
    assert_eq!(result(Aggregate::Count, &mixed), Value::Long(4));
    for aggregate in [Aggregate::IntegerSum, Aggregate::LongSum, Aggregate::FixedPointSum] {
        assert_eq!(result(aggregate, &whole), Value::Long(10), "{aggregate:?}");
    }
    assert_eq!(result(Aggregate::FixedPointSum, &mixed), Value::Long(8));
    for aggregate in [Aggregate::DoubleSum, Aggregate::FloatingPointSum] {
        assert_eq!(result(aggregate, &mixed), Value::Double(9.0), "{aggregate:?}");
    }
    for aggregate in [Aggregate::DoubleAverage, Aggregate::NumberAverage] {
        assert_eq!(result(aggregate, &mixed), Value::Double(2.25), "{aggregate:?}");
        assert_eq!(result(aggregate, &[]), Value::Null);
    }
    for aggregate in [Aggregate::IntegerAverage, Aggregate::LongAverage] {
        assert_eq!(result(aggregate, &whole), Value::Double(10.0 / 3.0), "{aggregate:?}");
    }
    assert_eq!(result(Aggregate::Max, &mixed), Value::Long(3));
    assert_eq!(result(Aggregate::Min, &mixed), Value::Double(1.5));
    assert_eq!(result(Aggregate::Max, &values(&[None, Some("b"), Some("a")])), Value::String("b".into()));
    assert_eq!(result(Aggregate::Min, &[]), Value::Null);
}

#[test]
fn what_is_no_number_and_what_does_not_fit_is_an_error() {
    let error = |aggregate, of: Vec<Data>| over(aggregate, None, &of).unwrap_err();
    assert!(matches!(error(Aggregate::LongSum, values(&["x"])), QueryError::NotANumber { .. }));
    assert!(matches!(error(Aggregate::DoubleAverage, values(&[()])), QueryError::NotANumber { .. }));
    assert!(matches!(error(Aggregate::IntegerSum, values(&[1.5])), QueryError::NotANumber { .. }));
    assert!(matches!(error(Aggregate::LongSum, values(&[i64::MAX, 1])), QueryError::Overflow { .. }));
    let back = over(Aggregate::LongSum, None, &values(&[i64::MAX, 1, -1])).unwrap();
    assert_eq!(i64::from_data(&back), Ok(i64::MAX));
}

/// The bytes are those that the Python client reads as `{None, 1, 'a'}` and as the entry `(1, 7)`.
#[test]
fn sets_and_entries_are_what_clients_read() {
    let all =
        [1_i32.to_data(), 1_i64.to_data(), "a".to_data(), ().to_data(), "a".to_data()].map(Result::unwrap);
    let set = over(Aggregate::Distinct, None, &all).unwrap();
    assert_eq!(
        hex(&set),
        "00000000fffffffe01ffffffe3000000130000000300000000fffffff900000001fffffff50000000161"
    );
    let greatest = over(Aggregate::MaxBy, Some("this"), &values(&[3, 7, 5])).unwrap();
    assert_eq!(hex(&greatest), "00000000fffffffe01fffffffc00000078fffffff900000001fffffff900000007");
    let least = over(
        Aggregate::MinBy,
        Some("n"),
        &values(&[Json([("n", 2)].into_iter().collect::<std::collections::BTreeMap<_, _>>())]),
    )
    .unwrap();
    assert!(hex(&least).starts_with("00000000fffffffe01fffffffc00000078fffffff900000000ffffff7e"));
    assert_eq!(Value::from_data(&over(Aggregate::MaxBy, Some("this"), &[]).unwrap()), Ok(Value::Null));
}

#[test]
fn any_counts_every_item() {
    let lists = values(&[Json(vec![1, 2]), Json(vec![]), Json(vec![3])]);
    let result = |aggregate| Value::from_data(&over(aggregate, Some("this[any]"), &lists).unwrap()).unwrap();
    assert_eq!((result(Aggregate::Count), result(Aggregate::LongSum)), (Value::Long(3), Value::Long(6)));
}

proptest! {
    #[test]
    fn parts_come_to_the_same_as_the_whole(numbers in proptest::collection::vec(-1_000_000_000_i64..1_000_000_000, 0..60), cut in 0..60_usize) {
        let aggregates = CLASSES.into_iter().filter(|aggregate| !matches!(aggregate, Aggregate::Distinct | Aggregate::MaxBy | Aggregate::MinBy));
        for aggregate in aggregates {
            let aggregator = Aggregator::new(aggregate, None);
            let gathered = |numbers: &[i64]| {
                let mut part = aggregator.start();
                for number in numbers {
                    let data = number.to_data().unwrap();
                    part.accumulate(&Entry::new(&data, &data, NO_SCHEMAS)).unwrap();
                }
                part
            };
            let (left, right) = numbers.split_at(cut.min(numbers.len()));
            let mut parts = gathered(left);
            parts.combine(gathered(right));
            // Whole numbers of this size are exact also as doubles.
            prop_assert_eq!(parts.finish().unwrap(), gathered(&numbers).finish().unwrap());
        }
    }
}

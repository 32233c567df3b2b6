//! Where a number goes that lies between two others: a part to each, more to the nearer one.

use crate::coordinate::Coordinate;
use crate::filter::{Comparison, Filter};
use arrow::datatypes::DataType;

/// The numbers around a coordinate with their parts of it. What is no number goes nowhere.
pub(super) fn around(numbers: &[f64], at: &Coordinate) -> Vec<(Coordinate, f64)> {
    let at = match at {
        Coordinate::Int(value) => *value as f64,
        Coordinate::Float(value) if !value.is_nan() => *value,
        _ => return Vec::new(),
    };
    let above = numbers.partition_point(|number| *number < at);
    let whole = |number: &f64| vec![(Coordinate::Float(*number), 1.0)];
    match (above.checked_sub(1).and_then(|below| numbers.get(below)), numbers.get(above)) {
        (None, None) => Vec::new(),
        (None, Some(only)) | (Some(only), None) => whole(only),
        (Some(_), Some(above)) if *above == at => whole(above),
        (Some(below), Some(above)) => {
            let part = (at - below) / (above - below);
            vec![(Coordinate::Float(*below), 1.0 - part), (Coordinate::Float(*above), part)]
        }
    }
}

/// Which numbers of a column give a part to one of those that are wanted: between its neighbours, or beyond the first and the last.
pub(super) fn sources(column: &str, numbers: &[f64], wanted: &[bool]) -> Filter {
    let last = numbers.len().saturating_sub(1);
    let around = |at: usize| {
        let above = (at > 0).then(|| Filter::compare(column, Comparison::Greater, numbers[at - 1]));
        let below = (at < last).then(|| Filter::compare(column, Comparison::Less, numbers[at + 1]));
        let is_there = Filter::is_null(column).negated();
        above.into_iter().chain(below).fold(is_there, Filter::and)
    };
    let wanted = wanted.iter().enumerate().filter(|(_, is_wanted)| **is_wanted);
    wanted.map(|(at, _)| around(at)).fold(Filter::None, Filter::or).canonical()
}

/// Whole numbers if all are.
pub(super) fn output_type(numbers: &[f64]) -> DataType {
    let is_whole = |number: &f64| number.fract() == 0.0 && number.abs() < 2_f64.powi(53);
    if numbers.iter().all(is_whole) { DataType::Int64 } else { DataType::Float64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_number_gets_more() {
        let to = |at: Coordinate| {
            let numbers = [0.0, 100.0, 400.0];
            around(&numbers, &at)
                .into_iter()
                .map(|(number, part)| format!("{number}:{part}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(to(25.into()), ["0.0:0.75", "100.0:0.25"]);
        assert_eq!(to(325.0.into()), ["100.0:0.25", "400.0:0.75"]);
        for (at, only) in [(0, "0.0:1"), (-5, "0.0:1"), (100, "100.0:1"), (400, "400.0:1"), (500, "400.0:1")]
        {
            assert_eq!(to(at.into()), [only]);
        }
        assert!(
            to(Coordinate::Null).is_empty() && to("x".into()).is_empty() && to(f64::NAN.into()).is_empty()
        );
        let from = |wanted: [bool; 3]| sources("x", &[0.0, 100.0, 400.0], &wanted);
        let filter = |text: &str| text.parse::<Filter>().unwrap().canonical();
        assert_eq!(from([true, false, false]), filter("x < 100.0"));
        assert_eq!(from([false, true, false]), filter("x > 0.0 and x < 400.0"));
        assert_eq!(from([false, false, true]), filter("x > 100.0"));
        assert_eq!(from([false, false, false]), Filter::None);
        assert_eq!(sources("x", &[7.0], &[true]), filter("not x is null"));
        assert_eq!(output_type(&[0.0, 2.0]), DataType::Int64);
        assert_eq!(output_type(&[0.0, 2.5]), DataType::Float64);
    }
}

//! Where a number goes that lies between two others: a part to each, more to the nearer one.

use crate::coordinate::Coordinate;
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
        assert_eq!(output_type(&[0.0, 2.0]), DataType::Int64);
        assert_eq!(output_type(&[0.0, 2.5]), DataType::Float64);
    }
}

//! Formulas read, refused and evaluated.

use super::*;
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::filter::ColumnSource;
use arrow::array::{Array, ArrayRef, Float64Array, Int64Array, StringArray};

struct Table;

impl ColumnSource for Table {
    fn rows(&self) -> usize {
        3
    }

    fn column(&self, name: &str) -> Result<ArrayRef, CubeError> {
        Ok(match name {
            "i" => Arc::new(Int64Array::from(vec![Some(6), None, Some(-2)])),
            "f" => Arc::new(Float64Array::from(vec![Some(1.5), Some(4.0), None])),
            "big" => Arc::new(Int64Array::from(vec![i64::MAX; 3])),
            _ => Arc::new(StringArray::from(vec!["a", "b", "a"])),
        })
    }
}

fn values(text: &str) -> String {
    let expression: Expression = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
    let array = expression.evaluate(&Table).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(array.len(), 3, "{text}");
    (0..3).map(|row| Coordinate::at(&array, row).to_string()).collect::<Vec<_>>().join(" ")
}

#[test]
fn formulas_have_values() {
    for (text, expected) in [
        ("i + 1", "7 null -1"),
        ("i * 2 - 1", "11 null -5"),
        ("1 + 2 * 3", "7 7 7"),
        ("(1 + 2) * 3", "9 9 9"),
        ("-i", "-6 null 2"),
        ("i / 4", "1.5 null -0.5"),
        ("i + f", "7.5 null null"),
        ("coalesce(i, 0)", "6 0 -2"),
        ("coalesce(i, f, 0)", "6.0 4.0 -2.0"),
        ("coalesce(1, i)", "1 1 1"),
        ("if(i > 0, i, 0)", "6 0 0"),
        ("if(t = 'a', 1, 2)", "1 2 1"),
        ("if(1 > 2, i, f)", "1.5 4.0 null"),
        ("min(i, 3)", "3 null -2"),
        ("max(i, f)", "6.0 null null"),
        ("abs(i)", "6 null 2"),
        ("sqrt(f * 0 + 4)", "2.0 2.0 null"),
        ("power(i, 2)", "36.0 null 4.0"),
        ("floor(f)", "1.0 4.0 null"),
        ("t", "a b a"),
    ] {
        assert_eq!(values(text), expected, "{text}");
    }
}

#[test]
fn an_overflow_is_no_figure() {
    let sum: Expression = "big + 1".parse().unwrap();
    assert!(matches!(sum.evaluate(&Table), Err(CubeError::Computation { .. })));
}

#[test]
fn what_cannot_be_read_says_where() {
    for (text, place) in
        [("", 0), ("a +", 3), ("a b", 2), ("(a", 2), ("nope(a)", 5), ("if(a)", 5), ("a + #", 4)]
    {
        let Err(CubeError::InvalidExpression { at, .. }) = text.parse::<Expression>() else {
            panic!("{text} was taken")
        };
        assert_eq!(at, place, "{text}");
    }
    assert!("(".repeat(5_000).parse::<Expression>().is_err());
    assert!("-".repeat(5_000).parse::<Expression>().is_err());
    assert!(vec!["1"; 5_000].join("+").parse::<Expression>().is_err());
}

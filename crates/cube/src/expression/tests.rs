//! Formulas read, refused and evaluated.

use super::*;
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::filter::ColumnSource;
use crate::syntax::MAX_DEPTH;
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
            "least" => Arc::new(Int64Array::from(vec![i64::MIN; 3])),
            "day" => Arc::new(arrow::array::Date32Array::from(vec![Some(0), Some(1), None])),
            // A second before 1970, and half past nine.
            "at" => Arc::new(arrow::array::TimestampSecondArray::from(vec![Some(-2), Some(34_200), None])),
            "opens" => {
                Arc::new(arrow::array::Time32SecondArray::from(vec![Some(34_200), Some(34_201), None]))
            }
            "times" => Arc::new(StringArray::from(vec!["09:30:00.5"; 3])),
            "unsigned" => Arc::new(arrow::array::UInt64Array::from(vec![1, 2, u64::MAX])),
            "small" => Arc::new(arrow::array::UInt64Array::from(vec![1, 2, 3])),
            "zero" => Arc::new(Float64Array::from(vec![0.0, -0.0, -f64::NAN])),
            "dates" => Arc::new(StringArray::from(vec!["1970-01-01", "1970-01-01", "1970-01-02"])),
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
        ("small + 1", "2 3 4"),
        ("if(zero = 0, 1, 2)", "1 1 2"),
        ("if(zero < 0, 1, 2)", "2 2 2"),
        ("if(zero > 5, 1, 2)", "2 2 1"),
        ("if(big = 9223372036854775808.0, 1, 2)", "2 2 2"),
        ("if(1e19 > big, 1, 2)", "1 1 1"),
        ("if(day >= '1970-01-02', 1, 2)", "2 1 2"),
        ("if('1970-01-01' = day, 1, 2)", "1 2 2"),
        ("if(day = dates, 1, 2)", "1 2 2"),
        ("coalesce(day, '1970-01-03')", "1970-01-01 1970-01-02 1970-01-03"),
        ("if(i = '6', 1, 2)", "1 2 2"),
    ] {
        assert_eq!(values(text), expected, "{text}");
    }
}

#[test]
fn an_overflow_is_no_figure() {
    for text in ["big + 1", "big * 2", "least - 1", "-least", "abs(least)", "0 - least", "unsigned + 1"] {
        let overflow: Expression = text.parse().unwrap();
        let error = overflow.evaluate(&Table).unwrap_err();
        assert!(matches!(error, CubeError::Computation { .. }), "{text}: {error}");
        assert_eq!(error.to_string().contains("column \"unsigned\""), text.contains("unsigned"), "{error}");
    }
    // Division gives floats, of which none is too large.
    assert_eq!(values("least / -1"), "9.223372036854776e18 9.223372036854776e18 9.223372036854776e18");
}

#[test]
fn dates_are_read_as_filters_read_them() {
    for text in [
        "if(day >= '2026-03-3x', 1, 2)",
        "if('2026-02-31' > day, 1, 2)",
        "if(day = 20260331, 1, 2)",
        "if(day = t, 1, 2)",
        "coalesce(day, 'soon')",
        "if(i > 'many', 1, 2)",
    ] {
        let error = text.parse::<Expression>().unwrap().evaluate(&Table).unwrap_err();
        assert!(matches!(error, CubeError::InvalidExpression { .. }), "{text}: {error:?}");
    }
    let wrong: Expression = "if(day >= '2026-03-3x', 1, 2)".parse().unwrap();
    let error = wrong.evaluate(&Table).unwrap_err().to_string();
    assert!(error.contains("'2026-03-3x' is no date; write dates like '2026-03-31'"), "{error}");
}

/// The half second was cut off, and the time before it was the literal.
#[test]
fn a_time_that_is_finer_than_its_column_lies_between_two_of_it() {
    for (text, expected) in [
        ("at = '1969-12-31T23:59:58.5'", "false false null"),
        ("at <> '1969-12-31T23:59:58.5'", "true true null"),
        ("at < '1969-12-31T23:59:58.5'", "true false null"),
        ("at <= '1969-12-31T23:59:58.5'", "true false null"),
        ("at >= '1969-12-31T23:59:58.5'", "false true null"),
        ("'1969-12-31T23:59:58.5' > at", "true false null"),
        ("'1969-12-31T23:59:58.5' <= at", "false true null"),
        ("opens > '09:30:00.000001'", "false true null"),
        ("opens >= '09:30:00.000'", "true true null"),
    ] {
        assert_eq!(values(text), expected, "{text}");
    }
    for (text, problem) in [
        ("opens = times", "'09:30:00.5' has more digits than times of Time32(s); leave them out"),
        ("opens = '34200'", "'34200' is no time of a day"),
    ] {
        let error = text.parse::<Expression>().unwrap().evaluate(&Table).unwrap_err().to_string();
        assert!(error.contains(problem), "{text}: {error}");
    }
}

#[test]
fn a_number_in_a_text_is_not_rounded() {
    let expression: Expression = "big > '9223372036854775808.5'".parse().unwrap();
    let error = expression.evaluate(&Table).unwrap_err().to_string();
    assert!(error.contains("it has more digits than numbers have here"), "{error}");
    assert!("f > 1.00000000000000000001".parse::<Expression>().is_err());
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
    let long = vec!["1"; 5_000].join("+");
    let Err(CubeError::InvalidExpression { at, problem }) = long.parse::<Expression>() else {
        panic!("5,000 operands were taken")
    };
    assert_eq!((at, problem.contains("4096 operands")), (2 * 4_096, true), "{problem}");
}

/// Runs on a thread with half the stack that those of stages have.
#[expect(clippy::disallowed_methods, reason = "the size of the stack is what is tested")]
fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

/// How deep the nodes of a formula lie in each other.
fn depth(of: &Node) -> usize {
    1 + match of {
        Node::Name(_) | Node::Int(_) | Node::Float(_) | Node::Text(_) => 0,
        Node::Negative(inner) => depth(inner),
        Node::Chain(first, others) => {
            others.iter().map(|(_, operand)| depth(operand)).fold(depth(first), usize::max)
        }
        Node::Call(_, arguments) => arguments.iter().map(depth).max().unwrap_or(0),
    }
}

#[test]
fn the_deepest_formula_fits_into_a_small_stack() {
    on_a_small_stack(|| {
        // Every level a comparison of sums of products, as long as it may be.
        let mut text = "1".to_owned();
        for _ in 0..MAX_DEPTH {
            text = format!("({text}{}{} < 1)", "*1".repeat(30), "+1".repeat(30));
        }
        let expression: Expression = text.parse().unwrap();
        assert!(depth(&expression.node) > MAX_DEPTH && depth(&expression.node) <= 3 * (MAX_DEPTH + 1));
        assert_eq!(expression.evaluate(&Table).unwrap().len(), 3);
        let copy = Expression { text: "".into(), node: Arc::new((*expression.node).clone()) };
        assert_eq!(copy.node, expression.node);
    });
}

#[test]
fn long_rows_of_operands_are_not_deep() {
    on_a_small_stack(|| {
        let sum: Expression = vec!["i"; 4_000].join("+").parse().unwrap();
        let values = sum.evaluate(&Table).unwrap();
        assert_eq!(Coordinate::at(&values, 0), Coordinate::Int(24_000));
        // What was taken before, and overflowed the stack: 64 brackets of 256 sums and 256 products each.
        let mut text = "1".to_owned();
        for _ in 0..64 {
            text = format!("({text}{}{})", "*1".repeat(255), "+1".repeat(255));
        }
        text.truncate(64 * 1024);
        assert!(text.parse::<Expression>().is_err());
    });
}

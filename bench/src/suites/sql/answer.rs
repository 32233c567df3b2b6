//! Whether two engines give the same answer: the same rows in any order, numbers alike whatever their type.
//!
//! Sums of floating-point numbers depend on the order of the parts, and an average of decimals has more digits on one engine than on
//! another; so numbers are compared with a tolerance that is far below what any of them is shown with.

use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::cmp::Ordering;
use std::fmt;

/// One value, without the type that an engine gave it.
#[derive(Debug, Clone)]
enum Cell {
    Nothing,
    Number(f64),
    Text(String),
}

type Row = Vec<Cell>;

/// The rows of an answer.
pub(super) struct Answer {
    source: Source,
}

enum Source {
    /// Made into rows only when compared: that is not what is measured.
    Batches(Vec<RecordBatch>),
    Rows(Vec<Row>),
}

impl Answer {
    pub(super) fn of(batches: Vec<RecordBatch>) -> Self {
        Self { source: Source::Batches(batches) }
    }

    /// Rows that came as JSON.
    pub(super) fn of_json(rows: &[Vec<serde_json::Value>]) -> Self {
        let cell = |value: &serde_json::Value| match value {
            serde_json::Value::Null => Cell::Nothing,
            serde_json::Value::String(text) => Cell::Text(text.clone()),
            other => other.as_f64().map_or_else(|| Cell::Text(other.to_string()), Cell::Number),
        };
        Self { source: Source::Rows(rows.iter().map(|row| row.iter().map(cell).collect()).collect()) }
    }

    /// The rows, in an order that both sides share.
    fn rows(&self) -> Vec<Row> {
        let mut rows = match &self.source {
            Source::Rows(rows) => rows.clone(),
            Source::Batches(batches) => batches.iter().flat_map(rows_of).collect(),
        };
        rows.sort_by(order);
        rows
    }
}

fn rows_of(batch: &RecordBatch) -> Vec<Row> {
    let columns: Vec<Vec<Cell>> = batch.columns().iter().map(|column| cells(column)).collect();
    (0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
}

fn cells(column: &dyn Array) -> Vec<Cell> {
    if column.data_type().is_numeric() {
        let numbers = cast(column, &DataType::Float64).expect("a number is a number");
        let numbers = numbers.as_primitive::<Float64Type>();
        return numbers.iter().map(|number| number.map_or(Cell::Nothing, Cell::Number)).collect();
    }
    let options = FormatOptions::default();
    let shown = ArrayFormatter::try_new(column, &options).expect("every type can be shown");
    let cell = |row| {
        if column.is_null(row) { Cell::Nothing } else { Cell::Text(shown.value(row).to_string()) }
    };
    (0..column.len()).map(cell).collect()
}

/// By what is exact first: numbers that differ by a rounding must not move rows past each other.
fn order(one: &Row, other: &Row) -> Ordering {
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => Some(text.clone()),
        _ => None,
    };
    let number = |cell: &Cell| match cell {
        Cell::Number(number) => *number,
        _ => f64::NEG_INFINITY,
    };
    let texts = one.iter().map(text).cmp(other.iter().map(text));
    let numbers = || {
        let pairs = one.iter().map(number).zip(other.iter().map(number));
        pairs.map(|(one, other)| one.total_cmp(&other)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    texts.then_with(numbers)
}

fn alike(one: &Cell, other: &Cell) -> bool {
    match (one, other) {
        (Cell::Nothing, Cell::Nothing) => true,
        (Cell::Number(one), Cell::Number(other)) => {
            (one - other).abs() <= 1e-6 + 1e-9 * one.abs().max(other.abs())
        }
        (Cell::Text(one), Cell::Text(other)) => one == other,
        _ => false,
    }
}

impl PartialEq for Answer {
    fn eq(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.rows(), other.rows());
        let same = |(one, other): (&Row, &Row)| {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| alike(one, other))
        };
        ours.len() == theirs.len() && ours.iter().zip(&theirs).all(same)
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        writeln!(f, "{} rows", rows.len())?;
        rows.iter().take(20).try_for_each(|row| writeln!(f, "{row:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Decimal128Array, Float64Array, StringArray};
    use std::sync::Arc;

    fn batch(names: &[&str], numbers: Arc<dyn Array>) -> RecordBatch {
        let names: Arc<dyn Array> = Arc::new(StringArray::from(names.to_vec()));
        RecordBatch::try_from_iter([("name", names), ("number", numbers)]).unwrap()
    }

    #[test]
    fn order_and_type_do_not_matter_but_values_and_their_number_do() {
        let float = |numbers: [f64; 2]| Arc::new(Float64Array::from(numbers.to_vec())) as Arc<dyn Array>;
        let decimal = Decimal128Array::from(vec![250, 100]).with_precision_and_scale(10, 2).unwrap();
        let one = Answer::of(vec![batch(&["a", "b"], float([1.0, 2.5 + 1e-12]))]);
        assert_eq!(one, Answer::of(vec![batch(&["b", "a"], Arc::new(decimal))]));
        assert_ne!(one, Answer::of(vec![batch(&["a", "b"], float([1.0, 2.51]))]));
        assert_ne!(one, Answer::of(vec![batch(&["a", "c"], float([1.0, 2.5]))]));
        let twice = batch(&["a", "b"], float([1.0, 2.5]));
        assert_ne!(one, Answer::of(vec![twice.clone(), twice]));
        let json = [vec!["b".into(), 2.5.into()], vec!["a".into(), 1.into()]];
        assert_eq!(one, Answer::of_json(&json));
    }
}

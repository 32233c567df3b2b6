//! Results are in the order of their columns, however many rows there are and whoever sorts them.

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::compute::{SortColumn, lexsort_to_indices, take_record_batch};
use filbert_cube::{Aggregator, Cube, Forest, MemoryTable, Query};
use filbert_pool::Stages;
use std::sync::Arc;

/// More than one thread sorts; every combination of values once, in no order.
const ROWS: i64 = 10_007;

fn rows() -> RecordBatch {
    // A prime number of rows: multiplied, they come in another order.
    let number = |row: i64| row * 7_919 % ROWS;
    let numbers = || (0..ROWS).map(number);
    let text = |row: i64| (row % 13 != 0).then(|| format!("text {}", row % 101));
    let whole = |row: i64| (row % 17 != 0).then_some((row - ROWS / 2) * 1_000_003);
    let float = |row: i64| (row % 19 != 0).then(|| (row - ROWS / 3) as f64 / 7.0);
    let columns: [(&str, ArrayRef); 5] = [
        ("text", Arc::new(numbers().map(text).collect::<StringArray>())),
        ("whole", Arc::new(numbers().map(whole).collect::<Int64Array>())),
        ("float", Arc::new(numbers().map(float).collect::<Float64Array>())),
        ("number", Arc::new(Int64Array::from_iter_values(numbers()))),
        ("value", Arc::new(Float64Array::from_iter_values(numbers().map(|row| row as f64)))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn sorted(batch: &RecordBatch, columns: usize) -> RecordBatch {
    let by = batch.columns()[..columns].iter();
    let by: Vec<SortColumn> =
        by.map(|values| SortColumn { values: Arc::clone(values), options: None }).collect();
    take_record_batch(batch, &lexsort_to_indices(&by, None).unwrap()).unwrap()
}

#[test]
fn any_columns_and_any_number_of_threads() {
    let stages = Stages::start().unwrap();
    let table = MemoryTable::new("rows", rows().schema(), vec![rows()]).unwrap();
    let forest = Forest::builder().measure("value", Aggregator::sum("value")).build().unwrap();
    let cube = Cube::builder(&stages, forest, table).build().unwrap();
    // Few bits, more than a word, and more than two.
    for by in [
        &["number"][..],
        &["text", "number"],
        &["float", "text", "number"],
        &["float", "whole", "text", "number"],
    ] {
        let columns: Vec<usize> =
            by.iter().map(|name| rows().schema().index_of(name).unwrap()).chain([4]).collect();
        let expected = sorted(&rows().project(&columns).unwrap(), by.len());
        for threads in 1..=3 {
            let query = Query::new(["value"]).by(by.iter().copied()).parallelism(threads);
            let found = cube.query(query).unwrap().wait().unwrap();
            assert_eq!(found.batch().columns(), expected.columns(), "{by:?} by {threads}");
        }
    }
}

#[test]
fn totals_come_last_and_numbers_stay_in_their_order() {
    let stages = Stages::start().unwrap();
    let batch = rows().slice(0, 200);
    let table = MemoryTable::new("rows", batch.schema(), vec![batch]).unwrap();
    let forest = Forest::builder().measure("rows", Aggregator::count()).build().unwrap();
    let cube = Cube::builder(&stages, forest, table).build().unwrap();
    let query = Query::new(["rows"]).by(["number"]).totals(["number"]);
    let csv = cube.query(query).unwrap().wait().unwrap().to_csv().unwrap();
    let names: Vec<&str> = csv.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    let numbers: Vec<i64> = names[..200].iter().map(|name| name.parse().unwrap()).collect();
    assert!(numbers.is_sorted() && names[200..] == ["*"], "{csv}");
}

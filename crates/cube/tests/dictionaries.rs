//! Dictionaries that have more texts than a query has slices: conditions on texts look at those that are there.

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Float64Type;
use filbert_cube::{Aggregator, Combinator, Cube, Filtrator, Forest, MemoryTable, Query};
use filbert_pool::Stages;
use std::sync::Arc;

#[test]
fn conditions_on_texts_are_the_same_however_large_the_dictionary_is() {
    let stages = Stages::start().unwrap();
    let rows = 20_000_usize;
    // Texts, of which one in ten is missing; the first thousand rows have few of them.
    let text = |row: usize| (row % 10 != 3).then(|| format!("t{}", if row < 1_000 { row % 7 } else { row }));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("row", Arc::new(Int64Array::from_iter_values(0..rows as i64)) as ArrayRef, true),
        ("text", Arc::new((0..rows).map(text).collect::<StringArray>()), true),
        ("value", Arc::new(Float64Array::from_iter_values((0..rows).map(|row| row as f64))), true),
    ])
    .unwrap();
    let table = MemoryTable::new("t", batch.schema(), vec![batch]).unwrap();
    let conditions = [
        "text like 't1%'",
        "text = 't2'",
        "text is null",
        "not text = 't2'",
        "text >= 't5' or text ~ '^t0$'",
    ];
    let mut forest = Forest::builder().measure("all", Aggregator::sum("value"));
    for condition in conditions {
        forest = forest.measure(condition, Filtrator::new("all", condition.parse().unwrap()));
    }
    let names: Vec<&str> = conditions.to_vec();
    let forest = forest.measure("any", Combinator::sum(&names)).build().unwrap();
    let cube = Cube::builder(&stages, forest, table).build().unwrap();
    let matches = |condition: usize, row: usize| {
        let text = text(row);
        match (condition, text.as_deref()) {
            (0, Some(text)) => text.starts_with("t1"),
            (1, Some(text)) => text == "t2",
            (2, None) | (3, None) => true,
            (3, Some(text)) => text != "t2",
            (4, Some(text)) => text >= "t5" || text == "t0",
            _ => false,
        }
    };
    // By text, so that all others are rolled up from it: first all texts, then few slices beside a dictionary that has them all.
    for (filter, limit) in [("row >= 0", rows), ("row < 1000", 1_000)] {
        let measures = [&["all"], conditions.as_slice()].concat();
        let query = Query::new(measures).by(["text"]).totals(["text"]).filter(filter.parse().unwrap());
        let answer = cube.query(query.no_cache()).unwrap().wait().unwrap();
        let last = answer.rows() - 1;
        for (number, condition) in conditions.iter().enumerate() {
            let total = answer.batch().column(2 + number).as_primitive::<Float64Type>().value(last);
            let expected: f64 = (0..limit).filter(|row| matches(number, *row)).map(|row| row as f64).sum();
            assert_eq!(total, expected, "{condition} where {filter}");
        }
    }
}

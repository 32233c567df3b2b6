//! A small table of trades, and cubes over it.

use arrow::array::{Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use filbert_cube::{Aggregator, Cube, Forest, ForestBuilder, ForestText, MemoryTable, Query};
use filbert_pool::Stages;
use std::sync::Arc;

/// Trades of two days, in three currencies, one of them missing.
pub(crate) fn trades() -> MemoryTable {
    let batch = RecordBatch::try_from_iter([
        (
            "ccy",
            Arc::new(StringArray::from(vec![
                Some("EUR"),
                Some("EUR"),
                Some("USD"),
                None,
                Some("USD"),
                Some("GBP"),
            ])) as _,
        ),
        ("desk", Arc::new(StringArray::from(vec!["FX", "Rates", "FX", "FX", "Rates", "FX"])) as _),
        ("day", Arc::new(Date32Array::from(vec![0, 1, 0, 1, 1, 1])) as _),
        (
            "pnl",
            Arc::new(Float64Array::from(vec![Some(1.0), Some(2.0), Some(4.0), Some(8.0), Some(16.0), None]))
                as _,
        ),
        ("lots", Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5, 6])) as _),
    ])
    .unwrap();
    MemoryTable::new("trades", batch.schema(), vec![batch.slice(0, 2), batch.slice(2, 4)]).unwrap()
}

pub(crate) fn forest() -> ForestBuilder {
    Forest::builder().measure("pnl", Aggregator::sum("pnl")).measure("lots", Aggregator::sum("lots"))
}

#[allow(dead_code, reason = "not all tests start a cube with nothing else set")]
pub(crate) fn cube(builder: ForestBuilder) -> (Stages, Cube) {
    let stages = Stages::start().unwrap();
    let cube = Cube::builder(&stages, builder.build().unwrap(), trades()).build().unwrap();
    (stages, cube)
}

/// The answer as CSV without its head, rows by `|`.
pub(crate) fn answer(cube: &Cube, query: Query) -> String {
    let result = cube.query(query).unwrap().wait().unwrap_or_else(|error| panic!("{error}"));
    let csv = result.to_csv().unwrap();
    csv.lines().skip(1).collect::<Vec<_>>().join("|")
}

/// The text of a measure that others are made of.
#[allow(dead_code, reason = "not all tests read texts")]
pub(crate) const LOTS: &str = r#"
    [[measure]]
    name = "lots"
    kind = "aggregator"
    column = "lots"
"#;

/// A forest of a text that is the same when it is written and read again.
#[allow(dead_code, reason = "not all tests read texts")]
pub(crate) fn read(toml: &str) -> ForestBuilder {
    let text = ForestText::from_toml(toml).unwrap();
    assert_eq!(ForestText::from_json(&text.to_json().unwrap()).unwrap(), text);
    assert_eq!(ForestText::from_toml(&text.to_toml().unwrap()).unwrap(), text);
    text.into_builder()
}

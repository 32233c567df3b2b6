//! By which columns slices are spread: said by the query, by measures, by the table. The answer is always the same.

use arrow::array::{Float64Array, RecordBatch, StringArray};
use filbert_cube::{
    Aggregation, Aggregator, Combination, Composite, Cube, CubeError, Forest, ForestText, MemoryTable,
    Partitionor, Query,
};
use filbert_pool::Stages;
use std::sync::Arc;

fn table() -> MemoryTable {
    let texts = |name: &str, count: usize| {
        Arc::new(StringArray::from_iter_values((0..60).map(|row| format!("{name}{}", row % count))))
    };
    let batch = RecordBatch::try_from_iter([
        ("desk", texts("d", 3) as _),
        ("book", texts("b", 4) as _),
        ("ccy", texts("c", 5) as _),
        ("pnl", Arc::new(Float64Array::from_iter_values((0..60).map(|row| row as f64))) as _),
    ]);
    let batch = batch.unwrap();
    MemoryTable::new("trades", batch.schema(), vec![batch]).unwrap()
}

fn forest() -> Forest {
    let best = |by: &str| Partitionor::new(&["pnl"], &[by], Combination::Sum, Aggregation::Max);
    Forest::builder()
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("best", best("book"))
        .measure("other", best("ccy"))
        .shard("best", &["desk", "book"])
        .shard("other", &["desk"])
        .build()
        .unwrap()
}

/// The answer, and the columns that its slices were spread by.
fn asked(cube: &Cube, query: Query) -> (String, String) {
    let answer = cube.query(query.explain()).unwrap().wait().unwrap();
    let told = answer.explanation().unwrap().to_string();
    let (_, rest) = told.split_once(" partitions").unwrap();
    let (by, _) = rest.split_once(", parallelism").unwrap();
    (answer.to_csv().unwrap(), by.trim_start_matches(" by ").to_owned())
}

#[test]
fn the_query_comes_before_the_measure_and_that_before_the_table() {
    let stages = Stages::start().unwrap();
    let cube = Cube::builder(&stages, forest(), table().sharded_by(&["ccy"])).build().unwrap();
    let of = |measures: &[&str]| Query::new(measures.to_vec()).by(["desk", "ccy"]);
    let (answer, shard) = asked(&cube, of(&["best"]));
    assert_eq!(shard, "book, desk");
    // Also when the cache has what another way of spreading made.
    for (columns, told) in [(&["ccy"][..], "ccy"), (&["book", "ccy"], "book, ccy"), (&["desk"], "desk")] {
        let query = of(&["best"]).shard_by(columns.to_vec());
        assert_eq!(asked(&cube, query.clone()), (answer.clone(), told.to_owned()));
        assert_eq!(asked(&cube, query.no_cache()), (answer.clone(), told.to_owned()));
    }
    assert_eq!(asked(&cube, of(&["pnl"])).1, "ccy");
    assert_eq!(asked(&cube, of(&["best", "other"])).1, "desk");
    let error = cube.query(of(&["pnl"]).shard_by(["dsk"])).unwrap().wait().unwrap_err();
    assert_eq!(error.to_string(), "table \"trades\" has no column \"dsk\"; it has: book, ccy, desk, pnl");
}

#[test]
fn a_forest_as_text_says_it_too_and_is_checked() {
    let text = ForestText::from(&forest());
    assert_eq!(ForestText::from_toml(&text.to_toml().unwrap()).unwrap(), text);
    assert!(text.to_toml().unwrap().contains("shard = [\"desk\"]"));
    let stages = Stages::start().unwrap();
    let with = |measure: &str, columns: &[&str]| {
        Forest::builder().measure("pnl", Aggregator::sum("pnl")).shard(measure, columns).build()
    };
    assert!(matches!(with("pln", &["desk"]), Err(CubeError::UnknownMeasure { .. })));
    assert!(matches!(with("pnl", &[]), Err(CubeError::InvalidMeasure { .. })));
    let unknown = Cube::builder(&stages, with("pnl", &["dsk"]).unwrap(), table()).build();
    assert!(matches!(unknown, Err(CubeError::UnknownColumn { .. })));
}

#[test]
fn a_cube_of_a_composite_is_told_the_columns_that_it_has() {
    let stages = Stages::start().unwrap();
    let cube = Cube::builder(&stages, forest(), table()).build().unwrap();
    let composite = Composite::builder("all").cube("one", &cube).build().unwrap();
    let above = composite.forest(Forest::builder()).unwrap();
    let all = Cube::builder(&stages, above, composite).build().unwrap();
    let query = Query::new(["best", "pnl"]).by(["desk", "ccy"]);
    let expected = all.query(query.clone()).unwrap().wait().unwrap().to_csv().unwrap();
    for columns in [&["desk"][..], &["ccy", Composite::CUBE], &[Composite::CUBE]] {
        let answer = all.query(query.clone().shard_by(columns.to_vec())).unwrap().wait().unwrap();
        assert_eq!(answer.to_csv().unwrap(), expected);
    }
}

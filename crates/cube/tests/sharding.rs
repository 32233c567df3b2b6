//! By which columns slices are spread: said by the query, by measures, by the table. The answer is always the same.

use arrow::array::{Float64Array, Int64Array, RecordBatch, StringArray};
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
    assert_eq!(
        error.to_string(),
        "table \"trades\" has no column \"dsk\"; it has: book, ccy, desk, pnl; is it \"desk\"?"
    );
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

/// Rows of a desk and a trade each, in batches of so many.
fn trades(batch_rows: usize, rows: i64, desk: impl Fn(i64) -> i64) -> MemoryTable {
    let batches: Vec<RecordBatch> = (0..rows)
        .step_by(batch_rows)
        .map(|first| {
            let numbers = first..rows.min(first + batch_rows as i64);
            let desks = Int64Array::from_iter_values(numbers.clone().map(&desk));
            let trades = Int64Array::from_iter_values(numbers.clone().map(|row| row % 1_000));
            let values = Float64Array::from_iter_values(numbers.map(|row| row as f64 * 0.1));
            RecordBatch::try_from_iter([
                ("desk", Arc::new(desks) as _),
                ("trade", Arc::new(trades) as _),
                ("pnl", Arc::new(values) as _),
            ])
            .unwrap()
        })
        .collect();
    MemoryTable::new("trades", batches[0].schema(), batches).unwrap().sharded_by(&["desk"])
}

/// The columns that slices were spread by; the answer is that of slices spread by others.
fn spread(table: MemoryTable, filter: &str) -> String {
    let stages = Stages::start().unwrap();
    let forest = Forest::builder().measure("pnl", Aggregator::sum("pnl")).build().unwrap();
    let cube = Cube::builder(&stages, forest, table).build().unwrap();
    let query = || Query::new(["pnl"]).by(["desk", "trade"]).filter(filter.parse().unwrap()).no_cache();
    let (answer, by) = asked(&cube, query());
    for parallelism in [1, 3] {
        assert_eq!(asked(&cube, query().parallelism(parallelism)), (answer.clone(), by.clone()));
    }
    assert_eq!(asked(&cube, query().shard_by(["trade"])).0, answer);
    by
}

const ALL: &str = "trade >= 0";

#[test]
fn a_skewed_key_is_split() {
    let skewed = |row: i64| if row % 5 == 0 { row % 35 } else { 7 };
    assert_eq!(spread(trades(50_000, 60_000, skewed), ALL), "");
    assert_eq!(spread(trades(50_000, 60_000, |row| row % 35), ALL), "desk");
}

/// The first batch was asked alone, and had too few rows to tell.
#[test]
fn small_batches_and_few_rows_of_each_tell_together() {
    let skewed = |row: i64| if row % 5 == 0 { row % 35 } else { 7 };
    assert_eq!(spread(trades(256, 60_000, skewed), ALL), "");
    assert_eq!(spread(trades(256, 60_000, |row| row % 35), ALL), "desk");
    // One row of a hundred is wanted, some hundred of all that is read at a time.
    assert_eq!(spread(trades(50_000, 900_000, skewed), "trade < 10"), "");
    // With fewer rows in all it does not matter.
    assert_eq!(spread(trades(50_000, 60_000, skewed), "trade < 10"), "desk");
}

/// Its first piece has one key.
#[test]
fn a_table_that_is_sorted_by_its_shard_key_is_not_skewed() {
    assert_eq!(spread(trades(50_000, 400_000, |row| row / 40_000), ALL), "desk");
    assert_eq!(spread(trades(256, 400_000, |row| row / 200_000), ALL), "desk");
}

#[test]
fn what_a_table_declares_is_checked_and_used_where_a_level_has_it() {
    let stages = Stages::start().unwrap();
    let cube = |columns: &[&str]| Cube::builder(&stages, forest(), table().sharded_by(columns)).build();
    let error = cube(&["ccy", "dsk"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "table \"trades\" has no column \"dsk\"; it has: book, ccy, desk, pnl; is it \"desk\"?"
    );
    // The planner's own choice was lost to columns that no level has.
    let cube = cube(&["ccy"]).unwrap();
    assert_eq!(asked(&cube, Query::new(["pnl"]).by(["desk", "book"])).1, "book, desk");
    assert_eq!(asked(&cube, Query::new(["pnl"]).by(["desk", "ccy"])).1, "ccy");
}

/// The line of an explanation about a step.
fn line_of(cube: &Cube, query: Query, step: &str) -> String {
    let answer = cube.query(query.no_cache().explain()).unwrap().wait().unwrap();
    let told = answer.explanation().unwrap().to_string();
    let line = told.lines().find(|line| line.contains(step));
    line.unwrap_or_else(|| panic!("no step {step:?} in {told}")).to_owned()
}

#[test]
fn slices_stay_in_their_partitions_where_both_levels_have_the_shard_columns() {
    let stages = Stages::start().unwrap();
    let cube = Cube::builder(&stages, forest(), table()).build().unwrap();
    let best = |shard: &[&str]| {
        line_of(&cube, Query::new(["best"]).by(["desk", "ccy"]).shard_by(shard.to_vec()), "best: roll up")
    };
    for local in [&["desk"][..], &["ccy"], &["desk", "ccy"]] {
        assert!(!best(local).contains("spread anew"), "{local:?}: {}", best(local));
    }
    // The finer level has it, the coarser one has not.
    for other in [&["book"][..], &["book", "desk"]] {
        assert!(best(other).contains("spread anew"), "{other:?}: {}", best(other));
    }
}

#[test]
fn a_column_with_one_value_spreads_nothing() {
    let stages = Stages::start().unwrap();
    let forest = Forest::builder().measure("pnl", Aggregator::sum("pnl")).build().unwrap();
    let cube = Cube::builder(&stages, forest, table()).build().unwrap();
    let by = |filter: &str| {
        let query = Query::new(["pnl"]).by(["desk", "ccy"]).filter(filter.parse().unwrap());
        asked(&cube, query.no_cache()).1
    };
    assert_eq!(by("true"), "ccy, desk");
    assert_eq!(by("ccy = 'c1'"), "desk");
    assert_eq!(by("desk = 'd1' and book <> 'b2'"), "ccy");
    // Two values spread, and so does what is pinned in one half of an or only.
    assert_eq!(by("ccy in ('c1', 'c2')"), "ccy, desk");
    assert_eq!(by("ccy = 'c1' or desk = 'd1'"), "ccy, desk");
}

#[test]
fn explanations_name_the_stages_that_worked() {
    let stages = Stages::start().unwrap();
    let cube = Cube::builder(&stages, forest(), table()).build().unwrap();
    let query = || Query::new(["best"]).by(["desk"]);
    // Who takes batches is a future on `mixed`; a table in memory is decoded by nobody.
    let head = line_of(&cube, query(), "table: ");
    assert!(head.contains(" (mixed, cpu); ") || head.contains(" (mixed); "), "{head}");
    for step in ["best: roll up", "best: combine", "Sum(pnl): aggregate"] {
        let line = line_of(&cube, query(), step);
        assert!(line.contains("(cpu)") || line.contains("(mixed, cpu)"), "{line}");
        assert!(!line.contains("fragment"), "{line}");
    }
}

#[test]
fn no_threads_and_no_partitions_are_refused() {
    let stages = Stages::start().unwrap();
    let cube = Cube::builder(&stages, forest(), table()).build().unwrap();
    let refused = |query: Query| cube.query(query).unwrap().wait().unwrap_err().to_string();
    let query = || Query::new(["best"]).by(["desk"]);
    assert!(refused(query().parallelism(0)).contains("a parallelism of 0; 1 is all in sequence"));
    assert!(refused(query().partitions(0)).contains("0 partitions; slices need at least 1"));
}

//! Quantiles: exact of few values, close of many, the same for any parallelism, told from one sketch.

mod trades;

use arrow::array::{Float64Array, Int64Array, RecordBatch};
use filbert_cube::{
    Aggregation, Aggregator, Combination, Cube, CubeError, Dispatchor, Filter, Forest, ForestBuilder,
    ForestText, MemoryTable, Partitionor, Query,
};
use filbert_pool::{StageKind, Stages};
use std::sync::Arc;
use trades::{answer, cube, forest, read};

#[test]
fn quantiles_of_few_values_are_exact() {
    let builder = forest()
        .measure("median", Aggregator::new("pnl", Aggregation::Median))
        .measure("p75", Aggregator::new("pnl", Aggregation::quantile(0.75)))
        .measure("least", Aggregator::new("lots", Aggregation::quantile(0.0)))
        .measure("most", Aggregator::new("lots", Aggregation::quantile(1.0)))
        .measure("of sums", Partitionor::new(&["lots"], &["ccy"], Combination::Sum, Aggregation::Median))
        .measure(
            "of copies",
            Dispatchor::duplicating("lots", "copy", ["x"]).aggregation(Aggregation::quantile(0.5)),
        );
    let (_stages, cube) = cube(builder);
    let all = ["median", "p75", "least", "most", "of sums"];
    assert_eq!(answer(&cube, Query::new(all)), "4.0,8.0,1.0,6.0,5.0");
    assert_eq!(
        answer(&cube, Query::new(all).by(["desk"])),
        "FX,4.0,6.0,1.0,6.0,3.5|Rates,9.0,12.5,2.0,5.0,3.5"
    );
    // Pounds have no pnl at all.
    assert_eq!(
        answer(&cube, Query::new(["median", "least"]).by(["ccy"])),
        ",8.0,4.0|EUR,1.5,1.0|GBP,,6.0|USD,10.0,3.0"
    );
    assert_eq!(answer(&cube, Query::new(["median"]).filter(Filter::equals("ccy", "CHF"))), "");
    assert_eq!(answer(&cube, Query::new(["of copies"]).by(["copy"])), "x,21.0");
}

#[test]
fn all_quantiles_of_a_column_are_told_from_one_sketch() {
    let builder = forest()
        .measure("median", Aggregator::new("pnl", Aggregation::Median))
        .measure("p95", Aggregator::new("pnl", Aggregation::quantile(0.95)));
    let (_stages, cube) = cube(builder);
    let query = Query::new(["median", "p95"]).by(["ccy", "desk"]).totals(["ccy", "desk"]).debug();
    let result = cube.query(query).unwrap().wait().unwrap();
    let text = result.explanation().unwrap().to_string();
    // One leaf: two quantiles at four levels come from it.
    assert!(text.contains("; 1 of 12 steps aggregate it"), "{text}");
    assert!(text.contains("combine quantile 0.95") && text.contains("roll up Sketch"), "{text}");
    assert!(text.contains("a sketch of 17 bytes"), "{text}");
}

fn many(rows: i64) -> MemoryTable {
    let value = |row: i64| ((row * 7_919) % 100_003) as f64 - 20_000.0;
    let batch = RecordBatch::try_from_iter([
        ("book", Arc::new((0..rows).map(|row| Some(row % 7)).collect::<Int64Array>()) as _),
        ("desk", Arc::new((0..rows).map(|row| Some(row % 3)).collect::<Int64Array>()) as _),
        ("pnl", Arc::new((0..rows).map(|row| Some(value(row))).collect::<Float64Array>()) as _),
    ])
    .unwrap();
    let third = batch.num_rows() / 3;
    let batches = vec![batch.slice(0, third), batch.slice(third, batch.num_rows() - third)];
    MemoryTable::new("many", batch.schema(), batches).unwrap()
}

fn risk() -> ForestBuilder {
    Forest::builder()
        .measure("p05", Aggregator::new("pnl", Aggregation::quantile(0.05)))
        .measure("median", Aggregator::new("pnl", Aggregation::Median))
        .measure("p99", Aggregator::new("pnl", Aggregation::quantile(0.99)))
}

#[test]
fn quantiles_of_many_values_are_close_and_the_same_for_any_parallelism() {
    let stages = Stages::builder().threads(StageKind::Cpu, 4).start().unwrap();
    let cube =
        Cube::builder(&stages, risk().build().unwrap(), many(100_003)).parallel_from_rows(0).build().unwrap();
    let ask = |columns: &[&str], parallelism, partitions| {
        let query = Query::new(["p05", "median", "p99"]).by(columns.iter().copied()).no_cache();
        let result =
            cube.query(query.parallelism(parallelism).partitions(partitions)).unwrap().wait().unwrap();
        result.batch().clone()
    };
    for columns in [&[][..], &["book"], &["book", "desk"]] {
        let first = ask(columns, 1, 1);
        for (parallelism, partitions) in [(2, 1), (1, 8), (4, 8), (3, 32)] {
            assert_eq!(ask(columns, parallelism, partitions), first);
        }
    }
    // All of 0 to 100,002 once, less 20,000.
    let total = ask(&[], 4, 8);
    let value =
        |column: usize| total.column(column).as_any().downcast_ref::<Float64Array>().unwrap().value(0);
    for (column, expected) in [(0, -14_999.9), (1, 30_001.0), (2, 79_001.98)] {
        let error = (value(column) - expected).abs() / expected.abs();
        assert!(error < 0.004, "{} instead of {expected}", value(column));
    }
}

#[test]
fn sketches_count_their_memory() {
    let stages = Stages::start().unwrap();
    let cube = Cube::builder(&stages, risk().build().unwrap(), many(100_003)).build().unwrap();
    let query = |bytes| Query::new(["p05"]).by(["book", "desk"]).no_cache().memory_limit(bytes);
    assert!(matches!(cube.query(query(100_000)).unwrap().wait(), Err(CubeError::OverMemory { .. })));
    cube.query(query(64 << 20)).unwrap().wait().unwrap();
}

#[test]
fn they_are_text() {
    let text = r#"
        [[measure]]
        name = "p90"
        kind = "aggregator"
        column = "lots"
        aggregation = { quantile = 0.9 }

        [[measure]]
        name = "middle"
        kind = "partitionor"
        underlyings = ["p90"]
        by = ["ccy"]
        combination = "sum"
        aggregation = "median"
    "#;
    let (_stages, cube) = cube(read(text));
    assert_eq!(answer(&cube, Query::new(["p90", "middle"])), "5.5,4.4");
    for text in ["sketch", "{ quantile = 'x' }"] {
        let text =
            format!("[[measure]]\nname = 'a'\nkind = 'aggregator'\ncolumn = 'x'\naggregation = '{text}'");
        assert!(ForestText::from_toml(&text).is_err());
    }
}

#[test]
fn what_is_wrong_is_told() {
    for part in [-0.1, 1.5, f64::NAN] {
        let builder = Forest::builder().measure("a", Aggregator::new("pnl", Aggregation::quantile(part)));
        let told = builder.build().unwrap_err().to_string();
        assert!(told.contains("between 0 and 1"), "{told}");
    }
    for column in ["ccy", "day"] {
        let (_stages, cube) = cube(forest().measure("a", Aggregator::new(column, Aggregation::Median)));
        let told = cube.query(Query::new(["a"])).unwrap().wait().unwrap_err().to_string();
        assert!(told.contains("is no number; take a quantile of numbers"), "{told}");
    }
}

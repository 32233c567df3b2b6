//! COUNT DISTINCT of texts: the same whether they come plain, as views or as entries of dictionaries, however they are shared out, and when
//! there is no room for them in memory.

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use filbert_cube::{Aggregation, Aggregator, Cube, CubeBuilder, Filter, Forest, MemoryTable, Query};
use filbert_pool::Stages;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const ROWS: usize = 60_000;
const BATCH: usize = 9_000;

/// One in thirteen is missing.
fn name(row: usize) -> Option<String> {
    (row % 13 != 5).then(|| format!("counterparty {}", row * 7919 % 2_500))
}

/// Names in this type; each batch has a dictionary of its own where it has one.
fn table(data_type: &DataType, desks: usize) -> MemoryTable {
    let batch = |first: usize| {
        let rows = first..ROWS.min(first + BATCH);
        let names: ArrayRef = Arc::new(rows.clone().map(name).collect::<StringArray>());
        let desks = Int64Array::from_iter_values(rows.clone().map(|row| (row / 3 % desks) as i64));
        let numbers = Int64Array::from_iter_values(rows.map(|row| row as i64));
        let columns: [(&str, ArrayRef, bool); 3] = [
            ("desk", Arc::new(desks), true),
            ("name", cast(&names, data_type).unwrap(), true),
            ("row", Arc::new(numbers), true),
        ];
        RecordBatch::try_from_iter_with_nullable(columns).unwrap()
    };
    let batches: Vec<RecordBatch> = (0..ROWS).step_by(BATCH).map(batch).collect();
    MemoryTable::new("t", batches[0].schema(), batches).unwrap()
}

fn cube(stages: &Stages, table: MemoryTable) -> CubeBuilder {
    let forest = Forest::builder()
        .measure("names", Aggregator::new("name", Aggregation::CountDistinct))
        .measure("last", Aggregator::new("name", Aggregation::Max))
        .build()
        .unwrap();
    Cube::builder(stages, forest, table).parallel_from_rows(16)
}

fn counts(cube: &Cube, query: Query) -> BTreeMap<i64, i64> {
    let answer = cube.query(query).unwrap().wait().unwrap();
    let column = |number: usize| answer.batch().column(number).as_primitive::<Int64Type>().values().to_vec();
    column(0).into_iter().zip(column(1)).collect()
}

/// Counted row by row.
fn expected(desks: usize, is_wanted: impl Fn(usize) -> bool) -> BTreeMap<i64, i64> {
    let mut names: BTreeMap<i64, BTreeSet<String>> = BTreeMap::new();
    for row in (0..ROWS).filter(|row| is_wanted(*row)) {
        names.entry((row / 3 % desks) as i64).or_default().extend(name(row));
    }
    names.into_iter().map(|(desk, names)| (desk, names.len() as i64)).collect()
}

#[test]
fn texts_are_counted_once_in_every_form_and_way() {
    let stages = Stages::builder().set("cpu.threads", 4).start().unwrap();
    let coded = |entries: DataType| DataType::Dictionary(Box::new(DataType::Int32), Box::new(entries));
    let forms = [
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Utf8View,
        coded(DataType::Utf8),
        coded(DataType::LargeUtf8),
    ];
    // Few desks have all names; many desks have some each, and go to their partitions in pieces.
    for desks in [3, 4_001] {
        for form in &forms {
            let cube = cube(&stages, table(form, desks)).build().unwrap();
            for (partitions, parallelism) in [(1, 1), (5, 2), (64, 4)] {
                let query = || {
                    Query::new(["names"])
                        .by(["desk"])
                        .partitions(partitions)
                        .parallelism(parallelism)
                        .no_cache()
                };
                let told =
                    format!("{form} by {desks} desks, {partitions} partitions, parallelism {parallelism}");
                assert_eq!(counts(&cube, query()), expected(desks, |_| true), "{told}");
                // So few rows that their dictionary is far larger.
                let few: Filter = "row < 700".parse().unwrap();
                assert_eq!(counts(&cube, query().filter(few)), expected(desks, |row| row < 700), "{told}");
            }
        }
    }
}

#[test]
fn texts_without_room_in_memory_go_to_disk() {
    let stages = Stages::start().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let coded = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let cube = cube(&stages, table(&coded, 4_001)).spill(folder.path(), 1 << 30).build().unwrap();
    let query = |bytes| Query::new(["names"]).by(["desk"]).memory_limit(bytes).no_cache();
    assert_eq!(counts(&cube, query(5 << 20)), expected(4_001, |_| true));
}

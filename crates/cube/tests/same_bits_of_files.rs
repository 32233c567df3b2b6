//! An answer over Parquet files has the same bits for any partitions, any shard columns, any parallelism and any number of threads that
//! decode, in a cold or a warm cache, from dictionary pages and from plain ones: those of the rows in memory.

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use filbert_cube::{
    Aggregation, Aggregator, Combinator, Cube, Dispatchor, Filtrator, Forest, MemoryTable, Query, SqlTable,
};
use filbert_pool::{StageKind, Stages};
use filbert_sql::{Sql, SqlSettings};
use futures::executor::block_on;
use proptest::prelude::*;
use std::path::Path;
use std::sync::{Arc, OnceLock};

const FILES: i64 = 6;
const ROWS: i64 = 4_000;
const COLUMNS: [&str; 4] = ["desk", "book", "ccy", "day"];
const MEASURES: [&str; 9] = ["sum", "mean", "median", "names", "desks", "last", "rows", "squares", "euro"];

/// Mostly tenths, and some that are far above or below these: every order of additions gives another sum.
fn value(row: i64) -> f64 {
    match row * 7919 % 41 {
        0 => 1e16,
        1 => -1e16,
        2 => 1e-300,
        3 => 1e22 / 3.0,
        other => other as f64 * 0.1 - 2.0,
    }
}

/// A file: a key without values now and then, and some texts that have no room in a view.
fn batch(file: i64) -> RecordBatch {
    let rows = || file * ROWS..(file + 1) * ROWS;
    let texts = |text: &dyn Fn(i64) -> Option<String>| -> ArrayRef {
        Arc::new(rows().map(text).collect::<StringArray>())
    };
    RecordBatch::try_from_iter_with_nullable([
        ("desk", texts(&|row| (row % 11 != 3).then(|| format!("desk {}", row * 31 % 23))), true),
        ("book", texts(&|row| Some(format!("a book whose name is long, number {}", row * 17 % 400))), true),
        ("ccy", texts(&|row| Some(["EUR", "USD", "JPY"][row as usize % 3].to_owned())), true),
        ("day", Arc::new(Int64Array::from_iter_values(rows().map(|row| row % 6))) as _, true),
        ("x", Arc::new(Float64Array::from_iter_values(rows().map(value))) as _, true),
    ])
    .unwrap()
}

fn forest() -> Forest {
    Forest::builder()
        .column("x2", "x * x".parse().unwrap())
        .measure("sum", Aggregator::sum("x"))
        .measure("mean", Aggregator::new("x", Aggregation::Avg))
        .measure("median", Aggregator::new("x", Aggregation::Median))
        .measure("names", Aggregator::new("book", Aggregation::CountDistinct))
        .measure("desks", Aggregator::new("desk", Aggregation::CountDistinct))
        .measure("last", Aggregator::new("book", Aggregation::Max))
        .measure("rows", Aggregator::new("desk", Aggregation::Count))
        .measure("x2", Aggregator::sum("x2"))
        .measure("squares", Combinator::divide("x2", "mean"))
        .measure("euro", Filtrator::new("sum", "ccy = 'EUR'".parse().unwrap()))
        .measure("so far", Dispatchor::cumulating("sum", "day"))
        .build()
        .unwrap()
}

/// The files, read by so many threads.
struct Place {
    stages: Stages,
    sql: Sql,
}

impl Place {
    fn new(folder: &Path, threads: u64) -> Self {
        let stages = Stages::builder().threads(StageKind::Cpu, 4).set("fragment.threads", threads);
        let stages = stages.start().unwrap();
        let files = vec![folder.to_owned()];
        let settings = SqlSettings { files: files.clone(), write_files: files, ..Default::default() };
        let sql = Sql::start(&stages, settings).unwrap();
        Self { stages, sql }
    }

    fn cube(&self, files: &str) -> Cube {
        let table = block_on(SqlTable::open(self.sql.session(), files)).unwrap();
        Cube::builder(&self.stages, forest(), table).parallel_from_rows(16).build().unwrap()
    }
}

struct All {
    folder: tempfile::TempDir,
    memory: Cube,
    places: [Place; 2],
}

/// Files that are read in three ways, and the same rows in memory.
fn all() -> &'static All {
    static ALL: OnceLock<All> = OnceLock::new();
    ALL.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let places = [1, 3].map(|threads| Place::new(folder.path(), threads));
        let batches: Vec<RecordBatch> = (0..FILES).map(batch).collect();
        let place = |name: &str| folder.path().join(name);
        for (number, batch) in batches.iter().enumerate() {
            let source = place(&format!("{number}.arrow"));
            let mut writer = arrow::ipc::writer::FileWriter::try_new(
                std::fs::File::create(&source).unwrap(),
                &batch.schema(),
            );
            let writer = writer.as_mut().unwrap();
            writer.write(batch).unwrap();
            writer.finish().unwrap();
            let copy = |begin: &str, options: &str| {
                let copy = format!(
                    "COPY (SELECT * FROM '{}') TO '{}' OPTIONS ('max_row_group_size' '1500', {options})",
                    source.display(),
                    place(&format!("{begin}{number}.parquet")).display(),
                );
                block_on(places[0].sql.session().query(&copy).unwrap().collect()).unwrap();
            };
            let (codes, plain) = ("'dictionary_enabled' 'true'", "'dictionary_enabled' 'false'");
            copy("coded", codes);
            copy("plain", plain);
            // The first one says that there are dictionaries, and others have none.
            copy("mixed", if number % 2 == 0 { codes } else { plain });
        }
        let table = MemoryTable::new("rows", batches[0].schema(), batches).unwrap();
        let memory = Cube::builder(&places[0].stages, forest(), table).build().unwrap();
        All { folder, memory, places }
    })
}

fn answer(cube: &Cube, query: Query) -> String {
    cube.query(query).unwrap().wait().unwrap().to_csv().unwrap()
}

/// The corners of what the property below draws from, each in a cold cache, and twice in one that then is warm.
#[test]
fn corners_of_all_ways_give_the_same_bits() {
    let All { folder, memory, places } = all();
    let query = || Query::new(MEASURES).by(["desk", "ccy"]).totals(["ccy"]);
    let expected = answer(memory, query().partitions(1).parallelism(1).no_cache());
    assert!(expected.lines().count() > 72);
    let path = folder.path().join("mixed*.parquet").display().to_string();
    for partitions in [1, 7, 64] {
        for parallelism in 1..=4 {
            for (place, shard) in [vec![], vec!["desk"], vec!["ccy"], vec!["desk", "ccy"]].iter().enumerate()
            {
                let cube = places[place % 2].cube(&path);
                let how = || query().partitions(partitions).parallelism(parallelism).shard_by(shard.clone());
                for (cache, how) in [("cold", how().no_cache()), ("empty", how()), ("warm", how())] {
                    let told = format!(
                        "{partitions} partitions by {shard:?}, parallelism {parallelism}, {cache} cache"
                    );
                    assert_eq!(answer(&cube, how), expected, "{told}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn nothing_about_how_files_are_read_changes_a_bit(
        level in prop::sample::subsequence(COLUMNS.to_vec(), 1..=4),
        files in prop::sample::select(vec!["coded", "plain", "mixed"]),
        filter in prop::sample::select(vec!["true", "desk <> 'desk 4'", "book like '%1' or ccy = 'USD'"]),
        ways in prop::collection::vec(
            (1..=64_usize, 1..=4_usize, prop::sample::subsequence(COLUMNS.to_vec(), 0..=4), any::<bool>(), 0..2_usize),
            3,
        ),
    ) {
        let All { folder, memory, places } = all();
        let query = || {
            let measures: Vec<&str> = if level.contains(&"day") {
                MEASURES.iter().copied().chain(["so far"]).collect()
            } else {
                MEASURES.to_vec()
            };
            // The longest names would make more groups than rows.
            let totals: Vec<&str> = level.iter().copied().filter(|column| *column != "day").collect();
            Query::new(measures).by(level.clone()).totals(totals).filter(filter.parse().unwrap())
        };
        let expected = answer(memory, query().partitions(1).parallelism(1).no_cache());
        prop_assert!(expected.lines().count() > 3);
        let path = folder.path().join(format!("{files}*.parquet")).display().to_string();
        let cubes = [0, 1].map(|place: usize| places[place].cube(&path));
        for (partitions, parallelism, shard, is_cached, place) in ways {
            let shard: Vec<&str> = shard.into_iter().filter(|column| level.contains(column)).collect();
            let how = query().partitions(partitions).parallelism(parallelism).shard_by(shard.clone());
            let how = if is_cached { how } else { how.no_cache() };
            let told = format!("{partitions} partitions by {shard:?}, parallelism {parallelism}, cache {is_cached}, place {place}");
            prop_assert_eq!(&answer(&cubes[place], how), &expected, "{}", told);
        }
    }
}

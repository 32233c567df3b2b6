//! Cubes over tables of SQL: files of all formats and maps give the answers of a table in memory.

use arrow::array::{ArrayRef, AsArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Int64Type};
use filbert_cube::aggregate::{Carriers, CustomAggregate, Values};
use filbert_cube::{
    Aggregation, Aggregator, Combinator, Cube, CubeError, DrillThrough, Expression, Filter, Filtrator,
    Forest, MemoryTable, Query, SqlTable, Table, TableGroups,
};
use filbert_grid::Grid;
use filbert_pool::{Shutdown, Stages};
use filbert_sql::{Sql, SqlSettings};
use filbert_wire::Json;
use futures::executor::block_on;
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ROWS: i64 = 3_000;

#[derive(Clone, Serialize, Deserialize)]
struct Trade {
    desk: Option<String>,
    ccy: String,
    day: String,
    n: i64,
    pnl: f64,
}

/// Multiples of an eighth: their sums are exact in any order.
fn trade(number: i64) -> Trade {
    Trade {
        desk: (number % 5 != 4).then(|| ["FX", "Rates", "Credit", "Equity"][number as usize % 4].to_owned()),
        ccy: ["EUR", "USD", "JPY"][number as usize % 3].to_owned(),
        day: format!("2026-01-{:02}", number % 28 + 1),
        n: number % 50,
        pnl: (number * 7 % 97 - 40) as f64 / 8.0,
    }
}

fn batch() -> RecordBatch {
    let trades: Vec<Trade> = (0..ROWS).map(trade).collect();
    let columns: [(&str, ArrayRef); 5] = [
        ("desk", Arc::new(trades.iter().map(|trade| trade.desk.clone()).collect::<StringArray>())),
        ("ccy", Arc::new(StringArray::from_iter_values(trades.iter().map(|trade| &trade.ccy)))),
        (
            "day",
            Arc::new(Date32Array::from_iter_values((0..ROWS).map(|number| 20_454 + (number % 28) as i32))),
        ),
        ("n", Arc::new(Int64Array::from_iter_values(trades.iter().map(|trade| trade.n)))),
        ("pnl", Arc::new(Float64Array::from_iter_values(trades.iter().map(|trade| trade.pnl)))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn forest() -> Forest {
    Forest::builder()
        .column("twice", "pnl * 2".parse::<Expression>().unwrap())
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("trades", Aggregator::count())
        .measure("doubled", Aggregator::sum("twice"))
        .measure("highest", Aggregator::new("n", Aggregation::Max))
        .measure("euro", Filtrator::new("pnl", "ccy = 'EUR'".parse::<Filter>().unwrap()))
        .measure("each", Combinator::divide("pnl", "trades"))
        .build()
        .unwrap()
}

struct Place {
    stages: Stages,
    grid: Grid,
    sql: Sql,
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let stages = Stages::start().unwrap();
        let (folder, grid) = (tempfile::tempdir().unwrap(), Grid::new(&stages));
        let files = vec![folder.path().to_owned()];
        let sql = Sql::start(
            &stages,
            SqlSettings { files: files.clone(), write_files: files, ..Default::default() },
        );
        let sql = sql.unwrap();
        sql.attach(&grid).unwrap();
        Self { stages, grid, sql, folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, statement: &str) {
        block_on(self.sql.session().query(statement).unwrap().collect()).unwrap();
    }

    /// The trades as a file of each format.
    fn write_files(&self) -> Vec<PathBuf> {
        let csv = self.path("trades.csv");
        let mut writer = arrow::csv::WriterBuilder::new().build(std::fs::File::create(&csv).unwrap());
        writer.write(&batch()).unwrap();
        drop(writer);
        let others = ["parquet", "arrow", "json"].map(|ending| {
            let path = self.path(&format!("trades.{ending}"));
            self.run(&format!("COPY (SELECT * FROM '{}') TO '{}'", csv.display(), path.display()));
            path
        });
        [csv].into_iter().chain(others).collect()
    }

    fn table(&self, name: &str) -> SqlTable {
        block_on(SqlTable::open(self.sql.session(), name)).unwrap()
    }

    fn file(&self, path: &Path) -> SqlTable {
        self.table(&path.to_string_lossy())
    }

    fn cube(&self, table: impl Table + 'static) -> Cube {
        Cube::builder(&self.stages, forest(), table).build().unwrap()
    }
}

fn answer(cube: &Cube, query: &Query) -> (String, String) {
    let result = cube.query(query.clone().explain()).unwrap().wait().unwrap();
    (result.to_csv().unwrap(), result.explanation().unwrap().to_string())
}

#[test]
fn every_kind_of_table_gives_the_same_answers() {
    let place = Place::new();
    let map = place.grid.typed_map::<i64, Json<Trade>>("trades");
    (0..ROWS).for_each(|number| map.set(&number, &Json(trade(number))).wait().map(drop).unwrap());
    let memory = place.cube(MemoryTable::new("trades", batch().schema(), vec![batch()]).unwrap());
    let mut others: Vec<(String, Cube)> = vec![("map".to_owned(), place.cube(place.table("trades")))];
    for path in place.write_files() {
        others.push((path.display().to_string(), place.cube(place.file(&path))));
    }
    let queries = [
        Query::new(["pnl", "trades", "doubled", "highest", "euro", "each"]).by(["desk", "ccy"]),
        Query::new(["pnl", "trades"]).by(["day"]).totals(["day"]),
        Query::new(["trades"]),
    ];
    let filters = [
        "ccy = 'EUR'",
        "not desk = 'FX'",
        "desk is null or ccy in ('USD', 'JPY')",
        "day >= '2026-01-10' and not n < 40",
        "ccy like 'E%' or n in (1, 2, 3)",
        "not (ccy like '%R' and day < '2026-01-07')",
        "ccy ~ '^U' and pnl > 3.5",
        "twice <= -2.5 and desk < 'G'",
        "ccy = 'XXX'",
    ];
    for query in &queries {
        for filter in [""].iter().chain(&filters) {
            let query = match filter.is_empty() {
                true => query.clone(),
                false => query.clone().filter(filter.parse().unwrap()),
            };
            let (expected, _) = answer(&memory, &query);
            for (name, cube) in &others {
                for groups in [TableGroups::WhereExact, TableGroups::Always] {
                    let (got, how) = answer(cube, &query.clone().no_cache().table_groups(groups));
                    assert_eq!(got, expected, "{name}, {query:?}, {groups:?}\n{how}");
                }
            }
        }
    }
}

/// Engines order NaN by its sign, the cube has one above all numbers.
#[test]
fn floats_are_seen_by_sql_as_the_cube_sees_them() {
    let place = Place::new();
    let csv = place.path("floats.csv");
    std::fs::write(&csv, "x\n0.0\n-0.0\nNaN\n-NaN\n1.0\n5.0\n-5.0\n-inf\ninf\n").unwrap();
    let path = place.path("floats.arrow");
    let negated = "CASE WHEN x = '-NaN' THEN -CAST('NaN' AS DOUBLE) ELSE CAST(x AS DOUBLE) END AS x";
    place.run(&format!(
        "COPY (SELECT {negated} FROM (SELECT CAST(x AS VARCHAR) AS x FROM '{}')) TO '{}'",
        csv.display(),
        path.display()
    ));
    let floats: Float64Array =
        [0.0, -0.0, f64::NAN, -f64::NAN, 1.0, 5.0, -5.0, f64::NEG_INFINITY, f64::INFINITY]
            .into_iter()
            .map(Some)
            .collect();
    let batch = RecordBatch::try_from_iter([("x", Arc::new(floats) as ArrayRef)]).unwrap();
    let forest = Forest::builder().measure("rows", Aggregator::count()).build().unwrap();
    let memory = MemoryTable::new("floats", batch.schema(), vec![batch]).unwrap();
    let memory = Cube::builder(&place.stages, forest.clone(), memory).build().unwrap();
    let other = Cube::builder(&place.stages, forest, place.file(&path)).build().unwrap();
    for (filter, rows) in [
        ("x > 1.5", "4"),
        ("x >= 5", "4"),
        ("x < 1.5", "5"),
        ("x <= -5", "2"),
        ("not x > 1.5", "5"),
        ("not x < 1.5", "4"),
        ("x = 0", "2"),
        ("not x = 1", "8"),
        ("x > 1.5 and x < 7", "1"),
    ] {
        let query = Query::new(["rows"]).filter(filter.parse().unwrap());
        assert_eq!(answer(&memory, &query).0, format!("rows\n{rows}\n"), "{filter}");
        for groups in [TableGroups::Never, TableGroups::Always] {
            let (got, how) = answer(&other, &query.clone().no_cache().table_groups(groups));
            assert_eq!(got, format!("rows\n{rows}\n"), "{filter}, {groups:?}\n{how}");
        }
    }
}

#[test]
fn columns_and_conditions_are_pushed_down() {
    let place = Place::new();
    let path = &place.write_files()[1];
    let cube = place.cube(place.file(path));
    let (_, how) =
        answer(&cube, &Query::new(["pnl"]).by(["desk"]).filter("not ccy = 'EUR'".parse().unwrap()));
    let statement = format!(
        "read by: SELECT \"ccy\", \"desk\", \"pnl\" FROM \"{}\" WHERE (\"ccy\" IS NULL OR \"ccy\" <> 'EUR')",
        path.display()
    );
    assert!(how.contains(&statement), "{how}");
    assert!(how.contains("1 batch, 2000 rows"), "{how}");
    // Only whole rows are counted: no column is read.
    let (_, how) = answer(&cube, &Query::new(["trades"]));
    assert!(how.contains("read by: SELECT 1 FROM"), "{how}");
    // Groups are made by SQL when it is asked to.
    let query = Query::new(["highest", "euro"]).by(["desk"]).table_groups(TableGroups::Always);
    let (_, how) = answer(&cube, &query);
    assert!(how.contains("groups of its own") && how.contains("GROUP BY \"desk\""), "{how}");
}

/// The first number of each group: it looks at the order of rows.
#[derive(Debug)]
struct First;

struct Firsts(Vec<Option<i64>>);

impl CustomAggregate for First {
    fn carriers(&self, _input: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
        Ok(Box::new(Firsts(Vec::new())))
    }
}

impl Carriers for Firsts {
    fn grow(&mut self, groups: usize) {
        self.0.resize(groups, None);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let array = values.array().expect("there is an input");
        let numbers = array.as_primitive::<Int64Type>();
        values.for_each_selected(|row| {
            self.0[groups[row] as usize].get_or_insert(numbers.value(row));
        });
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = (from as &dyn Any).downcast_ref::<Self>().expect("of the same aggregate");
        for (group, row) in groups.iter().zip(rows) {
            let mine = &mut self.0[*group as usize];
            *mine = mine.or(from.0[*row as usize]);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        Ok(Arc::new(Int64Array::from(self.0)))
    }

    fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Option<i64>>()
    }
}

/// Many files are read by several tasks at a time, whose batches come in any order. Sums must not show it, and what looks at the order
/// must not get it.
#[test]
fn files_are_read_side_by_side_where_nobody_looks_at_the_order() {
    let place = Place::new();
    let folder = place.path("parts");
    std::fs::create_dir(&folder).unwrap();
    let (files, rows) = (12_i64, 400_i64);
    let value = |row: i64| match row % 9 {
        0 => "1e16".to_owned(),
        1 => "-1e16".to_owned(),
        _ => format!("{}.{}", row % 70, row % 10),
    };
    let mut batches = Vec::new();
    for file in 0..files {
        let numbers = || file * rows..(file + 1) * rows;
        let lines: String =
            numbers().map(|row| format!("d{},c{},{row},{}\n", row % 5, row % 3, value(row))).collect();
        let path = folder.join(format!("{file:02}.csv"));
        std::fs::write(&path, format!("desk,ccy,n,pnl\n{lines}")).unwrap();
        batches.push(
            RecordBatch::try_from_iter([
                (
                    "desk",
                    Arc::new(StringArray::from_iter_values(numbers().map(|row| format!("d{}", row % 5))))
                        as ArrayRef,
                ),
                (
                    "ccy",
                    Arc::new(StringArray::from_iter_values(numbers().map(|row| format!("c{}", row % 3))))
                        as _,
                ),
                ("n", Arc::new(Int64Array::from_iter_values(numbers())) as _),
                (
                    "pnl",
                    Arc::new(Float64Array::from_iter_values(
                        numbers().map(|row| value(row).parse::<f64>().unwrap()),
                    )) as _,
                ),
            ])
            .unwrap(),
        );
    }
    let forest = Forest::builder()
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("mean", Aggregator::new("pnl", Aggregation::Avg))
        .measure("first", Aggregator::new("n", Aggregation::Custom("first".to_owned())))
        .aggregation("first", First)
        .build()
        .unwrap();
    let memory = MemoryTable::new("parts", batches[0].schema(), batches).unwrap();
    let memory = Cube::builder(&place.stages, forest.clone(), memory).build().unwrap();
    let files = Cube::builder(&place.stages, forest, place.file(&folder)).build().unwrap();
    for measures in [&["pnl", "mean"][..], &["first"], &["pnl", "first"]] {
        let query = || Query::new(measures.to_vec()).by(["desk", "ccy"]).totals(["desk", "ccy"]).no_cache();
        let (expected, _) = answer(&memory, &query().parallelism(1));
        for partitions in [1, 2, 16] {
            let (got, how) = answer(&files, &query().partitions(partitions));
            assert_eq!(got, expected, "{measures:?}, {partitions} partitions\n{how}");
            assert!(how.contains("fragment"), "{how}");
        }
    }
    // Rows are shown from the first on.
    let through = DrillThrough::new(Query::new(["pnl"])).columns(["n"]).limit(700);
    let shown = files.drill_through(through).unwrap().wait().unwrap();
    let numbers = shown.batch().column(0).as_primitive::<Int64Type>().values().to_vec();
    assert_eq!(numbers, (0..700).collect::<Vec<_>>());
}

/// A file that is large enough to be read by several tasks, were it not for the line breaks in its texts.
#[test]
fn a_text_with_line_breaks_is_not_cut() {
    let place = Place::new();
    let path = place.path("lines.csv");
    let long = "a text of several lines\n".repeat(8);
    let rows: String = (0..12_000).map(|row| format!("\"{long}{}\",{row}\n", row % 3)).collect();
    std::fs::write(&path, format!("desk,n\n{rows}")).unwrap();
    let forest = Forest::builder().measure("n", Aggregator::sum("n")).measure("rows", Aggregator::count());
    let cube = Cube::builder(&place.stages, forest.build().unwrap(), place.file(&path)).build().unwrap();
    let (got, how) = answer(&cube, &Query::new(["rows", "n"]));
    assert_eq!(got, format!("rows,n\n12000,{}\n", 12_000 * 11_999 / 2), "{how}");
    let (got, _) = answer(&cube, &Query::new(["rows"]).by(["desk"]));
    let sizes: Vec<&str> =
        got.lines().filter_map(|line| line.rsplit_once("\",").map(|(_, rows)| rows)).collect();
    assert_eq!(sizes, ["4000", "4000", "4000"]);
}

#[test]
fn files_are_read_again_when_they_change_and_maps_every_time() {
    let place = Place::new();
    let path = place.path("few.csv");
    std::fs::write(&path, "desk,ccy,day,n,pnl\nFX,EUR,2026-01-01,1,1.5\n").unwrap();
    let cube = place.cube(place.file(&path));
    let query = Query::new(["pnl"]).by(["desk"]);
    assert_eq!(answer(&cube, &query).0, "desk,pnl\nFX,1.5\n");
    let (again, how) = answer(&cube, &query);
    assert_eq!(again, "desk,pnl\nFX,1.5\n");
    assert!(how.contains("0 batches") && how.contains("from the cache"), "{how}");
    std::fs::write(&path, "desk,ccy,day,n,pnl\nFX,EUR,2026-01-01,1,1.5\nFX,EUR,2026-01-01,1,2.5\n").unwrap();
    let (after, how) = answer(&cube, &query);
    assert_eq!(after, "desk,pnl\nFX,4.0\n", "{how}");

    let map = place.grid.typed_map::<i64, Json<Trade>>("trades");
    map.set(&0, &Json(trade(0))).wait().unwrap();
    let cube = place.cube(place.table("trades"));
    let count = Query::new(["trades"]);
    assert_eq!(answer(&cube, &count).0, "trades\n1\n");
    map.set(&1, &Json(trade(1))).wait().unwrap();
    assert_eq!(answer(&cube, &count).0, "trades\n2\n");
    assert_eq!(cube.cached(), 0, "a map does not tell its version");
}

#[test]
fn queries_are_tables_and_mistakes_are_told() {
    let place = Place::new();
    let path = place.write_files().remove(0);
    let text = format!("SELECT ccy, desk, day, n, pnl * 2 AS pnl FROM '{}' -- doubled", path.display());
    let table = block_on(SqlTable::of_query(place.sql.session(), "twice", &text)).unwrap();
    let (total, _) = answer(&place.cube(table), &Query::new(["pnl"]));
    let (single, _) = answer(&place.cube(place.file(&path)), &Query::new(["doubled"]));
    assert_eq!(total.lines().nth(1), single.lines().nth(1));
    let unknown = block_on(SqlTable::open(place.sql.session(), "nowhere")).unwrap_err();
    assert!(matches!(&unknown, CubeError::TableFailed { table, .. } if table == "nowhere"), "{unknown}");
    let denied = block_on(SqlTable::open(place.sql.session(), "/etc/x.csv")).unwrap_err();
    assert!(denied.to_string().contains("sql.files"), "{denied}");
}

#[test]
fn what_ends_early_leaves_nothing_behind() {
    let place = Place::new();
    // Its columns are found in the first rows; a later one is wrong.
    let wrong = place.path("wrong.csv");
    let rows: String = (0..20_000)
        .map(|row| format!("FX,EUR,2026-01-01,{row},{}\n", if row == 15_000 { "x" } else { "1" }))
        .collect();
    std::fs::write(&wrong, format!("desk,ccy,day,n,pnl\n{rows}")).unwrap();
    let failed = place.cube(place.file(&wrong)).query(Query::new(["pnl"])).unwrap().wait().unwrap_err();
    assert!(failed.to_string().contains("wrong.csv"), "{failed}");
    let endless = "SELECT 'FX' AS desk, 'EUR' AS ccy, a.value AS n, 1.0 AS pnl, '' AS day \
                   FROM generate_series(1, 10000000) AS a CROSS JOIN generate_series(1, 10000000) AS b";
    let table = block_on(SqlTable::of_query(place.sql.session(), "endless", endless)).unwrap();
    let cube = place.cube(table);
    let query = cube.query(Query::new(["pnl"])).unwrap();
    query.cancel();
    assert_eq!(query.wait().unwrap_err(), CubeError::Cancelled);
    drop(cube.query(Query::new(["pnl"])).unwrap());
    let report = place.stages.shutdown(Shutdown::Drain).unwrap();
    assert!(report.left_behind.is_empty() && report.cut_short.is_empty(), "{report:?}");
    assert_eq!(place.sql.snapshot().open, 0);
}

//! From cells to rows: the rows that feed a cell, and no others.

use arrow::array::{AsArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{Int64Type, SchemaRef};
use filbert_cube::{
    Aggregation, Aggregator, BatchStream, Combination, Combinator, Coordinate, Cube, CubeError,
    Decomposition, Dispatchor, DrillThrough, DrilledRows, Filter, Filtrator, Forest, ForestBuilder,
    MemoryTable, Partitionor, Query, Shiftor, Table, TableQuery, Unfiltrator,
};
use filbert_pool::{Shutdown, StageKind, Stages};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

/// Trades, each with a number of its own.
fn trades() -> RecordBatch {
    let ccy = vec![Some("EUR"), Some("EUR"), Some("USD"), None, Some("USD"), Some("GBP")];
    RecordBatch::try_from_iter_with_nullable([
        ("ccy", Arc::new(StringArray::from(ccy)) as _, true),
        ("desk", Arc::new(StringArray::from(vec!["FX", "Rates", "FX", "FX", "Rates", "FX"])) as _, true),
        ("day", Arc::new(Date32Array::from(vec![0, 1, 0, 1, 1, 1])) as _, true),
        ("pnl", Arc::new(Float64Array::from(vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0])) as _, true),
        ("number", Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5, 6])) as _, true),
    ])
    .unwrap()
}

fn forest() -> ForestBuilder {
    Forest::builder()
        .column("twice", "pnl * 2".parse().unwrap())
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("trades", Aggregator::count())
        .measure("euro", Filtrator::new("pnl", Filter::equals("ccy", "EUR")))
        .measure("part", Combinator::divide("euro", "pnl"))
        .measure("all desks", Unfiltrator::suppress("pnl", &["desk"]))
        .measure("day before", Shiftor::offset("pnl", "day", -1))
        .measure("best day", Partitionor::new(&["pnl"], &["day"], Combination::Sum, Aggregation::Max))
        .measure("by region", Dispatchor::new("pnl", "ccy", "region", regions()))
        .measure("so far", Dispatchor::cumulating("pnl", "day"))
        .measure("best so far", Dispatchor::cumulating("day before", "day").aggregation(Aggregation::Max))
        .measure("by bucket", Dispatchor::new("pnl", "number", "bucket", buckets()))
        .measure("buckets", Combinator::expression("2 * \"by bucket\"").unwrap())
        .measure("so far by number", Dispatchor::cumulating("pnl", "number"))
        .measure("one before", Shiftor::offset("pnl", "number", -1))
        .measure("totals by bucket", Dispatchor::new("so far by number", "number", "bucket", buckets()))
        .measure("others by bucket", Dispatchor::new("one before", "number", "bucket", buckets()))
}

fn buckets() -> Decomposition {
    Decomposition::Linear(vec![0.0, 3.0, 6.0])
}

fn regions() -> Decomposition {
    Decomposition::Pairs(
        [("EUR", "Europe"), ("GBP", "Europe"), ("USD", "America"), ("EUR", "G2"), ("USD", "G2")]
            .map(|(ccy, region)| (ccy.into(), region.into()))
            .to_vec(),
    )
}

fn cube_over(stages: &Stages, table: impl Table + 'static) -> Cube {
    Cube::builder(stages, forest().build().unwrap(), table).build().unwrap()
}

fn cube() -> (Stages, Cube) {
    let stages = Stages::start().unwrap();
    let batch = trades();
    let table = MemoryTable::new("trades", batch.schema(), vec![batch.slice(0, 2), batch.slice(2, 4)]);
    let cube = cube_over(&stages, table.unwrap());
    (stages, cube)
}

/// The numbers of rows.
fn numbers(rows: &DrilledRows) -> Vec<i64> {
    rows.batch().column_by_name("number").unwrap().as_primitive::<Int64Type>().values().to_vec()
}

fn behind(cube: &Cube, through: DrillThrough) -> Vec<i64> {
    numbers(&cube.drill_through(through).unwrap().wait().unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn rows_come_once_in_the_order_of_the_table_with_all_columns() {
    let (_stages, cube) = cube();
    let query = Query::new(["pnl", "trades"]).by(["desk"]).filter(Filter::equals("ccy", "USD"));
    let rows = cube.drill_through(DrillThrough::new(query)).unwrap().wait().unwrap();
    assert_eq!(
        rows.to_csv().unwrap(),
        "ccy,desk,day,pnl,number,twice\nUSD,FX,1970-01-01,4.0,3,8.0\nUSD,Rates,1970-01-02,16.0,5,32.0\n"
    );
    assert!(!rows.has_more());
    let some = DrillThrough::new(Query::new(["pnl"])).columns(["twice", "desk"]).limit(2);
    let rows = cube.drill_through(some).unwrap().wait().unwrap();
    assert_eq!(rows.to_csv().unwrap(), "twice,desk\n2.0,FX\n4.0,Rates\n");
    assert!(rows.has_more());
    assert!(rows.to_text().unwrap().contains("twice") && rows.to_json().unwrap().starts_with("[{"));
}

#[test]
fn a_cell_is_a_slice_and_not_a_filter() {
    let (_stages, cube) = cube();
    let by = |measure: &str, columns: &[&str]| {
        DrillThrough::new(Query::new([measure]).by(columns.iter().copied()))
    };
    assert_eq!(behind(&cube, by("pnl", &["desk"]).cell("desk", "Rates")), [2, 5]);
    // In the slice of a desk, filters on desks that are dropped change nothing.
    assert_eq!(behind(&cube, by("all desks", &["desk"]).cell("desk", "Rates")), [2, 5]);
    let filtered = Query::new(["all desks"]).filter(Filter::equals("desk", "Rates"));
    assert_eq!(behind(&cube, DrillThrough::new(filtered)), [1, 2, 3, 4, 5, 6]);
    assert_eq!(behind(&cube, by("pnl", &["ccy"]).cell("ccy", Coordinate::Null)), [4]);
    assert_eq!(behind(&cube, by("best day", &["desk"]).cell("desk", "Rates")), [2, 5]);
    assert_eq!(behind(&cube, by("pnl", &["day", "desk"]).cell("day", "1970-01-02")), [2, 4, 5, 6]);
    assert_eq!(behind(&cube, by("pnl", &["desk"]).cell("desk", "Equity")), [] as [i64; 0]);
}

#[test]
fn a_running_total_shows_all_that_came_before() {
    let (_stages, cube) = cube();
    let at = |measure: &str, day: &str| {
        DrillThrough::new(Query::new([measure]).by(["day", "desk"])).cell("day", day).cell("desk", "FX")
    };
    assert_eq!(behind(&cube, at("so far", "1970-01-01")), [1, 3]);
    assert_eq!(behind(&cube, at("so far", "1970-01-02")), [1, 3, 4, 6]);
    // A shift below it reads up to the day before.
    assert_eq!(behind(&cube, at("best so far", "1970-01-02")), [1, 3]);
    let until = Query::new(["so far"]).filter("day = '1970-01-01'".parse().unwrap());
    assert_eq!(behind(&cube, DrillThrough::new(until)), [1, 3]);
}

#[test]
fn a_shifted_cell_shows_what_it_reads() {
    let (_stages, cube) = cube();
    let query = Query::new(["day before"]).by(["day"]);
    assert_eq!(behind(&cube, DrillThrough::new(query).cell("day", "1970-01-02")), [1, 3]);
    let filtered = Query::new(["day before"]).filter(Filter::equals("day", "1970-01-02"));
    assert_eq!(behind(&cube, DrillThrough::new(filtered)), [1, 3]);
}

#[test]
fn a_dispatched_cell_shows_where_it_comes_from() {
    let (_stages, cube) = cube();
    let query = Query::new(["by region"]).by(["region"]);
    assert_eq!(behind(&cube, DrillThrough::new(query.clone()).cell("region", "Europe")), [1, 2, 6]);
    assert_eq!(behind(&cube, DrillThrough::new(query)), [1, 2, 3, 5, 6]);
    let filtered = Query::new(["by region"]).filter(Filter::equals("region", "America"));
    assert_eq!(behind(&cube, DrillThrough::new(filtered)), [3, 5]);
}

/// All rows of the table stood behind every number.
#[test]
fn a_number_between_others_shows_what_lies_around_it() {
    let (_stages, cube) = cube();
    for measure in ["by bucket", "buckets"] {
        let query = Query::new([measure]).by(["bucket"]);
        let at = |bucket: i64| behind(&cube, DrillThrough::new(query.clone()).cell("bucket", bucket));
        assert_eq!(at(0), [1, 2]);
        assert_eq!(at(3), [1, 2, 3, 4, 5]);
        assert_eq!(at(6), [4, 5, 6]);
        assert_eq!(at(7), [] as [i64; 0]);
        assert_eq!(behind(&cube, DrillThrough::new(query)), [1, 2, 3, 4, 5, 6]);
        let filtered = Query::new([measure]).filter(Filter::equals("bucket", 0)).by(["desk"]);
        assert_eq!(behind(&cube, DrillThrough::new(filtered).cell("desk", "Rates")), [2]);
    }
}

#[test]
fn what_lies_around_a_number_goes_on_behind_totals_and_shifts() {
    let (_stages, cube) = cube();
    let at = |measure: &str, bucket: i64| {
        let query = Query::new([measure]).by(["bucket"]);
        behind(&cube, DrillThrough::new(query).cell("bucket", bucket))
    };
    // Totals at four and five, which the third and the fourth bucket share, have all before them in them.
    assert_eq!(at("totals by bucket", 6), [1, 2, 3, 4, 5, 6]);
    assert_eq!(at("totals by bucket", 3), [1, 2, 3, 4, 5]);
    assert_eq!(at("totals by bucket", 0), [1, 2]);
    // At number n is the value of the one before; where no value is written is not known here, so that of six for seven is among them.
    assert_eq!(at("others by bucket", 6), [3, 4, 5, 6]);
    assert_eq!(at("others by bucket", 0), [1]);
}

#[test]
fn columns_say_which_aggregations_a_row_feeds_where_these_differ() {
    let (_stages, cube) = cube();
    let query = Query::new(["part"]).by(["desk"]);
    let through = DrillThrough::new(query).cell("desk", "FX").columns(["number"]);
    let rows = cube.drill_through(through).unwrap().wait().unwrap();
    assert_eq!(
        rows.to_csv().unwrap(),
        "number,feeds Sum(pnl),feeds Sum(pnl) where ccy = 'EUR'\n1,true,true\n3,true,false\n4,true,false\n6,true,false\n"
    );
    let query = Query::new(["pnl", "day before"]).by(["day"]).filter(Filter::equals("desk", "FX"));
    let through = DrillThrough::new(query).cell("day", "1970-01-02").columns(["number"]);
    let rows = cube.drill_through(through).unwrap().wait().unwrap();
    assert_eq!(
        rows.to_csv().unwrap(),
        "number,feeds Sum(pnl) where day = '1970-01-01',feeds Sum(pnl) where day = '1970-01-02'\n1,true,false\n3,true,false\n4,false,true\n6,false,true\n"
    );
}

#[test]
fn rights_hold_for_rows() {
    let (stages, batch) = (Stages::start().unwrap(), trades());
    let table = MemoryTable::new("trades", batch.schema(), vec![batch]).unwrap();
    let rights = |user: Option<&str>| match user {
        Some("head") => Filter::All,
        _ => Filter::equals("desk", "Rates"),
    };
    let cube = Cube::builder(&stages, forest().build().unwrap(), table).rights(rights).build().unwrap();
    // No measure drops what the user may see.
    for measure in ["pnl", "all desks", "part"] {
        let query = Query::new([measure]).filter(Filter::equals("desk", "Rates"));
        assert_eq!(behind(&cube, DrillThrough::new(query)), [2, 5], "{measure}");
    }
    assert_eq!(behind(&cube, DrillThrough::new(Query::new(["pnl"]).user("head"))).len(), 6);
}

#[test]
fn mistakes_are_told() {
    let (_stages, cube) = cube();
    let told = |through: DrillThrough| {
        cube.drill_through(through).and_then(|rows| rows.wait()).unwrap_err().to_string()
    };
    let query = || DrillThrough::new(Query::new(["pnl"]).by(["desk"]));
    assert!(told(query().cell("ccy", "EUR")).contains("\"ccy\", which is not grouped by"));
    assert!(told(query().cell("desk", "FX").cell("desk", "Rates")).contains("two coordinates"));
    assert!(told(query().columns(["pln"])).contains("has no column \"pln\""));
    assert!(told(query().columns(["pnl", "pnl"])).contains("twice"));
    assert!(told(DrillThrough::new(Query::new(["pln"]))).contains("is it \"pnl\"?"));
    assert!(matches!(
        cube.drill_through(DrillThrough::new(Query::new(["pnl"]).memory_limit(10))).unwrap().wait(),
        Err(CubeError::OverMemory { limit: 10, .. })
    ));
}

/// A table of so many batches, or without an end, that writes down what happens to its streams.
#[derive(Clone)]
struct Watched {
    batches: usize,
    is_silent: bool,
    taken: Arc<AtomicUsize>,
    closed: Arc<Mutex<usize>>,
}

impl Watched {
    fn new(batches: usize, is_silent: bool) -> Self {
        Self { batches, is_silent, taken: Arc::default(), closed: Arc::default() }
    }
}

impl Table for Watched {
    fn name(&self) -> &str {
        "watched"
    }

    fn schema(&self) -> SchemaRef {
        trades().schema()
    }

    fn open(&self, _: &Stages, query: TableQuery) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        let positions: Vec<usize> =
            query.columns.iter().map(|column| self.schema().index_of(column).unwrap()).collect();
        let batch = trades().project(&positions).unwrap();
        let (taken, closed) = (Arc::clone(&self.taken), Arc::clone(&self.closed));
        let rows = stream::iter(0..self.batches).map(move |_| {
            taken.fetch_add(1, Ordering::Relaxed);
            Ok(batch.clone())
        });
        let rest = if self.is_silent { stream::pending().boxed() } else { stream::empty().boxed() };
        let opened = BatchStream::new(rows.chain(rest)).on_close(move || *closed.lock().unwrap() += 1);
        futures::future::ready(Ok(opened)).boxed()
    }
}

fn nothing_is_left(stages: &Stages) {
    let report = stages.shutdown(Shutdown::Drain).unwrap();
    assert!(report.left_behind.is_empty() && report.cut_short.is_empty(), "{report:?}");
}

#[test]
fn no_more_is_read_than_is_taken() {
    let (stages, table) = (Stages::start().unwrap(), Watched::new(1_000_000, false));
    let cube = cube_over(&stages, table.clone());
    let mut rows = cube.drill_through(DrillThrough::new(Query::new(["pnl"]))).unwrap();
    let taken = stages.mixed().spawn("take", async move {
        for _ in 0..3 {
            assert_eq!(rows.next().await.unwrap().unwrap().num_rows(), 6);
        }
        rows
    });
    drop(taken.unwrap().wait().unwrap());
    nothing_is_left(&stages);
    assert!(table.taken.load(Ordering::Relaxed) < 10);
    assert_eq!(*table.closed.lock().unwrap(), 1);
}

/// A table that fills the stage `cpu` when it is opened, with tasks that wait for a lock.
#[derive(Clone)]
struct Busy {
    gate: Arc<RwLock<()>>,
    started: Arc<AtomicUsize>,
    batch: RecordBatch,
}

impl Table for Busy {
    fn name(&self) -> &str {
        "busy"
    }

    fn schema(&self) -> SchemaRef {
        self.batch.schema()
    }

    fn open(&self, stages: &Stages, query: TableQuery) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        let (gate, started) = (Arc::clone(&self.gate), Arc::clone(&self.started));
        let wait = move || {
            started.fetch_add(1, Ordering::Relaxed);
            drop(gate.read().unwrap());
        };
        // It has no room for more while its only worker waits, and no sooner.
        loop {
            match stages.cpu().submit("wait", wait.clone()) {
                Ok(task) => task.detach(),
                Err(_) if self.started.load(Ordering::Relaxed) == 1 => break,
                Err(_) => std::thread::yield_now(),
            }
        }
        let positions = query.columns.iter().map(|column| self.batch.schema().index_of(column).unwrap());
        let batch = self.batch.project(&positions.collect::<Vec<_>>()).unwrap();
        let batches = vec![Ok(batch.slice(0, 3)), Ok(batch.slice(3, 3))];
        futures::future::ready(Ok(BatchStream::new(stream::iter(batches)))).boxed()
    }
}

/// It ended with `Overloaded`, though the table was open and rows were on their way.
#[test]
fn a_full_stage_does_not_end_it() {
    let stages = Stages::builder().threads(StageKind::Cpu, 1).set("cpu.capacity", 8).start().unwrap();
    let table = Busy { gate: Arc::default(), started: Arc::default(), batch: trades() };
    let cube = cube_over(&stages, table.clone());
    let closed = table.gate.write().unwrap();
    assert_eq!(
        behind(&cube, DrillThrough::new(Query::new(["pnl"]).by(["desk"])).cell("desk", "FX")),
        [1, 3, 4, 6]
    );
    drop(closed);
    nothing_is_left(&stages);
}

#[test]
fn a_limit_ends_the_pass_over_the_table() {
    let (stages, table) = (Stages::start().unwrap(), Watched::new(1_000_000, false));
    let cube = cube_over(&stages, table.clone());
    let through = |limit| DrillThrough::new(Query::new(["pnl"])).limit(limit);
    let rows = cube.drill_through(through(12)).unwrap().wait().unwrap();
    assert_eq!((rows.rows(), rows.has_more()), (12, true));
    assert_eq!((table.taken.load(Ordering::Relaxed), *table.closed.lock().unwrap()), (3, 1));
    let rows = cube.drill_through(through(0)).unwrap().wait().unwrap();
    assert_eq!((rows.rows(), rows.has_more(), rows.batch().num_columns()), (0, true, 6));
    let all = cube_over(&stages, Watched::new(2, false));
    let rows = all.drill_through(through(12)).unwrap().wait().unwrap();
    assert_eq!((rows.rows(), rows.has_more()), (12, false));
    nothing_is_left(&stages);
}

#[test]
fn a_silent_table_is_given_up_by_cancel_and_time_out() {
    let (stages, table) = (Stages::start().unwrap(), Watched::new(1, true));
    let cube = cube_over(&stages, table.clone());
    let limit = Duration::from_millis(20);
    let late = cube.drill_through(DrillThrough::new(Query::new(["pnl"]).timeout(limit))).unwrap();
    assert_eq!(late.wait().unwrap_err(), CubeError::TimedOut { limit });
    let rows = cube.drill_through(DrillThrough::new(Query::new(["pnl"]))).unwrap();
    rows.cancel();
    assert_eq!(rows.wait().unwrap_err(), CubeError::Cancelled);
    nothing_is_left(&stages);
    assert_eq!(*table.closed.lock().unwrap(), 2 - usize::from(table.taken.load(Ordering::Relaxed) == 1));
}

//! Queries that do not come to their end: typed errors, streams closed once, nothing left running.

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, SchemaRef};
use filbert_cube::aggregate::{Carriers, CustomAggregate, Values};
use filbert_cube::{
    Aggregation, Aggregator, BatchStream, Combination, Combinator, Cube, CubeError, Custom, CustomMeasure,
    Decomposition, Dispatchor, Forest, MemoryTable, Partitionor, Position, Query, Shift, Shiftor, Table,
    TableQuery,
};
use filbert_pool::{Shutdown, StageKind, Stages};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn batch(rows: usize) -> RecordBatch {
    let keys: Int64Array = (0..rows as i64).collect::<Vec<_>>().into();
    let texts = StringArray::from_iter_values((0..rows).map(|row| format!("t{}", row % 7)));
    RecordBatch::try_from_iter([
        ("key", Arc::new(keys) as _),
        ("text", Arc::new(texts) as _),
        ("value", Arc::new(Float64Array::from(vec![1.0; rows])) as _),
    ])
    .unwrap()
}

/// What a table does after its first batch.
#[derive(Clone, Copy)]
enum Then {
    Ends,
    Fails,
    Waits,
    Sleeps(Duration),
}

/// A table that gives one batch and then does something, and writes down what happens to its streams.
#[derive(Clone)]
struct Odd {
    then: Then,
    rows: usize,
    schema: SchemaRef,
    closed: Arc<Mutex<Vec<&'static str>>>,
    opened: Arc<AtomicUsize>,
}

impl Odd {
    fn new(then: Then) -> Self {
        let schema = batch(0).schema();
        Self { then, rows: 100, schema, closed: Arc::default(), opened: Arc::default() }
    }

    fn closed(&self) -> Vec<&'static str> {
        self.closed.lock().unwrap().clone()
    }
}

impl Table for Odd {
    fn name(&self) -> &str {
        "odd"
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn open(&self, stages: &Stages, query: TableQuery) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let positions: Vec<usize> =
            query.columns.iter().map(|column| self.schema.index_of(column).unwrap()).collect();
        let first = stream::iter([Ok(batch(self.rows).project(&positions).unwrap())]);
        let failed = CubeError::TableFailed { table: "odd".into(), message: "the disk is gone".into() };
        let rest = match self.then {
            Then::Ends => stream::empty().boxed(),
            Then::Fails => stream::iter([Err(failed)]).boxed(),
            Then::Waits => stream::pending().boxed(),
            Then::Sleeps(time) => {
                let (promise, slept) = stages.promise(StageKind::Mixed, "sleep");
                stages.clock().after(time, move || promise.keep(()));
                stream::once(slept).filter_map(|_| futures::future::ready(None)).boxed()
            }
        };
        let (outer, inner) = (Arc::clone(&self.closed), Arc::clone(&self.closed));
        let opened = BatchStream::new(first.chain(rest))
            .on_close(move || outer.lock().unwrap().push("connection"))
            .on_close(move || inner.lock().unwrap().push("statement"));
        futures::future::ready(Ok(opened)).boxed()
    }
}

struct Panics;

impl CustomMeasure for Panics {
    fn produce(&self, _position: &Position, _inputs: &[RecordBatch]) -> Result<RecordBatch, String> {
        panic!("no idea")
    }
}

fn forest() -> Forest {
    Forest::builder()
        .custom("panics", Panics)
        .function("panics", |_| panic!("in a cell"))
        .measure("sum", Aggregator::sum("value"))
        .measure("custom", Custom::new(&["sum"], "panics"))
        .measure("cell", Combinator::function(&["sum"], "panics"))
        .build()
        .unwrap()
}

/// All stages end in time: no thread is inside a task, and no query is left.
fn nothing_is_left(stages: &Stages) {
    let report = stages.shutdown(Shutdown::Drain).unwrap();
    assert!(report.left_behind.is_empty() && report.cut_short.is_empty(), "{report:?}");
}

fn failed(table: &Odd, query: Query) -> CubeError {
    let stages = Stages::start().unwrap();
    let cube = Cube::builder(&stages, forest(), table.clone()).build().unwrap();
    let error = cube.query(query).unwrap().wait().unwrap_err();
    nothing_is_left(&stages);
    error
}

#[test]
fn a_table_that_fails_midway_is_told_and_closed_once() {
    let table = Odd::new(Then::Fails);
    let error = failed(&table, Query::new(["sum"]).by(["text"]));
    assert_eq!(error, CubeError::TableFailed { table: "odd".into(), message: "the disk is gone".into() });
    assert_eq!(table.closed(), ["statement", "connection"]);
}

#[test]
fn a_stream_is_closed_once_when_all_is_well() {
    let (stages, table) = (Stages::start().unwrap(), Odd::new(Then::Ends));
    let cube = Cube::builder(&stages, forest(), table.clone()).build().unwrap();
    assert_eq!(cube.query(Query::new(["sum"]).by(["text"])).unwrap().wait().unwrap().rows(), 7);
    assert_eq!(table.closed(), ["statement", "connection"]);
    nothing_is_left(&stages);
}

#[test]
fn panics_name_their_measure() {
    for (measure, message) in [("custom", "no idea"), ("cell", "in a cell")] {
        let error = failed(&Odd::new(Then::Ends), Query::new([measure]));
        assert_eq!(error, CubeError::Panicked { measure: measure.into(), message: message.into() });
    }
}

#[test]
fn a_cancelled_query_ends_though_its_table_never_does() {
    let (stages, table) = (Stages::start().unwrap(), Odd::new(Then::Waits));
    let cube = Cube::builder(&stages, forest(), table.clone()).build().unwrap();
    let query = cube.query(Query::new(["sum"])).unwrap();
    while table.opened.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    query.cancel();
    assert_eq!(query.wait().unwrap_err(), CubeError::Cancelled);
    assert_eq!(table.closed(), ["statement", "connection"]);
    nothing_is_left(&stages);
}

#[test]
fn a_dropped_handle_cancels_its_query() {
    let (stages, table) = (Stages::start().unwrap(), Odd::new(Then::Waits));
    let cube = Cube::builder(&stages, forest(), table.clone()).build().unwrap();
    let query = cube.query(Query::new(["sum"])).unwrap();
    while table.opened.load(Ordering::Relaxed) == 0 {
        std::thread::yield_now();
    }
    drop(query);
    // Waits for the query, which is engaged until it is over.
    nothing_is_left(&stages);
    assert_eq!(table.closed(), ["statement", "connection"]);
}

#[test]
fn a_time_out_is_told() {
    let table = Odd::new(Then::Waits);
    let limit = Duration::from_millis(20);
    assert_eq!(failed(&table, Query::new(["sum"]).timeout(limit)), CubeError::TimedOut { limit });
    assert_eq!(table.closed(), ["statement", "connection"]);
}

/// It waited for the next rows of the table, which might never come.
#[test]
fn rows_that_cannot_be_grouped_end_the_query_though_the_table_sends_no_more() {
    let table = Odd { rows: 300_000, ..Odd::new(Then::Waits) };
    let error = failed(&table, Query::new(["sum"]).by(["key", "text"]).memory_limit(100_000));
    assert!(matches!(error, CubeError::OverMemory { limit: 100_000, .. }), "{error:?}");
    assert_eq!(table.closed(), ["statement", "connection"]);
}

#[test]
fn a_query_over_its_memory_is_refused_and_gives_back_all() {
    let stages = Stages::start().unwrap();
    let table = MemoryTable::new("t", batch(0).schema(), vec![batch(50_000)]).unwrap();
    let cube = Cube::builder(&stages, forest(), table).build().unwrap();
    let query = Query::new(["sum"]).by(["key", "text"]);
    let error = cube.query(query.clone().memory_limit(100_000)).unwrap().wait().unwrap_err();
    assert!(matches!(error, CubeError::OverMemory { limit: 100_000, .. }), "{error:?}");
    assert_eq!(cube.query(query).unwrap().wait().unwrap().rows(), 50_000);
    nothing_is_left(&stages);
}

#[test]
fn cells_that_a_dispatch_makes_are_counted_before_they_are_there() {
    let (stages, rows, sets) = (Stages::start().unwrap(), 100_i64, 5_000_i64);
    let pairs = (0..rows).flat_map(|row| (0..sets).map(move |set| (row.into(), set.into())));
    let spread = Dispatchor::new("sum", "key", "set", Decomposition::Pairs(pairs.collect()));
    let forest = Forest::builder().measure("sum", Aggregator::sum("value")).measure("spread", spread);
    let table = MemoryTable::new("t", batch(0).schema(), vec![batch(rows as usize)]).unwrap();
    let cube = Cube::builder(&stages, forest.build().unwrap(), table).build().unwrap();
    let query = Query::new(["spread"]).by(["set"]);
    // Five thousand groups of half a million cells.
    let error = cube.query(query.clone().memory_limit(4 << 20)).unwrap().wait().unwrap_err();
    assert!(matches!(error, CubeError::OverMemory { .. }), "{error:?}");
    assert_eq!(cube.query(query).unwrap().wait().unwrap().rows(), sets as usize);
    nothing_is_left(&stages);
}

#[test]
fn partitions_cost_nothing_while_they_are_empty() {
    let stages = Stages::start().unwrap();
    let table = MemoryTable::new("t", batch(0).schema(), vec![batch(100)]).unwrap();
    let cube = Cube::builder(&stages, forest(), table).build().unwrap();
    let query = Query::new(["sum"]).by(["key", "text"]).partitions(32).explain();
    let result = cube.query(query).unwrap().wait().unwrap();
    let peak = result.explanation().unwrap().peak_bytes();
    assert!(result.rows() == 100 && peak > 0 && peak < 1 << 20, "{peak} bytes");
}

/// Few groups lie in one array, of which each partition has a part: it was counted once for each.
#[test]
fn many_partitions_of_few_groups_fit_comfortably() {
    let stages = Stages::start().unwrap();
    let table = MemoryTable::new("t", batch(0).schema(), vec![batch(16_000)]).unwrap();
    let cube = Cube::builder(&stages, forest(), table).build().unwrap();
    let query = Query::new(["sum"]).by(["key", "text"]).partitions(4_096).memory_limit(16 << 20);
    assert_eq!(cube.query(query).unwrap().wait().unwrap().rows(), 16_000);
    nothing_is_left(&stages);
}

#[test]
fn a_closed_stream_says_so() {
    let stages = Stages::start().unwrap();
    let mut stream = BatchStream::of_batches(vec![batch(1)]);
    let read = stages.mixed().spawn("read", async move {
        let first = stream.next().await;
        stream.close();
        (first, stream.next().await)
    });
    let (first, second) = read.unwrap().wait().unwrap();
    assert_eq!(first.unwrap().unwrap().num_rows(), 1);
    assert!(matches!(second, Some(Err(CubeError::Closed { .. }))));
}

#[test]
fn batches_of_a_blocking_iterator_come_in_order_and_its_panic_is_told() {
    let stages = Stages::start().unwrap();
    let mut stream = BatchStream::blocking(
        &stages,
        (1..3).map(|rows| Ok(batch(rows))).chain(std::iter::from_fn(|| panic!("no disk"))),
    );
    let read = stages
        .mixed()
        .spawn("read", async move { [stream.next().await, stream.next().await, stream.next().await] });
    let [first, second, third] = read.unwrap().wait().unwrap();
    assert_eq!((first.unwrap().unwrap().num_rows(), second.unwrap().unwrap().num_rows()), (1, 2));
    assert_eq!(third, Some(Err(CubeError::Panicked { measure: "table".into(), message: "no disk".into() })));
}

#[test]
fn shutdown_refuses_new_queries_and_waits_for_old_ones() {
    let (stages, table) = (Stages::start().unwrap(), Odd::new(Then::Sleeps(Duration::from_millis(20))));
    let cube = Cube::builder(&stages, forest(), table).build().unwrap();
    let query = cube.query(Query::new(["sum"])).unwrap();
    nothing_is_left(&stages);
    assert_eq!(query.wait().unwrap().rows(), 1);
    assert!(cube.query(Query::new(["sum"])).is_err());
}

/// An aggregation that fails on its first row, or panics.
#[derive(Debug)]
struct Refuses {
    panics: bool,
}

impl CustomAggregate for Refuses {
    fn carriers(&self, _input: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
        Ok(Box::new(Self { panics: self.panics }))
    }
}

impl Carriers for Refuses {
    fn grow(&mut self, _groups: usize) {}

    fn add(&mut self, _groups: &[u32], _values: &Values<'_>) -> Result<(), CubeError> {
        assert!(!self.panics, "no such row");
        Err(CubeError::Computation { place: "refuses".into(), message: "not this one".into() })
    }

    fn merge(&mut self, _groups: &[u32], _from: &dyn Carriers, _rows: &[u32]) -> Result<(), CubeError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        Err(CubeError::Computation { place: "refuses".into(), message: "nothing".into() })
    }

    fn bytes(&self) -> usize {
        0
    }
}

/// A leaf that failed ended the whole query, though errors were to be values.
#[test]
fn an_aggregator_that_fails_is_a_value_of_what_stands_on_it_only() {
    let stages = Stages::start().unwrap();
    let rows = 20_000_i64;
    let batch = RecordBatch::try_from_iter([
        ("key", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row % 5_000))) as ArrayRef),
        ("text", Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("t{}", row % 3))))),
        ("large", Arc::new(Int64Array::from(vec![i64::MAX / 2; rows as usize]))),
    ])
    .unwrap();
    let table = MemoryTable::new("t", batch.schema(), vec![batch]).unwrap();
    let forest = Forest::builder()
        .aggregation("refuses", Refuses { panics: false })
        .aggregation("panics", Refuses { panics: true })
        .measure("overflows", Aggregator::sum("large"))
        .measure("of it", Combinator::sum(&["overflows", "count"]))
        .measure("refused", Aggregator::new("large", Aggregation::Custom("refuses".into())))
        .measure("panicked", Aggregator::new("large", Aggregation::Custom("panics".into())))
        .measure("no number", Aggregator::sum("text"))
        .measure("largest", Aggregator::new("large", Aggregation::Max))
        .measure("count", Aggregator::count())
        .build()
        .unwrap();
    let cube = Cube::builder(&stages, forest, table).build().unwrap();
    let bad = ["overflows", "of it", "refused", "panicked", "no number"];
    let names = [&bad[..], &["largest", "count"]].concat();
    for by in [&["text"][..], &["key"], &[]] {
        for parallelism in [1, 2] {
            let asked = Query::new(names.clone()).by(by.to_vec()).parallelism(parallelism);
            let answer = cube.query(asked.clone().errors_are_values()).unwrap().wait().unwrap();
            let failed: Vec<&str> = answer.failures().iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(failed, bad, "by {by:?}");
            let told: Vec<String> = answer.failures().iter().map(|(_, error)| error.to_string()).collect();
            assert!(told[0].starts_with("measure \"overflows\": Sum(large): sum: a total"), "{told:?}");
            assert!(told[2].contains("not this one") && told[2].contains("refuses"), "{told:?}");
            let panicked = "measure \"panicked\" panicked: Custom(\"panics\")(large): no such row";
            assert_eq!(told[3], panicked);
            assert!(told[4].contains("is no number"), "{told:?}");
            let good = cube.query(Query::new(["largest", "count"]).by(by.to_vec()).no_cache());
            let good = good.unwrap().wait().unwrap();
            assert_eq!(answer.batch().columns()[by.len() + 5..], good.batch().columns()[by.len()..]);
            assert!(cube.query(asked).unwrap().wait().is_err());
            // Alone, and not as values, they are told in the same words.
            for (name, told) in bad.iter().zip(&told) {
                let alone = Query::new([*name]).by(by.to_vec()).parallelism(parallelism);
                assert_eq!(cube.query(alone).unwrap().wait().unwrap_err().to_string(), *told);
            }
            let explained =
                Query::new(["of it", "count"]).by(by.to_vec()).errors_are_values().explain().no_cache();
            let explained = cube.query(explained).unwrap().wait().unwrap();
            let explanation = explained.explanation().unwrap().to_string();
            assert_eq!(
                explanation.matches(": failed: measure \"overflows\": Sum(large): ").count(),
                2,
                "{explanation}"
            );
        }
    }
    let asked = Query::new(names).by(["key"]).errors_are_values().no_cache().memory_limit(10_000);
    let error = cube.query(asked).unwrap().wait().unwrap_err();
    assert!(matches!(error, CubeError::OverMemory { .. }), "{error}");
    nothing_is_left(&stages);
}

/// Reads what it is told to, or panics when it is asked.
struct PanicsInPlan;

impl CustomMeasure for PanicsInPlan {
    fn reads(&self, _underlying: &str, _position: &Position) -> Position {
        panic!("not a position")
    }

    fn produce(&self, _position: &Position, inputs: &[RecordBatch]) -> Result<RecordBatch, String> {
        Ok(inputs[0].clone())
    }
}

/// They were told as those of a measure "plan".
#[test]
fn what_failed_measures_say_is_cut_when_it_is_long() {
    let (stages, trades) = (Stages::start().unwrap(), batch(2));
    let table = MemoryTable::new("trades", trades.schema(), vec![trades]).unwrap();
    let forest = Forest::builder()
        .function("fails", |_| Err("x".repeat(1_000_000)))
        .measure("sum", Aggregator::sum("value"))
        .measure("fails", Combinator::function(&["sum"], "fails"))
        .measure("above", Combinator::sum(&["fails", "sum"]));
    let cube = Cube::builder(&stages, forest.build().unwrap(), table).build().unwrap();
    let result = cube.query(Query::new(["sum", "above"]).by(["key"]).errors_are_values());
    let csv = result.unwrap().wait().unwrap().to_csv().unwrap();
    assert!(csv.contains("x... (998040 characters more)") && csv.len() < 5_000, "{} bytes", csv.len());
    // Where an error is the end, it is told as it is.
    let error = cube.query(Query::new(["above"]).by(["key"])).unwrap().wait().unwrap_err();
    assert!(error.to_string().len() > 1_000_000);
    nothing_is_left(&stages);
}

#[test]
fn panics_while_planning_name_their_measure() {
    let stages = Stages::start().unwrap();
    let table = MemoryTable::new("t", batch(0).schema(), vec![batch(10)]).unwrap();
    let forest = Forest::builder()
        .custom("panics", PanicsInPlan)
        .shift_function("panics", |_| panic!("not a coordinate"))
        .measure("sum", Aggregator::sum("value"))
        .measure("custom", Custom::new(&["sum"], "panics"))
        .measure("shifted", Shiftor::new("sum", "text", Shift::Function("panics".into())))
        .measure("above", Combinator::sum(&["shifted", "sum"]));
    let cube = Cube::builder(&stages, forest.build().unwrap(), table).build().unwrap();
    for (asked, measure, message) in [
        ("custom", "custom", "not a position"),
        ("shifted", "shifted", "not a coordinate"),
        ("above", "shifted", "not a coordinate"),
    ] {
        let query = Query::new([asked]).filter("text = 't1'".parse().unwrap());
        let error = cube.query(query).unwrap().wait().unwrap_err();
        assert_eq!(error, CubeError::Panicked { measure: measure.into(), message: message.into() });
    }
    nothing_is_left(&stages);
}

/// Columns behind the 63rd shared a null, so that slices which differ were one.
#[test]
fn more_columns_than_slices_can_have_are_refused() {
    let stages = Stages::start().unwrap();
    let columns: Vec<String> = (0..64).map(|column| format!("c{column}")).collect();
    let values = |column: usize| Arc::new(Int64Array::from(vec![Some(column as i64), None])) as ArrayRef;
    let named = columns.iter().enumerate().map(|(number, name)| (name.as_str(), values(number), true));
    let batch = RecordBatch::try_from_iter_with_nullable(named).unwrap();
    let table = MemoryTable::new("t", batch.schema(), vec![batch]).unwrap();
    let best = |by: &[String]| {
        let by: Vec<&str> = by.iter().map(String::as_str).collect();
        Partitionor::new(&["count"], &by, Combination::Sum, Aggregation::Max)
    };
    let forest = Forest::builder()
        .measure("count", Aggregator::count())
        .measure("most", best(&columns[..60]))
        .measure("more", best(&columns[..61]));
    let cube = Cube::builder(&stages, forest.build().unwrap(), table).build().unwrap();
    assert_eq!(cube.query(Query::new(["most"])).unwrap().wait().unwrap().rows(), 1);
    assert_eq!(cube.query(Query::new(["most"]).by(["c0"])).unwrap().wait().unwrap().rows(), 2);
    for query in [Query::new(["more"]), Query::new(["most"]).by(["c60"])] {
        let error = cube.query(query).unwrap().wait().unwrap_err();
        assert!(error.to_string().contains("computed by 61 columns"), "{error}");
    }
    nothing_is_left(&stages);
}

//! What is kept of tables that tell no version: for how long, when it is read anew, and that an answer is of one reading.

use arrow::array::{Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::SchemaRef;
use filbert_cube::{
    Aggregation, Aggregator, BatchStream, Combination, Combinator, Composite, Cube, CubeBuilder, CubeError,
    CubeResult, Filter, Filtrator, Forest, GroupQuery, MemoryTable, Partitionor, Query, Table, TableGroups,
    TableQuery,
};
use filbert_pool::{Shutdown, Stages, simulate};
use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const EXPIRE: Duration = Duration::from_secs(60);
const REFRESH: Duration = Duration::from_secs(10);

/// How long a condition may take to come true on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// What a table does when it is opened.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Does {
    GivesRows,
    IsNotThere,
    FailsMidway,
    Panics,
}

/// A table that tells no version and has other rows whenever it is opened: those of the n-th time say `r<n>`, and `a` and `b` are n.
#[derive(Clone)]
struct Changing {
    rows: usize,
    does: Arc<Mutex<Does>>,
    held: Arc<Mutex<Option<oneshot::Receiver<()>>>>,
    opened: Arc<AtomicUsize>,
    closed: Arc<AtomicUsize>,
}

impl Changing {
    fn new(rows: usize) -> Self {
        Self {
            rows,
            does: Arc::new(Mutex::new(Does::GivesRows)),
            held: Arc::default(),
            opened: Arc::default(),
            closed: Arc::default(),
        }
    }

    fn now_does(&self, does: Does) {
        *self.does.lock().unwrap() = does;
    }

    /// Whoever opens it next waits for its rows until this is sent or dropped.
    fn hold_next(&self) -> oneshot::Sender<()> {
        let (release, held) = oneshot::channel();
        *self.held.lock().unwrap() = Some(held);
        release
    }

    fn opened(&self) -> usize {
        self.opened.load(Ordering::SeqCst)
    }

    fn closed(&self) -> usize {
        self.closed.load(Ordering::SeqCst)
    }

    fn batch(rows: usize, time: usize) -> RecordBatch {
        let values = Float64Array::from(vec![time as f64; rows]);
        RecordBatch::try_from_iter([
            ("reading", Arc::new(StringArray::from(vec![format!("r{time}"); rows])) as _),
            ("desk", Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("d{row}")))) as _),
            ("key", Arc::new(Int64Array::from_iter_values(0..rows as i64)) as _),
            ("a", Arc::new(values.clone()) as _),
            ("b", Arc::new(values) as _),
        ])
        .unwrap()
    }
}

impl Table for Changing {
    fn name(&self) -> &str {
        "changing"
    }

    fn schema(&self) -> SchemaRef {
        Self::batch(0, 0).schema()
    }

    fn open(
        &self,
        _stages: &Stages,
        query: TableQuery,
    ) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        let time = self.opened.fetch_add(1, Ordering::SeqCst) + 1;
        let does = *self.does.lock().unwrap();
        let failed = || CubeError::TableFailed { table: "changing".into(), message: "no connection".into() };
        if does == Does::IsNotThere {
            return futures::future::ready(Err(failed())).boxed();
        }
        let schema = self.schema();
        let positions: Vec<usize> =
            query.columns.iter().map(|column| schema.index_of(column).unwrap()).collect();
        let rows = Self::batch(self.rows, time).project(&positions).unwrap();
        let held = self.held.lock().unwrap().take();
        let batches = async move {
            if let Some(held) = held {
                let _released = held.await;
            }
            stream::iter([Ok(rows)]).chain(stream::iter((0..1).filter_map(move |_| match does {
                Does::FailsMidway => Some(Err(failed())),
                Does::Panics => panic!("the driver has a bug"),
                _ => None,
            })))
        };
        let closed = Arc::clone(&self.closed);
        let opened = BatchStream::new(batches.flatten_stream())
            .on_close(move || _ = closed.fetch_add(1, Ordering::SeqCst));
        futures::future::ready(Ok(opened)).boxed()
    }

    /// Adds up `a` by reading, and makes no other groups.
    fn open_groups(
        &self,
        _stages: &Stages,
        query: &GroupQuery,
    ) -> Option<BoxFuture<'static, Result<BatchStream, CubeError>>> {
        if query.keys() != ["reading"] || query.aggregates.len() != 1 {
            return None;
        }
        let time = self.opened.fetch_add(1, Ordering::SeqCst) + 1;
        let groups = RecordBatch::try_from_iter([
            ("level", Arc::new(Int64Array::from(vec![0])) as _),
            ("k0", Arc::new(StringArray::from(vec![format!("r{time}")])) as _),
            ("a0", Arc::new(Float64Array::from(vec![(time * self.rows) as f64])) as _),
        ]);
        Some(futures::future::ready(Ok(BatchStream::of_batches(vec![groups.unwrap()]))).boxed())
    }
}

/// `a` and `b` are the same, of different columns, levels and aggregations; `both` is twice as much.
fn forest() -> Forest {
    let by_desk = Partitionor::new(&["greatest b"], &["desk"], Combination::Sum, Aggregation::Sum);
    Forest::builder()
        .measure("a", Aggregator::sum("a"))
        .measure("greatest b", Aggregator::new("b", Aggregation::Max))
        .measure("b", by_desk)
        .measure("both", Combinator::sum(&["a", "b"]))
        .build()
        .unwrap()
}

fn cube(stages: &Stages, table: &Changing, settings: impl Fn(CubeBuilder) -> CubeBuilder) -> Cube {
    settings(Cube::builder(stages, forest(), table.clone())).build().unwrap()
}

fn refreshing(builder: CubeBuilder) -> CubeBuilder {
    builder.expire_after(EXPIRE).refresh_after(REFRESH)
}

fn ask(cube: &Cube, query: &Query) -> Result<CubeResult, CubeError> {
    cube.query(query.clone()).unwrap().wait()
}

/// The reading that an answer is of.
fn reading(cube: &Cube, query: &Query) -> String {
    let csv = ask(cube, query).unwrap().to_csv().unwrap();
    csv.lines().nth(1).unwrap().split(',').next().unwrap().to_owned()
}

fn a_by_reading() -> Query {
    Query::new(["a"]).by(["reading"])
}

fn pass(stages: &Stages, time: Duration) {
    stages.simulation().unwrap().advance(time);
}

/// A refresh comes to its end, and then time passes.
fn rest(stages: &Stages, time: Duration) {
    pass(stages, Duration::ZERO);
    pass(stages, time);
}

fn until(stages: &Stages, what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = stages.clock().now() + DEADLINE;
    while !is_so() {
        assert!(stages.clock().now() < deadline, "not within {DEADLINE:?}: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn what_was_read_is_used_until_it_expires() {
    let (stages, table) = (Stages::simulated(1), Changing::new(2));
    let cube = cube(&stages, &table, |builder| builder.expire_after(EXPIRE));
    assert_eq!(reading(&cube, &a_by_reading()), "r1");
    pass(&stages, EXPIRE - Duration::from_secs(1));
    let again = ask(&cube, &a_by_reading().explain()).unwrap();
    assert_eq!(again.to_csv().unwrap(), "reading,a\nr1,2.0\n");
    let how = again.explanation().unwrap().to_string();
    assert!(how.contains("0 batches") && how.contains("from the cache, read 59000 ms ago"), "{how}");
    assert_eq!(table.opened(), 1);
    // Neither reads nor fills.
    assert_eq!(reading(&cube, &a_by_reading().no_cache()), "r2");
    assert_eq!((reading(&cube, &a_by_reading()).as_str(), table.opened()), ("r1", 2));
    pass(&stages, Duration::from_secs(1));
    assert_eq!((reading(&cube, &a_by_reading()).as_str(), table.opened()), ("r3", 3));
    assert_eq!((reading(&cube, &a_by_reading()).as_str(), table.opened()), ("r3", 3));
}

#[test]
fn without_an_age_nothing_is_kept() {
    let (stages, table) = (Stages::simulated(1), Changing::new(2));
    let cube = cube(&stages, &table, |builder| builder);
    assert_eq!(reading(&cube, &a_by_reading()), "r1");
    assert_eq!(reading(&cube, &a_by_reading()), "r2");
    assert_eq!(cube.cached(), 0);
}

#[test]
fn queries_at_once_have_old_leaves_read_anew_once() {
    simulate::seeds("queries_at_once_have_old_leaves_read_anew_once", 0..20, |seed| {
        let (stages, table) = (Stages::simulated(seed), Changing::new(2));
        let cube = cube(&stages, &table, refreshing);
        let query = Query::new(["both"]).by(["reading"]);
        assert_eq!(reading(&cube, &query), "r1");
        pass(&stages, REFRESH);
        let release = table.hold_next();
        let asked: Vec<_> = (0..200).map(|_| cube.query(query.clone()).unwrap()).collect();
        for asked in asked {
            assert_eq!(asked.wait().unwrap().to_csv().unwrap(), "reading,both\nr1,4.0\n");
        }
        assert_eq!(table.opened(), 2);
        drop(release);
        pass(&stages, Duration::ZERO);
        assert_eq!((reading(&cube, &query).as_str(), table.opened()), ("r2", 2));
        pass(&stages, Duration::from_secs(1));
        assert_eq!((table.opened(), table.closed()), (2, 2));
    });
}

#[test]
fn on_real_stages_old_leaves_are_read_anew_once_too() {
    let (stages, table) = (Stages::start().unwrap(), Changing::new(2));
    let soon = Duration::from_millis(1);
    let cube = cube(&stages, &table, |builder| builder.expire_after(DEADLINE * 60).refresh_after(soon));
    let query = Query::new(["both"]).by(["reading"]);
    assert_eq!(reading(&cube, &query), "r1");
    let old = stages.clock().now() + soon;
    until(&stages, "the leaves are old", || stages.clock().now() >= old);
    let release = table.hold_next();
    let asked: Vec<_> = (0..200).map(|_| cube.query(query.clone()).unwrap()).collect();
    for asked in asked {
        assert_eq!(asked.wait().unwrap().to_csv().unwrap(), "reading,both\nr1,4.0\n");
    }
    until(&stages, "a refresh", || table.opened() > 1);
    assert_eq!(table.opened(), 2);
    drop(release);
    until(&stages, "new leaves", || reading(&cube, &query) != "r1");
}

/// A cube whose leaves are old, over a table that does this from now on.
fn old_over(does: Does) -> (Stages, Changing, Cube) {
    let (stages, table) = (Stages::simulated(1), Changing::new(2));
    let cube = cube(&stages, &table, refreshing);
    assert_eq!(reading(&cube, &a_by_reading()), "r1");
    table.now_does(does);
    pass(&stages, REFRESH);
    (stages, table, cube)
}

#[test]
fn a_refresh_that_fails_keeps_the_old_until_they_expire() {
    for does in [Does::IsNotThere, Does::FailsMidway, Does::Panics] {
        let (stages, table, cube) = old_over(does);
        // A query that finds them old has it tried again, after a rest.
        for (opened, seconds) in [(2, 1), (3, 2), (4, 4)] {
            assert_eq!(reading(&cube, &a_by_reading()), "r1", "{does:?}");
            rest(&stages, Duration::from_secs(seconds));
            assert_eq!(table.opened(), opened, "{does:?}");
        }
        pass(&stages, EXPIRE - REFRESH - Duration::from_secs(7));
        let error = ask(&cube, &a_by_reading()).unwrap_err();
        match does {
            Does::Panics => assert!(matches!(error, CubeError::Panicked { .. }), "{error:?}"),
            _ => assert!(matches!(error, CubeError::TableFailed { .. }), "{error:?}"),
        }
        table.now_does(Does::GivesRows);
        assert_eq!(reading(&cube, &a_by_reading()), "r6");
        let expected = if does == Does::IsNotThere { 2 } else { 6 };
        assert_eq!(table.closed(), expected, "each stream is closed once");
    }
}

/// Every query that came after a failure began another refresh.
#[test]
fn queries_do_not_ask_a_table_that_failed_again_and_again() {
    for does in [Does::IsNotThere, Does::FailsMidway, Does::Panics] {
        let (stages, table, cube) = old_over(does);
        for _ in 0..400 {
            assert_eq!(reading(&cube, &a_by_reading()), "r1", "{does:?}");
            pass(&stages, Duration::from_millis(100));
        }
        // In 40 seconds: the first, and those after rests of 1, 2, 4, 8 and 16.
        assert_eq!(table.opened(), 1 + 6, "{does:?}");
    }
}

#[test]
fn what_was_read_anew_does_not_rest() {
    let (stages, table) = (Stages::simulated(1), Changing::new(2));
    let cube = cube(&stages, &table, refreshing);
    let second = Duration::from_secs(1);
    assert_eq!(reading(&cube, &a_by_reading()), "r1");
    table.now_does(Does::FailsMidway);
    pass(&stages, EXPIRE - 3 * second);
    for opened in [2, 3] {
        assert_eq!(reading(&cube, &a_by_reading()), "r1");
        rest(&stages, second);
        assert_eq!(table.opened(), opened);
    }
    // The second rest would last two seconds: it ends with the leaves, which a query reads.
    table.now_does(Does::GivesRows);
    pass(&stages, second);
    assert_eq!(reading(&cube, &a_by_reading()), "r4");
    table.now_does(Does::FailsMidway);
    pass(&stages, REFRESH);
    assert_eq!(reading(&cube, &a_by_reading()), "r4");
    rest(&stages, second);
    assert_eq!(table.opened(), 5);
    // And the next rest is a short one again.
    table.now_does(Does::GivesRows);
    assert_eq!(reading(&cube, &a_by_reading()), "r4");
    pass(&stages, Duration::ZERO);
    assert_eq!((reading(&cube, &a_by_reading()).as_str(), table.opened()), ("r6", 6));
}

#[test]
fn a_refresh_holds_no_more_than_the_cube_allows() {
    let (stages, table) = (Stages::simulated(1), Changing::new(20_000));
    let cube = cube(&stages, &table, |builder| refreshing(builder).memory_limit(100_000));
    let query = Query::new(["a"]).by(["reading", "key"]);
    let generous = query.clone().memory_limit(1 << 30);
    assert!(matches!(ask(&cube, &query), Err(CubeError::OverMemory { limit: 100_000, .. })));
    assert_eq!(reading(&cube, &generous), "r2");
    pass(&stages, REFRESH);
    for opened in [3, 4] {
        assert_eq!(reading(&cube, &generous), "r2");
        rest(&stages, Duration::from_secs(1));
        assert_eq!(table.opened(), opened);
    }
}

#[test]
fn a_refresh_that_outlasts_its_leaves_is_given_up() {
    let (stages, table) = (Stages::simulated(1), Changing::new(2));
    let cube = cube(&stages, &table, refreshing);
    assert_eq!(reading(&cube, &a_by_reading()), "r1");
    pass(&stages, REFRESH);
    let release = table.hold_next();
    assert_eq!(reading(&cube, &a_by_reading()), "r1");
    pass(&stages, EXPIRE - Duration::from_secs(1));
    assert_eq!((table.opened(), table.closed()), (2, 1));
    pass(&stages, Duration::from_secs(2));
    assert_eq!((table.opened(), table.closed()), (2, 2));
    // The next has another try.
    assert_eq!(reading(&cube, &a_by_reading()), "r3");
    pass(&stages, REFRESH);
    assert_eq!(reading(&cube, &a_by_reading()), "r3");
    pass(&stages, Duration::ZERO);
    assert_eq!(reading(&cube, &a_by_reading()), "r4");
    drop(release);
}

#[test]
fn leaves_of_different_readings_are_not_used_together() {
    let (stages, table) = (Stages::simulated(1), Changing::new(2));
    let cube = cube(&stages, &table, refreshing);
    let csv =
        |measures: &[&str]| ask(&cube, &Query::new(measures.iter().copied())).unwrap().to_csv().unwrap();
    assert_eq!(csv(&["a"]), "a\n2.0\n");
    assert_eq!(csv(&["b"]), "b\n4.0\n");
    assert_eq!(csv(&["both"]), "both\n12.0\n");
    assert_eq!(table.opened(), 3);
    // And all of the last one are there.
    assert_eq!(
        (csv(&["a"]), csv(&["b"]), csv(&["both"])),
        ("a\n6.0\n".into(), "b\n6.0\n".into(), "both\n12.0\n".into())
    );
    assert_eq!(table.opened(), 3);
}

#[test]
fn an_older_reading_does_not_replace_a_newer_one() {
    let (stages, table) = (Stages::simulated(1), Changing::new(2));
    let cube = cube(&stages, &table, refreshing);
    let release = table.hold_next();
    let slow = cube.query(a_by_reading()).unwrap();
    pass(&stages, Duration::from_secs(1));
    assert_eq!((reading(&cube, &a_by_reading()).as_str(), table.opened()), ("r2", 2));
    drop(release);
    assert_eq!(slow.wait().unwrap().to_csv().unwrap(), "reading,a\nr1,2.0\n");
    pass(&stages, Duration::ZERO);
    assert_eq!((reading(&cube, &a_by_reading()).as_str(), table.opened()), ("r2", 2));
}

#[test]
fn every_answer_is_of_one_reading() {
    let (stages, table) = (Stages::start().unwrap(), Changing::new(2));
    let ages = |builder: CubeBuilder| builder.expire_after(DEADLINE * 60).refresh_after(Duration::ZERO);
    let cube = cube(&stages, &table, ages);
    let all = Query::new(["a", "b", "both"]);
    // All leaves are there from now on, of one reading or another.
    ask(&cube, &all).unwrap();
    let one_of = ["a", "b"].map(|measure| Query::new([measure]).explain());
    for _ in 0..50 {
        // They compute side by side, on the stages.
        let asked: Vec<_> = one_of.iter().chain([&all, &all]).cycle().take(24).collect();
        let asked: Vec<_> = asked.into_iter().map(|query| cube.query(query.clone()).unwrap()).collect();
        for asked in asked {
            let answer = asked.wait().unwrap();
            if let Some(how) = answer.explanation() {
                assert!(how.to_string().contains("from the cache, read "), "{how}");
                continue;
            }
            let csv = answer.to_csv().unwrap();
            let cells: Vec<f64> =
                csv.lines().nth(1).unwrap().split(',').map(|cell| cell.parse().unwrap()).collect();
            assert!(cells[0] == cells[1] && cells[2] == 2.0 * cells[0], "{cells:?}");
        }
    }
    assert!(table.opened() > 2, "they were read anew meanwhile");
}

/// A query between two leaves of a refresh would read the table, and have the next ones do so as well.
#[test]
fn leaves_of_a_reading_come_all_together() {
    let (stages, table) = (Stages::start().unwrap(), Changing::new(2));
    let mut forest = Forest::builder();
    let mut names = Vec::new();
    for column in ["a", "b", "key"] {
        for aggregation in [Aggregation::Sum, Aggregation::Count, Aggregation::Min, Aggregation::Max] {
            let name = format!("{aggregation:?} {column}");
            forest = forest.measure(&name, Aggregator::new(column, aggregation));
            names.push(name);
        }
    }
    let builder = Cube::builder(&stages, forest.build().unwrap(), table.clone());
    let cube = builder.expire_after(DEADLINE * 60).refresh_after(Duration::ZERO).build().unwrap();
    let query = Query::new(names).explain();
    ask(&cube, &query).unwrap();
    for _ in 0..100 {
        let asked: Vec<_> = (0..12).map(|_| cube.query(query.clone()).unwrap()).collect();
        for asked in asked {
            let how = asked.wait().unwrap().explanation().unwrap().to_string();
            assert!(how.contains("0 batches"), "{how}");
        }
    }
    assert!(table.opened() > 2, "they were read anew meanwhile");
}

#[test]
fn ages_that_contradict_each_other_are_refused() {
    let stages = Stages::simulated(1);
    let refused = |settings: fn(CubeBuilder) -> CubeBuilder| {
        let builder = Cube::builder(&stages, forest(), Changing::new(2));
        match settings(builder).build() {
            Err(CubeError::InvalidSettings { problem }) => problem,
            other => panic!("{other:?}"),
        }
    };
    let alone = refused(|builder| builder.refresh_after(REFRESH));
    assert!(alone.contains("without expire_after"), "{alone}");
    let equal = refused(|builder| builder.refresh_after(EXPIRE).expire_after(EXPIRE));
    assert!(equal.contains("60s, which must be less than expire_after, 60s"), "{equal}");
    refused(|builder| builder.expire_after(REFRESH).refresh_after(EXPIRE));
}

#[test]
fn a_refresh_of_a_table_that_never_answers_holds_up_no_shutdown() {
    for how in [Shutdown::Drain, Shutdown::Cancel] {
        let (stages, table) = (Stages::start().unwrap(), Changing::new(2));
        let ages = |builder: CubeBuilder| builder.expire_after(DEADLINE * 60).refresh_after(Duration::ZERO);
        let cube = cube(&stages, &table, ages);
        assert_eq!(reading(&cube, &a_by_reading()), "r1");
        let never = table.hold_next();
        assert_eq!(reading(&cube, &a_by_reading()), "r1");
        until(&stages, "a refresh", || table.opened() == 2);
        let report = stages.shutdown(how).unwrap();
        assert!(report.left_behind.is_empty() && report.cut_short.is_empty(), "{report:?}");
        until(&stages, "both streams are closed", || table.closed() == 2);
        drop(never);
        assert_eq!((table.opened(), table.closed()), (2, 2));
    }
}

#[test]
fn a_table_with_a_version_is_never_served_old() {
    let stages = Stages::simulated(1);
    let batch = Changing::batch(2, 1);
    let table = MemoryTable::new("told", batch.schema(), vec![batch]).unwrap();
    let cube = refreshing(Cube::builder(&stages, forest(), table.clone())).build().unwrap();
    let total = |query: &Query| ask(&cube, query).unwrap().to_csv().unwrap();
    let both = Query::new(["both"]);
    assert_eq!(total(&both), "both\n4.0\n");
    table.append(Changing::batch(2, 2)).unwrap();
    assert_eq!(total(&both), "both\n10.0\n");
    // What is there is used in part, and however old it is.
    pass(&stages, 2 * EXPIRE);
    let part = ask(&cube, &Query::new(["both"]).filter(Filter::All).explain()).unwrap();
    let how = part.explanation().unwrap().to_string();
    assert!(how.contains("from the cache,") && !how.contains("ms ago") && how.contains("0 rows"), "{how}");
}

#[test]
fn a_composite_keeps_nothing_itself() {
    let stages = Stages::simulated(1);
    let batch = Changing::batch(2, 1);
    let table = MemoryTable::new("told", batch.schema(), vec![batch]).unwrap();
    let part = Cube::builder(&stages, forest(), table.clone()).build().unwrap();
    let composite = Composite::builder("parts").cube("part", &part).build().unwrap();
    let twice = Forest::builder().measure("twice", Combinator::sum(&["a", "a"]));
    let forest = composite.forest(twice).unwrap();
    let cube = refreshing(Cube::builder(&stages, forest, composite)).build().unwrap();
    let total = || ask(&cube, &Query::new(["twice"])).unwrap().to_csv().unwrap();
    assert_eq!(total(), "twice\n4.0\n");
    table.append(Changing::batch(2, 2)).unwrap();
    assert_eq!((total().as_str(), cube.cached()), ("twice\n12.0\n", 0));
}

/// Two questions to one cube may find what was kept at times far apart: a share of the one in the other would be of two times.
#[test]
fn a_composite_that_asks_a_cube_for_two_things_uses_nothing_that_was_kept() {
    let (stages, table) = (Stages::simulated(1), Changing::new(2));
    let part = cube(&stages, &table, refreshing);
    let composite = Composite::builder("parts").cube("part", &part).build().unwrap();
    let one = Filtrator::new("a", Filter::equals("desk", "d1"));
    let share = Forest::builder().measure("one", one).measure("share", Combinator::divide("one", "a"));
    let forest = composite.forest(share).unwrap();
    let cube = Cube::builder(&stages, forest, composite).build().unwrap();
    ask(&cube, &Query::new(["a"])).unwrap();
    ask(&cube, &Query::new(["a"])).unwrap();
    assert_eq!(table.opened(), 1, "one question is answered from what is kept");
    ask(&cube, &Query::new(["share"])).unwrap();
    assert_eq!(table.opened(), 3, "both questions are read now");
}

#[test]
fn what_never_expires_is_found_again() {
    let (stages, table) = (Stages::simulated(1), Changing::new(2));
    let cube = cube(&stages, &table, |builder| builder.expire_after(Duration::MAX).refresh_after(REFRESH));
    assert_eq!(reading(&cube, &a_by_reading()), "r1");
    rest(&stages, 1_000 * REFRESH);
    assert_eq!(reading(&cube, &a_by_reading()), "r1");
    pass(&stages, Duration::ZERO);
    assert_eq!(reading(&cube, &a_by_reading()), "r2");
}

#[test]
fn a_refresh_keeps_to_the_rights_of_who_asked() {
    let (stages, table) = (Stages::simulated(1), Changing::new(3));
    let rights = |user: Option<&str>| user.map_or(Filter::All, |desk| Filter::equals("desk", desk));
    let cube = cube(&stages, &table, |builder| refreshing(builder).rights(rights));
    let csv = |query: Query| ask(&cube, &query).unwrap().to_csv().unwrap();
    assert_eq!(csv(a_by_reading().user("d1")), "reading,a\nr1,1.0\n");
    assert_eq!(csv(a_by_reading()), "reading,a\nr2,6.0\n");
    pass(&stages, REFRESH);
    assert_eq!(csv(a_by_reading().user("d1")), "reading,a\nr1,1.0\n");
    pass(&stages, Duration::ZERO);
    assert_eq!(csv(a_by_reading().user("d1")), "reading,a\nr3,3.0\n");
    assert_eq!(csv(a_by_reading()), "reading,a\nr2,6.0\n");
}

/// The refresh of a query that lets the table add up floats would not be kept: nobody would ever get new leaves.
#[test]
fn a_query_that_wants_groups_of_the_table_has_leaves_read_anew_as_well() {
    let (stages, table) = (Stages::simulated(1), Changing::new(2));
    let cube = cube(&stages, &table, refreshing);
    let by_table = a_by_reading().table_groups(TableGroups::Always);
    assert_eq!((reading(&cube, &by_table).as_str(), cube.cached()), ("r1", 0));
    assert_eq!(reading(&cube, &a_by_reading()), "r2");
    pass(&stages, REFRESH);
    assert_eq!(reading(&cube, &by_table), "r2");
    pass(&stages, Duration::ZERO);
    assert_eq!((reading(&cube, &by_table).as_str(), table.opened()), ("r3", 3));
}

//! Code of the user's is computed on several workers: measures that do not read each other, and parts of one measure that says so.
#![allow(clippy::disallowed_methods, reason = "tests make deadlines of their own")]

mod trades;

use arrow::array::{Float64Array, RecordBatch};
use filbert_cube::{
    Combinator, Cube, CubeError, Custom, CustomMeasure, Forest, ForestBuilder, Position, Query,
};
use filbert_pool::{StageKind, Stages};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};
use trades::{answer, forest, trades};

const DEADLINE: Duration = Duration::from_secs(60);

/// Where two calls wait for each other.
#[derive(Default)]
struct Meeting {
    arrived: Mutex<usize>,
    changed: Condvar,
}

impl Meeting {
    /// Waits for another call; fails when none comes.
    fn meet(&self) -> Result<(), String> {
        let end = Instant::now() + DEADLINE;
        let mut arrived = self.arrived.lock().unwrap();
        *arrived += 1;
        self.changed.notify_all();
        while *arrived < 2 {
            let left = end.checked_duration_since(Instant::now()).ok_or("nobody came")?;
            arrived = self.changed.wait_timeout(arrived, left).unwrap().0;
        }
        Ok(())
    }
}

/// Its values are those of its underlying, and one more; made when another call is under way.
struct OneMore {
    meeting: Arc<Meeting>,
    calls: Arc<AtomicUsize>,
    is_slice_by_slice: bool,
}

impl CustomMeasure for OneMore {
    fn produce(&self, _position: &Position, inputs: &[RecordBatch]) -> Result<RecordBatch, String> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.meeting.meet()?;
        let [input] = inputs else { return Err("one input is expected".to_owned()) };
        let last = input.num_columns() - 1;
        let values = input.column(last).as_any().downcast_ref::<Float64Array>().ok_or("no floats")?;
        let mut columns = input.columns()[..last].to_vec();
        columns.push(Arc::new(
            values.iter().map(|value| value.map(|value| value + 1.0)).collect::<Float64Array>(),
        ));
        RecordBatch::try_new(input.schema(), columns).map_err(|error| error.to_string())
    }

    fn is_slice_by_slice(&self) -> bool {
        self.is_slice_by_slice
    }
}

/// A forest whose measures "one" and "two" are code, and how often that was called.
fn coded(is_slice_by_slice: bool) -> (ForestBuilder, Arc<AtomicUsize>) {
    let (meeting, calls) = (Arc::<Meeting>::default(), Arc::<AtomicUsize>::default());
    let code = || OneMore { meeting: Arc::clone(&meeting), calls: Arc::clone(&calls), is_slice_by_slice };
    let builder = forest()
        .custom("first", code())
        .custom("second", code())
        .measure("one", Custom::new(&["pnl"], "first"))
        .measure("two", Custom::new(&["pnl"], "second"))
        .measure("both", Combinator::sum(&["one", "two"]));
    (builder, calls)
}

fn cube(builder: ForestBuilder) -> (Stages, Cube) {
    let stages = Stages::builder().threads(StageKind::Cpu, 2).start().unwrap();
    let cube = Cube::builder(&stages, builder.build().unwrap(), trades()).build().unwrap();
    (stages, cube)
}

/// They were run one after the other, so that ten measures of a second each took ten seconds on any machine.
#[test]
fn measures_that_do_not_read_each_other_are_computed_at_once() {
    let (builder, calls) = coded(false);
    let (_stages, cube) = cube(builder);
    assert_eq!(answer(&cube, Query::new(["both"]).by(["desk"])), "FX,28.0|Rates,38.0");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    let explained = cube.query(Query::new(["one", "two"]).by(["desk"]).explain()).unwrap().wait().unwrap();
    let how = explained.explanation().unwrap().to_string();
    assert!(how.lines().filter(|line| line.contains("(cpu)")).count() >= 2, "{how}");
}

/// One call had all slices, on one thread.
#[test]
fn a_measure_that_says_so_is_computed_in_several_parts_at_once() {
    let (builder, calls) = coded(true);
    let (_stages, cube) = cube(builder);
    let query = || Query::new(["one"]).by(["desk", "ccy", "day"]);
    let apart = answer(&cube, query().partitions(8));
    assert!(calls.load(Ordering::Relaxed) > 1, "{} calls", calls.load(Ordering::Relaxed));
    let before = calls.load(Ordering::Relaxed);
    assert_eq!(answer(&cube, query().partitions(1)), apart);
    assert_eq!(calls.load(Ordering::Relaxed), before + 1);
    assert_eq!(apart.matches('|').count(), 4, "{apart}");
}

/// The first error of the plan is told, whichever of two came first; and with errors as values, both.
#[test]
fn errors_of_measures_at_once_are_those_of_the_plan() {
    struct Fails(Arc<Meeting>);
    impl CustomMeasure for Fails {
        fn produce(&self, _position: &Position, _inputs: &[RecordBatch]) -> Result<RecordBatch, String> {
            self.0.meet()?;
            Err("no luck".to_owned())
        }
    }
    let meeting = Arc::<Meeting>::default();
    let builder = Forest::builder()
        .measure("pnl", filbert_cube::Aggregator::sum("pnl"))
        .custom("fails", Fails(Arc::clone(&meeting)))
        .measure("a", Custom::new(&["pnl"], "fails"))
        .measure("b", Custom::new(&["pnl"], "fails"));
    let (_stages, cube) = cube(builder);
    let error = cube.query(Query::new(["a", "b"])).unwrap().wait().unwrap_err();
    assert!(matches!(&error, CubeError::Computation { place, .. } if place == "measure \"a\""), "{error:?}");
    let result = cube.query(Query::new(["a", "b"]).errors_are_values()).unwrap().wait().unwrap();
    assert_eq!(result.failures().len(), 2);
}

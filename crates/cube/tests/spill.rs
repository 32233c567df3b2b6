//! Groups that have no room in memory go to disk, and the answer is the same.

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow::datatypes::DataType;
use filbert_cube::aggregate::{Carriers, CustomAggregate, Values};
use filbert_cube::{
    Aggregation, Aggregator, Cube, CubeBuilder, CubeError, Forest, MemoryTable, Quantile, Query,
};
use filbert_pool::{Shutdown, Stages};
use std::path::Path;
use std::sync::Arc;

const ROWS: usize = 600_000;
const KEYS: u64 = 100_000;

fn table() -> MemoryTable {
    let batch = |first: usize, rows: usize| {
        let numbers = first..first + rows;
        let keys = numbers.clone().map(|row| ((row as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % KEYS);
        let keys: Int64Array = keys.map(|key| Some(key as i64)).collect();
        let values: Float64Array = numbers.map(|row| Some(row as f64 * 0.1)).collect();
        RecordBatch::try_from_iter([("key", Arc::new(keys) as _), ("value", Arc::new(values) as _)]).unwrap()
    };
    let batches: Vec<RecordBatch> =
        (0..ROWS).step_by(50_000).map(|first| batch(first, 50_000.min(ROWS - first))).collect();
    MemoryTable::new("t", batches[0].schema(), batches).unwrap()
}

/// Panics when it has seen enough.
#[derive(Debug)]
struct Panics;

struct Panicking {
    seen: usize,
}

impl CustomAggregate for Panics {
    fn carriers(&self, _: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
        Ok(Box::new(Panicking { seen: 0 }))
    }
}

impl Carriers for Panicking {
    fn grow(&mut self, _: usize) {}

    fn add(&mut self, _: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        self.seen += values.len();
        assert!(self.seen < 100, "enough");
        Ok(())
    }

    fn merge(&mut self, _: &[u32], _: &dyn Carriers, _: &[u32]) -> Result<(), CubeError> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        Ok(Arc::new(Int64Array::from(Vec::<i64>::new())))
    }

    fn bytes(&self) -> usize {
        0
    }
}

fn cube(stages: &Stages, with: impl FnOnce(CubeBuilder) -> CubeBuilder) -> Cube {
    let forest = Forest::builder()
        .aggregation("panics", Panics)
        .measure("sum", Aggregator::sum("value"))
        .measure("panics", Aggregator::new("value", Aggregation::Custom("panics".to_owned())));
    with(Cube::builder(stages, forest.build().unwrap(), table())).build().unwrap()
}

fn query() -> Query {
    Query::new(["sum"]).by(["key"]).parallelism(1).no_cache().explain()
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().next().is_none()
}

#[test]
fn a_query_over_its_memory_goes_on_with_the_same_answer() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let without = cube(&stages, |builder| builder);
    let expected = without.query(query()).unwrap().wait().unwrap();
    let explanation = expected.explanation().unwrap();
    let peak = explanation.peak_bytes();
    assert_eq!((explanation.spilled_bytes(), expected.rows()), (0, KEYS as usize));
    // Without a folder it is an error, as before.
    let limit = peak * 3 / 4;
    let error = without.query(query().memory_limit(limit)).unwrap().wait().unwrap_err();
    assert!(matches!(error, CubeError::OverMemory { .. }), "{error:?}");
    let with = cube(&stages, |builder| builder.spill(folder.path(), 1 << 30));
    let answer = with.query(query().memory_limit(limit)).unwrap().wait().unwrap();
    assert_eq!(answer.batch(), expected.batch());
    let explanation = answer.explanation().unwrap();
    assert!(explanation.spilled_bytes() > 0 && explanation.peak_bytes() <= limit);
    assert!(explanation.to_string().contains("B spilled to disk"), "{explanation}");
    let parallel = with.query(query().memory_limit(limit).parallelism(4)).unwrap().wait().unwrap();
    assert_eq!(parallel.batch(), expected.batch());
    // With enough memory nothing is written.
    let roomy = with.query(query()).unwrap().wait().unwrap();
    assert_eq!(roomy.explanation().unwrap().spilled_bytes(), 0);
    // Beyond the limit of the disk it is the same error.
    let small = cube(&stages, |builder| builder.spill(folder.path(), 10_000));
    let error = small.query(query().memory_limit(limit)).unwrap().wait().unwrap_err();
    assert!(matches!(error, CubeError::OverMemory { .. }), "{error:?}");
    let nowhere = cube(&stages, |builder| builder.spill(folder.path().join("missing"), 1 << 30));
    let error = nowhere.query(query().memory_limit(limit)).unwrap().wait().unwrap_err();
    assert!(
        matches!(error, CubeError::SpillFailed { .. }) && error.to_string().contains("missing"),
        "{error:?}"
    );
    assert!(is_empty(folder.path()));
}

#[test]
fn however_a_query_ends_no_file_stays() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let cube = cube(&stages, |builder| builder.spill(folder.path(), 1 << 30));
    let tight = |query: Query| query.memory_limit(6 << 20);
    for cancelled_after in [0, 100_000, 300_000, 500_000] {
        let under_way = cube.query(tight(query())).unwrap();
        let progress = under_way.progress();
        while progress.rows_read() < cancelled_after && !under_way.is_done() {
            std::thread::yield_now();
        }
        under_way.cancel();
        // The answer may have come first.
        drop(under_way.wait());
        assert!(is_empty(folder.path()));
    }
    let panicked = cube.query(tight(Query::new(["sum", "panics"]).by(["key"]))).unwrap().wait().unwrap_err();
    assert!(matches!(panicked, CubeError::Panicked { .. } | CubeError::OverMemory { .. }), "{panicked:?}");
    assert!(is_empty(folder.path()));
    let report = stages.shutdown(Shutdown::Drain).unwrap();
    assert!(report.left_behind.is_empty() && report.cut_short.is_empty(), "{report:?}");
}

/// Groups that are read back belong to a measure that failed meanwhile.
#[test]
fn a_measure_that_fails_leaves_others_their_groups_on_disk() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    // Many rows of each key: what failed is told in every slice of the answer, which no disk makes smaller.
    let (rows, keys) = (ROWS as i64, 30_000);
    let batch = RecordBatch::try_from_iter([
        ("key", Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row % keys))) as ArrayRef),
        ("large", Arc::new(Int64Array::from(vec![i64::MAX / 2; rows as usize]))),
    ])
    .unwrap();
    let table = MemoryTable::new("t", batch.schema(), vec![batch]).unwrap();
    let forest = Forest::builder()
        .measure("overflows", Aggregator::sum("large"))
        .measure("largest", Aggregator::new("large", Aggregation::Max))
        .measure("count", Aggregator::count());
    let cube = Cube::builder(&stages, forest.build().unwrap(), table).spill(folder.path(), 1 << 30);
    let cube = cube.build().unwrap();
    let asked = Query::new(["overflows", "largest", "count"]).by(["key"]).errors_are_values().no_cache();
    let asked = asked.explain().parallelism(1);
    let roomy = cube.query(asked.clone()).unwrap().wait().unwrap();
    let limit = roomy.explanation().unwrap().peak_bytes() * 3 / 4;
    let answer = cube.query(asked.memory_limit(limit)).unwrap().wait().unwrap();
    assert!(answer.explanation().unwrap().spilled_bytes() > 0);
    let failed: Vec<&str> = answer.failures().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((failed, answer.rows()), (vec!["overflows"], keys as usize));
    assert_eq!(answer.batch().columns()[2..], roomy.batch().columns()[2..]);
    assert!(is_empty(folder.path()));
}

/// Sketches stayed in memory, and with them all groups of their level.
#[test]
fn quantiles_go_to_disk_with_the_same_answer() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let forest = Forest::builder()
        .measure("sum", Aggregator::sum("value"))
        .measure("median", Aggregator::new("value", Aggregation::Median))
        .measure("high", Aggregator::new("value", Aggregation::Quantile(Quantile(0.95))));
    let cube = Cube::builder(&stages, forest.build().unwrap(), table()).spill(folder.path(), 1 << 30);
    let cube = cube.build().unwrap();
    let asked = || Query::new(["sum", "median", "high"]).by(["key"]).no_cache().explain().parallelism(1);
    let roomy = cube.query(asked()).unwrap().wait().unwrap();
    let explanation = roomy.explanation().unwrap();
    assert_eq!((explanation.spilled_bytes(), roomy.rows()), (0, KEYS as usize));
    let limit = explanation.peak_bytes() * 3 / 4;
    for parallelism in [1, 4] {
        let answer =
            cube.query(asked().memory_limit(limit).parallelism(parallelism)).unwrap().wait().unwrap();
        assert_eq!(answer.batch(), roomy.batch());
        assert!(answer.explanation().unwrap().spilled_bytes() > 0);
    }
    assert!(is_empty(folder.path()));
}

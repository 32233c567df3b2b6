//! Sorts of random rows, with room in memory and without, against a sort of the standard library.

use super::*;
use crate::memory::{QueryMemory, TotalMemory};
use arrow::array::{Array, AsArray, Int64Array, RecordBatch, StringViewArray};
use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::col;
use datafusion::prelude::SessionConfig;
use proptest::prelude::*;

type Row = (Option<i64>, String);

fn batch(rows: &[Row]) -> RecordBatch {
    let schema = Arc::new(Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("t", DataType::Utf8View, false),
    ]));
    let numbers: Int64Array = rows.iter().map(|row| row.0).collect();
    let texts = StringViewArray::from_iter_values(rows.iter().map(|row| &row.1));
    RecordBatch::try_new(schema, vec![Arc::new(numbers), Arc::new(texts)]).unwrap()
}

fn rows(batch: &RecordBatch) -> Vec<Row> {
    let numbers = batch.column(0).as_primitive::<Int64Type>();
    let texts = batch.column(1).as_string_view();
    let number = |row| numbers.is_valid(row).then(|| numbers.value(row));
    (0..batch.num_rows()).map(|row| (number(row), texts.value(row).to_owned())).collect()
}

/// Batches as they are; a source of DataFusion would cut them to the session's size.
#[derive(Debug)]
struct Unsplit(Arc<dyn ExecutionPlan>, Vec<RecordBatch>);

impl DisplayAs for Unsplit {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unsplit")
    }
}

impl ExecutionPlan for Unsplit {
    fn name(&self) -> &str {
        "Unsplit"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.0.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batches = stream::iter(self.1.clone().into_iter().map(Ok));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), batches)))
    }
}

struct Sorted {
    rows: Vec<Row>,
    files: usize,
    /// What the memory still counts when all rows were read.
    left_bytes: usize,
}

/// Sorts batches by some columns, numbers downwards, within so much memory.
fn sorted(batches: &[Vec<Row>], by: &[&str], memory_bytes: usize) -> Result<Sorted> {
    let empty = batch(&[]);
    let batches: Vec<RecordBatch> = batches.iter().map(|rows| batch(rows)).collect();
    let input = Arc::new(Unsplit(
        MemorySourceConfig::try_new_exec(std::slice::from_ref(&batches), empty.schema(), None)?,
        batches,
    ));
    let down = SortOptions { descending: true, nulls_first: true };
    let options = |column: &&str| if *column == "n" { down } else { SortOptions::default() };
    let order: Vec<PhysicalSortExpr> = by
        .iter()
        .map(|column| Ok(PhysicalSortExpr::new(col(column, &empty.schema())?, options(column))))
        .collect::<Result<_>>()?;
    let sort = SortExec::new(LexOrdering::new(order).expect("a column"), input);
    let sort = Arc::new(SortRunsExec::in_place_of(&sort)?.expect("it is not sorted"));
    let memory = Arc::new(QueryMemory::new(memory_bytes, &TotalMemory::new(memory_bytes)));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(memory.clone()).build_arc()?;
    let mut config = SessionConfig::new().with_batch_size(16);
    config.options_mut().execution.sort_spill_reservation_bytes = memory_bytes / 8;
    config.options_mut().execution.sort_in_place_threshold_bytes = 4_096;
    let context = TaskContext::default().with_session_config(config).with_runtime(runtime);
    let stream = sort.execute(0, Arc::new(context))?;
    // Files are read by a runtime.
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let batches: Vec<RecordBatch> = runtime.block_on(stream.try_collect())?;
    assert!(batches.iter().all(|batch| batch.num_rows() <= 16), "no batch is larger than the session's");
    let files = sort.metrics().and_then(|metrics| metrics.spill_count()).unwrap_or(0);
    let left_bytes = datafusion::execution::memory_pool::MemoryPool::reserved(&*memory);
    Ok(Sorted { rows: batches.iter().flat_map(rows).collect(), files, left_bytes })
}

fn expected(batches: &[Vec<Row>], by: &[&str]) -> Vec<Row> {
    let mut rows: Vec<Row> = batches.concat();
    // NULL is before all numbers in either direction here; downwards, `None` is the last for `Option`.
    let number = |row: &Row| (row.0.is_some(), std::cmp::Reverse(row.0));
    rows.sort_by(|a, b| match by {
        ["n"] => number(a).cmp(&number(b)),
        ["t"] => a.1.cmp(&b.1),
        ["n", ..] => (number(a), &a.1).cmp(&(number(b), &b.1)),
        _ => (&a.1, number(a)).cmp(&(&b.1, number(b))),
    });
    rows
}

/// Rows in the same order by the columns; rows that are equal by them may come in any.
fn keys(rows: &[Row], by: &[&str]) -> Vec<Row> {
    let text = |row: &Row| if by.contains(&"t") { row.1.clone() } else { String::new() };
    let kept = |row: &Row| (row.0.filter(|_| by.contains(&"n")), text(row));
    rows.iter().map(kept).collect()
}

fn any_batches() -> impl Strategy<Value = Vec<Vec<Row>>> {
    let row = (proptest::option::weighted(0.9, -20_i64..20), "[a-c]{0,3}|[a-z]{13,40}");
    proptest::collection::vec(proptest::collection::vec(row, 0..40), 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn rows_come_back_in_order_with_room_and_without(
        batches in any_batches(),
        by in prop::sample::select(vec![&["n"][..], &["t"][..], &["n", "t"][..], &["t", "n"][..]]),
        memory_kb in prop::sample::select(vec![64_usize, 128, 1 << 20]),
    ) {
        let sorted = sorted(&batches, by, memory_kb << 10).unwrap();
        let expected = expected(&batches, by);
        prop_assert_eq!(keys(&sorted.rows, by), keys(&expected, by));
        let (mut all, mut all_expected) = (sorted.rows, expected);
        all.sort();
        all_expected.sort();
        prop_assert_eq!(all, all_expected, "the same rows");
        prop_assert_eq!(sorted.left_bytes, 0);
    }
}

fn numbers(count: i64) -> Vec<Vec<Row>> {
    let row = |n: i64| (Some(n * 7_919 % 10_007), format!("row number {n} with a text that is long"));
    (0..count / 40).map(|batch| (batch * 40..(batch + 1) * 40).map(row).collect()).collect()
}

#[test]
fn what_has_no_room_is_written_to_files_and_read_from_there() {
    let batches = numbers(20_000);
    for by in [&["n"][..], &["t", "n"][..]] {
        let small = sorted(&batches, by, 400 << 10).unwrap();
        assert!(small.files > 1, "{} files", small.files);
        let large = sorted(&batches, by, 1 << 30).unwrap();
        assert_eq!(large.files, 0);
        assert_eq!(keys(&small.rows, by), keys(&large.rows, by));
        assert_eq!((small.left_bytes, large.left_bytes), (0, 0));
    }
}

#[test]
fn a_batch_for_which_there_never_is_room_is_an_error_that_says_so() {
    let error = sorted(&numbers(4_000), &["n"], 4 << 10).err().expect("no room for a batch").to_string();
    assert!(error.contains("sort has no room"), "{error}");
}

#[test]
fn nothing_sorted_is_nothing() {
    assert!(sorted(&[], &["n"], 1 << 20).unwrap().rows.is_empty());
    assert!(sorted(&[vec![], vec![]], &["t", "n"], 1 << 20).unwrap().rows.is_empty());
}

//! Takes batches in, gives them back sorted: runs in memory, and files of what did not fit.
//!
//! A run holds about a megabyte for an order by one column, whose merge is dearer than its sort, and one batch for an order by several, whose
//! merge is cheaper. It is one batch as well where texts are views: all batches of a run would share their texts, and a merge counts them for each.
//!
//! Twice the size of a run is reserved while it waits. One half goes with its batches when a merge is handed them; the other half is the merge's
//! from the beginning, so that no other partition takes it meanwhile.

use super::run::Run;
use arrow::array::{Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, RecordOutput, SpillMetrics,
};
use datafusion::physical_plan::sorts::sort::{sort_batch, sort_batch_chunked};
use datafusion::physical_plan::sorts::streaming_merge::{SortedSpillFile, StreamingMergeBuilder};
use datafusion::physical_plan::spill::get_record_batch_memory_size;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{EmptyRecordBatchStream, SendableRecordBatchStream, SpillManager};
use filbert_pool::checkpoint;
use futures::TryStreamExt;

pub(super) struct Sorter {
    schema: SchemaRef,
    order: LexOrdering,
    batch_rows: usize,
    has_views: bool,
    /// A run is whole when it has so many bytes.
    run_bytes: usize,
    /// The run that is not whole yet, as it came.
    coming: Vec<RecordBatch>,
    coming_bytes: usize,
    /// What `held` has for it.
    coming_held: usize,
    runs: Vec<Run>,
    /// For what is in memory.
    held: MemoryReservation,
    /// Kept free for a merge, so that there is a way out when memory is short.
    kept_free: MemoryReservation,
    kept_free_bytes: usize,
    files: Vec<SortedSpillFile>,
    spill: SpillManager,
    figures: BaselineMetrics,
}

impl Sorter {
    pub(super) fn new(
        partition: usize,
        schema: SchemaRef,
        order: LexOrdering,
        context: &TaskContext,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Self {
        let has_views = has_views(&schema);
        let config = context.session_config();
        let execution = &config.options().execution;
        let consumer = |name: &str| MemoryConsumer::new(format!("{name}[{partition}]"));
        let memory = context.memory_pool();
        let spill =
            SpillManager::new(context.runtime_env(), SpillMetrics::new(metrics, partition), schema.clone());
        Self {
            batch_rows: config.batch_size(),
            has_views,
            run_bytes: if order.len() == 1 && !has_views {
                execution.sort_in_place_threshold_bytes
            } else {
                0
            },
            coming: Vec::new(),
            coming_bytes: 0,
            coming_held: 0,
            runs: Vec::new(),
            held: consumer("Sort").with_can_spill(true).register(memory),
            kept_free: consumer("SortMerge").register(memory),
            kept_free_bytes: execution.sort_spill_reservation_bytes,
            files: Vec::new(),
            spill: spill.with_compression_type(config.spill_compression()),
            figures: BaselineMetrics::new(metrics, partition),
            schema,
            order,
        }
    }

    /// Takes a batch in; makes room for it first when there is none.
    pub(super) async fn insert(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let bytes = get_record_batch_memory_size(&batch);
        // Sorted rows refer to the same texts where these are views; else they are a copy, of a slice only what it has itself.
        let held = bytes + if self.has_views { bytes } else { sliced_bytes(&batch)? };
        if self.kept_free.size() == 0 {
            self.kept_free.try_resize(self.kept_free_bytes).map_err(short_of_memory)?;
        }
        if let Err(refused) = self.held.try_grow(held) {
            if self.coming.is_empty() && self.runs.is_empty() {
                return Err(short_of_memory(refused));
            }
            self.spill_runs().await?;
            self.kept_free.try_resize(self.kept_free_bytes).map_err(short_of_memory)?;
            self.held.try_grow(held).map_err(short_of_memory)?;
        }
        self.coming.push(batch);
        self.coming_bytes += bytes;
        self.coming_held += held;
        if self.coming_bytes >= self.run_bytes {
            self.close_run()?;
        }
        Ok(())
    }

    /// Everything that was taken in, sorted.
    pub(super) async fn finish(mut self) -> Result<SendableRecordBatchStream> {
        if self.files.is_empty() {
            return self.merge(self.figures.clone());
        }
        // What is in memory is written too: it and the files at once may be more than there is room for.
        self.spill_runs().await?;
        StreamingMergeBuilder::new()
            .with_sorted_spill_files(self.files)
            .with_spill_manager(self.spill)
            .with_schema(self.schema)
            .with_expressions(&self.order)
            .with_metrics(self.figures)
            .with_batch_size(self.batch_rows)
            .with_reservation(self.kept_free)
            .build()
    }

    /// Sorts the run that was coming.
    fn close_run(&mut self) -> Result<()> {
        let _timer = self.figures.elapsed_compute().timer();
        let batch = match self.coming.len() {
            0 => return Ok(()),
            1 => self.coming.remove(0),
            _ => concat_batches(&self.schema, &std::mem::take(&mut self.coming))?,
        };
        let batches = match self.has_views {
            true => vec![sort_batch(&batch, &self.order, None)?],
            false => sort_batch_chunked(&batch, &self.order, self.batch_rows)?,
        };
        let bytes = batches.iter().map(get_record_batch_memory_size).sum::<usize>();
        self.held.shrink(std::mem::take(&mut self.coming_held));
        self.held.grow(2 * bytes);
        self.coming_bytes = 0;
        self.runs.push(Run { batches, bytes });
        Ok(())
    }

    /// Writes the runs to a file as one, and forgets them.
    async fn spill_runs(&mut self) -> Result<()> {
        self.close_run()?;
        if self.runs.is_empty() {
            return Ok(());
        }
        let mut merged = self.merge(self.figures.intermediate())?;
        let mut file = self.spill.create_in_progress_file("Sort")?;
        let mut largest = 0;
        while let Some(batch) = merged.try_next().await? {
            largest = file.append_batch(&batch)?.max(largest);
            checkpoint().await;
        }
        if let Some(file) = file.finish()? {
            self.files.push(SortedSpillFile { file, max_record_batch_memory: largest });
        }
        Ok(())
    }

    /// The runs as one; what was kept free for it is free then.
    fn merge(&mut self, figures: BaselineMetrics) -> Result<SendableRecordBatchStream> {
        self.close_run()?;
        self.kept_free.free();
        let held = &self.held;
        let for_merge = held.split(held.size() / 2);
        let mut runs = std::mem::take(&mut self.runs);
        if let [only] = &mut runs[..] {
            only.cut(self.batch_rows);
        }
        let mut streams: Vec<SendableRecordBatchStream> = runs
            .into_iter()
            .map(|run| {
                let reservation = held.split(run.bytes);
                Box::pin(run.read(self.schema.clone(), reservation)) as SendableRecordBatchStream
            })
            .collect();
        if streams.len() < 2 {
            let empty =
                || Box::pin(EmptyRecordBatchStream::new(self.schema.clone())) as SendableRecordBatchStream;
            let only = streams.pop().unwrap_or_else(empty);
            let counted = only.inspect_ok(move |batch| {
                batch.record_output(&figures);
            });
            return Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), counted)));
        }
        StreamingMergeBuilder::new()
            .with_streams(streams)
            .with_schema(self.schema.clone())
            .with_expressions(&self.order)
            .with_metrics(figures)
            .with_batch_size(self.batch_rows)
            .with_reservation(for_merge)
            .build()
    }
}

/// True when a column refers to texts or bytes that stand elsewhere.
fn has_views(schema: &SchemaRef) -> bool {
    let is_view = |kind: &DataType| matches!(kind, DataType::Utf8View | DataType::BinaryView);
    // What is nested is looked at by its name: it is rare, and a run too small costs little.
    let names_view = |kind: &DataType| kind.is_nested() && kind.to_string().contains("View");
    schema.fields().iter().any(|field| is_view(field.data_type()) || names_view(field.data_type()))
}

/// What the rows of a batch take, without what they are a slice of.
fn sliced_bytes(batch: &RecordBatch) -> Result<usize> {
    let slices = batch.columns().iter().map(|column| column.to_data().get_slice_memory_size());
    Ok(slices.sum::<Result<usize, ArrowError>>()?)
}

fn short_of_memory(error: DataFusionError) -> DataFusionError {
    match error {
        DataFusionError::ResourcesExhausted(_) => {
            error.context("a sort has no room for its next rows, besides those that it can write to files")
        }
        other => other,
    }
}

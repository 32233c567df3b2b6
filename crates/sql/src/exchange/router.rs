//! Decides which output of an exchange gets which rows, and puts small parts together.
//!
//! A batch that is split into as many parts as there are outputs gives parts of a fraction of its rows, and every operator above pays its
//! cost per batch for each. So the parts of an output are collected until they make a batch of the usual size. What is collected
//! is sent when there is no more input; an input that never ends is split without collecting, or its rows would come late.
//!
//! Rows can be large. What is collected is sent as well when it has [`COLLECTED_BYTES`], and a batch of more than [`LARGE_BYTES`] goes in pieces, so
//! that credits in bytes mean something.

use super::channels::{Sender, weight};
use crate::error::SqlError;
use arrow::array::RecordBatch;
use arrow::compute::BatchCoalescer;
use arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::physical_expr::Partitioning;
use datafusion::physical_plan::metrics::Time;
use datafusion::physical_plan::repartition::BatchPartitioner;

/// Bytes of a batch that goes in pieces.
const LARGE_BYTES: usize = 4 << 20;

/// Bytes of such a piece, unless one row has more.
const PIECE_BYTES: usize = 1 << 20;

/// Bytes of the parts of one output that are put together.
const COLLECTED_BYTES: usize = 4 << 20;

/// Parts of one output.
pub(crate) struct Parts {
    rows: BatchCoalescer,
    /// Bytes that were put together since a batch was sent, about.
    bytes: usize,
}

/// One producer's way of handing batches on.
pub(crate) enum Router {
    /// All to one output.
    To(usize),
    /// Rows by hash or range, batches in turn.
    By {
        partitioner: Box<BatchPartitioner>,
        /// By output; empty when parts are sent as they are.
        collected: Vec<Parts>,
    },
}

impl Router {
    /// For producer `number` of `producers` of an exchange that splits by `partitioning`.
    pub(crate) fn by(
        partitioning: &Partitioning,
        time: Time,
        number: usize,
        producers: usize,
    ) -> Result<Self, DataFusionError> {
        if partitioning.partition_count() == 1 {
            return Ok(Router::To(0));
        }
        let partitioner = BatchPartitioner::try_new(partitioning.clone(), time, number, producers)?;
        Ok(Router::By { partitioner: Box::new(partitioner), collected: Vec::new() })
    }

    /// The parts of each of `outputs` are collected until they are batches of `rows`.
    pub(crate) fn collecting(mut self, outputs: usize, schema: &SchemaRef, rows: usize) -> Self {
        if let Router::By { collected, .. } = &mut self {
            // A part of half the size goes as it is: to copy it would cost more than it gives.
            let coalescer =
                || BatchCoalescer::new(schema.clone(), rows).with_biggest_coalesce_batch_size(Some(rows / 2));
            let parts = || Parts { rows: coalescer(), bytes: 0 };
            collected.resize_with(outputs, parts);
        }
        self
    }

    /// Sends a batch, whole or in parts.
    pub(crate) fn send(&mut self, batch: RecordBatch, sender: &mut Sender) -> Result<(), SqlError> {
        for batch in pieces(batch) {
            match self {
                Router::To(output) => sender.send(*output, batch)?,
                Router::By { partitioner, collected } => {
                    let rows = batch.num_rows().max(1);
                    let row_bytes = if collected.is_empty() { 0 } else { weight(&batch) / rows };
                    for part in partitioner.partition_iter(batch)? {
                        let (output, part) = part?;
                        match collected.get_mut(output) {
                            None => sender.send(output, part)?,
                            Some(parts) => {
                                parts.bytes += row_bytes * part.num_rows();
                                parts.rows.push_batch(part).map_err(DataFusionError::from)?;
                                if parts.bytes >= COLLECTED_BYTES {
                                    parts.rows.finish_buffered_batch().map_err(DataFusionError::from)?;
                                }
                                send_whole(parts, output, sender)?;
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends what was collected: there is no more input.
    pub(crate) fn finish(&mut self, sender: &mut Sender) -> Result<(), SqlError> {
        if let Router::By { collected, .. } = self {
            for (output, parts) in collected.iter_mut().enumerate() {
                parts.rows.finish_buffered_batch().map_err(DataFusionError::from)?;
                send_whole(parts, output, sender)?;
            }
        }
        Ok(())
    }
}

/// The rows of a batch, in pieces when they are large.
fn pieces(batch: RecordBatch) -> impl Iterator<Item = RecordBatch> {
    let (rows, bytes) = (batch.num_rows(), weight(&batch));
    let most = match bytes > LARGE_BYTES {
        true => (rows.saturating_mul(PIECE_BYTES) / bytes).max(1),
        false => rows.max(1),
    };
    (0..rows).step_by(most).map(move |from| batch.slice(from, most.min(rows - from)))
}

fn send_whole(parts: &mut Parts, output: usize, sender: &mut Sender) -> Result<(), SqlError> {
    while let Some(batch) = parts.rows.next_completed_batch() {
        parts.bytes = 0;
        sender.send(output, batch)?;
    }
    Ok(())
}

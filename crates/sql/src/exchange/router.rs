//! Decides which output of an exchange gets which rows.

use super::channels::Sender;
use crate::error::SqlError;
use arrow::array::RecordBatch;
use datafusion::error::DataFusionError;
use datafusion::physical_expr::Partitioning;
use datafusion::physical_plan::metrics::Time;
use datafusion::physical_plan::repartition::BatchPartitioner;

/// One producer's way of handing batches on.
pub(crate) enum Router {
    /// All to one output.
    To(usize),
    /// Rows by hash or range, batches in turn.
    By(BatchPartitioner),
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
        BatchPartitioner::try_new(partitioning.clone(), time, number, producers).map(Router::By)
    }

    /// Sends a batch, whole or in parts.
    pub(crate) fn send(&mut self, batch: RecordBatch, sender: &mut Sender) -> Result<(), SqlError> {
        match self {
            Router::To(output) => sender.send(*output, batch),
            Router::By(partitioner) => {
                for part in partitioner.partition_iter(batch)? {
                    let (output, part) = part?;
                    sender.send(output, part)?;
                }
                Ok(())
            }
        }
    }
}

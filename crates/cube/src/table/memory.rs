//! Arrow batches in memory as a table.

use super::{BatchStream, Table, TableQuery};
use crate::error::CubeError;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use filbert_pool::Stages;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::{Arc, RwLock, RwLockReadGuard};

/// A table of Arrow batches; a handle that is cheap to clone. Queries read the batches that were there when they began.
///
/// ```
/// use arrow::array::{Float64Array, RecordBatch, StringArray};
/// use filbert_cube::MemoryTable;
/// use std::sync::Arc;
///
/// let batch = RecordBatch::try_from_iter([
///     ("desk", Arc::new(StringArray::from(vec!["FX", "Rates"])) as _),
///     ("pnl", Arc::new(Float64Array::from(vec![1.5, 2.0])) as _),
/// ])?;
/// let trades = MemoryTable::new("trades", batch.schema(), vec![batch.clone()])?;
/// assert_eq!(trades.rows(), 2);
/// trades.append(batch)?;
/// assert_eq!(trades.rows(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct MemoryTable {
    name: Arc<str>,
    schema: SchemaRef,
    shard_columns: Vec<String>,
    rows: Arc<RwLock<Rows>>,
}

#[derive(Debug)]
struct Rows {
    batches: Vec<RecordBatch>,
    version: u64,
}

impl MemoryTable {
    /// A table of these batches, which all have this schema.
    pub fn new(name: &str, schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Self, CubeError> {
        let table = Self {
            name: name.into(),
            schema,
            shard_columns: Vec::new(),
            rows: Arc::new(RwLock::new(Rows { batches: Vec::new(), version: 0 })),
        };
        batches.into_iter().try_for_each(|batch| table.append(batch))?;
        Ok(table)
    }

    /// Spreads slices by these columns, where a query groups by all of them.
    #[must_use]
    pub fn sharded_by(mut self, columns: &[&str]) -> Self {
        self.shard_columns = columns.iter().map(|column| (*column).to_owned()).collect();
        self
    }

    /// Adds rows; queries that begin later see them.
    pub fn append(&self, batch: RecordBatch) -> Result<(), CubeError> {
        if batch.schema().fields() != self.schema.fields() {
            return Err(CubeError::TableFailed {
                table: self.name.to_string(),
                message: format!(
                    "a batch has the columns {:?}, the table {:?}",
                    batch.schema().fields(),
                    self.schema.fields()
                ),
            });
        }
        let mut rows = self.rows.write().unwrap_or_else(|broken| broken.into_inner());
        rows.batches.push(batch);
        rows.version += 1;
        Ok(())
    }

    /// How many rows it has now.
    pub fn rows(&self) -> usize {
        self.read().batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn read(&self) -> RwLockReadGuard<'_, Rows> {
        self.rows.read().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl Table for MemoryTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn version(&self) -> BoxFuture<'static, Option<u64>> {
        futures::future::ready(Some(self.read().version)).boxed()
    }

    fn shard_columns(&self) -> Vec<String> {
        self.shard_columns.clone()
    }

    fn open(
        &self,
        _stages: &Stages,
        query: TableQuery,
    ) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        let opened = || {
            let positions: Result<Vec<usize>, _> =
                query.columns.iter().map(|column| self.schema.index_of(column)).collect();
            let positions = positions.map_err(|error| CubeError::arrow(&*self.name, &error))?;
            let rows = self.read();
            let batches: Result<Vec<RecordBatch>, _> =
                rows.batches.iter().map(|batch| batch.project(&positions)).collect();
            Ok(BatchStream::of_batches(batches.map_err(|error| CubeError::arrow(&*self.name, &error))?))
        };
        futures::future::ready(opened()).boxed()
    }
}

//! A table in memory whose rows have numbers: an `UPDATE` or `DELETE` finds with them which rows it is about.

use arrow::array::{Array, RecordBatch, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::{Arc, OnceLock};
use tokio::sync::RwLock;

/// The column of the numbers. No user writes it.
pub(super) const ROW_NUMBER: &str = "__row_number_of_change";

/// The rows of a table, by partition. They are shared with the table itself.
pub(super) type Partitions = Vec<Arc<RwLock<Vec<RecordBatch>>>>;

/// The rows as one statement saw them: its numbers count these.
#[derive(Debug, Default)]
pub(super) struct Snapshot(OnceLock<Vec<Vec<RecordBatch>>>);

impl Snapshot {
    /// The rows by partition; none when the statement did not look at the table.
    pub(super) fn rows(&self) -> &[Vec<RecordBatch>] {
        self.0.get().map_or(&[], Vec::as_slice)
    }

    async fn take(&self, partitions: &Partitions) -> &[Vec<RecordBatch>] {
        let mut rows = Vec::with_capacity(partitions.len());
        for partition in partitions {
            rows.push(partition.read().await.clone());
        }
        self.0.get_or_init(|| rows)
    }
}

/// The table with one more column, [`ROW_NUMBER`].
#[derive(Debug)]
pub(super) struct NumberedRows {
    partitions: Partitions,
    schema: SchemaRef,
    snapshot: Arc<Snapshot>,
}

impl NumberedRows {
    pub(super) fn new(table: &Schema, partitions: Partitions, snapshot: Arc<Snapshot>) -> Self {
        let number = Arc::new(Field::new(ROW_NUMBER, DataType::UInt64, false));
        let fields: Vec<_> = table.fields().iter().cloned().chain([number]).collect();
        let schema = Arc::new(Schema::new_with_metadata(fields, table.metadata().clone()));
        Self { partitions, schema, snapshot }
    }
}

#[async_trait]
impl TableProvider for NumberedRows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut next = 0;
        let mut numbered = Vec::with_capacity(self.partitions.len());
        for partition in self.snapshot.take(&self.partitions).await {
            let mut batches = Vec::with_capacity(partition.len());
            for batch in partition {
                let end = next + batch.num_rows() as u64;
                let numbers: Arc<dyn Array> = Arc::new(UInt64Array::from_iter_values(next..end));
                next = end;
                let columns = batch.columns().iter().cloned().chain([numbers]).collect();
                batches.push(RecordBatch::try_new(Arc::clone(&self.schema), columns)?);
            }
            numbered.push(batches);
        }
        let plan =
            MemorySourceConfig::try_new_exec(&numbered, Arc::clone(&self.schema), projection.cloned())?;
        Ok(plan)
    }
}

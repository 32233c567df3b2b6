//! `INSERT INTO` a table in memory: its rows are counted for the table as they come, and put into it at once.

use super::memory::{TableMemory, WhenNoRoom};
use super::numbered::Partitions;
use crate::error::SqlError;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{MemTable, Session, TableProvider};
use datafusion::common::{Constraints, Result, SchemaExt};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{DmlStatement, Expr, LogicalPlan, TableType, WriteOp};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, SendableRecordBatchStream};
use filbert_pool::checkpoint;
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;

/// The statement with a target that counts its rows; nothing when it inserts nothing into a table in memory.
pub(super) fn taken(statement: &DmlStatement) -> Option<LogicalPlan> {
    let WriteOp::Insert(InsertOp::Append) = statement.op else { return None };
    let table = source_as_provider(&statement.target).ok()?;
    table.downcast_ref::<MemTable>()?;
    let target = FilledTable { name: statement.table_name.table().to_owned(), table };
    Some(LogicalPlan::Dml(DmlStatement::new(
        statement.table_name.clone(),
        provider_as_source(Arc::new(target)),
        statement.op.clone(),
        Arc::clone(&statement.input),
    )))
}

/// The table as what an `INSERT` is written to.
#[derive(Debug)]
struct FilledTable {
    name: String,
    table: Arc<dyn TableProvider>,
}

#[async_trait]
impl TableProvider for FilledTable {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.table.constraints()
    }

    fn table_type(&self) -> TableType {
        self.table.table_type()
    }

    fn get_column_default(&self, column: &str) -> Option<&Expr> {
        self.table.get_column_default(column)
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.table.scan(state, projection, filters, limit).await
    }

    async fn insert_into(
        &self,
        _: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.schema().logically_equivalent_names_and_types(&input.schema())?;
        let Some(table) = self.table.downcast_ref::<MemTable>() else {
            let text = format!("{:?} is no table in memory", self.name);
            return Err(SqlError::Refused(text).into_plan());
        };
        table.sort_order.lock().clear();
        let (name, partitions) = (self.name.clone(), table.batches.clone());
        let sink = FillSink { name, schema: self.schema(), partitions };
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
    }
}

/// Puts rows into a table.
#[derive(Debug)]
struct FillSink {
    name: String,
    schema: SchemaRef,
    partitions: Partitions,
}

#[async_trait]
impl DataSink for FillSink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(
        &self,
        mut rows: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        let memory = TableMemory::of(context.session_config())?;
        let mut new = vec![Vec::new(); self.partitions.len().max(1)];
        let (mut number, mut count) = (0, 0);
        while let Some(batch) = rows.next().await {
            let batch = memory.keep(&self.name, &batch?, WhenNoRoom::Refuse)?;
            count += batch.num_rows() as u64;
            let place = number % new.len();
            new[place].push(batch);
            number += 1;
            checkpoint().await;
        }
        for (partition, mut new) in self.partitions.iter().zip(new) {
            partition.write().await.append(&mut new);
        }
        Ok(count)
    }
}

impl DisplayAs for FillSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FillSink: insert into {}", self.name)
    }
}

//! `INSERT INTO` a table in memory: its rows are counted for the table as they come, and put into it at once.

use super::memory::{TableMemory, WhenNoRoom};
use super::numbered::Partitions;
use super::ruled::in_memory;
use super::rules::{Rules, TakenKeys};
use crate::error::SqlError;
use crate::returning::Returned;
use arrow::array::{Array, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Constraints, Result, SchemaExt};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{DmlStatement, Expr, LogicalPlan, TableType, WriteOp};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, SendableRecordBatchStream};
use filbert_pool::checkpoint;
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;
use tokio::sync::MutexGuard;

/// The statement with a target that counts its rows; nothing when it inserts nothing into a table in memory.
pub(super) fn taken(statement: &DmlStatement) -> Option<LogicalPlan> {
    let WriteOp::Insert(InsertOp::Append) = statement.op else { return None };
    let table = source_as_provider(&statement.target).ok()?;
    in_memory(table.as_ref())?;
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
        let Some((table, rules)) = in_memory(self.table.as_ref()) else {
            let text = format!("{:?} is no table in memory", self.name);
            return Err(SqlError::Refused(text).into_plan());
        };
        table.sort_order.lock().clear();
        let (name, partitions) = (self.name.clone(), table.batches.clone());
        let sink = FillSink::new(name, &self.schema(), partitions, rules.cloned());
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
    }
}

/// Puts rows into a table.
#[derive(Debug)]
struct FillSink {
    name: String,
    /// Every column of it may be NULL: that some may not is checked here, where the column has its name.
    schema: SchemaRef,
    /// The columns that are NOT NULL.
    not_null: Vec<usize>,
    partitions: Partitions,
    rules: Option<Arc<Rules>>,
}

/// What is said of a column that is NOT NULL and was to be.
pub(super) fn is_null(table: &str, column: &str) -> DataFusionError {
    SqlError::NotNull(format!("table {table:?}: {column:?} is NOT NULL, and the new value is")).into_plan()
}

impl FillSink {
    fn new(name: String, schema: &Schema, partitions: Partitions, rules: Option<Arc<Rules>>) -> Self {
        let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let not_null = (0..schema.fields().len()).filter(|place| !schema.field(*place).is_nullable());
        Self {
            name,
            not_null: not_null.collect(),
            schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())),
            partitions,
            rules,
        }
    }

    fn check_nulls(&self, rows: &RecordBatch) -> Result<()> {
        match self.not_null.iter().find(|place| rows.column(**place).null_count() > 0) {
            Some(place) => Err(is_null(&self.name, self.schema.field(*place).name())),
            None => Ok(()),
        }
    }

    /// Takes the keys of new rows, which nobody else can take before the rows are there.
    async fn take_keys<'k>(
        rules: &'k Rules,
        partitions: &Partitions,
        memory: &Arc<TableMemory>,
        new: &[Vec<RecordBatch>],
    ) -> Result<(MutexGuard<'k, Option<TakenKeys>>, TakenKeys)> {
        let mut held = rules.taken.lock().await;
        let mut taken = match held.take() {
            Some(taken) => taken,
            None => {
                let mut rows = Vec::new();
                for partition in partitions {
                    rows.extend(partition.read().await.iter().cloned());
                }
                rules.keys_of(&rows, memory, WhenNoRoom::Refuse).await?
            }
        };
        for batch in new.iter().flatten() {
            // Where one is taken, those of the rows before it are in `taken` by now: they are read again by the next INSERT.
            rules.take(&mut taken, batch)?;
            checkpoint().await;
        }
        Ok((held, taken))
    }
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
            let batch = batch?;
            self.check_nulls(&batch)?;
            let batch = memory.keep(&self.name, &batch, WhenNoRoom::Refuse)?;
            if let Some(rules) = &self.rules {
                rules.check_lengths(&batch)?;
            }
            count += batch.num_rows() as u64;
            let place = number % new.len();
            new[place].push(batch);
            number += 1;
            checkpoint().await;
        }
        if let Some(returned) = Returned::of(context) {
            new.iter().flatten().try_for_each(|batch| returned.add(batch.clone()))?;
        }
        let taken = match &self.rules {
            Some(rules) => Some(Self::take_keys(rules, &self.partitions, &memory, &new).await?),
            None => None,
        };
        // All or nothing: a statement that is dropped while it waits for a lock has put no row into the table, and taken no key.
        let mut places = Vec::with_capacity(self.partitions.len());
        for partition in self.partitions.iter() {
            places.push(partition.write().await);
        }
        for (place, mut new) in places.iter_mut().zip(new) {
            place.append(&mut new);
        }
        if let Some((mut held, taken)) = taken {
            *held = Some(taken);
        }
        Ok(count)
    }
}

impl DisplayAs for FillSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FillSink: insert into {}", self.name)
    }
}

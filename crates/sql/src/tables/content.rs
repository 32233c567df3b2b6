//! The content of a table in memory, for what keeps it on disk: its rows, and what its statement declared.

use super::memory::{TableMemory, WhenNoRoom};
use super::ruled::{RuledTable, in_memory};
use crate::error::SqlError;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::catalog::{MemTable, TableProvider};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use std::collections::HashMap;
use std::sync::Arc;

/// A table, and its rows by partition as it has them.
type TableWithRows = (Arc<dyn TableProvider>, Vec<Vec<RecordBatch>>);

/// The rows of a table by partition, and its rules as they were written.
#[derive(Debug, Clone)]
pub(crate) struct TableContent {
    /// The `CREATE TABLE` statement without its query; none for a table whose columns a query gave.
    pub(crate) definition: Option<String>,
    pub(crate) schema: SchemaRef,
    pub(crate) partitions: Vec<Vec<RecordBatch>>,
    /// The next number of each `SERIAL` column.
    pub(crate) serials: Vec<i64>,
}

impl TableContent {
    /// Reads a table as it is between two statements; none when its rows are not in memory.
    pub(crate) async fn of(table: &dyn TableProvider) -> Option<Self> {
        let (table, rules) = in_memory(table)?;
        let mut held = Vec::with_capacity(table.batches.len());
        // All locks are held at once: no statement changes one partition meanwhile.
        for partition in &table.batches {
            held.push(partition.read().await);
        }
        Some(Self {
            definition: rules.and_then(|rules| rules.definition().map(str::to_owned)),
            schema: table.schema(),
            partitions: held.iter().map(|rows| rows.to_vec()).collect(),
            serials: rules.map(|rules| rules.serials()).unwrap_or_default(),
        })
    }

    /// Makes a table of it, charged to `memory` even where there is no room: the rows are there already, and only a table can be dropped.
    /// `made` is the empty one that the definition gives.
    pub(crate) fn into_table(
        self,
        name: &str,
        made: Option<&dyn TableProvider>,
        memory: &TableMemory,
    ) -> Result<TableWithRows, SqlError> {
        let schema = made.map_or_else(|| Arc::clone(&self.schema), |made| made.schema());
        let is_same = schema.fields().len() == self.schema.fields().len()
            && schema
                .fields()
                .iter()
                .zip(self.schema.fields())
                .all(|(new, kept)| new.name() == kept.name() && new.data_type() == kept.data_type());
        if !is_same {
            return Err(SqlError::Refused(format!(
                "table {name:?} has other columns on disk than its definition gives; it was kept by another version"
            )));
        }
        let mut partitions = Vec::with_capacity(self.partitions.len().max(1));
        for partition in self.partitions {
            let mut rows = Vec::with_capacity(partition.len());
            for batch in partition {
                let batch = RecordBatch::try_new(Arc::clone(&schema), batch.columns().to_vec())
                    .map_err(DataFusionError::from)?;
                rows.push(memory.keep(name, &batch, WhenNoRoom::Take)?);
            }
            partitions.push(rows);
        }
        if partitions.is_empty() {
            partitions.push(Vec::new());
        }
        let mut table = MemTable::try_new(Arc::clone(&schema), partitions.clone())?;
        let Some((made, rules)) = made.and_then(in_memory) else { return Ok((Arc::new(table), partitions)) };
        let default = |name: &String| Some((name.clone(), made.get_column_default(name)?.clone()));
        let names = schema.fields().iter().map(|field| field.name());
        let defaults: HashMap<String, Expr> = names.filter_map(default).collect();
        table = table.with_column_defaults(defaults);
        if let Some(constraints) = made.constraints() {
            table = table.with_constraints(constraints.clone());
        }
        let table: Arc<dyn TableProvider> = match rules {
            Some(rules) => {
                rules.go_on(&self.serials);
                // They are read again by the first statement that asks for them.
                *rules.taken.try_lock().map_err(|_| SqlError::Cancelled)? = None;
                Arc::new(RuledTable { table, rules: Arc::clone(rules) })
            }
            None => Arc::new(table),
        };
        Ok((table, partitions))
    }
}

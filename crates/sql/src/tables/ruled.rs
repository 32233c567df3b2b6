//! A table in memory with rules for its rows.

use super::rules::Rules;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{MemTable, Session, TableProvider};
use datafusion::common::{Constraints, Result};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// A table whose rows obey rules.
#[derive(Debug)]
pub(super) struct RuledTable {
    pub(super) table: MemTable,
    pub(super) rules: Arc<Rules>,
}

#[async_trait]
impl TableProvider for RuledTable {
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
}

/// True for a table whose rows are in memory.
pub(crate) fn is_in_memory(table: &dyn TableProvider) -> bool {
    in_memory(table).is_some()
}

/// The table in memory that a provider is, and its rules; nothing when it is something else.
pub(super) fn in_memory(table: &dyn TableProvider) -> Option<(&MemTable, Option<&Arc<Rules>>)> {
    if let Some(ruled) = table.downcast_ref::<RuledTable>() {
        return Some((&ruled.table, Some(&ruled.rules)));
    }
    table.downcast_ref::<MemTable>().map(|table| (table, None))
}

/// Removes all rows of a table in memory, and lets its numbers begin anew if that is wanted; false
/// when it is none.
pub(crate) async fn truncate(table: &dyn TableProvider, restarts: bool) -> bool {
    let Some((table, rules)) = in_memory(table) else { return false };
    let mut taken = match rules {
        Some(rules) => Some(rules.taken.lock().await),
        None => None,
    };
    for partition in &table.batches {
        partition.write().await.clear();
    }
    if let Some(taken) = &mut taken {
        **taken = None;
    }
    if let Some(rules) = rules.filter(|_| restarts) {
        rules.restart();
    }
    true
}

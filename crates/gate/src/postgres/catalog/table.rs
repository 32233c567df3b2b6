//! A table of the catalog as the engine scans it.

use super::definition::Definition;
use super::rows::{self, Listed, Row, table_oid};
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{SchemaProvider, Session, TableProvider};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use filbert_sql::{Access, SessionRights};
use std::sync::Arc;

/// One table; its rows are made when it is scanned.
#[derive(Debug)]
pub(super) struct CatalogTable {
    definition: &'static Definition,
    schema: SchemaRef,
}

impl CatalogTable {
    pub(super) fn new(definition: &'static Definition) -> Self {
        Self { definition, schema: definition.schema() }
    }

    async fn rows(&self, state: &dyn Session, filters: &[Expr]) -> Result<Vec<Row>> {
        let name = self.definition.name;
        if !self.definition.has_rows {
            return Ok(Vec::new());
        }
        if name == "pg_type" {
            return Ok(rows::types());
        }
        let Some(public) = public(state) else { return Ok(Vec::new()) };
        let rights = state.config().get_extension::<SessionRights>();
        let mut names = public.table_names();
        names.retain(|name| rights.as_ref().is_none_or(|rights| rights.may(Access::Read, name)));
        if name == "pg_attribute" {
            return attributes(public.as_ref(), names, filters).await;
        }
        let mut tables = Vec::with_capacity(names.len());
        for name in names {
            // A table that went away meanwhile is not there.
            if let Ok(Some(kind)) = public.table_type(&name).await {
                tables.push(Listed { name, is_view: kind == TableType::View });
            }
        }
        Ok(if name == "pg_class" { rows::class(&tables) } else { rows::others(name, &tables) })
    }
}

/// The schema that the tables of users are in.
fn public(state: &dyn Session) -> Option<Arc<dyn SchemaProvider>> {
    let state = state.as_any().downcast_ref::<SessionState>()?;
    state.catalog_list().catalog("filbert")?.schema("public")
}

/// The columns of all tables, or of the one that is asked for: to know the columns of a map takes a look at its entries.
async fn attributes(
    public: &dyn SchemaProvider,
    mut names: Vec<String>,
    filters: &[Expr],
) -> Result<Vec<Row>> {
    if let Some(wanted) = filters.iter().find_map(|filter| equal_to(filter, "attrelid")) {
        names.retain(|name| i64::from(table_oid(name)) == wanted);
    }
    let mut rows = Vec::new();
    for name in names {
        // One that cannot be looked at does not hide the others.
        if let Ok(Some(table)) = public.table(&name).await {
            rows.extend(rows::attributes(&name, &table.schema()));
        }
    }
    Ok(rows)
}

/// The number that a filter demands a column to be.
fn equal_to(filter: &Expr, column: &str) -> Option<i64> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = filter else { return None };
    let is_column = |expr: &Expr| match expr {
        Expr::Column(Column { name, .. }) => name == column,
        Expr::Cast(cast) => matches!(cast.expr.as_ref(), Expr::Column(Column { name, .. }) if name == column),
        _ => false,
    };
    let number = |expr: &Expr| match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => {
            text.parse().ok()
        }
        Expr::Literal(value, _) => match value.cast_to(&datafusion::arrow::datatypes::DataType::Int64) {
            Ok(ScalarValue::Int64(number)) => number,
            _ => None,
        },
        _ => None,
    };
    match (left.as_ref(), right.as_ref()) {
        (one, other) if is_column(one) => number(other),
        (one, other) if is_column(other) => number(one),
        _ => None,
    }
}

#[async_trait]
impl TableProvider for CatalogTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        // Only to see which table is asked for: the engine filters again.
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = self.rows(state, filters).await?;
        let batch = rows::batch(&self.schema, &rows)?;
        Ok(MemorySourceConfig::try_new_exec(&[vec![batch]], Arc::clone(&self.schema), projection.cloned())?)
    }
}

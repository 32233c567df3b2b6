//! A table of the catalog as the engine scans it.

use super::definition::{Definition, Shelf};
use super::information;
use super::rows::{self, Listed, Row, table_oid};
use crate::listing::{equal_to, public, readable, text};
use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::catalog::{SchemaProvider, Session, TableProvider};
use datafusion::common::{Result, ScalarValue};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
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
        if name == "pg_proc" {
            let plain = state.scalar_functions().keys().map(|name| (name.as_str(), "f"));
            let aggregates = state.aggregate_functions().keys().map(|name| (name.as_str(), "a"));
            let windows = state.window_functions().keys().map(|name| (name.as_str(), "w"));
            // Those of the engine's own use begin so.
            let all = plain.chain(aggregates).chain(windows).filter(|(name, _)| !name.starts_with("__"));
            return Ok(rows::functions(all));
        }
        let Some(public) = public(state) else { return Ok(Vec::new()) };
        let mut names = readable(state, public.as_ref());
        match name {
            "pg_attribute" => {
                if let Some(wanted) = filters.iter().find_map(|filter| number(equal_to(filter, "attrelid")?))
                {
                    names.retain(|name| i64::from(table_oid(name)) == wanted);
                }
                return columns(public.as_ref(), names, rows::attributes).await;
            }
            "columns" => {
                if let Some(wanted) = filters.iter().find_map(|filter| text(equal_to(filter, "table_name")?))
                {
                    names.retain(|name| name == wanted);
                }
                return columns(public.as_ref(), names, information::columns).await;
            }
            _ => {}
        }
        let mut tables = Vec::with_capacity(names.len());
        for name in names {
            // A table that went away meanwhile is not there.
            if let Ok(Some(kind)) = public.table_type(&name).await {
                tables.push(Listed { name, is_view: kind == TableType::View });
            }
        }
        Ok(match name {
            "pg_class" => rows::class(&tables),
            _ if self.definition.is_of(Shelf::Information) => information::rows(name, &tables),
            _ => rows::others(name, &tables),
        })
    }
}

/// The columns of these tables: to know those of a map takes a look at its entries.
async fn columns(
    public: &dyn SchemaProvider,
    names: Vec<String>,
    rows_of: fn(&str, &Schema) -> Vec<Row>,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for name in names {
        // One that cannot be looked at does not hide the others.
        if let Ok(Some(table)) = public.table(&name).await {
            rows.extend(rows_of(&name, &table.schema()));
        }
    }
    Ok(rows)
}

fn number(value: &ScalarValue) -> Option<i64> {
    match (text(value), value.cast_to(&DataType::Int64)) {
        (Some(text), _) => text.parse().ok(),
        (None, Ok(ScalarValue::Int64(number))) => number,
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

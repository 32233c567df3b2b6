//! A table of the catalog as the engine scans it.

use super::definition::{Definition, Shelf};
use super::information;
use super::rows::{self, Listed, Row, table_oid};
use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::catalog::{SchemaProvider, Session, TableProvider};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use filbert_sql::{Access, Object, SessionRights};
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
        names.retain(|name| {
            rights.as_ref().is_none_or(|rights| rights.may(Access::Read, &Object::table(name)))
        });
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

/// The schema that the tables of users are in.
fn public(state: &dyn Session) -> Option<Arc<dyn SchemaProvider>> {
    let state = state.as_any().downcast_ref::<SessionState>()?;
    state.catalog_list().catalog("filbert")?.schema("public")
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

/// What a filter demands a column to be.
fn equal_to<'a>(filter: &'a Expr, column: &str) -> Option<&'a ScalarValue> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = filter else { return None };
    let is_column = |expr: &Expr| match expr {
        Expr::Column(Column { name, .. }) => name == column,
        Expr::Cast(cast) => matches!(cast.expr.as_ref(), Expr::Column(Column { name, .. }) if name == column),
        _ => false,
    };
    match (left.as_ref(), right.as_ref()) {
        (one, Expr::Literal(value, _)) | (Expr::Literal(value, _), one) if is_column(one) => Some(value),
        _ => None,
    }
}

fn text(value: &ScalarValue) -> Option<&str> {
    match value {
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => {
            text.as_deref()
        }
        _ => None,
    }
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

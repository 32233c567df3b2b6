//! `information_schema` as clients of Hazelcast know it: tables and columns by Hazelcast's names and types.
//!
//! Hazelcast's JDBC driver reads `tables` and `columns` for its `getTables` and `getColumns`. It takes `is_nullable` for a Boolean and
//! `data_type` for a type of Hazelcast, so the engine's own `information_schema` makes it fail. Nothing can replace that one, so the two
//! tables are in another schema, and a statement that names them is written anew. Rows are made when a table is scanned, from the tables
//! that the session may read.

use super::columns::ColumnPlan;
use crate::listing::{equal_to, public, readable, text};
use crate::tables::HAZELCAST_INFORMATION;
use arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::{self, Ident, ObjectName, ObjectNamePart, Statement, VisitorMut};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What Hazelcast calls its only catalog.
const CATALOG: &str = "hazelcast";

/// The schema that clients name.
const NAMED: &str = "information_schema";

/// Longer texts are not those of tools.
const MOST_BYTES: usize = 32 << 10;

/// Deeper texts neither; parsing and dropping them takes stack.
const MOST_DEPTH: usize = 250;

/// A table of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tables,
    Columns,
}

impl Kind {
    fn of(name: &str) -> Option<Self> {
        match name {
            "tables" => Some(Self::Tables),
            "columns" => Some(Self::Columns),
            _ => None,
        }
    }

    /// The names of its columns, in Hazelcast's order.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Tables => &[
                "table_catalog",
                "table_schema",
                "table_name",
                "table_type",
                "self_referencing_column_name",
                "reference_generation",
                "user_defined_type_catalog",
                "user_defined_type_schema",
                "user_defined_type_name",
                "is_insertable_into",
                "is_typed",
                "commit_action",
            ],
            Self::Columns => &[
                "table_catalog",
                "table_schema",
                "table_name",
                "column_name",
                "column_external_name",
                "ordinal_position",
                "is_nullable",
                "data_type",
            ],
        }
    }

    fn schema(self) -> SchemaRef {
        let column = |name: &&str| {
            let data_type = if *name == ORDINAL { DataType::Int32 } else { DataType::Utf8 };
            Field::new(*name, data_type, true)
        };
        Arc::new(Schema::new(self.columns().iter().map(column).collect::<Vec<_>>()))
    }
}

/// The only column that holds numbers.
const ORDINAL: &str = "ordinal_position";

/// The statement with Hazelcast's `information_schema` in place of the engine's.
pub(super) fn adapted(statement: &str) -> Cow<'_, str> {
    let unchanged = Cow::Borrowed(statement);
    if statement.len() > MOST_BYTES
        || !statement.contains(NAMED)
        || filbert_sql::check_depth(statement, MOST_DEPTH).is_err()
    {
        return unchanged;
    }
    // What cannot be parsed, the engine refuses with its own words.
    let Ok(mut parsed) = Parser::parse_sql(&PostgreSqlDialect {}, statement) else { return unchanged };
    let [one @ (Statement::Query(_) | Statement::Explain { .. })] = parsed.as_mut_slice() else {
        return unchanged;
    };
    let mut renaming = Renaming { changed: false };
    let _ = filbert_sql::walk::change_statement(one, &mut renaming);
    if renaming.changed { Cow::Owned(one.to_string()) } else { unchanged }
}

/// A walk that puts the schema's name in this process in place of the one that clients know.
struct Renaming {
    changed: bool,
}

impl Renaming {
    /// Names the schema anew where the two parts are it and one of its tables, and says whether they are.
    fn rename(&mut self, schema: &mut Ident, table: &Ident) -> bool {
        let is_one = schema.value == NAMED && Kind::of(&table.value).is_some();
        if is_one {
            *schema = Ident::new(HAZELCAST_INFORMATION);
            self.changed = true;
        }
        is_one
    }
}

impl VisitorMut for Renaming {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        let before = relation.0.len().saturating_sub(2);
        let [ObjectNamePart::Identifier(schema), ObjectNamePart::Identifier(table)] =
            &mut relation.0[before..]
        else {
            return ControlFlow::Continue(());
        };
        if self.rename(schema, table) && before == 1 && relation.0[0].to_string() == CATALOG {
            relation.0.remove(0);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<()> {
        if let ast::Expr::CompoundIdentifier(parts) = expr
            && let [schema, table, _] = parts.as_mut_slice()
        {
            self.rename(schema, table);
        }
        ControlFlow::Continue(())
    }
}

/// The schema of the two tables. Nothing lists it: clients know them by another name.
#[derive(Debug)]
pub(in crate::hazelcast) struct Information;

#[async_trait]
impl SchemaProvider for Information {
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let table = |kind: Kind| Arc::new(InformationTable { kind, schema: kind.schema() });
        Ok(Kind::of(name).map(|kind| table(kind) as Arc<dyn TableProvider>))
    }

    fn table_exist(&self, name: &str) -> bool {
        Kind::of(name).is_some()
    }
}

/// A table whose rows are made when it is scanned.
#[derive(Debug)]
struct InformationTable {
    kind: Kind,
    schema: SchemaRef,
}

/// A row: texts, and the place of a column among its table's.
struct Row {
    texts: Vec<(&'static str, String)>,
    ordinal: Option<i32>,
}

impl Row {
    fn new(table: &str, more: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let of_all = [("table_catalog", CATALOG), ("table_schema", "public"), ("table_name", table)];
        let of_all = of_all.into_iter().map(|(column, text)| (column, text.to_owned()));
        Self { texts: of_all.chain(more).collect(), ordinal: None }
    }

    fn text(&self, column: &str) -> Option<&str> {
        self.texts.iter().find(|(name, _)| *name == column).map(|(_, text)| text.as_str())
    }
}

impl InformationTable {
    async fn rows(&self, state: &dyn Session, filters: &[Expr]) -> Vec<Row> {
        let Some(public) = public(state) else { return Vec::new() };
        let mut names = readable(state, public.as_ref());
        if let Some(wanted) = filters.iter().find_map(|filter| text(equal_to(filter, "table_name")?)) {
            names.retain(|name| name == wanted);
        }
        let mut rows = Vec::new();
        for name in names {
            // A table that went away meanwhile, or cannot be looked at, does not hide the others.
            match self.kind {
                Kind::Tables => {
                    if let Ok(Some(kind)) = public.table_type(&name).await {
                        rows.push(table_row(&name, kind == TableType::View));
                    }
                }
                Kind::Columns => {
                    if let Ok(Some(table)) = public.table(&name).await {
                        let visible = filbert_sql::visible_columns(table.as_ref());
                        rows.extend(column_rows(&name, &table.schema()).take(visible));
                    }
                }
            }
        }
        rows
    }

    fn batch(&self, rows: &[Row]) -> Result<RecordBatch> {
        let array = |name: &&str| -> ArrayRef {
            if *name == ORDINAL {
                return Arc::new(rows.iter().map(|row| row.ordinal).collect::<Int32Array>());
            }
            Arc::new(rows.iter().map(|row| row.text(name)).collect::<StringArray>())
        };
        let columns = self.kind.columns().iter().map(array).collect();
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

fn table_row(name: &str, is_view: bool) -> Row {
    let insertable = if is_view { "NO" } else { "YES" };
    let kind = if is_view { "VIEW" } else { "BASE TABLE" };
    let more = [("table_type", kind), ("is_insertable_into", insertable), ("is_typed", "NO")];
    Row::new(name, more.map(|(column, text)| (column, text.to_owned())))
}

fn column_rows<'a>(table: &'a str, schema: &'a Schema) -> impl Iterator<Item = Row> + 'a {
    schema.fields().iter().enumerate().map(move |(at, field)| {
        let more = [
            ("column_name", field.name().clone()),
            // As Hazelcast says it for every column: a text that JDBC's driver reads as a Boolean.
            ("is_nullable", "true".to_owned()),
            ("data_type", ColumnPlan::new(field).type_name().to_owned()),
        ];
        Row { ordinal: i32::try_from(at + 1).ok(), ..Row::new(table, more) }
    })
}

#[async_trait]
impl TableProvider for InformationTable {
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
        let rows = self.rows(state, filters).await;
        let batch = self.batch(&rows)?;
        Ok(MemorySourceConfig::try_new_exec(&[vec![batch]], Arc::clone(&self.schema), projection.cloned())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statements_about_its_tables_are_written_anew() {
        for untouched in [
            "SELECT 1",
            "SELECT * FROM information_schema.queries",
            "SELECT 'information_schema.tables'",
            "SELECT * FROM \"information_schema.tables\"",
            "SELECT * FROM Information_Schema.tables",
            "SELECT FROM information_schema.tables WHERE",
            "DELETE FROM information_schema.tables",
        ] {
            assert!(matches!(adapted(untouched), Cow::Borrowed(text) if text == untouched), "{untouched}");
        }
        for (text, wanted) in [
            ("SELECT * FROM information_schema.tables", "SELECT * FROM hazelcast_information.tables"),
            (
                "select table_name from hazelcast.information_schema.columns where column_name LIKE $1",
                "SELECT table_name FROM hazelcast_information.columns WHERE column_name LIKE $1",
            ),
            (
                "SELECT information_schema.tables.table_name FROM information_schema.tables",
                "SELECT hazelcast_information.tables.table_name FROM hazelcast_information.tables",
            ),
        ] {
            assert_eq!(adapted(text), wanted);
        }
    }
}

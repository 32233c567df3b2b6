//! The tables and views of an engine's catalog: found, to be kept, and made again.

use super::manifest::{Relation, Rows};
use crate::dialect;
use crate::engine::Sql;
use crate::error::SqlError;
use crate::files::Files;
use crate::layered_schema::LayeredSchema;
use crate::maps::MapsSchema;
use crate::names::Names;
use crate::tables::{TableContent, TableMemory};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use datafusion::catalog::{CatalogProvider, MemorySchemaProvider, SchemaProvider};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;
use std::fmt::Write;
use std::sync::Arc;

/// The schema that there is always.
const PUBLIC: &str = "public";

/// The tables and views that statements made.
pub(super) struct Relations {
    sql: Sql,
    catalog: Arc<dyn CatalogProvider>,
    memory: Arc<TableMemory>,
}

/// A table or a view that is there.
pub(super) struct FoundRelation {
    pub(super) schema: String,
    pub(super) name: String,
    pub(super) definition: Option<String>,
    /// The rows of a table in memory.
    pub(super) content: Option<TableContent>,
}

impl Relations {
    pub(super) fn of(sql: &Sql) -> Result<Self, SqlError> {
        let missing = || SqlError::Refused("there is no catalog filbert".to_owned());
        let catalog = sql.catalog().ok_or_else(missing)?;
        Ok(Self { sql: sql.clone(), catalog, memory: Arc::clone(sql.table_memory()) })
    }

    /// The schemas that statements made.
    pub(super) fn schemas(&self) -> Vec<String> {
        let is_made = |name: &String| {
            name != PUBLIC
                && self.catalog.schema(name).is_some_and(|schema| schema.is::<MemorySchemaProvider>())
        };
        let mut names: Vec<String> = self.catalog.schema_names().into_iter().filter(is_made).collect();
        names.sort();
        names
    }

    pub(super) fn add_schema(&self, name: &str) -> Result<(), SqlError> {
        self.catalog.register_schema(name, Arc::new(MemorySchemaProvider::new()))?;
        Ok(())
    }

    /// The tables that were registered in a schema, without maps and files.
    fn registered(&self, name: &str) -> Result<Arc<dyn SchemaProvider>, SqlError> {
        let missing = || SqlError::Refused(format!("there is no schema {name:?}"));
        let schema = self.catalog.schema(name).ok_or_else(missing)?;
        let below = match schema.downcast_ref::<MapsSchema>() {
            Some(maps) => Arc::clone(maps.registered()),
            None => schema,
        };
        Ok(match below.downcast_ref::<LayeredSchema<Files>>() {
            Some(files) => Arc::clone(files.registered()),
            None => below,
        })
    }

    /// Everything that can be kept, in order of names.
    pub(super) async fn found(&self) -> Result<Vec<FoundRelation>, SqlError> {
        let mut found = Vec::new();
        for schema in self.schemas().into_iter().chain([PUBLIC.to_owned()]) {
            let tables = self.registered(&schema)?;
            let mut names = tables.table_names();
            names.sort();
            for name in names {
                let Some(table) = tables.table(&name).await? else { continue };
                let content = TableContent::of(table.as_ref()).await;
                let definition = match &content {
                    Some(content) => content.definition.clone(),
                    None => table.get_table_definition().map(str::to_owned),
                };
                if definition.is_some() || content.is_some() {
                    found.push(FoundRelation { schema: schema.clone(), name, definition, content });
                }
            }
        }
        Ok(found)
    }

    /// Makes a table with its rows; returns them as the table has them.
    pub(super) async fn make_table(
        &self,
        relation: &Relation,
        rows: &Rows,
        schema: SchemaRef,
        partitions: Vec<Vec<RecordBatch>>,
    ) -> Result<Vec<Vec<RecordBatch>>, SqlError> {
        let content = TableContent {
            definition: relation.definition.clone(),
            schema,
            partitions,
            serials: rows.serials.clone(),
        };
        let registered = self.registered(&relation.schema)?;
        let name = &relation.name;
        let made = match &relation.definition {
            Some(_) => {
                self.define(relation).await?;
                registered.deregister_table(name)?
            }
            None => None,
        };
        let (table, rows) = content.into_table(name, made.as_deref(), &self.memory)?;
        registered.register_table(name.clone(), table)?;
        Ok(rows)
    }

    /// Makes views and tables of files, whatever their order; returns those that cannot be made, and why.
    pub(super) async fn make_all(&self, mut relations: Vec<Relation>) -> (Vec<Relation>, Vec<String>) {
        loop {
            let (before, mut failed, mut problems) = (relations.len(), Vec::new(), Vec::new());
            for relation in relations {
                if let Err(error) = self.define(&relation).await {
                    problems.push(format!(
                        "{:?} cannot be made now: {error}. Its definition is kept; to be rid of it, make another of its name and drop that",
                        relation.name
                    ));
                    failed.push(relation);
                }
            }
            // A view over one that was made in this round can be made in the next.
            if failed.is_empty() || failed.len() == before {
                return (failed, problems);
            }
            relations = failed;
        }
    }

    /// Runs the definition of a relation, which may have had another name when it was written.
    async fn define(&self, relation: &Relation) -> Result<(), SqlError> {
        let Some(definition) = &relation.definition else { return Ok(()) };
        let registered = self.registered(&relation.schema)?;
        let refused = || SqlError::Refused("its definition is another statement".to_owned());
        let (name, own) = (&relation.name, defined(definition)?.ok_or_else(refused)?.name);
        if own == *name {
            return self.run(definition).await;
        }
        let hidden = registered.deregister_table(&own)?;
        let ran = self.run(definition).await;
        if let Some(made) = registered.deregister_table(&own)? {
            registered.register_table(name.clone(), made)?;
        }
        if let Some(hidden) = hidden {
            registered.register_table(own, hidden)?;
        }
        ran
    }

    async fn run(&self, definition: &str) -> Result<(), SqlError> {
        self.sql.session().query(definition)?.collect().await.map(drop)
    }
}

/// What a definition makes.
struct Defined {
    name: String,
    /// A table in memory.
    is_table: bool,
}

/// Reads a definition; nothing when it is another statement than one that makes an empty table, a view or a table of files.
fn defined(definition: &str) -> Result<Option<Defined>, SqlError> {
    let mut statements = dialect::parse(definition)?;
    let (Some(statement), None) = (statements.pop_front(), statements.pop_front()) else { return Ok(None) };
    let (name, is_table) = match statement {
        Statement::CreateExternalTable(table) => (table.name, false),
        Statement::Statement(statement) => match *statement {
            SqlStatement::CreateView(view) => (view.name, false),
            SqlStatement::CreateTable(table) if table.query.is_none() => (table.name, true),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let name = name.0.last().and_then(|part| part.as_ident()).map(|name| Names::LowerCase.read(name));
    Ok(name.map(|name| Defined { name, is_table }))
}

/// Tells whether the definition of a relation would do something else than to make it. One that cannot be read does nothing.
pub(super) fn is_of_another_kind(relation: &Relation) -> bool {
    let Some(Ok(defined)) = relation.definition.as_deref().map(defined) else { return false };
    defined.is_none_or(|defined| defined.is_table != relation.rows.is_some())
}

/// Columns as text: an Arrow stream without batches, in hexadecimal digits.
pub(super) fn columns_text(schema: &SchemaRef) -> String {
    let mut bytes = Vec::new();
    // It writes to memory, and every schema of a table can be written.
    let written = StreamWriter::try_new(&mut bytes, schema).and_then(|mut writer| writer.finish());
    debug_assert!(written.is_ok(), "{written:?}");
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// The columns that such a text has.
pub(super) fn columns_of(text: &str) -> Option<SchemaRef> {
    let digits = text.as_bytes().chunks(2).map(|two| std::str::from_utf8(two).ok());
    let bytes: Vec<u8> = digits.map(|two| u8::from_str_radix(two?, 16).ok()).collect::<Option<Vec<u8>>>()?;
    Some(StreamReader::try_new(bytes.as_slice(), None).ok()?.schema())
}

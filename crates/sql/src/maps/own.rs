//! Runs statements of our own.

use super::definitions;
use super::mapping::Mapping;
use super::schema::MapsSchema;
use super::statement::OwnStatement;
use crate::error::SqlError;
use arrow::array::{RecordBatch, StringArray};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use filbert_grid::query::{BitmapOptions, IndexKind, IndexSettings, QueryError, UniqueKeyTransformation};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Runs a statement; what it says. It is awaited where statements are planned, as DataFusion's own definitions are.
pub(crate) async fn run(statement: OwnStatement, state: &SessionState) -> Result<RecordBatch, SqlError> {
    let schema = state.schema_for_ref("mapping")?;
    let columns = statement.columns();
    let statement = match definitions::run(statement, schema.as_ref()).await? {
        Some(other) => other,
        None => return Ok(RecordBatch::new_empty(columns)),
    };
    let Some(maps) = schema.downcast_ref::<MapsSchema>() else {
        return Err(SqlError::Refused("there are no maps here: the engine runs without a grid".to_owned()));
    };
    match statement {
        OwnStatement::CreateMapping { mapping, replaces, if_not_exists } => {
            create_mapping(maps, mapping, replaces, if_not_exists).await?;
        }
        OwnStatement::DropMapping { name, if_exists } => {
            if !maps.drop_mapping(&name) && !if_exists {
                return Err(SqlError::Refused(format!(
                    "there is no mapping {name:?}; SHOW MAPPINGS lists them"
                )));
            }
        }
        OwnStatement::ShowMappings => {
            let names = StringArray::from(maps.mapping_names());
            return Ok(RecordBatch::try_new(columns, vec![Arc::new(names)]).map_err(DataFusionError::from)?);
        }
        // Answered where queries, jobs and pools are known.
        OwnStatement::ShowQueries
        | OwnStatement::CreateJob { .. }
        | OwnStatement::DropJob { .. }
        | OwnStatement::ShowJobs
        | OwnStatement::ShowPools
        | OwnStatement::Truncate { .. }
        | OwnStatement::Rename { .. }
        | OwnStatement::Drop { .. } => {}
        OwnStatement::CreateIndex { name, table, columns, kind, options, if_not_exists } => {
            create_index(maps, &name, &table, &columns, (kind, &options), if_not_exists).await?;
        }
    }
    Ok(RecordBatch::new_empty(columns))
}

async fn create_mapping(
    maps: &MapsSchema,
    mapping: Mapping,
    replaces: bool,
    if_not_exists: bool,
) -> Result<(), SqlError> {
    let name = mapping.name.clone();
    if maps.registered().table_exist(&name) {
        return Err(SqlError::Refused(format!(
            "{name:?} is a table or view; choose another name for the mapping"
        )));
    }
    if maps.mapping(&name).is_some() && !replaces {
        return match if_not_exists {
            true => Ok(()),
            false => Err(SqlError::Refused(format!(
                "there is a mapping {name:?} already; CREATE OR REPLACE MAPPING replaces it"
            ))),
        };
    }
    maps.add_mapping(mapping).await
}

async fn create_index(
    maps: &MapsSchema,
    name: &str,
    table: &str,
    columns: &[String],
    (kind, options): (IndexKind, &BTreeMap<String, String>),
    if_not_exists: bool,
) -> Result<(), SqlError> {
    let Some(table) = maps.map_table(table).await? else {
        // Programs such as pandas make one for each table. All rows are in memory, and are looked through.
        if let Some(rows) = maps.registered().table(table).await?
            && crate::tables::is_in_memory(rows.as_ref())
        {
            let known = rows.schema();
            return match columns.iter().find(|column| known.index_of(column).is_err()) {
                None => Ok(()),
                Some(column) => {
                    Err(SqlError::Refused(format!("the table {table:?} has no column {column:?} to index")))
                }
            };
        }
        return Err(SqlError::Refused(format!("there is no map {table:?} to index; only maps have indexes")));
    };
    if table.indexes.iter().any(|index| index.name() == name) {
        return match if_not_exists {
            true => Ok(()),
            false => Err(SqlError::Refused(format!(
                "the map {:?} has an index {name:?} already",
                table.layout.map
            ))),
        };
    }
    let mut attributes = Vec::new();
    for column in columns {
        let Some(known) = table.layout.column(column) else {
            let map = &table.layout.map;
            return Err(SqlError::Refused(format!("the map {map:?} has no column {column:?} to index")));
        };
        let Some(attribute) = known.attribute() else {
            let map = &table.layout.map;
            let text = format!(
                "the field of column {column:?} of the map {map:?} has a name that is a path to indexes; it cannot be indexed"
            );
            return Err(SqlError::Refused(text));
        };
        attributes.push(attribute);
    }
    let refused = |error: &dyn std::fmt::Display| SqlError::Refused(format!("index {name:?}: {error}"));
    let settings = IndexSettings::new(&table.layout.map, kind, Some(name), attributes)
        .and_then(|settings| with_options(settings, options))
        .map_err(|error| refused(&error))?;
    table.map.add_index(settings).await.map_err(|error| refused(&error))
}

/// A bitmap index may say what tells its entries apart, in Hazelcast's words.
fn with_options(
    settings: IndexSettings,
    options: &BTreeMap<String, String>,
) -> Result<IndexSettings, QueryError> {
    if options.is_empty() {
        return Ok(settings);
    }
    let mut bitmap =
        BitmapOptions { unique_key: "__key".parse()?, transformation: UniqueKeyTransformation::default() };
    for (name, value) in options {
        match name.as_str() {
            "unique_key" => bitmap.unique_key = value.parse()?,
            "unique_key_transformation" => bitmap.transformation = UniqueKeyTransformation::of_word(value)?,
            _ => {
                let problem = format!(
                    "{name:?} is no option of an index; unique_key and unique_key_transformation are, of a bitmap index"
                );
                return Err(QueryError::BadArgument { what: "index", problem });
            }
        }
    }
    settings.with_bitmap_options(bitmap)
}

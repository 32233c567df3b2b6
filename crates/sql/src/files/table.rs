//! Files as a table of DataFusion.
//!
//! The columns are found once, or declared; which files there are is looked at for every statement, so that a file that appears later
//! is read as well.

use super::Files;
use super::access::problem;
use super::arrow_files::columns_of;
use super::coded::coded_columns;
use super::encoder::options_of;
use super::json_columns::json_columns;
use super::kind::{FileKind, file_endings};
use super::location::Location;
use super::sniff::{begin_of, names_in_order, separator};
use super::source::{Reading, owned};
use super::store::{FileStore, has_whole};
use crate::error::SqlError;
use crate::plainly::plainly;
use crate::query::QueryContext;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::execution::SessionState;
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, SortExpr, TableProviderFilterPushDown, TableType};
use datafusion::object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use datafusion::physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt, stream};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use url::Url;

/// Rows of JSON in which columns are looked for, unless it is said how many.
const LOOKED_AT: usize = 1_000;

/// Files that are looked at side by side.
const SIDE_BY_SIDE: usize = 16;

/// Files, read as one table.
#[derive(Debug, Clone)]
pub(super) struct FileTable {
    files: Files,
    locations: Vec<Location>,
    kind: FileKind,
    format: Arc<dyn FileFormat>,
    schema: SchemaRef,
    /// Set for CSV whose types were found in the first rows.
    is_guessed: bool,
    order: Vec<Vec<SortExpr>>,
    definition: Option<String>,
}

/// What a statement says of a table of files beside where they are.
#[derive(Debug, Default)]
pub(super) struct Declared {
    /// `None`: as the files' names end.
    pub(super) kind: Option<FileKind>,
    pub(super) options: HashMap<String, String>,
    /// `None`: found in the files.
    pub(super) schema: Option<SchemaRef>,
    pub(super) order: Vec<Vec<SortExpr>>,
    pub(super) definition: Option<String>,
    /// Columns that are found are texts.
    pub(super) all_text: bool,
    /// True where texts are codes, as far as the files have them so.
    pub(super) is_coded: bool,
}

impl FileTable {
    /// Looks at the files, unless all is declared.
    pub(super) async fn open(
        files: &Files,
        state: &SessionState,
        locations: Vec<Location>,
        declared: Declared,
    ) -> Result<Self> {
        let paths = files.expanded(locations.clone(), declared.kind).await.map_err(SqlError::into_plan)?;
        let kind = match declared.kind {
            Some(kind) => kind,
            None => kind_of(&paths).map_err(SqlError::into_plan)?,
        };
        let Declared { mut options, schema, order, definition, all_text, is_coded, .. } = declared;
        if schema.is_none() && kind == FileKind::Csv && !options.contains_key(SEPARATOR) {
            let begin = begin_of(&store_of(state)?, url_of(&paths[0])?.prefix()).await?;
            if let Some(separator) = separator(&begin).or_else(|| is_of_tabs(&paths[0]).then_some(b'\t')) {
                options.insert(SEPARATOR.to_owned(), char::from(separator).to_string());
            }
        }
        let format = format_of(kind, state, &options)?;
        let rows = options_of(kind, state.default_table_options(), &options)?.json.schema_infer_max_rec;
        let is_guessed = schema.is_none() && kind == FileKind::Csv && !all_text;
        let schema = match schema {
            Some(schema) => schema,
            None => {
                let (schema, objects) = found(state, &*format, &paths, rows.unwrap_or(LOOKED_AT)).await?;
                match kind {
                    _ if all_text => as_texts(&schema),
                    FileKind::Parquet if is_coded => {
                        coded_columns(state, &store_of(state)?, &objects, &schema).await?
                    }
                    _ => schema,
                }
            }
        };
        for column in order.iter().flatten().flat_map(|sort| sort.expr.column_refs()) {
            if schema.index_of(&column.name).is_err() {
                let known =
                    schema.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>().join(", ");
                let text = format!("WITH ORDER: there is no column {:?}\nThere are: {known}", column.name);
                return Err(SqlError::Refused(text).into_plan());
            }
        }
        Ok(Self { files: files.clone(), locations, kind, format, schema, is_guessed, order, definition })
    }
}

/// The option that says what is between two values.
const SEPARATOR: &str = "format.delimiter";

/// True for a file whose ending says that tabs are between its values.
fn is_of_tabs(path: &Path) -> bool {
    let name = path.to_string_lossy().to_lowercase();
    name.ends_with(".tsv") || name.contains(".tsv.")
}

/// What all the files are.
fn kind_of(paths: &[PathBuf]) -> std::result::Result<FileKind, SqlError> {
    let mut known = None;
    for path in paths {
        let Some(kind) = FileKind::of_path(path) else {
            let text = format!(
                "its ending says not what is in it, as {} do; CREATE EXTERNAL TABLE ... STORED AS ... LOCATION says it",
                file_endings().join(", ")
            );
            return Err(problem(path, &text));
        };
        if *known.get_or_insert(kind) != kind {
            return Err(problem(
                path,
                "this is of another format than the other files; read one format at a time",
            ));
        }
    }
    known.ok_or_else(|| SqlError::Refused("there are no files".to_owned()))
}

pub(super) fn format_of(
    kind: FileKind,
    state: &SessionState,
    options: &HashMap<String, String>,
) -> Result<Arc<dyn FileFormat>> {
    // DataFusion would take what is not done here, and then not do it. An Arrow file has no options to be wrong.
    if kind != FileKind::Arrow {
        options_of(kind, state.default_table_options(), options)?;
    }
    let Some(factory) = state.get_file_format_factory(kind.words()[0]) else {
        return Err(internal_datafusion_err!("the format {:?} is registered", kind.words()));
    };
    factory.create(state, options)
}

async fn columns(
    state: &SessionState,
    format: &dyn FileFormat,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    rows: usize,
) -> Result<SchemaRef> {
    match FileKind::of_word(&format.get_ext()) {
        Some(FileKind::Arrow) => columns_of(store, objects).await,
        Some(FileKind::Json) => {
            let schema = json_columns(store, objects, rows).await?;
            let begin = match objects.first() {
                Some(object) => begin_of(store, &object.location).await?,
                None => Vec::new(),
            };
            Ok(in_order(&schema, &names_in_order(&begin)))
        }
        _ => format.infer_schema(state, store, objects).await,
    }
}

/// The same columns, those of `names` first and in that order.
fn in_order(schema: &SchemaRef, names: &[String]) -> SchemaRef {
    let place = |name: &String| names.iter().position(|other| other == name).unwrap_or(usize::MAX);
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    fields.sort_by_key(|field| place(field.name()));
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The same columns, of texts.
fn as_texts(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_data_type(DataType::Utf8));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Where the bytes of files come from.
fn store_of(state: &SessionState) -> Result<Arc<dyn ObjectStore>> {
    state.runtime_env().object_store(ObjectStoreUrl::local_filesystem())
}

/// The columns of the files, and the files; what goes wrong names the file.
async fn found(
    state: &SessionState,
    format: &dyn FileFormat,
    paths: &[PathBuf],
    rows: usize,
) -> Result<(SchemaRef, Vec<ObjectMeta>)> {
    let store = store_of(state)?;
    let look = |path: &PathBuf| {
        let (store, path) = (Arc::clone(&store), path.clone());
        async move {
            Ok::<ObjectMeta, datafusion::error::DataFusionError>(store.head(url_of(&path)?.prefix()).await?)
        }
    };
    let objects: Vec<ObjectMeta> =
        stream::iter(paths.iter().map(look).collect::<Vec<_>>()).buffered(SIDE_BY_SIDE).try_collect().await?;
    let error = match columns(state, format, &store, &objects, rows).await {
        Ok(schema) if schema.fields().is_empty() => {
            let text = "no columns can be found in it; it is empty, or not what its ending says";
            return Err(problem(&paths[0], text).into_plan());
        }
        Ok(schema) => return Ok((schema, objects)),
        Err(error) => error,
    };
    if let Some(own) = SqlError::within(&error) {
        return Err(own.into_plan());
    }
    // Which of them is it?
    for (path, object) in paths.iter().zip(&objects) {
        if let Err(error) = columns(state, format, &store, std::slice::from_ref(object), rows).await {
            return Err(problem(path, &plainly(&error)).into_plan());
        }
    }
    let text = format!("this and the other files have not the same columns: {}", plainly(&error));
    Err(problem(&paths[0], &text).into_plan())
}

fn url_of(path: &Path) -> Result<ListingTableUrl> {
    let url =
        Url::from_file_path(path).map_err(|()| problem(path, "this path cannot be read").into_plan())?;
    ListingTableUrl::try_new(url, None)
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn get_table_definition(&self) -> Option<&str> {
        self.definition.as_deref()
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let expanded = self.files.expanded(self.locations.clone(), Some(self.kind));
        let paths = expanded.await.map_err(SqlError::into_plan)?;
        let urls = paths.iter().map(|path| url_of(path)).collect::<Result<Vec<_>>>()?;
        let options = ListingOptions::new(Arc::clone(&self.format))
            .with_file_extension("")
            .with_file_sort_order(self.order.clone());
        let config = ListingTableConfig::new_with_multi_paths(urls)
            .with_listing_options(options)
            .with_schema(Arc::clone(&self.schema));
        let statistics = state.runtime_env().cache_manager.get_file_statistic_cache();
        let table = ListingTable::try_new(config)?.with_cache(statistics);
        let (access, kind) = (Arc::clone(&self.files.access), self.kind);
        let looked = self.files.reactor.submit("look at files", move || has_whole(&paths, kind, &access));
        let is_whole = looked.await.map_err(SqlError::from).and_then(|looked| looked);
        let is_whole = is_whole.map_err(SqlError::into_plan)?;
        let plan = table.scan(state, projection, filters, limit).await?;
        let query = state.config().get_extension::<QueryContext>();
        let reading = Reading {
            store: FileStore::new(Arc::clone(&self.files.access), self.files.reactor.clone()),
            progress: query.map(|query| query.files().clone()),
            is_whole,
            is_guessed: self.is_guessed,
        };
        Ok(owned(plan, self.files.cache.clone(), reading))
    }

    async fn insert_into(
        &self,
        _: &dyn Session,
        _: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let text = "a table of files takes no rows; COPY (query) TO 'file' writes a file beside the others";
        Err(SqlError::Refused(text.to_owned()).into_plan())
    }
}

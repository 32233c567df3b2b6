//! Texts of Parquet files as codes: the entries of a dictionary page, and a number for each row.
//!
//! Most writers put the different texts of a column chunk into one dictionary page, and only numbers into its data pages. Reading rows makes
//! each number a text again, and grouping by the column hashes that text. A reader that groups many rows wants the numbers as they are: it
//! then looks at each entry once, and not at the text of every row.
//!
//! ```text
//!   'a.parquet' --> CodedFiles: which columns have dictionary pages? --> FileTable with Dictionary(Int32, Utf8) columns
//!   each file   --> CodedMorselizer: its own columns, texts as codes --> DataFusion decodes numbers and entries only
//! ```
//!
//! A column is declared as codes when the first files have dictionary pages for all of it. A file that has other pages, such as one that was
//! written later, is still read: Arrow then makes a dictionary of its texts, which takes longer. Runs on stage `fragment`.

use super::Files;
use super::location::Location;
use super::table::{Declared, FileTable};
use crate::error::SqlError;
use crate::layered_schema::TableLayer;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::TableProvider;
use datafusion::common::Result;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::ParquetFileReaderFactory;
use datafusion::datasource::physical_plan::parquet::metadata::DFParquetMetadata;
use datafusion::datasource::physical_plan::{FileSource, ParquetSource};
use datafusion::execution::SessionState;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::parquet::arrow::parquet_to_arrow_schema;
use datafusion::parquet::basic::Encoding;
use datafusion::parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_datasource::morsel::{MorselPlan, MorselPlanner, Morselizer};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// How many files are asked which columns have dictionary pages.
const MOST_ASKED: usize = 16;

/// The type of a column of texts as codes.
fn coded() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// True for texts, whole or as codes.
pub(super) fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, entries) => is_text(entries),
        other => matches!(other, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View),
    }
}

/// Files by their path, whose texts are codes where the files have them so.
#[derive(Debug)]
pub(super) struct CodedFiles(pub(super) Files);

#[async_trait]
impl TableLayer for CodedFiles {
    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn has(&self, _: &str) -> bool {
        false
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if !Location::is_meant(name) {
            return Ok(None);
        }
        let location = Location::parse(name).map_err(SqlError::into_plan)?;
        let declared = Declared { is_coded: true, ..Declared::default() };
        let table = FileTable::open(&self.0, &self.0.state, vec![location], declared).await?;
        Ok(Some(Arc::new(table)))
    }
}

/// The columns of Parquet files, where texts with dictionary pages are codes.
pub(super) async fn coded_columns(
    state: &SessionState,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
    schema: &SchemaRef,
) -> Result<SchemaRef> {
    let mut names: BTreeSet<&str> = schema
        .fields()
        .iter()
        .filter(|field| is_text(field.data_type()))
        .map(|field| field.name().as_str())
        .collect();
    for object in objects.iter().take(MOST_ASKED) {
        let metadata = DFParquetMetadata::new(store.as_ref(), object)
            .with_file_metadata_cache(Some(state.runtime_env().cache_manager.get_file_metadata_cache()))
            .with_page_index_policy(Some(PageIndexPolicy::Skip))
            .fetch_metadata()
            .await?;
        names.retain(|name| has_dictionaries(&metadata, name));
    }
    Ok(with_codes(schema, |name| names.contains(name)))
}

/// True when all data pages of a column are numbers of entries, as far as the file tells.
fn has_dictionaries(metadata: &ParquetMetaData, name: &str) -> bool {
    let is_whole = |chunk: &ColumnChunkMetaData| {
        let is_only_codes = chunk.page_encoding_stats_mask().is_none_or(|encodings| {
            encodings.is_only(Encoding::RLE_DICTIONARY) || encodings.is_only(Encoding::PLAIN_DICTIONARY)
        });
        chunk.dictionary_page_offset().is_some() && is_only_codes
    };
    let of_group = |columns: &[ColumnChunkMetaData]| {
        columns
            .iter()
            .any(|chunk| matches!(chunk.column_path().parts(), [only] if only == name) && is_whole(chunk))
    };
    metadata.row_groups().iter().all(|group| of_group(group.columns()))
}

/// The columns, of which chosen texts are codes.
fn with_codes(schema: &Schema, is_chosen: impl Fn(&str) -> bool) -> SchemaRef {
    let field = |field: &Arc<Field>| {
        if is_chosen(field.name()) && is_text(field.data_type()) {
            Arc::new(field.as_ref().clone().with_data_type(coded()))
        } else {
            Arc::clone(field)
        }
    };
    let fields: Vec<Arc<Field>> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Tells the reader of each file which of its texts to leave as codes.
pub(super) struct CodedMorselizer {
    inner: Arc<dyn Morselizer>,
    readers: Arc<dyn ParquetFileReaderFactory>,
    partition: usize,
    columns: Arc<BTreeSet<String>>,
}

impl fmt::Debug for CodedMorselizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodedMorselizer").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl CodedMorselizer {
    /// Reads files by `inner`; as they are where the source has no column of codes.
    pub(super) fn over(
        inner: Box<dyn Morselizer>,
        source: &dyn FileSource,
        partition: usize,
    ) -> Box<dyn Morselizer> {
        let fields = source.table_schema().file_schema().fields();
        let of_codes = fields.iter().filter(|field| *field.data_type() == coded());
        let columns: BTreeSet<String> = of_codes.map(|field| field.name().clone()).collect();
        let readers =
            source.downcast_ref::<ParquetSource>().and_then(ParquetSource::parquet_file_reader_factory);
        match readers {
            Some(readers) if !columns.is_empty() => Box::new(Self {
                inner: inner.into(),
                readers: Arc::clone(readers),
                partition,
                columns: Arc::new(columns),
            }),
            _ => inner,
        }
    }
}

impl Morselizer for CodedMorselizer {
    fn plan_file(&self, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        let metrics = ExecutionPlanMetricsSet::new();
        let mut reader = self.readers.create_reader(self.partition, file.clone(), None, &metrics)?;
        let (inner, columns) = (Arc::clone(&self.inner), Arc::clone(&self.columns));
        let plan = MorselPlan::new().with_pending_planner(async move {
            let metadata = reader.get_metadata(None).await?;
            let described = metadata.file_metadata();
            let found = parquet_to_arrow_schema(described.schema_descr(), described.key_value_metadata())?;
            let schema = with_codes(&found, |name| columns.contains(name));
            inner.plan_file(file.with_arrow_schema(schema))
        });
        Ok(Box::new(Looking(plan)))
    }
}

/// Waits for what is in the file.
struct Looking(MorselPlan);

impl fmt::Debug for Looking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Looking")
    }
}

impl MorselPlanner for Looking {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        Ok(Some(self.0))
    }
}

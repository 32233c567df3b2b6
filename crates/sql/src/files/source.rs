//! How files of any format are read: as DataFusion does, with errors that name the file and with columns from the cache.

use super::arrow_files::ArrowFiles;
use super::cache::{ColumnCache, caching};
use super::coded::CodedMorselizer;
use super::named::NamedMorselizer;
use super::progress::{FileParts, FileProgress};
use super::store::FileStore;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::object_store::ObjectStore;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::filter_pushdown::FilterPushdownPropagation;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, ExecutionPlan, SortOrderPushdownResult};
use datafusion_datasource::morsel::Morselizer;
use std::fmt;
use std::sync::Arc;

/// The plan of a scan of files, as ours.
pub(super) fn owned(
    plan: Arc<dyn ExecutionPlan>,
    cache: Option<Arc<ColumnCache>>,
    reading: Reading,
) -> Arc<dyn ExecutionPlan> {
    let Some(config) = plan
        .downcast_ref::<DataSourceExec>()
        .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>())
    else {
        return plan;
    };
    if let Some(progress) = &reading.progress {
        let files = config.file_groups.iter().flat_map(|group| group.iter());
        progress.expect(files.map(|file| file.object_meta.size).sum());
    }
    let source = Arc::new(OwnSource { format: Arc::clone(config.file_source()), cache, reading });
    let config = FileScanConfigBuilder::from(config.clone()).with_source(source).build();
    DataSourceExec::from_data_source(config)
}

/// The way in which the files of a scan are read.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) store: FileStore,
    /// The counters of what a query reads.
    pub(super) progress: Option<FileProgress>,
    /// Set for files that cannot be read in parts.
    pub(super) is_whole: bool,
    /// Set where types were found in the first rows, and not declared.
    pub(super) is_guessed: bool,
}

/// A source of some format.
struct OwnSource {
    format: Arc<dyn FileSource>,
    cache: Option<Arc<ColumnCache>>,
    reading: Reading,
}

impl OwnSource {
    fn again(&self, format: Arc<dyn FileSource>) -> Arc<dyn FileSource> {
        Arc::new(Self { format, cache: self.cache.clone(), reading: self.reading.clone() })
    }
}

impl FileSource for OwnSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        self.format.create_file_opener(store, config, partition)
    }

    fn create_morselizer(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Box<dyn Morselizer>> {
        let json = (self.file_type() == "json").then(|| Arc::clone(&store));
        let is_text = ["csv", "json"].contains(&self.file_type());
        let parts = self.reading.progress.as_ref().map(|progress| FileParts::new(progress, !is_text));
        let store: Arc<dyn ObjectStore> = match &parts {
            Some(parts) => Arc::new(self.reading.store.counting(Arc::clone(parts))),
            None => store,
        };
        let cached = match &self.cache {
            Some(cache) => caching(cache, &*self.format, &store, config, partition)?,
            None => None,
        };
        let morselizer = match cached {
            Some(cached) => cached,
            None if ArrowFiles::reads(&*self.format) => {
                ArrowFiles(Arc::clone(&self.format)).create_morselizer(store, config, partition)?
            }
            None => self.format.create_morselizer(store, config, partition)?,
        };
        let morselizer = CodedMorselizer::over(morselizer, &*self.format, partition);
        let is_guessed = self.reading.is_guessed;
        Ok(Box::new(NamedMorselizer { inner: morselizer, json, parts, is_guessed }))
    }

    fn table_schema(&self) -> &TableSchema {
        self.format.table_schema()
    }

    fn with_batch_size(&self, rows: usize) -> Arc<dyn FileSource> {
        self.again(self.format.with_batch_size(rows))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.format.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.format.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.format.metrics()
    }

    fn file_type(&self) -> &str {
        self.format.file_type()
    }

    fn fmt_extra(&self, how: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.format.fmt_extra(how, f)
    }

    fn supports_repartitioning(&self) -> bool {
        !self.reading.is_whole && self.format.supports_repartitioning()
    }

    fn repartitioned(
        &self,
        partitions: usize,
        min_bytes: usize,
        order: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        if self.reading.is_whole {
            return Ok(None);
        }
        self.format.repartitioned(partitions, min_bytes, order, config)
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        options: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let mut pushed = self.format.try_pushdown_filters(filters, options)?;
        pushed.updated_node = pushed.updated_node.map(|format| self.again(format));
        Ok(pushed)
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        // It then reads in an order of its own, which the cache knows nothing of.
        let uncached = |format| -> Arc<dyn FileSource> {
            Arc::new(Self { format, cache: None, reading: self.reading.clone() })
        };
        Ok(match self.format.try_pushdown_sort(order, properties)? {
            SortOrderPushdownResult::Exact { inner } => {
                SortOrderPushdownResult::Exact { inner: uncached(inner) }
            }
            SortOrderPushdownResult::Inexact { inner } => {
                SortOrderPushdownResult::Inexact { inner: uncached(inner) }
            }
            SortOrderPushdownResult::Unsupported => SortOrderPushdownResult::Unsupported,
        })
    }

    fn reorder_files(&self, files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        self.format.reorder_files(files)
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        if self.cache.is_some()
            && is_computed_of_whole_columns(projection, self.format.projection(), self.table_schema())
        {
            // What is computed inside the scan cannot come from the cache; above it costs the same.
            return Ok(None);
        }
        Ok(self.format.try_pushdown_projection(projection)?.map(|format| self.again(format)))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.format.apply_expressions(f)
    }
}

/// True when something is computed, and nothing of a part of a column, which a scan may read alone.
fn is_computed_of_whole_columns(
    projection: &ProjectionExprs,
    below: Option<&ProjectionExprs>,
    table: &TableSchema,
) -> bool {
    let is_computed = projection.iter().any(|column| !column.expr.is::<Column>());
    let table = table.table_schema();
    let nested = |index: &usize| table.fields().get(*index).is_none_or(|field| field.data_type().is_nested());
    is_computed && below.is_some_and(|below| !below.column_indices().iter().any(nested))
}

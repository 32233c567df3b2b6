//! Errors of a scan that name the file.
//!
//! A scan of many files is one stream per partition, and which file it reads is decided as it goes. What goes wrong inside says at best a
//! line. So the source of each format is wrapped: whatever comes out of a file's own stream as an error gets the file's name, and where
//! the file is read in parts, the part, since lines are counted from its begin.

use super::arrow_files::ArrowFiles;
use super::json_line::broken_line;
use crate::error::SqlError;
use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileScanConfigBuilder, FileSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::DataFusionError;
use datafusion::object_store::ObjectStore;
use datafusion::object_store::path::Path;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::filter_pushdown::FilterPushdownPropagation;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, ExecutionPlan, SortOrderPushdownResult};
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner, Morselizer};
use futures::StreamExt;
use futures::stream::BoxStream;
use std::fmt;
use std::sync::Arc;

/// The plan of a scan of files, with errors that name them.
pub(super) fn named(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    let Some(config) = plan
        .downcast_ref::<DataSourceExec>()
        .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>())
    else {
        return plan;
    };
    let source = Arc::new(NamedSource(Arc::clone(config.file_source())));
    let config = FileScanConfigBuilder::from(config.clone()).with_source(source).build();
    DataSourceExec::from_data_source(config)
}

/// A source of some format whose errors name the file.
struct NamedSource(Arc<dyn FileSource>);

impl NamedSource {
    fn again(source: Arc<dyn FileSource>) -> Arc<dyn FileSource> {
        Arc::new(Self(source))
    }
}

impl FileSource for NamedSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        self.0.create_file_opener(store, config, partition)
    }

    fn create_morselizer(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Box<dyn Morselizer>> {
        let json = (self.file_type() == "json").then(|| Arc::clone(&store));
        let morselizer = match ArrowFiles::reads(&*self.0) {
            true => ArrowFiles(Arc::clone(&self.0)).create_morselizer(store, config, partition),
            false => self.0.create_morselizer(store, config, partition),
        };
        Ok(Box::new(NamedMorselizer(morselizer?, json)))
    }

    fn table_schema(&self) -> &TableSchema {
        self.0.table_schema()
    }

    fn with_batch_size(&self, rows: usize) -> Arc<dyn FileSource> {
        Self::again(self.0.with_batch_size(rows))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.0.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.0.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.0.metrics()
    }

    fn file_type(&self) -> &str {
        self.0.file_type()
    }

    fn fmt_extra(&self, how: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_extra(how, f)
    }

    fn supports_repartitioning(&self) -> bool {
        self.0.supports_repartitioning()
    }

    fn repartitioned(
        &self,
        partitions: usize,
        min_bytes: usize,
        order: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        self.0.repartitioned(partitions, min_bytes, order, config)
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        options: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let mut pushed = self.0.try_pushdown_filters(filters, options)?;
        pushed.updated_node = pushed.updated_node.map(Self::again);
        Ok(pushed)
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        Ok(match self.0.try_pushdown_sort(order, properties)? {
            SortOrderPushdownResult::Exact { inner } => {
                SortOrderPushdownResult::Exact { inner: Self::again(inner) }
            }
            SortOrderPushdownResult::Inexact { inner } => {
                SortOrderPushdownResult::Inexact { inner: Self::again(inner) }
            }
            SortOrderPushdownResult::Unsupported => SortOrderPushdownResult::Unsupported,
        })
    }

    fn reorder_files(&self, files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        self.0.reorder_files(files)
    }

    fn try_pushdown_projection(&self, projection: &ProjectionExprs) -> Result<Option<Arc<dyn FileSource>>> {
        Ok(self.0.try_pushdown_projection(projection)?.map(Self::again))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.0.apply_expressions(f)
    }
}

/// Which file, and which part of it.
#[derive(Debug, Clone)]
struct Name {
    text: Arc<str>,
    /// Where broken lines of JSON are looked for.
    json: Option<(Arc<dyn ObjectStore>, Path)>,
}

impl Name {
    fn of(file: &PartitionedFile, json: Option<&Arc<dyn ObjectStore>>) -> Self {
        let path = format!("/{}", file.object_meta.location);
        let json = json.map(|store| (Arc::clone(store), file.object_meta.location.clone()));
        let text = match &file.range {
            Some(range) if range.start > 0 => {
                format!("{path}, in the part that begins at byte {}", range.start).into()
            }
            _ => path.into(),
        };
        Self { text, json }
    }

    fn tell(&self, error: DataFusionError) -> DataFusionError {
        if let Some(own) = SqlError::within(&error) {
            return own.into_plan();
        }
        let problem = counted_from_one(error.strip_backtrace());
        SqlError::File { path: self.text.to_string(), problem }.into_plan()
    }

    /// The same with the line, where it can be found.
    async fn tell_line(self, error: DataFusionError) -> DataFusionError {
        let line = match (&self.json, SqlError::within(&error)) {
            (Some((store, place)), None) => broken_line(Arc::clone(store), place.clone()).await,
            _ => None,
        };
        match line {
            Some(line) => {
                let path = format!("/{}", self.json.map(|(_, place)| place.to_string()).unwrap_or_default());
                let problem = format!("line {line} is no JSON: {}", error.strip_backtrace());
                SqlError::File { path, problem }.into_plan()
            }
            None => self.tell(error),
        }
    }
}

/// The reader of CSV counts lines from zero where a value does not fit its column.
fn counted_from_one(problem: String) -> String {
    const BEFORE: &str = " at line ";
    for (found, _) in problem.match_indices(BEFORE) {
        let begin = found + BEFORE.len();
        let digits = problem[begin..].bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = problem[begin..].split_at(digits);
        if let Ok(number) = number.parse::<u64>()
            && (rest.starts_with(". Row data:") || rest.starts_with(": "))
        {
            return format!("{}{}{rest}", &problem[..begin], number + 1);
        }
    }
    problem
}

#[derive(Debug)]
struct NamedMorselizer(Box<dyn Morselizer>, Option<Arc<dyn ObjectStore>>);

impl Morselizer for NamedMorselizer {
    fn plan_file(&self, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        let name = Name::of(&file, self.1.as_ref());
        let planner = self.0.plan_file(file).map_err(|error| name.tell(error))?;
        Ok(Box::new(NamedPlanner(planner, name)))
    }
}

#[derive(Debug)]
struct NamedPlanner(Box<dyn MorselPlanner>, Name);

impl MorselPlanner for NamedPlanner {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let Self(planner, name) = *self;
        let Some(mut plan) = planner.plan().map_err(|error| name.tell(error))? else { return Ok(None) };
        let morsels = plan.take_morsels().into_iter();
        let planners = plan.take_ready_planners().into_iter();
        let mut told = MorselPlan::new()
            .with_morsels(morsels.map(|morsel| Box::new(NamedMorsel(morsel, name.clone())) as _).collect())
            .with_planners(
                planners.map(|planner| Box::new(NamedPlanner(planner, name.clone())) as _).collect(),
            );
        if let Some(pending) = plan.take_pending_planner() {
            told.set_pending_planner(async move {
                let planner = pending.into_future().await.map_err(|error| name.tell(error))?;
                Ok(Box::new(NamedPlanner(planner, name)) as Box<dyn MorselPlanner>)
            });
        }
        Ok(Some(told))
    }
}

#[derive(Debug)]
struct NamedMorsel(Box<dyn Morsel>, Name);

impl Morsel for NamedMorsel {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        let Self(morsel, name) = *self;
        let told = move |batch: Result<RecordBatch>| {
            let name = name.clone();
            async move {
                match batch {
                    Ok(batch) => Ok(batch),
                    Err(error) => Err(name.tell_line(error).await),
                }
            }
        };
        morsel.into_stream().then(told).boxed()
    }
}

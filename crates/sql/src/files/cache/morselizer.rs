//! A scan of Parquet files that takes from the cache what is there, and puts there what is worth it.
//!
//! For each file the row groups are looked at that its conditions leave. Those whose columns are all in the cache come from memory; of those
//! that are worth keeping, what is missing is read whole, without conditions, and kept at its end; the others are read by DataFusion as ever. A
//! row group too many costs time only: the conditions are checked above the scan in any case.

use super::super::coded::is_text;
use super::side_by_side::Cursor;
use super::{ChunkKey, ColumnCache, FileVersion, Pieces};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::SchemaRef;
use datafusion::common::{Result, internal_err};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::{
    ParquetAccessPlan, ParquetFileMetrics, ParquetFileReaderFactory, ParquetRowSelection,
    RowGroupAccessPlanFilter,
};
use datafusion::datasource::physical_plan::{FileScanConfig, FileSource, ParquetSource};
use datafusion::object_store::ObjectStore;
use datafusion::parquet::arrow::parquet_to_arrow_schema;
use datafusion::parquet::file::metadata::ParquetMetaData;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, lit};
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner, Morselizer};
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use std::fmt;
use std::sync::Arc;

/// The scan of one partition with the cache between, where that can be.
pub(in crate::files) fn caching(
    cache: &Arc<ColumnCache>,
    source: &dyn FileSource,
    store: &Arc<dyn ObjectStore>,
    config: &FileScanConfig,
    partition: usize,
) -> Result<Option<Box<dyn Morselizer>>> {
    let Some(source) = source.downcast_ref::<ParquetSource>() else { return Ok(None) };
    let Some(scan) = Scan::new(cache, source, store, config, partition)? else { return Ok(None) };
    Ok(Some(Box::new(CachingMorselizer(Arc::new(scan)))))
}

/// What all files of a scan have in common.
struct Scan {
    cache: Arc<ColumnCache>,
    source: ParquetSource,
    /// The same without conditions.
    whole: ParquetSource,
    /// As DataFusion reads it.
    plain: Box<dyn Morselizer>,
    readers: Arc<dyn ParquetFileReaderFactory>,
    store: Arc<dyn ObjectStore>,
    config: FileScanConfig,
    partition: usize,
    schema: SchemaRef,
    from_cache: Count,
}

impl fmt::Debug for Scan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Scan {
    /// None for scans that filter, stop early, compute or need no column: what they give is not what is in the file.
    fn new(
        cache: &Arc<ColumnCache>,
        source: &ParquetSource,
        store: &Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Option<Self>> {
        let filters = source.table_parquet_options().global.pushdown_filters && source.filter().is_some();
        let table = source.table_schema();
        let has_others = !table.table_partition_cols().is_empty();
        let (Some(projection), Some(readers)) = (source.projection(), source.parquet_file_reader_factory())
        else {
            return Ok(None);
        };
        let is_plain = projection.iter().all(|column| column.expr.is::<Column>());
        if filters || has_others || config.limit.is_some() || !is_plain || projection.iter().next().is_none()
        {
            return Ok(None);
        }
        Ok(Some(Self {
            cache: Arc::clone(cache),
            whole: source.with_predicate(lit(true)),
            plain: source.create_morselizer(Arc::clone(store), config, partition)?,
            readers: Arc::clone(readers),
            store: Arc::clone(store),
            config: config.clone(),
            partition,
            schema: Arc::new(projection.project_schema(table.table_schema())?),
            from_cache: MetricBuilder::new(source.metrics()).counter("columns_from_cache", partition),
            source: source.clone(),
        }))
    }

    /// The row groups of this part of the file that may have rows for the conditions.
    fn groups(&self, file: &PartitionedFile, metadata: &ParquetMetaData) -> Vec<usize> {
        let groups = metadata.row_groups();
        let mut left = RowGroupAccessPlanFilter::new(ParquetAccessPlan::new_all(groups.len()));
        if let Some(range) = &file.range {
            left.prune_by_range(groups, range);
        }
        let table = self.source.table_schema().file_schema();
        if let Some(predicate) = self.source.filter()
            && has_types_of(metadata, table, &predicate)
            && let Some(predicate) =
                PruningPredicateBuilder::new().with_file_schema(Arc::clone(table)).build(predicate)
        {
            // DataFusion counts those that it prunes itself; to count here would be to count twice.
            let uncounted = ExecutionPlanMetricsSet::new();
            let metrics = ParquetFileMetrics::new(self.partition, "", &uncounted);
            let schema = metadata.file_metadata().schema_descr();
            left.prune_by_statistics(table, schema, groups, &predicate, &metrics);
        }
        left.row_group_indexes().collect()
    }

    /// Reads the columns of these places of a row group, as they are in the file.
    fn load(
        &self,
        file: &PartitionedFile,
        group: Group<'_>,
        columns: &[usize],
    ) -> Result<Box<dyn MorselPlanner>> {
        let projection = ProjectionExprs::from_indices(columns, &self.schema);
        let Some(source) = self.whole.try_pushdown_projection(&projection)? else {
            return self.plain.plan_file(group.of(file));
        };
        let morselizer = source.create_morselizer(Arc::clone(&self.store), &self.config, self.partition)?;
        morselizer.plan_file(group.of(file))
    }
}

/// Some of a file's row groups.
#[derive(Clone, Copy)]
struct Group<'a> {
    indexes: &'a [usize],
    all: usize,
}

impl Group<'_> {
    /// The file, of which only these are read.
    fn of(self, file: &PartitionedFile) -> PartitionedFile {
        let mut plan = ParquetAccessPlan::new_none(self.all);
        for index in self.indexes {
            plan.scan(*index);
        }
        let mut file = file.clone();
        file.range = None;
        file.extensions.insert(plan);
        file
    }
}

/// True when the columns of the conditions are in the file as what the table says, or as a text in another form.
fn has_types_of(metadata: &ParquetMetaData, table: &SchemaRef, predicate: &Arc<dyn PhysicalExpr>) -> bool {
    let file = metadata.file_metadata();
    let Ok(found) = parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata()) else {
        return false;
    };
    collect_columns(predicate).iter().all(|column| {
        match (found.field_with_name(column.name()), table.field_with_name(column.name())) {
            (Ok(found), Ok(declared)) => {
                found.data_type() == declared.data_type()
                    || (is_text(found.data_type()) && is_text(declared.data_type()))
            }
            _ => false,
        }
    })
}

#[derive(Debug)]
struct CachingMorselizer(Arc<Scan>);

impl Morselizer for CachingMorselizer {
    fn plan_file(&self, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        let is_part = file.extensions.get::<ParquetAccessPlan>().is_some()
            || file.extensions.get::<ParquetRowSelection>().is_some();
        match FileVersion::of(&file.object_meta) {
            Some(version) if !is_part => {
                Ok(Box::new(Opening { scan: Arc::clone(&self.0), file, version: Arc::new(version) }))
            }
            _ => self.0.plain.plan_file(file),
        }
    }
}

/// Wants to know what is in the file.
#[derive(Debug)]
struct Opening {
    scan: Arc<Scan>,
    file: PartitionedFile,
    version: Arc<FileVersion>,
}

impl MorselPlanner for Opening {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let Self { scan, file, version } = *self;
        let mut reader = scan.readers.create_reader(
            scan.partition,
            file.clone(),
            None,
            &ExecutionPlanMetricsSet::new(),
        )?;
        Ok(Some(MorselPlan::new().with_pending_planner(async move {
            let metadata = reader.get_metadata(None).await?;
            Ok(Box::new(Opened { scan, file, version, metadata }) as Box<dyn MorselPlanner>)
        })))
    }
}

/// Knows what is in the file.
#[derive(Debug)]
struct Opened {
    scan: Arc<Scan>,
    file: PartitionedFile,
    version: Arc<FileVersion>,
    metadata: Arc<ParquetMetaData>,
}

impl MorselPlanner for Opened {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let all = self.metadata.num_row_groups();
        let mut planners: Vec<Box<dyn MorselPlanner>> = Vec::new();
        // Row groups in a row that are read as ever, together.
        let mut others = Vec::new();
        for group in self.scan.groups(&self.file, &self.metadata) {
            match self.remembered(group)? {
                None => others.push(group),
                Some(planner) => {
                    self.read_others(&mut others, all, &mut planners)?;
                    planners.push(planner);
                }
            }
        }
        if planners.is_empty() {
            return self.scan.plain.plan_file(self.file)?.plan();
        }
        self.read_others(&mut others, all, &mut planners)?;
        Ok(Some(MorselPlan::new().with_planners(planners)))
    }
}

impl Opened {
    fn read_others(
        &self,
        others: &mut Vec<usize>,
        all: usize,
        planners: &mut Vec<Box<dyn MorselPlanner>>,
    ) -> Result<()> {
        if !others.is_empty() {
            planners.push(self.scan.plain.plan_file(Group { indexes: others, all }.of(&self.file))?);
            others.clear();
        }
        Ok(())
    }

    /// A row group from memory, as far as it is there; none when it is not worth it.
    fn remembered(&self, group: usize) -> Result<Option<Box<dyn MorselPlanner>>> {
        let scan = &self.scan;
        let key = |field: &Arc<arrow::datatypes::Field>| ChunkKey {
            file: Arc::clone(&self.version),
            group,
            column: field.name().as_str().into(),
            data_type: field.data_type().clone(),
        };
        let keys: Vec<ChunkKey> = scan.schema.fields().iter().map(key).collect();
        let found = scan.cache.find(&keys);
        scan.from_cache.add(found.iter().flatten().count());
        let missing: Vec<usize> =
            found.iter().enumerate().filter(|(_, pieces)| pieces.is_none()).map(|(index, _)| index).collect();
        if missing.is_empty() {
            let columns = found.into_iter().flatten().map(Cursor::new).collect();
            return Ok(Some(Box::new(Remembered { schema: Arc::clone(&scan.schema), columns })));
        }
        let unknown = || missing.iter().map(|index| &keys[*index]);
        if !scan.cache.is_worth_keeping(unknown(), self.bytes(group, unknown())) {
            return Ok(None);
        }
        let whole = Group { indexes: &[group], all: self.metadata.num_row_groups() };
        let planner = scan.load(&self.file, whole, &missing)?;
        let collector = Collector {
            schema: Arc::clone(&scan.schema),
            columns: found.into_iter().map(|pieces: Option<Pieces>| pieces.map(Cursor::new)).collect(),
            kept: missing.iter().map(|index| (keys[*index].clone(), Vec::new())).collect(),
            missing_rows: usize::try_from(self.metadata.row_group(group).num_rows()).unwrap_or(usize::MAX),
            cache: Arc::clone(&scan.cache),
        };
        Ok(Some(Box::new(Loading(planner, collector))))
    }

    /// About what the columns will take: twice what they are without compression.
    fn bytes<'a>(&self, group: usize, keys: impl Iterator<Item = &'a ChunkKey>) -> u64 {
        let columns = self.metadata.row_group(group).columns();
        let of = |key: &ChunkKey| {
            let parts = columns.iter().filter(|column| {
                column.column_path().parts().first().is_some_and(|first| *first == *key.column)
            });
            parts
                .map(|column| u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX))
                .fold(0, u64::saturating_add)
        };
        keys.map(of).fold(0, u64::saturating_add).saturating_mul(2)
    }
}

/// A row group that is in memory.
#[derive(Debug)]
struct Remembered {
    schema: SchemaRef,
    columns: Vec<Cursor>,
}

impl MorselPlanner for Remembered {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        Ok(Some(MorselPlan::new().with_morsels(vec![self])))
    }
}

impl Morsel for Remembered {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        let next = |mut rest: Box<Self>| {
            let rows = rest.columns.iter().map(Cursor::ahead).min().filter(|rows| *rows > 0)?;
            let columns = rest.columns.iter_mut().map(|column| column.take(rows));
            let batch = columns
                .collect::<std::result::Result<Vec<ArrayRef>, _>>()
                .and_then(|columns| RecordBatch::try_new(Arc::clone(&rest.schema), columns));
            Some((batch.map_err(Into::into), rest))
        };
        stream::unfold(self, move |rest| std::future::ready(next(rest))).boxed()
    }
}

/// What is missing of a row group, on its way from the file to the cache.
#[derive(Debug)]
struct Collector {
    schema: SchemaRef,
    /// By column; none for those that come from the file.
    columns: Vec<Option<Cursor>>,
    kept: Vec<(ChunkKey, Vec<ArrayRef>)>,
    missing_rows: usize,
    cache: Arc<ColumnCache>,
}

impl Collector {
    /// A batch from the file with the columns that were in memory; the last one makes the cache have all.
    fn join(&mut self, loaded: &RecordBatch) -> Result<RecordBatch> {
        for ((_, pieces), column) in self.kept.iter_mut().zip(loaded.columns()) {
            pieces.push(Arc::clone(column));
        }
        self.missing_rows = self.missing_rows.saturating_sub(loaded.num_rows());
        let mut from_file = loaded.columns().iter();
        let mut columns = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            columns.push(match column {
                Some(cursor) => cursor.take(loaded.num_rows())?,
                None => match from_file.next() {
                    Some(column) => Arc::clone(column),
                    None => return internal_err!("a column of a row group was not read"),
                },
            });
        }
        if self.missing_rows == 0 {
            for (key, pieces) in self.kept.drain(..) {
                self.cache.keep(key, pieces);
            }
        }
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

/// Reads what is missing; the collector goes to the first morsel, and a row group is one.
#[derive(Debug)]
struct Loading(Box<dyn MorselPlanner>, Collector);

impl MorselPlanner for Loading {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let Self(planner, collector) = *self;
        let Some(mut plan) = planner.plan()? else { return Ok(None) };
        let (mut morsels, mut planners) = (plan.take_morsels(), plan.take_ready_planners());
        let pending = plan.take_pending_planner();
        if morsels.len() + planners.len() + usize::from(pending.is_some()) > 1 {
            return internal_err!("a row group is read in one piece");
        }
        let mut next = MorselPlan::new();
        if let Some(pending) = pending {
            next.set_pending_planner(async move {
                Ok(Box::new(Loading(pending.into_future().await?, collector)) as Box<dyn MorselPlanner>)
            });
        } else if let Some(planner) = planners.pop() {
            next = next.with_planners(vec![Box::new(Loading(planner, collector))]);
        } else if let Some(morsel) = morsels.pop() {
            next = next.with_morsels(vec![Box::new(Loaded(morsel, collector))]);
        }
        Ok(Some(next))
    }
}

#[derive(Debug)]
struct Loaded(Box<dyn Morsel>, Collector);

impl Morsel for Loaded {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        let Self(morsel, mut collector) = *self;
        morsel.into_stream().map(move |batch| collector.join(&batch?)).boxed()
    }
}

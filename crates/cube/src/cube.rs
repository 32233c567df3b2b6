//! The cube: a forest over a table, and the queries that are asked of it.

use crate::drill::{DrillRows, DrillThrough, Through, drill};
use crate::error::CubeError;
use crate::execute::CancelToken;
use crate::filter::Filter;
use crate::forest::Forest;
use crate::kept::{Ages, Kept};
use crate::lead::{Question, lead};
use crate::memory::{CubeMemory, MemoryAccount};
use crate::plan::CubeColumns;
use crate::query::Query;
use crate::query_handle::{QueryHandle, QueryProgress};
use crate::table::Table;
use crate::turns::Turns;
use arrow::datatypes::DataType;
use filbert_pool::{StageKind, Stages, TaskFuture};
use futures::channel::mpsc;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What a user may see: a filter that is added to every query of theirs.
pub type Rights = Arc<dyn Fn(Option<&str>) -> Filter + Send + Sync>;

/// Measures over a table; a handle that is cheap to clone.
///
/// ```
/// use arrow::array::{AsArray, Float64Array, RecordBatch, StringArray};
/// use arrow::datatypes::Float64Type;
/// use filbert_cube::{Aggregator, Cube, Forest, MemoryTable, Query};
/// use filbert_pool::Stages;
/// use std::sync::Arc;
///
/// let stages = Stages::start()?;
/// let batch = RecordBatch::try_from_iter([
///     ("desk", Arc::new(StringArray::from(vec!["FX", "Rates", "FX"])) as _),
///     ("pnl", Arc::new(Float64Array::from(vec![1.5, 2.0, 3.0])) as _),
/// ])?;
/// let trades = MemoryTable::new("trades", batch.schema(), vec![batch])?;
/// let forest = Forest::builder().measure("pnl", Aggregator::sum("pnl")).build()?;
/// let cube = Cube::builder(&stages, forest, trades).build()?;
/// let result = cube.query(Query::new(["pnl"]).by(["desk"]))?.wait()?;
/// assert_eq!(result.batch().column(1).as_primitive::<Float64Type>().values(), &[4.5, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Cube {
    inner: Arc<Inner>,
}

struct Inner {
    stages: Stages,
    forest: Forest,
    table: Arc<dyn Table>,
    columns: CubeColumns,
    settings: CubeSettings,
    rights: Option<Rights>,
    kept: Arc<Kept>,
    turns: Arc<Turns>,
}

/// The numbers of a cube.
#[derive(Debug, Clone)]
pub(crate) struct CubeSettings {
    /// Into how many partitions slices are spread.
    pub(crate) partitions: usize,
    /// Fewer rows than this are not worth a second thread.
    pub(crate) parallel_from_rows: usize,
    /// What all cubes that share it may hold.
    pub(crate) memory: CubeMemory,
    /// What a query may hold, in bytes.
    pub(crate) memory_limit: usize,
    /// What dictionaries may hold before new ones are begun, in bytes.
    pub(crate) dictionary_limit: usize,
    /// What the cache may hold, in bytes.
    pub(crate) cache_bytes: usize,
    /// How old what it holds of a table without a version may become; without, it holds nothing of such tables.
    pub(crate) ages: Option<Ages>,
    /// Where queries put what has no room in memory, and how much each may.
    pub(crate) spill: Option<(PathBuf, u64)>,
}

/// Settings first, then [`CubeBuilder::build`].
#[must_use = "call `build`"]
pub struct CubeBuilder {
    stages: Stages,
    forest: Forest,
    table: Arc<dyn Table>,
    settings: CubeSettings,
    expire_after: Option<Duration>,
    refresh_after: Option<Duration>,
    rights: Option<Rights>,
}

impl CubeBuilder {
    /// Into how many partitions slices are spread; 16 unless a query says otherwise.
    pub fn partitions(mut self, partitions: usize) -> Self {
        self.settings.partitions = partitions;
        self
    }

    /// A step over fewer rows is computed by one thread; 8,192 unless this says otherwise.
    pub fn parallel_from_rows(mut self, rows: usize) -> Self {
        self.settings.parallel_from_rows = rows;
        self
    }

    /// What a query may hold, in bytes; 1 GiB unless it says otherwise itself.
    pub fn memory_limit(mut self, bytes: usize) -> Self {
        self.settings.memory_limit = bytes;
        self
    }

    /// Counts what this cube holds together with that of others, of which half is the limit of one query unless
    /// [`memory_limit`](CubeBuilder::memory_limit) is called after this. Without it the cube counts for itself alone, without a total.
    pub fn memory(mut self, memory: &CubeMemory) -> Self {
        self.settings.memory_limit = self.settings.memory_limit.min(memory.limit() / 2);
        self.settings.memory = memory.clone();
        self
    }

    /// Where queries put groups that have no room in memory, in files that are gone when the query is; each at most so many bytes at a
    /// time. Without, and beyond, a query over its memory limit is an error.
    pub fn spill(mut self, directory: impl Into<PathBuf>, bytes: u64) -> Self {
        self.settings.spill = Some((directory.into(), bytes));
        self
    }

    /// What may be kept of one query for the next, in bytes; 64 MiB unless this says otherwise, 0 for nothing.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.settings.cache_bytes = bytes;
        self
    }

    /// Keeps what was read of a table that tells no version (a map, a server's table) for other queries, for so long. Without this, each
    /// of them reads such a table. An answer of this cube is never made of rows that were read at different times. Of a table that tells a
    /// version nothing old is used, whatever this says.
    pub fn expire_after(mut self, age: Duration) -> Self {
        self.expire_after = Some(age);
        self
    }

    /// A query that is answered from what was read at least so long ago has it read anew, on `maintenance`: nobody waits for that, and the
    /// next query finds the new. If it fails, the old is used until it [expires](CubeBuilder::expire_after), and a query has it tried again
    /// after a rest: of a second, and of twice as long after each failure that follows. Less than `expire_after`.
    pub fn refresh_after(mut self, age: Duration) -> Self {
        self.refresh_after = Some(age);
        self
    }

    /// What users may see: a filter for each, added to all of their queries.
    pub fn rights(mut self, rights: impl Fn(Option<&str>) -> Filter + Send + Sync + 'static) -> Self {
        self.rights = Some(Arc::new(rights));
        self
    }

    /// Checks the settings, and calculated columns and those that slices are spread by against the table, and makes the cube.
    pub fn build(mut self) -> Result<Cube, CubeError> {
        self.settings.ages = Ages::new(self.expire_after, self.refresh_after)?;
        if let Some(composite) = self.table.cubes() {
            composite.check(&self.forest)?;
        }
        let columns = CubeColumns::new(self.table.name(), &self.table.schema(), &self.forest)?;
        self.table.shard_columns().iter().try_for_each(|column| columns.check_named(column))?;
        Ok(Cube {
            inner: Arc::new(Inner {
                forest: self.forest,
                columns,
                rights: self.rights,
                kept: Arc::new(Kept::new(&self.settings)),
                turns: Turns::new((2 * self.stages.cpu().threads()).max(4)),
                stages: self.stages,
                settings: self.settings,
                table: self.table,
            }),
        })
    }
}

/// What a query is a part of.
#[derive(Debug, Clone)]
pub(crate) struct Within {
    pub(crate) memory: MemoryAccount,
    pub(crate) progress: QueryProgress,
    /// What its user may see, besides what the cube itself says.
    pub(crate) rights: Filter,
}

impl Within {
    /// Nothing but itself.
    pub(crate) fn nothing(memory: MemoryAccount) -> Self {
        Self { memory, progress: QueryProgress::default(), rights: Filter::All }
    }
}

impl Cube {
    /// A cube of these measures over this table, whose queries run on these stages.
    pub fn builder(stages: &Stages, forest: Forest, table: impl Table + 'static) -> CubeBuilder {
        CubeBuilder {
            stages: stages.clone(),
            forest,
            table: Arc::new(table),
            settings: CubeSettings {
                partitions: 16,
                parallel_from_rows: 8_192,
                memory: CubeMemory::new(usize::MAX),
                memory_limit: 1 << 30,
                dictionary_limit: 256 << 20,
                cache_bytes: 64 << 20,
                ages: None,
                spill: None,
            },
            expire_after: None,
            refresh_after: None,
            rights: None,
        }
    }

    /// The measures.
    pub fn forest(&self) -> &Forest {
        &self.inner.forest
    }

    /// The names of the columns that a query may group and filter by, with those that Dispatchors make left out.
    pub fn columns(&self) -> Vec<String> {
        self.inner.columns.names()
    }

    /// How many aggregations of the table are kept from earlier queries.
    pub fn cached(&self) -> u64 {
        self.inner.kept.cache.leaves()
    }

    /// Begins a query. It is over when its handle is: dropping that cancels it.
    pub fn query(&self, query: Query) -> Result<QueryHandle, CubeError> {
        query.check_names()?;
        let memory = self.account(&query);
        self.query_within(query, &Within::nothing(memory))
    }

    /// The account of a query that is no part of another one.
    fn account(&self, query: &Query) -> MemoryAccount {
        let settings = &self.inner.settings;
        settings.memory.account(query.options.memory_limit.unwrap_or(settings.memory_limit))
    }

    /// True when what was read of a table may be used for a time, however old it is.
    pub(crate) fn keeps_by_age(&self) -> bool {
        self.inner.settings.ages.is_some()
    }

    /// Begins a query that is a part of another one.
    pub(crate) fn query_within(&self, query: Query, within: &Within) -> Result<QueryHandle, CubeError> {
        let (future, cancel) = self.begin(query, "cube query", within, lead)?;
        Ok(QueryHandle::new(future, cancel, within.progress.clone()))
    }

    /// The columns that a query may name, those that Dispatchors make included, with their types.
    pub(crate) fn column_types(&self) -> BTreeMap<Arc<str>, DataType> {
        let mut types = self.inner.columns.types().clone();
        for (column, data_type) in self.inner.columns.dispatched() {
            types.entry(column.as_str().into()).or_insert_with(|| data_type.clone());
        }
        types
    }

    /// Begins to read the rows behind cells. It is over when its handle is: dropping that ends it.
    pub fn drill_through(&self, through: DrillThrough) -> Result<DrillRows, CubeError> {
        let (query, through) = through.through()?;
        let memory = self.account(&query);
        self.drill_within(query, through, &Within::nothing(memory))
    }

    /// Begins to read rows that are a part of others; `query` says for whom and how.
    pub(crate) fn drill_within(
        &self,
        query: Query,
        through: Through,
        within: &Within,
    ) -> Result<DrillRows, CubeError> {
        let (sender, batches) = mpsc::channel(0);
        let has_more = Arc::<AtomicBool>::default();
        let said = Arc::clone(&has_more);
        let leading = move |question| drill(question, through, sender, said);
        let (future, cancel) = self.begin(query, "cube drill-through", within, leading)?;
        let stages = self.inner.stages.downgrade();
        let Within { memory, progress, .. } = within.clone();
        Ok(DrillRows { batches, future: Some(future), cancel, progress, has_more, memory, stages })
    }

    /// Begins something that a future on `mixed` leads.
    fn begin<T: Send + 'static, F>(
        &self,
        query: Query,
        task: &'static str,
        within: &Within,
        leading: impl FnOnce(Question) -> F,
    ) -> Result<Begun<T>, CubeError>
    where
        F: Future<Output = Result<T, CubeError>> + Send + 'static,
    {
        let inner = &*self.inner;
        let engaged = inner.stages.engage(StageKind::Mixed)?;
        let own = inner.rights.as_ref().map_or(Filter::All, |rights| rights(query.user.as_deref()));
        let rights = own.and(within.rights.clone());
        let cancel = Arc::<CancelToken>::default();
        let clock = inner.stages.clock();
        let timer = query.options.timeout.map(|limit| {
            let cancel = Arc::clone(&cancel);
            clock.timer(limit, move || cancel.cancel(CubeError::TimedOut { limit }))
        });
        let led = leading(Question {
            forest: inner.forest.clone(),
            table: Arc::clone(&inner.table),
            columns: inner.columns.clone(),
            settings: inner.settings.clone(),
            rights,
            memory: within.memory.clone(),
            kept: Arc::clone(&inner.kept),
            turns: Arc::clone(&inner.turns),
            cancel: Arc::clone(&cancel),
            progress: within.progress.clone(),
            cpu: inner.stages.cpu().clone(),
            clock,
            stages: inner.stages.downgrade(),
            is_refresh: false,
            query,
        });
        let reason = Arc::clone(&cancel);
        let future = inner.stages.mixed().spawn(task, async move {
            let result = led.await.map_err(|error| reason.explain(error));
            drop((timer, engaged));
            result
        })?;
        Ok((future, cancel))
    }
}

/// What was begun, and what ends it.
type Begun<T> = (TaskFuture<Result<T, CubeError>>, Arc<CancelToken>);

impl std::fmt::Debug for Cube {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cube").field("table", &self.inner.table.name()).finish_non_exhaustive()
    }
}

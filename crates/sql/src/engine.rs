//! The SQL engine of a member: tables, memory, admission, and the stages it runs on.

use crate::bounded;
use crate::error::SqlError;
use crate::files::{CacheSnapshot, CopyFiles, Files};
use crate::functions;
use crate::generate_stream::GenerateStream;
use crate::maps::ChangeMaps;
use crate::memory::TotalMemory;
use crate::plan::{
    CountEqualRows, CutFragments, NestedValues, NullSafeKeys, NullWithoutRow, NumberFunctions,
    PlanCorrelated, RightMembership, RightOperators, SampleTables, SessionZone, TimeZone, WholeDates,
    bounded_analysis, bounded_rule,
};
use crate::pools::{PoolOption, Pools};
use crate::query::{Admission, Bounds, OpenQueries, QueryId, Registry};
use crate::rights::{AllRights, TableRights};
use crate::session::Session;
use crate::settings::SqlSettings;
use crate::stream;
use crate::tables::{ChangeTables, TableMemory};
use crate::type_planner::OwnTypes;
use arrow::array::RecordBatch;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::ScalarUDF;
use datafusion::logical_expr::registry::FunctionRegistry;
use datafusion::optimizer::{Analyzer, Optimizer};
use datafusion::prelude::{SessionConfig, SessionContext};
use filbert_grid::Grid;
use filbert_pool::{Reactor, Stages, Striped};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// SQL over a member's tables. Cheap to clone.
///
/// ```
/// let stages = filbert_pool::Stages::start()?;
/// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
/// let session = sql.session();
/// let batches = futures::executor::block_on(session.query("SELECT 1 + 1 AS two")?.collect())?;
/// println!("{}", arrow::util::pretty::pretty_format_batches(&batches)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Sql {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) stages: Stages,
    pub(crate) query: Striped,
    pub(crate) reactor: Reactor,
    pub(crate) settings: SqlSettings,
    memory: Arc<TotalMemory>,
    tables: Arc<TableMemory>,
    pub(crate) runtime: Arc<RuntimeEnv>,
    pub(crate) open: Arc<OpenQueries>,
    pub(crate) pools: Pools,
    /// Of jobs, which are counted where they are known by name: none of them waits.
    pub(crate) running_jobs: Arc<Admission>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) files: Files,
    pub(crate) jobs: Arc<stream::Jobs>,
    /// What every session begins with.
    state: SessionState,
    queries: AtomicU64,
    sessions: AtomicU64,
}

/// What the engine holds at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqlSnapshot {
    /// Queries that run.
    pub running: usize,
    /// Queries that wait for their turn.
    pub waiting: usize,
    /// Queries that are neither read to the end nor closed: those that run, wait or rest.
    pub open: usize,
    /// Bytes that queries hold.
    pub memory_bytes: usize,
    /// Bytes that tables in memory hold.
    pub table_bytes: usize,
}

impl Sql {
    /// Makes the engine of a member.
    ///
    /// # Errors
    /// When the stages shut down, or there is no folder for what queries spill.
    pub fn start(stages: &Stages, settings: SqlSettings) -> Result<Self, SqlError> {
        let disk = DiskManagerBuilder::default().with_max_temp_directory_size(settings.spill_bytes);
        let runtime = RuntimeEnvBuilder::new().with_disk_manager_builder(disk).build_arc()?;
        let registry = Arc::new(Registry::default());
        let closing = Arc::clone(&registry);
        let reactor =
            stages.dedicated().reactor("sql-io", settings.reading_threads, move || closing.close())?;
        let files = Files::new(&settings, &reactor, &runtime);
        let memory = TotalMemory::new(settings.memory_bytes);
        let tables = TableMemory::new(settings.table_bytes.unwrap_or(settings.memory_bytes / 2), &memory);
        let mut config = SessionConfig::new()
            .with_extension(Arc::clone(&tables))
            .with_target_partitions(stages.fragment().threads())
            .with_batch_size(settings.batch_rows)
            .with_information_schema(true)
            .with_collect_statistics(true)
            .with_default_catalog_and_schema("filbert", "public");
        // A sort holds so much back for the end, which a small query must not fail for.
        config.options_mut().execution.sort_spill_reservation_bytes =
            (settings.query_memory_bytes / 8).min(10 << 20);
        // Whether a column can be NULL, DataFusion 55 sees more clearly before it chooses operators than after; that both agree is no condition
        // for a right answer, only for this check.
        config.options_mut().execution.skip_physical_aggregate_schema_check = true;
        // A file that is cut in the middle of a quoted text gives wrong rows, and no error.
        config.options_mut().catalog.newlines_in_values = true;
        config.options_mut().sql_parser.dialect = datafusion::common::config::Dialect::PostgreSQL;
        config.options_mut().extensions.insert(PoolOption::default());
        // Errors say where in the text they are.
        config.options_mut().sql_parser.collect_spans = true;
        let mut state = SessionStateBuilder::new_with_default_features()
            .with_config(config)
            .with_runtime_env(Arc::clone(&runtime))
            .with_table_factories(files.factories())
            .with_analyzer_rules(Analyzer::new().rules.into_iter().map(bounded_analysis).collect())
            .with_optimizer_rules(Optimizer::new().rules.into_iter().map(bounded_rule).collect())
            .with_analyzer_rule(Arc::new(WholeDates))
            .with_analyzer_rule(Arc::new(RightOperators))
            .with_analyzer_rule(Arc::new(RightMembership))
            .with_analyzer_rule(Arc::new(NullWithoutRow))
            .with_analyzer_rule(Arc::new(PlanCorrelated))
            .with_analyzer_rule(Arc::new(CountEqualRows))
            .with_analyzer_rule(Arc::new(NullSafeKeys))
            .with_analyzer_rule(Arc::new(SessionZone))
            .with_analyzer_rule(Arc::new(bounded::BoundFunctions))
            .with_analyzer_rule(Arc::new(ChangeMaps))
            .with_analyzer_rule(Arc::new(ChangeTables))
            .with_analyzer_rule(Arc::new(CopyFiles(files.clone())))
            .with_analyzer_rule(Arc::new(stream::PlanWindows))
            .with_type_planner(Arc::new(OwnTypes))
            .with_query_planner(Arc::new(stream::StreamPlanner))
            .with_physical_optimizer_rules(stream::optimizer_rules())
            .with_physical_optimizer_rule(Arc::new(CutFragments))
            .build();
        state.register_udtf("generate_stream", Arc::new(GenerateStream { clock: stages.clock() }));
        state.register_relation_planner(Arc::new(SampleTables))?;
        state.register_relation_planner(Arc::new(NumberFunctions))?;
        state.register_relation_planner(Arc::new(NestedValues))?;
        state.register_udf(Arc::new(ScalarUDF::new_from_impl(TimeZone::new())))?;
        for function in stream::window_functions().into_iter().chain(functions::functions()) {
            state.register_udf(function)?;
        }
        state.register_udaf(functions::checked_sum())?;
        bounded::bound_functions(&mut state)?;
        files.attach(state.catalog_list(), "filbert", "public")?;
        let rest = Duration::from_millis(settings.resting_after_ms);
        let none = Duration::ZERO;
        let jobs = Bounds { running: usize::MAX, waiting: 0, short: 0, short_work: none, wait: None, rest };
        Ok(Self {
            inner: Arc::new(Inner {
                stages: stages.clone(),
                query: stages.query().clone(),
                reactor,
                pools: Pools::start(stages, &settings, &memory)?,
                memory,
                tables,
                open: OpenQueries::new(settings.open_queries, settings.session_open_queries),
                running_jobs: Admission::new(jobs, stages.clock()),
                registry,
                jobs: stream::Jobs::new(settings.jobs),
                runtime,
                files,
                state,
                queries: AtomicU64::new(1),
                sessions: AtomicU64::new(1),
                settings,
            }),
        })
    }

    /// From now on every map of `grid` is a table of all sessions.
    ///
    /// ```
    /// let stages = filbert_pool::Stages::start()?;
    /// let grid = filbert_grid::Grid::new(&stages);
    /// grid.typed_map::<String, i64>("cities").set("Oslo", &709_000).wait()?;
    /// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
    /// sql.attach(&grid)?;
    /// let query = sql.session().query("SELECT this FROM cities WHERE __key = 'Oslo'")?;
    /// let batches = futures::executor::block_on(query.collect())?;
    /// assert_eq!(batches[0].num_rows(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the schema of tables is gone.
    pub fn attach(&self, grid: &Grid) -> Result<(), SqlError> {
        crate::maps::attach(self.inner.state.catalog_list(), "filbert", "public", grid)
    }

    /// A session of its own, with the settings as they are at the start; it may do everything.
    pub fn session(&self) -> Session {
        self.session_as(Arc::new(AllRights))
    }

    /// A session of a user who may do what `rights` allow.
    pub fn session_as(&self, rights: Arc<dyn TableRights>) -> Session {
        let id = self.inner.sessions.fetch_add(1, Ordering::Relaxed);
        let context = SessionContext::new_with_state(self.inner.state.clone());
        Session::new(self.clone(), id, context, rights)
    }

    /// A session over a context that there is already.
    pub(crate) fn session_with(&self, context: SessionContext, rights: &Arc<dyn TableRights>) -> Session {
        let id = self.inner.sessions.fetch_add(1, Ordering::Relaxed);
        Session::new(self.clone(), id, context, Arc::clone(rights))
    }

    /// Ends all jobs and lets no other begin: for whoever ends the member, since a job has no end to wait for.
    ///
    /// ```
    /// let stages = filbert_pool::Stages::start()?;
    /// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
    /// futures::executor::block_on(sql.end_jobs());
    /// stages.shutdown(filbert_pool::Shutdown::Drain)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn end_jobs(&self) {
        for job in self.inner.jobs.close() {
            job.end().await;
        }
    }

    /// Makes a table known to all sessions, in place of one that had its name.
    ///
    /// # Errors
    /// When the schema of tables is gone.
    pub fn register(&self, name: &str, table: Arc<dyn TableProvider>) -> Result<(), SqlError> {
        let context = SessionContext::new_with_state(self.inner.state.clone());
        context.deregister_table(name)?;
        context.register_table(name, table)?;
        Ok(())
    }

    /// Makes a schema known to all sessions, in place of one that had its name: its tables are `name.table`.
    ///
    /// # Errors
    /// When the catalog is gone.
    pub fn add_schema(&self, name: &str, schema: Arc<dyn SchemaProvider>) -> Result<(), SqlError> {
        let catalog = self.inner.state.catalog_list().catalog("filbert");
        let catalog = catalog.ok_or_else(|| SqlError::Refused("there is no catalog filbert".to_owned()))?;
        catalog.register_schema(name, schema)?;
        Ok(())
    }

    /// What it holds now.
    pub fn snapshot(&self) -> SqlSnapshot {
        let (running, waiting) = self.inner.pools.counts();
        let open = self.inner.open.count();
        let table_bytes = self.inner.tables.held();
        let memory_bytes = self.inner.memory.held().saturating_sub(table_bytes);
        SqlSnapshot { running, waiting, open, memory_bytes, table_bytes }
    }

    /// Reads which queries there are, as `SHOW QUERIES` does, on the calling thread: for whoever watches an engine that may be stuck.
    ///
    /// # Errors
    /// When the rows cannot be put together.
    pub fn queries(&self) -> Result<RecordBatch, SqlError> {
        self.inner.registry.shown(&self.inner.stages.clock())
    }

    /// Reads which jobs there are, as `SHOW JOBS` does, on the calling thread.
    ///
    /// # Errors
    /// When the rows cannot be put together.
    pub fn jobs(&self) -> Result<RecordBatch, SqlError> {
        self.inner.jobs.shown()
    }

    /// What it keeps of files between queries; none when `cache_bytes` is 0.
    pub fn cached(&self) -> Option<CacheSnapshot> {
        self.inner.files.cached()
    }

    /// The catalog that statements change; none when it is gone.
    pub(crate) fn catalog(&self) -> Option<Arc<dyn CatalogProvider>> {
        self.inner.state.catalog_list().catalog("filbert")
    }

    /// The account of tables in memory.
    pub(crate) fn table_memory(&self) -> &Arc<TableMemory> {
        &self.inner.tables
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }

    pub(crate) fn next_query(&self) -> QueryId {
        QueryId(self.inner.queries.fetch_add(1, Ordering::Relaxed))
    }
}

impl std::fmt::Debug for Sql {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sql").field("snapshot", &self.snapshot()).finish_non_exhaustive()
    }
}

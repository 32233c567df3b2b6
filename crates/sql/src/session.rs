//! A session: one user's settings, prepared statements and queries, over the tables that all sessions share.

use crate::description::{self, Description, StatementKind, changes_something};
use crate::engine::Sql;
use crate::error::SqlError;
use crate::exchange::{Credits, ExchangeExec, Router, channels};
use crate::files::is_file;
use crate::fragment::{Figures, Fragment, Work};
use crate::maps;
use crate::memory::QueryMemory;
use crate::names::Names;
use crate::plainly::{has_equal_names, of_planner};
use crate::plan::{self, ColumnNames, check_zone, shown_name};
use crate::pools::{self, POOL};
use crate::query::{Control, Describing, PlanningTime, Query, QueryContext, Turnstile};
use crate::returning::{self, Returned, Returning};
use crate::rights::{self, Access, Object, SessionRights, TableRights};
use crate::session_settings::check_setting;
use crate::stream::{self, StreamFigures};
use crate::summary::{summarized, summary};
use crate::tables;
use crate::text;
use arrow::array::RecordBatch;
use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use datafusion::common::TableReference;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::{
    DdlStatement, LogicalPlan, LogicalPlanBuilder, Statement as SettingStatement,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::prelude::SessionContext;
use datafusion::scalar::ScalarValue;
use datafusion::sql::parser::Statement;
use filbert_pool::{Promise, StageKind, caught, checkpoint};
use futures::FutureExt;
use std::borrow::Cow;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// One user's way to SQL. Cheap to clone; clones share what `SET` and `PREPARE` change.
#[derive(Clone)]
pub struct Session {
    sql: Sql,
    id: u64,
    context: SessionContext,
    rights: Arc<dyn TableRights>,
    /// How long a query may take, where that is less than the settings say.
    time_limit_ms: Option<u64>,
}

impl Session {
    pub(crate) fn new(sql: Sql, id: u64, context: SessionContext, rights: Arc<dyn TableRights>) -> Self {
        Self { sql, id, context, rights, time_limit_ms: None }
    }

    /// The session, in which names are read as they are written, quoted or not: for clients of databases where `firstName` needs no quotes.
    ///
    /// ```
    /// let stages = filbert_pool::Stages::start()?;
    /// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
    /// let mut query = sql.session().with_names_as_written().query("SELECT 1 AS firstName")?;
    /// let columns = futures::executor::block_on(query.schema())?;
    /// assert_eq!(columns.field(0).name(), "firstName");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_names_as_written(self) -> Self {
        let state = self.context.state_ref();
        state.write().config_mut().options_mut().sql_parser.enable_ident_normalization = false;
        self
    }

    /// The session, with its queries in one of the pools of the settings `[sql.pools.<name>]`, as after `SET filbert.pool = 'name'`.
    ///
    /// ```
    /// use filbert_sql::{PoolSettings, Sql, SqlSettings};
    /// let pools = [("reports".to_owned(), PoolSettings { workers: 1, ..Default::default() })];
    /// let stages = filbert_pool::Stages::start()?;
    /// let sql = Sql::start(&stages, SqlSettings { pools: pools.into(), ..Default::default() })?;
    /// let reports = sql.session().in_pool("reports")?;
    /// futures::executor::block_on(reports.query("SELECT 1")?.collect())?;
    /// assert!(sql.session().in_pool("nonsense").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such pool; the error names those that there are.
    pub fn in_pool(self, name: &str) -> Result<Self, SqlError> {
        self.sql.inner().pools.choose(name, &self.context)?;
        Ok(self)
    }

    /// The session, in which every table is read by one task, in the order of its files and rows, as batches of so many rows: for
    /// readers to whom the order matters, such as whoever adds up floating-point numbers and wants the same sum every time.
    ///
    /// ```
    /// let stages = filbert_pool::Stages::start()?;
    /// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
    /// let session = sql.session().reading_in_order(100);
    /// let query = session.query("SELECT value FROM generate_series(1, 250)")?;
    /// let batches = futures::executor::block_on(query.collect())?;
    /// assert_eq!(batches.iter().map(|batch| batch.num_rows()).collect::<Vec<_>>(), [100, 100, 50]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn reading_in_order(self, batch_rows: usize) -> Self {
        let state = self.context.state_ref();
        let mut state = state.write();
        let config = state.config().clone().with_target_partitions(1).with_batch_size(batch_rows.max(1));
        *state.config_mut() = config;
        drop(state);
        self
    }

    /// Makes another session with the settings of this one, where later changes of either are its own.
    ///
    /// ```
    /// let stages = filbert_pool::Stages::start()?;
    /// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
    /// let session = sql.session();
    /// let ordered = session.fork().reading_in_order(100);
    /// # let _ = ordered;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fork(&self) -> Self {
        let context = SessionContext::new_with_state(self.context.state());
        Self { time_limit_ms: self.time_limit_ms, ..self.sql.session_with(context, &self.rights) }
    }

    /// The session, in which results come as batches of about so many rows.
    ///
    /// ```
    /// let stages = filbert_pool::Stages::start()?;
    /// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
    /// let query = sql.session().with_batch_rows(100).query("SELECT value FROM generate_series(1, 250)")?;
    /// let batches = futures::executor::block_on(query.collect())?;
    /// assert!(batches.iter().all(|batch| batch.num_rows() <= 100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_batch_rows(self, rows: usize) -> Self {
        let state = self.context.state_ref();
        let mut state = state.write();
        let config = state.config().clone().with_batch_size(rows.max(1));
        *state.config_mut() = config;
        drop(state);
        self
    }

    /// The session, in which files that are read by their path have texts as codes, where they are so in the files: the dictionary pages of
    /// Parquet as dictionaries of Arrow, for readers that look at each different text once.
    ///
    /// ```
    /// use arrow::datatypes::DataType;
    /// use filbert_sql::{Sql, SqlSettings};
    /// let folder = tempfile::tempdir()?;
    /// let files = vec![folder.path().to_path_buf()];
    /// let settings = SqlSettings { files: files.clone(), write_files: files, ..Default::default() };
    /// let stages = filbert_pool::Stages::start()?;
    /// let sql = Sql::start(&stages, settings)?;
    /// let path = folder.path().join("a.parquet").display().to_string();
    /// let run = |session: filbert_sql::Session, text: &str| futures::executor::block_on(session.query(text)?.collect());
    /// run(sql.session(), &format!("COPY (SELECT 'desk ' || value % 3 AS desk FROM range(0, 90)) TO '{path}'"))?;
    /// let batches = run(sql.session().with_codes_of_texts()?, &format!("SELECT desk FROM '{path}'"))?;
    /// assert!(matches!(batches[0].schema().field(0).data_type(), DataType::Dictionary(..)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the catalog is gone.
    pub fn with_codes_of_texts(self) -> Result<Self, SqlError> {
        let state = self.context.state();
        let files = &self.sql.inner().files;
        let catalogs = files.with_codes(state.catalog_list(), "filbert", "public")?;
        let mut state = SessionStateBuilder::new_from_existing(state).with_catalog_list(catalogs).build();
        // Least and greatest values are kept by file, in the types that columns have in all other sessions.
        state.config_mut().options_mut().execution.collect_statistics = false;
        Ok(Self { context: SessionContext::new_with_state(state), ..self })
    }

    /// The session, in a time zone: its texts without one are moments there, and `now()` is a moment rather than what the clocks of UTC show.
    ///
    /// ```
    /// let stages = filbert_pool::Stages::start()?;
    /// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
    /// let session = sql.session().in_time_zone("Europe/Oslo")?;
    /// let query = session.query("SELECT '2000-06-01 12:00:00'::timestamptz = '2000-06-01 10:00:00Z'::timestamptz AS same")?;
    /// let batches = futures::executor::block_on(query.collect())?;
    /// assert_eq!(filbert_sql::ScalarValue::try_from_array(batches[0].column(0), 0)?, true.into());
    /// assert!(sql.session().in_time_zone("Mars/Olympus").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When there is no such zone.
    pub fn in_time_zone(self, zone: &str) -> Result<Self, SqlError> {
        check_zone(zone)?;
        let state = self.context.state_ref();
        let mut state = state.write();
        state.config_mut().options_mut().execution.time_zone = Some(zone.to_owned());
        // Functions such as `now` know the settings they were made with.
        let functions = state
            .scalar_functions()
            .values()
            .filter_map(|function| function.inner().with_updated_config(state.config().options().as_ref()));
        let changed: Vec<_> = functions.collect();
        for function in changed {
            state.register_udf(Arc::new(function))?;
        }
        drop(state);
        Ok(self)
    }

    /// The session, whose queries have so much time at most, where the settings do not give them less.
    ///
    /// ```
    /// use filbert_sql::SqlError;
    /// let stages = filbert_pool::Stages::start()?;
    /// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
    /// let session = sql.session().with_time_limit(Some(std::time::Duration::from_millis(20)));
    /// let endless = session.query("SELECT count(*) FROM range(1, 1000000) a, range(1, 1000000) b WHERE a.value < b.value")?;
    /// let ended = futures::executor::block_on(endless.collect());
    /// assert!(matches!(ended, Err(SqlError::TimedOut { limit_ms: 20 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_time_limit(self, limit: Option<Duration>) -> Self {
        Self { time_limit_ms: limit.map(|limit| limit.as_millis().try_into().unwrap_or(u64::MAX)), ..self }
    }

    /// Another number whenever the rows of a table may have changed: of files that are named by their path, folder or pattern, as far as
    /// their sizes and times of change tell. None for all other tables.
    ///
    /// ```
    /// use filbert_sql::{Sql, SqlSettings};
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("a.csv");
    /// std::fs::write(&path, "x\n1\n")?;
    /// let stages = filbert_pool::Stages::start()?;
    /// let sql = Sql::start(&stages, SqlSettings { files: vec![folder.path().into()], ..Default::default() })?;
    /// let session = sql.session();
    /// let version = || futures::executor::block_on(session.version(&path.to_string_lossy()));
    /// let before = version()?;
    /// assert!(before.is_some() && version()? == before);
    /// std::fs::write(&path, "x\n1\n2\n")?;
    /// assert_ne!(version()?, before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When the files cannot be looked at, or may not be read.
    pub async fn version(&self, table: &str) -> Result<Option<u64>, SqlError> {
        let is_other = {
            let state = self.context.state_ref();
            let state = state.read();
            let bare = TableReference::bare(table);
            state.schema_for_ref(bare).is_ok_and(|schema| schema.table_exist(table))
        };
        if is_other || !is_file(table) {
            return Ok(None);
        }
        self.sql.inner().files.version(table).await.map(Some)
    }

    /// Submits one statement; returns before it is planned.
    ///
    /// # Errors
    /// When the text is too long, when too many queries wait, or when the stages shut down. Everything else is told where the
    /// rows are read.
    pub fn query(&self, text: &str) -> Result<Query, SqlError> {
        self.submit(text, Purpose::Run(Vec::new()))
    }

    /// Submits one statement with values for its parameters `$1`, `$2`, ...
    ///
    /// ```
    /// # use datafusion::scalar::ScalarValue;
    /// let stages = filbert_pool::Stages::start()?;
    /// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
    /// let values = vec![ScalarValue::from(40_i64), ScalarValue::from(2_i64)];
    /// let query = sql.session().query_with("SELECT $1 + $2 AS sum", values)?;
    /// let batches = futures::executor::block_on(query.collect())?;
    /// assert_eq!(ScalarValue::try_from_array(batches[0].column(0), 0)?, ScalarValue::from(42_i64));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Session::query`].
    pub fn query_with(&self, text: &str, parameters: Vec<ScalarValue>) -> Result<Query, SqlError> {
        self.submit(text, Purpose::Run(parameters))
    }

    /// Plans one statement without running it: its parameters, columns and kind, or why it cannot be planned. It waits for no query
    /// that runs; a time limit holds for it as well.
    pub fn describe(&self, text: &str) -> Describing {
        Describing::new(self.submit(text, Purpose::Describe))
    }

    /// Refuses a text that is longer than a statement may be, for whoever looks at it before it is asked.
    ///
    /// # Errors
    /// When it is.
    pub fn check_length(&self, text: &str) -> Result<(), SqlError> {
        text::check_length(text, self.sql.inner().settings.text_bytes)
    }

    fn submit(&self, text: &str, purpose: Purpose) -> Result<Query, SqlError> {
        self.submit_as(text, purpose, None)
    }

    /// A query, or a job, whose figures others see: it has a place of its own, and as much time as it likes.
    fn submit_as(
        &self,
        text: &str,
        purpose: Purpose,
        job: Option<Arc<StreamFigures>>,
    ) -> Result<Query, SqlError> {
        let inner = self.sql.inner();
        let settings = &inner.settings;
        self.check_length(text)?;

        let pool = inner.pools.of(&self.context);
        let (admission, opened) = match (&purpose, &job) {
            (Purpose::Describe, _) => (&pool.descriptions, None),
            (Purpose::Run(_), None) => (&pool.admission, Some(inner.open.open(self.id)?)),
            (Purpose::Run(_), Some(_)) => (&inner.running_jobs, None),
        };
        let limits = [settings.time_limit_ms, self.time_limit_ms];
        let time_limit_ms = limits.into_iter().flatten().min().filter(|_| job.is_none());
        let id = self.sql.next_query();
        let (workers, head_start) = match &job {
            // Nobody waits for it, and it has no end: it runs beside the jobs of dataflow, and those who wait have the others for themselves.
            Some(_) if pool.is_default() => (inner.stages.flow(), Duration::ZERO),
            _ => (&pool.workers, HEAD_START),
        };
        let group = workers.group(&id.to_string()).with_head_start(head_start);
        let turnstile = Turnstile::new((id, self.id), group, admission, opened);
        let credits = Credits { batches: settings.exchange_batches, bytes: settings.exchange_bytes };
        let engaged = inner.stages.engage(StageKind::Fragment)?;
        QueryMemory::admit()?;
        let used = Arc::new(QueryMemory::new(inner.settings.query_memory_bytes, &pool.memory));
        let pool: Arc<dyn MemoryPool> = Arc::clone(&used) as _;
        let reactor = inner.reactor.clone();
        let limit = (settings.planning_ms > 0).then(|| Duration::from_millis(settings.planning_ms));
        let planning = PlanningTime::new(inner.stages.clock(), limit);
        let used_by = Arc::clone(&pool);
        let context = QueryContext::new(workers.clone(), &turnstile, reactor, credits, used_by, planning);
        let context = Arc::new(context);
        let runtime = Arc::new(RuntimeEnv { memory_pool: pool, ..inner.runtime.as_ref().clone() });
        let memory = MemoryConsumer::new("result").register(&runtime.memory_pool);
        let (mut senders, mut receivers) = channels(1, 1, credits, memory);
        let (Some(sender), Some(receiver)) = (senders.pop(), receivers.pop()) else {
            unreachable!("one of each was asked for")
        };
        let files = context.files().clone();
        let (promise, schema) = inner.stages.promise(StageKind::Fragment, "plan");
        let statement = StatementOfQuery {
            session: self.context.clone(),
            text: text.to_owned(),
            purpose,
            depth_limit: settings.expression_depth,
            rights: Arc::clone(&self.rights),
            query: Arc::clone(&context),
            runtime,
            sql: self.sql.clone(),
            figures: job.unwrap_or_default(),
        };
        let planning = statement.plan(promise).boxed();
        let start = move || {
            let figures = Figures::new(&ExecutionPlanMetricsSet::new(), 0);
            Fragment::plan(&context, planning, sender, figures)
        };
        let clock = inner.stages.clock();
        let entry = inner.registry.add(&turnstile, text, &clock, &used, Box::new(start))?;
        let about: Arc<str> = text.chars().take(MOST_REPORTED).collect::<String>().into();
        let control = inner.query.strand_about(id.0, &about, Control::Waiting(Arc::clone(&entry), engaged));
        let ways = (control.clone(), entry);
        let query = Query::new(id, ways, schema, receiver, settings.rows, files);
        if let Some(limit_ms) = time_limit_ms {
            let canceller = query.canceller().downgrade();
            clock.after(Duration::from_millis(limit_ms), move || {
                if let Some(canceller) = canceller.upgrade() {
                    canceller.cancel_because(SqlError::TimedOut { limit_ms });
                }
            });
        }
        admission.admit(&turnstile, &control)?;
        Ok(query)
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Letters of a statement that a report of a slow task shows.
const MOST_REPORTED: usize = 100;

/// Run time for which a query goes before others: what is planned and done by then does not wait behind those that run for long.
const HEAD_START: Duration = Duration::from_millis(3);

/// What is wanted of a statement.
enum Purpose {
    /// Its rows, with these values as its parameters.
    Run(Vec<ScalarValue>),
    /// What it is.
    Describe,
}

/// A statement on its way to a plan.
struct StatementOfQuery {
    session: SessionContext,
    text: String,
    purpose: Purpose,
    depth_limit: usize,
    rights: Arc<dyn TableRights>,
    query: Arc<QueryContext>,
    runtime: Arc<RuntimeEnv>,
    sql: Sql,
    figures: Arc<StreamFigures>,
}

impl StatementOfQuery {
    /// Tells the reader the columns, or why there are none.
    async fn plan(self, promise: Promise<Result<Description, SqlError>>) -> Result<Work, SqlError> {
        // A panic would drop the promise, and the reader be told that somebody cancelled the query.
        let mut planning = Box::pin(self.planned());
        let planned = std::future::poll_fn(|context| match caught(|| planning.as_mut().poll(context)) {
            Ok(planned) => planned,
            Err(message) => Poll::Ready(Err(SqlError::Panicked { message })),
        });
        match planned.await {
            Ok((work, description)) => {
                promise.keep(Ok(description));
                Ok(work)
            }
            Err(error) => {
                promise.keep(Err(error.clone()));
                Err(error)
            }
        }
    }

    async fn planned(mut self) -> Result<(Work, Description), SqlError> {
        let mut state = self.session.state();
        state.config_mut().set_extension(Arc::clone(&self.query));
        state.config_mut().set_extension(Arc::new(SessionRights::new(&self.rights)));
        state.config_mut().set_extension(Arc::clone(&self.figures));
        text::check_depth(&self.text, self.depth_limit)?;
        let parsed = self.parsed(&state).await?;
        self.pause().await?;
        rights::check(&parsed, &state, self.rights.as_ref())?;
        // Whose reader was told so may have other rights by now; and what is only planned has an effect, where it defines something.
        if self.query.is_cancelled() {
            return Err(SqlError::Cancelled);
        }
        let mut statement = match parsed {
            maps::Parsed::Other(statement) => *statement,
            maps::Parsed::Own(own) => return self.own(own, &state).await,
        };
        let declared = tables::Declared::take(&mut statement, Names::of(&state));
        let returning = Returning::take(&mut statement)?;
        let on_taken = maps::OnTaken::take(&mut statement, Names::of(&state))?;
        let of_planner = |error| of_planner(error, &state, self.rights.as_ref());
        let mut logical = self.logical(statement, &state).await?;
        if let Some(on_taken) = on_taken {
            logical = on_taken.of(logical, &state).await.map_err(of_planner)?;
        }
        if let Some(mut returning) = returning {
            plan::make_plannable(&mut returning.query, &state, ColumnNames::Equal).await?;
            let rows = state.statement_to_plan(returning.query).await.map_err(of_planner)?;
            logical = returning::over(rows, logical)?;
            let memory = MemoryConsumer::new("RETURNING").register(&self.runtime.memory_pool);
            state.config_mut().set_extension(Arc::new(Returned::new(memory)));
        }
        plan::check_nodes(&logical)?;
        self.pause().await?;
        let parameters = description::parameters(&logical)?;
        let values = match std::mem::replace(&mut self.purpose, Purpose::Describe) {
            Purpose::Run(values) => values,
            Purpose::Describe => {
                let mut described = Description::of(&logical)?;
                if described.kind == StatementKind::Rows {
                    // As it will run: what the analyzer does to the types of columns is seen.
                    let optimized = state.optimize(&logical)?;
                    described.columns = shown(optimized.schema().inner());
                }
                let plan = Arc::new(EmptyExec::new(Arc::clone(&described.columns)));
                return Ok((self.work(plan, &state), described));
            }
        };
        if values.len() != parameters.len() {
            return Err(SqlError::WrongParameters { expected: parameters.len(), given: values.len() });
        }
        let logical = if values.is_empty() { logical } else { logical.with_param_values(values)? };
        let mut kind = StatementKind::of(&logical);
        let change = returning::change_of(&logical);
        self.note_changes(&logical)?;
        let logical = pools::settable(logical);
        match &logical {
            LogicalPlan::Statement(SettingStatement::SetVariable(set)) if set.variable == POOL => {
                self.sql.inner().pools.choose(&set.value, &self.session)?;
            }
            LogicalPlan::Statement(SettingStatement::SetVariable(set)) => {
                check_setting(&set.variable, Some(&set.value))?;
            }
            LogicalPlan::Statement(SettingStatement::ResetVariable(reset)) => {
                check_setting(&reset.variable, None)?
            }
            _ => {}
        }
        stream::check_definition(&logical, &state).await?;
        let running = SessionContext::new_with_state(state);
        let logical = match logical {
            LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(create)) => {
                let has_query = tables::has_query(&create);
                let rows = tables::create_table(create, &declared, &running).await?;
                if has_query {
                    description::count(rows)?
                } else {
                    LogicalPlanBuilder::empty(false).build()?
                }
            }
            // It is read again where it is kept, so it stays as its user wrote it.
            LogicalPlan::Ddl(DdlStatement::CreateView(mut view)) => {
                view.definition = Some(self.text.trim().to_owned());
                LogicalPlan::Ddl(DdlStatement::CreateView(view))
            }
            LogicalPlan::Ddl(DdlStatement::CreateExternalTable(mut table)) => {
                table.definition = Some(self.text.trim().to_owned());
                LogicalPlan::Ddl(DdlStatement::CreateExternalTable(table))
            }
            LogicalPlan::DescribeTable(described) => {
                tables::columns_of(&described.schema, &described.output_schema)?
            }
            other => other,
        };
        let context = match &logical {
            // What it changes outlives the query.
            LogicalPlan::Statement(_) => &self.session,
            _ => &running,
        };
        let is_execute = matches!(&logical, LogicalPlan::Statement(SettingStatement::Execute(_)));
        let logical = context.execute_logical_plan(logical).await?.into_unoptimized_plan();
        if is_execute {
            kind = StatementKind::of(&logical);
            self.note_changes(&logical)?;
        }
        if kind != StatementKind::Rows {
            self.query.planning().forget();
        }
        let mut state = running.state();
        if plan::wants_first_rows(&logical) {
            state.config_mut().options_mut().execution.target_partitions = 1;
        }
        self.pause().await?;
        let logical = state.optimize(&logical)?;
        self.pause().await?;
        let plan = as_shown(state.query_planner().create_physical_plan(&logical, &state).await?)?;
        let endless = plan.boundedness().is_unbounded();
        let described = Description { parameters, columns: plan.schema(), kind, endless, change };
        Ok((self.work(plan, &state), described))
    }

    /// Notes that the statement changes something, before it does.
    fn note_changes(&self, plan: &LogicalPlan) -> Result<(), SqlError> {
        if changes_something(plan)? {
            self.query.begins_to_change();
        }
        Ok(())
    }

    /// Parses the statement. `SUMMARIZE` is written as the query that it stands for.
    async fn parsed(&self, state: &SessionState) -> Result<maps::Parsed, SqlError> {
        let text = match summarized(&self.text) {
            Some(table) => {
                let columns = self.columns_of(&format!("SELECT * FROM {table}"), state).await?;
                Cow::Owned(summary(&table, &columns))
            }
            None => stream::without_table_words(&self.text),
        };
        parsed(&text, state)
    }

    /// Plans a statement whose rights are checked.
    async fn logical(&self, mut statement: Statement, state: &SessionState) -> Result<LogicalPlan, SqlError> {
        let suggestion = maps::Suggestion::of(&statement, Names::of(state));
        plan::make_plannable(&mut statement, state, ColumnNames::Equal).await?;
        self.pause().await?;
        let mut logical = state.statement_to_plan(statement).await;
        if logical.as_ref().is_err_and(has_equal_names)
            && let maps::Parsed::Other(mut statement) = self.parsed(state).await?
        {
            // What is planned apart was taken out of the first one, too.
            tables::Declared::take(&mut statement, Names::of(state));
            Returning::take(&mut statement)?;
            maps::OnTaken::take(&mut statement, Names::of(state))?;
            plan::make_plannable(&mut statement, state, ColumnNames::All).await?;
            logical = state.statement_to_plan(*statement).await;
        }
        logical.map_err(|error| {
            let error = of_planner(error, state, self.rights.as_ref());
            match suggestion {
                Some(suggestion) => suggestion.added_to(error),
                None => error,
            }
        })
    }

    /// The columns of a query, which is planned for that alone.
    async fn columns_of(&self, text: &str, state: &SessionState) -> Result<SchemaRef, SqlError> {
        let parsed = parsed(text, state)?;
        rights::check(&parsed, state, self.rights.as_ref())?;
        let maps::Parsed::Other(mut statement) = parsed else {
            return Err(SqlError::Refused("SUMMARIZE takes a table or a query".to_owned()));
        };
        plan::make_plannable(&mut statement, state, ColumnNames::Equal).await?;
        let logical = state.statement_to_plan(*statement).await;
        let logical = logical.map_err(|error| of_planner(error, state, self.rights.as_ref()))?;
        Ok(shown(logical.schema().inner()))
    }

    /// Ends the turn where it has lasted, and the planning where it is in vain: others wait for the worker.
    async fn pause(&self) -> Result<(), SqlError> {
        checkpoint().await;
        self.query.check_planning()
    }

    /// A statement that DataFusion does not know.
    async fn own(
        self,
        own: maps::OwnStatement,
        state: &SessionState,
    ) -> Result<(Work, Description), SqlError> {
        let kind = own.kind();
        let inner = self.sql.inner();
        let columns = own.columns();
        self.query.begins_to_change();
        let answer = match (&self.purpose, own) {
            (Purpose::Describe, _) => RecordBatch::new_empty(columns),
            (Purpose::Run(_), maps::OwnStatement::ShowQueries) => {
                inner.registry.shown(&inner.stages.clock())?
            }
            (Purpose::Run(_), maps::OwnStatement::ShowJobs) => inner.jobs.shown()?,
            (Purpose::Run(_), maps::OwnStatement::ShowPools) => inner.pools.shown()?,
            (Purpose::Run(_), maps::OwnStatement::CreateJob { name, if_not_exists, text, sink }) => {
                self.create_job(&name, if_not_exists, &text, &sink).await?;
                RecordBatch::new_empty(columns)
            }
            (Purpose::Run(_), maps::OwnStatement::DropJob { name, if_exists }) => {
                self.drop_job(&name, if_exists).await?;
                RecordBatch::new_empty(columns)
            }
            (Purpose::Run(_), own) => maps::run(own, state).await?,
        };
        let columns = answer.schema();
        let plan = MemorySourceConfig::try_new_exec(&[vec![answer]], Arc::clone(&columns), None)?;
        let described = Description { parameters: Vec::new(), columns, kind, endless: false, change: None };
        Ok((self.work(plan, state), described))
    }

    /// Answers when the job is planned: what is wrong with its statement is told to whoever made it.
    async fn create_job(
        &self,
        name: &str,
        if_not_exists: bool,
        text: &str,
        sink: &str,
    ) -> Result<(), SqlError> {
        let inner = self.sql.inner();
        let now_ms = inner.stages.clock().unix_ms();
        let Some(new) = inner.jobs.begin(name, if_not_exists, (sink, text), now_ms)? else { return Ok(()) };
        let session = self.sql.session_with(self.session.clone(), &self.rights);
        let figures = Arc::clone(&new.job.figures);
        let mut query = session.submit_as(text, Purpose::Run(Vec::new()), Some(figures))?;
        query.description().await?;
        inner.pools.of(&self.session).workers.spawn("job", new.running(query))?.detach();
        Ok(())
    }

    /// Who may write to the map that a job writes to may end it.
    async fn drop_job(&self, name: &str, if_exists: bool) -> Result<(), SqlError> {
        let jobs = &self.sql.inner().jobs;
        let Some(job) = jobs.get(name) else {
            return match if_exists {
                true => Ok(()),
                false => Err(SqlError::Refused(format!("there is no job {name:?}; SHOW JOBS lists them"))),
            };
        };
        self.rights.check(Access::Insert, &Object::table(job.sink())).map_err(SqlError::Denied)?;
        job.end().await;
        jobs.remove(&job);
        Ok(())
    }

    fn work(&self, plan: Arc<dyn ExecutionPlan>, state: &SessionState) -> Work {
        let task = TaskContext::from(state).with_runtime(Arc::clone(&self.runtime));
        Work { plan: gathered(plan), partition: 0, context: Arc::new(task), router: Router::To(0) }
    }
}

/// Parses a statement, and writes the windows of streams as the planner knows them.
fn parsed(text: &str, state: &SessionState) -> Result<maps::Parsed, SqlError> {
    let mut parsed = maps::parse(text, Names::of(state))?;
    if let maps::Parsed::Other(statement) = &mut parsed {
        tables::select_into(statement);
        stream::rewritten(statement)?;
    }
    Ok(parsed)
}

/// The columns by the names that their reader sees: two may have the same one.
fn shown(columns: &SchemaRef) -> SchemaRef {
    if columns.fields().iter().all(|field| shown_name(field.name()) == field.name()) {
        return Arc::clone(columns);
    }
    let field = |field: &FieldRef| field.as_ref().clone().with_name(shown_name(field.name()));
    let fields: Vec<Field> = columns.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, columns.metadata().clone()))
}

fn as_shown(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>, SqlError> {
    let columns = plan.schema();
    if Arc::ptr_eq(&shown(&columns), &columns) {
        return Ok(plan);
    }
    let named = columns.fields().iter().enumerate().map(|(place, field)| {
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(field.name(), place));
        ProjectionExpr { expr: column, alias: shown_name(field.name()).to_owned() }
    });
    Ok(Arc::new(ProjectionExec::try_new(named.collect::<Vec<_>>(), plan)?))
}

/// One partition, which the reader reads.
pub(crate) fn gathered(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    if plan.output_partitioning().partition_count() == 1 {
        return plan;
    }
    let node = CoalescePartitionsExec::new(plan);
    Arc::new(ExchangeExec::gather(Arc::clone(node.input()), None, node.properties()))
}

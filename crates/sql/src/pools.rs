//! Resource pools: workers, permits and memory of their own for some sessions, so that heavy reports hold up nobody else.
//!
//! ```text
//!   session A ------------> pool default:  stage fragment,          sql.queries permits
//!   SET filbert.pool = 'reports'
//!   session B ------------> pool reports:  stage fragment/reports,  sql.pools.reports.queries permits
//! ```
//!
//! A query's planning and all its fragments run in the pool that its session has when it is submitted, and nowhere else. What stays common to all:
//! tables, the bound of all memory, files being read, stage `query`; so a cancel is heard whatever the pools do. Rejected: a share of the common
//! workers by weight. An operator cannot be interrupted within one call, so that with as many of them as there are workers others wait, whatever
//! their weight.
//!
//! The pool of a session is an option of its configuration, so `SET` and `SHOW` know it as they know all others.

use crate::error::SqlError;
use crate::memory::TotalMemory;
use crate::query::{Admission, Bounds};
use crate::settings::SqlSettings;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::config::{ConfigEntry, ConfigExtension, ExtensionOptions};
use datafusion::common::{Result, config_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{LogicalPlan, SetVariable, Statement};
use datafusion::prelude::SessionContext;
use filbert_pool::{Stages, WorkStealing};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The variable of a session that names its pool.
pub(crate) const POOL: &str = "filbert.pool";

/// The pool of sessions that say nothing.
pub(crate) const DEFAULT: &str = "default";

/// Where the queries of some sessions run.
pub(crate) struct Pool {
    name: String,
    pub(crate) workers: WorkStealing,
    pub(crate) admission: Arc<Admission>,
    /// Of statements that are planned and not run: they wait for nobody who reads.
    pub(crate) descriptions: Arc<Admission>,
    pub(crate) memory: Arc<TotalMemory>,
}

/// The pools of one engine.
pub(crate) struct Pools {
    by_name: BTreeMap<String, Arc<Pool>>,
    default: Arc<Pool>,
}

impl Pool {
    /// True for the one that every session begins with.
    pub(crate) fn is_default(&self) -> bool {
        self.name == DEFAULT
    }
}

impl Pools {
    /// Starts the workers of all pools but the default one, which has the stage `fragment`.
    pub(crate) fn start(
        stages: &Stages,
        settings: &SqlSettings,
        memory: &Arc<TotalMemory>,
    ) -> Result<Self, SqlError> {
        let rest = Duration::from_millis(settings.resting_after_ms);
        let (short, short_work) = (settings.short_queries, Duration::from_millis(settings.short_ms));
        let wait = (settings.waiting_ms > 0).then(|| Duration::from_millis(settings.waiting_ms));
        let pool = |name: &str, workers: WorkStealing, running: usize, waiting: usize, memory| {
            let bounds = Bounds { running, waiting, short, short_work, wait, rest };
            let admission = || Admission::new(bounds, stages.clock());
            let (admission, descriptions) = (admission(), admission());
            Arc::new(Pool { name: name.to_owned(), workers, admission, descriptions, memory })
        };
        let (running, waiting) = (settings.queries, settings.waiting_queries);
        let default = pool(DEFAULT, stages.fragment().clone(), running, waiting, Arc::clone(memory));
        let mut by_name = BTreeMap::from([(DEFAULT.to_owned(), Arc::clone(&default))]);
        for (name, own) in &settings.pools {
            let workers = stages.add_fragment_pool(name, own.workers);
            let workers = workers.map_err(|error| SqlError::Refused(error.to_string()))?;
            let memory = match own.memory_bytes {
                Some(limit) => TotalMemory::of_pool(name, limit, memory),
                None => Arc::clone(memory),
            };
            by_name.insert(name.clone(), pool(name, workers, own.queries, own.waiting_queries, memory));
        }
        Ok(Self { by_name, default })
    }

    /// The pool of that name.
    pub(crate) fn named(&self, name: &str) -> Result<&Arc<Pool>, SqlError> {
        self.by_name.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.by_name.keys().map(String::as_str).collect();
            SqlError::Refused(format!(
                "there is no pool {name:?}; there are: {}. A table [sql.pools.<name>] in the settings of the member makes one",
                known.join(", ")
            ))
        })
    }

    /// The pool that a session has now.
    pub(crate) fn of(&self, session: &SessionContext) -> &Arc<Pool> {
        let state = session.state_ref();
        let state = state.read();
        let chosen = state.config_options().extensions.get::<PoolOption>();
        chosen.and_then(|chosen| self.by_name.get(&chosen.pool)).unwrap_or(&self.default)
    }

    /// From now on the queries of the session run in the pool of that name, cut into as many partitions as it has workers.
    pub(crate) fn choose(&self, name: &str, session: &SessionContext) -> Result<(), SqlError> {
        let pool = self.named(name)?;
        let state = session.state_ref();
        let mut state = state.write();
        let options = state.config_mut().options_mut();
        options.execution.target_partitions = pool.workers.threads();
        options.extensions.insert(PoolOption { pool: pool.name.clone() });
        Ok(())
    }

    /// Queries that run and that wait, in all pools.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let counts = self.by_name.values().map(|pool| pool.admission.counts());
        counts.fold((0, 0), |sum, (running, waiting)| (sum.0 + running, sum.1 + waiting))
    }

    /// The columns of `SHOW POOLS`.
    pub(crate) fn columns() -> SchemaRef {
        let number = |name: &str| Field::new(name, DataType::Int64, false);
        let name = Field::new("name", DataType::Utf8, false);
        Arc::new(Schema::new(vec![name, number("workers"), number("running"), number("waiting")]))
    }

    /// The answer to `SHOW POOLS`.
    pub(crate) fn shown(&self) -> Result<RecordBatch, SqlError> {
        let pools: Vec<_> = self.by_name.values().map(|pool| (pool, pool.admission.counts())).collect();
        let numbers = |of: &dyn Fn(&Pool, (usize, usize)) -> usize| -> ArrayRef {
            let numbers = pools.iter().map(|(pool, counts)| i64::try_from(of(pool, *counts)).ok());
            Arc::new(numbers.collect::<Int64Array>())
        };
        let columns: Vec<ArrayRef> = vec![
            Arc::new(pools.iter().map(|(pool, _)| Some(pool.name.as_str())).collect::<StringArray>()),
            numbers(&|pool, _| pool.workers.threads()),
            numbers(&|_, (running, _)| running),
            numbers(&|_, (_, waiting)| waiting),
        ];
        Ok(RecordBatch::try_new(Self::columns(), columns).map_err(DataFusionError::from)?)
    }
}

/// A statement as DataFusion knows it: it sets options of others, and resets only its own.
pub(crate) fn settable(statement: LogicalPlan) -> LogicalPlan {
    match statement {
        LogicalPlan::Statement(Statement::ResetVariable(reset)) if reset.variable == POOL => {
            let set = SetVariable { variable: reset.variable, value: DEFAULT.to_owned() };
            LogicalPlan::Statement(Statement::SetVariable(set))
        }
        other => other,
    }
}

/// The pool of a session, by name, among its options.
#[derive(Debug, Clone)]
pub(crate) struct PoolOption {
    pool: String,
}

impl Default for PoolOption {
    fn default() -> Self {
        Self { pool: DEFAULT.to_owned() }
    }
}

impl ConfigExtension for PoolOption {
    const PREFIX: &'static str = "filbert";
}

impl ExtensionOptions for PoolOption {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        if key != "pool" {
            return config_err!("there is no variable filbert.{key}; {POOL} is the only one");
        }
        value.clone_into(&mut self.pool);
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let description = "The pool that the queries of the session run in; SHOW POOLS lists them.";
        vec![ConfigEntry { key: POOL.to_owned(), value: Some(self.pool.clone()), description }]
    }
}

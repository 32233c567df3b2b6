//! A session: one user's settings, prepared statements and queries, over the tables that all sessions share.

use crate::engine::Sql;
use crate::error::SqlError;
use crate::exchange::{Credits, ExchangeExec, Router, channels};
use crate::fragment::{Figures, Fragment, Work};
use crate::maps;
use crate::memory::QueryMemory;
use crate::query::{Control, Query, QueryContext};
use crate::text;
use arrow::datatypes::SchemaRef;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::ExecutionPlanProperties;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::prelude::SessionContext;
use filbert_pool::{Promise, StageKind};
use futures::FutureExt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// One user's way to SQL. Cheap to clone; clones share what `SET` and `PREPARE` change.
#[derive(Clone)]
pub struct Session {
    sql: Sql,
    id: u64,
    context: SessionContext,
}

impl Session {
    pub(crate) fn new(sql: Sql, id: u64, context: SessionContext) -> Self {
        Self { sql, id, context }
    }

    /// Submits one statement; returns before it is planned.
    ///
    /// # Errors
    /// When the text is too long or too deep, when too many queries wait, or when the stages shut down. Everything else is told where the
    /// rows are read.
    pub fn query(&self, text: &str) -> Result<Query, SqlError> {
        let inner = self.sql.inner();
        let settings = &inner.settings;
        text::check(text, settings.text_bytes, settings.expression_depth)?;

        let id = self.sql.next_query();
        let group = inner.fragment.group(&id.to_string());
        let credits = Credits { batches: settings.exchange_batches, bytes: settings.exchange_bytes };
        let context =
            QueryContext::new(inner.fragment.clone(), group.clone(), inner.reactor.clone(), credits);
        let context = Arc::new(context);
        let runtime = self.runtime();
        let memory = MemoryConsumer::new("result").register(&runtime.memory_pool);
        let (mut senders, mut receivers) = channels(1, 1, credits, memory);
        let (Some(sender), Some(receiver)) = (senders.pop(), receivers.pop()) else {
            unreachable!("one of each was asked for")
        };
        let (promise, schema) = inner.stages.promise(StageKind::Fragment, "plan");
        let statement = StatementOfQuery {
            session: self.context.clone(),
            text: text.to_owned(),
            query: Arc::clone(&context),
            runtime,
        };
        let planning = statement.plan(promise).boxed();
        let start = move || {
            let figures = Figures::new(&ExecutionPlanMetricsSet::new(), 0);
            Fragment::plan(&context, planning, sender, figures)
        };
        let control = inner.query.strand(id.0, Control::Waiting(Box::new(start), group.clone()));
        let reason = Arc::new(OnceLock::new());
        let query =
            Query::new(id, control.clone(), group, schema, receiver, settings.rows, Arc::clone(&reason));
        if let Some(limit_ms) = settings.time_limit_ms {
            let canceller = query.canceller();
            inner.stages.clock().after(Duration::from_millis(limit_ms), move || {
                let _ = reason.set(SqlError::TimedOut { limit_ms });
                // Refused at shutdown only, which ends queries too.
                let _ = canceller.cancel().map(filbert_pool::TaskFuture::detach);
            });
        }
        inner.admission.admit(self.id, &control)?;
        Ok(query)
    }

    /// The state of DataFusion, for doors that plan statements themselves.
    pub fn state(&self) -> SessionState {
        self.context.state()
    }

    fn runtime(&self) -> Arc<RuntimeEnv> {
        let inner = self.sql.inner();
        let pool: Arc<dyn MemoryPool> =
            Arc::new(QueryMemory::new(inner.settings.query_memory_bytes, &inner.memory));
        Arc::new(RuntimeEnv { memory_pool: pool, ..inner.runtime.as_ref().clone() })
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A statement on its way to a plan.
struct StatementOfQuery {
    session: SessionContext,
    text: String,
    query: Arc<QueryContext>,
    runtime: Arc<RuntimeEnv>,
}

impl StatementOfQuery {
    /// Tells the reader the columns, or why there are none.
    async fn plan(self, promise: Promise<Result<SchemaRef, SqlError>>) -> Result<Work, SqlError> {
        match self.planned().await {
            Ok(work) => {
                promise.keep(Ok(work.plan.schema()));
                Ok(work)
            }
            Err(error) => {
                promise.keep(Err(error.clone()));
                Err(error)
            }
        }
    }

    async fn planned(self) -> Result<Work, SqlError> {
        let mut state = self.session.state();
        state.config_mut().set_extension(Arc::clone(&self.query));
        let mut statement = match maps::parse(&self.text)? {
            maps::Parsed::Other(statement) => *statement,
            maps::Parsed::Own(own) => {
                let answer = maps::run(own, &state).await?;
                let plan = MemorySourceConfig::try_new_exec(&[vec![answer.clone()]], answer.schema(), None)?;
                return Ok(self.work(plan, &state));
            }
        };
        maps::show_visible(&mut statement, &state).await?;
        let logical = state.statement_to_plan(statement).await?;
        let running = SessionContext::new_with_state(state);
        let context = match &logical {
            // What it changes outlives the query.
            LogicalPlan::Statement(_) => &self.session,
            _ => &running,
        };
        let logical = context.execute_logical_plan(logical).await?.into_unoptimized_plan();
        let state = running.state();
        let plan = state.create_physical_plan(&logical).await?;
        Ok(self.work(plan, &state))
    }

    fn work(&self, plan: Arc<dyn ExecutionPlan>, state: &SessionState) -> Work {
        let task = TaskContext::from(state).with_runtime(Arc::clone(&self.runtime));
        Work { plan: gathered(plan), partition: 0, context: Arc::new(task), router: Router::To(0) }
    }
}

/// One partition, which the reader reads.
fn gathered(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    if plan.output_partitioning().partition_count() == 1 {
        return plan;
    }
    let node = CoalescePartitionsExec::new(plan);
    Arc::new(ExchangeExec::gather(Arc::clone(node.input()), None, node.properties()))
}

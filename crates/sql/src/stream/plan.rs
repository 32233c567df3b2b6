//! Two steps of the physical optimizer that make a plan over a stream one that gives rows while it reads, or refuse it.
//!
//! - [`PlanStreams`] comes first, before anything is decided about partitions: it puts in place of operators that gather rows others that
//!   do not.
//! - [`CheckStreams`] comes last: rows of a stream are dealt out to nobody, so that they keep their order; and what would have to see the
//!   end of a stream is refused in words about the statement, where DataFusion would speak of operators.

use super::window::windowed;
use crate::error::SqlError;
use crate::maps::MapSink;
use crate::plan::{BoundTopGroups, Rule, UnorderedSets, bounded_step, guarded};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec, SymmetricHashJoinExec,
};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning};
use std::sync::Arc;

/// DataFusion's steps, guarded where they are wrong, with those of streams among them.
pub(crate) fn optimizer_rules() -> Vec<Rule> {
    let mut rules: Vec<Rule> = PhysicalOptimizer::new().rules.into_iter().map(guarded).collect();
    rules.insert(0, Arc::new(PlanStreams));
    rules.insert(0, Arc::new(UnorderedSets));
    // The last one refuses plans that cannot run; whatever of them is a stream's is refused before, in other words.
    let last = rules.len().saturating_sub(1);
    rules.insert(last, Arc::new(CheckStreams));
    rules.push(Arc::new(BoundTopGroups));
    rules.into_iter().map(bounded_step).collect()
}

/// Puts operators of streams in place of others.
#[derive(Debug)]
struct PlanStreams;

impl PhysicalOptimizerRule for PlanStreams {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !has_stream(&plan) {
            return Ok(plan);
        }
        Ok(plan.transform_up(streaming)?.data)
    }

    fn name(&self) -> &str {
        "plan_streams"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn has_stream(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.exists(|node| Ok(node.boundedness().is_unbounded())).unwrap_or(true)
}

fn streaming(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>()
        && let Some(windowed) = windowed(aggregate)?
    {
        return Ok(Transformed::yes(Arc::new(windowed)));
    }
    Ok(Transformed::no(plan))
}

/// Keeps streams in order, and refuses what waits for their end.
#[derive(Debug)]
struct CheckStreams;

impl PhysicalOptimizerRule for CheckStreams {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !has_stream(&plan) {
            return Ok(plan);
        }
        let plan = plan.transform_up(in_order)?.data;
        check(&plan)?;
        Ok(plan)
    }

    fn name(&self) -> &str {
        "check_streams"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn in_order(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    if let Some(node) = plan.downcast_ref::<RepartitionExec>()
        && matches!(node.partitioning(), Partitioning::RoundRobinBatch(_))
        && node.input().boundedness().is_unbounded()
    {
        return Ok(Transformed::yes(Arc::clone(node.input())));
    }
    if let Some(node) = plan.downcast_ref::<CoalescePartitionsExec>()
        && node.fetch().is_none()
        && node.input().output_partitioning().partition_count() == 1
    {
        return Ok(Transformed::yes(Arc::clone(node.input())));
    }
    Ok(Transformed::no(plan))
}

/// The innermost operator that would never give a row says what is wrong with the statement.
fn check(plan: &Arc<dyn ExecutionPlan>) -> Result<()> {
    for child in plan.children() {
        check(child)?;
    }
    let never_ends = plan.boundedness().is_unbounded() && plan.pipeline_behavior() == EmissionType::Final;
    let keeps_all = matches!(plan.boundedness(), Boundedness::Unbounded { requires_infinite_memory: true });
    if never_ends || keeps_all || plan.is::<SymmetricHashJoinExec>() {
        return Err(SqlError::Refused(refusal(plan.as_ref())).into_plan());
    }
    // Whatever else takes rows has them when it has all: a file appears whole, a table in memory grows.
    if plan.boundedness().is_unbounded()
        && plan
            .downcast_ref::<DataSinkExec>()
            .is_some_and(|sink| sink.sink().downcast_ref::<MapSink>().is_none())
    {
        return Err(SqlError::Refused(NEVER_WHOLE.to_owned()).into_plan());
    }
    Ok(())
}

const NEVER_WHOLE: &str = "a stream has no end, so a file or table of it would never be whole: SINK INTO a map (CREATE JOB does it for as long \
                           as you like), or end it with LIMIT in a subquery";

/// Refuses `CREATE TABLE ... AS SELECT` of a stream. It is run where it is planned, with none of the checks of a query.
pub(crate) async fn check_definition(plan: &LogicalPlan, state: &SessionState) -> Result<(), SqlError> {
    if let LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(create)) = plan
        && state.create_physical_plan(&create.input).await?.boundedness().is_unbounded()
    {
        return Err(SqlError::Refused(NEVER_WHOLE.to_owned()));
    }
    Ok(())
}

fn refusal(plan: &dyn ExecutionPlan) -> String {
    let text = if plan.is::<AggregateExec>() {
        "a stream has no end, so its groups and sums are never whole: read it by windows, FROM TABLE(TUMBLE(...)) or HOP, and have \
         window_start or window_end in the GROUP BY (or end it with LIMIT in a subquery)"
    } else if plan.is::<SortExec>() {
        "a stream has no end, so it cannot be sorted: leave ORDER BY out, order windows by window_start or window_end, or end it with \
         LIMIT in a subquery"
    } else if plan.is::<WindowAggExec>() || plan.is::<BoundedWindowAggExec>() {
        "a stream has no end, so functions with OVER (...) do not work on it: read it by windows, FROM TABLE(TUMBLE(...)) or HOP, with a \
         GROUP BY, or end it with LIMIT in a subquery"
    } else if plan.is::<HashJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<CrossJoinExec>()
        || plan.is::<SortMergeJoinExec>()
        || plan.is::<SymmetricHashJoinExec>()
    {
        "two streams cannot be joined, nor can a stream be the side of a join of which all rows are needed: join it with a table, as \
         FROM stream JOIN table or FROM stream LEFT JOIN table, or end it with LIMIT in a subquery"
    } else {
        return format!(
            "a stream has no end, and {} would wait for it; end it with LIMIT in a subquery",
            plan.name()
        );
    };
    text.to_owned()
}

//! Cuts a physical plan into fragments.
//!
//! DataFusion has a few nodes that drive their inputs eagerly, with tasks on tokio: those that split and gather partitions, buffers, and
//! the analysis of a plan. Each is replaced by an exchange, or gets one below it; what is between exchanges is a fragment, and nothing
//! in it starts tasks of its own. A sort-preserving merge only reads ahead; it stays, above an exchange that runs its inputs side by side.
//!
//! A sort is replaced by one that can end its turn, and a join that compares rows reads them in pieces for the same reason.
//!
//! Rows of an endless input are handed on at once: a filter or a join that waits until it has a whole batch of them would wait for long.
//!
//! It is the last step of the physical optimizer, so `EXPLAIN` shows what will run.

use super::costly::{self, FEW_ROWS};
use super::pacing::PaceExec;
use super::splitting::split_lists;
use super::yielding::YieldExec;
use crate::bounded::Weight;
use crate::exchange::ExchangeExec;
use crate::sort::SortRunsExec;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result, internal_err};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::analyze::AnalyzeExec;
use datafusion::physical_plan::buffer::BufferExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, ReplaceChildrenOptions,
};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{
    HashJoinExec, NestedLoopJoinExec, PiecewiseMergeJoinExec, SortMergeJoinExec,
};
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::{InterleaveExec, UnionExec};
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use std::sync::Arc;

/// The optimizer's step that cuts.
#[derive(Debug)]
pub(crate) struct CutFragments;

impl PhysicalOptimizerRule for CutFragments {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let batch_rows: usize = config.execution.batch_size.into();
        let mut most = Weight::Light;
        plan.apply(|plan| {
            most = most.max(costly::weight(&**plan)?);
            Ok(TreeNodeRecursion::Continue)
        })?;
        if most != Weight::Huge || batch_rows <= FEW_ROWS {
            return Ok(plan.transform_up(|plan| cut(plan, batch_rows))?.data);
        }
        let plan = plan.transform_up(few_at_a_time)?.data;
        let cut = plan.transform_up(|plan| cut(plan, FEW_ROWS))?.data;
        Ok(Arc::new(YieldExec::with_batches_of(FEW_ROWS, cut)))
    }

    fn name(&self) -> &str {
        "cut_fragments"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn cut(plan: Arc<dyn ExecutionPlan>, batch_rows: usize) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let changed = |plan: Arc<dyn ExecutionPlan>| Ok(Transformed::yes(plan));
    if let Some(node) = plan.downcast_ref::<RepartitionExec>() {
        let order = if node.preserve_order() { node.input().output_ordering().cloned() } else { None };
        let input = Arc::clone(node.input());
        let exchange = ExchangeExec::split(input, node.partitioning().clone(), order, node.properties());
        return changed(Arc::new(exchange));
    }
    if let Some(node) = plan.downcast_ref::<CoalescePartitionsExec>() {
        let exchange = ExchangeExec::gather(Arc::clone(node.input()), node.fetch(), node.properties());
        return changed(Arc::new(exchange));
    }
    if let Some(node) = plan.downcast_ref::<BufferExec>() {
        return changed(Arc::new(ExchangeExec::forward(Arc::clone(node.input()))));
    }
    if let Some(node) = plan.downcast_ref::<CooperativeExec>() {
        // Its budget is tokio's, and means nothing here.
        return changed(yielding(Arc::clone(node.input())));
    }
    if plan.is::<SortPreservingMergeExec>() || plan.is::<AnalyzeExec>() {
        return above_exchange(plan);
    }
    if plan.boundedness().is_unbounded() {
        if let Some(node) = plan.downcast_ref::<FilterExec>() {
            return changed(Arc::new(node.with_batch_size(1)?));
        }
        if waits_for_batches(&*plan) {
            return changed(row_by_row(plan, batch_rows)?);
        }
    } else if let Some(sort) = plan.downcast_ref::<SortExec>()
        && let Some(sort) = SortRunsExec::in_place_of(sort)?
    {
        return changed(yielding(Arc::new(sort)));
    }
    if plan.children().len() == 1
        && plan.boundedness() == Boundedness::Bounded
        && costly::weight(&*plan)? != Weight::Light
    {
        return changed(in_small_pieces(plan)?);
    }
    if let Some(unnest) = plan.downcast_ref::<UnnestExec>()
        && let Some(input) = split_lists(unnest)
    {
        let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
        return changed(yielding(plan.replace_children(vec![input], keep)?));
    }
    if let Some(inputs) = paced(&*plan) {
        let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
        return changed(yielding(plan.replace_children(inputs, keep)?));
    }
    if may_loop(&*plan) {
        return changed(yielding(plan));
    }
    Ok(Transformed::no(plan))
}

/// For a join that can look at many pairs of rows before one meets its condition, its two sides: the left one, which it keeps, and the right
/// one in pieces.
fn paced(plan: &dyn ExecutionPlan) -> Option<Vec<Arc<dyn ExecutionPlan>>> {
    let [left, right] = plan.children()[..] else { return None };
    let (left, right) = (Arc::clone(left), Arc::clone(right));
    if plan.is::<NestedLoopJoinExec>() {
        return Some(PaceExec::of_pairs(left, right).into());
    }
    let join = plan.downcast_ref::<HashJoinExec>()?;
    // Inner and outer ones hand on every pair with the same key.
    let keeps_pairs =
        matches!(join.join_type(), JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full);
    (join.filter().is_some() || !keeps_pairs).then(|| vec![left, Arc::new(PaceExec::by_turns(right)) as _])
}

/// A filter of a plan with huge rows gathers few of them.
fn few_at_a_time(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(filter) = plan.downcast_ref::<FilterExec>() else { return Ok(Transformed::no(plan)) };
    Ok(Transformed::yes(Arc::new(filter.with_batch_size(FEW_ROWS)?)))
}

/// A node whose rows may take long or become large, with an input that is read in pieces as large as a turn allows.
fn in_small_pieces(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let inputs =
        plan.children().into_iter().map(|input| Arc::new(PaceExec::one_by_one(Arc::clone(input))) as _);
    let inputs = inputs.collect();
    let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
    plan.replace_children(inputs, keep)
}

/// True for joins that keep rows until they fill a batch.
fn waits_for_batches(plan: &dyn ExecutionPlan) -> bool {
    plan.is::<HashJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<SortMergeJoinExec>()
        || plan.is::<PiecewiseMergeJoinExec>()
}

/// Such a join with batches of one row; what is below it has those of the session.
fn row_by_row(plan: Arc<dyn ExecutionPlan>, batch_rows: usize) -> Result<Arc<dyn ExecutionPlan>> {
    let below = |input: &Arc<dyn ExecutionPlan>| {
        Arc::new(YieldExec::with_batches_of(batch_rows, Arc::clone(input))) as Arc<dyn ExecutionPlan>
    };
    let inputs = plan.children().into_iter().map(below).collect();
    let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
    Ok(Arc::new(YieldExec::with_batches_of(1, plan.replace_children(inputs, keep)?)))
}

/// Puts an exchange below a node with one input of several partitions.
fn above_exchange(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(input) = plan.children().first().map(|input| Arc::clone(input)) else {
        return internal_err!("{} has an input", plan.name());
    };
    if input.is::<ExchangeExec>()
        || (input.output_partitioning().partition_count() == 1 && !plan.is::<AnalyzeExec>())
    {
        return Ok(Transformed::no(plan));
    }
    let input: Arc<dyn ExecutionPlan> = Arc::new(ExchangeExec::forward(input));
    let keep = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);
    Ok(Transformed::yes(plan.replace_children(vec![input], keep)?))
}

/// True for nodes that can produce for long, or for ever, without asking something that yields: leaves, and whatever makes more rows
/// than it reads.
fn may_loop(plan: &dyn ExecutionPlan) -> bool {
    match plan.children().len() {
        0 => true,
        1 => plan.is::<UnnestExec>(),
        _ => !plan.is::<UnionExec>() && !plan.is::<InterleaveExec>() && !plan.is::<RecursiveQueryExec>(),
    }
}

fn yielding(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    if plan.is::<YieldExec>() { plan } else { Arc::new(YieldExec::new(plan)) }
}

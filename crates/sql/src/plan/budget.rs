//! Ends the planning of a statement that takes too long, or that nobody waits for any more.
//!
//! A statement of a line may take the planner a minute, and the planner asks nobody whether to go on. Its rules are put into these wrappers, which
//! ask before each: whether the query was cancelled, whether it may hold its memory, and how long planning has worked by now. Between two
//! questions stands the work of one rule; a worker that is held up by it is replaced (`fragment.held_up_ms`). Threads: planning.

use super::pushdown::Rule;
use crate::bounded::check_planning;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::{AnalyzerRule, ApplyOrder, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// A step of the optimizer of logical plans.
pub(crate) type LogicalRule = Arc<dyn OptimizerRule + Send + Sync>;

/// A step of the analyzer.
pub(crate) type Analysis = Arc<dyn AnalyzerRule + Send + Sync>;

/// A step of the analyzer that asks first.
pub(crate) fn bounded_analysis(rule: Analysis) -> Analysis {
    Arc::new(Bounded(rule))
}

/// A step of the optimizer of logical plans that asks first.
pub(crate) fn bounded_rule(rule: LogicalRule) -> LogicalRule {
    Arc::new(Bounded(rule))
}

/// A step of the optimizer of plans that asks first.
pub(crate) fn bounded_step(rule: Rule) -> Rule {
    Arc::new(Bounded(rule))
}

#[derive(Debug)]
struct Bounded<R>(R);

impl AnalyzerRule for Bounded<Analysis> {
    fn analyze(&self, plan: LogicalPlan, config: &ConfigOptions) -> Result<LogicalPlan> {
        check_planning()?;
        self.0.analyze(plan, config)
    }

    fn name(&self) -> &str {
        self.0.name()
    }
}

impl OptimizerRule for Bounded<LogicalRule> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    /// Called for each node where the optimizer walks the plan, so that a rule with much to do is asked more than once.
    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        check_planning()?;
        self.0.rewrite(plan, config)
    }
}

impl PhysicalOptimizerRule for Bounded<Rule> {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_planning()?;
        self.0.optimize(plan, config)
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check_planning()?;
        self.0.optimize_with_context(plan, context)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

//! Changes the expressions of a plan's node, while the names of its columns stay.

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, GroupingSet, LogicalPlan};

/// Changes each expression of a node, from its leaves up, if there is one that is `concerned`.
pub(crate) fn changed_expressions(
    plan: LogicalPlan,
    concerned: impl Fn(&Expr) -> bool,
    change: impl Fn(Expr, &DFSchema) -> Result<Transformed<Expr>>,
) -> Result<Transformed<LogicalPlan>> {
    let mut is_concerned = false;
    plan.apply_expressions(|expr| {
        is_concerned |= expr.exists(|expr| Ok(concerned(expr)))?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !is_concerned {
        return Ok(Transformed::no(plan));
    }
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        let source = scan.source.schema();
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &source)?);
    }
    let names = NamePreserver::new(&plan);
    let one = |expr: Expr| -> Result<Transformed<Expr>> {
        let name = names.save(&expr);
        let changed = expr.transform_up(|expr| change(expr, &schema))?;
        Ok(changed.update_data(|expr| name.restore(expr)))
    };
    let changed = plan.map_expressions(|expr| match expr {
        Expr::GroupingSet(set) => of_set(set, one),
        expr => one(expr),
    })?;
    if changed.transformed { changed.map_data(LogicalPlan::recompute_schema) } else { Ok(changed) }
}

/// A set of groupings keeps its form: its members have names, it has none.
fn of_set(set: GroupingSet, one: impl Fn(Expr) -> Result<Transformed<Expr>>) -> Result<Transformed<Expr>> {
    let mut is_changed = false;
    let mut each = |members: Vec<Expr>| -> Result<Vec<Expr>> {
        let members = members.into_iter().map(|member| {
            let changed = one(member)?;
            is_changed |= changed.transformed;
            Ok(changed.data)
        });
        members.collect()
    };
    let set = match set {
        GroupingSet::Rollup(members) => GroupingSet::Rollup(each(members)?),
        GroupingSet::Cube(members) => GroupingSet::Cube(each(members)?),
        GroupingSet::GroupingSets(sets) => {
            GroupingSet::GroupingSets(sets.into_iter().map(each).collect::<Result<_>>()?)
        }
    };
    Ok(Transformed::new(Expr::GroupingSet(set), is_changed, TreeNodeRecursion::Continue))
}

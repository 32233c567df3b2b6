//! Plans scalar subqueries that compare with the query around them by other means than `=`.
//!
//! `(SELECT count(*) FROM x WHERE x.a = t.a)` becomes a join with groups in DataFusion 55. With `x.a < t.a` there are no such groups, and the
//! query was refused. Here a node that asks such a subquery gets a join instead, with one row for each distinct group of outer values:
//!
//! ```text
//! SELECT t.b, (SELECT count(*) FROM x WHERE x.a < t.a) FROM t
//!
//! outer    SELECT DISTINCT t.a AS o0 FROM t
//! scalar   SELECT count(*) FILTER (WHERE found) AS value, o0 FROM outer LEFT JOIN (SELECT *, true AS found FROM x) ON x.a < o0 GROUP BY o0
//! result   SELECT t.b, scalar.value FROM t JOIN scalar ON t.a IS NOT DISTINCT FROM scalar.o0
//! ```
//!
//! Outer values without a row of `x` keep their group, in which every aggregate sees no row, so that `count` is 0 and `sum` is NULL. Only
//! `HAVING` drops groups; then the last join keeps all rows. The input is planned twice, and its maps are read once for both; what
//! may have other rows without a change is refused, as is a subquery of another form. To number the rows of the input instead was rejected:
//! every aggregate would then have a group for each row, and the numbers one thread. Threads: planning.

use super::membership::is_the_same;
use super::null_safe::same_keys;
use crate::error::SqlError;
use crate::maps::read_once;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, JoinType, Result};
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{
    Expr, FetchType, Filter, LogicalPlan, LogicalPlanBuilder, Operator, SkipType, Subquery, lit,
};
use datafusion::optimizer::AnalyzerRule;

/// Makes joins of scalar subqueries that DataFusion cannot plan.
#[derive(Debug)]
pub(crate) struct PlanCorrelated;

impl AnalyzerRule for PlanCorrelated {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(joined)?.data)
    }

    fn name(&self) -> &str {
        "plan_correlated"
    }
}

/// A subquery with the columns of the query around it that it names.
struct Correlated {
    subquery: Subquery,
    outer: Vec<Column>,
}

fn joined(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let is_known = matches!(
        plan,
        LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Sort(_)
            | LogicalPlan::Window(_)
    );
    if !is_known {
        return Ok(Transformed::no(plan));
    }
    let found = found(&plan)?;
    if found.is_empty() {
        return Ok(Transformed::no(plan));
    }
    let (input, plan) = with_plain_conditions_first(plan)?;
    if !is_the_same(&input)? {
        let text = "a subquery that names columns of the query around it, other than with =, is not known here where the rows of that query may be \
                    others when they are read again, as those of a LIMIT or of random(); keep them with CREATE TABLE ... AS";
        return Err(SqlError::Refused(text.to_owned()).into_plan());
    }
    let input = read_once(input)?;
    let mut rows = LogicalPlanBuilder::from(input.clone());
    let mut values = Vec::new();
    for (number, correlated) in found.into_iter().enumerate() {
        let names = Names { outer: format!("__outer_{number}"), scalar: format!("__scalar_{number}") };
        let scalar = names.scalar_of(&input, &correlated)?;
        let mut keys = (Vec::new(), Vec::new());
        let both = merge_schema(&[&input, &scalar]);
        for (place, column) in correlated.outer.into_iter().enumerate() {
            let of_group = Expr::Column(names.key(&names.scalar, place));
            let same = same_keys(Expr::Column(column), of_group, &both)?.ok_or_else(unknown)?;
            for (one, other) in same {
                keys.0.push(one);
                keys.1.push(other);
            }
        }
        let join_type =
            if drops_groups(&correlated.subquery.subquery) { JoinType::Left } else { JoinType::Inner };
        rows = rows.join_with_expr_keys(scalar, join_type, keys, None)?;
        values.push((correlated.subquery, Column::new(Some(names.scalar.clone()), "value")));
    }
    let names = NamePreserver::new(&plan);
    let exprs = plan.expressions().into_iter().map(|expr| {
        let name = names.save(&expr);
        let changed = expr.transform_up(|expr| match &expr {
            Expr::ScalarSubquery(asked) => match values.iter().find(|(known, _)| known == asked) {
                Some((_, value)) => Ok(Transformed::yes(Expr::Column(value.clone()))),
                None => Ok(Transformed::no(expr)),
            },
            _ => Ok(Transformed::no(expr)),
        })?;
        Ok(if changed.transformed { name.restore(changed.data) } else { changed.data })
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    let columns = plan.schema().columns();
    let changed = plan.with_new_exprs(exprs, vec![rows.build()?])?.recompute_schema()?;
    if changed.schema().fields().len() == columns.len() {
        return Ok(Transformed::yes(changed));
    }
    // The values are nobody else's.
    let columns = columns.into_iter().map(Expr::Column);
    Ok(Transformed::yes(LogicalPlanBuilder::from(changed).project(columns)?.build()?))
}

/// The subqueries of a node that somebody must plan.
fn found(plan: &LogicalPlan) -> Result<Vec<Correlated>> {
    let mut all: Vec<Correlated> = Vec::new();
    let inputs = plan.inputs();
    let [input] = inputs.as_slice() else { return Ok(all) };
    plan.apply_expressions(|expr| {
        if matches!(expr, Expr::GroupingSet(_)) {
            return Ok(TreeNodeRecursion::Continue);
        }
        expr.apply(|expr| {
            if let Expr::ScalarSubquery(subquery) = expr
                && all.iter().all(|known| known.subquery != *subquery)
                && let Some(outer) = outer_of(&subquery.subquery)?
                && outer.iter().all(|column| input.schema().has_column(column))
            {
                all.push(Correlated { subquery: subquery.clone(), outer });
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(all)
}

/// The outer columns of a subquery, if it names one in a way for which DataFusion has no plan.
fn outer_of(subquery: &LogicalPlan) -> Result<Option<Vec<Column>>> {
    let (mut outer, mut is_grouped, mut is_simple, mut is_nested) = (Vec::new(), false, true, false);
    subquery.apply(|node| {
        is_grouped |= matches!(node, LogicalPlan::Aggregate(_));
        for expr in node.expressions() {
            let mut has_outer = false;
            expr.apply(|expr| {
                match expr {
                    Expr::OuterReferenceColumn(_, column) => {
                        has_outer = true;
                        if !outer.contains(column) {
                            outer.push(column.clone());
                        }
                    }
                    Expr::ScalarSubquery(subquery) => is_nested |= !subquery.outer_ref_columns.is_empty(),
                    Expr::Exists(asked) => is_nested |= !asked.subquery.outer_ref_columns.is_empty(),
                    Expr::InSubquery(asked) => is_nested |= !asked.subquery.outer_ref_columns.is_empty(),
                    Expr::SetComparison(asked) => is_nested |= !asked.subquery.outer_ref_columns.is_empty(),
                    _ => {}
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
            if has_outer {
                is_simple &= matches!(node, LogicalPlan::Filter(_))
                    && split_conjunction_owned(expr)
                        .iter()
                        .all(|part| !has_outer_column(part) || is_equal(part));
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok((is_grouped && !is_simple && !is_nested).then_some(outer))
}

/// True for a subquery with `HAVING`.
fn drops_groups(subquery: &LogicalPlan) -> bool {
    match subquery {
        LogicalPlan::Aggregate(_) => false,
        LogicalPlan::Filter(_) => true,
        other => other.inputs().into_iter().any(drops_groups),
    }
}

/// True for `column = expression of outer columns`, which becomes a join with groups.
fn is_equal(condition: &Expr) -> bool {
    let Expr::BinaryExpr(binary) = condition else { return false };
    let is_column = |expr: &Expr| match expr {
        Expr::Column(_) => true,
        Expr::Cast(cast) => matches!(*cast.expr, Expr::Column(_)),
        _ => false,
    };
    let pairs = [(&binary.left, &binary.right), (&binary.right, &binary.left)];
    binary.op == Operator::Eq && pairs.iter().any(|(one, other)| is_column(one) && !other.any_column_refs())
}

fn has_outer_column(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(matches!(expr, Expr::OuterReferenceColumn(..)))).unwrap_or(true)
}

fn has_subquery(expr: &Expr) -> bool {
    expr.exists(|expr| {
        Ok(matches!(
            expr,
            Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::SetComparison(_)
        ))
    })
    .unwrap_or(true)
}

/// The input of a node, and the node. Conditions without a subquery go below: fewer rows ask. One that names outer columns itself stays, for
/// the query around it.
fn with_plain_conditions_first(plan: LogicalPlan) -> Result<(LogicalPlan, LogicalPlan)> {
    let LogicalPlan::Filter(filter) = plan else {
        let input = plan.inputs().first().map(|input| (*input).clone());
        return Ok((input.unwrap_or_default(), plan));
    };
    let (asking, plain): (Vec<_>, Vec<_>) = split_conjunction_owned(filter.predicate)
        .into_iter()
        .partition(|part| has_subquery(part) || has_outer_column(part));
    let mut input = LogicalPlanBuilder::from(filter.input.as_ref().clone());
    if let Some(plain) = plain.into_iter().reduce(Expr::and) {
        input = input.filter(plain)?;
    }
    let input = input.build()?;
    let asking = asking.into_iter().reduce(Expr::and).unwrap_or_else(|| lit(true));
    let filter = Filter::try_new(asking, input.clone().into())?;
    Ok((input, LogicalPlan::Filter(filter)))
}

/// What the parts of one join are called.
struct Names {
    outer: String,
    scalar: String,
}

impl Names {
    fn key(&self, table: &str, place: usize) -> Column {
        Column::new(Some(table.to_owned()), format!("o{place}"))
    }

    fn keys(&self, outer: &[Column]) -> Vec<Expr> {
        (0..outer.len()).map(|place| Expr::Column(self.key(&self.outer, place))).collect()
    }

    /// The value of the subquery for each group of outer values.
    fn scalar_of(&self, input: &LogicalPlan, correlated: &Correlated) -> Result<LogicalPlan> {
        let outer = &correlated.outer;
        let named = outer
            .iter()
            .enumerate()
            .map(|(place, column)| Expr::Column(column.clone()).alias(format!("o{place}")));
        let groups = LogicalPlanBuilder::from(input.clone()).project(named)?.distinct()?;
        let groups = groups.alias(self.outer.as_str())?.build()?;
        let rows = self.grouped(&correlated.subquery.subquery, groups, outer)?;
        let value = Expr::Column(Column::from(rows.schema().qualified_field(0))).alias("value");
        let keys = self.keys(outer).into_iter().enumerate();
        let keys = keys.map(|(place, key)| key.alias(format!("o{place}")));
        let rows = LogicalPlanBuilder::from(rows).project(std::iter::once(value).chain(keys))?;
        rows.alias(self.scalar.as_str())?.build()
    }

    /// The subquery with a row for each group of outer values: its own columns, and those of the group.
    fn grouped(&self, subquery: &LogicalPlan, groups: LogicalPlan, outer: &[Column]) -> Result<LogicalPlan> {
        match subquery {
            LogicalPlan::Projection(projection) => {
                let rows = self.grouped(&projection.input, groups, outer)?;
                let own = projection.expr.iter().map(|expr| self.with_groups(expr, outer));
                let own = own.collect::<Result<Vec<_>>>()?;
                LogicalPlanBuilder::from(rows).project(own.into_iter().chain(self.keys(outer)))?.build()
            }
            LogicalPlan::Filter(having) => {
                let rows = self.grouped(&having.input, groups, outer)?;
                let condition = self.with_groups(&having.predicate, outer)?;
                LogicalPlanBuilder::from(rows).filter(condition)?.build()
            }
            // Of one row.
            LogicalPlan::Sort(sort) => self.grouped(&sort.input, groups, outer),
            LogicalPlan::Limit(limit)
                if matches!(limit.get_skip_type()?, SkipType::Literal(0))
                    && matches!(limit.get_fetch_type()?, FetchType::Literal(Some(1..))) =>
            {
                self.grouped(&limit.input, groups, outer)
            }
            LogicalPlan::Aggregate(aggregate) if aggregate.group_expr.is_empty() => {
                let mut conditions = Vec::new();
                let rows = without_conditions(&aggregate.input, &mut conditions)?;
                let found = Column::from_name("__found");
                let marked = rows.schema().columns().into_iter().map(Expr::Column);
                let marked = marked.chain([lit(true).alias(found.name())]);
                let rows = LogicalPlanBuilder::from(rows).project(marked)?.build()?;
                let on = conditions.iter().map(|condition| self.with_groups(condition, outer));
                let on = on.collect::<Result<Vec<_>>>()?.into_iter().reduce(Expr::and);
                let rows = LogicalPlanBuilder::from(groups).join_on(
                    rows,
                    JoinType::Left,
                    [on.unwrap_or_else(|| lit(true))],
                )?;
                let values = aggregate.aggr_expr.iter().map(|expr| {
                    let value = self.with_groups(expr, outer)?;
                    Ok(where_found(value, &found)?.alias(expr.schema_name().to_string()))
                });
                let values = values.collect::<Result<Vec<_>>>()?;
                let keys = self.keys(outer);
                let rows = rows.aggregate(keys.clone(), values)?;
                // The groups come first there.
                let own = aggregate.schema.columns().into_iter().map(Expr::Column);
                rows.project(own.chain(keys))?.build()
            }
            _ => Err(unknown()),
        }
    }

    /// The expression with the columns of its group in place of those of the query around it.
    fn with_groups(&self, expr: &Expr, outer: &[Column]) -> Result<Expr> {
        let changed = expr.clone().transform_up(|expr| match &expr {
            Expr::OuterReferenceColumn(_, column) => {
                let place = outer.iter().position(|known| known == column).ok_or_else(unknown)?;
                Ok(Transformed::yes(Expr::Column(self.key(&self.outer, place))))
            }
            _ => Ok(Transformed::no(expr)),
        })?;
        match changed.data {
            plain if !changed.transformed => Ok(plain),
            Expr::Alias(named) => Ok(Expr::Alias(named)),
            other => Ok(other.alias(expr.schema_name().to_string())),
        }
    }
}

/// An aggregate of the rows that there are, without the one that an outer join makes where there is none.
fn where_found(aggregate: Expr, found: &Column) -> Result<Expr> {
    match aggregate.unalias() {
        Expr::AggregateFunction(AggregateFunction { func, mut params }) => {
            let found = Expr::Column(found.clone());
            let condition = match params.filter.take() {
                Some(condition) => found.and(*condition),
                None => found,
            };
            params.filter = Some(Box::new(condition));
            Ok(Expr::AggregateFunction(AggregateFunction { func, params }))
        }
        _ => Err(unknown()),
    }
}

/// The rows of a subquery without the conditions that name outer columns.
fn without_conditions(plan: &LogicalPlan, conditions: &mut Vec<Expr>) -> Result<LogicalPlan> {
    if !has_outer(plan)? {
        return Ok(plan.clone());
    }
    match plan {
        LogicalPlan::Filter(filter) => {
            let rows = without_conditions(&filter.input, conditions)?;
            let parts = split_conjunction_owned(filter.predicate.clone());
            let (outer, own): (Vec<_>, Vec<_>) = parts.into_iter().partition(has_outer_column);
            conditions.extend(outer);
            match own.into_iter().reduce(Expr::and) {
                Some(own) => LogicalPlanBuilder::from(rows).filter(own)?.build(),
                None => Ok(rows),
            }
        }
        // As the one above a join that was made for a subquery further in.
        LogicalPlan::Projection(projection)
            if projection.expr.iter().all(|expr| matches!(expr, Expr::Column(_))) =>
        {
            let before = conditions.len();
            let rows = without_conditions(&projection.input, conditions)?;
            let named = conditions.iter().skip(before).flat_map(Expr::column_refs);
            if !named.into_iter().all(|column| projection.schema.has_column(column)) {
                return Err(unknown());
            }
            LogicalPlanBuilder::from(rows).project(projection.expr.clone())?.build()
        }
        LogicalPlan::Join(join)
            if join.join_type == JoinType::Inner
                && !join.filter.as_ref().is_some_and(has_outer_column)
                && !join.on.iter().any(|(left, right)| has_outer_column(left) || has_outer_column(right)) =>
        {
            let left = without_conditions(&join.left, conditions)?;
            let right = without_conditions(&join.right, conditions)?;
            plan.with_new_exprs(plan.expressions(), vec![left, right])?.recompute_schema()
        }
        _ => Err(unknown()),
    }
}

fn has_outer(plan: &LogicalPlan) -> Result<bool> {
    let mut has_outer = false;
    plan.apply(|node| {
        has_outer |= node.expressions().iter().any(has_outer_column);
        Ok(if has_outer { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(has_outer)
}

fn unknown() -> datafusion::error::DataFusionError {
    let text = "a subquery of this form cannot name columns of the query around it other than with =; \
                name them in its WHERE, below one aggregate such as max(...), or write a join";
    SqlError::Refused(text.to_owned()).into_plan()
}

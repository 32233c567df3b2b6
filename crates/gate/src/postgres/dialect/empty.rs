//! Queries that can only be empty, because they need a row of a table that never has one.

use super::super::catalog;
use super::{catalog_name, name_of, unique};
use datafusion::sql::sqlparser::ast::{
    Expr, JoinOperator, Query, Select, SelectItem, SetExpr, SetOperator, Statement, TableFactor,
    TableWithJoins, Visitor,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// True when it has no rows, whatever else it says.
pub(super) fn is_always_empty(query: &Query) -> bool {
    query.with.is_none() && is_empty(&query.body)
}

fn is_empty(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => is_empty_select(select),
        SetExpr::Query(query) => is_always_empty(query),
        SetExpr::SetOperation { left, op, right, .. } => match op {
            SetOperator::Union => is_empty(left) && is_empty(right),
            SetOperator::Intersect => is_empty(left) || is_empty(right),
            SetOperator::Except | SetOperator::Minus => is_empty(left),
        },
        _ => false,
    }
}

fn is_empty_select(select: &Select) -> bool {
    // Without groups, an aggregate of nothing is a row.
    select.from.iter().any(needs_empty) && !aggregates(select)
}

/// True when every row needs one of a table that has none.
fn needs_empty(from: &TableWithJoins) -> bool {
    use JoinOperator::{CrossJoin, Inner, Join, Left, LeftOuter};
    let inner = |operator: &JoinOperator| matches!(operator, Join(_) | Inner(_) | CrossJoin(_));
    let known = |operator: &JoinOperator| inner(operator) || matches!(operator, Left(_) | LeftOuter(_));
    from.joins.iter().all(|join| known(&join.join_operator))
        && (is_empty_table(&from.relation)
            || from.joins.iter().any(|join| inner(&join.join_operator) && is_empty_table(&join.relation)))
}

fn is_empty_table(table: &TableFactor) -> bool {
    match table {
        TableFactor::Table { name, args: None, .. } => {
            catalog_name(name).is_some_and(|name| catalog::is_always_empty(&name))
        }
        TableFactor::NestedJoin { table_with_joins, .. } => needs_empty(table_with_joins),
        TableFactor::Derived { subquery, .. } => is_always_empty(subquery),
        _ => false,
    }
}

const AGGREGATES: [&str; 12] = [
    "count",
    "sum",
    "min",
    "max",
    "avg",
    "array_agg",
    "string_agg",
    "bool_or",
    "bool_and",
    "every",
    "json_agg",
    "json_object_agg",
];

fn aggregates(select: &Select) -> bool {
    /// What a subquery aggregates is its own matter.
    #[derive(Default)]
    struct Search {
        depth: usize,
    }
    impl Visitor for Search {
        type Break = ();

        fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
            self.depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Function(function)
                    if self.depth == 0
                        && catalog_name(&function.name)
                            .is_some_and(|name| AGGREGATES.contains(&name.as_str())) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    select.projection.iter().any(|item| filbert_sql::walk::read_item(item, &mut Search::default()).is_break())
}

/// The same columns without rows; `None` when it may have some, or when its columns are not named.
pub(super) fn replaced(query: &Query) -> Option<Query> {
    if !is_always_empty(query) {
        return None;
    }
    let mut taken = HashSet::new();
    let columns: Option<Vec<String>> = first_select(&query.body)?
        .projection
        .iter()
        .map(|item| {
            let name = match item {
                SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
                SelectItem::UnnamedExpr(expr) => name_of(expr),
                _ => return None,
            };
            let name = unique(name, &mut taken).replace('"', "\"\"");
            Some(format!("CAST(NULL AS VARCHAR) AS \"{name}\""))
        })
        .collect();
    let text = format!("SELECT {} WHERE false", columns?.join(", "));
    match Parser::parse_sql(&PostgreSqlDialect {}, &text).ok()?.pop()? {
        Statement::Query(query) => Some(*query),
        _ => None,
    }
}

fn first_select(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first_select(&query.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

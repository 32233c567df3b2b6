//! Queries that can only be empty, because they need a row of a table that never has one.

use super::{catalog_name, catalog_table, unique, wildcards};
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, JoinConstraint, JoinOperator, Query, Select, SelectItem, SetExpr, SetOperator,
    Statement, TableFactor, TableWithJoins, Visitor,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use filbert_sql::postgres_name;
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
    select.from.iter().any(needs_empty) && (is_grouped(select) || !aggregates(select))
}

fn is_grouped(select: &Select) -> bool {
    !matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty())
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

/// Lets outer joins with tables that never have rows join nothing: what they ask for may be what the engine cannot say. True when there were
/// some.
pub(super) fn join_nothing(select: &mut Select) -> bool {
    let mut changed = false;
    for join in select.from.iter_mut().flat_map(|from| &mut from.joins) {
        if let JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) = &mut join.join_operator
            && is_empty_table(&join.relation)
            && let Some(never) = super::written("false")
        {
            *constraint = JoinConstraint::On(never);
            changed = true;
        }
    }
    changed
}

/// Lets a query in place of a value give one row at most, as it does in PostgreSQL: the engine wants to see that. True when that was to do.
pub(super) fn one_row(query: &mut Query) -> bool {
    let is_plain = query.with.is_none() && query.limit_clause.is_none() && query.fetch.is_none();
    let SetExpr::Select(select) = query.body.as_mut() else { return false };
    if !is_plain || is_grouped(select) || aggregates(select) || !reads_catalog(select) {
        return false;
    }
    let [SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }] =
        select.projection.as_mut_slice()
    else {
        return false;
    };
    match super::written(&format!("first_value({expr})")) {
        Some(first) => {
            *expr = first;
            true
        }
        None => false,
    }
}

fn reads_catalog(select: &Select) -> bool {
    let is_catalog = |table: &TableFactor| matches!(table, TableFactor::Table { name, .. } if catalog_table(name).is_some());
    select.from.iter().any(|from| is_catalog(&from.relation))
}

fn is_empty_table(table: &TableFactor) -> bool {
    match table {
        TableFactor::Table { name, args: None, .. } => {
            catalog_table(name).is_some_and(|(_, table)| !table.has_rows)
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

pub(super) fn aggregates(select: &Select) -> bool {
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

/// The type of a column without rows: a list where values are gathered, for a UNION needs to know that. Of others nobody asks.
fn type_of(expr: &Expr) -> &'static str {
    let gathers = |name: &str| name == "array_agg";
    match expr {
        Expr::Function(function) if catalog_name(&function.name).is_some_and(|name| gathers(&name)) => {
            "VARCHAR[]"
        }
        _ => "VARCHAR",
    }
}

/// The same columns without rows; `None` when it may have some, or when its columns are not named.
pub(super) fn replaced(query: &Query) -> Option<Query> {
    if !is_always_empty(query) {
        return None;
    }
    let select = first_select(&query.body)?;
    let mut names = Vec::new();
    for item in &select.projection {
        match item {
            SelectItem::ExprWithAlias { alias, expr } => names.push((alias.value.clone(), type_of(expr))),
            SelectItem::UnnamedExpr(expr) => names.push((postgres_name(expr), type_of(expr))),
            other => {
                let columns = wildcards::columns(other, select)?;
                names.extend(columns.into_iter().map(|name| (name.to_owned(), "VARCHAR")));
            }
        }
    }
    let mut taken = HashSet::new();
    let column = |(name, kind): (String, &str)| {
        let name = unique(name, &mut taken).replace('"', "\"\"");
        format!("CAST(NULL AS {kind}) AS \"{name}\"")
    };
    let columns: Vec<String> = names.into_iter().map(column).collect();
    let text = format!("SELECT {} WHERE false", columns.join(", "));
    match Parser::parse_sql(&PostgreSqlDialect {}, &text).ok()?.pop()? {
        Statement::Query(query) => Some(*query),
        _ => None,
    }
}

/// Words of statements that are not in the standard.
const KEYWORDS: [&str; 8] = ["analyze", "explain", "ilike", "limit", "mapping", "offset", "show", "sink"];

/// Functions that give rows in PostgreSQL and have none to give here, with their columns.
const FUNCTIONS: [(&str, &[&str]); 3] = [
    ("pg_timezone_names", &["name", "abbrev", "utc_offset", "is_dst"]),
    ("pg_listening_channels", &["pg_listening_channels"]),
    ("pg_show_all_settings", &["name", "setting"]),
];

/// A call of such a function in place of a table, as a table; with rows only where something can be said.
pub(super) fn function(table: &TableFactor) -> Option<TableFactor> {
    let TableFactor::Table { name, alias, args: Some(_), .. } = table else { return None };
    let name = catalog_name(name)?;
    let rows = if name == "pg_get_keywords" {
        let words = KEYWORDS.map(|word| format!("('{word}', 'U', 'unreserved')")).join(", ");
        format!("SELECT * FROM (VALUES {words}) AS k (word, catcode, catdesc)")
    } else {
        let (_, columns) = FUNCTIONS.iter().find(|(known, _)| *known == name)?;
        let columns: Vec<String> =
            columns.iter().map(|column| format!("CAST(NULL AS VARCHAR) AS {column}")).collect();
        format!("SELECT {} WHERE false", columns.join(", "))
    };
    let called = alias.as_ref().map_or(name, |alias| alias.name.to_string());
    let text = format!("SELECT * FROM ({rows}) AS {called}");
    match Parser::parse_sql(&PostgreSqlDialect {}, &text).ok()?.pop()? {
        Statement::Query(query) => match *query.body {
            SetExpr::Select(mut select) => select.from.pop().map(|from| from.relation),
            _ => None,
        },
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

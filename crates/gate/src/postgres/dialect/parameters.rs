//! Parameters: those that a rewritten statement no longer mentions, which its client binds all the same, and the types that casts say.

use super::MOST_DEPTH;
use crate::postgres::values::type_by_name;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, LimitClause, Query, SetExpr, Statement, Value, ValueWithSpan, Visitor,
    VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// The parameters of a statement, such as `$1`.
pub(super) fn of(statement: &Statement) -> BTreeSet<String> {
    #[derive(Default)]
    struct Search(BTreeSet<String>);
    impl Visitor for Search {
        type Break = ();

        fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
            if let Value::Placeholder(name) = &value.value {
                self.0.insert(name.clone());
            }
            ControlFlow::Continue(())
        }
    }
    let mut search = Search::default();
    let _ = filbert_sql::walk::read_statement(statement, &mut search);
    search.0
}

/// The types of so many parameters where their place says them: `CAST($1 AS bool)` is given a `bool`, `LIMIT $1` an `int8`. 0 for the
/// others.
pub(in crate::postgres) fn cast_types(text: &str, count: usize) -> Vec<u32> {
    struct Search(Vec<u32>);
    impl Visitor for Search {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let (limit, offset) = match &query.limit_clause {
                Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                    (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
                }
                Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
                None => (None, None),
            };
            let fetch = query.fetch.as_ref().and_then(|fetch| fetch.quantity.as_ref());
            for number in [limit, offset, fetch].into_iter().flatten().filter_map(parameter) {
                if let Some(found @ 0) = number.checked_sub(1).and_then(|at| self.0.get_mut(at)) {
                    *found = INT8;
                }
            }
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::Cast { expr, data_type, .. } = expr
                && let Some(number) = parameter(expr)
                && let Some(found @ 0) = number.checked_sub(1).and_then(|at| self.0.get_mut(at))
            {
                *found = oid(data_type).unwrap_or(0);
            }
            ControlFlow::Continue(())
        }
    }
    let mut search = Search(vec![0; count]);
    if filbert_sql::check_depth(text, MOST_DEPTH).is_ok()
        && let Ok(statements) = Parser::parse_sql(&PostgreSqlDialect {}, text)
    {
        statements.iter().for_each(|statement| {
            let _ = filbert_sql::walk::read_statement(statement, &mut search);
        });
    }
    search.0
}

/// The number of a parameter, parentheses aside; `None` for everything else.
fn parameter(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Nested(inner) => parameter(inner),
        Expr::Value(ValueWithSpan { value: Value::Placeholder(name), .. }) => {
            name.strip_prefix('$')?.parse().ok()
        }
        _ => None,
    }
}

/// A text in which parameters that are arrays to search, `x = ANY($1)`, are compared themselves, `x = $1`, and the numbers of those: planned,
/// it says of what type their items are. `None` when there are none.
pub(in crate::postgres) fn compared(text: &str) -> Option<(String, BTreeSet<usize>)> {
    #[derive(Default)]
    struct Comparing(BTreeSet<usize>);
    impl VisitorMut for Comparing {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::AnyOp { left, compare_op, right, .. } | Expr::AllOp { left, compare_op, right } =
                expr
                && let Some(number) = parameter(right)
            {
                self.0.insert(number);
                *expr = Expr::Nested(Box::new(Expr::BinaryOp {
                    left: left.clone(),
                    op: compare_op.clone(),
                    right: right.clone(),
                }));
            }
            ControlFlow::Continue(())
        }
    }
    filbert_sql::check_depth(text, MOST_DEPTH).ok()?;
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, text).ok()?;
    let [statement] = statements.as_mut_slice() else { return None };
    let mut comparing = Comparing::default();
    let _ = filbert_sql::walk::change_statement(statement, &mut comparing);
    (!comparing.0.is_empty()).then(|| (statement.to_string(), comparing.0))
}

/// True when a text may search an array.
pub(in crate::postgres) fn mentions_array(text: &str) -> bool {
    let bytes = text.as_bytes();
    let word = |word: &str| bytes.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    word("any") || word("all") || word("some")
}

/// The oids of parameters that a text casts to types which only the catalog has: their place in a rewritten text says another.
pub(in crate::postgres) fn catalog_types(text: &str) -> Vec<u32> {
    let count = text.match_indices('$').count();
    let mut types = cast_types(text, count.min(MOST_CATALOG_PARAMETERS));
    types.iter_mut().filter(|oid| !CATALOG_TYPES.contains(oid)).for_each(|oid| *oid = 0);
    types
}

/// More than any tool asks the catalog with.
const MOST_CATALOG_PARAMETERS: usize = 100;

/// `oid`, `name`, `"char"`, and arrays of them.
const CATALOG_TYPES: [u32; 6] = [26, 1_028, 19, 1_003, 18, 1_002];

/// The oid of a type as it is written, its length aside. Numbers with digits stay texts, which the cast reads to the last of them.
fn oid(data_type: &DataType) -> Option<u32> {
    let name = data_type.to_string().to_lowercase();
    let name = match name.split_once('(') {
        Some((begin, rest)) => format!("{begin}{}", rest.split_once(')')?.1),
        None => name,
    };
    Some(type_by_name(&name)?.oid()).filter(|oid| *oid != NUMERIC)
}

/// The oid of `numeric`.
const NUMERIC: u32 = 1700;

/// The oid of `bigint`.
const INT8: u32 = 20;

/// Lets a statement mention these again, in a condition that always holds.
pub(super) fn keep(statement: &mut Statement, said: &BTreeSet<String>) {
    let now = of(statement);
    let lost: Vec<&String> = said.difference(&now).collect();
    let Statement::Query(query) = statement else { return };
    if lost.is_empty() {
        return;
    }
    let each = lost
        .iter()
        .map(|name| format!("(CAST({name} AS VARCHAR) IS NULL OR CAST({name} AS VARCHAR) IS NOT NULL)"));
    let condition = each.collect::<Vec<_>>().join(" AND ");
    if let Some(condition) = super::written(&condition) {
        add(&mut query.body, condition);
    }
}

fn add(body: &mut SetExpr, condition: Expr) {
    match body {
        SetExpr::Select(select) => {
            let all = match select.selection.take() {
                None => condition,
                Some(before) => Expr::BinaryOp {
                    left: Box::new(Expr::Nested(Box::new(before))),
                    op: BinaryOperator::And,
                    right: Box::new(condition),
                },
            };
            select.selection = Some(all);
        }
        SetExpr::Query(inner) => add(&mut inner.body, condition),
        // One side is enough for them to be mentioned.
        SetExpr::SetOperation { left, .. } => add(left, condition),
        _ => {}
    }
}

//! Parameters: those that a rewritten statement no longer mentions, which its client binds all the same, and the types that casts say.

use super::MOST_DEPTH;
use crate::postgres::values::type_by_name;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, DataType, Expr, SetExpr, Statement, Value, ValueWithSpan, Visitor,
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

/// The types of so many parameters where casts say them: `CAST($1 AS bool)` is given a `bool`. 0 for the others.
pub(in crate::postgres) fn cast_types(text: &str, count: usize) -> Vec<u32> {
    struct Search(Vec<u32>);
    impl Visitor for Search {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            if let Expr::Cast { expr, data_type, .. } = expr
                && let Expr::Value(ValueWithSpan { value: Value::Placeholder(name), .. }) = &**expr
                && let Ok(number) = name.trim_start_matches('$').parse::<usize>()
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

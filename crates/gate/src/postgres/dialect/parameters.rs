//! Parameters that a rewritten statement no longer mentions: its client binds them all the same.

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, SetExpr, Statement, Value, ValueWithSpan, Visitor,
};
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

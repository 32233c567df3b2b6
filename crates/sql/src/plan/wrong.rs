//! Refuses what DataFusion answers wrongly: a wrong answer is worse than none.
//!
//! - `INTERSECT ALL` and `EXCEPT ALL` become joins that keep or drop all rows with a value, whatever their number: `EXCEPT ALL` of two equal
//!   rows and one leaves none, not one.
//! - `5 NOT IN (SELECT ...)` with nothing of a table on its left is true although the subquery has a NULL. With a column it is right.

use crate::error::SqlError;
use datafusion::sql::sqlparser::ast::{
    Expr, Query, SetExpr, SetOperator, SetQuantifier, Statement, Visit, Visitor, visit_expressions,
};
use std::ops::ControlFlow;

/// Refuses a statement that would be answered wrongly.
pub(super) fn check_wrong(statement: &Statement) -> Result<(), SqlError> {
    match Visit::visit(statement, &mut Search) {
        ControlFlow::Break(says) => Err(SqlError::Refused(says)),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Search;

impl Visitor for Search {
    /// What is said of it.
    type Break = String;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<String> {
        let mut bodies = vec![query.body.as_ref()];
        while let Some(body) = bodies.pop() {
            if let SetExpr::SetOperation { op, set_quantifier, left, right } = body {
                let is_all = matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName);
                if is_all && *op != SetOperator::Union {
                    return ControlFlow::Break(format!(
                        "{op} ALL is not known; number equal rows with row_number() OVER (PARTITION BY ...) on both sides and use {op}"
                    ));
                }
                bodies.extend([left.as_ref(), right.as_ref()]);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<String> {
        match expr {
            Expr::InSubquery { expr, negated: true, .. } if !names_a_column(expr) => {
                ControlFlow::Break(format!(
                    "{expr} NOT IN (SELECT ...) is not known, with nothing of a table on its left; write NOT EXISTS (SELECT ...)"
                ))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

fn names_a_column(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part: &Expr| match part {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

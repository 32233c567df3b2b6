//! Refuses what DataFusion answers wrongly: `INTERSECT ALL` and `EXCEPT ALL`.
//!
//! It plans them as joins that keep or drop all rows with a value, whatever their number: `EXCEPT ALL` of two rows and one leaves none, not
//! one. A wrong answer is worse than none.

use crate::error::SqlError;
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Query, SetExpr, SetOperator, SetQuantifier, Visit, Visitor};
use std::ops::ControlFlow;

/// Refuses operations on sets that would be answered wrongly.
pub(crate) fn check_multisets(statement: &Statement) -> Result<(), SqlError> {
    let found = match statement {
        Statement::Statement(inner) => Visit::visit(inner.as_ref(), &mut Search),
        Statement::Explain(explain) => return check_multisets(&explain.statement),
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => Visit::visit(query.as_ref(), &mut Search),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    };
    match found {
        ControlFlow::Break(operation) => Err(SqlError::Refused(format!(
            "{operation} ALL is not known; number equal rows with row_number() OVER (PARTITION BY ...) on both sides and use {operation}"
        ))),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Search;

impl Visitor for Search {
    type Break = SetOperator;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<SetOperator> {
        let mut left = vec![query.body.as_ref()];
        while let Some(body) = left.pop() {
            if let SetExpr::SetOperation { op, set_quantifier, left: one, right: other } = body {
                let is_all = matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName);
                if is_all && *op != SetOperator::Union {
                    return ControlFlow::Break(*op);
                }
                left.extend([one.as_ref(), other.as_ref()]);
            }
        }
        ControlFlow::Continue(())
    }
}

//! Refuses what DataFusion answers wrongly: a wrong answer is worse than none.
//!
//! - `INTERSECT ALL` and `EXCEPT ALL` become joins that keep or drop all rows with a value, whatever their number: `EXCEPT ALL` of two equal
//!   rows and one leaves none, not one.

use crate::error::SqlError;
use crate::walk::read_statement;
use datafusion::sql::sqlparser::ast::{Query, SetExpr, SetOperator, SetQuantifier, Statement, Visitor};
use std::ops::ControlFlow;

/// Refuses a statement that would be answered wrongly.
pub(super) fn check_wrong(statement: &Statement) -> Result<(), SqlError> {
    let mut search = Search::default();
    let _ = read_statement(statement, &mut search);
    search.says.map_or(Ok(()), |says| Err(SqlError::Refused(says)))
}

#[derive(Default)]
struct Search {
    /// What is said of what was found.
    says: Option<String>,
}

impl Search {
    fn found(&mut self, says: String) -> ControlFlow<()> {
        self.says = Some(says);
        ControlFlow::Break(())
    }
}

impl Visitor for Search {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let mut bodies = vec![query.body.as_ref()];
        while let Some(body) = bodies.pop() {
            if let SetExpr::SetOperation { op, set_quantifier, left, right } = body {
                let is_all = matches!(set_quantifier, SetQuantifier::All | SetQuantifier::AllByName);
                if is_all && *op != SetOperator::Union {
                    return self.found(format!(
                        "{op} ALL is not known; number equal rows with row_number() OVER (PARTITION BY ...) on both sides and use {op}"
                    ));
                }
                bodies.extend([left.as_ref(), right.as_ref()]);
            }
        }
        ControlFlow::Continue(())
    }
}

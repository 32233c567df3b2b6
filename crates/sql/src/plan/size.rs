//! Bounds what a statement becomes, before it is planned.
//!
//! A text is short and its plan need not be: a common table expression that names the one before it twice, forty levels of them, is a plan
//! of a million million steps. Whoever walks it, as the planner and every rule of the optimizer do, never comes back, and planning cannot be
//! interrupted. So the tables that a statement reads are counted on its text, those of a common table expression as often as it is named.
//! Views are not looked into: to make one is a right of its own.

use crate::error::SqlError;
use crate::walk::{read_query, read_statement};
use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Ident, ObjectName, Query, Visitor};
use std::ops::ControlFlow;

/// Tables that a statement reads, however it names them.
const MAX_TABLES: u64 = 10_000;

/// Refuses a statement that nobody could plan.
pub(crate) fn check_size(statement: &Statement) -> Result<(), SqlError> {
    let mut count = Count::default();
    let _ = match statement {
        Statement::Statement(inner) => read_statement(inner, &mut count),
        Statement::Explain(explain) => return check_size(&explain.statement),
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => read_query(query, &mut count),
            CopyToSource::Relation(_) => ControlFlow::Continue(()),
        },
        _ => ControlFlow::Continue(()),
    };
    match count.most > MAX_TABLES {
        true => Err(SqlError::Refused(format!(
            "the statement reads more than {MAX_TABLES} tables, those of common table expressions counted as often as they are named; \
             keep what is named often with CREATE TABLE ... AS"
        ))),
        false => Ok(()),
    }
}

#[derive(Default)]
struct Count {
    /// The queries around the place that is looked at.
    around: Vec<Around>,
    /// Common table expressions that can be named there, and what each reads.
    named: Vec<(String, u64)>,
    most: u64,
}

struct Around {
    reads: u64,
    /// Its own common table expressions that are not looked at yet, the last one first.
    to_come: Vec<String>,
    /// How many could be named before it.
    named_before: usize,
}

fn normal(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_ascii_lowercase() }
}

impl Visitor for Count {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        let to_come = tables.map(|table| normal(&table.alias.name)).rev().collect();
        self.around.push(Around { reads: 0, to_come, named_before: self.named.len() });
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let alone = match name.0.as_slice() {
            [part] => part.as_ident().map(normal),
            _ => None,
        };
        let known = alone.and_then(|alone| self.named.iter().rev().find(|(named, _)| *named == alone));
        let reads = known.map_or(1, |(_, reads)| *reads);
        if let Some(around) = self.around.last_mut() {
            around.reads = around.reads.saturating_add(reads);
            self.most = self.most.max(around.reads);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        let Some(done) = self.around.pop() else { return ControlFlow::Continue(()) };
        self.named.truncate(done.named_before);
        if let Some(outer) = self.around.last_mut() {
            // Common table expressions come first in a query, in order.
            match outer.to_come.pop() {
                Some(name) => self.named.push((name, done.reads.max(1))),
                None => {
                    outer.reads = outer.reads.saturating_add(done.reads);
                    self.most = self.most.max(outer.reads);
                }
            }
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::parser::DFParser;

    fn reads(text: &str) -> u64 {
        let mut count = Count::default();
        let statement = DFParser::parse_sql(text).unwrap().pop_front().unwrap();
        let Statement::Statement(inner) = statement else { panic!("{text}") };
        let _ = read_statement(&inner, &mut count);
        count.most
    }

    #[test]
    fn tables_are_counted_as_often_as_they_are_named() {
        assert_eq!(reads("SELECT * FROM a, b JOIN c ON true WHERE x IN (SELECT y FROM d)"), 4);
        assert_eq!(reads("WITH a AS (SELECT 1 FROM t, u) SELECT * FROM a, a, a"), 6);
        assert_eq!(
            reads("WITH a AS (WITH a AS (SELECT 1 FROM t, u) SELECT * FROM a, a) SELECT * FROM a, b"),
            5
        );
        assert_eq!(
            reads("SELECT * FROM (WITH a AS (SELECT 1 FROM t, u) SELECT * FROM a) x, a"),
            3,
            "not seen outside"
        );
        assert_eq!(reads("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT * FROM r"), 1);
    }
}

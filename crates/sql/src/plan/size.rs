//! Bounds what a statement becomes, before it is planned.
//!
//! A text is short and its plan need not be: a common table expression that names the one before it twice, forty levels of them, is a plan
//! of a million million steps. Whoever walks it, as the planner and every rule of the optimizer do, never comes back, and planning cannot be
//! interrupted. So the tables that a statement reads are counted on its text, those of a common table expression as often as it is named.
//! Views are not looked into: to make one is a right of its own.

use crate::error::SqlError;
use crate::names::Names;
use crate::walk::read_statement;
use datafusion::sql::sqlparser::ast::{ObjectName, ObjectNamePart, Query, Statement, Visitor};
use std::ops::ControlFlow;

/// Tables that a statement reads, however it names them.
const MAX_TABLES: u64 = 10_000;

/// Refuses a statement that nobody could plan.
pub(super) fn check_size(statement: &Statement, names: Names) -> Result<(), SqlError> {
    let mut count = Count::new(names);
    let _ = read_statement(statement, &mut count);
    match count.most > MAX_TABLES {
        true => Err(SqlError::Refused(format!(
            "the statement reads more than {MAX_TABLES} tables, those of common table expressions counted as often as they are named; \
             keep what is named often with CREATE TABLE ... AS"
        ))),
        false => Ok(()),
    }
}

struct Count {
    names: Names,
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

impl Count {
    fn new(names: Names) -> Self {
        Self { names, around: Vec::new(), named: Vec::new(), most: 0 }
    }

    /// What the planner looks for among common table expressions: the parts of a name with dots between them, so that `"a.b"` is found by
    /// `a.b` as well.
    fn looked_up(&self, name: &ObjectName) -> Option<String> {
        let part = |part: &ObjectNamePart| part.as_ident().map(|ident| self.names.read(ident));
        Some(name.0.iter().map(part).collect::<Option<Vec<_>>>()?.join("."))
    }
}

impl Visitor for Count {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        let to_come = tables.map(|table| self.names.read(&table.alias.name)).rev().collect();
        self.around.push(Around { reads: 0, to_come, named_before: self.named.len() });
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let name = self.looked_up(name);
        let known = name.and_then(|name| self.named.iter().rev().find(|(named, _)| *named == name));
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
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    fn reads_as(names: Names, text: &str) -> u64 {
        let mut count = Count::new(names);
        let statement = Parser::parse_sql(&GenericDialect {}, text).unwrap().remove(0);
        let _ = read_statement(&statement, &mut count);
        count.most
    }

    fn reads(text: &str) -> u64 {
        reads_as(Names::LowerCase, text)
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

    #[test]
    fn names_are_those_of_the_planner() {
        let text = "WITH big AS (SELECT 1 FROM t, u, v), BIG AS (SELECT 1) SELECT * FROM big, big";
        assert_eq!(reads_as(Names::AsWritten, text), 6, "BIG is another one");
        assert_eq!(reads_as(Names::LowerCase, text), 3, "the first one itself, which is never read");
        let quoted = "WITH big AS (SELECT 1 FROM t, u, v), \"BIG\" AS (SELECT 1) SELECT * FROM Big, Big";
        assert_eq!(reads(quoted), 6);
        let dotted = "WITH \"a.b\" AS (SELECT 1 FROM t, u, v) SELECT * FROM a.b, a.b";
        assert_eq!(reads(dotted), 6);
    }
}

//! Bounds what a statement becomes, before it is planned.
//!
//! A text is short and its plan need not be: a common table expression that names the one before it twice, forty levels of them, is a plan
//! of a million million steps. Whoever walks it, as the planner and every rule of the optimizer do, never comes back, and planning cannot be
//! interrupted. So the tables that a statement reads are counted on its text, those of a common table expression as often as it is named.
//!
//! A view is looked into when it is planned: what it reads stands in its place then, so that a chain of views of which each names the one
//! before it twice is as large. Such a plan shares its parts until somebody walks it, so its steps are counted before that.
//!
//! `GROUP BY CUBE` of thirty columns groups its rows in 2^30 ways. Those are counted on the text as well.

use crate::error::SqlError;
use crate::names::Names;
use crate::walk::read_statement;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, GroupByWithModifier, ObjectName, ObjectNamePart, Query, Select, Statement, Visitor,
};
use std::ops::ControlFlow;

/// Tables that a statement reads, however it names them.
const MAX_TABLES: u64 = 10_000;

/// Ways in which one query may group its rows, as in PostgreSQL.
const MAX_GROUPING_SETS: u64 = 4_096;

/// Steps of a plan before it is optimized.
const MAX_NODES: usize = 20_000;

/// Refuses a plan that nobody could optimize.
pub(crate) fn check_nodes(plan: &LogicalPlan) -> Result<(), SqlError> {
    let mut nodes = 0;
    plan.apply_with_subqueries(|_| {
        nodes += 1;
        Ok(if nodes > MAX_NODES { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    match nodes > MAX_NODES {
        true => Err(SqlError::Refused(format!(
            "the statement is a plan of more than {MAX_NODES} steps, those of views counted as often as they are named; keep what is \
             named often with CREATE TABLE ... AS"
        ))),
        false => Ok(()),
    }
}

/// Refuses a statement that nobody could plan.
pub(super) fn check_size(statement: &Statement, names: Names) -> Result<(), SqlError> {
    let mut count = Count::new(names);
    let _ = read_statement(statement, &mut count);
    if count.sets > MAX_GROUPING_SETS {
        return Err(SqlError::Refused(format!(
            "the statement groups its rows in more than {MAX_GROUPING_SETS} ways at once; name fewer columns in CUBE, ROLLUP or GROUPING \
             SETS, or name the sets that are needed"
        )));
    }
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
    /// The most grouping sets of one query.
    sets: u64,
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
        Self { names, around: Vec::new(), named: Vec::new(), most: 0, sets: 0 }
    }

    /// What the planner looks for among common table expressions: the parts of a name with dots between them, so that `"a.b"` is found by
    /// `a.b` as well.
    fn looked_up(&self, name: &ObjectName) -> Option<String> {
        let part = |part: &ObjectNamePart| part.as_ident().map(|ident| self.names.read(ident));
        Some(name.0.iter().map(part).collect::<Option<Vec<_>>>()?.join("."))
    }
}

fn power(columns: usize) -> u64 {
    1_u64.checked_shl(u32::try_from(columns).unwrap_or(u32::MAX)).unwrap_or(u64::MAX)
}

/// In how many ways one item of `GROUP BY` groups.
fn sets_of(by: &Expr) -> u64 {
    match by {
        Expr::Cube(columns) => power(columns.len()),
        Expr::Rollup(columns) => columns.len() as u64 + 1,
        Expr::GroupingSets(sets) => sets.len() as u64,
        _ => 1,
    }
}

impl Visitor for Count {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if let GroupByExpr::Expressions(by, modifiers) = &select.group_by {
            let plain = by.iter().filter(|by| sets_of(by) == 1).count();
            let written = by.iter().map(sets_of).fold(1, u64::saturating_mul);
            let modified = |modifier: &GroupByWithModifier| match modifier {
                GroupByWithModifier::Cube => power(plain),
                GroupByWithModifier::Rollup => plain as u64 + 1,
                GroupByWithModifier::GroupingSets(sets) => sets_of(sets),
                _ => 1,
            };
            let all = modifiers.iter().map(modified).fold(written, u64::saturating_mul);
            self.sets = self.sets.max(all);
        }
        ControlFlow::Continue(())
    }

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

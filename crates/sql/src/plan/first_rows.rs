//! `SELECT ... FROM 'file' LIMIT n` gives the first rows of the file.
//!
//! Several tasks read a file side by side, and whichever is first answers a `LIMIT`: its rows were from the middle, and others at the next run.
//! SQL allows it and no reader of a file expects it, so a statement that asks for the begin of a file and nothing else is read by one task,
//! in the order of files and rows. With a condition, a sort or a group all tasks read, as before.

use crate::files::is_file_table;
use datafusion::logical_expr::{FetchType, LogicalPlan};

/// More rows are read side by side, in any order.
const MOST_ROWS: usize = 1_000_000;

/// True for a statement that wants the first rows of files as they are.
pub(crate) fn wants_first_rows(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Limit(limit) => {
            let few =
                matches!(limit.get_fetch_type(), Ok(FetchType::Literal(Some(rows))) if rows <= MOST_ROWS);
            few && is_whole(&limit.input)
        }
        LogicalPlan::Projection(projection) => wants_first_rows(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => wants_first_rows(&alias.input),
        LogicalPlan::Copy(copy) => wants_first_rows(&copy.input),
        LogicalPlan::Dml(statement) => wants_first_rows(&statement.input),
        LogicalPlan::Explain(explain) => wants_first_rows(&explain.plan),
        LogicalPlan::Analyze(analyze) => wants_first_rows(&analyze.input),
        _ => false,
    }
}

/// True for all rows of files.
fn is_whole(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_whole(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_whole(&alias.input),
        LogicalPlan::TableScan(scan) => is_file_table(&scan.source),
        _ => false,
    }
}

//! What can be named in a statement: the tables and columns of the session, and the functions.

use super::completion::Names;
use filbert::arrow::array::RecordBatch;
use filbert::arrow::util::display::array_value_to_string;
use filbert::{Member, Session};
use std::time::Duration;

/// How long Tab may take; then it offers what it knows.
const PATIENCE: Duration = Duration::from_secs(1);

/// Asks the session.
pub(super) fn names(member: &Member, session: &Session) -> Names {
    let text = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'";
    let mut tables = Vec::new();
    let mut columns = Vec::new();
    // Nobody is told when this does not work: it is a help only.
    let found = session.query(text).ok().and_then(|query| {
        let mut rows = member.stages().mixed().spawn("names", query.collect()).ok()?;
        rows.wait_timeout(PATIENCE).ok()?.ok()
    });
    for batch in found.into_iter().flatten() {
        tables.extend(texts(&batch, 0));
        columns.extend(texts(&batch, 1));
    }
    let state = session.state();
    let mut functions: Vec<String> = state.scalar_functions().keys().cloned().collect();
    functions.extend(state.aggregate_functions().keys().cloned());
    functions.extend(state.window_functions().keys().cloned());
    for names in [&mut tables, &mut columns, &mut functions] {
        names.sort_unstable();
        names.dedup();
    }
    Names { tables, columns, functions }
}

fn texts(batch: &RecordBatch, column: usize) -> Vec<String> {
    let cell = |row| array_value_to_string(batch.column(column), row).ok();
    (0..batch.num_rows()).filter_map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_columns_and_functions_are_found() {
        let member = Member::start().unwrap();
        member.map::<i64, String>("Later").set(&1, "one").wait().unwrap();
        let names = names(&member, &member.sql().session());
        assert_eq!(
            (names.tables, names.columns),
            (vec!["Later".to_owned()], vec!["__key".to_owned(), "this".to_owned()])
        );
        for function in ["count", "lower", "row_number"] {
            assert!(names.functions.iter().any(|name| name == function), "{function}");
        }
    }
}

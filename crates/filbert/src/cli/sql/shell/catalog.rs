//! What can be named in a statement: the tables and columns of the session, and the functions.

use super::super::engine::{Came, Engine};
use super::completion::Names;
use filbert::arrow::array::RecordBatch;
use filbert::arrow::util::display::array_value_to_string;
use filbert::pool::Clock;
use std::time::Duration;

/// How long Tab may take; then it offers what it knows.
const PATIENCE: Duration = Duration::from_secs(1);

/// Asks where the statements run.
pub(super) fn names(engine: &mut dyn Engine, clock: &Clock) -> Names {
    let text = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'";
    let (mut tables, mut columns) = (Vec::new(), Vec::new());
    let until = clock.now() + PATIENCE;
    let mut watch = || if clock.now() < until { Ok(()) } else { Err("it takes too long".into()) };
    let mut take = |came: Came<'_>| {
        if let Came::Rows(batch) = came {
            tables.extend(texts(batch, 0));
            columns.extend(texts(batch, 1));
        }
        Ok(())
    };
    // Nobody is told when this does not work: it is a help only.
    let _ = engine.run(text, &mut watch, &mut take);
    let mut functions = engine.functions();
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
    use super::super::super::engine::Local;
    use super::*;
    use filbert::Member;

    #[test]
    fn tables_columns_and_functions_are_found() {
        let member = Member::start().unwrap();
        member.map::<i64, String>("Later").set(&1, "one").wait().unwrap();
        let names = names(&mut Local::new(&member), &member.stages().clock());
        assert_eq!(
            (names.tables, names.columns),
            (vec!["Later".to_owned()], vec!["__key".to_owned(), "this".to_owned()])
        );
        for function in ["count", "lower", "row_number"] {
            assert!(names.functions.iter().any(|name| name == function), "{function}");
        }
    }
}

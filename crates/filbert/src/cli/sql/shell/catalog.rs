//! What can be named in a statement: the tables and columns of the session, and the functions.

use super::super::engine::{Came, Engine};
use super::completion::Names;
use filbert::arrow::array::RecordBatch;
use filbert::arrow::util::display::array_value_to_string;
use filbert::pool::Clock;
use std::time::Duration;

/// How long Tab may take; then it offers what it knows.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks where the statements run, for the columns of these files as well.
pub(super) fn names(engine: &mut dyn Engine, clock: &Clock, files: &[String]) -> Names {
    let columns =
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'";
    let functions = "SELECT routine_name FROM information_schema.routines";
    let [tables, mut columns] = asked(engine, clock, columns);
    for file in files {
        let [more] = asked(engine, clock, &format!("DESCRIBE '{}'", file.replace('\'', "''")));
        columns.extend(more);
    }
    columns.sort_unstable();
    columns.dedup();
    let [functions] = asked(engine, clock, functions);
    Names { tables, columns, functions }
}

/// The columns of what a statement gives, each without doubles. Nobody is told when it fails: this is a help only.
fn asked<const N: usize>(engine: &mut dyn Engine, clock: &Clock, text: &str) -> [Vec<String>; N] {
    let mut found = [const { Vec::new() }; N];
    let until = clock.now() + PATIENCE;
    let mut watch = || if clock.now() < until { Ok(()) } else { Err("it takes too long".into()) };
    let mut take = |came: Came<'_>| {
        if let Came::Rows(batch) = came {
            found.iter_mut().enumerate().for_each(|(column, found)| found.extend(texts(batch, column)));
        }
        Ok(())
    };
    let _ = engine.run(text, &mut watch, &mut take);
    for names in &mut found {
        names.sort_unstable();
        names.dedup();
    }
    found
}

fn texts(batch: &RecordBatch, column: usize) -> Vec<String> {
    let cell = |row| array_value_to_string(batch.column(column), row).ok();
    (0..batch.num_rows()).filter_map(cell).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::engine::Local;
    use super::*;
    use filbert::{Member, SqlSettings};

    #[test]
    fn tables_columns_and_functions_are_found() {
        let member = Member::start().unwrap();
        member.map::<i64, String>("Later").set(&1, &"one".to_owned()).wait().unwrap();
        let names = names(&mut Local::new(&member), &member.stages().clock(), &[]);
        assert_eq!(
            (names.tables, names.columns),
            (vec!["Later".to_owned()], vec!["__key".to_owned(), "this".to_owned()])
        );
        for function in ["count", "lower", "row_number"] {
            assert!(names.functions.iter().any(|name| name == function), "{function}");
        }
    }

    #[test]
    fn columns_of_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("it's.csv");
        std::fs::write(&file, "customer,price\n1,2\n").unwrap();
        let sql = SqlSettings { files: vec![folder.path().to_owned()], ..Default::default() };
        let member = Member::builder().sql(sql).start().unwrap();
        let files = [file.to_string_lossy().into_owned(), "/nowhere.csv".to_owned()];
        let names = names(&mut Local::new(&member), &member.stages().clock(), &files);
        assert_eq!(names.columns, ["customer", "price"]);
    }
}

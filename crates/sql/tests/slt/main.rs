//! Runs the scripts of this folder: statements with the answers that they must give, in the form of sqllogictest.
//!
//! ```text
//! statement ok                       it must succeed
//! statement count 3                  it must change so many rows
//! statement error no such thing      it must fail, and say this somewhere
//! query IT rowsort                   the types of its columns, and how rows are put in order before they are compared
//! SELECT ...
//! ----
//! 1 one                              a row per line, values divided by one space; NULL, and (empty) for an empty text
//! ```
//!
//! Types: `I` whole number, `R` other number, `T` text, `B` boolean, `D` date, `P` timestamp, `?` anything else. Order: `nosort` (default),
//! `rowsort`. `query ... like` compares nothing but looks for every expected line in the answer, which is how plans are checked.
//! `$DIR` is a folder of the script's own, which SQL may read and write.
//!
//! Every script has a member of its own. All its failures are told, not the first alone.
//!
//! The same runner takes the scripts of others, which are not kept here: see [`suite`].
#![allow(clippy::disallowed_methods, reason = "tests make deadlines of their own")]

mod cells;
mod known;
mod outcome;
mod report;
mod script;
mod suite;

use cells::Dialect;
use filbert_grid::Grid;
use filbert_pool::Stages;
use filbert_sql::{Sql, SqlSettings};
use outcome::{Outcome, outcome};
use script::Wanted;
use std::path::Path;

fn run(path: &Path) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let settings = SqlSettings {
        files: vec![folder.path().into()],
        write_files: vec![folder.path().into()],
        ..Default::default()
    };
    let sql = Sql::start(&stages, settings).unwrap();
    sql.attach(&Grid::new(&stages)).unwrap();
    let session = sql.session();
    let places = [("$DIR".to_owned(), folder.path().display().to_string())];
    let name = path.file_name().unwrap().to_string_lossy();
    let records = script::read(path, &name).unwrap();
    println!("{name}: {} statements", records.len());
    let failures = records.iter().filter_map(|record| {
        assert!(record.wanted != Wanted::Error(String::new()), "{}: any error would do", record.place);
        let problem = match outcome(&session, record, Dialect::Own, &places) {
            Outcome::Right => return None,
            Outcome::Refused(error) => format!("says: {error}"),
            Outcome::Wrong(problem) => problem,
        };
        Some(format!("{}:\n{}\nwanted: {:?}\n{problem}\n", record.place, record.text, record.wanted))
    });
    failures.collect()
}

#[test]
fn scripts_give_the_answers_that_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let mut scripts: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.retain(|path| path.extension().is_some_and(|ending| ending == "slt"));
    if let Ok(only) = std::env::var("FILBERT_SLT") {
        scripts.retain(|path| path.to_string_lossy().contains(&only));
    }
    scripts.sort();
    assert!(!scripts.is_empty(), "no script is left");
    let failures: Vec<_> = scripts.iter().flat_map(|script| run(script)).collect();
    assert!(failures.is_empty(), "{} failures:\n\n{}", failures.len(), failures.join("\n"));
}

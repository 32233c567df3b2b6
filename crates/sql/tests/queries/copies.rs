//! What is copied to a file is what the same query shows: every way of running a statement makes the same of it.

use crate::asking::{ask, started, table};
use filbert_grid::Grid;
use filbert_sql::SqlSettings;

#[test]
fn a_copy_has_the_columns_and_the_checks_of_its_query() {
    let folder = tempfile::tempdir().unwrap();
    let settings = SqlSettings {
        files: vec![folder.path().into()],
        write_files: vec![folder.path().into()],
        ..Default::default()
    };
    let (stages, sql) = started(settings);
    sql.attach(&Grid::new(&stages)).unwrap();
    let session = sql.session();
    let mapping = "CREATE MAPPING people (__key BIGINT, name VARCHAR) TYPE IMap \
                   OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'json-flat')";
    ask(&session, mapping).unwrap();
    ask(&session, "INSERT INTO people VALUES (1, 'Ada')").unwrap();
    let shown = table(&session, "SELECT * FROM people");
    let copied = |name: &str, source: &str| {
        let path = folder.path().join(name).display().to_string();
        ask(&session, &format!("COPY {source} TO '{path}'")).unwrap();
        table(&session, &format!("SELECT * FROM '{path}'"))
    };
    assert_eq!(copied("query.csv", "(SELECT * FROM people)"), shown, "hidden columns stay hidden");
    assert_eq!(copied("table.csv", "people"), shown);
    let series = copied("series.csv", "(SELECT v FROM TABLE(generate_series(1, 2)))");
    assert_eq!(series, table(&session, "SELECT v FROM TABLE(generate_series(1, 2))"));
    let wrong = "COPY (SELECT 1 AS a INTO b) TO 'x.csv'";
    for text in [wrong.to_owned(), format!("EXPLAIN {wrong}")] {
        let refused = ask(&session, &text).unwrap_err().to_string();
        assert!(refused.contains("INTO is not supported"), "{refused}");
    }
}

//! What doors need: a statement is described before it runs, takes parameters, and is refused before a table is looked up.

use arrow::array::AsArray;
use arrow::datatypes::{DataType, Int64Type, UInt64Type};
use datafusion::scalar::ScalarValue;
use filbert_grid::Grid;
use filbert_pool::Stages;
use filbert_sql::{Access, Object, Session, Sql, SqlError, StatementKind, TableRights};
use futures::executor::block_on;
use std::sync::{Arc, Mutex};

struct Bench {
    grid: Grid,
    sql: Sql,
    _stages: Stages,
}

fn bench() -> Bench {
    let stages = Stages::start().unwrap();
    let grid = Grid::new(&stages);
    let sql = Sql::start(&stages, Default::default()).unwrap();
    sql.attach(&grid).unwrap();
    for number in 0..10_i64 {
        grid.typed_map::<String, i64>("cities").set(&format!("city-{number}"), &number).wait().unwrap();
    }
    Bench { grid, sql, _stages: stages }
}

fn run(session: &Session, text: &str) -> Result<usize, SqlError> {
    let batches = block_on(session.query(text)?.collect())?;
    Ok(batches.iter().map(|batch| batch.num_rows()).sum())
}

#[test]
fn a_statement_is_described_without_being_run() {
    let bench = bench();
    let session = bench.sql.session();
    let described =
        block_on(session.describe("SELECT this + 1 AS next FROM cities WHERE __key = $1 AND this > $2"))
            .unwrap();
    assert_eq!(described.kind, StatementKind::Rows);
    assert_eq!(described.columns.field(0).name(), "next");
    assert_eq!(described.columns.field(0).data_type(), &DataType::Int64);
    assert_eq!(described.parameters.len(), 2);
    assert_eq!(described.parameters[1], Some(DataType::Int64));

    let described = block_on(session.describe("DELETE FROM cities")).unwrap();
    assert_eq!(described.kind, StatementKind::Delete);
    assert_eq!(bench.grid.typed_map::<String, i64>("cities").size().wait().unwrap(), 10, "nothing ran");
    let kind = |text: &str| block_on(session.describe(text)).unwrap().kind;
    assert_eq!(kind("CREATE VIEW v AS SELECT 1 AS a"), StatementKind::Other("CREATE VIEW".into()));
    assert!(run(&session, "SELECT * FROM v").is_err(), "the view was not made");
    assert_eq!(kind("SET datafusion.execution.batch_size = 10"), StatementKind::Other("SET".into()));
    assert_eq!(kind("INSERT INTO cities VALUES ('a', 1)"), StatementKind::Insert);
    assert_eq!(kind("EXPLAIN SELECT 1"), StatementKind::Rows);
    assert_eq!(kind("SHOW MAPPINGS"), StatementKind::Rows);
    assert_eq!(kind("DROP MAPPING IF EXISTS m"), StatementKind::Other("DROP MAPPING".into()));
    assert!(
        block_on(session.describe("SELECT nothing FROM cities")).unwrap_err().to_string().contains("nothing")
    );
}

#[test]
fn parameters_are_values_and_never_text() {
    let bench = bench();
    let session = bench.sql.session();
    let text = "SELECT count(*) FROM cities WHERE __key = $1 OR this = $2";
    let values = |key: &str, number: i64| vec![ScalarValue::from(key), ScalarValue::from(number)];
    let count = |values| {
        let batches = block_on(session.query_with(text, values).unwrap().collect()).unwrap();
        batches[0].column(0).as_primitive::<Int64Type>().value(0)
    };
    assert_eq!(count(values("city-3", 4)), 2);
    assert_eq!(count(values("x' OR 1 = 1 --", -1)), 0);
    let wrong =
        block_on(session.query_with(text, vec![ScalarValue::from("a")]).unwrap().collect()).unwrap_err();
    assert!(matches!(wrong, SqlError::WrongParameters { expected: 2, given: 1 }), "{wrong}");
    let wrong = block_on(session.query("SELECT $1").unwrap().collect()).unwrap_err();
    assert!(matches!(wrong, SqlError::WrongParameters { expected: 1, given: 0 }), "{wrong}");
    let insert = session.query_with("INSERT INTO cities VALUES ($1, $2)", values("new", 77)).unwrap();
    let batches = block_on(insert.collect()).unwrap();
    assert_eq!(batches[0].column(0).as_primitive::<UInt64Type>().value(0), 1);
    let cities = bench.grid.typed_map::<String, i64>("cities");
    assert_eq!(cities.get("new").wait().unwrap(), Some(77));
    assert!(block_on(session.describe("SELECT $99999999999")).is_err());
}

/// Allows what is listed, and keeps what it was asked.
#[derive(Default)]
struct Only {
    allowed: Vec<(Access, &'static str)>,
    asked: Mutex<Vec<(Access, Object)>>,
}

impl TableRights for Only {
    fn check(&self, access: Access, object: &Object) -> Result<(), String> {
        self.asked.lock().unwrap().push((access, object.clone()));
        let is_allowed =
            self.allowed.iter().any(|(known, name)| *known == access && Object::table(name) == *object);
        if is_allowed { Ok(()) } else { Err(format!("ann may not {access:?} {object}")) }
    }
}

#[test]
fn what_a_session_may_not_do_is_refused_before_a_table_is_looked_up() {
    let bench = bench();
    let secret = bench.grid.typed_map::<String, i64>("secret");
    secret.set("a", &1).wait().unwrap();
    let allowed = vec![(Access::Read, "cities"), (Access::Insert, "log"), (Access::Create, "mine")];
    let rights = Arc::new(Only { allowed, ..Only::default() });
    let session = bench.sql.session_as(rights.clone());
    assert_eq!(run(&session, "SELECT * FROM cities").unwrap(), 10);
    for (text, refusal) in [
        ("SELECT * FROM secret", "Read secret"),
        ("SELECT * FROM public.secret", "Read secret"),
        ("SELECT no_such_column FROM filbert.public.secret", "Read secret"),
        ("SELECT * FROM cities WHERE this IN (SELECT this FROM secret)", "Read secret"),
        ("WITH cities AS (SELECT * FROM secret) SELECT * FROM cities", "Read secret"),
        ("SELECT * FROM secret, (WITH secret AS (SELECT 1) SELECT * FROM secret) AS s", "Read secret"),
        ("EXPLAIN SELECT * FROM secret", "Read secret"),
        ("EXPLAIN ANALYZE INSERT INTO cities VALUES ('a', 1)", "Insert cities"),
        ("PREPARE p AS SELECT * FROM secret", "Read secret"),
        ("INSERT INTO cities VALUES ('a', 1)", "Insert cities"),
        ("INSERT INTO log SELECT * FROM secret", "Read secret"),
        ("SINK INTO cities VALUES ('a', 1)", "Insert cities"),
        ("UPDATE cities SET this = 1", "Update cities"),
        ("DELETE FROM cities", "Delete cities"),
        ("DROP TABLE cities", "Drop cities"),
        ("CREATE VIEW mine AS SELECT * FROM secret", "Read secret"),
        ("CREATE OR REPLACE VIEW mine AS SELECT * FROM cities", "Drop mine"),
        ("CREATE MAPPING mine EXTERNAL NAME secret TYPE IMap", "Create secret"),
        ("CREATE INDEX i ON secret (this)", "Index secret"),
        ("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'", "Create t"),
        ("COPY secret TO '/tmp/never.csv'", "Read secret"),
        ("SHOW TABLES", "Read information_schema.columns"),
        ("SELECT * FROM information_schema.columns", "Read information_schema.columns"),
        ("MERGE INTO cities USING cities AS c ON true WHEN MATCHED THEN DELETE", "Create *"),
    ] {
        let said = run(&session, text).unwrap_err();
        assert!(matches!(said, SqlError::Denied(_)), "{text}: {said}");
        assert!(said.to_string().ends_with(refusal), "{text}: {said}");
        let described = block_on(session.describe(text)).unwrap_err();
        assert!(matches!(described, SqlError::Denied(_)), "{text}: {described}");
    }
    assert_eq!(secret.size().wait().unwrap(), 1);
    assert_eq!(run(&session, "CREATE VIEW mine AS SELECT * FROM cities").unwrap(), 0);
    let asked = rights.asked.lock().unwrap();
    assert!(asked.contains(&(Access::Create, Object::table("mine"))));
}

/// What a name means was decided when its rights were checked.
#[test]
fn rights_are_not_gone_round_by_settings_or_mappings() {
    let bench = bench();
    let allowed = vec![
        (Access::Read, "columns"),
        (Access::Create, "cities"),
        (Access::Create, "other"),
        (Access::Read, "other"),
    ];
    let session = bench.sql.session_as(Arc::new(Only { allowed, ..Only::default() }));
    for text in [
        "SET datafusion.catalog.default_schema = 'information_schema'",
        "SET datafusion.sql_parser.enable_ident_normalization = false",
    ] {
        let said = run(&session, text).unwrap_err();
        assert!(said.to_string().contains("not a session's to set"), "{text}: {said}");
    }
    let mapping = "CREATE MAPPING other EXTERNAL NAME cities TYPE IMap OPTIONS ('keyFormat' = 'varchar', 'valueFormat' = 'bigint')";
    let said = run(&session, mapping).unwrap_err();
    assert!(said.to_string().ends_with("Read cities"), "{said}");
}

#[test]
fn an_update_computes_values_only_for_what_it_changes() {
    let bench = bench();
    let session = bench.sql.session();
    // Of city-0 it could not be computed.
    let batches =
        block_on(session.query("UPDATE cities SET this = 90 / this WHERE this <> 0").unwrap().collect())
            .unwrap();
    assert_eq!(batches[0].column(0).as_primitive::<UInt64Type>().value(0), 9);
    let cities = bench.grid.typed_map::<String, i64>("cities");
    for number in 0..10_i64 {
        let now = cities.get(&format!("city-{number}")).wait().unwrap();
        assert_eq!(now, Some(if number == 0 { 0 } else { 90 / number }));
    }
}

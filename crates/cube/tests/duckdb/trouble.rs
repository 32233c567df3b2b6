//! What goes wrong: no library, no file, a file of somebody else's, statements that fail or are not wanted any more.

use crate::asking::{eventually, stages, wait};
use crate::files::{Files, handles, library, open, run, writing};
use filbert_cube::{
    Aggregation, Aggregator, Cube, CubeError, DuckDb, Filter, Forest, Query, Table, TableGroups, TableQuery,
};
use filbert_pool::Shutdown;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

fn forest(column: &str) -> Forest {
    Forest::builder()
        .measure("sum", Aggregator::sum(column))
        .measure("max", Aggregator::new(column, Aggregation::Max))
        .measure("rows", Aggregator::count())
        .build()
        .unwrap()
}

#[test]
fn a_missing_library_is_told_with_what_to_do() {
    let stages = stages();
    for place in ["/no/such/libduckdb.so", file!()] {
        let place = DuckDb::in_memory().library(place);
        let told = open(&stages, &place, "SELECT 1 AS n").unwrap_err();
        assert!(matches!(&told, CubeError::TableFailed { .. }), "{told:?}");
        let told = told.to_string();
        assert!(told.contains("cannot be loaded") && told.contains("FILBERT_DUCKDB_LIBRARY"), "{told}");
    }
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn what_goes_wrong_is_told_and_nothing_stays_open() {
    let Some(files) = Files::new() else { return };
    let place = files.database(
        "wrong.duckdb",
        "CREATE TABLE odd (n INTEGER, spread STRUCT(bid DOUBLE, ask DOUBLE));
         CREATE TABLE far AS SELECT DATE 'infinity' AS day, 170141183460469231731687303715884105727::HUGEINT AS n",
    );
    let path = files.path("wrong.duckdb");
    let stages = stages();
    let told = |place: &DuckDb, table: &str| {
        let told = open(&stages, place, table).unwrap_err();
        assert_eq!(handles(&path), 0, "{told}");
        told.to_string()
    };
    let odd = told(&place, "odd");
    let wanted = ["\"spread\"", "STRUCT(", "CAST(\"spread\" AS VARCHAR)"];
    wanted.iter().for_each(|part| assert!(odd.contains(part), "{odd}"));
    for (column, name) in [
        ("[1, 2]", "INTEGER[]"),
        ("map {'a': 1}", "MAP("),
        ("'x'::BLOB", "BLOB"),
        ("INTERVAL 1 DAY", "INTERVAL"),
        ("'101'::BIT", "BIT"),
        ("TIMETZ '01:02:03+01'", "TIME WITH TIME ZONE"),
    ] {
        let told = told(&place, &format!("SELECT 1 AS n, {column} AS \"the column\""));
        assert!(told.contains("\"the column\"") && told.contains(name), "{column}: {told}");
    }
    assert!(told(&place, "missing").contains("Catalog Error: Table with name missing does not exist"));
    assert!(!told(&place, "missing").contains('\n'));
    assert!(told(&place, "SELECT * FROM odd WHERE").contains("Parser Error"));
    assert!(told(&place, "SELECT 1 AS n; DROP TABLE odd").contains("Parser Error"));
    assert!(told(&files.at(&files.path("missing.duckdb")), "t").contains("database does not exist"));
    assert!(!files.path("missing.duckdb").exists(), "nothing is made");
    assert!(told(&place.clone().setting("no such", "1"), "odd").contains("no such"));
    std::fs::write(files.path("text"), "no database, but more than a few bytes of something else").unwrap();
    assert!(told(&files.at(&files.path("text")), "t").contains("not a valid DuckDB database file"));
    // Values that the cube has no place for, where they are read and where they are the answer.
    let far = open(&stages, &place, "far").unwrap();
    let cube = Cube::builder(&stages, forest("n"), far.clone()).build().unwrap();
    for groups in [TableGroups::Never, TableGroups::WhereExact] {
        let query = Query::new(["sum"]).table_groups(groups);
        let error = cube.query(query).unwrap().wait().unwrap_err().to_string();
        assert!(error.contains("DECIMAL(38,0)"), "{error}");
        let query = Query::new(["rows"]).by(["day"]).table_groups(groups);
        let error = cube.query(query).unwrap().wait().unwrap_err().to_string();
        assert!(error.contains("infinite"), "{error}");
    }
    assert_eq!((far.readers(), handles(&path)), (0, 0));
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn a_statement_that_fails_midway_closes_the_file() {
    let Some(files) = Files::new() else { return };
    let place = files.database("midway.duckdb", "CREATE TABLE n AS SELECT n FROM range(3000000) AS r(n)");
    let path = files.path("midway.duckdb");
    let stages = stages();
    let midway = "SELECT CASE WHEN n = 2500000 THEN error('no more at ' || n) ELSE n END AS n FROM n";
    let table = open(&stages, &place, midway).unwrap();
    let cube = Cube::builder(&stages, forest("n"), table.clone()).build().unwrap();
    for groups in [TableGroups::Never, TableGroups::WhereExact] {
        let error = cube.query(Query::new(["sum"]).table_groups(groups)).unwrap().wait().unwrap_err();
        let is_told = |message: &str| message.contains("no more at 2500000");
        assert!(matches!(&error, CubeError::TableFailed { message, .. } if is_told(message)), "{error}");
        assert_eq!((table.readers(), handles(&path)), (0, 0));
    }
    let stream = Table::open(&table, &stages, TableQuery::new(["n"], Filter::All));
    let batches = wait(&stages, async move {
        let (mut stream, mut batches) = (stream.await.unwrap(), 0);
        loop {
            match stream.next().await.unwrap() {
                Ok(_) => batches += 1,
                Err(_) => break batches,
            }
        }
    });
    assert!(batches > 10, "rows came before: {batches} batches");
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn a_cancelled_query_stops_duckdb_too() {
    let Some(files) = Files::new() else { return };
    let place = files.database("slow.duckdb", "CREATE TABLE n AS SELECT n FROM range(1000000) AS r(n)");
    let path = files.path("slow.duckdb");
    let stages = stages();
    // Hours before the first row, and hours between two rows.
    let slow = [
        "SELECT sum(a.n * b.n) % 7 AS n FROM n AS a, n AS b",
        "SELECT a.n FROM n AS a, n AS b WHERE a.n * b.n < 0 OR (a.n = 7 AND b.n = 7)",
    ];
    for table in slow {
        let table = open(&stages, &place, table).unwrap();
        let cube = Cube::builder(&stages, forest("n"), table.clone()).build().unwrap();
        for groups in [TableGroups::Never, TableGroups::WhereExact] {
            let asked = cube.query(Query::new(["sum"]).table_groups(groups)).unwrap();
            eventually("DuckDB has begun", || table.readers() == 1);
            asked.cancel();
            assert_eq!(asked.wait().unwrap_err(), CubeError::Cancelled);
            eventually("DuckDB has stopped", || table.readers() == 0 && handles(&path) == 0);
        }
        // Nobody waits for the stream any more, at any moment of its begin.
        for _ in 0..20 {
            drop(Table::open(&table, &stages, TableQuery::new(["n"], Filter::All)));
        }
        eventually("all have stopped", || table.readers() == 0 && handles(&path) == 0);
    }
    stages.shutdown(Shutdown::Cancel).unwrap();
}

#[test]
fn a_column_that_changes_its_type_is_told() {
    let Some(files) = Files::new() else { return };
    let place = files.database("changed.duckdb", "CREATE TABLE t AS SELECT 7 AS k, 1.5::DECIMAL(9, 2) AS n");
    let stages = stages();
    let table = open(&stages, &place, "t").unwrap();
    let cube = Cube::builder(&stages, forest("n"), table).build().unwrap();
    let ask = |groups| cube.query(Query::new(["sum"]).by(["k"]).table_groups(groups)).unwrap().wait();
    let both = [TableGroups::Never, TableGroups::WhereExact];
    files.database(
        "changed.duckdb",
        "ALTER TABLE t ALTER n TYPE DECIMAL(9, 1); ALTER TABLE t ADD more INTEGER[]",
    );
    for groups in both {
        let told = ask(groups).map(|result| result.to_csv().unwrap()).unwrap_err();
        assert!(
            matches!(&told, CubeError::TableFailed { message, .. } if message.contains("open it again")),
            "{told}"
        );
    }
    files.database(
        "changed.duckdb",
        "ALTER TABLE t ALTER n TYPE DECIMAL(9, 2); INSERT INTO t VALUES (8, 2.5, [])",
    );
    for groups in both {
        let found = ask(groups).unwrap().to_csv().unwrap();
        assert_eq!(found, "k,sum\n7,1.50\n8,2.50\n", "rows that were written since are there");
    }
    stages.shutdown(Shutdown::Drain).unwrap();
}

/// What the process of [`another_process`] does.
const VARIABLE: &str = "FILBERT_TEST_DUCKDB_WRITES";

/// Not a test of its own: the process that writes a file, for the test below. It says how that went, and holds the file until it is told.
#[test]
fn another_process() {
    let Some(path) = std::env::var_os(VARIABLE) else { return };
    match writing(&library().unwrap(), Path::new(&path)) {
        Ok(mut connection) => {
            run(&mut connection, "INSERT INTO t VALUES (1)");
            println!("\nother: written");
            std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        }
        Err(error) => println!("\nother: refused: {error}"),
    }
}

/// That process.
struct Other {
    child: Child,
    output: BufReader<ChildStdout>,
    said: String,
}

impl Other {
    /// Starts it, and waits for what it says.
    fn start(path: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "trouble::another_process", "--nocapture"])
            .env(VARIABLE, path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = output.by_ref().lines();
        let said = lines.find_map(|line| line.unwrap().strip_prefix("other: ").map(str::to_owned));
        Self { child, output, said: said.expect("it says something") }
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        self.output.read_to_end(&mut Vec::new()).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn a_file_is_read_by_us_or_written_by_others() {
    let Some(files) = Files::new() else { return };
    let place = files.database("held.duckdb", "CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1)");
    let path = files.path("held.duckdb");
    let stages = stages();
    let table = open(&stages, &place, "t").unwrap();
    let cube = Cube::builder(&stages, forest("n"), table.clone()).build().unwrap();
    let ask = || cube.query(Query::new(["rows"])).unwrap().wait().map(|result| result.to_csv().unwrap());
    assert_eq!(ask().unwrap(), "rows\n1\n");
    // Between two queries it can be written; then it cannot be read.
    let other = Other::start(&path);
    assert_eq!(other.said, "written");
    let told = ask().unwrap_err();
    let is_locked = |message: &str| message.contains("Conflicting lock");
    assert!(matches!(&told, CubeError::TableFailed { message, .. } if is_locked(message)), "{told}");
    assert!(told.is_retryable());
    assert_eq!((table.readers(), handles(&path)), (0, 0));
    other.end();
    assert_eq!(ask().unwrap(), "rows\n2\n");
    // While it is read it cannot be written, also when another query has come and gone.
    let stream = Table::open(&table, &stages, TableQuery::new(["n"], Filter::All));
    let stream = wait(&stages, async move { stream.await.unwrap() });
    assert_eq!(ask().unwrap(), "rows\n2\n");
    let other = Other::start(&path);
    assert!(other.said.starts_with("refused") && other.said.contains("lock"), "{}", other.said);
    other.end();
    wait(&stages, async move { drop(stream) });
    let other = Other::start(&path);
    assert_eq!(other.said, "written");
    other.end();
    assert_eq!(ask().unwrap(), "rows\n3\n");
    stages.shutdown(Shutdown::Drain).unwrap();
}

//! Servers that are silent, slow or changed, and databases of other encodings.

use crate::asking::{all, answer, eventually, stages, wait};
use crate::open;
use crate::server::Server;
use arrow::array::RecordBatch;
use filbert_cube::{
    Aggregation, Aggregator, Combination, Cube, CubeError, Filter, Forest, Partitionor, PostgresTable, Query,
    Table, TableGroups, TableQuery,
};
use filbert_pool::{Shutdown, Stages};
use postgres::{Client, NoTls};
use std::io::Read;
use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let stages = stages();
    for mode in ["disable", "require"] {
        let url = format!("postgres://me@localhost:{port}/db?connect_timeout=1&sslmode={mode}");
        let (told, heard) = mpsc::channel();
        let opening = PostgresTable::open(&stages, &url, "t");
        let asked = stages.mixed().spawn("test", async move { told.send(opening.await.map(drop)) });
        asked.unwrap().detach();
        let error = heard.recv_timeout(MINUTE).expect("it is given up").unwrap_err().to_string();
        assert!(error.contains("did not answer in time"), "{error}");
        drop(silent.accept().unwrap());
    }
    // Nobody waits for it any more: it is left at once, however long it may be silent.
    let url = format!("postgres://me@localhost:{port}/db?connect_timeout=3600");
    let opening = PostgresTable::open(&stages, &url, "t");
    let (mut accepted, _) = silent.accept().unwrap();
    accepted.set_read_timeout(Some(MINUTE)).unwrap();
    let mut letters = [0; 8];
    accepted.read_exact(&mut letters).unwrap();
    drop(opening);
    let mut rest = Vec::new();
    accepted.read_to_end(&mut rest).expect("the connection is closed");
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn looking_at_a_table_can_be_given_up() {
    let Some(server) = Server::shared() else { return };
    let mut client = server.database("looked_at", "CREATE TABLE locked (n int)");
    let mut other = Client::connect(&server.url("looked_at"), NoTls).unwrap();
    other.batch_execute("BEGIN; LOCK TABLE locked").unwrap();
    let stages = stages();
    let opening = PostgresTable::open(&stages, &server.url("looked_at"), "locked");
    let waiting = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND application_name = 'filbert' AND wait_event_type = 'Lock'";
    eventually("it waits", || client.query_one(waiting, &[]).unwrap().get::<_, i64>(0) == 1);
    drop(opening);
    eventually("the server has stopped", || Server::connections(&mut client) == (0, 0));
    stages.shutdown(Shutdown::Drain).unwrap();
}

/// How many rows a filter wants, by rows and by groups.
fn counts(stages: &Stages, table: PostgresTable, filter: &str) -> [String; 2] {
    let forest = Forest::builder().measure("rows", Aggregator::count()).build().unwrap();
    let cube = Cube::builder(stages, forest, table).build().unwrap();
    [TableGroups::Never, TableGroups::WhereExact].map(|groups| {
        let query = Query::new(["rows"]).filter(filter.parse::<Filter>().unwrap()).table_groups(groups);
        answer(&cube, &query).0
    })
}

#[test]
fn letters_are_letters_in_databases_of_other_encodings() {
    let Some(server) = Server::shared() else { return };
    let mut root = Client::connect(&server.url("postgres"), NoTls).unwrap();
    let stages = stages();
    for (name, encoding) in [("of_bytes", "SQL_ASCII"), ("of_latin", "LATIN1")] {
        let made = format!("CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0");
        root.batch_execute(&made).unwrap();
        let mut client = Client::connect(&server.url(name), NoTls).unwrap();
        client.batch_execute("CREATE TABLE t AS SELECT text 'é' AS t, char(3) 'é' AS c").unwrap();
        let table = open(&stages, &server.url(name), "t").unwrap();
        // By bytes the letter would be two; the snowman is none that Latin has.
        for filter in ["t like '_'", "t = 'é'", "not t = '☃'", "not c = '☃'", "not t in ('☃', 'a')"] {
            for count in counts(&stages, table.clone(), filter) {
                assert_eq!(count, "rows\n1\n", "{encoding} {filter}");
            }
        }
    }
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn floats_that_are_made_of_groups_of_the_server_are_added_up_exactly() {
    let Some(server) = Server::shared() else { return };
    let table = "SELECT n % 3 AS desk, n * 7 % 101 AS book, n * 13 % 17 AS a, 1 + n % 11 AS b
                 FROM generate_series(1, 3000) AS n";
    drop(server.database("above", ""));
    let stages = stages();
    let forest = |aggregation| {
        let rate = Partitionor::new(&["a", "b"], &["book"], Combination::Divide, aggregation);
        Forest::builder()
            .measure("a", Aggregator::sum("a"))
            .measure("b", Aggregator::sum("b"))
            .measure("rate", rate)
            .build()
            .unwrap()
    };
    for aggregation in [Aggregation::Sum, Aggregation::Avg, Aggregation::Product, Aggregation::Max] {
        let table = open(&stages, &server.url("above"), table).unwrap();
        let cube = Cube::builder(&stages, forest(aggregation.clone()), table).build().unwrap();
        let query = Query::new(["rate"]).by(["desk"]);
        let (found, how) = answer(&cube, &query);
        assert!(how.contains("groups of its own"), "{aggregation:?}: {how}");
        assert_eq!(found, answer(&cube, &query.table_groups(TableGroups::Never)).0, "{aggregation:?}");
    }
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn a_column_that_changes_its_type_is_told() {
    let Some(server) = Server::shared() else { return };
    let mut client = server.database("changed", "CREATE TABLE t AS SELECT 7 AS k, 1.5::numeric(9, 2) AS n");
    let stages = stages();
    let table = open(&stages, &server.url("changed"), "t").unwrap();
    client.batch_execute("ALTER TABLE t ALTER n TYPE numeric(9, 1), ADD more jsonb").unwrap();
    let forest = Forest::builder().measure("n", Aggregator::sum("n")).build().unwrap();
    let cube = Cube::builder(&stages, forest, table).build().unwrap();
    for groups in [TableGroups::Never, TableGroups::WhereExact] {
        let asked = cube.query(Query::new(["n"]).by(["k"]).table_groups(groups)).unwrap();
        let told = asked.wait().map(|result| result.to_csv().unwrap()).unwrap_err();
        assert!(
            matches!(&told, CubeError::TableFailed { message, .. } if message.contains("open it again")),
            "{told}"
        );
    }
    client.batch_execute("ALTER TABLE t ALTER n TYPE numeric(9, 2)").unwrap();
    let asked = cube.query(Query::new(["n"]).by(["k"])).unwrap().wait().unwrap();
    assert_eq!(asked.to_csv().unwrap(), "k,n\n7,1.50\n", "a new column is nothing to it");
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn a_value_that_cannot_be_read_ends_the_connection() {
    let Some(server) = Server::shared() else { return };
    let mut client = server.database("unreadable", "");
    let stages = stages();
    let table =
        "SELECT CASE WHEN n = 1 THEN 'infinity' ELSE date '2026-01-01' END AS day, repeat('x', 99999) AS x
                 FROM generate_series(1, 300) AS n";
    let table = open(&stages, &server.url("unreadable"), table).unwrap();
    let stream = Table::open(&table, &stages, TableQuery::new(["day", "x"], Filter::All));
    let (error, stream) = wait(&stages, async move {
        let mut stream = stream.await.unwrap();
        (stream.next().await.unwrap().unwrap_err().to_string(), stream)
    });
    assert!(error.contains("infinite"), "{error}");
    eventually("the connection is gone", || Server::connections(&mut client) == (0, 0));
    wait(&stages, async move { drop(stream) });
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn batches_of_wide_rows_have_fewer_of_them() {
    let Some(server) = Server::shared() else { return };
    drop(server.database("wide", ""));
    let stages = stages();
    let table = "SELECT repeat('x', 100000) AS x FROM generate_series(1, 500) AS n";
    let table = open(&stages, &server.url("wide"), table).unwrap();
    let stream = Table::open(&table, &stages, TableQuery::new(["x"], Filter::All));
    let batches = wait(&stages, async move { all(&mut stream.await.unwrap()).await });
    let sizes: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(sizes, [256, 64, 64, 64, 52]);
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn a_stream_may_be_dropped_on_a_runtime_of_one_thread() {
    let Some(server) = Server::shared() else { return };
    let mut client =
        server.database("one_thread", "CREATE TABLE n AS SELECT n FROM generate_series(1, 20000) AS n");
    let stages = stages();
    let table = open(&stages, &server.url("one_thread"), "n").unwrap();
    let stream = Table::open(&table, &stages, TableQuery::new(["n"], Filter::All));
    let stream = wait(&stages, async move {
        let mut stream = stream.await.unwrap();
        stream.next().await.unwrap().unwrap();
        stream
    });
    assert_eq!(Server::connections(&mut client).0, 1);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async move { drop(stream) });
    eventually("the connection is gone", || Server::connections(&mut client).0 == 0);
    stages.shutdown(Shutdown::Drain).unwrap();
}

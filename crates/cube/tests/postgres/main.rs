//! Cubes over tables of a PostgreSQL server, which the tests start themselves.
#![allow(clippy::disallowed_methods, reason = "tests make deadlines of their own")]

#[path = "../asking/mod.rs"]
mod asking;
mod server;
mod trouble;

use arrow::array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int16Array, Int32Array,
    Int64Array, RecordBatch, StringArray, Time64MicrosecondArray, TimestampMicrosecondArray,
};
use asking::{Numbers, all, answer, apart, begun, close_twice, eventually, rows, skipped, stages, wait};
use filbert_cube::{
    Aggregation, Aggregator, Combination, Cube, CubeError, Filter, Filtrator, Forest, MemoryTable,
    Partitionor, PostgresTable, Query, Table, TableGroups, TableQuery,
};
use filbert_pool::{Shutdown, Stages};
use postgres::{Client, NoTls};
use server::Server;
use std::sync::Arc;

fn open(stages: &Stages, url: &str, table: &str) -> Result<PostgresTable, CubeError> {
    wait(stages, PostgresTable::open(stages, url, table))
}

#[test]
fn every_type_becomes_one_of_arrow() {
    let Some(server) = Server::shared() else { return };
    drop(server.database(
        "types",
        "CREATE TYPE mood AS ENUM ('calm', 'wild');
         CREATE TABLE t (b bool, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, d numeric(12, 3), n numeric,
            t text, v varchar(9), c char(5), w name, m mood, day date, at time, ts timestamp, tz timestamptz, id uuid);
         INSERT INTO t VALUES
         (true, -2, 4, 1234567890123, 1.5, -0.25, -1234.567, 1e-9, 'é''\"', 'v', 'ab', 'w', 'wild', '2026-03-31',
          '01:02:03.5', '2026-03-31 12:00:00.000001', '1969-12-31 23:59:59+00', '00112233-4455-6677-8899-aabbccddeeff'),
         (null, null, null, null, null, 'nan', null, 'nan', null, null, null, null, null, null, null, null, null, null)",
    ));
    let stages = stages();
    let table = open(&stages, &server.url("types"), "public.t").unwrap();
    let texts = |text: &str| Arc::new(StringArray::from(vec![Some(text), None])) as ArrayRef;
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("b", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("i2", Arc::new(Int16Array::from(vec![Some(-2), None]))),
        ("i4", Arc::new(Int32Array::from(vec![Some(4), None]))),
        ("i8", Arc::new(Int64Array::from(vec![Some(1_234_567_890_123), None]))),
        ("f4", Arc::new(Float32Array::from(vec![Some(1.5), None]))),
        ("f8", Arc::new(Float64Array::from(vec![-0.25, f64::NAN]))),
        (
            "d",
            Arc::new(
                Decimal128Array::from(vec![Some(-1_234_567), None]).with_precision_and_scale(12, 3).unwrap(),
            ),
        ),
        ("n", Arc::new(Float64Array::from(vec![1e-9, f64::NAN]))),
        ("t", texts("é'\"")),
        ("v", texts("v")),
        ("c", texts("ab")),
        ("w", texts("w")),
        ("m", texts("wild")),
        ("day", Arc::new(Date32Array::from(vec![Some(20_543), None]))),
        ("at", Arc::new(Time64MicrosecondArray::from(vec![Some(3_723_500_000), None]))),
        ("ts", Arc::new(TimestampMicrosecondArray::from(vec![Some(1_774_958_400_000_001), None]))),
        (
            "tz",
            Arc::new(TimestampMicrosecondArray::from(vec![Some(-1_000_000), None]).with_timezone("+00:00")),
        ),
        ("id", texts("00112233-4455-6677-8899-aabbccddeeff")),
    ];
    let read = rows(&stages, &table);
    assert_eq!(read.num_columns(), columns.len());
    for (name, column) in columns {
        assert_eq!(read.column_by_name(name).unwrap(), &column, "{name}");
    }
    stages.shutdown(Shutdown::Drain).unwrap();
}

const TRADES: &str = "CREATE TYPE side AS ENUM ('sell', 'buy');
    CREATE TABLE trades AS SELECT
        (ARRAY['FX', 'Rates', 'rates', 'Équité', '', null])[1 + n % 6] COLLATE \"en-x-icu\" AS desk,
        (ARRAY['EUR', 'USD', 'JPY', 'X'])[1 + n % 4]::char(4) AS ccy,
        (ARRAY['sell', 'buy'])[1 + n % 2]::side AS side,
        date '2026-01-01' + (n % 28)::int AS day,
        timestamp '2026-01-01' + (n % 50) * interval '1 hour' AS at,
        timestamptz '2026-01-01 00:00+00' + (n % 50) * interval '1 hour' AS seen,
        md5((n % 20)::text)::uuid AS id,
        n % 7 = 0 AS late,
        nullif(n % 50, 49)::int AS n,
        ((n * 7 % 97 - 40) / 8.0)::float8 AS pnl,
        ((n * 13 % 1000) / 100.0)::numeric(14, 2) AS fee
    FROM generate_series(0, 2999) AS n;";

const FILTERS: [&str; 22] = [
    "ccy = 'EUR'",
    "ccy = 'X' or ccy = 'X '",
    "not ccy in ('EUR', 'X')",
    "ccy like 'X'",
    "ccy < 'JPZ'",
    "not desk = 'FX'",
    "desk > 'Rates'",
    "desk >= 'a' or desk is null",
    "not desk in ('rates', 'Équité')",
    "desk like 'R%' or not desk like '%s'",
    "desk like '_qu_t_'",
    "desk = ''",
    "side = 'buy' and side > 'a'",
    "day >= '2026-01-10' and not n < 40",
    "at >= '2026-01-02T00:00:00' and at < '2026-01-02 05:00:00'",
    "not seen > '2026-01-02T00:00:00Z'",
    "id in ('cfcd208495d565ef66e7dff9f98764da', 'c4ca4238-a0b9-2382-0dcc-509a6f75849b')",
    "id > '8f' and id like 'c%'",
    "late = true or n is null",
    "pnl > 3.5 and pnl <> 4.0 and not pnl = 0.0",
    "fee > 9.5",
    "desk ~ '^R' and n = 3",
];

fn forest() -> Forest {
    Forest::builder()
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("trades", Aggregator::count())
        .measure("known", Aggregator::new("n", Aggregation::Count))
        .measure("total", Aggregator::sum("n"))
        .measure("fee", Aggregator::sum("fee"))
        .measure("highest", Aggregator::new("n", Aggregation::Max))
        .measure("first", Aggregator::new("day", Aggregation::Min))
        .measure("last desk", Aggregator::new("desk", Aggregation::Max))
        .measure("euro", Filtrator::new("fee", "ccy = 'EUR'".parse::<Filter>().unwrap()))
        .measure("most", Partitionor::new(&["total"], &["side"], Combination::Sum, Aggregation::Max))
        .build()
        .unwrap()
}

/// The same table here and there.
fn both(stages: &Stages, url: &str, table: &str) -> (Cube, Cube) {
    let there = open(stages, url, table).unwrap();
    let batch = rows(stages, &there);
    let here = MemoryTable::new("trades", batch.schema(), vec![batch]).unwrap();
    let cube = |builder: filbert_cube::CubeBuilder| builder.build().unwrap();
    (cube(Cube::builder(stages, forest(), there)), cube(Cube::builder(stages, forest(), here)))
}

fn compare_filters(stages: &Stages, url: &str, table: &str) {
    let (there, here) = both(stages, url, table);
    for filter in FILTERS {
        let measures = ["pnl", "trades", "known", "fee", "highest", "first", "last desk"];
        let query = Query::new(measures).by(["desk", "ccy"]).filter(filter.parse().unwrap());
        let ((there, statement), (here, _)) = (answer(&there, &query), answer(&here, &query));
        assert_eq!(there, here, "{filter}\n{statement}");
        assert!(here.lines().count() > 1, "{filter} wants nothing");
    }
}

#[test]
fn conditions_find_the_same_rows_as_in_memory() {
    let Some(server) = Server::shared() else { return };
    drop(server.database("conditions", TRADES));
    let stages = stages();
    let url = server.url("conditions");
    compare_filters(&stages, &url, "trades");
    compare_filters(&stages, &url, "SELECT * FROM trades -- all of them");
    let (there, _) = both(&stages, &url, "trades");
    let filter = "desk = 'O''Neil' and n in (1, 2) and not day < '2026-01-02'".parse().unwrap();
    let (_, explanation) = answer(&there, &Query::new(["pnl"]).filter(filter));
    let wanted = r#"read by: SELECT "day", "desk", "n", "pnl" FROM "trades" WHERE ("desk" = CAST($1 AS text) AND "n" IN (CAST($2 AS int8), CAST($3 AS int8)) AND ("day" IS NULL OR NOT "day" < CAST($4 AS date)))"#;
    assert!(explanation.contains(wanted), "{explanation}");
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn texts_that_the_database_takes_for_equal_are_told_apart() {
    let Some(server) = Server::shared() else { return };
    let loose = "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false);";
    let trades = TRADES.replace("\"en-x-icu\"", "loose");
    drop(server.database("loose", &format!("{loose}{trades}")));
    let stages = stages();
    compare_filters(&stages, &server.url("loose"), "trades");
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn rows_come_in_batches_and_the_connection_goes_when_the_stream_is_closed() {
    let Some(server) = Server::shared() else { return };
    let mut client =
        server.database("batches", "CREATE TABLE n AS SELECT n FROM generate_series(1, 20000) AS n");
    let stages = stages();
    let table = open(&stages, &server.url("batches"), "n").unwrap();
    let request = || TableQuery::new(["n"], Filter::All);
    let stream = Table::open(&table, &stages, request());
    let batches = wait(&stages, async move { all(&mut stream.await.unwrap()).await });
    let sizes: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(sizes, [256, 8_192, 8_192, 3_360]);
    let (stream, rows, closed) = begun(&stages, &table, request());
    assert_eq!((rows, Server::connections(&mut client).0), (256, 1));
    close_twice(&stages, stream, &closed);
    eventually("the connection is gone", || Server::connections(&mut client).0 == 0);
    let counts = Cube::builder(
        &stages,
        Forest::builder().measure("rows", Aggregator::count()).build().unwrap(),
        table,
    );
    let result = counts.build().unwrap().query(Query::new(["rows"])).unwrap().wait().unwrap();
    assert_eq!(result.to_csv().unwrap(), "rows\n20000\n");
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn a_cancelled_query_ends_on_the_server_too() {
    let Some(server) = Server::shared() else { return };
    let mut client = server.database("cancelled", "CREATE TABLE locked (n int)");
    let stages = stages();
    let forest = || Forest::builder().measure("n", Aggregator::sum("n")).build().unwrap();
    let slow =
        open(&stages, &server.url("cancelled"), "SELECT n, pg_sleep(3600) FROM generate_series(1, 9) AS n");
    assert!(matches!(slow, Err(CubeError::UnsupportedType { .. })), "{slow:?}");
    let slow = "SELECT n FROM generate_series(1, 9) AS n, LATERAL (SELECT pg_sleep(3600 + n)) AS s";
    // While it reads, and while it waits to begin.
    for table in [slow, "locked"] {
        let table = open(&stages, &server.url("cancelled"), table).unwrap();
        let mut other = Client::connect(&server.url("cancelled"), NoTls).unwrap();
        other.batch_execute("BEGIN; LOCK TABLE locked").unwrap();
        let cube = Cube::builder(&stages, forest(), table).build().unwrap();
        let asked = cube.query(Query::new(["n"])).unwrap();
        eventually("the server computes", || Server::connections(&mut client).1 == 1);
        asked.cancel();
        assert_eq!(asked.wait().unwrap_err(), CubeError::Cancelled);
        eventually("the server has stopped", || Server::connections(&mut client) == (0, 0));
    }
    stages.shutdown(Shutdown::Cancel).unwrap();
}

#[test]
fn what_goes_wrong_is_told_without_the_password() {
    let Some(server) = Server::shared() else { return };
    drop(server.database("wrong", "CREATE TABLE odd (n int, spread jsonb)"));
    let stages = stages();
    let url = server.url("wrong");
    let told = |url: &str, table: &str| {
        let told = open(&stages, url, table).unwrap_err().to_string();
        assert!(!told.contains("secret") && !told.contains("kept"), "{told}");
        told
    };
    let odd = told(&url, "odd");
    assert!(odd.contains("\"spread\"") && odd.contains("jsonb") && odd.contains("::text"), "{odd}");
    assert!(told(&url, "missing").contains("SQLSTATE 42P01"));
    assert!(told(&url.replace("/wrong", "/nowhere"), "odd").contains("SQLSTATE 3D000"));
    assert!(told(&url.replace("me:", "me:not"), "odd").contains("SQLSTATE 28P01"));
    assert!(told(&url, "SELECT 1 AS n, 2 AS n").contains("two columns"));
    let midway = "SELECT n, 1 / (n - 10000) AS share FROM generate_series(1, 20000) AS n";
    let table = open(&stages, &url, midway).unwrap();
    let forest = Forest::builder().measure("share", Aggregator::sum("share")).build().unwrap();
    let cube = Cube::builder(&stages, forest, table).build().unwrap();
    let error = cube.query(Query::new(["share"])).unwrap().wait().unwrap_err();
    assert!(matches!(&error, CubeError::TableFailed { message, .. } if message.contains("22012")), "{error}");
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn tls_is_checked() {
    let Some(server) = Server::shared() else { return };
    let Some(certificate) = server.certificate() else {
        return skipped("there is no openssl to make a certificate with");
    };
    drop(server.database("safe", "CREATE TABLE n AS SELECT 1 AS n"));
    let stages = stages();
    let url = format!("{}?sslmode=require", server.url("safe"));
    let unknown = open(&stages, &url, "n").unwrap_err().to_string();
    assert!(unknown.contains("TLS") || unknown.contains("certificate"), "{unknown}");
    let known = format!("{url}&sslrootcert={}", certificate.display());
    let over_tls =
        "SELECT CASE WHEN ssl THEN 1 ELSE 0 END AS n FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    let forest = Forest::builder().measure("n", Aggregator::sum("n")).build().unwrap();
    let table = open(&stages, &known, over_tls).unwrap();
    let result = Cube::builder(&stages, forest, table).build().unwrap().query(Query::new(["n"])).unwrap();
    assert_eq!(result.wait().unwrap().to_csv().unwrap(), "n\n1\n");
    let elsewhere = known.replace("localhost", "127.0.0.1");
    assert!(open(&stages, &elsewhere, "n").unwrap_err().to_string().contains("certificate"));
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn groups_of_the_table_are_those_of_the_cube() {
    let Some(server) = Server::shared() else { return };
    let loose = "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false);";
    drop(server.database("groups", TRADES));
    drop(server.database("loose_groups", &format!("{loose}{}", TRADES.replace("\"en-x-icu\"", "loose"))));
    let stages = stages();
    let mut numbers = Numbers(7);
    let (mut by_table, mut by_cube) = (0, 0);
    for database in ["groups", "loose_groups"] {
        let (there, here) = both(&stages, &server.url(database), "trades");
        for _ in 0..25 {
            let measures =
                ["pnl", "trades", "known", "total", "fee", "highest", "first", "last desk", "euro", "most"];
            let columns = ["desk", "ccy", "side", "day", "at", "seen", "id", "late", "n", "pnl", "fee"];
            let by = if numbers.below(8) == 0 { Vec::new() } else { numbers.some(&columns, 3) };
            let mut query = Query::new(apart(&numbers.some(&measures, 4), &by)).by(by.clone());
            if numbers.below(2) == 0 {
                query = query.filter(FILTERS[numbers.below(FILTERS.len())].parse().unwrap());
            }
            if numbers.below(3) == 0 {
                query = query.totals(by.iter().copied().take(2));
            }
            let (wanted, _) = answer(&here, &query);
            for groups in [TableGroups::WhereExact, TableGroups::Always, TableGroups::Never] {
                let (found, how) = answer(&there, &query.clone().table_groups(groups));
                assert_eq!(found, wanted, "{groups:?} {query:?}\n{how}");
                let is_grouped = how.contains("groups of its own");
                assert!(!(is_grouped && groups == TableGroups::Never), "{how}");
                *if is_grouped { &mut by_table } else { &mut by_cube } += 1;
            }
        }
    }
    assert!(by_table > 40 && by_cube > 50, "{by_table} by the table, {by_cube} by the cube");
    let (there, _) = both(&stages, &server.url("groups"), "trades");
    let query = Query::new(["euro", "most"]).by(["n"]).filter("n > 3".parse().unwrap());
    let (_, how) = answer(&there, &query);
    let wanted = [
        r#"CASE GROUPING("n", CAST("side" AS text) COLLATE "C") WHEN 1 THEN 0 WHEN 0 THEN 1 END AS level"#,
        r#"CAST(SUM("fee") FILTER (WHERE ("ccy" = CAST($2 AS bpchar) AND "n" > CAST($3 AS int8))) AS numeric(38, 2))"#,
        r#"GROUP BY GROUPING SETS (("n"), ("n", CAST("side" AS text) COLLATE "C"))"#,
    ];
    wanted.iter().for_each(|part| assert!(how.contains(part), "{part}\n{how}"));
    let (_, how) = answer(&there, &Query::new(["pnl"]).by(["ccy"]));
    assert!(how.contains("read by: SELECT \"ccy\", \"pnl\" FROM"), "sums of floats are the cube's: {how}");
    stages.shutdown(Shutdown::Drain).unwrap();
}

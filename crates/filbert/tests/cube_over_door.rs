//! Cubes over the tables of another member, through its door for PostgreSQL clients.
#![allow(clippy::disallowed_methods, reason = "tests make deadlines of their own")]

use filbert::cube::{
    Aggregation, Aggregator, Cube, CubeError, Filtrator, Forest, PostgresTable, Query, SqlTable, Table,
    TableGroups,
};
use filbert::{Json, Member, PostgresSettings};
use std::time::{Duration, Instant};

/// How long a test waits for what must come.
const DEADLINE: Duration = Duration::from_secs(60);

const FILTERS: [&str; 12] = [
    "desk = 'FX'",
    "not desk = 'FX'",
    "desk > 'Rates'",
    "desk >= 'a' or desk is null",
    "not desk in ('rates', 'Équité')",
    "desk like 'R%' or not desk like '%s'",
    "desk like '_qu_t_'",
    "late = true or n is null",
    "n in (3, 4) or n > 40",
    "pnl > 3.5 and pnl <> 4.0 and not pnl = 0.0",
    "desk ~ '^R' and n = 3",
    "not day < '2026-01-10'",
];

/// A member with its door open and a map of 3,000 trades.
fn member() -> Member {
    let address = "127.0.0.1:0".parse().unwrap();
    let settings = PostgresSettings { address, ..PostgresSettings::default() };
    let member = Member::builder().postgres(settings).start().unwrap();
    let declared = "CREATE MAPPING trades (__key BIGINT, desk VARCHAR, day DATE, late BOOLEAN, n BIGINT, pnl DOUBLE) \
                    TYPE IMap OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'json-flat')";
    let query = member.sql().session().query(declared).unwrap();
    member.stages().mixed().spawn("declare", query.collect()).unwrap().wait().unwrap().unwrap();
    let trades = member.map::<i64, Json<serde_json::Value>>("trades");
    let desks = [Some("FX"), Some("Rates"), Some("rates"), Some("Équité"), Some(""), None];
    for key in 0..3_000_i64 {
        let trade = serde_json::json!({
            "desk": desks[(key % 6) as usize],
            "day": format!("2026-01-{:02}", 1 + key % 28),
            "late": key % 7 == 0,
            "n": (key % 50 != 49).then_some(key % 50),
            "pnl": (key * 7 % 97 - 40) as f64 / 8.0,
        });
        trades.set(&key, &Json(trade)).wait().unwrap();
    }
    member
}

/// A table of a member, as a PostgreSQL server's.
fn table(member: &Member, table: &str) -> Result<PostgresTable, CubeError> {
    let url = format!("postgres://ann@{}/filbert", member.postgres_address().unwrap());
    let opened = PostgresTable::open(member.stages(), &url, table);
    member.stages().mixed().spawn("open table", opened).unwrap().wait().unwrap()
}

fn cube(member: &Member, table: impl Table + 'static) -> Cube {
    let forest = Forest::builder()
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("trades", Aggregator::count())
        .measure("known", Aggregator::new("n", Aggregation::Count))
        .measure("total", Aggregator::sum("n"))
        .measure("highest", Aggregator::new("n", Aggregation::Max))
        .measure("first", Aggregator::new("day", Aggregation::Min))
        .measure("last desk", Aggregator::new("desk", Aggregation::Max))
        .measure("late", Filtrator::new("total", "late = true".parse().unwrap()))
        .build()
        .unwrap();
    member.cube(forest, table).build().unwrap()
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < DEADLINE, "not in time: {what}");
        // sleeps because the condition is in another thread that tells nobody
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_cube_through_the_door_answers_as_one_beside_the_map() {
    let member = member();
    let session = member.sql().session();
    let opened = async move { SqlTable::open(session, "trades").await };
    let here = member.stages().mixed().spawn("open table", opened).unwrap().wait().unwrap().unwrap();
    let here = cube(&member, here);
    let measures = ["pnl", "trades", "known", "total", "highest", "first", "last desk", "late"];
    for from in ["trades", "public.trades", "SELECT * FROM trades -- all of them"] {
        let there = cube(&member, table(&member, from).unwrap());
        let all = ["n >= 0 or n is null"];
        for filter in if from == "trades" { &FILTERS[..] } else { &all[..] } {
            for groups in [TableGroups::WhereExact, TableGroups::Always, TableGroups::Never] {
                let query = Query::new(measures).by(["desk", "day"]).totals(["day"]);
                let query = query.filter(filter.parse().unwrap()).table_groups(groups);
                let answer =
                    |cube: &Cube| cube.query(query.clone()).unwrap().wait().and_then(|found| found.to_csv());
                let expected = answer(&here).unwrap();
                assert_eq!(answer(&there).unwrap(), expected, "{from}, {filter}, {groups:?}");
                assert!(expected.lines().count() > 1, "{filter} wants nothing");
            }
        }
    }
    eventually("the queries have ended", || member.sql().snapshot().running == 0);
}

#[test]
fn a_cancelled_query_ends_behind_the_door_too() {
    let member = member();
    let long = "SELECT sum(a.value) AS n FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b";
    let forest = Forest::builder().measure("n", Aggregator::sum("n")).build().unwrap();
    let cube = member.cube(forest, table(&member, long).unwrap()).build().unwrap();
    let asked = cube.query(Query::new(["n"])).unwrap();
    eventually("the member computes", || member.sql().snapshot().running == 1);
    asked.cancel();
    assert_eq!(asked.wait().unwrap_err(), CubeError::Cancelled);
    eventually("the member has stopped", || member.sql().snapshot().running == 0);
}

#[test]
fn a_table_that_is_not_there_is_named() {
    let member = member();
    let error = table(&member, "nothing").unwrap_err();
    assert!(error.to_string().contains("nothing"), "{error}");
    assert!(error.to_string().contains("42P01"), "{error}");
}

//! Rows and groups that DuckDB chooses and makes are those that the cube would.

use crate::asking::{Numbers, answer, apart, rows, stages};
use crate::files::{Files, open};
use filbert_cube::{
    Aggregation, Aggregator, Combination, Cube, CubeBuilder, DuckDb, Filter, Filtrator, Forest, MemoryTable,
    Partitionor, Query, TableGroups,
};
use filbert_pool::{Shutdown, Stages};
use proptest::prelude::*;

/// Texts with a collation, both zeros, all that is not a number, and every type that conditions may go to.
const TRADES: &str = "CREATE TYPE side AS ENUM ('sell', 'buy');
    CREATE TABLE trades (desk VARCHAR, book VARCHAR COLLATE NOCASE, side side, day DATE, \"at\" TIMESTAMP, seen TIMESTAMPTZ,
        id UUID, late BOOLEAN, n INTEGER, tiny UTINYINT, pnl DOUBLE, odd DOUBLE, rate FLOAT, fee DECIMAL(14, 2), huge HUGEINT,
        ms TIMESTAMP_MS);
    INSERT INTO trades SELECT
        (['FX', 'Rates', 'rates', 'Équité', '', NULL])[1 + n % 6],
        (['fx', 'FX', 'Fx', 'Équité', 'équité'])[1 + n % 5],
        (['sell', 'buy'])[1 + n % 2]::side,
        DATE '2026-01-01' + (n % 28)::INTEGER,
        TIMESTAMP '2026-01-01' + INTERVAL (n % 50) HOUR,
        TIMESTAMPTZ '2026-01-01 00:00:00+00' + INTERVAL (n % 50) HOUR,
        md5((n % 20)::VARCHAR)::UUID,
        n % 7 = 0,
        nullif(n % 50, 49),
        n % 250,
        (n * 7 % 97 - 40) / 8.0,
        CASE n % 9 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN '-0.0'::DOUBLE WHEN 2 THEN 0.0 WHEN 3 THEN 'inf'::DOUBLE
            WHEN 4 THEN '-inf'::DOUBLE WHEN 5 THEN NULL WHEN 6 THEN '-nan'::DOUBLE ELSE n % 9 END,
        (n % 16) / 4.0,
        (n * 13 % 1000) / 100.0,
        (n % 11)::HUGEINT * 100000000000000000000,
        TIMESTAMP '2026-01-01' + INTERVAL (n % 50) HOUR
    FROM range(3000) AS r(n);";

/// Conditions that some rows meet and others do not.
const CONDITIONS: [&str; 46] = [
    "desk = 'FX'",
    "desk = ''",
    "desk is null",
    "desk > 'Rates'",
    "desk >= 'a'",
    "desk < 'É'",
    "desk in ('rates', 'Équité')",
    "desk in ('O''Neil', 'FX')",
    "desk like 'R%'",
    "desk like '%s'",
    "desk like '_qu_t_'",
    "desk like 'É%'",
    "desk ~ '^R'",
    "book = 'fx'",
    "book in ('FX', 'équité')",
    "book > 'F'",
    "book < 'fx'",
    "book like 'f%'",
    "book like '_X'",
    "side = 'buy'",
    "side > 'c'",
    "side in ('buy', 'lend')",
    "side like 's%'",
    "day >= '2026-01-10'",
    "day = '2026-01-05'",
    "at >= '2026-01-02T00:00:00'",
    "at < '2026-01-02 05:00:00'",
    "at = '2026-01-02 05:00:00'",
    "seen > '2026-01-02T00:00:00Z'",
    "seen <= '2026-01-02T03:00:00Z'",
    "id = 'cfcd2084-95d5-65ef-66e7-dff9f98764da'",
    "id > '8f'",
    "id like 'c%'",
    "late = true",
    "n = 3",
    "n < 40",
    "n in (1, 2, 70000000000)",
    "tiny >= 200",
    "tiny = -1",
    "pnl > 3.5",
    "pnl = 0.0",
    "odd > 1.0",
    "odd <= 0.0",
    "odd < -1.0",
    "rate >= 2.5",
    "fee > 9.5",
];

const MORE: [&str; 4] =
    ["odd = 0.0", "odd >= 8.0", "huge > 100000000000000000000", "ms >= '2026-01-02T00:00:00'"];

const MEASURES: [&str; 15] = [
    "pnl",
    "odd",
    "trades",
    "known",
    "total",
    "tiny",
    "fee",
    "huge",
    "highest",
    "first",
    "last",
    "last desk",
    "last book",
    "euro",
    "most",
];

/// What is grouped by; `huge` has values that no key has.
const COLUMNS: [&str; 14] =
    ["desk", "book", "side", "day", "at", "seen", "id", "late", "n", "pnl", "odd", "rate", "fee", "ms"];

fn forest() -> Forest {
    Forest::builder()
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("odd", Aggregator::new("odd", Aggregation::Max))
        .measure("trades", Aggregator::count())
        .measure("known", Aggregator::new("n", Aggregation::Count))
        .measure("total", Aggregator::sum("n"))
        .measure("tiny", Aggregator::sum("tiny"))
        .measure("fee", Aggregator::sum("fee"))
        .measure("huge", Aggregator::sum("huge"))
        .measure("highest", Aggregator::new("n", Aggregation::Max))
        .measure("first", Aggregator::new("day", Aggregation::Min))
        .measure("last", Aggregator::new("seen", Aggregation::Max))
        .measure("last desk", Aggregator::new("desk", Aggregation::Max))
        .measure("last book", Aggregator::new("book", Aggregation::Max))
        .measure("euro", Filtrator::new("fee", "book = 'fx'".parse::<Filter>().unwrap()))
        .measure("most", Partitionor::new(&["total"], &["side"], Combination::Sum, Aggregation::Max))
        .build()
        .unwrap()
}

/// The same table here and there.
fn both(stages: &Stages, place: &DuckDb, table: &str) -> (Cube, Cube) {
    let there = open(stages, place, table).unwrap();
    let batch = rows(stages, &there);
    let here = MemoryTable::new("trades", batch.schema(), vec![batch]).unwrap();
    let cube = |builder: CubeBuilder| builder.build().unwrap();
    (cube(Cube::builder(stages, forest(), there)), cube(Cube::builder(stages, forest(), here)))
}

/// Asks both, by rows and by groups; how many answers DuckDB made the groups of.
fn compare(there: &Cube, here: &Cube, query: &Query) -> usize {
    let (wanted, _) = answer(here, query);
    let modes = [TableGroups::Never, TableGroups::WhereExact, TableGroups::Always];
    let is_grouped = modes.map(|groups| {
        let (found, how) = answer(there, &query.clone().table_groups(groups));
        // Which of the two zeros is the greater one is told where the answer is to be exact.
        let is_same = match groups {
            TableGroups::Always => found.replace("-0.0", "0.0") == wanted.replace("-0.0", "0.0"),
            _ => found == wanted,
        };
        assert!(is_same, "{groups:?} {query:?}\n{how}\n{found}\ninstead of\n{wanted}");
        how.contains("groups of its own")
    });
    assert!(!is_grouped[0]);
    is_grouped.into_iter().filter(|is_grouped| *is_grouped).count()
}

#[test]
fn conditions_find_the_same_rows_as_in_memory() {
    let Some(files) = Files::new() else { return };
    let place = files.database("conditions.duckdb", TRADES);
    let stages = stages();
    // A collation of the whole database changes nothing.
    let loose = place.clone().setting("default_collation", "nocase");
    let texts = CONDITIONS.iter().take_while(|condition| !condition.starts_with("side"));
    for (place, table, conditions) in [
        (&place, "trades", CONDITIONS.iter().chain(&MORE).collect::<Vec<_>>()),
        (&loose, "SELECT * FROM trades -- all of them", texts.collect()),
    ] {
        let (there, here) = both(&stages, place, table);
        for condition in conditions {
            for filter in [condition.to_string(), format!("not {condition}")] {
                let measures = ["pnl", "trades", "known", "fee", "highest", "first", "last desk"];
                let query = Query::new(measures).by(["desk", "book"]).filter(filter.parse().unwrap());
                compare(&there, &here, &query);
            }
        }
    }
    let (there, _) = both(&stages, &place, "trades");
    let filter = "desk = 'O''Neil' and n in (1, 2) and not day < '2026-01-02' and at > '2026-01-02T00:00:00'";
    let query = Query::new(["pnl"]).filter(filter.parse().unwrap());
    let (_, how) = answer(&there, &query);
    let wanted = r#"read by: SELECT "at", "day", "desk", "n", "pnl" FROM "trades" WHERE ("at" > TIMESTAMP '2026-01-02T00:00:00' AND "desk" COLLATE "binary" = 'O''Neil' AND "n" IN (1, 2) AND ("day" IS NULL OR NOT "day" < DATE '2026-01-02'))"#;
    assert!(how.contains(wanted), "{how}");
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn groups_of_the_table_are_those_of_the_cube() {
    let Some(files) = Files::new() else { return };
    let place = files.database("groups.duckdb", TRADES);
    let stages = stages();
    let (there, here) = both(&stages, &place, "trades");
    let mut numbers = Numbers(7);
    let mut by_table = 0;
    for _ in 0..60 {
        let by = if numbers.below(8) == 0 { Vec::new() } else { numbers.some(&COLUMNS, 3) };
        let mut query = Query::new(apart(&numbers.some(&MEASURES, 4), &by)).by(by.clone());
        if numbers.below(2) == 0 {
            query = query.filter(CONDITIONS[numbers.below(CONDITIONS.len())].parse().unwrap());
        }
        if numbers.below(3) == 0 {
            query = query.totals(by.iter().copied().take(2));
        }
        by_table += compare(&there, &here, &query);
    }
    assert!(by_table > 40, "{by_table} of 120 by the table");
    let query = Query::new(["euro", "most"]).by(["book"]).filter("n > 3".parse().unwrap());
    let (_, how) = answer(&there, &query);
    let wanted = [
        r#"CASE GROUPING("book" COLLATE "binary", "side") WHEN 1 THEN 0 WHEN 0 THEN 1 END AS level"#,
        r#"SUM("fee") FILTER (WHERE ("book" COLLATE "binary" = 'fx' AND "n" > 3))"#,
        r#"GROUP BY GROUPING SETS (("book" COLLATE "binary"), ("book" COLLATE "binary", "side"))"#,
    ];
    wanted.iter().for_each(|part| assert!(how.contains(part), "{part}\n{how}"));
    let (_, how) = answer(&there, &Query::new(["pnl"]).by(["desk"]));
    assert!(how.contains("read by: SELECT \"desk\", \"pnl\" FROM"), "sums of floats are the cube's: {how}");
    for cube in [&there, &here] {
        let error = cube.query(Query::new(["trades"]).by(["huge"])).unwrap().wait().unwrap_err();
        assert!(error.to_string().contains("column \"huge\""), "{error}");
    }
    stages.shutdown(Shutdown::Drain).unwrap();
}

/// Any filter that is made of these conditions.
fn filters() -> impl Strategy<Value = String> {
    let condition = (0..CONDITIONS.len()).prop_map(|number| CONDITIONS[number].to_owned());
    condition.prop_recursive(3, 8, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 2..=3);
        prop_oneof![
            inner.prop_map(|one| format!("not ({one})")),
            several.clone().prop_map(|all| format!("({})", all.join(" and "))),
            several.prop_map(|any| format!("({})", any.join(" or "))),
        ]
    })
}

#[test]
fn any_filter_finds_the_same_rows_as_in_memory() {
    let Some(files) = Files::new() else { return };
    let place = files.database("filters.duckdb", TRADES);
    let stages = stages();
    let (there, here) = both(&stages, &place, "trades");
    let config = ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() };
    proptest!(config, |(filter in filters(), by in 0..COLUMNS.len())| {
        let measures = ["pnl", "trades", "fee", "first", "last desk"];
        let measures = apart(&measures, &[COLUMNS[by]]);
        let query = Query::new(measures).by([COLUMNS[by]]).filter(filter.parse().unwrap());
        compare(&there, &here, &query);
    });
    stages.shutdown(Shutdown::Drain).unwrap();
}

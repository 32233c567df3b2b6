//! Errors have the codes that programs look at, and the connection goes on.

use crate::client::Member;
use filbert_gate::postgres::PostgresSettings;
use filbert_sql::SqlSettings;

#[test]
fn errors_have_codes_and_keep_the_connection() {
    let member = Member::with_cities();
    let mut client = member.client();
    for (sql, code) in [
        ("SELEC 1", "42601"),
        ("SELECT 'open", "42601"),
        ("SELECT * FROM nowhere", "42P01"),
        ("SELECT nothing FROM cities", "42703"),
        ("SELECT nosuch(1)", "42883"),
        ("SELECT 1 / 0", "22012"),
        ("SELECT CAST('x' AS INTEGER)", "22P02"),
        ("SELECT CAST(CAST(3000000000 AS BIGINT) AS INTEGER)", "22003"),
        ("LISTEN x", "42601"),
        ("SELECT DATE '2026-03-3x'", "22007"),
    ] {
        let reply = client.query(sql);
        assert_eq!(reply.code(), code, "{sql}: {:?}", reply.errors);
        assert_eq!(reply.status, 'I', "{sql}");
    }
    assert_eq!(client.query("SELECT 1 AS a").ok().texts(), [["1"]]);
    assert!(member.door.counts().failures >= 9);
}

#[test]
fn limits_of_the_engine_have_codes() {
    let engine =
        SqlSettings { rows: Some(10), text_bytes: 2_000, expression_depth: 50, ..SqlSettings::default() };
    let member = Member::with_both(PostgresSettings::default(), engine);
    let mut client = member.client();
    assert_eq!(client.query("SELECT * FROM generate_series(1, 11)").code(), "54000");
    assert_eq!(client.query(&format!("SELECT '{}'", "x".repeat(3_000))).code(), "54000");
    assert_eq!(client.query(&format!("SELECT {}1{}", "(".repeat(100), ")".repeat(100))).code(), "54001");
    assert_eq!(client.query("SELECT 1 AS a").ok().texts(), [["1"]]);
}

/// Apart from the other limits: on a busy machine any statement may take longer.
#[test]
fn a_query_that_takes_too_long_says_so() {
    let engine = SqlSettings { time_limit_ms: Some(500), ..SqlSettings::default() };
    let member = Member::with_both(PostgresSettings::default(), engine);
    let mut client = member.client();
    let long = "SELECT count(*) AS n FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";
    assert_eq!(client.query(long).code(), "57014");
    assert_eq!(client.query("SHOW server_encoding").ok().texts(), [["UTF8"]]);
}

#[test]
fn a_query_that_needs_too_much_memory_says_so() {
    let engine = SqlSettings { query_memory_bytes: 4 << 20, ..SqlSettings::default() };
    let member = Member::with_both(PostgresSettings::default(), engine);
    let mut client = member.client();
    let large = "SELECT array_length(array_agg(value)) AS n FROM generate_series(1, 3000000)";
    assert_eq!(client.query(large).code(), "53200");
    assert_eq!(client.query("SELECT 1 AS a").ok().texts(), [["1"]]);
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let member = Member::start();
    let mut client = member.client();
    client.parse("s", "SELECT $1 + 1 AS v", &[23]);
    client.sync().ok();
    for (format, bytes, code) in [(0, &b"x"[..], "22P02"), (1, b"xyz", "22P03")] {
        client.bind("", "s", format, &[Some(bytes)], 0);
        assert_eq!(client.sync().code(), code);
    }
    client.bind("", "s", 0, &[], 0);
    assert_eq!(client.sync().code(), "08P01");
    client.bind("", "s", 7, &[Some(b"1")], 0);
    assert_eq!(client.sync().code(), "08P01");
    client.parse("s", "SELECT 1", &[]);
    assert_eq!(client.sync().code(), "42P05");
    client.parse("", "SELECT 1; SELECT 2", &[]);
    assert_eq!(client.sync().code(), "42601");
}

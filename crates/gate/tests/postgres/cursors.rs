//! `DECLARE`, `FETCH`, `CLOSE`: portals by SQL.

use crate::client::{Client, Member};
use filbert_gate::postgres::PostgresSettings;

const NUMBERS: &str = "SELECT value AS v FROM generate_series(1, 7)";

fn column(reply: &crate::client::Reply) -> Vec<String> {
    reply.texts().into_iter().flatten().collect()
}

#[test]
fn rows_are_fetched_so_many_at_a_time() {
    let member = Member::start();
    let mut client = member.client();
    client.query("BEGIN").ok();
    let declared = client.query(&format!("DECLARE c NO SCROLL CURSOR FOR {NUMBERS};")).ok();
    assert_eq!((declared.tags, declared.columns.len()), (vec!["DECLARE CURSOR".to_owned()], 0));
    for (fetch, rows) in [
        ("FETCH c", vec!["1"]),
        ("FETCH NEXT FROM c", vec!["2"]),
        ("FETCH FORWARD 3 IN c", vec!["3", "4", "5"]),
        ("FETCH ALL FROM c", vec!["6", "7"]),
        ("FETCH 5 FROM c", vec![]),
    ] {
        let reply = client.query(fetch).ok();
        assert_eq!(column(&reply), rows, "{fetch}");
        assert_eq!(reply.columns, [("v".to_owned(), 20)], "{fetch}");
        assert_eq!(reply.tags, [format!("FETCH {}", rows.len())]);
    }
    assert_eq!(client.query("CLOSE c").ok().tags, ["CLOSE CURSOR"]);
    assert_eq!(client.query("FETCH c").code(), "34000");
    assert_eq!(client.query("FETCH c").code(), "25P02");
    client.query("ROLLBACK").ok();
}

#[test]
fn cursors_end_with_their_transaction() {
    let member = Member::start();
    let mut client = member.client();
    assert_eq!(client.query(&format!("DECLARE c CURSOR FOR {NUMBERS}")).code(), "25P01");
    let all = format!("BEGIN; DECLARE c CURSOR FOR {NUMBERS}; FETCH 2 c; COMMIT");
    assert_eq!(column(&client.query(&all).ok()), ["1", "2"]);
    assert_eq!(client.query("FETCH c").code(), "34000");
    // The name is free again.
    assert_eq!(column(&client.query(&all).ok()), ["1", "2"]);
    assert_eq!(client.query("BEGIN; CLOSE ALL; COMMIT").ok().tags, ["BEGIN", "CLOSE CURSOR ALL", "COMMIT"]);
}

#[test]
fn what_cannot_be_declared_or_fetched_is_refused() {
    let member = Member::with_cities();
    let mut client = member.client();
    for (text, code) in [
        ("DECLARE c CURSOR FOR SELECT $1 + 1", "42P02"),
        ("DECLARE c CURSOR FOR DELETE FROM cities", "42P11"),
        ("DECLARE c CURSOR FOR BEGIN", "42601"),
        ("DECLARE c CURSOR FOR SELECT * FROM nothing", "42P01"),
        ("DECLARE c SCROLL CURSOR FOR SELECT 1", "0A000"),
        ("DECLARE c CURSOR WITH HOLD FOR SELECT 1", "0A000"),
        ("DECLARE c CURSOR FOR SELECT 1; DECLARE c CURSOR FOR SELECT 1", "42P03"),
        ("DECLARE c CURSOR FOR SELECT 1; FETCH PRIOR FROM c", "0A000"),
        ("FETCH", "42601"),
        ("CLOSE c", "34000"),
    ] {
        client.query("BEGIN").ok();
        assert_eq!(client.query(text).code(), code, "{text}");
        client.query("ROLLBACK").ok();
    }
    assert_eq!(client.query("SELECT count(*) AS n FROM cities").ok().texts(), [["3"]]);
}

/// Parameters are those of the query; each `FETCH` has its own format, also in the middle of a batch.
#[test]
fn the_extended_protocol_declares_and_fetches() {
    let member = Member::start();
    let mut client = member.client();
    client.query("BEGIN").ok();
    client.parse("d", "DECLARE c CURSOR FOR SELECT value + $1 AS v FROM generate_series(1, 7)", &[20]);
    client.send('D', b"Sd\0");
    client.bind("", "d", 0, &[Some(b"10")], 0);
    client.execute("", 0);
    let declared = client.sync().ok();
    assert_eq!((declared.columns.len(), declared.tags), (0, vec!["DECLARE CURSOR".to_owned()]));
    client.parse("f", "FETCH 2 FROM c", &[]);
    client.send('D', b"Sf\0");
    let fetch = |client: &mut Client, format: i16, limit: i32| {
        client.bind("", "f", 0, &[], format);
        client.execute("", limit);
        client.sync()
    };
    let first = fetch(&mut client, 0, 0).ok();
    assert_eq!((column(&first), first.columns), (vec!["11".into(), "12".into()], vec![("v".into(), 20)]));
    let binary = fetch(&mut client, 1, 2).ok();
    let expected = [13_i64, 14].map(|value| vec![Some(value.to_be_bytes().to_vec())]);
    assert_eq!(
        (binary.rows.as_slice(), binary.tags.as_slice()),
        (&expected[..], &["FETCH 2".to_owned()][..])
    );
    assert_eq!(column(&fetch(&mut client, 0, 0).ok()), ["15", "16"]);
    assert_eq!(fetch(&mut client, 0, 1).code(), "0A000");
}

#[test]
fn cursors_are_portals_with_their_limits() {
    let member = Member::with(PostgresSettings { portals: 2, ..PostgresSettings::default() });
    let mut client = member.client();
    client.query("BEGIN").ok();
    client.parse("", NUMBERS, &[]);
    client.bind("p", "", 0, &[], 0);
    client.execute("p", 3);
    client.sync().ok();
    assert_eq!(column(&client.query("FETCH 2 FROM p").ok()), ["4", "5"]);
    client.query(&format!("DECLARE a CURSOR FOR {NUMBERS}")).ok();
    assert_eq!(client.query(&format!("DECLARE b CURSOR FOR {NUMBERS}")).code(), "54000");
}

#[test]
fn a_cursor_reads_what_the_user_and_the_transaction_may_read() {
    let member = Member::with_cities();
    let mut client = member.client();
    client.query("BEGIN READ ONLY").ok();
    let changes = "DECLARE c CURSOR FOR EXPLAIN ANALYZE DELETE FROM cities";
    assert_eq!(client.query(changes).code(), "25006");
    client.query("ROLLBACK").ok();
    assert_eq!(client.query("SELECT count(*) AS n FROM cities").ok().texts(), [["3"]]);
}

#[test]
fn settings_and_collations_that_change_nothing_here_are_taken() {
    let member = Member::with_cities();
    let mut client = member.client();
    assert_eq!(client.query("SHOW cursor_tuple_fraction").ok().texts(), [["0.1"]]);
    assert_eq!(
        client.query("SET cursor_tuple_fraction = 1; SHOW cursor_tuple_fraction").ok().texts(),
        [["1"]]
    );
    let select = |collation: &str| format!("SELECT __key FROM cities WHERE __key COLLATE {collation} > 'P'");
    for collation in ["\"C\"", "\"POSIX\"", "pg_catalog.\"default\""] {
        assert_eq!(client.query(&select(collation)).ok().texts(), [["Tromsø"]], "{collation}");
    }
    // By these the order would be another one.
    assert_eq!(client.query(&select("\"de-x-icu\"")).code(), "0A000");
}

/// Bug: after an error the next `FETCH` said that there are no more rows, and the name stayed taken.
#[test]
fn a_cursor_that_failed_is_gone_when_its_transaction_goes_on() {
    let member = Member::start();
    let mut client = member.client();
    let fails = "DECLARE c CURSOR FOR SELECT 10 / (value - 5) AS v FROM generate_series(1, 7)";
    client.query(&format!("BEGIN; SAVEPOINT s; {fails}")).ok();
    for _ in 0..2 {
        assert_eq!(client.query("FETCH ALL c").code(), "22012");
        client.query("ROLLBACK TO s").ok();
        assert_eq!(client.query("FETCH ALL c").code(), "34000");
        client.query(&format!("ROLLBACK TO s; {fails}")).ok();
    }
    client.query("ROLLBACK").ok();
}

#[test]
fn what_changes_something_is_not_run_by_a_fetch() {
    let member = Member::with_cities();
    let mut client = member.client();
    client.query("BEGIN").ok();
    client.parse("", "DELETE FROM cities", &[]);
    client.bind("d", "", 0, &[], 0);
    client.sync().ok();
    assert_eq!(client.query("FETCH d").code(), "34000");
    client.query("ROLLBACK").ok();
    assert_eq!(client.query("SELECT count(*) AS n FROM cities").ok().texts(), [["3"]]);
}

#[test]
fn the_texts_of_cursors_count() {
    let member = Member::with(PostgresSettings { prepared_bytes: 200_000, ..PostgresSettings::default() });
    let mut client = member.client();
    let long = "x".repeat(60_000);
    let declare = |name: &str| format!("DECLARE {name} CURSOR FOR SELECT '{long}' AS v");
    let fetch = format!("FETCH \"{long}\"");
    client.query("BEGIN").ok();
    for name in ["a", "b", "c"] {
        client.query(&declare(name)).ok();
    }
    assert_eq!(client.query(&declare("d")).code(), "53200");
    client.query("ROLLBACK").ok();
    for name in ["a", "b", "c"] {
        client.parse(name, &fetch, &[]);
        client.sync().ok();
    }
    client.parse("d", &fetch, &[]);
    assert_eq!(client.sync().code(), "53200");
}

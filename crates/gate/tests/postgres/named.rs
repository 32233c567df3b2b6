//! `PREPARE`, `EXECUTE`, `DEALLOCATE`: the same statements that the protocol prepares.

use crate::client::Member;
use filbert_gate::postgres::PostgresSettings;

#[test]
fn statements_are_prepared_and_executed_by_sql() {
    let member = Member::with_cities();
    let mut client = member.client();
    assert_eq!(
        client.query("PREPARE large (int8) AS SELECT __key FROM cities WHERE this > $1").ok().tags,
        ["PREPARE"]
    );
    let reply = client.query("EXECUTE large(200000 + 100000)").ok();
    assert_eq!(
        (reply.texts(), reply.tags.as_slice()),
        (vec![vec!["Oslo".to_owned()]], &["SELECT 1".to_owned()][..])
    );
    assert_eq!(reply.columns, [("__key".to_owned(), 25)]);
    client.query("PREPARE \"Add\" AS INSERT INTO cities VALUES ($1, $2)").ok();
    assert_eq!(client.query("EXECUTE \"Add\"('Moss', '50000')").ok().tags, ["INSERT 0 1"]);
    assert_eq!(client.query("EXECUTE large('x')").code(), "42804");
    assert_eq!(client.query("EXECUTE large").code(), "42601");
    assert_eq!(client.query("EXECUTE nothing").code(), "26000");
    assert_eq!(client.query("PREPARE large AS SELECT 1").code(), "42P05");
    assert_eq!(client.query("PREPARE other AS CREATE VIEW v AS SELECT 1").code(), "42601");
    assert_eq!(client.query("PREPARE other AS BEGIN").code(), "42601");
    assert_eq!(client.query("PREPARE other").code(), "42601");
    client.query("DEALLOCATE large").ok();
    assert_eq!(client.query("EXECUTE large(1)").code(), "26000");
    assert_eq!(client.query("DEALLOCATE large").code(), "26000");
    client.query("DEALLOCATE PREPARE \"Add\"; PREPARE a AS SELECT 1 AS v; DISCARD ALL").ok();
    assert_eq!(client.query("EXECUTE a").code(), "26000");
}

#[test]
fn the_protocol_and_sql_share_their_statements() {
    let member = Member::start();
    let mut client = member.client();
    client.parse("s", "SELECT $1 + 1 AS v", &[23]);
    client.sync().ok();
    assert_eq!(client.query("EXECUTE s(41)").ok().texts(), [["42"]]);
    client.query("PREPARE t AS SELECT 7 AS v; DEALLOCATE ALL").ok();
    client.bind("", "t", 0, &[], 0);
    assert_eq!(client.sync().code(), "26000");
    client.query("PREPARE t AS SELECT 7 AS v").ok();
    client.bind("", "t", 0, &[], 0);
    client.execute("", 0);
    assert_eq!(client.sync().ok().texts(), [["7"]]);
}

/// Bug: a client that describes before it executes was told that there are no rows, and then got some.
#[test]
fn execute_by_the_extended_protocol_tells_its_columns() {
    let member = Member::with_cities();
    let mut client = member.client();
    client.query("PREPARE s (int8) AS SELECT __key AS name FROM cities WHERE this > $1 ORDER BY 1").ok();
    client.parse("", "EXECUTE s(100000)", &[]);
    client.send('D', b"S\0");
    let described = client.sync().ok();
    assert_eq!((described.kinds.as_str(), described.columns), ("1tTZ", vec![("name".to_owned(), 25)]));
    for described in [true, false] {
        client.bind("", "", 0, &[], 0);
        if described {
            client.send('D', b"P\0");
        }
        client.execute("", 1);
        client.execute("", 0);
        let reply = client.sync().ok();
        assert_eq!(reply.texts(), [["Bergen"], ["Oslo"]]);
        assert_eq!(reply.kinds, if described { "2TDsDCZ" } else { "2DsDCZ" });
    }
    client.query("PREPARE d AS DELETE FROM cities WHERE __key = 'Oslo'").ok();
    client.parse("", "EXECUTE d", &[]);
    client.bind("", "", 0, &[], 0);
    client.send('D', b"P\0");
    client.execute("", 0);
    assert_eq!(client.sync().ok().tags, ["DELETE 1"]);
}

/// Bug: those of SQL were kept by the engine, as many as a client liked.
#[test]
fn statements_of_sql_are_bounded_as_those_of_the_protocol() {
    let settings = PostgresSettings { statements: 2, prepared_bytes: 4_000, ..PostgresSettings::default() };
    let member = Member::with(settings);
    let mut client = member.client();
    client.parse("a", "SELECT 1 AS v", &[]);
    client.sync().ok();
    client.query("PREPARE b AS SELECT 1 AS v").ok();
    let refused = client.query("/* one more */ PREPARE c AS SELECT 1 AS v");
    assert_eq!(refused.code(), "54000");
    assert!(refused.errors[0].1.contains("postgres.statements"), "{refused:?}");
    client.query("DEALLOCATE b").ok();
    assert_eq!(client.query(&format!("PREPARE c AS SELECT '{}' AS v", "x".repeat(5_000))).code(), "53200");
    client.query("PREPARE c AS SELECT 1 AS v").ok();
    client.query("DEALLOCATE ALL; PREPARE a AS SELECT 1 AS v; PREPARE b AS SELECT 2 AS v").ok();
}

//! Transactions that may only read: what would change something is refused.

use crate::client::{Client, Member};

const CHANGES: [&str; 7] = [
    "INSERT INTO cities VALUES ('a', 1)",
    "SINK INTO cities VALUES ('a', 1)",
    "UPDATE cities SET this = 1",
    "DELETE FROM cities",
    "EXPLAIN ANALYZE DELETE FROM cities",
    "CREATE VIEW v AS SELECT 1",
    "EXECUTE d",
];

/// Bug: the words were understood and nothing followed from them.
#[test]
fn what_may_only_read_changes_nothing() {
    let member = Member::with_cities();
    let mut client = member.client();
    client.query("PREPARE d AS DELETE FROM cities").ok();
    for begin in [
        "BEGIN READ ONLY",
        "START TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ ONLY",
        "BEGIN; SET TRANSACTION READ ONLY",
        "BEGIN; SET transaction_read_only = on",
        "SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; BEGIN",
        "SET default_transaction_read_only TO 'true'; BEGIN",
        "SET default_transaction_read_only = on",
    ] {
        for change in CHANGES {
            client.query(begin).ok();
            assert_eq!(client.query("SHOW transaction_read_only").ok().texts(), [["on"]], "{begin}");
            assert_eq!(client.query("SELECT count(*) AS n FROM cities").ok().texts(), [["3"]]);
            assert_eq!(client.query(change).code(), "25006", "{begin}; {change}");
            client.query("ROLLBACK; RESET ALL").ok();
        }
        // By the extended protocol: it is judged when it runs.
        client.query(begin).ok();
        client.parse("", "DELETE FROM cities", &[]);
        client.bind("", "", 0, &[], 0);
        client.execute("", 0);
        let reply = client.sync();
        assert_eq!((reply.code(), reply.kinds.as_str()), ("25006", "12EZ"), "{begin}");
        client.query("ROLLBACK; RESET ALL").ok();
    }
    assert_eq!(client.query("SHOW transaction_read_only").ok().texts(), [["off"]]);
    assert_eq!(client.query("BEGIN READ WRITE; DELETE FROM cities; COMMIT").ok().tags[1], "DELETE 3");
}

#[test]
fn a_transaction_that_only_read_stays_so() {
    let member = Member::with_cities();
    let mut client = member.client();
    client
        .query("BEGIN READ ONLY; SET TRANSACTION READ WRITE; DELETE FROM cities WHERE this < 100000; COMMIT")
        .ok();
    client.query("BEGIN READ ONLY; SELECT 1").ok();
    assert_eq!(client.query("SET TRANSACTION READ WRITE").code(), "25001");
    client.query("ROLLBACK").ok();
    assert_eq!(client.query("SET TRANSACTION READ ONLY").ok().warnings.len(), 1);
    assert_eq!(client.query("DELETE FROM cities").ok().tags, ["DELETE 2"]);
}

#[test]
fn a_connection_may_say_so_from_the_start() {
    let member = Member::with_cities();
    let mut client = Client::connect(member.address());
    client.start(&[("user", "ann"), ("options", "-c default_transaction_read_only=on")]);
    client.until_ready().ok();
    assert_eq!(client.query("DELETE FROM cities").code(), "25006");
}

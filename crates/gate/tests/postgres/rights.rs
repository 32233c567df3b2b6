//! What users may do.

use crate::client::{Client, Member};
use crate::login::user;
use filbert_gate::hazelcast::Rights;
use filbert_gate::postgres::PostgresSettings;

pub(crate) fn rights(lines: &[&str]) -> Rights {
    lines.iter().map(|line| line.parse::<Rights>().unwrap()).collect()
}

#[test]
fn users_see_and_do_what_they_may() {
    let users = vec![
        user("ann", "a", Rights::everything()),
        user("bob", "b", rights(&["map/cities: read", "map/inbox: put"])),
        user("eve", "e", rights(&[])),
    ];
    let member = Member::with(PostgresSettings { users, ..PostgresSettings::default() });
    member.add_cities();
    for name in ["secrets", "pg_catalog.secrets", "inbox"] {
        member.grid.typed_map::<String, i64>(name).set("x", &1).wait().unwrap();
    }
    let log_in = |name: &str, password: &str| {
        let mut client = Client::connect(member.address());
        client.scram(name, password).ok();
        client
    };
    let mut bob = log_in("bob", "b");
    assert_eq!(bob.query("SELECT count(*) AS n FROM cities").ok().texts(), [["3"]]);
    for sql in [
        "DELETE FROM cities",
        "INSERT INTO cities VALUES ('a', 1)",
        "SELECT * FROM secrets",
        "SELECT * FROM nowhere",
        // A map, whatever its name looks like.
        "SELECT * FROM \"pg_catalog.secrets\"",
        "SELECT * FROM inbox",
        "DELETE FROM inbox",
        "SHOW QUERIES",
        "DROP TABLE cities",
        "SHOW TABLES",
    ] {
        let reply = bob.query(sql);
        assert_eq!(reply.code(), "42501", "{sql}");
        assert!(reply.errors[0].1.contains("\"bob\""), "{reply:?}");
    }
    assert_eq!(bob.query("INSERT INTO inbox VALUES ('y', 2)").ok().tags, ["INSERT 0 1"]);
    let tables = "SELECT relname FROM pg_class ORDER BY relname";
    assert_eq!(bob.query(tables).ok().texts(), [["cities"]]);
    let columns = "SELECT count(*) AS n FROM pg_attribute WHERE attrelid = 'secrets'::regclass";
    assert_eq!(bob.query(columns).ok().texts(), [["0"]]);
    let mut eve = log_in("eve", "e");
    for sql in [tables, "SELECT 1", "SELECT length(repeat('x', 1000000000))"] {
        assert_eq!(eve.query(sql).code(), "42501", "who has no right on any map runs no SQL: {sql}");
    }
    let mut ann = log_in("ann", "a");
    assert_eq!(ann.query(tables).ok().texts(), [["cities"], ["inbox"], ["pg_catalog.secrets"], ["secrets"]]);
    ann.query("SELECT * FROM information_schema.tables").ok();
    ann.query("DELETE FROM secrets").ok();
}

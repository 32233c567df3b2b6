//! The simple protocol: texts of one or several statements.

use crate::client::Member;

#[test]
fn a_query_gives_columns_rows_and_a_tag() {
    let member = Member::with_cities();
    let mut client = member.client();
    let reply = client
        .query("SELECT __key AS name, this AS people FROM cities WHERE this > 100000 ORDER BY this")
        .ok();
    assert_eq!(reply.columns, [("name".to_owned(), 25), ("people".to_owned(), 20)]);
    assert_eq!(reply.texts(), [["Bergen", "289000"], ["Oslo", "709000"]]);
    assert_eq!(reply.tags, ["SELECT 2"]);
    assert_eq!((reply.kinds.as_str(), reply.status), ("TDDCZ", 'I'));
}

/// The engine calls them by their whole expression.
#[test]
fn columns_without_a_name_are_called_as_in_postgresql() {
    let member = Member::with_cities();
    let mut client = member.client();
    let text = "SELECT count(*), sum(this), max(this), 1, 'a', sum(this) + 1, min(this)::text, min(__key) AS first FROM cities";
    let names = ["count", "sum", "max", "?column?", "?column?", "?column?", "min", "first"];
    let named = |reply: &crate::client::Reply| -> Vec<String> {
        reply.columns.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(named(&client.query(text).ok()), names);
    client.parse("s", text, &[]);
    client.send('D', b"Ss\0");
    assert_eq!(named(&client.sync().ok()), names);
    let stars = client.query("SELECT *, this + 1 FROM cities LIMIT 1").ok();
    assert_eq!(named(&stars), ["__key", "this", "?column?"]);
    let tables = client.query("SHOW TABLES").ok();
    let tables: Vec<String> = tables.texts().iter().map(|row| row[1..3].join(".")).collect();
    assert_eq!(tables, ["public.cities"], "those of users only");
}

#[test]
fn clients_are_told_what_they_ask_first() {
    let member = Member::start();
    let mut client = member.client();
    let told = |name: &str, client: &crate::client::Client| {
        client.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    for (name, value) in [
        ("server_encoding", "UTF8"),
        ("client_encoding", "UTF8"),
        ("DateStyle", "ISO, MDY"),
        ("integer_datetimes", "on"),
        ("standard_conforming_strings", "on"),
        ("session_authorization", "ann"),
    ] {
        assert_eq!(told(name, &client).as_deref(), Some(value), "{name}");
    }
    assert!(told("server_version", &client).unwrap().starts_with("15."));
    assert_eq!(client.query("SHOW server_version_num").ok().texts(), [["150000"]]);
    assert_eq!(client.query("SET application_name = 'test'").ok().tags, ["SET"]);
    assert_eq!(client.query("SHOW application_name").ok().texts(), [["test"]]);
    assert_eq!(told("application_name", &client).as_deref(), Some(""));
    assert!(client.parameters.contains(&("application_name".into(), "test".into())));
    assert_eq!(client.query("SET client_encoding TO LATIN1").code(), "22023");
    assert_eq!(client.query("SET nonsense = 1").code(), "42704");
    let version = client.query("SELECT version(), current_schema(), current_database(), current_user").ok();
    assert!(version.texts()[0][0].starts_with("PostgreSQL 15"), "{version:?}");
    assert_eq!(version.texts()[0][1..], ["public", "filbert", "ann"]);
    assert_eq!(version.columns[0].0, "version");
}

#[test]
fn several_statements_in_one_text() {
    let member = Member::start();
    let mut client = member.client();
    let reply = client.query("SELECT 1 AS a; SELECT ';' AS b; ; -- end").ok();
    assert_eq!(reply.tags, ["SELECT 1", "SELECT 1"]);
    assert_eq!(reply.texts(), [["1"], [";"]]);
    let failed = client.query("SELECT 1; SELECT nothing; SELECT 3");
    assert_eq!(failed.tags, ["SELECT 1"]);
    assert_eq!(failed.code(), "42703");
    assert_eq!(client.query(" ; ").ok().kinds, "IZ");
    assert_eq!(client.query("").ok().kinds, "IZ");
}

#[test]
fn changes_say_how_many() {
    let member = Member::with_cities();
    let mut client = member.client();
    assert_eq!(
        client.query("INSERT INTO cities VALUES ('Bodø', 53000), ('Alta', 21000)").ok().tags,
        ["INSERT 0 2"]
    );
    assert_eq!(client.query("UPDATE cities SET this = this + 1 WHERE this > 200000").ok().tags, ["UPDATE 2"]);
    assert_eq!(client.query("DELETE FROM cities WHERE __key = 'Alta'").ok().tags, ["DELETE 1"]);
    assert_eq!(client.query("SELECT count(*) AS n FROM cities").ok().texts(), [["4"]]);
    assert_eq!(
        client.query("CREATE VIEW large AS SELECT * FROM cities WHERE this > 100000").ok().tags,
        ["CREATE VIEW"]
    );
}

#[test]
fn transactions_keep_the_state_that_drivers_look_at() {
    let member = Member::with_cities();
    let mut client = member.client();
    let begun = client.query("BEGIN").ok();
    assert_eq!((begun.tags[0].as_str(), begun.status), ("BEGIN", 'T'));
    assert_eq!(client.query("BEGIN").ok().warnings.len(), 1);
    assert_eq!(client.query("SELECT nothing").status, 'E');
    assert_eq!(client.query("SELECT 1").code(), "25P02");
    let ended = client.query("COMMIT").ok();
    assert_eq!((ended.tags[0].as_str(), ended.status), ("ROLLBACK", 'I'));
    let all = client.query("BEGIN; DELETE FROM cities WHERE __key = 'Oslo'; COMMIT").ok();
    assert_eq!(all.tags, ["BEGIN", "DELETE 1", "COMMIT"]);
    let undone = client.query("BEGIN; DELETE FROM cities WHERE __key = 'Bergen'; ROLLBACK").ok();
    assert!(undone.warnings[0].contains("stays changed"), "{undone:?}");
    assert_eq!(client.query("SELECT count(*) AS n FROM cities").ok().texts(), [["1"]]);
    assert_eq!(client.query("COMMIT").ok().warnings.len(), 1);
}

#[test]
fn two_connections_do_not_disturb_each_other() {
    let member = Member::start();
    let (mut one, mut two) = (member.client(), member.client());
    one.query("SET application_name = 'one'").ok();
    one.parse("s", "SELECT 1 AS a", &[]);
    one.sync().ok();
    assert_eq!(two.query("SHOW application_name").ok().texts(), [[""]]);
    two.bind("", "s", 0, &[], 0);
    assert_eq!(two.sync().code(), "26000");
    assert_eq!(one.query("BEGIN").status, 'T');
    assert_eq!(two.query("SELECT 1").status, 'I');
}

#[test]
fn types_are_sent_as_text() {
    let member = Member::start();
    let mut client = member.client();
    let reply = client
        .query(
            "SELECT true AS a, CAST(1 AS SMALLINT) AS b, 1.5::float8 AS c, CAST('12.340' AS DECIMAL(10, 3)) AS d, DATE '2024-02-29' AS e, \
             TIMESTAMP '2024-02-29 12:00:00.5' AS f, INTERVAL '1 day 2 hours' AS g, [1, 2, NULL] AS h, NULL AS i, X'00ff' AS j, \
             TIME '01:02:03' AS k, named_struct('x', 1) AS l",
        )
        .ok();
    let oids: Vec<u32> = reply.columns.iter().map(|(_, oid)| *oid).collect();
    assert_eq!(oids, [16, 21, 701, 1700, 1082, 1114, 1186, 1016, 25, 17, 1083, 114]);
    assert_eq!(
        reply.texts()[0],
        [
            "t",
            "1",
            "1.5",
            "12.340",
            "2024-02-29",
            "2024-02-29 12:00:00.5",
            "1 day 02:00:00",
            "{1,2,NULL}",
            "NULL",
            "\\x00ff",
            "01:02:03",
            "{\"x\":1}"
        ]
    );
}

//! Statements of ORMs and migration tools: rows that a change gives back, keys, names that change.

use crate::client::{Client, Member};

#[test]
fn changes_give_their_rows_back_and_are_tagged_as_changes() {
    let member = Member::with_cities();
    let mut client = member.client();
    client.query("CREATE TABLE people (id SERIAL PRIMARY KEY, name VARCHAR(5) NOT NULL)").ok();
    let reply = client.query("INSERT INTO people (name) VALUES ('Ann'), ('Bob') RETURNING id, name").ok();
    assert_eq!(reply.texts(), [["1", "Ann"], ["2", "Bob"]]);
    assert_eq!(reply.tags, ["INSERT 0 2"]);
    assert_eq!(reply.columns[0].0, "id");
    let reply = client.query("UPDATE people SET name = 'Eve' WHERE id = 2 RETURNING name").ok();
    assert_eq!((reply.texts(), reply.tags), (vec![vec!["Eve".to_owned()]], vec!["UPDATE 1".to_owned()]));
    let reply = client.query("DELETE FROM people WHERE id > 5 RETURNING *").ok();
    assert_eq!((reply.rows.len(), reply.tags), (0, vec!["DELETE 0".to_owned()]));

    // With parameters, and a portal that is read in portions: the change is made before the first
    // row.
    client.parse("", "INSERT INTO people (name) VALUES ($1), ($2) RETURNING id", &[]);
    client.bind("", "", 0, &[Some(b"Zoe"), Some(b"Tim")], 0);
    client.execute("", 1);
    let reply = client.sync();
    assert_eq!(reply.texts(), [["3"]]);
    assert_eq!(client.query("SELECT count(*) AS n FROM people").ok().texts(), [["4"]]);

    assert_eq!(client.query("INSERT INTO people VALUES (1, 'Sam')").code(), "23505");
    assert_eq!(client.query("INSERT INTO people (name) VALUES ('Robert')").code(), "22001");
    assert_eq!(client.query("INSERT INTO people (name) VALUES (NULL)").code(), "23502");
    assert_eq!(client.query("INSERT INTO cities VALUES ('Oslo', 1)").code(), "23505");
    let reply = client.query("DELETE FROM cities WHERE this < 100000 RETURNING __key").ok();
    assert_eq!((reply.texts(), reply.tags), (vec![vec!["Tromsø".to_owned()]], vec!["DELETE 1".to_owned()]));
    let sql = "INSERT INTO cities VALUES ('Oslo', 1), ('Rome', 2) ON CONFLICT (__key) DO UPDATE SET this = cities.this + excluded.this";
    assert_eq!(client.query(sql).ok().tags, ["INSERT 0 2"]);
    assert_eq!(client.query("SELECT this FROM cities WHERE __key = 'Oslo'").ok().texts(), [["709001"]]);
    let sql = "INSERT INTO cities VALUES ('Oslo', 7) ON CONFLICT DO NOTHING";
    assert_eq!(client.query(sql).ok().tags, ["INSERT 0 0"]);
}

/// As PostgreSQL tags them: clients show how many rows a new table has.
#[test]
fn tables_that_are_made_of_rows_say_how_many() {
    let member = Member::with_cities();
    let mut client = member.client();
    let mut tag = |sql: &str| client.query(sql).ok().tags;
    assert_eq!(tag("CREATE TABLE n AS SELECT value FROM range(0, 1000)"), ["SELECT 1000"]);
    assert_eq!(tag("SELECT value INTO few FROM n WHERE value < 3"), ["SELECT 3"]);
    assert_eq!(tag("CREATE TABLE none AS SELECT value FROM n WHERE value < 0"), ["SELECT 0"]);
    assert_eq!(tag("CREATE TABLE bare (a INT)"), ["CREATE TABLE"]);
    assert_eq!(client.query("SELECT count(*) AS n FROM few").ok().texts(), [["3"]]);
    client.parse("", "CREATE TABLE m AS SELECT value FROM n WHERE value < 7", &[]);
    client.bind("", "", 0, &[], 0);
    client.execute("", 0);
    assert_eq!(client.sync().tags, ["SELECT 7"]);
}

#[test]
fn tables_are_emptied_renamed_and_dropped_together() {
    let member = Member::with_cities();
    let mut client = member.client();
    client.query("CREATE TABLE a AS SELECT 1 AS n; CREATE TABLE b AS SELECT 2 AS n; CREATE VIEW v AS SELECT n FROM a").ok();
    let tags = |client: &mut Client, sql: &str| client.query(sql).ok().tags;
    assert_eq!(tags(&mut client, r#"ALTER TABLE "filbert"."public"."a" RENAME TO "a2""#), ["ALTER TABLE"]);
    assert_eq!(tags(&mut client, r#"alter view "v" rename to "w""#), ["ALTER VIEW"]);
    assert_eq!(client.query("SELECT n FROM w").ok().texts(), [["1"]]);
    assert_eq!(tags(&mut client, "TRUNCATE a2, cities"), ["TRUNCATE TABLE"]);
    assert_eq!(client.query("SELECT count(*) AS n FROM cities").ok().texts(), [["0"]]);
    assert_eq!(client.query("DROP TABLE a2, nothing").code(), "42P01");
    assert_eq!(tags(&mut client, "DROP TABLE IF EXISTS a2, b, nothing"), ["DROP TABLE"]);
    assert_eq!(client.query("SELECT * FROM b").code(), "42P01");
    assert_eq!(client.query("DROP FUNCTION abs(integer)").code(), "0A000");
    for change in ["TRUNCATE cities", "ALTER VIEW w RENAME TO x", "DROP VIEW w, v"] {
        client.query("BEGIN READ ONLY").ok();
        assert_eq!(client.query(change).code(), "25006", "{change}");
        client.query("ROLLBACK").ok();
    }
}

#[test]
fn functions_are_listed_by_name() {
    let member = Member::start();
    let mut client = member.client();
    let sql = "SELECT p.proname, p.prokind FROM pg_catalog.pg_proc p LEFT JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
               WHERE p.proname IN ('abs', 'sum', 'rank') AND n.nspname = 'pg_catalog' ORDER BY 1";
    assert_eq!(client.query(sql).ok().texts(), [["abs", "f"], ["rank", "w"], ["sum", "a"]]);
}

//! What tools ask of `pg_catalog`.

use crate::client::Member;

#[test]
fn drivers_find_types() {
    let member = Member::start();
    let mut client = member.client();
    let reply = client
        .query("SELECT t.typname, t.oid, t.typarray FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.typname = 'int4'")
        .ok();
    assert_eq!(reply.texts(), [["int4", "23", "1007"]]);
    assert_eq!(reply.columns[1].1, 26, "an oid is an oid");
}

/// The queries of JDBC's `DatabaseMetaData.getTables` and `getColumns`, shortened.
#[test]
fn tables_and_columns_are_found() {
    let member = Member::with_cities();
    let mut client = member.client();
    client.query("CREATE VIEW large AS SELECT * FROM cities WHERE this > 100000").ok();
    let tables = client
        .query(
            "SELECT current_database() AS cat, n.nspname, c.relname, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' END AS kind, \
             d.description FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_description d ON \
             (c.oid = d.objoid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass) WHERE c.relnamespace = n.oid AND \
             n.nspname LIKE 'public' ORDER BY kind, c.relname",
        )
        .ok();
    assert_eq!(
        tables.texts(),
        [["filbert", "public", "cities", "TABLE", "NULL"], ["filbert", "public", "large", "VIEW", "NULL"]]
    );
    let columns = client
        .query(
            "SELECT a.attname, a.attnum, pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a \
             WHERE a.attrelid = 'cities'::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
        )
        .ok();
    assert_eq!(columns.texts(), [["__key", "1", "text"], ["this", "2", "bigint"]]);
    assert_eq!(columns.columns[2].0, "format_type");
}

#[test]
fn questions_about_what_there_is_not_have_no_rows() {
    let member = Member::with_cities();
    let mut client = member.client();
    for sql in [
        "SELECT c.relname, i.indisunique FROM pg_class c JOIN pg_index i ON c.oid = i.indrelid",
        "SELECT conname, pg_get_constraintdef(oid, true) FROM pg_constraint WHERE conrelid = 'cities'::regclass",
        "SELECT p.proname, pg_get_function_result(p.oid) FROM pg_proc p LEFT JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'public'",
    ] {
        let reply = client.query(sql).ok();
        assert_eq!((reply.rows.len(), reply.columns.len()), (0, 2), "{sql}");
    }
    assert_eq!(client.query("SELECT count(*) AS n FROM pg_trigger").ok().texts(), [["0"]]);
}

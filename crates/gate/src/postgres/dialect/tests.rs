//! Statements as the engine is given them.

use super::*;

fn adapted(text: &str) -> String {
    let variables = Variables::new("ann");
    Dialect { variables: &variables, user: "ann", process: 7 }.adapted(text).into_owned()
}

#[test]
fn what_the_engine_knows_passes_untouched() {
    for text in [
        "SELECT  1",
        "SELECT current_date,  current_timestamp",
        "select version from releases",
        "SELECT * FROM orders WHERE pg_size > 1 -- kept",
        "SELECT (",
        "INSERT INTO pg_class VALUES (1)",
        "SELECT current_user; SELECT 1",
    ] {
        assert_eq!(adapted(text), text);
    }
}

#[test]
fn what_the_session_knows_becomes_its_answer() {
    assert_eq!(
        adapted("SELECT version()"),
        format!("SELECT 'PostgreSQL {}' AS \"version\"", crate::postgres::variables::SERVER_VERSION)
    );
    assert_eq!(
        adapted("select current_schema(), current_user"),
        "SELECT 'public' AS \"current_schema\", 'ann' AS \"current_user\""
    );
    assert_eq!(adapted("SELECT pg_backend_pid() AS pid"), "SELECT 7 AS pid");
    assert_eq!(
        adapted("SELECT pg_catalog.current_setting('server_encoding')"),
        "SELECT 'UTF8' AS \"current_setting\""
    );
}

#[test]
fn operators_casts_and_tables_lose_their_catalog() {
    let text = "SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relname OPERATOR(pg_catalog.~) '^(a)$' COLLATE pg_catalog.default";
    assert_eq!(adapted(text), "SELECT c.oid FROM pg_catalog.pg_class c WHERE c.relname ~ '^(a)$'");
    assert_eq!(adapted("SELECT oid FROM pg_class"), "SELECT oid FROM pg_catalog.pg_class");
    let oid = crate::postgres::catalog::table_oid("orders");
    assert_eq!(
        adapted("SELECT oid FROM pg_class WHERE oid = 'public.orders'::regclass"),
        format!("SELECT oid FROM pg_catalog.pg_class WHERE oid = {oid}")
    );
    assert!(
        adapted("SELECT pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_attribute a")
            .contains("WHEN 23 THEN 'integer'")
    );
    assert_eq!(adapted("SELECT pg_catalog.lower('A')"), "SELECT lower('A') AS \"lower\"");
}

#[test]
fn what_can_only_be_empty_is() {
    let policies = "SELECT pol.polname, pg_catalog.pg_get_expr(pol.polqual, pol.polrelid), 'x' FROM pg_catalog.pg_policy pol \
                    WHERE pol.polrelid = '1' ORDER BY 1";
    let none = "CAST(NULL AS VARCHAR) AS";
    assert_eq!(
        adapted(policies),
        format!("SELECT {none} \"polname\", {none} \"pg_get_expr\", {none} \"?column?\" WHERE false")
    );
    let joined = "SELECT c.relname FROM pg_class c, pg_inherits i WHERE c.oid = i.inhparent UNION SELECT relname FROM pg_class x \
                  JOIN pg_index ON true";
    assert_eq!(adapted(joined), format!("SELECT {none} \"relname\" WHERE false"));
    // A left join needs no row of its right side, and a count of nothing is a row.
    assert!(adapted("SELECT c.relname FROM pg_class c LEFT JOIN pg_index i ON true").contains("LEFT JOIN"));
    assert!(adapted("SELECT count(*) FROM pg_proc").contains("pg_catalog.pg_proc"));
    let column = "SELECT a.attname, (SELECT d.adbin FROM pg_attrdef d WHERE d.adrelid = a.attrelid) FROM pg_attribute a";
    assert_eq!(adapted(column), format!("SELECT a.attname, {none} \"adbin\" FROM pg_catalog.pg_attribute a"));
}

#[test]
fn deep_and_long_texts_are_left_to_the_engine() {
    let deep = format!("SELECT version(), {}1{}", "(".repeat(10_000), ")".repeat(10_000));
    assert_eq!(adapted(&deep), deep);
    let chained = format!("SELECT version() + {}", vec!["1"; 10_000].join("+"));
    assert_eq!(adapted(&chained), chained);
}

#[test]
fn parameters_that_get_lost_are_mentioned_again() {
    let kept = adapted("SELECT relname FROM pg_class WHERE has_table_privilege(oid, $2) AND relname = $1");
    assert!(kept.contains("relname = $1") && kept.contains("CAST($2 AS VARCHAR) IS NULL OR"), "{kept}");
    let empty = adapted("SELECT i.*, 1 AS one FROM pg_inherits i WHERE i.inhrelid = $1");
    assert!(empty.contains("\"inhrelid\"") && empty.contains("\"one\"") && empty.contains("$1"), "{empty}");
}

#[test]
fn columns_that_are_named_are_kept_out_of_the_star() {
    assert_eq!(
        adapted("SELECT n.oid, n.* FROM pg_namespace n"),
        "SELECT n.oid, n.* EXCLUDE (oid) FROM pg_catalog.pg_namespace n"
    );
    let joined = adapted(
        "SELECT n.nspname FROM pg_namespace n LEFT JOIN pg_description d ON d.classoid = $1::regclass",
    );
    assert!(joined.contains("ON false"), "{joined}");
    let one =
        adapted("SELECT (SELECT t.typname FROM pg_type t WHERE t.oid = a.atttypid) FROM pg_attribute a");
    assert!(one.contains("first_value(t.typname)"), "{one}");
}

#[test]
fn information_schema_is_that_of_postgresql() {
    assert_eq!(
        adapted("SELECT table_name FROM information_schema.tables"),
        "SELECT table_name FROM pg_information.tables"
    );
    let engines = "SELECT * FROM information_schema.df_settings";
    assert_eq!(adapted(engines), engines);
}

#[test]
fn what_a_call_would_have_to_set_is_not_taken_for_set() {
    assert_eq!(adapted("SELECT set_config('jit', 'off', false) AS x"), "SELECT 'off' AS x");
    assert_eq!(adapted("SELECT set_config('TimeZone', 'utc', false) AS x"), "SELECT 'utc' AS x");
    let zone = "SELECT set_config('TimeZone', 'Europe/Oslo', false) AS x";
    assert_eq!(adapted(zone), zone);
}

#[test]
fn arrays_and_functions_of_types_are_said_in_the_engines_words() {
    assert_eq!(
        adapted("SELECT '{1,\"2\",NULL}'::int[] AS x"),
        "SELECT make_array(CAST('1' AS INT), CAST('2' AS INT), CAST(NULL AS INT)) AS x"
    );
    assert_eq!(adapted("SELECT '{}'::int[] AS x"), "SELECT CAST(make_array() AS INT[]) AS x");
    assert_eq!(
        adapted("SELECT oid FROM pg_type WHERE typreceive != 0"),
        "SELECT oid FROM pg_catalog.pg_type WHERE typreceive <> '0'"
    );
    assert_eq!(
        adapted(
            "SELECT (CASE WHEN t.typtype = 'd' THEN (SELECT 1) ELSE NULL END) AS x, pg_backend_pid() AS y FROM pg_type t"
        ),
        "SELECT (CAST(NULL AS BIGINT)) AS x, 7 AS y FROM pg_catalog.pg_type t"
    );
}

#[test]
fn parameters_are_typed_by_their_places() {
    assert_eq!(cast_types("SELECT 1 LIMIT $1 OFFSET ($2)", 2), [20, 20]);
    assert_eq!(cast_types("SELECT $1::date LIMIT 1", 1), [1082]);
    assert_eq!(catalog_types("SELECT $1::oid[], $2::int4, $3::name"), [1028, 0, 19]);
    let (text, numbers) = compared("SELECT 1 FROM t WHERE a = ANY($2) AND b <> ALL (($1))").unwrap();
    assert_eq!(text, "SELECT 1 FROM t WHERE (a = $2) AND (b <> ($1))");
    assert_eq!(numbers.into_iter().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(compared("SELECT 1 WHERE 1 = $1"), None);
}

#[test]
fn bytes_are_read_as_postgresql_writes_them() {
    for (text, wanted) in [
        (r"SELECT '\x00fF'::bytea", r#"SELECT decode('00fF', 'hex') AS "bytea""#),
        (r"SELECT CAST('a\\b\377' AS BYTEA) AS x", "SELECT decode('615c62ff', 'hex') AS x"),
        (r"INSERT INTO t VALUES ('\x01'::bytea)", "INSERT INTO t VALUES (decode('01', 'hex'))"),
        // What needs no reading, and what has no digits, is left to the engine.
        ("SELECT 'abc'::bytea AS x", "SELECT 'abc'::bytea AS x"),
        (r"SELECT 'a\9'::bytea AS x", r"SELECT 'a\9'::bytea AS x"),
    ] {
        assert_eq!(adapted(text), wanted);
    }
    let other = "INSERT INTO t VALUES (version())";
    assert_eq!(adapted(other), other);
}

#[test]
fn the_table_that_a_parameter_names_is_looked_up() {
    let said = adapted("SELECT attname FROM pg_attribute WHERE attrelid = $1::regclass::oid");
    assert!(said.contains("coalesce(TRY_CAST(CAST($1 AS VARCHAR) AS BIGINT)"), "{said}");
    assert!(said.contains("named.relname = regexp_replace(CAST($1 AS VARCHAR)"), "{said}");
}

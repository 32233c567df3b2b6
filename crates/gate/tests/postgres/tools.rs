//! What tools send when they connect and when somebody opens their tree of tables: the queries of each, with the answers it needs.

use crate::client::{Client, Member, Reply};
use crate::login::user;
use crate::rights::rights;
use filbert_gate::postgres::PostgresSettings;

/// A member with a map, a view, and a map whose name needs quotes.
fn member() -> Member {
    let member = Member::with_cities();
    member.grid.typed_map::<i64, f64>("Daily-Rates").set(&1, &1.5).wait().unwrap();
    member.client().query("CREATE VIEW large AS SELECT * FROM cities WHERE this > 100000").ok();
    member
}

/// By the extended protocol, as drivers do: parameters as text, without types.
fn asked(client: &mut Client, sql: &str, values: &[&str]) -> Reply {
    let values: Vec<Option<&[u8]>> = values.iter().map(|value| Some(value.as_bytes())).collect();
    client.parse("", sql, &[]);
    client.bind("", "", 0, &values, 0);
    client.send('D', b"P\0");
    client.execute("", 0);
    let reply = client.sync();
    assert!(reply.errors.is_empty(), "{sql}\n{:?}", reply.errors);
    reply
}

fn names(reply: &Reply) -> Vec<&str> {
    reply.columns.iter().map(|(name, _)| name.as_str()).collect()
}

/// The schemas of the search path, as Grafana asks whether a table is in one of them.
const IN_PATH: &str = "quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '\"$user\"' THEN user ELSE trim(s[i]) END \
     FROM generate_series(array_lower(string_to_array(current_setting('search_path'),','),1), \
     array_upper(string_to_array(current_setting('search_path'),','),1)) AS i, \
     string_to_array(current_setting('search_path'),',') s)";

#[test]
fn grafana() {
    let member = member();
    let mut client = member.client();
    let mut all = |sql: &str| client.query(sql).ok().texts();
    assert_eq!(all("SELECT current_setting('server_version_num')::int/100 as version"), [["1500"]]);
    assert!(all("SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'").is_empty());
    assert_eq!(
        all("SELECT schema_name AS \"name\" FROM information_schema.schemata WHERE schema_name NOT IN \
             ('information_schema', 'pg_catalog', 'pg_toast') ORDER BY schema_name"),
        [["public"]]
    );
    assert_eq!(
        all(
            "SELECT quote_ident(table_name) AS \"table\" FROM information_schema.tables WHERE quote_ident(table_schema) = 'public' \
             ORDER BY 1"
        ),
        [["\"Daily-Rates\""], ["cities"], ["large"]]
    );
    assert_eq!(
        all(&format!(
            "SELECT CASE WHEN {IN_PATH} THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || \
             quote_ident(table_name) END AS \"table\" FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN \
             ('information_schema', 'pg_catalog') ORDER BY CASE WHEN {IN_PATH} THEN 0 ELSE 1 END, 1"
        )),
        [["\"Daily-Rates\""], ["cities"], ["large"]]
    );
    let columns = |table: &str| {
        format!(
            "SELECT quote_ident(column_name) AS \"column\", data_type AS \"type\" FROM information_schema.columns WHERE \
             CASE WHEN array_length(parse_ident('{table}'),1) = 2 THEN quote_ident(table_schema) = (parse_ident('{table}'))[1] \
             AND quote_ident(table_name) = (parse_ident('{table}'))[2] ELSE quote_ident(table_name) = '{table}' AND {IN_PATH} END"
        )
    };
    let expected = [["__key", "text"], ["this", "bigint"]];
    assert_eq!(all(&columns("cities")), expected);
    assert_eq!(all(&columns("public.cities")), expected);
    assert_eq!(all(&columns("\"Daily-Rates\"")), [["__key", "bigint"], ["this", "double precision"]]);
    assert!(all(&columns("other.cities")).is_empty());
}

#[test]
fn jdbc_metadata() {
    let member = member();
    let mut client = member.client();
    client.query("SET extra_float_digits = 3; SET application_name = 'PostgreSQL JDBC Driver'").ok();
    let kinds = "CASE n.nspname ~ '^pg_' OR n.nspname = 'information_schema' WHEN true THEN CASE WHEN n.nspname = 'pg_catalog' THEN \
                 CASE c.relkind WHEN 'r' THEN 'SYSTEM TABLE' ELSE NULL END ELSE NULL END WHEN false THEN CASE c.relkind WHEN 'r' THEN \
                 'TABLE' WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE NULL END ELSE NULL END";
    let tables = asked(
        &mut client,
        &format!(
            "SELECT current_database() AS \"TABLE_CAT\", n.nspname AS \"TABLE_SCHEM\", c.relname AS \"TABLE_NAME\", {kinds} AS \
             \"TABLE_TYPE\", d.description AS \"REMARKS\", '' as \"TYPE_CAT\" FROM pg_catalog.pg_namespace n, pg_catalog.pg_class c \
             LEFT JOIN pg_catalog.pg_description d ON (c.oid = d.objoid AND d.objsubid = 0 and d.classoid = 'pg_class'::regclass) \
             WHERE c.relnamespace = n.oid AND n.nspname LIKE $1 AND has_table_privilege(c.oid, $2) AND c.relname LIKE $3 AND \
             (false OR ( c.relkind = 'r' AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ) OR ( c.relkind = 'v' AND \
             n.nspname <> 'pg_catalog' AND n.nspname <> 'information_schema' )) ORDER BY \"TABLE_TYPE\",\"TABLE_SCHEM\",\"TABLE_NAME\""
        ),
        &["public", "SELECT, INSERT", "%"],
    );
    assert_eq!(
        tables.texts(),
        [
            ["filbert", "public", "Daily-Rates", "TABLE", "NULL", ""],
            ["filbert", "public", "cities", "TABLE", "NULL", ""],
            ["filbert", "public", "large", "VIEW", "NULL", ""]
        ]
    );
    let columns = "SELECT * FROM (SELECT current_database() AS current_database, n.nspname,c.relname,a.attname,a.atttypid,a.attnotnull \
         OR (t.typtype = 'd' AND t.typnotnull) AS attnotnull,a.atttypmod,a.attlen,t.typtypmod,row_number() OVER (PARTITION BY \
         a.attrelid ORDER BY a.attnum) AS attnum, nullif(a.attidentity, '') as attidentity,nullif(a.attgenerated, '') as attgenerated,\
         pg_catalog.pg_get_expr(def.adbin, def.adrelid) AS adsrc,dsc.description,t.typbasetype,t.typtype FROM pg_catalog.pg_namespace n \
         JOIN pg_catalog.pg_class c ON (c.relnamespace = n.oid) JOIN pg_catalog.pg_attribute a ON (a.attrelid=c.oid) \
         JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid) LEFT JOIN pg_catalog.pg_attrdef def ON (a.attrelid=def.adrelid AND a.attnum = \
         def.adnum) LEFT JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = dsc.objsubid) LEFT JOIN \
         pg_catalog.pg_class dc ON (dc.oid=dsc.classoid AND dc.relname='pg_class') LEFT JOIN pg_catalog.pg_namespace dn ON \
         (dc.relnamespace=dn.oid AND dn.nspname='pg_catalog') WHERE c.relkind in ('r','p','v','f','m') and a.attnum > 0 AND NOT \
         a.attisdropped AND n.nspname LIKE $1 AND c.relname LIKE $2) c WHERE true AND attname LIKE $3 ORDER BY nspname,c.relname,attnum";
    let columns = asked(&mut client, columns, &["public", "cities", "%"]);
    let shown: Vec<Vec<String>> = columns.texts().iter().map(|row| row[1..5].to_vec()).collect();
    assert_eq!(shown, [["public", "cities", "__key", "25"], ["public", "cities", "this", "20"]]);
    assert_eq!(columns.columns[4].1, 26, "an oid is an oid");
    let schemas = asked(
        &mut client,
        "SELECT nspname AS \"TABLE_SCHEM\", current_database() AS \"TABLE_CATALOG\" FROM pg_catalog.pg_namespace WHERE nspname <> \
         'pg_toast' AND (nspname !~ '^pg_temp_' OR nspname = (pg_catalog.current_schemas(true))[1]) AND (nspname !~ '^pg_toast_temp_' \
         OR nspname = replace((pg_catalog.current_schemas(true))[1], 'pg_temp_', 'pg_toast_temp_')) ORDER BY \"TABLE_SCHEM\"",
        &[],
    );
    assert_eq!(
        schemas.texts(),
        [["information_schema", "filbert"], ["pg_catalog", "filbert"], ["public", "filbert"]]
    );
    let databases = "SELECT datname AS \"TABLE_CAT\" FROM pg_catalog.pg_database WHERE datallowconn = true ORDER BY datname";
    assert_eq!(asked(&mut client, databases, &[]).texts(), [["filbert"]]);
    // There are no keys and no indexes to show.
    let keys = "SELECT result.TABLE_CAT AS \"TABLE_CAT\", result.KEY_SEQ AS \"KEY_SEQ\" FROM (SELECT current_database() AS TABLE_CAT, \
         (information_schema._pg_expandarray(con.conkey)).n AS KEY_SEQ, information_schema._pg_expandarray(con.conkey) AS KEYS, a.attnum AS \
         A_ATTNUM FROM pg_catalog.pg_constraint con JOIN pg_catalog.pg_class ct ON (con.conrelid = ct.oid) JOIN pg_catalog.pg_attribute a \
         ON (a.attrelid = ct.oid) WHERE con.contype = 'p' AND ct.relname = $1) result where result.A_ATTNUM = (result.KEYS).x \
         ORDER BY result.key_seq";
    let keys = asked(&mut client, keys, &["cities"]);
    assert_eq!((names(&keys), keys.rows.len()), (vec!["TABLE_CAT", "KEY_SEQ"], 0));
    let indexes = "SELECT tmp.INDEX_NAME AS \"INDEX_NAME\", trim(both '\"' from pg_catalog.pg_get_indexdef(tmp.CI_OID, \
         tmp.ORDINAL_POSITION, false)) AS \"COLUMN_NAME\" FROM (SELECT ci.relname AS INDEX_NAME, \
         (information_schema._pg_expandarray(i.indkey)).n AS ORDINAL_POSITION, ci.oid AS CI_OID FROM pg_catalog.pg_class ct \
         JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid) JOIN pg_catalog.pg_index i ON (ct.oid = i.indrelid) \
         JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) WHERE true AND n.nspname = $1 AND ct.relname = $2) AS tmp";
    let indexes = asked(&mut client, indexes, &["public", "cities"]);
    assert_eq!((names(&indexes), indexes.rows.len()), (vec!["INDEX_NAME", "COLUMN_NAME"], 0));
}

/// What the driver asks when it meets a type that it does not know.
#[test]
fn jdbc_types() {
    let member = member();
    let mut client = member.client();
    let path = "LEFT JOIN (select ns.oid as nspoid, ns.nspname, r.r from pg_namespace as ns join ( select s.r, (current_schemas(false))[s.r] \
                as nspname from generate_series(1, array_upper(current_schemas(false), 1)) as s(r) ) as r using ( nspname ) ) as sp ON \
                sp.nspoid = typnamespace";
    let by_oid = format!(
        "SELECT typinput='pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid FROM pg_catalog.pg_type {path} WHERE \
         pg_type.oid = $1 ORDER BY sp.r, pg_type.oid DESC"
    );
    assert_eq!(asked(&mut client, &by_oid, &["1007"]).texts(), [["t", "b", "_int4", "1007"]]);
    assert_eq!(asked(&mut client, &by_oid, &["25"]).texts(), [["f", "b", "text", "25"]]);
    let by_name = "SELECT t.oid, t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid \
                   WHERE t.typname = $1 AND (n.nspname = $2 OR $3 AND n.nspname = ANY (current_schemas(true))) ORDER BY t.oid DESC LIMIT 1";
    client.parse("", by_name, &[1043, 1043, 16]);
    client.bind("", "", 0, &[Some(b"json"), Some(b""), Some(b"t")], 0);
    client.execute("", 0);
    assert_eq!(client.sync().ok().texts(), [["114", "json"]]);
    let item = "SELECT e.oid, n.nspname = ANY(current_schemas(true)), n.nspname, e.typname FROM pg_catalog.pg_type t JOIN \
                pg_catalog.pg_type e ON t.typelem = e.oid JOIN pg_catalog.pg_namespace n ON t.typnamespace = n.oid WHERE t.oid = $1";
    assert_eq!(asked(&mut client, item, &["1016"]).texts(), [["20", "t", "pg_catalog", "int8"]]);
    let delimiter = "SELECT e.typdelim FROM pg_catalog.pg_type t, pg_catalog.pg_type e WHERE t.oid = $1 and t.typelem = e.oid";
    assert_eq!(asked(&mut client, delimiter, &["1016"]).texts(), [[","]]);
    let all = "SELECT t.typname,t.oid FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON (t.typnamespace = n.oid) WHERE n.nspname \
               != 'pg_toast' AND (t.typrelid = 0 OR (SELECT c.relkind = 'c' FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid)) AND \
               has_type_privilege(t.oid, 'USAGE')";
    assert!(asked(&mut client, all, &[]).texts().contains(&vec!["int4".to_owned(), "23".to_owned()]));
    let keywords = "select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> ALL ('{a,abs,absolute}'::text[])";
    assert!(asked(&mut client, keywords, &[]).texts()[0][0].contains("explain"));
    let most = "SELECT setting FROM pg_catalog.pg_settings WHERE name='max_index_keys'";
    assert_eq!(asked(&mut client, most, &[]).texts(), [["32"]]);
}

#[test]
fn dbeaver() {
    let member = member();
    let mut client = member.client();
    assert_eq!(asked(&mut client, "SELECT current_schema(),session_user", &[]).texts(), [["public", "ann"]]);
    assert_eq!(client.query("SHOW search_path").ok().texts(), [["public"]]);
    let databases = asked(
        &mut client,
        "SELECT db.oid,db.* FROM pg_catalog.pg_database db WHERE 1 = 1 AND datallowconn AND NOT datistemplate OR db.datname =$1 \
         ORDER BY db.datname",
        &["filbert"],
    );
    assert_eq!((names(&databases)[..2].to_vec(), databases.rows.len()), (vec!["oid", "datname"], 1));
    let schemas = asked(
        &mut client,
        "SELECT n.oid,n.*,d.description FROM pg_catalog.pg_namespace n LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=n.oid AND \
         d.objsubid=0 AND d.classoid='pg_namespace'::regclass ORDER BY nspname",
        &[],
    );
    assert_eq!(schemas.rows.len(), 3);
    let public = schemas.texts().into_iter().find(|row| row[1] == "public").unwrap()[0].clone();
    let types = asked(
        &mut client,
        "SELECT t.oid,t.*,c.relkind,format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description FROM \
         pg_catalog.pg_type t LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid=t.typelem LEFT OUTER JOIN pg_catalog.pg_class c ON \
         c.oid=t.typrelid LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid=d.objoid WHERE t.typname IS NOT NULL AND (c.relkind IS NULL \
         OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C') AND t.typnamespace=$1",
        &["11"],
    );
    let base = types.columns.iter().position(|(name, _)| name == "base_type_name").unwrap();
    let int4 = types.texts().into_iter().find(|row| row[1] == "int4").unwrap();
    assert_eq!((int4[0].as_str(), int4[base].as_str()), ("23", "NULL"));
    let tables = asked(
        &mut client,
        "SELECT c.oid,c.*,d.description,pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr, \
         pg_catalog.pg_get_partkeydef(c.oid) as partition_key FROM pg_catalog.pg_class c LEFT OUTER JOIN pg_catalog.pg_description d ON \
         d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_class'::regclass WHERE c.relnamespace=$1 AND c.relkind not in ('i','I','c')",
        &[&public],
    );
    let mut found: Vec<String> = tables.texts().into_iter().map(|row| row[1].clone()).collect();
    found.sort();
    assert_eq!(found, ["Daily-Rates", "cities", "large"]);
    let cities = tables.texts().into_iter().find(|row| row[1] == "cities").unwrap()[0].clone();
    let columns = asked(
        &mut client,
        "SELECT c.relname,a.*,pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value,dsc.description,dep.objid FROM \
         pg_catalog.pg_attribute a INNER JOIN pg_catalog.pg_class c ON (a.attrelid=c.oid) LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON \
         (a.attrelid=ad.adrelid AND a.attnum = ad.adnum) LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid=dsc.objoid AND a.attnum = \
         dsc.objsubid) LEFT OUTER JOIN pg_depend dep on dep.refobjid = a.attrelid AND dep.deptype = 'i' and dep.refobjsubid = a.attnum \
         and dep.classid = dep.refclassid WHERE NOT a.attisdropped AND c.relkind not in ('i','I','c') AND c.oid=$1 ORDER BY a.attnum",
        &[&cities],
    );
    let at = columns.columns.iter().position(|(name, _)| name == "attname").unwrap();
    assert_eq!(columns.texts().iter().map(|row| row[at].as_str()).collect::<Vec<_>>(), ["__key", "this"]);
    for (sql, value) in [
        (
            "SELECT c.oid,c.*,t.relname as tabrelname,rt.relnamespace as refnamespace,d.description, case when c.contype='c' then \
             \"substring\"(pg_get_constraintdef(c.oid), 7) else null end consrc_copy FROM pg_catalog.pg_constraint c INNER JOIN \
             pg_catalog.pg_class t ON t.oid=c.conrelid LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid=c.confrelid LEFT OUTER JOIN \
             pg_catalog.pg_description d ON d.objoid=c.oid AND d.objsubid=0 AND d.classoid='pg_constraint'::regclass WHERE \
             t.relnamespace=$1 ORDER BY c.oid",
            &public,
        ),
        (
            "SELECT i.*,i.indkey as keys,c.relname,c.relnamespace,c.relam,c.reltablespace,tc.relname as tabrelname,dsc.description,\
             pg_catalog.pg_get_expr(i.indpred, i.indrelid) as pred_expr,pg_catalog.pg_get_expr(i.indexprs, i.indrelid, true) as expr,\
             pg_catalog.pg_relation_size(i.indexrelid) as index_rel_size,pg_catalog.pg_stat_get_numscans(i.indexrelid) as index_num_scans \
             FROM pg_catalog.pg_index i INNER JOIN pg_catalog.pg_class c ON c.oid=i.indexrelid INNER JOIN pg_catalog.pg_class tc ON \
             tc.oid=i.indrelid LEFT OUTER JOIN pg_catalog.pg_description dsc ON i.indexrelid=dsc.objoid WHERE i.indrelid=$1 ORDER BY \
             c.relname",
            &cities,
        ),
        (
            "SELECT p.oid as poid,p.*,pg_catalog.pg_get_expr(p.proargdefaults, 0) as arg_defaults,d.description FROM pg_catalog.pg_proc p \
             LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid=p.oid and d.classoid='pg_proc'::regclass AND d.objsubid = 0 WHERE \
             p.pronamespace=$1 ORDER BY p.proname",
            &public,
        ),
        (
            "SELECT i.inhrelid relid, pc.relnamespace parent_ns, pc.oid parent_oid, i.inhseqno FROM pg_catalog.pg_inherits i, pg_class rc, \
             pg_class pc WHERE rc.oid=i.inhrelid AND rc.relnamespace=$1 AND pc.oid=i.inhparent",
            &public,
        ),
        ("SELECT * FROM pg_default_acl WHERE defaclnamespace = $1", &public),
        ("SELECT * FROM information_schema.table_privileges WHERE table_catalog=$1", &public),
    ] {
        assert_eq!(asked(&mut client, sql, &[value]).rows.len(), 0, "{sql}");
    }
    let roles = "SELECT a.oid,a.*,pd.description FROM pg_catalog.pg_roles a left join pg_catalog.pg_shdescription pd on a.oid = pd.objoid \
                 ORDER BY a.rolname";
    assert_eq!(asked(&mut client, roles, &[]).texts()[0][1], "filbert");
    let sizes = "select c.oid,pg_catalog.pg_total_relation_size(c.oid) as total_rel_size,pg_catalog.pg_relation_size(c.oid) as rel_size \
                 FROM pg_class c WHERE c.relnamespace=$1";
    assert_eq!(asked(&mut client, sizes, &[&public]).rows.len(), 3);
}

/// What `psql` asks when somebody presses the tab key.
#[test]
fn psql_completion() {
    let member = member();
    let mut client = member.client();
    let mut all = |sql: &str| client.query(sql).ok().texts();
    let relations = "SELECT c.relname, NULL::pg_catalog.text FROM pg_catalog.pg_class c WHERE c.relkind IN ('r', 'v', 'm', 'f', 'p') AND \
         (c.relname) LIKE 'ci%' AND pg_catalog.pg_table_is_visible(c.oid) AND c.relnamespace <> (SELECT oid FROM pg_catalog.pg_namespace \
         WHERE nspname = 'pg_catalog') UNION ALL SELECT NULL::pg_catalog.text, n.nspname FROM pg_catalog.pg_namespace n WHERE n.nspname \
         LIKE 'pu%' AND n.nspname NOT LIKE E'pg\\\\_%' LIMIT 1000";
    let mut found = all(relations);
    found.sort();
    assert_eq!(found, [["NULL", "public"], ["cities", "NULL"]]);
    let columns = "SELECT attname FROM pg_catalog.pg_attribute a, pg_catalog.pg_class c WHERE c.oid = a.attrelid AND a.attnum > 0 AND NOT \
         a.attisdropped AND (attname) LIKE 'th%' AND c.relname = 'cities' AND pg_catalog.pg_table_is_visible(c.oid) LIMIT 1000";
    assert_eq!(all(columns), [["this"]]);
    assert_eq!(
        all("SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname LIKE 'pu%' LIMIT 1000"),
        [["public"]]
    );
    let settings = "SELECT pg_catalog.lower(name) FROM pg_catalog.pg_settings WHERE context IN ('user', 'superuser') AND \
         pg_catalog.lower(name) LIKE pg_catalog.lower('search%') LIMIT 1000";
    assert_eq!(all(settings), [["search_path"]]);
    assert!(
        all(
            "SELECT tgname FROM pg_catalog.pg_trigger WHERE tgname LIKE 'a%' AND NOT tgisinternal LIMIT 1000"
        )
        .is_empty()
    );
}

/// The lookups by which drivers register types.
#[test]
fn types_by_name() {
    let member = member();
    let mut client = member.client();
    let psycopg = "SELECT typname AS name, oid, typarray AS array_oid, oid::regtype::text AS regtype, typdelim AS delimiter FROM pg_type t \
                   WHERE t.oid = to_regtype($1) ORDER BY t.oid";
    assert_eq!(asked(&mut client, psycopg, &["integer"]).texts(), [["int4", "23", "1007", "integer", ","]]);
    assert_eq!(asked(&mut client, psycopg, &["hstore"]).rows.len(), 0);
    let schemas = "SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE $1::VARCHAR || '%' ESCAPE '/' AND current_setting($2) = 'heap' \
                   ORDER BY nspname";
    let found = asked(&mut client, schemas, &["pg/_", "default_table_access_method"]);
    assert_eq!(found.texts(), [["information_schema"], ["public"]]);
    let mut one = |sql: &str| client.query(sql).ok().texts();
    assert_eq!(one("SELECT oid FROM pg_type WHERE oid = 'int8'::regtype"), [["20"]]);
    assert_eq!(one("SELECT 'text'::regtype::oid AS oid"), [["25"]]);
    assert_eq!(
        one("SELECT relnamespace::regnamespace::text AS schema FROM pg_class WHERE relname = 'cities'"),
        [["public"]]
    );
    assert_eq!(one("SELECT to_regclass('public.nothing') AS r"), [["NULL"]]);
    assert_eq!(one("SELECT relname FROM pg_class WHERE oid = to_regclass('public.cities')"), [["cities"]]);
    assert_eq!(
        one("SELECT current_schemas(true), current_schemas(false)"),
        [["{pg_catalog,public}", "{public}"]]
    );
    assert_eq!(
        one("SELECT quote_ident('a b'), quote_ident('a_b'), quote_ident('a\"b')"),
        [["\"a b\"", "a_b", "\"a\"\"b\""]]
    );
    assert_eq!(
        one(
            "SELECT pg_get_userbyid(relowner), obj_description(oid, 'pg_class'), col_description(oid, 1), has_table_privilege(oid, \
             'SELECT') FROM pg_class WHERE relname = 'cities'"
        ),
        [["filbert", "NULL", "NULL", "t"]]
    );
}

#[test]
fn information_schema_speaks_of_what_the_user_may_read() {
    let users = vec![user("bob", "b", rights(&["map/cities: read"]))];
    let member = Member::with(PostgresSettings { users, ..PostgresSettings::default() });
    member.add_cities();
    member.grid.typed_map::<String, i64>("secrets").set("x", &1).wait().unwrap();
    let mut bob = Client::connect(member.address());
    bob.scram("bob", "b").ok();
    let mut one = |sql: &str| bob.query(sql).ok().texts();
    let tables = "SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables";
    assert_eq!(one(tables), [["filbert", "public", "cities", "BASE TABLE"]]);
    assert_eq!(
        one(
            "SELECT c.column_name, c.ordinal_position, c.is_nullable, c.data_type, c.udt_name, c.numeric_precision FROM \
             information_schema.columns AS c JOIN information_schema.tables AS t ON t.table_name = c.table_name ORDER BY 2"
        ),
        [["__key", "1", "YES", "text", "text", "NULL"], ["this", "2", "YES", "bigint", "int8", "64"]]
    );
    assert!(one("SELECT * FROM information_schema.columns WHERE table_name = 'secrets'").is_empty());
    assert!(
        one("SELECT constraint_name FROM information_schema.table_constraints WHERE table_name = 'cities'")
            .is_empty()
    );
    assert_eq!(
        one("SELECT information_schema.tables.table_name FROM information_schema.tables"),
        [["cities"]]
    );
    assert_eq!(bob.query("SELECT * FROM information_schema.df_settings").code(), "42501");
}

//! Maps as tables: what is put with the grid is found with SQL, and the other way round.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod digits;
mod indexes;
mod one_state;

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, UInt64Type};
use arrow::util::pretty::pretty_format_batches;
use filbert_grid::{Grid, Map, Service};
use filbert_pool::Stages;
use filbert_sql::{Session, Sql, SqlError, SqlSettings};
use filbert_wire::compact::Compact as _;
use filbert_wire::{
    BigInteger, Compact, Data, Decimal, FromData, Json, LocalDate, LocalDateTime, LocalTime, OffsetDateTime,
    ToData, Value,
};
use futures::executor::block_on;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

struct Member {
    _stages: Stages,
    grid: Grid,
    sql: Sql,
    session: Session,
}

fn started() -> Member {
    started_with(SqlSettings::default())
}

fn started_with(settings: SqlSettings) -> Member {
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let grid = Grid::new(&stages);
    let sql = Sql::start(&stages, settings).unwrap();
    sql.attach(&grid).unwrap();
    let session = sql.session();
    Member { _stages: stages, grid, sql, session }
}

impl Member {
    fn put(&self, map: &str, key: impl ToData, value: impl ToData) {
        self.grid.map(map).set(key.to_data().unwrap(), value.to_data().unwrap()).wait().unwrap();
    }

    fn get(&self, map: &str, key: impl ToData) -> Option<Value> {
        let found = self.grid.map(map).get(key.to_data().unwrap()).wait().unwrap();
        found.map(|data| Value::from_data(&data).unwrap())
    }

    fn ask(&self, text: &str) -> Result<Vec<RecordBatch>, SqlError> {
        block_on(self.session.query(text)?.collect())
    }

    fn table(&self, text: &str) -> String {
        let batches = self.ask(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        pretty_format_batches(&batches).unwrap().to_string()
    }

    /// The rows as text, in order.
    fn rows(&self, text: &str) -> Vec<String> {
        let mut rows: Vec<_> = self
            .table(text)
            .lines()
            .skip(3)
            .filter(|line| line.starts_with('|'))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>().join("; "))
            .collect();
        rows.sort();
        rows
    }

    fn number(&self, text: &str) -> i64 {
        let batches = self.ask(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        batches
            .iter()
            .find(|batch| batch.num_rows() > 0)
            .expect("a row")
            .column(0)
            .as_primitive::<Int64Type>()
            .value(0)
    }

    /// How many rows a statement changed.
    fn changed(&self, text: &str) -> u64 {
        let batches = self.ask(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        batches
            .iter()
            .find(|batch| batch.num_rows() > 0)
            .expect("a count")
            .column(0)
            .as_primitive::<UInt64Type>()
            .value(0)
    }

    fn says(&self, text: &str) -> String {
        match self.ask(text) {
            Ok(batches) => panic!("{text}: {}", pretty_format_batches(&batches).unwrap()),
            Err(error) => error.to_string(),
        }
    }

    /// The types of the columns of a query.
    fn types(&self, text: &str) -> Vec<String> {
        let schema = block_on(self.session.query(text).unwrap().schema()).unwrap();
        schema.fields().iter().map(|field| format!("{} {}", field.name(), field.data_type())).collect()
    }
}

#[test]
fn plain_entries_have_a_key_and_a_value() {
    let member = started();
    for number in 0..1_000_i64 {
        member.put("squares", number as i32, number * number);
    }
    assert_eq!(member.number("SELECT count(*) FROM squares"), 1_000);
    assert_eq!(member.number("SELECT sum(this) FROM squares"), (0..1_000).map(|n| n * n).sum::<i64>());
    assert_eq!(member.rows("SELECT * FROM squares WHERE __key BETWEEN 3 AND 4"), ["3; 9", "4; 16"]);
    assert_eq!(member.types("SELECT * FROM squares"), ["__key Int32", "this Int64"]);
    let joined = "SELECT a.__key FROM squares a JOIN squares b ON a.this = b.__key WHERE a.__key > 1 ORDER BY 1 LIMIT 2";
    assert_eq!(member.rows(joined), ["2", "3"]);
    assert_eq!(member.number("SELECT count(*) FROM (SELECT * FROM squares LIMIT 7)"), 7);
}

#[test]
fn maps_are_listed_and_tables_go_first() {
    let member = started();
    member.put("cities", 1, "Oslo");
    assert!(member.table("SHOW TABLES").contains("cities"));
    let columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'cities'";
    assert_eq!(member.rows(columns), ["__key; Int32", "this; Utf8"]);
    assert!(member.says("CREATE TABLE cities AS SELECT 1 AS a").contains("cities"));
    member.ask("CREATE TABLE towns AS SELECT 7 AS a").unwrap();
    member.put("towns", 1, "Bergen");
    assert_eq!(member.rows("SELECT * FROM towns"), ["7"]);
    member.ask("CREATE VIEW north AS SELECT this AS name FROM cities").unwrap();
    assert_eq!(member.rows("SELECT name FROM north"), ["Oslo"]);
    assert!(member.says("SELECT * FROM nowhere").contains("nowhere"));
    assert!(!member.grid.structures().contains(Service::Map, "nowhere"), "a question makes no map");
}

#[test]
fn an_empty_map_shows_texts_and_takes_no_rows_without_a_mapping() {
    let member = started();
    member.grid.map("empty");
    assert_eq!(member.types("SELECT * FROM empty"), ["__key Utf8", "this Utf8"]);
    assert!(member.rows("SELECT * FROM empty").is_empty());
    let says = member.says("INSERT INTO empty VALUES ('a', 'b')");
    assert!(says.contains("CREATE MAPPING"), "{says}");
}

#[test]
fn fields_of_json_objects_are_columns() {
    let member = started();
    member.put("people", 1, Json(json!({"name": "Ada", "age": 36, "tags": ["a", {"b": 1}]})));
    member.put("people", 2, Json(json!({"name": "Bob", "age": 4.5, "x": true})));
    member.put("people", 3, Json(json!({"name": 7, "age": null})));
    let types = member.types("SELECT name, age, tags, x, __key, this FROM people");
    assert_eq!(types, ["name Utf8", "age Float64", "tags Utf8", "x Boolean", "__key Int32", "this Utf8"]);
    let rows = member.rows("SELECT __key, name, age, tags, x FROM people");
    assert_eq!(rows, [r#"1; Ada; 36.0; ["a",{"b":1}]; "#, "2; Bob; 4.5; ; true", "3; 7; ; ; "]);
    assert_eq!(member.rows("SELECT name FROM people WHERE age > 10"), ["Ada"]);
    let whole = member.rows("SELECT this FROM people WHERE __key = 2");
    assert!(whole[0].contains("\"name\":\"Bob\""), "{whole:?}");
}

#[test]
fn a_star_shows_fields_and_not_the_wholes_they_are_of() {
    let member = started();
    member.put("people", 1, Json(json!({"name": "Ada"})));
    member.put("cities", 1, "Oslo");
    assert_eq!(member.types("SELECT * FROM people"), ["__key Int32", "name Utf8"]);
    assert_eq!(member.types("SELECT p.* FROM people p"), ["__key Int32", "name Utf8"]);
    assert_eq!(member.types("SELECT *, this FROM people"), ["__key Int32", "name Utf8", "this Utf8"]);
    let joined = "SELECT * FROM people p JOIN cities c ON p.__key = c.__key";
    assert_eq!(member.types(joined), ["__key Int32", "name Utf8", "__key Int32", "this Utf8"]);
    assert_eq!(member.types("SELECT * FROM (SELECT * FROM people) q"), ["__key Int32", "name Utf8"]);
    assert_eq!(member.types("WITH people AS (SELECT 1 AS a) SELECT * FROM people"), ["a Int64"]);
    member.put("pairs", Json(json!({"a": 1, "b": 2})), Json(json!({"b": 3, "c": 4})));
    assert_eq!(member.types("SELECT * FROM pairs"), ["a Int64", "b Int64", "c Int64"]);
    assert_eq!(
        member.rows("SELECT a, b, c FROM public.pairs"),
        ["1; 2; 4"],
        "the key's field hides the value's"
    );
    assert_eq!(member.rows("SELECT __key, this FROM pairs"), [r#"{"a":1,"b":2}; {"b":3,"c":4}"#]);
}

#[derive(Compact)]
#[compact(name = "address")]
struct Address {
    city: String,
}

#[derive(Compact)]
#[compact(name = "employee")]
struct Employee {
    name: String,
    salary: i64,
    rate: Option<f64>,
    paid: Decimal,
    hired: LocalDate,
    address: Option<Address>,
    tags: Vec<String>,
}

fn employee(name: &str, salary: i64) -> Employee {
    Employee {
        name: name.to_owned(),
        salary,
        rate: (salary > 100).then_some(0.5),
        paid: Decimal::new(12_345, 3),
        hired: LocalDate::new(2020, 2, 29).unwrap(),
        address: (salary > 100).then(|| Address { city: "Oslo".to_owned() }),
        tags: vec!["a".to_owned()],
    }
}

#[test]
fn fields_of_compact_objects_are_columns_and_can_be_changed() {
    let member = started();
    for schema in [Employee::schema(), Address::schema()] {
        member.grid.catalog().add_schema(Arc::new(schema.clone())).unwrap();
    }
    member.put("staff", "a", employee("Ada", 200));
    member.put("staff", "b", employee("Bob", 50));
    let types = member.types("SELECT * FROM staff");
    let expected = [
        "__key Utf8",
        "address Utf8",
        "hired Date32",
        "name Utf8",
        "paid Decimal128(38, 6)",
        "rate Float64",
        "salary Int64",
        "tags Utf8",
    ];
    assert_eq!(types, expected);
    let rows = member.rows("SELECT name, address, hired, paid, rate, tags FROM staff");
    let expected = [
        r#"Ada; {"city":"Oslo"}; 2020-02-29; 12.345000; 0.5; ["a"]"#,
        r#"Bob; ; 2020-02-29; 12.345000; ; ["a"]"#,
    ];
    assert_eq!(rows, expected);
    assert_eq!(member.changed("UPDATE staff SET salary = salary + 1, rate = NULL WHERE name = 'Ada'"), 1);
    let data = member.grid.map("staff").get("a".to_data().unwrap()).wait().unwrap().unwrap();
    let ada = Employee::from_data_with(&data, member.grid.catalog()).unwrap();
    assert_eq!(
        (ada.salary, ada.rate, ada.tags, ada.address.map(|a| a.city)),
        (201, None, vec!["a".to_owned()], Some("Oslo".into()))
    );
    let insert =
        "INSERT INTO staff (__key, name, salary, paid, hired) VALUES ('c', 'Cid', 7, 1.5, DATE '2021-01-01')";
    assert_eq!(member.changed(insert), 1);
    let data = member.grid.map("staff").get("c".to_data().unwrap()).wait().unwrap().unwrap();
    let record = filbert_wire::compact::CompactRecord::of_data(&data, member.grid.catalog()).unwrap();
    assert_eq!(record.field("salary").unwrap(), Some(Value::Long(7)));
    let says = member.says("INSERT INTO staff (__key, name) VALUES ('d', 'Dan')");
    assert!(says.contains("salary") && says.contains("Null"), "{says}");
}

/// A value of a kind that a map can hold, and how SQL shows it.
fn values() -> impl Strategy<Value = (Value, String)> {
    let date =
        (-9_999..9_999_i32, 1_u8..=12, 1_u8..=28).prop_map(|(y, m, d)| LocalDate::new(y, m, d).unwrap());
    let time = (0_u8..24, 0_u8..60, 0_u8..60, 0_u32..1_000_000)
        .prop_map(|(h, m, s, micro)| LocalTime::new(h, m, s, micro * 1_000).unwrap());
    prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<i8>().prop_map(Value::Byte),
        any::<i16>().prop_map(Value::Short),
        any::<i32>().prop_map(Value::Int),
        any::<i64>().prop_map(Value::Long),
        any::<f32>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::Float),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::Double),
        any::<i64>().prop_map(|n| Value::BigInteger(BigInteger::from(i128::from(n)))),
        (any::<i64>(), 0..6).prop_map(|(n, scale)| Value::Decimal(Decimal::new(n.into(), scale))),
        "[a-zäß😀 ']{0,12}".prop_map(Value::String),
        any::<[u8; 16]>().prop_map(|bytes| Value::Uuid(uuid::Uuid::from_bytes(bytes))),
        proptest::collection::vec(any::<u8>(), 0..20).prop_map(Value::ByteArray),
        any::<i32>().prop_map(|n| Value::Json(format!("[{n}]"))),
        date.clone().prop_map(Value::LocalDate),
        time.clone().prop_map(Value::LocalTime),
        (date.clone(), time.clone())
            .prop_map(|(date, time)| Value::LocalDateTime(LocalDateTime { date, time })),
        (date, time).prop_map(|(date, time)| {
            Value::OffsetDateTime(OffsetDateTime::new(LocalDateTime { date, time }, 0).unwrap())
        }),
    ]
    .prop_map(|value| {
        let shown = format!("{value:?}");
        (value, shown)
    })
}

#[test]
fn whatever_a_map_holds_comes_through_sql_unchanged() {
    let member = started();
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases: 200, ..Default::default() });
    let number = std::cell::Cell::new(0);
    runner
        .run(&values(), |(value, shown)| {
            number.set(number.get() + 1);
            let (from, to) = (format!("from_{}", number.get()), format!("to_{}", number.get()));
            member.put(&from, 1, value.clone());
            // The copy has the kind of the entry that is there already.
            member.put(&to, 2, value.clone());
            prop_assert_eq!(
                member.changed(&format!("INSERT INTO {to} SELECT * FROM {from}")),
                1,
                "{}",
                shown
            );
            let copy = member.get(&to, 1).unwrap();
            match (&copy, &value) {
                // 1.50 and 1.5 are one number.
                (Value::Decimal(copy), Value::Decimal(value)) => prop_assert!(copy.compare(value).is_eq()),
                _ => prop_assert_eq!(copy, value),
            }
            member.grid.structures().destroy(Service::Map, &from);
            member.grid.structures().destroy(Service::Map, &to);
            Ok(())
        })
        .unwrap();
}

#[test]
fn mixed_kinds_get_the_type_that_holds_them_all() {
    let member = started();
    member.put("mixed", 1_i8, 1_i16);
    member.put("mixed", 300_i16, 2.5_f64);
    member.put("mixed", 70_000, 3_i64);
    assert_eq!(member.types("SELECT * FROM mixed"), ["__key Int32", "this Float64"]);
    assert_eq!(member.rows("SELECT this FROM mixed WHERE __key = 300"), ["2.5"]);
    assert_eq!(member.rows("SELECT this FROM mixed WHERE __key IN (1, 70000, 5)"), ["1.0", "3.0"]);
    member.put("mixed", 2, "text");
    assert_eq!(member.rows("SELECT this FROM mixed"), ["1", "2.5", "3", "text"]);
    member.put("dates", 1, Value::Date(86_400_000));
    assert_eq!(member.rows("SELECT this FROM dates"), ["1970-01-02T00:00:00Z"]);
}

#[test]
fn an_entry_that_does_not_fit_its_column_is_an_error_that_says_where() {
    let member = started();
    member.ask("CREATE MAPPING ages (__key INT, this TINYINT) TYPE IMap OPTIONS ('keyFormat'='int','valueFormat'='tinyint')").unwrap();
    member.put("ages", 17, 300);
    let says = member.says("SELECT * FROM ages");
    for part in ["\"ages\"", "key 17", "\"this\"", "300", "CREATE MAPPING"] {
        assert!(says.contains(part), "{part} in {says}");
    }
    assert_eq!(member.rows("SELECT __key FROM ages"), ["17"], "a column that nobody asks for is not read");
    member
        .grid
        .map("broken")
        .set(1.to_data().unwrap(), Value::Json("{\"a\":1".into()).to_data().unwrap())
        .wait()
        .unwrap();
    member.put("broken", 2, Json(json!({"a": 1})));
    let says = member.says("SELECT a FROM broken");
    assert!(says.contains("\"broken\", key 1") && says.contains("JSON"), "{says}");
}

#[test]
fn a_key_is_looked_up_and_an_index_is_used() {
    let member = started();
    for number in 0..2_000 {
        member.put("items", number, Json(json!({"color": number % 10, "name": format!("n{number}")})));
    }
    let lookup = "SELECT name FROM items WHERE __key = 77 AND color = 7";
    let plan = member.table(&format!("EXPLAIN {lookup}"));
    assert!(plan.contains("lookup of") && plan.contains("__key = Int32(77)"), "{plan}");
    assert_eq!(member.rows(lookup), ["n77"]);
    assert_eq!(member.rows("SELECT name FROM items WHERE __key = 77 AND color = 8").len(), 0);
    let scan = "SELECT count(*) FROM items WHERE color >= 8 AND name <> 'n8'";
    assert!(member.table(&format!("EXPLAIN {scan}")).contains("all entries"));
    assert_eq!(member.number(scan), 399);
    member.ask("CREATE INDEX by_color ON items (color) TYPE SORTED").unwrap();
    member.ask("CREATE INDEX IF NOT EXISTS by_color ON items (color)").unwrap();
    assert!(member.says("CREATE INDEX by_color ON items (color)").contains("already"));
    assert!(member.says("CREATE INDEX other ON items (size)").contains("size"));
    assert!(member.says("CREATE INDEX other ON nothing (size)").contains("nothing"));
    let plan = member.table(&format!("EXPLAIN {scan}"));
    assert!(
        plan.contains("by index: items.color >= Int64(8)") || plan.contains("by index: color >= Int64(8)"),
        "{plan}"
    );
    assert_eq!(member.number(scan), 399);
    assert_eq!(member.number("SELECT count(*) FROM items WHERE color = 3 OR color IN (4, 5)"), 600);
    member.ask("CREATE INDEX by_name ON items (name) TYPE HASH").unwrap();
    let named = "SELECT __key FROM items WHERE name = 'n1999'";
    assert!(member.table(&format!("EXPLAIN {named}")).contains("by index"));
    assert_eq!(member.rows(named), ["1999"]);
    assert!(member.table("EXPLAIN SELECT 1 FROM items WHERE name > 'n'").contains("all entries"));
    let analyzed = member.table("EXPLAIN ANALYZE SELECT name FROM items WHERE color = 3");
    assert!(analyzed.contains("output_rows=200"), "{analyzed}");
}

#[test]
fn a_scan_reads_only_the_columns_it_is_asked_for() {
    let member = started();
    member.put("wide", 1, Json(json!({"a": 1, "b": 2, "c": 3})));
    let plan = member.table("EXPLAIN SELECT b FROM wide");
    assert!(plan.contains("columns=[b]"), "{plan}");
    let plan = member.table("EXPLAIN SELECT count(*) FROM wide");
    assert!(plan.contains("columns=[]"), "{plan}");
    assert_eq!(member.number("SELECT count(*) FROM wide"), 1);
}

#[test]
fn rows_are_inserted_once_and_sunk_again_and_again() {
    let member = started();
    let create = "CREATE MAPPING ages (__key VARCHAR, this INT) TYPE IMap OPTIONS ('keyFormat'='varchar', 'valueFormat'='int')";
    member.ask(create).unwrap();
    assert_eq!(member.changed("INSERT INTO ages VALUES ('a', 1), ('b', 2)"), 2);
    assert_eq!(member.get("ages", "a"), Some(Value::Int(1)));
    let says = member.says("INSERT INTO ages VALUES ('c', 3), ('b', 4)");
    assert!(says.contains("\"ages\"") && says.contains("key b") && says.contains("SINK INTO"), "{says}");
    assert_eq!(member.get("ages", "b"), Some(Value::Int(2)));
    assert_eq!(member.changed("SINK INTO ages (this, __key) VALUES (40, 'b'), (5, 'e')"), 2);
    assert_eq!(member.get("ages", "b"), Some(Value::Int(40)));
    let many = "SINK INTO ages SELECT 'k' || value, CAST(value AS INT) FROM generate_series(1, 20000)";
    assert_eq!(member.changed(many), 20_000);
    assert_eq!(member.number("SELECT count(*) FROM ages WHERE __key LIKE 'k%'"), 20_000);
    let says = member.says("SINK INTO ages VALUES ('x', NULL)");
    assert!(says.contains("NULL") && says.contains("this"), "{says}");
    let says = member.says("SINK INTO ages VALUES (NULL, 1)");
    assert!(says.contains("NULL") && says.contains("__key"), "{says}");
    assert!(member.says("INSERT OVERWRITE ages VALUES ('x', 1)").contains("OVERWRITE"));
}

#[test]
fn mappings_say_how_rows_are_stored() {
    let member = started();
    let json = "CREATE MAPPING people EXTERNAL NAME \"people.v1\" (__key BIGINT, name VARCHAR, born DATE, pay DECIMAL(10,2), \
                extra JSON EXTERNAL NAME \"this.more\") TYPE IMap OPTIONS ('keyFormat'='bigint', 'valueFormat'='json-flat')";
    member.ask(json).unwrap();
    assert_eq!(member.changed("INSERT INTO people VALUES (1, 'Ada', DATE '1815-12-10', 12.5, '{\"x\":[1]}'), (2, 'Bob', NULL, NULL, NULL)"), 2);
    let Some(Value::Json(ada)) = member.get("people.v1", 1_i64) else { panic!() };
    let expected = json!({"name": "Ada", "born": "1815-12-10", "pay": "12.50", "more": {"x": [1]}});
    assert_eq!(serde_json::from_str::<serde_json::Value>(&ada).unwrap(), expected);
    assert_eq!(member.get("people.v1", 2_i64), Some(Value::Json(r#"{"name":"Bob"}"#.into())));
    assert_eq!(
        member.rows("SELECT * FROM people"),
        [r#"1; Ada; 1815-12-10; 12.50; {"x":[1]}"#, "2; Bob; ; ; "]
    );
    assert_eq!(member.rows("SELECT name FROM people WHERE pay > 12 AND born < DATE '1900-01-01'"), ["Ada"]);
    assert_eq!(member.rows("SHOW MAPPINGS"), ["people"]);
    assert!(member.says(json).contains("OR REPLACE"));
    member.ask(&json.replace("CREATE", "CREATE OR REPLACE")).unwrap();
    member.ask(&json.replace("MAPPING", "MAPPING IF NOT EXISTS")).unwrap();
    member.ask("DROP MAPPING people").unwrap();
    assert!(member.says("DROP MAPPING people").contains("people"));
    member.ask("DROP MAPPING IF EXISTS people").unwrap();
    assert!(member.rows("SHOW MAPPINGS").is_empty());
    assert_eq!(member.rows("SELECT name FROM \"people.v1\" WHERE __key = 1"), ["Ada"], "the map stays");

    let compact = "CREATE MAPPING cars (id INT EXTERNAL NAME \"__key.id\", brand VARCHAR, wheels TINYINT) TYPE IMap OPTIONS (\
                   'keyFormat'='compact','keyCompactTypeName'='carKey','valueFormat'='compact','valueCompactTypeName'='car')";
    member.ask(compact).unwrap();
    assert_eq!(member.changed("INSERT INTO cars VALUES (1, 'A', 4), (2, 'B', NULL)"), 2);
    member.ask("DROP MAPPING cars").unwrap();
    assert_eq!(
        member.rows("SELECT id, brand, wheels FROM cars"),
        ["1; A; 4", "2; B; "],
        "its schema is known without the mapping"
    );

    let java = "CREATE MAPPING m TYPE IMap OPTIONS ('keyFormat'='java','keyJavaClass'='java.lang.Integer','valueFormat'='uuid')";
    member.ask(java).unwrap();
    assert_eq!(member.changed("INSERT INTO m VALUES (1, '67e55044-10b1-426f-9247-bb680e5fe0c8')"), 1);
    assert!(matches!(member.get("m", 1), Some(Value::Uuid(_))));
    for (wrong, part) in [
        ("CREATE MAPPING w TYPE IMap OPTIONS ('valueFormat'='int')", "keyFormat"),
        ("CREATE MAPPING w TYPE IMap OPTIONS ('keyFormat'='int','valueFormat'='avro')", "avro"),
        ("CREATE MAPPING w (a INT) TYPE IMap OPTIONS ('keyFormat'='int','valueFormat'='int')", "no fields"),
        ("CREATE MAPPING w (this VARCHAR) TYPE IMap OPTIONS ('keyFormat'='int','valueFormat'='int')", "this"),
        ("CREATE MAPPING w TYPE IMap OPTIONS ('keyFormat'='int','valueFormat'='int','color'='red')", "color"),
    ] {
        let says = member.says(wrong);
        assert!(says.contains(part), "{wrong}: {says}");
    }
}

#[test]
fn entries_are_updated_and_deleted_where_the_condition_says() {
    let member = started();
    for number in 0..1_000 {
        member.put("items", number, Json(json!({"n": number, "keep": {"deep": true}})));
    }
    assert_eq!(member.changed("UPDATE items SET n = n * 2 WHERE n < 10"), 10);
    let Some(Value::Json(nine)) = member.get("items", 9) else { panic!() };
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&nine).unwrap(),
        json!({"n": 18, "keep": {"deep": true}})
    );
    let plan = member.table("EXPLAIN UPDATE items SET n = 0 WHERE __key = 5");
    assert!(plan.contains("MapChangeExec: update") && plan.contains("lookup of __key = Int32(5)"), "{plan}");
    assert_eq!(
        member.number("SELECT n FROM items WHERE __key = 5"),
        10,
        "an explained update changes nothing"
    );
    assert_eq!(member.changed("UPDATE items SET n = NULL WHERE __key = 5"), 1);
    assert_eq!(member.get("items", 5), Some(Value::Json(r#"{"keep":{"deep":true}}"#.into())));
    assert_eq!(member.changed("UPDATE items SET n = 1 WHERE false"), 0);
    assert_eq!(member.changed("DELETE FROM items WHERE 1 = 2"), 0);
    assert_eq!(member.changed("DELETE FROM items WHERE __key = 5 AND __key = 6"), 0);
    assert_eq!(member.changed("DELETE FROM items WHERE __key = 5 AND n IS NULL"), 1);
    assert_eq!(member.changed("DELETE FROM items WHERE n >= 900"), 100);
    assert_eq!(member.number("SELECT count(*) FROM items"), 899);
    for refused in [
        "DELETE FROM items WHERE n IN (SELECT n FROM items)",
        "UPDATE items SET n = (SELECT max(n) FROM items)",
        "DELETE FROM items LIMIT 5",
    ] {
        let says = member.says(refused);
        assert!(says.contains("its own columns only"), "{refused}: {says}");
    }
    let from = "UPDATE items SET n = o.n FROM items o WHERE items.__key = o.__key";
    assert!(member.says(from).contains("UPDATE ... FROM"));
    assert_eq!(member.number("SELECT count(*) FROM items"), 899, "what was refused changed nothing");
    assert!(member.says("UPDATE items SET __key = 1").contains("of the key"));
    assert!(member.says("UPDATE items SET nothing = 1").contains("nothing"));
    assert_eq!(member.changed("DELETE FROM items"), 899);
    member.put("plain", 1, 5_i64);
    assert_eq!(member.changed("UPDATE plain SET this = this + 1"), 1);
    assert_eq!(member.get("plain", 1), Some(Value::Long(6)));
    assert!(member.says("UPDATE plain SET this = NULL").contains("NULL"));
}

/// The column has the type of the widest, and each entry keeps its own: what does not fit is told with its key.
#[test]
fn an_update_of_mixed_numbers_keeps_the_kind_of_each_or_says_why_not() {
    let member = started();
    member.put("mixed", 1, 3_i32);
    member.put("mixed", 2, 2.5_f64);
    member.put("mixed", 3, 1.5_f32);
    assert_eq!(member.changed("UPDATE mixed SET this = this + 1"), 3);
    let values = || [1, 2, 3].map(|key| member.get("mixed", key).unwrap());
    assert_eq!(values(), [Value::Int(4), Value::Double(3.5), Value::Float(2.5)]);
    let says = member.says("UPDATE mixed SET this = this * 1.1");
    assert!(says.contains("map \"mixed\", column \"this\": the value of key "), "{says}");
    assert!(says.contains(", of the type DOUBLE, cannot be stored as "), "{says}");
    assert!(says.ends_with("; 1 entry was changed before"), "{says}");
    assert_eq!(values(), [Value::Int(4), Value::Double(3.5 * 1.1), Value::Float(2.5)]);
    let says = member.says("UPDATE mixed SET this = this + 0.5 WHERE __key = 1");
    assert!(
        says.contains(
            "key 1: 4.5, of the type DOUBLE, cannot be stored as INTEGER; use CAST(... AS INTEGER)"
        ),
        "{says}"
    );
    assert!(!says.contains("changed before") && member.get("mixed", 1) == Some(Value::Int(4)), "{says}");
    assert_eq!(member.changed("UPDATE mixed SET this = CAST(this + 0.5 AS INTEGER) WHERE __key = 1"), 1);
    member.put("decimals", 1, 3_i64);
    member.put("decimals", 2, Value::Decimal(Decimal::new(25, 1)));
    assert_eq!(member.changed("UPDATE decimals SET this = this + 1"), 2);
    assert_eq!(member.get("decimals", 1), Some(Value::Long(4)));
    // Read as a double it is another number, and what is computed from that is stored as no whole number.
    let large = (1_i64 << 53) + 3;
    member.put("large", 1, large);
    member.put("large", 2, 1.5_f64);
    let says = member.says("UPDATE large SET this = this - 5 WHERE __key = 1");
    assert!(says.contains("has more digits than a DOUBLE keeps"), "{says}");
    assert_eq!(member.changed("UPDATE large SET this = this WHERE __key = 1"), 1);
    assert_eq!(member.get("large", 1), Some(Value::Long(large)));
}

/// Whatever a statement does not set stays byte for byte: more digits than a double has, the order of members, white space.
#[test]
fn an_update_of_json_leaves_everything_else_as_it_is_written() {
    let member = started();
    let before = r#"{ "z": 12345678901234567890123, "price":0.10,"a":1, "list": [1.10, {"q":1e2,"b":0}],"n":9007199254740993 }"#;
    member.put("odd", 1, Value::Json(before.to_owned()));
    assert_eq!(member.changed("UPDATE odd SET a = a + 1"), 1);
    assert_eq!(member.get("odd", 1), Some(Value::Json(before.replace("\"a\":1", "\"a\":2"))));
    assert_eq!(member.rows("SELECT list FROM odd"), [r#"[1.10, {"q":1e2,"b":0}]"#]);
    member.put("odd", 1, Value::Json(r#"{"z": 1.10, "a":1, "b" : 2}"#.to_owned()));
    member.put("odd", 2, Value::Json(r#"{"c":""}"#.to_owned()));
    assert_eq!(member.changed("UPDATE odd SET a = NULL, c = 'new' WHERE __key = 1"), 1);
    assert_eq!(member.get("odd", 1), Some(Value::Json(r#"{"z": 1.10, "b" : 2,"c":"new"}"#.to_owned())));
}

/// What a scan holds counts, whether an index finds it or not.
#[test]
fn what_a_scan_holds_is_memory_of_its_query() {
    let limits = |bytes: usize| SqlSettings { query_memory_bytes: bytes, ..Default::default() };
    for indexed in [false, true] {
        let member = started_with(limits(256 << 10));
        for key in 0..3 {
            member.put("large", key, Json(json!({"a": key, "text": "x".repeat(1 << 20)})));
        }
        if indexed {
            member.ask("CREATE INDEX by_a ON large (a)").unwrap();
        }
        let says = member.says("SELECT text FROM large WHERE a = 1");
        assert!(says.contains("scan of a map") && says.contains("sql.query_memory_bytes"), "{says}");
        let member = started_with(limits(8 << 20));
        for key in 0..30 {
            member.put("many", key, Json(json!({"a": 1, "text": "x".repeat(1 << 20)})));
        }
        if indexed {
            member.ask("CREATE INDEX by_a ON many (a)").unwrap();
        }
        assert_eq!(member.number("SELECT sum(length(text)) FROM many WHERE a = 1"), 30 << 20);
        assert_eq!(member.sql.snapshot().memory_bytes, 0);
    }
}

/// A lost update would make the sum smaller.
#[test]
fn updates_beside_each_other_all_count() {
    let member = started();
    for key in 0..10 {
        member.put("counters", key, 0_i64);
    }
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    assert_eq!(member.changed("UPDATE counters SET this = this + 1"), 10);
                }
            });
        }
    });
    assert_eq!(member.number("SELECT sum(this) FROM counters"), 4 * 50 * 10);
}

fn stable_entries(map: &Map) -> BTreeMap<i64, i64> {
    let entries: BTreeMap<i64, i64> = (0..20_000).map(|key| (key * 2, key)).collect();
    let data = |number: &i64| number.to_data().unwrap();
    let all: Vec<(Data, Data)> = entries.iter().map(|(key, value)| (data(key), data(value))).collect();
    map.put_all(all).wait().unwrap();
    entries
}

#[test]
fn a_scan_beside_changes_sees_what_stays_exactly_once() {
    let member = started();
    let map = member.grid.map("busy");
    let stable = stable_entries(&map);
    let (stop, changes) = (AtomicBool::new(false), std::sync::atomic::AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0_i64;
            while !stop.load(Ordering::Relaxed) {
                let key = (number * 7_919 % 20_000) * 2 + 1;
                map.set(key.to_data().unwrap(), (-1_i64).to_data().unwrap()).wait().unwrap();
                map.delete(((number * 104_729 % 20_000) * 2 + 1).to_data().unwrap()).wait().unwrap();
                // A value that is replaced by an equal one is another value, at perhaps another place.
                let same = number % 20_000;
                map.set((same * 2).to_data().unwrap(), same.to_data().unwrap()).wait().unwrap();
                number += 1;
                changes.fetch_add(1, Ordering::Relaxed);
            }
        });
        for _ in 0..20 {
            let batches = member.ask("SELECT __key, this FROM busy WHERE __key % 2 = 0").unwrap();
            let mut seen = BTreeMap::new();
            for batch in &batches {
                let (keys, values) = (
                    batch.column(0).as_primitive::<Int64Type>(),
                    batch.column(1).as_primitive::<Int64Type>(),
                );
                for row in 0..batch.num_rows() {
                    assert_eq!(
                        seen.insert(keys.value(row), values.value(row)),
                        None,
                        "key {} twice",
                        keys.value(row)
                    );
                }
            }
            assert_eq!(seen, stable);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(changes.load(Ordering::Relaxed) > 0);
}

#[test]
fn a_cancelled_scan_leaves_nothing_behind() {
    let member = started();
    stable_entries(&member.grid.map("large"));
    for _ in 0..20 {
        let mut query =
            member.session.query("SELECT a.this FROM large a, large b WHERE a.this + b.this < 0").unwrap();
        block_on(query.schema()).unwrap();
        assert_eq!(query.canceller().cancel().unwrap().wait(), Ok(true));
        let end = block_on(query.collect()).unwrap_err();
        assert!(matches!(end, SqlError::Cancelled), "{end}");
    }
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while member.sql.snapshot().running > 0 || member.sql.snapshot().memory_bytes > 0 {
        assert!(std::time::Instant::now() < deadline, "left behind: {:?}", member.sql.snapshot());
        // sleeps because the end of a cancelled task is seen by nobody
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(member.number("SELECT count(*) FROM large"), 20_000);
}

//! What programs for Hazelcast's SQL rely on: names as written, `TABLE(...)`, streams, Portable objects, columns that say what they are.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Float32Type, Int64Type};
use filbert_grid::Grid;
use filbert_pool::Stages;
use filbert_sql::{
    Access, ColumnForm, Object, ScalarValue, Session, Sql, SqlError, TableRights, numbered_parameters,
};
use filbert_wire::{Data, Json, ToData, type_id};
use futures::StreamExt;
use futures::executor::block_on;
use std::sync::{Arc, Mutex};

struct Member {
    grid: Grid,
    sql: Sql,
    session: Session,
    _stages: Stages,
}

fn started() -> Member {
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let grid = Grid::new(&stages);
    let sql = Sql::start(&stages, Default::default()).unwrap();
    sql.attach(&grid).unwrap();
    let session = sql.session().with_names_as_written();
    Member { grid, sql, session, _stages: stages }
}

impl Member {
    fn ask(&self, text: &str) -> Result<Vec<RecordBatch>, SqlError> {
        block_on(self.session.query(text)?.collect())
    }

    /// The one batch that has rows.
    fn batch(&self, text: &str) -> RecordBatch {
        let batches = self.ask(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        batches.into_iter().find(|batch| batch.num_rows() > 0).expect("a row")
    }

    fn longs(&self, text: &str) -> Vec<i64> {
        let batches = self.ask(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let values = |batch: &RecordBatch| batch.column(0).as_primitive::<Int64Type>().values().to_vec();
        batches.iter().flat_map(values).collect()
    }
}

/// A Portable object with the fields `age` (a long) and `height` (a float), as a client writes it.
fn student(age: i64, height: f32) -> Data {
    let (factory, class, version, count) = (666, 6, 0, 2);
    let first = 8 + 4 * 8;
    let second = first + 2 + 3 + 1 + 8;
    let end = second + 2 + 6 + 1 + 4;
    let mut payload = [factory, class, version, end, count, first, second, 0].map(i32::to_be_bytes).concat();
    payload.extend_from_slice(&[0, 3]);
    payload.extend_from_slice(b"age\x06");
    payload.extend_from_slice(&age.to_be_bytes());
    payload.extend_from_slice(&[0, 6]);
    payload.extend_from_slice(b"height\x07");
    payload.extend_from_slice(&height.to_be_bytes());
    assert_eq!(8 + payload.len() as i32, end);
    Data::new(type_id::PORTABLE, &payload)
}

#[test]
fn names_are_as_they_are_written() {
    let member = started();
    let text = "CREATE MAPPING MyMap (__key INT, firstName VARCHAR) TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'json-flat')";
    member.ask(text).unwrap();
    member.ask("INSERT INTO MyMap VALUES (1, 'Ada')").unwrap();
    let batch = member.batch("SELECT *, firstName AS FirstName FROM MyMap WHERE firstName = 'Ada'");
    let names: Vec<_> = batch.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["__key", "firstName", "FirstName"], "the whole value stays hidden");
    assert_eq!(member.longs("SELECT COUNT(*) FROM MyMap AS M WHERE M.firstName IS NOT NULL"), [1]);
    assert!(member.ask("SELECT firstname FROM MyMap").is_err() && member.ask("SELECT * FROM mymap").is_err());
    // Others fold them, and must quote.
    let folding = member.sql.session();
    assert!(block_on(folding.query("SELECT * FROM MyMap").unwrap().collect()).is_err());
    assert!(block_on(folding.query("SELECT \"firstName\" FROM \"MyMap\"").unwrap().collect()).is_ok());
}

#[test]
fn tables_of_functions_have_a_column_v() {
    let member = started();
    assert_eq!(member.longs("SELECT v FROM TABLE(GENERATE_SERIES(3, 5)) ORDER BY v"), [3, 4, 5]);
    assert_eq!(
        member.longs(
            "SELECT sum(a.v * b.v) FROM TABLE(generate_series(1, 2)) AS a, TABLE(generate_series(1, 2)) b"
        ),
        [9]
    );
    assert_eq!(member.longs("SELECT count(*) FROM TABLE(generate_series(1, 3)) t(x) WHERE x > 1"), [2]);
}

#[test]
fn a_stream_gives_rows_as_time_goes_by_and_says_that_it_is_endless() {
    let member = started();
    let mut query = member.session.query("SELECT v FROM TABLE(generate_stream(1000))").unwrap();
    assert!(block_on(query.description()).unwrap().endless);
    let mut seen: Vec<i64> = Vec::new();
    while seen.len() < 20 {
        let batch = block_on(query.next()).unwrap().unwrap();
        seen.extend(batch.column(0).as_primitive::<Int64Type>().values());
    }
    let expected: Vec<_> = (0..seen.len() as i64).collect();
    assert_eq!(seen, expected);
    let mut bounded = member.session.query("SELECT 1").unwrap();
    assert!(!block_on(bounded.description()).unwrap().endless);
    assert_eq!(member.longs("SELECT v FROM TABLE(generate_stream(1000)) LIMIT 3"), [0, 1, 2]);
    for wrong in ["generate_stream()", "generate_stream(-1)", "generate_stream('a')", "generate_stream(1, 2)"]
    {
        let text = member.ask(&format!("SELECT * FROM TABLE({wrong})")).unwrap_err().to_string();
        assert!(text.contains("generate_stream takes"), "{text}");
    }
}

#[test]
fn fields_of_portable_objects_are_columns_of_their_mapping() {
    let member = started();
    let map = member.grid.map("students");
    for number in 0..10_i32 {
        map.set(number.to_data().unwrap(), student(number.into(), number as f32 / 2.0)).wait().unwrap();
    }
    let mapping = "CREATE MAPPING students (__key INT, age BIGINT, height REAL, nothing INT) TYPE IMap OPTIONS ('keyFormat' = 'int', \
                   'valueFormat' = 'portable', 'valuePortableFactoryId' = '666', 'valuePortableClassId' = '6')";
    member.ask(mapping).unwrap();
    assert_eq!(
        member.longs("SELECT age FROM students WHERE height < 2 AND nothing IS NULL ORDER BY age"),
        [0, 1, 2, 3]
    );
    let batch = member.batch("SELECT * FROM students WHERE age = 3");
    assert_eq!((batch.num_columns(), batch.column(2).as_primitive::<Float32Type>().value(0)), (4, 1.5));
    let batch = member.batch("SELECT this FROM students WHERE __key = 3");
    assert_eq!(ColumnForm::of(batch.schema().field(0)), Some(ColumnForm::Object));
    assert_eq!(batch.column(0).as_binary::<i32>().value(0), student(3, 1.5).as_bytes());
    for refused in
        ["INSERT INTO students (__key, age) VALUES (77, 1)", "UPDATE students SET age = 1 WHERE __key = 3"]
    {
        let text = member.ask(refused).unwrap_err().to_string();
        assert!(text.contains("Portable"), "{text}");
    }
    member.ask("DELETE FROM students WHERE age > 4").unwrap();
    assert_eq!(map.size().wait().unwrap(), 5);
    // One that lies about its offsets is an error, not the end.
    let mut lying = student(1, 1.0).payload().to_vec();
    lying[20..24].copy_from_slice(&i32::MAX.to_be_bytes());
    map.set(99_i32.to_data().unwrap(), Data::new(type_id::PORTABLE, &lying)).wait().unwrap();
    assert!(member.ask("SELECT age FROM students").unwrap_err().to_string().contains("key 99"));
}

#[test]
fn an_object_may_have_no_fields_or_only_nulls() {
    let member = started();
    let options = "TYPE IMap OPTIONS ('keyFormat' = 'json-flat', 'valueFormat' = 'json-flat')";
    member
        .ask(&format!("CREATE MAPPING names (name VARCHAR EXTERNAL NAME \"__key.name\") {options}"))
        .unwrap();
    member.ask("INSERT INTO names VALUES ('Ada'), ('Grace')").unwrap();
    assert_eq!(member.longs("SELECT count(*) FROM names WHERE name > 'B'"), [1]);
    let columns = "name VARCHAR EXTERNAL NAME \"__key.name\", drink VARCHAR";
    member.ask(&format!("CREATE MAPPING guests ({columns}) {options}")).unwrap();
    member.ask("INSERT INTO guests VALUES ('Ada', NULL)").unwrap();
    assert_eq!(member.longs("SELECT count(*) FROM guests WHERE drink IS NULL"), [1]);
    assert!(member.ask("INSERT INTO guests VALUES (NULL, 'tea')").unwrap_err().to_string().contains("NULL"));
}

#[test]
fn a_decimal_of_no_declared_digits_has_ten_behind_the_point() {
    let member = started();
    let mapping = "CREATE MAPPING sums (__key INT, this DECIMAL) TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'decimal')";
    member.ask(mapping).unwrap();
    member.ask("INSERT INTO sums VALUES (1, 0.000000009), (2, 12345678.5)").unwrap();
    assert_eq!(
        member.longs(
            "SELECT count(*) FROM sums WHERE (this > 0 AND this < 0.00000001) OR this * this > 1000000"
        ),
        [2]
    );
}

#[test]
fn columns_of_json_say_so_through_a_plan() {
    let member = started();
    let map = member.grid.map("docs");
    for number in 0..3_i32 {
        let json = Json(serde_json::json!([number]));
        map.set(number.to_data().unwrap(), json.to_data().unwrap()).wait().unwrap();
    }
    member.ask("CREATE MAPPING docs (__key INT, this JSON) TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'json')").unwrap();
    for text in [
        "SELECT this FROM docs",
        "SELECT this AS that FROM docs WHERE __key > 0 ORDER BY this",
        "SELECT this FROM docs GROUP BY this",
        "SELECT a.this FROM docs a JOIN docs b ON a.__key = b.__key",
        "SELECT this FROM docs UNION ALL SELECT this FROM docs",
        "SELECT CAST('[1]' AS JSON) AS j FROM docs",
        "SELECT CAST(NULL AS JSON) AS j FROM docs",
    ] {
        let batch = member.batch(text);
        assert_eq!(ColumnForm::of(batch.schema().field(0)), Some(ColumnForm::Json), "{text}");
    }
    let batch = member.batch("SELECT upper(this) FROM docs");
    assert_eq!(ColumnForm::of(batch.schema().field(0)), None);
}

#[test]
fn question_marks_are_parameters() {
    let member = started();
    let text = numbered_parameters(
        "SELECT v FROM TABLE(generate_series(1, 9)) WHERE v > ? AND v <= ? AND '?' = ? ORDER BY v",
    );
    let values = vec![ScalarValue::from(2_i32), ScalarValue::from(4.0_f64), ScalarValue::from("?")];
    let batches = block_on(member.session.query_with(&text, values).unwrap().collect()).unwrap();
    let seen: Vec<i64> = batches
        .iter()
        .flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec())
        .collect();
    assert_eq!(seen, [3, 4]);
}

#[test]
fn a_moment_with_a_time_zone_stays_one() {
    let member = started();
    let batch = member.batch("SELECT CAST('2024-02-29 12:00:00+02:00' AS TIMESTAMP WITH TIME ZONE) AS t");
    assert_eq!(batch.schema().field(0).data_type().to_string(), "Timestamp(µs, \"UTC\")");
    assert_eq!(
        member.longs("SELECT CAST(CAST('1970-01-01 02:00:01+02:00' AS TIMESTAMP WITH TIME ZONE) AS BIGINT)"),
        [1_000_000]
    );
}

/// Writes down what is asked.
#[derive(Default)]
struct Asked(Mutex<Vec<(Access, Object)>>);

impl TableRights for Asked {
    fn check(&self, access: Access, object: &Object) -> Result<(), String> {
        self.0.lock().unwrap().push((access, object.clone()));
        Err("no".to_owned())
    }
}

#[test]
fn rights_are_asked_for_names_as_they_are_written_and_files_are_for_who_may_everything() {
    let member = started();
    let asked = |text: &str| {
        let rights = Arc::new(Asked::default());
        let session = member.sql.session_as(rights.clone()).with_names_as_written();
        let refused = block_on(async { session.query(text)?.collect().await }).unwrap_err();
        assert!(matches!(refused, SqlError::Denied(_)), "{text}: {refused}");
        rights.0.lock().unwrap()[0].clone()
    };
    assert_eq!(asked("INSERT INTO MyMap VALUES (1)"), (Access::Insert, Object::table("MyMap")));
    assert_eq!(asked("SELECT * FROM MyMap"), (Access::Read, Object::table("MyMap")));
    assert_eq!(asked("DROP MAPPING MyMap"), (Access::Drop, Object::table("MyMap")));
    assert_eq!(asked("COPY (SELECT 1) TO '/tmp/a.csv'"), (Access::Create, Object::Anything));
    assert_eq!(asked("INSERT INTO '/tmp/a.csv' VALUES (1)"), (Access::Insert, Object::Anything));
    assert_eq!(asked("CREATE INDEX i ON MyMap (this)"), (Access::Index, Object::table("MyMap")));
    // A map whose name looks like one of another schema is still a map.
    let catalog = Object::Table { schema: "information_schema".into(), name: "tables".into() };
    assert_eq!(asked("SELECT * FROM information_schema.tables"), (Access::Read, catalog));
    let map = Object::table("information_schema.tables");
    assert_eq!(asked("SELECT * FROM \"information_schema.tables\""), (Access::Read, map));
}

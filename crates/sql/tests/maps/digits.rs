//! Numbers with scales of their own, numbers too wide for their column, and timestamps with
//! nanoseconds.

use super::{Member, started};
use arrow::datatypes::i256;
use filbert_sql::{ScalarValue, scalar_of};
use filbert_wire::{BigInteger, Decimal, LocalDate, LocalDateTime, LocalTime, OffsetDateTime, ToData, Value};
use futures::executor::block_on;

fn local(year: i32, nano: u32) -> LocalDateTime {
    LocalDateTime {
        date: LocalDate::new(year, 2, 28).unwrap(),
        time: LocalTime::new(10, 11, 12, nano).unwrap(),
    }
}

fn wide(digits: usize, scale: i32) -> Value {
    let number = i256::from_string(&"9".repeat(digits)).unwrap();
    Value::Decimal(Decimal::from_parts(BigInteger::from_be_bytes(&number.to_be_bytes()).unwrap(), scale))
}

/// Runs a statement with the values that a client sent.
fn run_with(member: &Member, text: &str, values: &[Value]) {
    let scalar = |value: &Value| scalar_of(Some(&value.to_data().unwrap()), member.grid.catalog()).unwrap();
    let values: Vec<ScalarValue> = values.iter().map(scalar).collect();
    block_on(member.session.query_with(text, values).unwrap().collect())
        .unwrap_or_else(|error| panic!("{text}: {error}"));
}

#[test]
fn timestamps_keep_their_nanoseconds() {
    let member = started();
    let stamp = Value::LocalDateTime(local(2024, 123_456_789));
    member.put("ts", 1, Value::LocalDateTime(local(2024, 0)));
    run_with(&member, "INSERT INTO ts VALUES (2, $1)", std::slice::from_ref(&stamp));
    assert_eq!(member.get("ts", 2), Some(stamp.clone()));
    assert_eq!(member.changed("INSERT INTO ts SELECT __key + 10, this FROM ts WHERE __key = 2"), 1);
    assert_eq!(member.get("ts", 12), Some(stamp.clone()));
    assert_eq!(member.changed("INSERT INTO ts VALUES (3, TIMESTAMP '2024-02-28T10:11:12.000000001')"), 1);
    assert_eq!(member.get("ts", 3), Some(Value::LocalDateTime(local(2024, 1))));
    let later = "SELECT __key FROM ts WHERE this > TIMESTAMP '2024-02-28T10:11:12' ORDER BY this LIMIT 1";
    assert_eq!(member.rows(later), ["3"]);
    assert_eq!(member.rows("SELECT __key FROM ts WHERE this = '2024-02-28T10:11:12.000000001'"), ["3"]);

    let moment = Value::OffsetDateTime(OffsetDateTime::new(local(2024, 987_654_321), 0).unwrap());
    member.ask("CREATE MAPPING moments (__key INT, this TIMESTAMP WITH TIME ZONE) TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'timestamp with time zone')").unwrap();
    run_with(&member, "INSERT INTO moments VALUES (1, $1)", std::slice::from_ref(&moment));
    assert_eq!(member.get("moments", 1), Some(moment));
}

#[test]
fn timestamps_of_far_years_are_read_and_written() {
    let member = started();
    let far = Value::LocalDateTime(local(9999, 0));
    member.put("contracts", 1, far.clone());
    member.put("contracts", 2, Value::LocalDateTime(local(2024, 0)));
    assert_eq!(
        member.rows("SELECT __key FROM contracts WHERE this > CAST('3000-01-01' AS TIMESTAMP(6))"),
        ["1"]
    );
    let says = member.says("SELECT __key FROM contracts WHERE this > '3000-01-01'");
    assert!(says.contains("1677 to 2262") && says.contains("TIMESTAMP(6)"), "{says}");
    assert_eq!(member.changed("INSERT INTO contracts SELECT 3, this FROM contracts WHERE __key = 1"), 1);
    assert_eq!(member.get("contracts", 3), Some(far));
    member
        .ask("CREATE MAPPING ends (__key INT, this TIMESTAMP(6)) TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'timestamp')")
        .unwrap();
    assert_eq!(member.changed("INSERT INTO ends VALUES (1, '9999-02-28T10:11:12')"), 1);
    assert_eq!(member.get("ends", 1), Some(Value::LocalDateTime(local(9999, 0))));
}

#[test]
fn numbers_that_sql_writes_have_their_own_scale() {
    let member = started();
    let decimal = |unscaled, scale| Value::Decimal(Decimal::new(unscaled, scale));
    for (key, number) in [(1, decimal(48, 0)), (2, decimal(25, 1)), (3, decimal(125, 2))] {
        member.put("de", key, number.clone());
        run_with(&member, "INSERT INTO de VALUES ($1, $2)", &[Value::Int(key + 10), number.clone()]);
        assert_eq!(member.get("de", key + 10), Some(number), "of a parameter");
    }
    member.put("copies", 0, decimal(1, 0));
    assert_eq!(member.changed("INSERT INTO copies SELECT * FROM de"), 6);
    assert_eq!(member.get("copies", 1), Some(decimal(48, 0)));
    assert_eq!(member.get("copies", 2), Some(decimal(25, 1)));
    assert_eq!(member.get("copies", 13), Some(decimal(125, 2)));
    assert_eq!(member.changed("UPDATE de SET this = this * 2 WHERE __key = 3"), 1);
    assert_eq!(member.get("de", 3), Some(decimal(25, 1)));
    assert_eq!(member.changed("UPDATE de SET this = this * this WHERE __key = 1"), 1);
    assert_eq!(member.get("de", 1), Some(decimal(2304, 0)));

    member
        .ask("CREATE MAPPING prices (__key INT, this DECIMAL(10, 2)) TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'decimal')")
        .unwrap();
    assert_eq!(member.changed("INSERT INTO prices VALUES (1, 1.5)"), 1);
    assert_eq!(member.get("prices", 1), Some(decimal(150, 2)), "the scale is declared");
}

#[test]
fn parameters_have_as_many_digits_as_numbers_do() {
    let member = started();
    let number = wide(47, 46);
    member.put("de", 1, number.clone());
    run_with(&member, "INSERT INTO de VALUES (2, $1)", std::slice::from_ref(&number));
    assert_eq!(member.get("de", 2), Some(number.clone()));
    let catalog = member.grid.catalog();
    let of = |value: Value| scalar_of(Some(&value.to_data().unwrap()), catalog);
    assert_eq!(of(Value::Decimal(Decimal::new(250, 2))), Ok(ScalarValue::Decimal128(Some(250), 3, 2)));
    assert_eq!(of(Value::Decimal(Decimal::new(5, -3))), Ok(ScalarValue::Decimal128(Some(5_000), 4, 0)));
    let refused = of(Value::Decimal(Decimal::new(123_456_789, 100))).unwrap_err();
    assert_eq!(refused, "1.23456789E-92 is not a number of 76 digits, 76 of them behind the point");
}

#[test]
fn a_wide_number_leaves_a_map_readable() {
    let member = started();
    for key in 0..300 {
        member.put("de", key, Value::Decimal(Decimal::new(key.into(), 1)));
    }
    // The entries that are looked at are those of the first partitions, so this one is in a later
    // one.
    let sampled = |key: i32| key.to_data().unwrap().partition().index() < 200;
    let key = (1_000..).find(|key| !sampled(*key)).unwrap();
    member.put("de", key, wide(41, 0));
    assert_eq!(member.number("SELECT count(*) FROM de WHERE __key < 5"), 5, "no number is needed");
    let says = member.says("SELECT this FROM de");
    for part in
        ["map \"de\"", &format!("key {key}"), "column \"this\"", "run the statement again", "DECIMAL(76, 6)"]
    {
        assert!(says.contains(part), "{part}: {says}");
    }
    assert_eq!(
        member.rows(&format!("SELECT this FROM de WHERE __key = {key}")),
        [format!("{}.000000", "9".repeat(41))]
    );
    assert_eq!(member.rows("SELECT this FROM de WHERE __key = 3"), ["0.300000"]);
    assert_eq!(member.rows("SELECT max(this) FROM de").len(), 1);

    member.ask("CREATE MAPPING declared EXTERNAL NAME \"de\" (__key INT, this DECIMAL) TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'decimal')").unwrap();
    assert_eq!(member.number("SELECT count(this) FROM declared"), 301);
    member.ask("CREATE MAPPING narrow EXTERNAL NAME \"de\" (__key INT, this DECIMAL(10, 2)) TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'decimal')").unwrap();
    for _ in 0..2 {
        let says = member.says("SELECT this FROM narrow");
        assert!(says.contains("DECIMAL(10, 2)") && says.contains("CREATE MAPPING"), "{says}");
    }
}

#[test]
fn a_value_of_another_type_leaves_a_map_readable() {
    let member = started();
    for key in 0..300 {
        member.put("numbers", key, 1_i64);
    }
    let sampled = |key: i32| key.to_data().unwrap().partition().index() < 200;
    let key = (1_000..).find(|key| !sampled(*key)).unwrap();
    member.put("numbers", key, "one");
    let says = member.says("SELECT sum(this) FROM numbers");
    assert!(says.contains("\"one\"") && says.contains("run the statement again"), "{says}");
    assert_eq!(member.rows(&format!("SELECT this FROM numbers WHERE __key = {key}")), ["one"]);
    // What is gone counts no more.
    assert_eq!(member.changed("DELETE FROM numbers"), 301);
    assert_eq!(member.rows("SELECT this FROM numbers"), [""; 0]);
    member.put("numbers", 1, 7_i64);
    assert_eq!(member.types("SELECT this FROM numbers"), ["this Int64"]);
}

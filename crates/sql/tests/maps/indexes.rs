//! An index finds what a scan finds: rows do not depend on how they are reached.

use super::{Member, started};
use filbert_grid::Service;
use filbert_grid::query::{IndexKind, IndexSettings};
use filbert_wire::compact::Compact as _;
use filbert_wire::{Compact, Data, Decimal, ToData, Value};
use proptest::prelude::*;
use std::cell::Cell;
use std::sync::Arc;

#[derive(Compact)]
#[compact(name = "whole")]
struct Whole {
    a: Option<i64>,
}

#[derive(Compact)]
#[compact(name = "real")]
struct Real {
    a: f32,
}

#[derive(Compact)]
#[compact(name = "double")]
struct Double {
    a: f64,
}

#[derive(Compact)]
#[compact(name = "text")]
struct Text {
    a: Option<String>,
}

#[derive(Compact)]
#[compact(name = "exact")]
struct Exact {
    a: Decimal,
}

fn json(text: impl Into<String>) -> Data {
    Value::Json(text.into()).to_data().unwrap()
}

fn index(member: &Member, map: &str, kind: IndexKind) {
    let settings = IndexSettings::new(map, kind, Some("by_a"), ["a"]).unwrap();
    member.grid.map(map).add_index(settings).wait().unwrap();
}

fn put(member: &Member, map: &str, entries: &[Data]) {
    for (key, value) in entries.iter().enumerate() {
        member.grid.map(map).set((key as i32).to_data().unwrap(), value.clone()).wait().unwrap();
    }
}

/// The statement that says what column `a` of a map is.
fn mapping(map: &str, kind: &str) -> String {
    format!(
        "CREATE MAPPING {map} (__key INT, a {kind}) TYPE IMap OPTIONS ('keyFormat'='int','valueFormat'='json-flat')"
    )
}

const NEAR: [f64; 12] = [
    0.0,
    -0.0,
    0.1,
    0.30000000000000004,
    1.0,
    -1.5,
    2.0,
    9_007_199_254_740_992.0,
    1e300,
    f64::NAN,
    -f64::NAN,
    f64::INFINITY,
];

/// JSON objects whose member `a` is a number, or a text that reads as one.
fn json_numbers() -> impl Strategy<Value = Data> {
    let whole = prop_oneof![-2..5_i64, Just(9_007_199_254_740_993), Just(i64::MAX)];
    prop_oneof![
        4 => whole.clone().prop_map(|n| json(format!("{{\"a\":{n}}}"))),
        1 => whole.clone().prop_map(|n| json(format!("{{\"a\":\"{n}\"}}"))),
        1 => (0..5).prop_map(|n| json(format!("{{\"a\":\"0{n}\"}}"))),
        1 => (0..5, 0..5).prop_map(|(n, m)| json(format!("{{\"a\":{n},\"a\":{m}}}"))),
        1 => (0..5, 0..5).prop_map(|(n, m)| json(format!("{{\"b\":{{\"a\":{n}}},\"\\u0061\":{m}}}"))),
        1 => prop_oneof![Just("{}"), Just("{\"a\":null}"), Just("[1]"), Just("{\"a\":-0}")].prop_map(json),
    ]
}

fn json_floats() -> impl Strategy<Value = Data> {
    let digits = prop_oneof![
        Just("0.1"),
        Just("1e-1"),
        Just("0.30000000000000004"),
        Just("31.245270191439438"),
        Just("1.0"),
        Just("-1.5"),
        Just("-0.0"),
        Just("9007199254740993"),
        Just("18446744073709551615"),
        Just("123456789012345678901234567890"),
        Just("\"0.10\""),
        Just("\"nan\""),
    ];
    digits.prop_map(|digits| json(format!("{{\"a\":{digits}}}")))
}

fn json_texts() -> impl Strategy<Value = Data> {
    let texts = prop_oneof![
        8 => prop_oneof![Just("\"x\""), Just("\"\\u0078\""), Just("\"n1\""), Just("\"\""), Just("\"1\"")],
        1 => prop_oneof![Just("1"), Just("1.0"), Just("1e0"), Just("true"), Just("[1]"), Just("[ 1 ]"), Just("{}")],
        1 => prop_oneof![Just("\"1.0\""), Just("\"true\""), Just("\"[1]\""), Just("\"2024-01-02\""), Just("null")],
    ];
    texts.prop_map(|text| json(format!("{{\"a\":{text}}}")))
}

fn wholes() -> impl Strategy<Value = Data> {
    let number = proptest::option::of(prop_oneof![-2..5_i64, Just(i64::MAX), Just(9_007_199_254_740_993)]);
    number.prop_map(|a| Whole { a }.to_data().unwrap())
}

fn reals() -> impl Strategy<Value = Data> {
    proptest::sample::select(NEAR.to_vec()).prop_map(|a| Real { a: a as f32 }.to_data().unwrap())
}

fn doubles() -> impl Strategy<Value = Data> {
    proptest::sample::select(NEAR.to_vec()).prop_map(|a| Double { a }.to_data().unwrap())
}

fn texts() -> impl Strategy<Value = Data> {
    let text = proptest::sample::select(vec!["x", "n1", "", "1", "1.0", "true", "2024-01-02", "[1]"]);
    proptest::option::of(text).prop_map(|a| Text { a: a.map(str::to_owned) }.to_data().unwrap())
}

fn exacts() -> impl Strategy<Value = Data> {
    (0..20_i64, 0..2).prop_map(|(n, scale)| Exact { a: Decimal::new(n.into(), scale) }.to_data().unwrap())
}

/// Values of one form, or of several.
fn values() -> impl Strategy<Value = Vec<Data>> {
    fn many(one: impl Strategy<Value = Data> + 'static) -> BoxedStrategy<Vec<Data>> {
        proptest::collection::vec(one, 4..14).boxed()
    }
    prop_oneof![
        3 => many(json_numbers()),
        2 => many(json_floats()),
        2 => many(json_texts()),
        2 => many(wholes()),
        2 => many(reals()),
        2 => many(doubles()),
        2 => many(texts()),
        1 => many(prop_oneof![wholes(), doubles()]),
        1 => many(prop_oneof![doubles(), exacts()]),
        2 => many(prop_oneof![json_numbers(), wholes()]),
        1 => many(prop_oneof![json_floats(), doubles(), reals(), wholes()]),
        1 => many(prop_oneof![json_texts(), texts()]),
        1 => many(prop_oneof![json_numbers(), json_texts(), wholes(), doubles(), texts()]),
    ]
}

/// A condition on column `a`.
fn conditions() -> impl Strategy<Value = String> {
    let whole = proptest::sample::select(vec!["-1", "0", "1", "2", "3", "4", "9007199254740993"]);
    let float = proptest::sample::select(vec![
        "0.1",
        "0.30000000000000004",
        "1.0",
        "-1.5",
        "0.0",
        "9007199254740992.0",
    ]);
    let real = float.clone().prop_map(|number| format!("CAST({number} AS REAL)"));
    let text = proptest::sample::select(vec![
        "'x'",
        "'n1'",
        "''",
        "'1'",
        "'1.0'",
        "'true'",
        "'[1]'",
        "'2024-01-02'",
    ]);
    let constants = prop_oneof![
        3 => proptest::collection::vec(whole.prop_map(str::to_owned), 5),
        2 => proptest::collection::vec(float.prop_map(str::to_owned), 5),
        1 => proptest::collection::vec(real, 5),
        2 => proptest::collection::vec(text.prop_map(str::to_owned), 5),
    ];
    let op = proptest::sample::select(vec!["=", "=", "=", "<", "<=", ">", ">=", "<>"]);
    (constants, op.clone(), op, 0..6).prop_map(|(with, op, other, form)| match form {
        0 | 1 => format!("a {op} {}", with[0]),
        2 => format!("{} {op} a", with[0]),
        3 => format!("a IN ({})", with.join(", ")),
        4 => format!("a BETWEEN {} AND {} OR a = {}", with[0], with[1], with[2]),
        _ => format!("a {op} {} AND a {other} {}", with[0], with[1]),
    })
}

#[test]
fn rows_are_the_same_with_and_without_an_index() {
    let member = started();
    for schema in [Whole::schema(), Real::schema(), Double::schema(), Text::schema(), Exact::schema()] {
        member.grid.catalog().add_schema(Arc::new(schema.clone())).unwrap();
    }
    let (number, by_index) = (Cell::new(0), Cell::new(0));
    let kinds = [IndexKind::Sorted, IndexKind::Sorted, IndexKind::Hash, IndexKind::Bitmap];
    let kinds = proptest::sample::select(kinds.to_vec());
    // Nothing: the column is as the values are.
    let declared = proptest::sample::select(vec!["", "", "", "BIGINT", "DOUBLE", "REAL", "VARCHAR"]);
    let case = (values(), declared, kinds, proptest::collection::vec(conditions(), 5));
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases: 40, ..Default::default() });
    let outcome = runner.run(&case, |(values, declared, kind, conditions)| {
        number.set(number.get() + 1);
        let (plain, indexed) = (format!("plain_{}", number.get()), format!("indexed_{}", number.get()));
        for map in [&plain, &indexed] {
            put(&member, map, &values);
            if !declared.is_empty() {
                member.ask(&mapping(map, declared)).unwrap();
            }
        }
        index(&member, &indexed, kind);
        for condition in &conditions {
            let text = |map: &str| format!("SELECT __key FROM {map} WHERE {condition}");
            // What a scan refuses, a value that does not fit its column, an index may never come to see.
            if member.ask(&text(&plain)).is_err() {
                continue;
            }
            let plan = member.table(&format!("EXPLAIN {}", text(&indexed)));
            by_index.set(by_index.get() + usize::from(plan.contains("by index")));
            let (found, expected) = (member.rows(&text(&indexed)), member.rows(&text(&plain)));
            prop_assert_eq!(found, expected, "{} {:?} {}", condition, kind, plan);
        }
        for map in [&plain, &indexed] {
            member.ask(&format!("DROP MAPPING IF EXISTS {map}")).unwrap();
            member.grid.structures().destroy(Service::Map, map);
        }
        Ok(())
    });
    outcome.unwrap();
    assert!(by_index.get() > 5, "an index was used {} times only", by_index.get());
}

#[test]
fn an_index_finds_numbers_that_are_stored_as_text() {
    let member = started();
    member.ask(&mapping("items", "BIGINT")).unwrap();
    let stored = ["1", "\"1\"", "\"01\"", "2", "\"2\"", "\"+3\"", "null"];
    put(&member, "items", &stored.map(|a| json(format!("{{\"a\":{a}}}"))));
    index(&member, "items", IndexKind::Sorted);
    let ask = |condition: &str| {
        let text = format!("SELECT __key FROM items WHERE {condition}");
        assert!(member.table(&format!("EXPLAIN {text}")).contains("by index"), "{condition}");
        member.rows(&text)
    };
    assert_eq!(ask("a = 1"), ["0", "1", "2"]);
    assert_eq!(ask("a IN (1, 3, 7, 9)"), ["0", "1", "2", "5"]);
    assert_eq!(ask("a >= 2"), ["3", "4", "5"]);
    assert_eq!(ask("a > 1 AND a < 3"), ["3", "4"]);
    assert_eq!(member.changed("UPDATE items SET a = 7 WHERE a = 1"), 3);
    assert_eq!(member.changed("DELETE FROM items WHERE a BETWEEN 6 AND 8"), 3);
    assert_eq!(ask("a > 0"), ["3", "4", "5"]);
}

#[test]
fn a_hashed_index_is_used_where_all_is_of_one_type() {
    let member = started();
    member.grid.catalog().add_schema(Arc::new(Whole::schema().clone())).unwrap();
    put(&member, "typed", &[Whole { a: Some(1) }.to_data().unwrap(), Whole { a: None }.to_data().unwrap()]);
    put(&member, "free", &[json("{\"a\":1}"), json("{\"a\":2}")]);
    for map in ["typed", "free"] {
        index(&member, map, IndexKind::Hash);
        assert_eq!(member.rows(&format!("SELECT __key FROM {map} WHERE a = 1")), ["0"]);
    }
    let plan = |map: &str| member.table(&format!("EXPLAIN SELECT __key FROM {map} WHERE a = 1"));
    assert!(plan("typed").contains("by index"), "{}", plan("typed"));
    assert!(plan("free").contains("all entries"), "{}", plan("free"));
}

#[test]
fn a_column_that_rounds_is_found_by_an_index_that_does_not() {
    let member = started();
    let create = |name: &str, kind: &str| {
        member.ask(&mapping(name, kind)).unwrap();
        put(
            &member,
            name,
            &["0.1", "9007199254740993", "2", "\"0.1\""].map(|a| json(format!("{{\"a\":{a}}}"))),
        );
        index(&member, name, IndexKind::Sorted);
    };
    create("reals", "REAL");
    create("doubles", "DOUBLE");
    for (text, expected) in [
        ("SELECT __key FROM reals WHERE a = CAST(0.1 AS REAL)", vec!["0", "3"]),
        ("SELECT __key FROM reals WHERE a <= CAST(0.1 AS REAL)", vec!["0", "3"]),
        ("SELECT __key FROM doubles WHERE a = 9007199254740992.0", vec!["1"]),
        ("SELECT __key FROM doubles WHERE a <= 9007199254740992.0 AND a >= 2.0", vec!["1", "2"]),
        ("SELECT __key FROM doubles WHERE a = 0.1", vec!["0", "3"]),
    ] {
        let plan = member.table(&format!("EXPLAIN {text}"));
        assert!(plan.contains("by index"), "{plan}");
        assert_eq!(member.rows(text), expected, "{text}");
    }
}

#[test]
fn a_member_with_the_name_of_a_path_is_no_path() {
    let member = started();
    put(&member, "odd", &[json(r#"{"a.b":1,"a":{"b":2},"__key#x":3," c":4,"c":5}"#)]);
    let settings = IndexSettings::new("odd", IndexKind::Sorted, None, ["a.b"]).unwrap();
    member.grid.map("odd").add_index(settings).wait().unwrap();
    let settings = IndexSettings::new("odd", IndexKind::Sorted, None, ["c"]).unwrap();
    member.grid.map("odd").add_index(settings).wait().unwrap();
    assert_eq!(member.rows("SELECT __key FROM odd WHERE \"a.b\" = 1"), ["0"]);
    assert_eq!(member.rows("SELECT __key FROM odd WHERE \" c\" = 4"), ["0"]);
    assert_eq!(member.rows("SELECT __key FROM odd WHERE c = 5"), ["0"]);
    for column in ["a.b", "__key#x", " c"] {
        let says = member.says(&format!("CREATE INDEX i ON odd (\"{column}\")"));
        assert!(says.contains("cannot be indexed"), "{column}: {says}");
    }
}

#[test]
fn the_first_of_two_members_counts_with_and_without_an_index() {
    let member = started();
    put(&member, "twice", &[json(r#"{"a":1,"a":2}"#), json(r#"{"a":2}"#)]);
    assert_eq!(member.rows("SELECT __key FROM twice WHERE a = 1"), ["0"]);
    index(&member, "twice", IndexKind::Sorted);
    assert_eq!(member.rows("SELECT __key FROM twice WHERE a = 1"), ["0"]);
    assert_eq!(member.rows("SELECT __key FROM twice WHERE a = 2"), ["1"]);
}

/// A key that is asked for twice is one row.
#[test]
fn keys_are_looked_up_once_and_in_pages() {
    let member = started();
    let numbers: Vec<Data> = (0..3_000_i64).map(|number| number.to_data().unwrap()).collect();
    put(&member, "numbers", &numbers);
    let list = |numbers: &mut dyn Iterator<Item = i32>| {
        numbers.map(|number| number.to_string()).collect::<Vec<_>>().join(", ")
    };
    let text =
        format!("SELECT count(*) FROM numbers WHERE __key IN ({})", list(&mut (0..2_500).chain(0..100)));
    assert!(member.table(&format!("EXPLAIN {text}")).contains("lookup of"));
    assert_eq!(member.number(&text), 2_500);
    let overlapping = "SELECT count(*) FROM numbers WHERE this BETWEEN 10 AND 50 OR this BETWEEN 40 AND 60 OR this IN (45, 45, 55, 46)";
    let settings = IndexSettings::new("numbers", IndexKind::Sorted, None, ["this"]).unwrap();
    member.grid.map("numbers").add_index(settings).wait().unwrap();
    assert_eq!(member.number(overlapping), 51);
}

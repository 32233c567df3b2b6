//! What a table of a database is asked for: conditions that lose no row, in SQL.

use arrow::datatypes::{DataType, Field, Schema};
use filbert_cube::{Filter, TableQuery, TextOrder};

fn condition(filter: &str, order: TextOrder) -> String {
    let schema = Schema::new(vec![
        Field::new("ccy", DataType::Utf8View, true),
        Field::new("n", DataType::Int32, true),
        Field::new("x", DataType::Float64, true),
        Field::new("day", DataType::Date32, true),
        Field::new("big", DataType::UInt64, true),
    ]);
    let query = TableQuery::new(["n"], filter.parse().unwrap());
    let text = query.to_select("t", &schema, order);
    text.strip_prefix("SELECT \"n\" FROM t").unwrap().trim_start_matches(" WHERE ").to_owned()
}

#[test]
fn conditions_are_written_where_both_sides_agree() {
    let bytes = |filter| condition(filter, TextOrder::Bytes);
    assert_eq!(bytes("ccy = 'E''R'"), "\"ccy\" = 'E''R'");
    assert_eq!(
        bytes("n in (1, 2) and x > 1.5"),
        "(\"n\" IN (1, 2) AND (\"x\" > CAST('1.5e0' AS DOUBLE PRECISION) OR \"x\" < CAST('-Infinity' AS DOUBLE PRECISION)))"
    );
    assert_eq!(bytes("day >= '2026-03-31'"), "\"day\" >= DATE '2026-03-31'");
    assert_eq!(bytes("ccy is null or not n < 3"), "(\"ccy\" IS NULL OR (\"n\" IS NULL OR NOT \"n\" < 3))");
    assert_eq!(bytes("ccy like 'E%'"), "\"ccy\" LIKE 'E%'");
    assert_eq!(
        bytes("not (ccy like 'E%' and n = 1)"),
        "((\"ccy\" IS NULL OR \"ccy\" NOT LIKE 'E%') OR (\"n\" IS NULL OR \"n\" <> 1))"
    );
    assert_eq!(bytes("ccy < 'F'"), "\"ccy\" < 'F'");
}

#[test]
fn what_could_be_seen_differently_is_left_to_the_cube() {
    for filter in [
        "ccy ~ '^E'",
        "x = 0.0",
        "big = 7",
        "calculated = 1",
        "ccy like 'a\\b'",
        "day = 'soon'",
        "n = 1 or ccy ~ 'E'",
        "not (n = 1 and ccy ~ 'E')",
        "not n in ()",
    ] {
        assert_eq!(condition(filter, TextOrder::Bytes), "", "{filter}");
    }
    assert_eq!(condition("n = 1 and ccy ~ 'E'", TextOrder::Bytes), "(\"n\" = 1)");
    assert_eq!(condition("ccy < 'F'", TextOrder::Unknown), "");
    let many = Filter::is_in("n", 0..1_000);
    let schema = Schema::new(vec![Field::new("n", DataType::Int64, true)]);
    assert_eq!(TableQuery::new(["n"], many).to_select("t", &schema, TextOrder::Bytes), "SELECT \"n\" FROM t");
    let none: [&str; 0] = [];
    let counted = TableQuery::new(none, Filter::All).to_select("t", &schema, TextOrder::Bytes);
    assert_eq!(counted, "SELECT 1 FROM t");
}

//! Filters as text, in canonical form, and over columns.

use super::*;
use arrow::array::{ArrayRef, DictionaryArray, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Int32Type};
use proptest::prelude::*;

fn parsed(text: &str) -> Filter {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn what_is_written_is_read_back() {
    for text in [
        "ccy = 'EUR'",
        "not ccy = 'it''s'",
        "a in (1, 2, 3) and (b is null or c < -1.5)",
        "\"or\" like 'x%' and d ~ '^a+$'",
        "(a = 1 and b = 2) or (a = 2 and not b in (1, 3))",
        "true",
        "false",
        "a = true",
    ] {
        assert_eq!(parsed(text).to_string(), text);
    }
    assert_eq!(parsed("a is not null"), Filter::is_null("a").negated());
    assert_eq!(parsed("a in (1, null)"), Filter::is_null("a").or(Filter::equals("a", 1)));
    assert_eq!(parsed("a != 1"), Filter::equals("a", 1).negated());
}

#[test]
fn what_cannot_be_read_says_where() {
    for (text, place) in [
        ("a", 1),
        ("a = ", 4),
        ("a = 1 b", 6),
        ("(a = 1", 6),
        ("a not 1", 6),
        ("a ~ '('", 7),
        ("a < null", 8),
        ("= 1", 0),
    ] {
        let Err(CubeError::InvalidFilter { at, .. }) = text.parse::<Filter>() else {
            panic!("{text} was taken")
        };
        assert_eq!(at, place, "{text}");
    }
    let deep = "(".repeat(10_000);
    assert!(deep.parse::<Filter>().is_err());
}

#[test]
fn equal_filters_have_one_form() {
    for (one, other) in [
        ("a = 1 and b = 2", "b = 2 and (a = 1 and true)"),
        ("a = 1 or a = 2", "a in (2, 1)"),
        ("not (a = 1 and b = 2)", "a <> 1 or b <> 2"),
        ("a in (1, 2) and a > 1", "a = 2"),
        ("a > 1 and a > 3 and a <= 9", "a <= 9 and a > 3"),
        ("a > 3 and not a > 5", "a > 3 and a <= 5"),
        ("a > 5 and a < 2", "false"),
        ("a = 1 or a <> 1", "true"),
        ("a = 1 and (a = 1 or b = 2)", "a = 1"),
        ("a = 1 or (a = 1 and b = 2)", "a = 1"),
        ("(a = 1 and b = 2) or (a = 1 and b = 3)", "a = 1 and b in (2, 3)"),
        ("a = 1 and (a = 2 or b = 3)", "a = 1 and b = 3"),
        ("a is null and a = 1", "false"),
        ("a is null and a <> 1", "a is null"),
        ("a in ()", "false"),
        ("c like 'x%' and c in ('xa', 'ya')", "c = 'xa'"),
    ] {
        assert_eq!(parsed(one).canonical(), parsed(other).canonical(), "{one} and {other}");
    }
}

#[test]
fn values_take_the_type_of_their_column() {
    let type_of = |column: &str| (column == "a").then_some(DataType::Int32);
    assert_eq!(parsed("a = '1'").typed(&type_of).unwrap(), parsed("a = 1"));
    assert_eq!(parsed("a in (1.5, 'x')").typed(&type_of).unwrap().canonical(), Filter::None);
    assert_eq!(parsed("b = '1'").typed(&type_of).unwrap(), parsed("b = '1'"));
}

#[test]
fn a_large_filter_is_bounded_in_cost() {
    let part = |index: i64| {
        Filter::equals("a", index).and(Filter::equals("b", index % 7)).or(Filter::equals("c", index))
    };
    let all = Filter::And((0..5_000).map(part).collect());
    assert!(matches!(all.canonical(), Filter::And(_)));
}

#[test]
fn conditions_on_columns_go_and_split() {
    let filter = parsed("a = 1 and (b = 2 or a = 3) and c = 4").canonical();
    assert_eq!(filter.without(&|column| column == "b").canonical(), parsed("a = 1 and c = 4").canonical());
    assert_eq!(split_by_column(&parsed("a = 1 and b = 2"), "a"), Some((parsed("a = 1"), parsed("b = 2"))));
    assert_eq!(split_by_column(&parsed("a = 1 or b = 2"), "a"), None);
    let next = |value: &Coordinate| {
        if let Coordinate::Int(value) = value { Coordinate::Int(value + 1) } else { Coordinate::Null }
    };
    assert_eq!(
        parsed("a in (1, 2) and b = 1").with_values("a", &next, true).unwrap(),
        parsed("a in (2, 3) and b = 1")
    );
    assert_eq!(parsed("not a < 1").with_values("a", &next, true).unwrap(), parsed("not a < 2"));
    assert!(parsed("a < 1").with_values("a", &next, false).is_err());
}

struct Table(Vec<(&'static str, ArrayRef)>);

impl ColumnSource for Table {
    fn rows(&self) -> usize {
        self.0[0].1.len()
    }

    fn column(&self, name: &str) -> Result<ArrayRef, CubeError> {
        Ok(Arc::clone(&self.0.iter().find(|(known, _)| *known == name).unwrap().1))
    }
}

#[test]
fn masks_of_every_condition() {
    let texts = [Some("EUR"), Some("USD"), None, Some("EURX")];
    let table = Table(vec![
        ("i", Arc::new(Int64Array::from(vec![Some(1), Some(2), None, Some(4)]))),
        ("f", Arc::new(Float64Array::from(vec![1.5, 2.0, -1.0, 4.0]))),
        ("t", Arc::new(StringArray::from(texts.to_vec()))),
        ("d", Arc::new(texts.into_iter().collect::<DictionaryArray<Int32Type>>())),
        ("y", Arc::new(arrow::array::Date32Array::from(vec![Some(0), Some(1), None, Some(3)]))),
    ]);
    for (text, rows) in [
        ("i = 1", "1000"),
        ("not i = 1", "0111"),
        ("i in (2, 4)", "0101"),
        ("i is null", "0010"),
        ("i > 1.5", "0101"),
        ("f = 2", "0100"),
        ("f <= 1.5", "1010"),
        ("t = 'EUR'", "1000"),
        ("d = 'EUR'", "1000"),
        ("d is null", "0010"),
        ("not d in ('EUR', 'USD')", "0011"),
        ("t like 'EUR%'", "1001"),
        ("d like '_S%'", "0100"),
        ("d ~ 'R'", "1001"),
        ("t >= 'EURX'", "0101"),
        ("y = '1970-01-02'", "0100"),
        ("y > '1970-01-01'", "0101"),
        ("i = 1 or t = 'USD' and f = 2", "1100"),
    ] {
        let mask = parsed(text).mask(&table).unwrap();
        let found: String = mask.iter().map(|bit| if bit == Some(true) { '1' } else { '0' }).collect();
        assert_eq!(found, rows, "{text}");
    }
}

fn any_filter() -> impl Strategy<Value = Filter> {
    let value = prop_oneof![Just(Coordinate::Null), (0..4_i64).prop_map(Coordinate::Int)];
    let column = prop_oneof![Just("a"), Just("b"), Just("c")];
    let comparison = prop_oneof![
        Just(Comparison::Less),
        Just(Comparison::AtMost),
        Just(Comparison::Greater),
        Just(Comparison::AtLeast)
    ];
    let leaf = prop_oneof![
        (column.clone(), prop::collection::vec(value, 0..3))
            .prop_map(|(column, values)| Filter::is_in(column, values)),
        (column, comparison, 0..4_i64)
            .prop_map(|(column, comparison, bound)| Filter::compare(column, comparison, bound)),
        Just(Filter::All),
        Just(Filter::None),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Filter::And),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Filter::Or),
            inner.prop_map(|inner| Filter::Not(Box::new(inner))),
        ]
    })
}

fn holds(filter: &Filter, row: &[Coordinate; 3]) -> bool {
    match filter {
        Filter::All => true,
        Filter::None => false,
        Filter::Not(inner) => !holds(inner, row),
        Filter::And(all) => all.iter().all(|filter| holds(filter, row)),
        Filter::Or(any) => any.iter().any(|filter| holds(filter, row)),
        Filter::Column(column, matcher) => {
            matcher.matches(&row[usize::from(column.as_bytes()[0] - b'a')]).unwrap_or(false)
        }
    }
}

proptest! {
    #[test]
    fn the_canonical_form_means_the_same(filter in any_filter()) {
        let canonical = filter.canonical();
        let values: Vec<Coordinate> = std::iter::once(Coordinate::Null).chain((0..5).map(Coordinate::Int)).collect();
        for a in &values {
            for b in &values {
                for c in &values {
                    let row = [a.clone(), b.clone(), c.clone()];
                    prop_assert_eq!(holds(&filter, &row), holds(&canonical, &row), "{} became {} at {:?}", filter, canonical, row);
                }
            }
        }
        prop_assert_eq!(canonical.canonical(), canonical.clone(), "{}", canonical);
        prop_assert_eq!(canonical.to_string().parse::<Filter>().unwrap().canonical(), canonical);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-c0-9'\"()<>=~, andortilke]{0,40}") {
        let _ = text.parse::<Filter>();
    }
}

//! Filters as text, in canonical form, and over columns.

use super::canonical::Rules;
use super::pattern::COMPILATIONS;
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

/// A pattern had one place for what was compiled of it, whichever language came first.
#[test]
fn a_pattern_is_read_in_the_language_of_its_condition() {
    let pattern = Pattern::new("a.c%");
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["abc%", "a.cd", "a.c%"]));
    let found = |matcher: Matcher| {
        matcher.mask(&texts).unwrap().iter().map(|is| is == Some(true)).collect::<Vec<_>>()
    };
    assert_eq!(found(Matcher::Like(pattern.clone())), [false, true, true]);
    assert_eq!(found(Matcher::Regex(pattern)), [true, false, true]);
}

#[test]
fn a_filter_has_a_bounded_number_of_patterns() {
    let many = |sign: &str, count: usize| vec![format!("a {sign} 'x'"); count].join(" or ");
    for sign in ["~", "!~", "like"] {
        parsed(&many(sign, 64)).check_size().unwrap();
    }
    for sign in ["~", "!~"] {
        let error = many(sign, 65).parse::<Filter>().unwrap_err();
        assert!(error.to_string().contains("more than 64 patterns"), "{error}");
    }
    assert!(parsed(&many("like", 65)).check_size().is_err());
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
        ("c like 'x%' and not c like 'x%'", "false"),
        ("not c like 'x%' and c in ('xa', 'ya', null)", "c in ('ya', null)"),
        ("a > 3 and a > 5", "a > 5"),
        ("a >= 5 and a <= 5", "a = 5"),
        ("a > 5 and a <= 5", "false"),
        ("a > 5 and (a > 3 or b = 1)", "a > 5"),
        ("a > 5 and (a < 3 or b = 1)", "a > 5 and b = 1"),
        ("a > 5 or (a > 6 and b = 1)", "a > 5"),
        ("a > 5 and ((a > 3 and c = 1) or b = 1)", "a > 5 and (c = 1 or b = 1)"),
        ("a < 5 and (a < 3 or a = 4)", "a < 3 or a = 4"),
        ("a < 5 and ((a < 3 and b = 1) or (a = 4 and c = 2))", "(a < 3 and b = 1) or (a = 4 and c = 2)"),
        ("a < 5 or a >= 5", "a is not null"),
        ("a <= 5 or a > 5 or a is null", "true"),
        ("a < 5 and a <> 7", "a < 5"),
        ("a <= 5 and a <> 5", "a < 5"),
        ("(a < 3 or a > 7) and a > 2 and a < 8 and a in (1, 2, 7.5)", "a = 7.5"),
        ("a in (1, 2) or (a > 0 and a < 3)", "a > 0 and a < 3"),
        ("not a > 5 and a is not null", "a <= 5"),
        ("a > 1.5 and a in (1, 2, 3)", "a in (2, 3)"),
        ("a < 'm' and a >= 'm'", "false"),
        ("a = true or a = false", "a in (true, false)"),
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
    // Just small enough to be looked at pair by pair, and far too large for it.
    for (parts, most) in [(180, 200_000), (5_000, 40_000)] {
        let rules = Rules::default();
        let canonical = Filter::And((0..parts).map(part).collect()).canonical_by(&rules);
        assert!(matches!(&canonical, Filter::And(all) if all.len() == parts as usize), "{canonical}");
        assert!(rules.work() <= most, "{} steps for {parts} parts", rules.work());
    }
    // Many values in many alternatives: the rules give up, and what is left means the same.
    let values = Filter::is_in("a", 0..2_000);
    let narrow = |index: i64| Filter::is_in("a", index..2_000).or(Filter::equals("b", index));
    let rules = Rules::default();
    let canonical = values.and(Filter::And((0..300).map(narrow).collect())).canonical_by(&rules);
    assert!(rules.work() < 2 << 20, "{} steps", rules.work());
    assert!(canonical.columns().len() == 2);
}

#[test]
fn a_pattern_is_compiled_once() {
    let compiled = || COMPILATIONS.with(std::cell::Cell::get);
    let values: Vec<String> = (0..8_000).map(|index| format!("v{index}")).collect();
    let filter = Filter::is_in("c", values.iter().map(String::as_str)).and(parsed("c ~ '^v[0-9]*7$'"));
    let before = compiled();
    let canonical = filter.canonical();
    assert!(
        matches!(&canonical, Filter::Column(_, Matcher::In(values)) if values.len() == 800),
        "{canonical}"
    );
    assert_eq!(canonical, filter.canonical());
    let table = Table(vec![("c", Arc::new(StringArray::from(vec!["v7", "w7"])))]);
    let regex = parsed("c ~ '7'");
    for _ in 0..10 {
        assert_eq!(regex.clone().mask(&table).unwrap().true_count(), 2);
    }
    assert_eq!(compiled() - before, 1, "the one of the loop; that of the list was compiled by the parser");
    let Err(CubeError::InvalidFilter { problem, .. }) = r"c ~ '(\pL{100}){100}'".parse::<Filter>() else {
        panic!("a pattern of megabytes was taken")
    };
    assert!(problem.contains("too large"), "{problem}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the size of the stack is what is tested")]
fn a_filter_deeper_than_the_stack_is_refused_and_dropped() {
    let deep = || {
        let mut filter = Filter::equals("a", 1);
        for level in 0..200_000 {
            filter = match level % 3 {
                0 => Filter::And(vec![filter, Filter::equals("b", 1)]),
                1 => Filter::Or(vec![Filter::equals("c", 1), filter]),
                _ => Filter::Not(Box::new(filter)),
            };
        }
        filter
    };
    let small = std::thread::Builder::new().stack_size(1 << 20);
    let run = move || {
        let Err(CubeError::InvalidFilter { problem, .. }) = deep().check_size() else {
            panic!("it was taken")
        };
        assert!(problem.contains("nested deeper"), "{problem}");
        drop(deep().negated().and(Filter::is_null("d")).or(deep()));
        let wide = Filter::Or((0..200_000).map(|value| Filter::equals("a", value)).collect());
        assert!(wide.check_size().is_err());
        // As deep as it may be: everything that walks it has room.
        let mut filter = Filter::equals("a", 1);
        for level in 0..MAX_DEPTH {
            let other = Filter::compare("b", Comparison::Less, level as i64);
            filter = if level % 2 == 0 {
                Filter::And(vec![filter, other])
            } else {
                Filter::Or(vec![filter, other])
            };
        }
        filter.check_size().unwrap();
        let canonical = filter.clone().canonical();
        assert_eq!(filter.to_string().is_empty(), canonical.to_string().is_empty());
        assert!(canonical.typed(&|_| Some(DataType::Int64)).is_ok());
    };
    small.spawn(run).unwrap().join().unwrap();
}

#[test]
fn numbers_are_compared_as_what_they_are() {
    use arrow::array::{Decimal128Array, UInt64Array};
    let decimal = |values: Vec<i128>, scale| {
        Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, scale).unwrap())
    };
    let table = Table(vec![
        ("u", Arc::new(UInt64Array::from(vec![0, i64::MAX as u64, 10_000_000_000_000_000_000, u64::MAX]))),
        ("i", Arc::new(Int64Array::from(vec![i64::MIN, 0, 9_007_199_254_740_993, i64::MAX]))),
        ("id", decimal(vec![9_007_199_254_740_992, 9_007_199_254_740_993, 10_i128.pow(30), -1], 0)),
        ("p", decimal(vec![10, 25, -5, 10_i128.pow(37)], 2)),
        ("z", Arc::new(Float64Array::from(vec![0.0, -0.0, -f64::NAN, 1.0]))),
        ("n", Arc::new(Float64Array::from(vec![Some(f64::NAN), Some(f64::INFINITY), None, Some(-1.0)]))),
    ]);
    let nan = |filter: Filter| {
        let mask = filter.mask(&table).unwrap();
        mask.iter().map(|bit| if bit == Some(true) { '1' } else { '0' }).collect::<String>()
    };
    for (text, rows) in [
        ("u > 0", "0111"),
        ("u > 9223372036854775807", "0011"),
        ("u < 1e19", "1100"),
        ("u = 1e19", "0010"),
        ("u >= -5", "1111"),
        ("u in (0, 1e19, 3)", "1010"),
        ("not u < 1.5", "0111"),
        ("i = 9223372036854775808.0", "0000"),
        ("i < 1e19", "1111"),
        ("i >= 9223372036854775808.0", "0000"),
        ("i = -9223372036854775808", "1000"),
        ("i = 9007199254740992.0", "0000"),
        ("i > 9007199254740992.0", "0011"),
        ("id = 9007199254740993", "0100"),
        ("id > 9007199254740992", "0110"),
        ("id = 1e30", "0010"),
        ("id = '9007199254740993'", "0100"),
        ("p = 0.1", "1000"),
        ("p = '0.10'", "1000"),
        ("p in (0.25, 0.1)", "1100"),
        ("p > 0.1", "0101"),
        ("p < 0.101", "1010"),
        ("p >= 1e35", "0001"),
        ("z = 0", "1100"),
        ("z < 0", "0000"),
        ("z >= 0", "1111"),
        ("z > 1", "0010"),
        ("z in (0, 1)", "1101"),
        ("n > 1e300", "1100"),
        ("n < 0", "0001"),
    ] {
        let type_of = |column: &str| Some(table.column(column).unwrap().data_type().clone());
        let typed = parsed(text).typed(&type_of).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(nan(typed.clone()), rows, "{text}");
        assert_eq!(nan(typed.canonical()), rows, "{text} in canonical form");
    }
    assert_eq!(nan(Filter::equals("z", f64::NAN)), "0010");
    assert_eq!(nan(Filter::equals("z", -0.0)), "1100");
    assert_eq!(nan(Filter::compare("n", Comparison::Less, f64::NAN)), "0101");
}

#[test]
fn a_bound_of_another_kind_is_an_error() {
    let type_of = |column: &str| match column {
        "i" => Some(DataType::Int64),
        "f" => Some(DataType::Float64),
        "at" => Some(DataType::Time64(arrow::datatypes::TimeUnit::Microsecond)),
        _ => None,
    };
    let typed = |text: &str| parsed(text).typed(&type_of);
    for text in [
        "i < 'abc'",
        "f >= 'abc'",
        "not f < 'x'",
        "at < 5",
        "at = 34200",
        "at = 'soon'",
        "at in ('09:00', 7)",
    ] {
        assert!(matches!(typed(text), Err(CubeError::InvalidValue { .. })), "{text}");
    }
    assert_eq!(typed("i = 'abc'").unwrap().canonical(), Filter::None);
    assert_eq!(typed("i < '1.5'").unwrap(), parsed("i < 1.5"));
    assert_eq!(typed("at < '09:30:00'").unwrap(), parsed("at < '09:30:00'"));
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

/// Values of one kind for each column: whole numbers, floats with all their oddities, texts.
fn any_value(column: &'static str) -> BoxedStrategy<Coordinate> {
    match column {
        "a" => (0..4_i64).prop_map(Coordinate::Int).boxed(),
        "b" => prop::sample::select(FLOATS.to_vec()).prop_map(Coordinate::Float).boxed(),
        _ => prop::sample::select(TEXTS.to_vec()).prop_map(Coordinate::from).boxed(),
    }
}

const FLOATS: [f64; 8] = [f64::NEG_INFINITY, -1.5, -0.0, 0.0, 1.0, f64::INFINITY, f64::NAN, -f64::NAN];

const TEXTS: [&str; 5] = ["", "x", "xa", "y", "z"];

fn any_condition() -> impl Strategy<Value = Filter> {
    let comparison = prop_oneof![
        Just(Comparison::Less),
        Just(Comparison::AtMost),
        Just(Comparison::Greater),
        Just(Comparison::AtLeast)
    ];
    let column = prop_oneof![Just("a"), Just("b"), Just("c")];
    let on_column = (column, comparison).prop_flat_map(|(column, comparison)| {
        let bound = any_value(column).prop_map(move |bound| Filter::compare(column, comparison, bound));
        let value = prop_oneof![1 => Just(Coordinate::Null), 5 => any_value(column)];
        let values = prop::collection::vec(value, 0..3).prop_map(move |values| Filter::is_in(column, values));
        prop_oneof![1 => bound, 1 => values]
    });
    prop_oneof![
        8 => on_column,
        1 => prop_oneof![Just("x%"), Just("%a"), Just("_")].prop_map(|pattern| Filter::like("c", pattern)),
        1 => prop_oneof![Just("^x"), Just("a$")].prop_map(|pattern| Filter::regex("c", pattern)),
        1 => Just(Filter::All),
        1 => Just(Filter::None),
        // A bound between whole numbers.
        1 => Just(Filter::compare("a", Comparison::Less, 1.5)),
    ]
}

fn any_filter() -> impl Strategy<Value = Filter> {
    any_condition().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Filter::And),
            prop::collection::vec(inner.clone(), 0..4).prop_map(Filter::Or),
            inner.prop_map(|inner| Filter::Not(Box::new(inner))),
        ]
    })
}

/// All combinations of values that conditions look at, and of others between any two of them, as a table: what wants the same rows here wants
/// the same everywhere.
fn every_row() -> Table {
    let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
    for of_a in std::iter::once(None).chain((-1..5_i64).map(Some)) {
        for of_b in std::iter::once(None).chain(FLOATS.into_iter().chain([-2.0, -0.5, 0.5, 7.0]).map(Some)) {
            for of_c in std::iter::once(None).chain(TEXTS.into_iter().chain(["w"]).map(Some)) {
                a.push(of_a);
                b.push(of_b);
                c.push(of_c);
            }
        }
    }
    Table(vec![
        ("a", Arc::new(Int64Array::from(a))),
        ("b", Arc::new(Float64Array::from(b))),
        ("c", Arc::new(StringArray::from(c))),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn the_canonical_form_means_the_same(filter in any_filter(), other in any_filter()) {
        let (canonical, rows) = (filter.canonical(), every_row());
        prop_assert_eq!(filter.mask(&rows).unwrap(), canonical.mask(&rows).unwrap(), "{} became {}", filter, canonical);
        prop_assert_eq!(canonical.canonical(), canonical.clone(), "{}", canonical);
        // NaN has no text; and a stricter filter is found to be one.
        let text = canonical.to_string();
        if !text.contains("NaN") && !text.contains("inf") {
            prop_assert_eq!(text.parse::<Filter>().unwrap().canonical(), canonical.clone());
        }
        let both = canonical.clone().and(other).canonical();
        let again = both.clone().and(canonical.clone()).canonical();
        prop_assert_eq!(again.mask(&rows).unwrap(), both.mask(&rows).unwrap());
    }

    /// On one column without patterns, filters that want the same rows have one form.
    #[test]
    fn filters_on_one_column_have_one_form(one in any_filter(), other in any_filter()) {
        let rows = every_row();
        let is_of_one = |filter: &Filter| filter.columns().iter().all(|column| **column == *"b");
        if is_of_one(&one) && is_of_one(&other) && one.mask(&rows).unwrap() == other.mask(&rows).unwrap() {
            // That nothing lies below the least float and above NaN is not looked at: other types have other ends.
            let names_end = |filter: &Filter| ["NaN", "-inf"].iter().any(|end| filter.to_string().contains(end));
            prop_assert!(one.canonical() == other.canonical() || names_end(&one) || names_end(&other), "{} and {}", one, other);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[a-c0-9'\"()<>=~, andortilke]{0,40}") {
        let _ = text.parse::<Filter>();
    }
}

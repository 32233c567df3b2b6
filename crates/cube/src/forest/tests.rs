//! Forests refused, written and read back.

use super::*;
use crate::filter::Filter;

fn problem(builder: ForestBuilder) -> String {
    builder.build().unwrap_err().to_string()
}

#[test]
fn what_is_wrong_is_told_with_its_path() {
    let cycle = Forest::builder()
        .measure("a", Combinator::sum(&["b"]))
        .measure("b", Combinator::sum(&["c"]))
        .measure("c", Combinator::sum(&["b"]));
    assert!(problem(cycle).contains("b -> c -> b"));
    let unknown =
        Forest::builder().measure("pnl", Aggregator::sum("pnl")).measure("top", Combinator::sum(&["pln"]));
    assert_eq!(problem(unknown), "there is no measure \"pln\", which is referred to by top; is it \"pnl\"?");
    let twice = Forest::builder().measure("a", Aggregator::count()).measure("a", Aggregator::count());
    assert!(problem(twice).contains("named \"a\", measure 1 of the forest and measure 2 of the forest"));
    let unregistered =
        Forest::builder().measure("a", Aggregator::count()).measure("b", Combinator::function(&["a"], "f"));
    assert!(problem(unregistered).contains("no function is registered as \"f\""));
    let column = Forest::builder().measure("a", Aggregator { column: None, aggregation: Aggregation::Sum });
    assert!(problem(column).contains("name one"));
    let later = Forest::builder().column("a", "b + 1".parse().unwrap()).column("b", "c".parse().unwrap());
    assert!(problem(later).contains("must stand before it"));
}

#[test]
fn a_chain_of_thousands_is_checked_without_recursion() {
    let mut builder = Forest::builder().measure("m0", Aggregator::count());
    for index in 1..20_000 {
        builder = builder.measure(&format!("m{index}"), Combinator::sum(&[&format!("m{}", index - 1)]));
    }
    assert_eq!(builder.build().unwrap().names().count(), 20_000);
}

#[test]
fn what_is_written_is_read_back() {
    let forest = Forest::builder()
        .column("notional", "price * quantity".parse().unwrap())
        .column_function("year", "year_of", &["day"])
        .function("year_of", |columns| Ok(columns[0].clone()))
        .shift_function("previous", Clone::clone)
        .measure("count", Aggregator::count())
        .measure("worst", Aggregator::new("pnl", Aggregation::Smallest(3)))
        .measure("ratio", Combinator::expression("count / worst").unwrap())
        .measure("sum", Combinator::sum(&["count", "worst"]))
        .measure("euro", Filtrator::new("count", Filter::equals("ccy", "EUR")))
        .measure("all", Unfiltrator::suppress("count", &["ccy"]))
        .measure("kept", Unfiltrator::retain("count", &["ccy"]))
        .measure("yesterday", Shiftor::offset("count", "day", -1))
        .measure("in euro", Shiftor::to("count", "ccy", "EUR"))
        .measure("before", Shiftor::new("count", "day", Shift::Function("previous".into())))
        .measure("by desk", Partitionor::new(&["count"], &["desk"], Combination::Sum, Aggregation::Max))
        .measure(
            "groups",
            Dispatchor::new(
                "count",
                "country",
                "group",
                Decomposition::Pairs(vec![("FR".into(), "G7".into())]),
            ),
        )
        .measure(
            "parts",
            Dispatchor::new(
                "count",
                "country",
                "part",
                Decomposition::Weights(vec![("FR".into(), 1.into(), 0.5)]),
            ),
        )
        .build()
        .unwrap();
    let text = ForestText::from(&forest);
    assert_eq!(ForestText::from_toml(&text.to_toml().unwrap()).unwrap(), text);
    assert_eq!(ForestText::from_json(&text.to_json().unwrap()).unwrap(), text);
    assert!(forest.mermaid().contains("aggregator"));
}

#[test]
fn a_name_that_stands_twice_is_told_with_both_places() {
    let count =
        |name: &str| format!("[[measure]]\nname = '{name}'\nkind = 'aggregator'\naggregation = 'count'\n\n");
    let text = [count("a"), count("b"), count("a")].concat();
    let error = ForestText::from_toml(&text).unwrap_err().to_string();
    assert!(error.contains("named \"a\", line 2 and line 12"), "{error}");
    let one = r#"{"name": "a", "kind": "aggregator", "aggregation": "count"}"#;
    let error = ForestText::from_json(&format!("{{\"measure\": [{one}, {one}]}}")).unwrap_err().to_string();
    assert!(error.contains("measure 1 of the list and measure 2 of the list"), "{error}");
}

#[test]
fn a_text_that_is_no_forest_is_refused() {
    for text in [
        "[[measure]]\nname = 1",
        "[[measure]]\nname = 'a'\nkind = 'nope'",
        "[other]",
        "[[measure]]\nname='a'\nkind='filtrator'\nunderlying='b'\nfilter='x ='",
    ] {
        assert!(matches!(ForestText::from_toml(text), Err(CubeError::InvalidForest { .. })), "{text}");
    }
}

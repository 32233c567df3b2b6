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

/// `totl` was said to be `total`, which is the one that names it.
#[test]
fn nobody_is_told_to_make_a_cycle() {
    let itself = Forest::builder().measure("total", Combinator::sum(&["totl"]));
    assert_eq!(problem(itself), "there is no measure \"totl\", which is referred to by total");
    let above = Forest::builder()
        .measure("a total", Combinator::sum(&["part"]))
        .measure("part", Combinator::sum(&["a totl"]));
    assert!(!problem(above).contains("is it"));
    let other = Forest::builder()
        .measure("total", Combinator::expression("totl + 1").unwrap())
        .measure("tot", Aggregator::count());
    assert!(problem(other).ends_with("is it \"tot\"?"));
}

#[test]
fn a_rule_that_never_holds_is_refused() {
    let route = Route::to("a").by(&["desk", "ccy"]).not_by(&["ccy"]);
    let routing = Routing::new().rule(Route::to("a").marker("x")).rule(route);
    let forest = Forest::builder().measure("a", Aggregator::count()).measure("b", routing);
    assert!(problem(forest).contains("rule 2 has \"ccy\" in `by` and in `not_by`"));
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

fn toml_problem(text: &str) -> String {
    ForestText::from_toml(text).unwrap_err().to_string()
}

#[test]
fn a_value_that_a_key_cannot_have_is_told_with_its_line() {
    let begin = "[[measure]]\nname = 'a'\n";
    for (text, line, told) in [
        ("kind = 'nope'", 3, "\"nope\" is not known here; there are: aggregator, combinator"),
        ("kind = 'filtrator'\nunderlying = 'b'\nfilter = 'x ='", 5, "filter at character 3"),
        (
            "kind = 'aggregator'\naggregation = 'summ'\ncolumn = 'x'",
            4,
            "\"summ\" is not known here; is it \"sum\"? There are: sum, count",
        ),
        ("kind = 'combinator'\ncombination = { expression = 'a +' }", 4, "expression at character 3"),
        (
            "kind = 'routing'\nrules = [\n  { to = 'b', bye = ['x'] },\n]",
            5,
            "there is no key \"bye\" here; is it \"by\"?",
        ),
        ("kind = 'shiftor'\nunderlying = 'b'\ncolumn = 'x'\nshift = { to = 1, offset = 2 }", 6, "exactly 1"),
    ] {
        let error = toml_problem(&[begin, text].concat());
        assert!(error.contains(&format!("at line {line}, ")) && error.contains(told), "{error}");
    }
    let json =
        "{\"measure\": [{\"name\": \"a\",\n\"kind\": \"aggregator\",\n\"column\": 1,\n\"shard\": []}]}";
    let error = ForestText::from_json(json).unwrap_err().to_string();
    assert!(error.contains("at line 3 "), "{error}");
}

#[test]
fn keys_that_do_not_belong_together_are_told_with_their_measure() {
    let both = "it has both `suppress` and `retain`; leave one of them out";
    for (keys, told) in [
        ("kind = 'unfiltrator'\nunderlying = 'b'\nsuppress = ['x']\nretain = ['y']", both),
        (
            "kind = 'unfiltrator'\nunderlying = 'b'\nsuppress = ['x']\nretian = ['y']",
            "there is no key \"retian\" here; is it \"retain\"?",
        ),
        ("kind = 'unfiltrator'\nunderlying = 'b'", "it needs columns in `suppress` or in `retain`"),
        (
            "kind = 'aggregator'\ncolumn = 'x'\nby = ['y']",
            "there is no key \"by\" here; there are: column, aggregation",
        ),
        ("kind = 'filtrator'\nunderlying = 'b'", "the key \"filter\" is missing"),
    ] {
        let error = toml_problem(&format!("\n[[measure]]\nname = 'a'\n{keys}"));
        assert!(error.contains(&format!("measure \"a\", line 3: {told}")), "{error}");
    }
    let single = toml_problem("\n[measure]\nname = 'a'\nkind = 'aggregator'\naggregation = 'count'");
    assert!(
        single.ends_with("line 2: [measure] stands in one pair of brackets; write [[measure]]"),
        "{single}"
    );
    let nameless = toml_problem("[[measure]]\nkind = 'aggregator'\naggregation = 'count'");
    assert!(nameless.contains("measure 1 of the list: the key \"name\" is missing"), "{nameless}");
    let json = r#"{"measure": [{"name": "a", "kind": "unfiltrator", "underlying": "b", "suppress": [], "retain": []}]}"#;
    let error = ForestText::from_json(json).unwrap_err().to_string();
    assert!(error.contains("measure \"a\", measure 1 of the list") && error.contains(both), "{error}");
}

#[test]
fn a_column_has_one_formula_and_no_other_keys() {
    let function = "function = { name = 'f', inputs = [] }";
    for (keys, told) in [
        (format!("expression = 'x'\n{function}"), "column \"a\" has both `expression` and `function`"),
        ("expression = 'x'\ninputs = ['x']".to_owned(), "there is no key \"inputs\" here"),
        (function.replace("[]", "[], of = 1"), "there is no key \"of\" here"),
        (String::new(), "column \"a\" needs an `expression` or a `function`"),
    ] {
        let error = toml_problem(&format!("[[column]]\nname = 'a'\n{keys}"));
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forest.toml");
    let text = "[[measure]]\nname = 'a'\nkind = 'aggregator'\naggregation = 'count'\n";
    std::fs::write(&path, text).unwrap();
    assert_eq!(ForestText::from_file(&path).unwrap().measures.len(), 1);
    let limit = 16 << 20;
    // A file with a hole: nothing is written, and all of it would be read.
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    let error = ForestText::from_file(&path).unwrap_err();
    assert_eq!(error, CubeError::ForestTooLarge { limit });
    assert!(error.to_string().contains("more than 16 MiB"), "{error}");
    let long = format!("{text}# {}", "x".repeat(limit));
    assert_eq!(ForestText::from_toml(&long), Err(CubeError::ForestTooLarge { limit }));
    assert_eq!(ForestText::from_json(&long), Err(CubeError::ForestTooLarge { limit }));
    let missing = ForestText::from_file(folder.path().join("none.json")).unwrap_err();
    assert!(matches!(missing, CubeError::InvalidForest { .. }), "{missing}");
}

/// Measures came in the order of their names, whatever the order of the file.
#[test]
fn measures_keep_the_order_and_the_formats_of_their_text() {
    let measure = |name: &str, more: &str| {
        format!("[[measure]]\nname = '{name}'\nkind = 'aggregator'\ncolumn = 'x'\n{more}\n")
    };
    let text = [measure("z", "format = '#,##0.0'"), measure("a", "")].concat();
    let read = ForestText::from_toml(&text).unwrap();
    let forest = read.clone().into_builder().build().unwrap();
    assert_eq!(forest.names().collect::<Vec<_>>(), ["z", "a"]);
    let formats = ["z", "a"].map(|name| forest.format(name).map(|format| format.to_string()));
    assert_eq!(formats, [Some("#,##0.0".to_owned()), None]);
    let written = ForestText::from(&forest);
    assert_eq!(ForestText::from_toml(&written.to_toml().unwrap()).unwrap(), read);
    assert_eq!(ForestText::from_json(&written.to_json().unwrap()).unwrap(), read);
    let slip = read.into_builder().format("zz", NumberFormat::decimals(2)).build().unwrap_err();
    assert!(slip.to_string().contains("there is no measure \"zz\"; is it \"z\"?"), "{slip}");
}

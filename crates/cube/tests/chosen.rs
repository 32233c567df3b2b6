//! Columnators and routings: measures that look at where they are asked for.

mod trades;

use filbert_cube::{
    Aggregation, Aggregator, Columnator, Combination, CubeError, Filter, Forest, Partitionor, Query, Route,
    Routing,
};
use trades::{LOTS, answer, cube, forest, read};

#[test]
fn a_columnator_has_values_only_where_its_columns_are_expressed() {
    let builder = forest()
        .measure("by ccy", Columnator::require(&["pnl", "lots"], &["ccy"]))
        .measure("by both", Columnator::require(&["lots"], &["ccy", "desk"]))
        .measure("never by ccy", Columnator::reject(&["lots"], &["ccy"]))
        .measure("ratio", Columnator::require(&["pnl", "lots"], &["ccy"]).combination(Combination::Divide));
    let (_stages, cube) = cube(builder);
    let all = ["by ccy", "by both", "never by ccy", "ratio"];
    assert_eq!(answer(&cube, Query::new(all)), ",,21,");
    assert_eq!(answer(&cube, Query::new(all).by(["desk"])), "FX,,,14,|Rates,,,7,");
    assert_eq!(
        answer(&cube, Query::new(all).by(["ccy"])),
        ",12.0,,,2.0|EUR,6.0,,,1.0|GBP,6.0,,,|USD,28.0,,,2.5"
    );
    // A filter that leaves one value expresses its column; two values do not.
    let euro = Query::new(all).by(["desk"]).filter(Filter::equals("ccy", "EUR"));
    assert_eq!(answer(&cube, euro), "FX,2.0,1,,1.0|Rates,4.0,2,,1.0");
    let two = Query::new(all).filter(Filter::is_in("ccy", ["EUR", "USD"]));
    assert_eq!(answer(&cube, two), ",,11,");
    // Its columns are those of the step, which a partitionor makes finer.
    let (_stages, cube) = trades::cube(
        forest()
            .measure("by ccy", Columnator::require(&["lots"], &["ccy"]))
            .measure("best", Partitionor::new(&["by ccy"], &["ccy"], Combination::Sum, Aggregation::Max)),
    );
    assert_eq!(answer(&cube, Query::new(["by ccy", "best"])), ",8");
}

#[test]
fn a_column_that_there_is_not_is_told() {
    let (_stages, cube) = cube(forest().measure("typo", Columnator::require(&["lots"], &["cy"])));
    let error = cube.query(Query::new(["typo"])).unwrap().wait().unwrap_err();
    assert!(matches!(error, CubeError::UnknownColumn { column, .. } if column == "cy"));
}

#[test]
fn a_routing_chooses_by_columns_filter_and_marker() {
    let routing = Routing::new()
        .rule(Route::to("rows").marker("count"))
        .rule(Route::to("pnl").by(&["ccy"]).not_by(&["desk"]))
        .rule(Route::to("most").filter("ccy in ('EUR', 'USD')".parse().unwrap()));
    let builder = forest()
        .measure("rows", Aggregator::count())
        .measure("most", Aggregator::new("lots", Aggregation::Max))
        .measure("routed", routing.clone().default_to("lots"))
        .measure("or nothing", routing);
    let (_stages, cube) = cube(builder);
    let both = ["routed", "or nothing"];
    assert_eq!(answer(&cube, Query::new(both)), "21,");
    assert_eq!(answer(&cube, Query::new(both).marker("count")), "6,6");
    assert_eq!(answer(&cube, Query::new(both).marker("other")), "21,");
    assert_eq!(answer(&cube, Query::new(["routed"]).by(["ccy"])), ",8.0|EUR,3.0|USD,20.0");
    assert_eq!(
        answer(&cube, Query::new(["routed"]).by(["ccy", "desk"]).filter(Filter::equals("desk", "FX"))),
        ",FX,4|EUR,FX,1|GBP,FX,6|USD,FX,3"
    );
    // A stricter filter is within the rule's, a laxer one is not.
    assert_eq!(
        answer(&cube, Query::new(["routed"]).filter("ccy = 'EUR' and desk = 'FX'".parse().unwrap())),
        "1"
    );
    assert_eq!(answer(&cube, Query::new(["routed"]).filter("ccy in ('EUR', 'USD')".parse().unwrap())), "5");
    assert_eq!(answer(&cube, Query::new(["routed"]).filter("ccy in ('EUR', 'GBP')".parse().unwrap())), "9");
    let explained = cube.query(Query::new(both).by(["desk"]).explain()).unwrap().wait().unwrap();
    let text = explained.explanation().unwrap().to_string();
    assert!(text.contains("routed: goes to lots by default (by desk where "), "{text}");
    assert!(text.contains("or nothing: goes nowhere, no rule holds"), "{text}");
}

#[test]
fn a_function_may_choose() {
    let builder = forest()
        .route_function("choose", |position| match position.group_by.len() {
            0 => None,
            1 => Some("pnl".to_owned()),
            2 => Some("secret".to_owned()),
            _ => panic!("too many columns"),
        })
        .measure("routed", Routing::new().function("choose", &["pnl"]).default_to("lots"));
    let (_stages, cube) = cube(builder);
    assert_eq!(answer(&cube, Query::new(["routed"])), "21");
    assert_eq!(answer(&cube, Query::new(["routed"]).by(["desk"])), "FX,13.0|Rates,18.0");
    let error = |columns: &[&str]| {
        cube.query(Query::new(["routed"]).by(columns.iter().copied())).unwrap().wait().unwrap_err()
    };
    let other = error(&["ccy", "desk"]).to_string();
    assert!(other.contains("chose \"secret\", which is not among its underlyings: pnl"), "{other}");
    let panicked = error(&["ccy", "day", "desk"]);
    assert!(matches!(panicked, CubeError::Panicked { measure, .. } if measure == "routed"));
}

#[test]
fn rules_are_text() {
    let text = LOTS.to_owned()
        + r#"
        [[measure]]
        name = "own currency"
        kind = "columnator"
        underlyings = ["lots"]
        require = ["ccy"]

        [[measure]]
        name = "shown"
        kind = "routing"
        default = "own currency"
        rules = [
            { to = "lots", not_by = ["ccy"] },
            { to = "lots", by = ["desk"], where = "ccy <> 'GBP'", marker = "all" },
        ]
    "#;
    let (_stages, cube) = cube(read(&text));
    assert_eq!(answer(&cube, Query::new(["shown"])), "21");
    assert_eq!(answer(&cube, Query::new(["shown"]).by(["ccy"])), ",4|EUR,3|GBP,6|USD,8");
}

#[test]
fn what_is_wrong_is_told() {
    let problem = |name: &str, measure: filbert_cube::Measure| {
        Forest::builder()
            .measure("a", Aggregator::count())
            .measure(name, measure)
            .build()
            .unwrap_err()
            .to_string()
    };
    let cases: Vec<(filbert_cube::Measure, &str)> = vec![
        (Columnator::require(&["a"], &[]).into(), "`require` or in `reject`"),
        (Columnator::require(&[], &["c"]).into(), "combines no measure"),
        (
            Columnator { reject: vec!["c".into()], ..Columnator::require(&["a"], &["c"]) }.into(),
            "never has a value",
        ),
        (Routing::new().default_to("a").into(), "neither rules nor a function"),
        (Routing::new().rule(Route::to("a")).into(), "rule 1 has no condition; make \"a\" the default"),
        (Routing::new().function("f", &[]).into(), "`underlyings`"),
        (Routing::new().function("f", &["a"]).into(), "no route is registered as \"f\""),
        (Routing::new().rule(Route::to("b").by(&["c"])).into(), "there is no measure \"b\""),
        (Routing::new().rule(Route::to("a").by(&["c"])).default_to("m").into(), "m -> m"),
    ];
    for (measure, expected) in cases {
        let told = problem("m", measure);
        assert!(told.contains(expected), "{told}");
    }
    let listed = Routing { underlyings: vec!["a".into()], ..Routing::new().rule(Route::to("a").by(&["c"])) };
    assert!(problem("m", listed.into()).contains("only a function needs `underlyings`"));
}

/// What is stricter is found by the values that are left, however the two are written.
#[test]
fn a_rule_holds_under_a_stricter_filter() {
    let routing = Routing::new().rule(Route::to("rows").filter("lots < 5".parse().unwrap()));
    let builder = forest().measure("rows", Aggregator::count()).measure("routed", routing.default_to("lots"));
    let (_stages, cube) = cube(builder);
    let routed = |filter: &str| answer(&cube, Query::new(["routed"]).filter(filter.parse().unwrap()));
    assert_eq!(routed("lots < 3 or lots = 4"), "3");
    assert_eq!(routed("lots in (1, 2)"), "2");
    assert_eq!(routed("desk = 'FX' and not lots >= 4 and lots is not null"), "2");
    assert_eq!(routed("(lots < 2 and desk = 'FX') or (lots = 2 and ccy = 'EUR')"), "2");
    assert_eq!(routed("lots < 6"), "15");
    assert_eq!(routed("not lots >= 4"), "6", "also where there is no value, of which the rule says nothing");
}

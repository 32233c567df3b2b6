//! Columns that a table does not have: who wants them is told, and what to do.

mod trades;

use filbert_cube::{
    Aggregation, Aggregator, Combination, Combinator, Cube, Filter, Filtrator, ForestBuilder, ForestText,
    Partitionor, Query, Shiftor, Unfiltrator,
};
use filbert_pool::Stages;
use trades::{answer, cube, forest, trades};

/// What a query is refused with.
fn told(cube: &Cube, query: Query) -> String {
    cube.query(query).unwrap().wait().unwrap_err().to_string()
}

const ALL: &str = "it has: ccy, day, desk, lots, pnl";

/// The column was named without the measure, so that nobody knew where in a long forest to look.
#[test]
fn the_measure_that_names_an_unknown_column_is_told() {
    let text = r#"
        [[measure]]
        name = "result"
        kind = "aggregator"
        column = "pnll"

        [[measure]]
        name = "in euro"
        kind = "filtrator"
        underlying = "result"
        filter = "ccy = 'EUR'"
    "#;
    let (_stages, of_text) = cube(ForestText::from_toml(text).unwrap().into_builder());
    let slip = format!("measure \"result\": table \"trades\" has no column \"pnll\"; {ALL}; is it \"pnl\"?");
    assert_eq!(told(&of_text, Query::new(["result"]).by(["desk"])), slip);
    // Also below others.
    assert_eq!(told(&of_text, Query::new(["in euro"])), slip);

    let by_desk = Partitionor::new(&["lots"], &["dsk"], Combination::Sum, Aggregation::Max);
    let (_stages, cube) = cube(
        forest()
            .measure("best", by_desk)
            .measure("mean", Aggregator::new("dsk", Aggregation::Avg))
            .measure("only FX", Filtrator::new("pnl", Filter::equals("dsk", "FX")))
            .measure("all desks", Unfiltrator::suppress("lots", &["dsk"]))
            .measure("at FX", Shiftor::to("lots", "dsk", "FX"))
            .measure("above", Combinator::sum(&["lots", "only FX"])),
    );
    for (asked, blamed) in [
        ("best", "best"),
        ("mean", "mean"),
        ("only FX", "only FX"),
        ("all desks", "all desks"),
        ("at FX", "at FX"),
        ("above", "only FX"),
    ] {
        let slip =
            format!("measure {blamed:?}: table \"trades\" has no column \"dsk\"; {ALL}; is it \"desk\"?");
        assert_eq!(told(&cube, Query::new([asked]).by(["ccy"])), slip);
    }
    // Whoever needs none of them is answered.
    assert_eq!(answer(&cube, Query::new(["lots"])), "21");
    // What the query names itself is nobody else's mistake.
    let slip = format!("table \"trades\" has no column \"dsk\"; {ALL}; is it \"desk\"?");
    assert_eq!(told(&cube, Query::new(["above"]).by(["dsk"])), slip);
    assert_eq!(told(&cube, Query::new(["lots"]).filter(Filter::equals("dsk", "FX"))), slip);
}

/// What a user may see is below all measures, and none of them wants it.
#[test]
fn rights_that_name_an_unknown_column_are_no_measures_mistake() {
    let stages = Stages::start().unwrap();
    let built = Cube::builder(&stages, forest().build().unwrap(), trades());
    let cube = built.rights(|_| Filter::equals("dsk", "FX")).build().unwrap();
    let slip = format!("table \"trades\" has no column \"dsk\"; {ALL}; is it \"desk\"?");
    assert_eq!(told(&cube, Query::new(["lots"])), slip);
}

#[test]
fn what_is_checked_with_the_cube_says_whose_it_is_too() {
    let stages = Stages::start().unwrap();
    let refused = |forest: ForestBuilder| {
        Cube::builder(&stages, forest.build().unwrap(), trades()).build().unwrap_err().to_string()
    };
    let calculated = forest().column("twice", "lts * 2".parse().unwrap());
    let slip = format!("column \"twice\": table \"trades\" has no column \"lts\"; {ALL}; is it \"lots\"?");
    assert_eq!(refused(calculated), slip);
    let slip = format!("measure \"pnl\": table \"trades\" has no column \"dsk\"; {ALL}; is it \"desk\"?");
    assert_eq!(refused(forest().shard("pnl", &["dsk"])), slip);
}

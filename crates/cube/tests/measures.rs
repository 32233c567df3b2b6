//! Every kind of measure over a small table, end to end.

mod trades;

use arrow::array::{Float64Array, RecordBatch};
use filbert_cube::{
    Aggregation, Aggregator, Combination, Combinator, Cube, CubeError, Custom, CustomMeasure, Decomposition,
    Dispatchor, Filter, Filtrator, Forest, Partitionor, Position, Query, Shiftor, Unfiltrator,
};
use filbert_pool::Stages;
use std::sync::Arc;
use trades::{answer, cube, forest, trades};

#[test]
fn aggregators() {
    let of = |name: &str, column: &str, aggregation| (name.to_owned(), Aggregator::new(column, aggregation));
    let mut builder = Forest::builder().measure("rows", Aggregator::count());
    for (name, aggregator) in [
        of("sum", "lots", Aggregation::Sum),
        of("count", "pnl", Aggregation::Count),
        of("avg", "lots", Aggregation::Avg),
        of("min", "pnl", Aggregation::Min),
        of("max", "pnl", Aggregation::Max),
        of("product", "lots", Aggregation::Product),
        of("distinct", "ccy", Aggregation::CountDistinct),
        of("second", "lots", Aggregation::Largest(2)),
        of("least", "pnl", Aggregation::Smallest(1)),
    ] {
        builder = builder.measure(&name, aggregator);
    }
    let (_stages, cube) = cube(builder);
    let all = ["rows", "sum", "count", "avg", "min", "max", "product", "distinct", "second", "least"];
    assert_eq!(answer(&cube, Query::new(all)), "6,21,5,3.5,1.0,16.0,720.0,3,5,1.0");
    assert_eq!(
        answer(&cube, Query::new(all).by(["desk"])),
        "FX,4,14,3,3.5,1.0,8.0,72.0,3,4,1.0|Rates,2,7,2,3.5,2.0,16.0,10.0,2,2,2.0"
    );
    assert_eq!(answer(&cube, Query::new(["sum"]).filter(Filter::equals("ccy", "CHF"))), "");
    assert_eq!(answer(&cube, Query::new(["count", "rows"]).by(["ccy"])), ",1,1|EUR,2,2|GBP,,1|USD,2,2");
}

#[test]
fn combinators() {
    let builder = forest()
        .cell_function("double", |cells| cells[0].map(|value| 2.0 * value))
        .measure("both", Combinator::sum(&["pnl", "lots"]))
        .measure("difference", Combinator::new(&["pnl", "lots"], Combination::Subtraction))
        .measure("product", Combinator::new(&["pnl", "lots"], Combination::Product))
        .measure("ratio", Combinator::divide("pnl", "lots"))
        .measure("first", Combinator::new(&["pnl", "lots"], Combination::Coalesce))
        .measure("formula", Combinator::expression("coalesce(pnl, 0) * 10 + lots").unwrap())
        .measure("doubled", Combinator::function(&["pnl"], "double"));
    let (_stages, cube) = cube(builder);
    let all = ["both", "difference", "product", "ratio", "first", "formula", "doubled"];
    assert_eq!(
        answer(&cube, Query::new(all).by(["ccy"])),
        ",12.0,4.0,32.0,2.0,8.0,84.0,16.0|EUR,6.0,0.0,9.0,1.0,3.0,33.0,6.0|GBP,6.0,-6.0,,,6.0,6.0,|USD,28.0,12.0,160.0,2.5,20.0,208.0,40.0"
    );
}

#[test]
fn filters_are_added_and_dropped() {
    let builder = forest()
        .measure("euro", Filtrator::new("lots", Filter::equals("ccy", "EUR")))
        .measure("all", Unfiltrator::suppress("lots", &["desk"]))
        .measure("only ccy", Unfiltrator::retain("lots", &["ccy"]))
        .measure("part", Combinator::divide("lots", "all"));
    let (_stages, cube) = cube(builder);
    let query = Query::new(["lots", "euro", "all", "only ccy", "part"])
        .filter("desk = 'FX' and day = '1970-01-01'".parse().unwrap());
    assert_eq!(answer(&cube, query), "4,1,4,21,1.0");
    let query = Query::new(["lots", "all", "part"]).by(["ccy"]).filter("desk = 'FX'".parse().unwrap());
    assert_eq!(answer(&cube, query), ",4,4,1.0|EUR,1,3,0.3333333333333333|GBP,6,6,1.0|USD,3,8,0.375");
}

#[test]
fn shifts() {
    let builder = forest()
        .measure("day before", Shiftor::offset("lots", "day", -1))
        .measure("in euro", Shiftor::to("lots", "ccy", "EUR"))
        .measure("change", Combinator::new(&["lots", "day before"], Combination::Subtraction));
    let (_stages, cube) = cube(builder);
    let query = Query::new(["lots", "day before", "change"]).by(["day", "desk"]);
    assert_eq!(answer(&cube, query), "1970-01-01,FX,4,,4|1970-01-02,FX,10,4,6|1970-01-02,Rates,7,,7");
    let query = Query::new(["day before"]).filter("day = '1970-01-02'".parse().unwrap());
    assert_eq!(answer(&cube, query), "4");
    let query = Query::new(["in euro"]).by(["ccy", "desk"]).filter("ccy = 'USD'".parse().unwrap());
    assert_eq!(answer(&cube, query), "USD,FX,1|USD,Rates,2");
}

#[test]
fn partitionors() {
    let builder = forest()
        .measure("best", Partitionor::new(&["lots"], &["ccy"], Combination::Sum, Aggregation::Max))
        .measure(
            "products",
            Partitionor::new(&["pnl", "lots"], &["ccy", "desk"], Combination::Product, Aggregation::Sum),
        );
    let (_stages, cube) = cube(builder);
    assert_eq!(answer(&cube, Query::new(["best", "products"])), "8,129.0");
    assert_eq!(answer(&cube, Query::new(["best", "products"]).by(["desk"])), "FX,6,45.0|Rates,5,84.0");
}

#[test]
fn dispatchors() {
    let pairs = [("EUR", "G7"), ("EUR", "old world"), ("USD", "G7")];
    let pairs = pairs.map(|(from, to)| (from.into(), to.into())).to_vec();
    let weights =
        vec![("EUR".into(), 1.into(), 0.25), ("EUR".into(), 2.into(), 0.75), ("USD".into(), 2.into(), 1.0)];
    let builder = forest()
        .measure("groups", Dispatchor::new("lots", "ccy", "group", Decomposition::Pairs(pairs)))
        .measure("buckets", Dispatchor::new("lots", "ccy", "bucket", Decomposition::Weights(weights)));
    let (_stages, cube) = cube(builder);
    assert_eq!(answer(&cube, Query::new(["groups"]).by(["group"])), "G7,11|old world,3");
    assert_eq!(
        answer(&cube, Query::new(["groups"]).by(["group", "ccy"])),
        "G7,EUR,3|G7,USD,8|old world,EUR,3"
    );
    assert_eq!(answer(&cube, Query::new(["groups"])), "21");
    let either = "group in ('G7', 'old world')".parse::<Filter>().unwrap();
    assert_eq!(answer(&cube, Query::new(["groups"]).filter(either.clone())), "11");
    assert_eq!(
        answer(&cube, Query::new(["groups"]).by(["group"]).filter("group = 'G7'".parse().unwrap())),
        "G7,11"
    );
    assert_eq!(answer(&cube, Query::new(["buckets"]).by(["bucket"])), "1,0.75|2,10.25");
    assert_eq!(answer(&cube, Query::new(["buckets"]).filter("bucket = 2".parse().unwrap())), "10.25");
}

/// What part of the total over all desks a slice has.
struct PartOfDesks;

impl CustomMeasure for PartOfDesks {
    fn reads(&self, underlying: &str, position: &Position) -> Position {
        let mut position = position.clone();
        if underlying == "pnl" {
            position.group_by.retain(|column| column != "desk");
        }
        position
    }

    fn produce(&self, _position: &Position, inputs: &[RecordBatch]) -> Result<RecordBatch, String> {
        Ok(inputs[1].slice(0, inputs[1].num_rows().min(1)))
    }
}

#[test]
fn custom_measures_and_columns() {
    let builder = forest()
        .custom("first", PartOfDesks)
        .column("size", "if(lots >= 4, 'large', 'small')".parse().unwrap())
        .column("notional", "pnl * lots".parse().unwrap())
        .measure("first", Custom::new(&["pnl", "lots"], "first"))
        .measure("notional", Aggregator::sum("notional"));
    let (_stages, cube) = cube(builder);
    assert_eq!(answer(&cube, Query::new(["first"]).by(["desk"])), "FX,14");
    assert_eq!(answer(&cube, Query::new(["notional", "lots"]).by(["size"])), "large,112.0,15|small,17.0,6");
    assert_eq!(
        answer(&cube, Query::new(["lots"]).filter("size = 'large' and notional > 50".parse().unwrap())),
        "5"
    );
}

#[test]
fn totals_stand_below_and_failures_in_their_place() {
    let builder = forest()
        .function("broken", |_| Err("no luck".to_owned()))
        .measure("broken", Combinator::function(&["lots"], "broken"))
        .measure("after", Combinator::sum(&["broken", "lots"]));
    let (_stages, cube) = cube(builder);
    let query = Query::new(["lots"]).by(["desk", "day"]).totals(["desk", "day"]);
    let expected = "FX,1970-01-01,4|FX,1970-01-02,10|FX,*,14|Rates,1970-01-02,7|Rates,*,7|*,1970-01-01,4|*,1970-01-02,17|*,*,21";
    assert_eq!(answer(&cube, query), expected);
    let error = cube.query(Query::new(["after"])).unwrap().wait().unwrap_err();
    assert!(
        matches!(&error, CubeError::Computation { place, .. } if place == "measure \"broken\""),
        "{error:?}"
    );
    let result = cube.query(Query::new(["after", "lots"]).errors_are_values()).unwrap().wait().unwrap();
    assert_eq!((result.failures().len(), result.rows()), (1, 1));
    assert!(result.to_csv().unwrap().contains("no luck"));
    assert!(cube.query(Query::new(["nope"])).unwrap().wait().is_err());
    assert_eq!(answer(&cube, Query::new(["nope", "lots"]).unknown_measures_are_empty()), ",21");
}

#[test]
fn rights_are_part_of_every_query() {
    let stages = Stages::start().unwrap();
    let forest = forest().measure("all", Unfiltrator::retain("lots", &["desk"])).build().unwrap();
    let rights =
        |user: Option<&str>| if user == Some("boss") { Filter::All } else { Filter::equals("ccy", "EUR") };
    let cube = Cube::builder(&stages, forest, trades()).rights(rights).build().unwrap();
    assert_eq!(answer(&cube, Query::new(["lots"]).user("boss")), "21");
    assert_eq!(answer(&cube, Query::new(["lots"])), "3");
    // A measure that drops filters does not drop rights.
    assert_eq!(answer(&cube, Query::new(["all"]).filter("day = '1970-01-01'".parse().unwrap())), "3");
}

#[test]
fn a_chain_of_thousands_is_one_pass() {
    let mut builder = forest().measure("m0", Aggregator::sum("lots"));
    for number in 1..=6_000 {
        let formula = format!("m{} + 1", number - 1);
        builder = builder.measure(&format!("m{number}"), Combinator::expression(&formula).unwrap());
    }
    // Each of a tower is twice the one below: without sharing it would be a million additions.
    builder = builder.measure("t0", Aggregator::sum("lots"));
    for number in 1..=20 {
        let below = format!("t{}", number - 1);
        builder = builder.measure(&format!("t{number}"), Combinator::sum(&[&below, &below]));
    }
    let (_stages, cube) = cube(builder);
    let result = cube.query(Query::new(["m6000", "t20"]).by(["desk"]).explain()).unwrap().wait().unwrap();
    assert_eq!(result.to_csv().unwrap(), "desk,m6000,t20\nFX,6014,14680064\nRates,6007,7340032\n");
    let how = result.explanation().unwrap();
    assert!(
        how.to_string().contains("one pass with 6019 others"),
        "{}",
        how.to_string().lines().nth(2).unwrap()
    );
    assert!(how.peak_bytes() < 1 << 20, "{} bytes", how.peak_bytes());
}

#[test]
fn slices_of_other_partitions_are_found() {
    // Grouped by the shifted column alone, a slice and the one it reads lie in different partitions.
    let (_stages, cube) = cube(forest().measure("before", Shiftor::offset("lots", "day", -1)));
    assert_eq!(answer(&cube, Query::new(["before"]).by(["day"]).partitions(7)), "1970-01-02,4");
    assert_eq!(answer(&cube, Query::new(["lots"]).by(["day", "ccy"]).partitions(1)).matches('|').count(), 5);
}

#[test]
fn texts_have_a_least_and_a_greatest() {
    let builder = forest()
        .measure("first", Aggregator::new("ccy", Aggregation::Min))
        .measure("last", Aggregator::new("ccy", Aggregation::Max))
        .measure("euro", Filtrator::new("last", Filter::equals("desk", "Rates")));
    let (_stages, cube) = cube(builder);
    assert_eq!(
        answer(&cube, Query::new(["first", "last", "euro"]).by(["desk"])),
        "FX,EUR,USD,|Rates,EUR,USD,USD"
    );
    // Totals are rolled up from the finer level; a slice whose texts are all missing has none.
    let query = Query::new(["first", "last"]).by(["desk", "lots"]).totals(["desk", "lots"]);
    let all = answer(&cube, query);
    assert!(all.ends_with("*,*,EUR,USD") && !all.contains("FX,4,"), "{all}");
}

/// Its value is the length of the query's marker.
struct Marked;

impl CustomMeasure for Marked {
    fn produce(&self, position: &Position, inputs: &[RecordBatch]) -> Result<RecordBatch, String> {
        let marker = position.marker.as_ref().ok_or("a marker is needed")?;
        let length = Float64Array::from(vec![marker.len() as f64; inputs[0].num_rows()]);
        let values = Arc::new(length) as _;
        RecordBatch::try_from_iter([("value", values)]).map_err(|error| error.to_string())
    }
}

#[test]
fn markers_reach_custom_measures() {
    let builder = forest().custom("marked", Marked).measure("marked", Custom::new(&["pnl"], "marked"));
    let (_stages, cube) = cube(builder);
    assert_eq!(answer(&cube, Query::new(["marked"]).marker("stress")), "6.0");
    assert_eq!(answer(&cube, Query::new(["marked"]).marker("up")), "2.0");
    let error = cube.query(Query::new(["marked"])).unwrap().wait().unwrap_err();
    assert!(error.to_string().contains("a marker is needed"), "{error}");
}

#[test]
fn debugging_shows_the_first_slices_of_each_step() {
    let builder = forest().measure("each", Combinator::divide("pnl", "lots"));
    let (_stages, cube) = cube(builder);
    for what in ["read", "from the cache"] {
        let result = cube.query(Query::new(["each"]).by(["desk"]).debug()).unwrap().wait().unwrap();
        let how = result.explanation().unwrap().to_string();
        assert!(how.contains("| desk  | value |") && how.contains("| Rates | 18.0  |"), "{what}: {how}");
        assert!(how.contains("| Rates | 7     |"), "{what}: {how}");
    }
    let plain = cube.query(Query::new(["each"]).by(["desk"]).explain()).unwrap().wait().unwrap();
    assert!(!plain.explanation().unwrap().to_string().contains("| desk"));
}

/// Leaves of one pass share its slices, and each told those of the others as its own.
#[test]
fn explanations_count_slices_with_a_value() {
    let of = |ccy: &str| Filtrator::new("lots", Filter::equals("ccy", ccy));
    let builder = forest()
        .measure("euro", of("EUR"))
        .measure("dollar", of("USD"))
        .measure("both", Combinator::new(&["euro", "dollar"], Combination::Product));
    let (_stages, cube) = cube(builder);
    for what in ["read", "from the cache"] {
        let query = Query::new(["euro", "dollar", "both"]).by(["ccy", "desk", "day"]).explain();
        let how = cube.query(query).unwrap().wait().unwrap().explanation().unwrap().to_string();
        let slices = |of: &str| {
            let line = how.lines().find(|line| line.contains(of)).unwrap_or_else(|| panic!("{of}: {how}"));
            line.split(", ").find_map(|part| Some(part.split_once(" group")?.0)).unwrap().to_owned()
        };
        let found = ["where ccy = 'EUR'", "where ccy = 'USD'", "both: "].map(slices);
        assert_eq!(found, ["2", "2", "0"], "{what}: {how}");
    }
}

/// A combination that is read by another one of a later task was not kept for it.
#[test]
fn a_combination_is_compared_with_what_is_made_of_it() {
    let each = Combinator::divide("pnl", "lots");
    let by_desk = Partitionor::new(&["each"], &["desk"], Combination::Sum, Aggregation::Sum);
    let builder = forest()
        .measure("each", each)
        .measure("each of desks", by_desk)
        .measure("difference", Combinator::new(&["each of desks", "each"], Combination::Subtraction));
    let (_stages, cube) = cube(builder);
    // FX has 13 of 14 lots, Rates 18 of 7, both 31 of 21.
    let expected = (13.0 / 14.0 + 18.0 / 7.0) - 31.0 / 21.0;
    assert_eq!(answer(&cube, Query::new(["difference"])), format!("{expected:?}"));
    assert_eq!(answer(&cube, Query::new(["difference"]).by(["desk"])), "FX,0.0|Rates,0.0");
}

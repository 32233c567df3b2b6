//! Dispatchors that do more than look up: running totals, numbers between others, copies.

mod trades;

use arrow::array::{Int64Array, RecordBatch, StringArray};
use filbert_cube::{
    Aggregation, Aggregator, Coordinate, Cube, CubeError, Custom, CustomMeasure, Dispatchor, Filter, Forest,
    ForestBuilder, MemoryTable, Position, Query,
};
use filbert_pool::{StageKind, Stages};
use std::sync::Arc;
use trades::{LOTS, answer, cube, forest, read};

#[test]
fn running_totals() {
    let builder = forest()
        .measure("so far", Dispatchor::cumulating("lots", "day"))
        .measure("best so far", Dispatchor::cumulating("lots", "day").aggregation(Aggregation::Max))
        .measure("days so far", Dispatchor::cumulating("lots", "day").aggregation(Aggregation::Count))
        .measure("by ccy", Dispatchor::cumulating("lots", "ccy"));
    let (_stages, cube) = cube(builder);
    let all = ["lots", "so far", "best so far", "days so far"];
    assert_eq!(answer(&cube, Query::new(all).by(["day"])), "1970-01-01,4,4,4,1|1970-01-02,17,21,17,2");
    // A total goes on where nothing is added: the dollars of FX on the second day.
    assert_eq!(
        answer(
            &cube,
            Query::new(["lots", "so far"]).by(["ccy", "desk", "day"]).filter(Filter::equals("ccy", "USD"))
        ),
        "USD,FX,1970-01-01,3,3|USD,FX,1970-01-02,,3|USD,Rates,1970-01-02,5,5"
    );
    // Neither grouped nor filtered by the day: the underlying; filtered only: up to the last day that is wanted.
    assert_eq!(answer(&cube, Query::new(["so far", "best so far"])), "21,21");
    let first = Query::new(["so far", "best so far"]).filter("day = '1970-01-01'".parse().unwrap());
    assert_eq!(answer(&cube, first), "4,4");
    let second = Query::new(["so far", "best so far"]).filter("day = '1970-01-02'".parse().unwrap());
    assert_eq!(answer(&cube, second.clone()), "21,17");
    assert_eq!(answer(&cube, second.by(["day"])), "1970-01-02,21,17");
    let between = Query::new(["so far"]).filter("day > '1970-01-01' and day < '1970-03-01'".parse().unwrap());
    assert_eq!(answer(&cube, between.by(["day"])), "1970-01-02,21");
    let before = Query::new(["so far"]).filter("day = '1969-12-31'".parse().unwrap());
    assert_eq!(answer(&cube, before), "");
    // Texts have an order too; what has no currency stays where it is.
    assert_eq!(answer(&cube, Query::new(["by ccy"]).by(["ccy"])), ",4|EUR,3|GBP,9|USD,17");
    let mixed = Query::new(["so far"]).filter("day = '1970-01-01' or ccy = 'EUR'".parse().unwrap());
    let error = cube.query(mixed).unwrap().wait().unwrap_err().to_string();
    assert!(error.contains("join both by and"), "{error}");
    let explained = cube.query(Query::new(["so far"]).by(["day"]).explain()).unwrap().wait().unwrap();
    let text = explained.explanation().unwrap().to_string();
    assert!(text.contains("so far: cumulate day Sum, by day"), "{text}");
}

/// Days in many books: as many slices as are spread over partitions and threads.
fn many(books: i64, days: i64) -> MemoryTable {
    table((0..books).flat_map(|book| (book % 3..days).step_by(2).map(move |day| (book, day))).collect())
}

/// Books with the days that they have rows of.
fn table(rows: Vec<(i64, i64)>) -> MemoryTable {
    let batch = RecordBatch::try_from_iter([
        (
            "book",
            Arc::new(rows.iter().map(|(book, _)| Some(format!("b{book}"))).collect::<StringArray>()) as _,
        ),
        ("day", Arc::new(rows.iter().map(|(_, day)| Some(*day)).collect::<Int64Array>()) as _),
        ("lots", Arc::new(rows.iter().map(|(book, day)| Some(book * 7 + day)).collect::<Int64Array>()) as _),
    ])
    .unwrap();
    MemoryTable::new("many", batch.schema(), vec![batch]).unwrap()
}

fn so_far() -> ForestBuilder {
    Forest::builder()
        .measure("lots", Aggregator::sum("lots"))
        .measure("so far", Dispatchor::cumulating("lots", "day"))
        .measure("median so far", Dispatchor::cumulating("lots", "day").aggregation(Aggregation::Median))
}

#[test]
fn running_totals_are_the_same_for_any_parallelism_and_partitions() {
    let stages = Stages::builder().threads(StageKind::Cpu, 4).start().unwrap();
    let cube = Cube::builder(&stages, so_far().build().unwrap(), many(50, 60))
        .parallel_from_rows(0)
        .build()
        .unwrap();
    let ask = |columns: &[&str], parallelism, partitions| {
        let query = Query::new(["so far", "median so far"]).by(columns.iter().copied());
        cube.query(query.parallelism(parallelism).partitions(partitions))
            .unwrap()
            .wait()
            .unwrap()
            .to_csv()
            .unwrap()
    };
    for columns in [&["day"][..], &["book", "day"]] {
        let first = ask(columns, 1, 1);
        for (parallelism, partitions) in [(2, 1), (1, 8), (4, 8), (3, 32)] {
            assert_eq!(ask(columns, parallelism, partitions), first);
        }
    }
    let by_book = ask(&["book", "day"], 2, 8);
    let lots =
        |book: i64, until: i64| -> i64 { (book % 3..=until).step_by(2).map(|day| book * 7 + day).sum() };
    for (book, day) in [(0, 0), (1, 2), (2, 59), (49, 30)] {
        assert!(by_book.contains(&format!("b{book},{day},{},", lots(book, day))), "{book} {day}");
    }
}

#[test]
fn running_totals_count_their_memory() {
    let stages = Stages::start().unwrap();
    // Few cells go to many.
    let once = table((0..600).map(|book| (book, book)).collect());
    let cube = Cube::builder(&stages, so_far().build().unwrap(), once).build().unwrap();
    let query = |measure: &str| Query::new([measure]).by(["book", "day"]).memory_limit(2 << 20);
    cube.query(query("lots")).unwrap().wait().unwrap();
    let error = cube.query(query("so far")).unwrap().wait().unwrap_err();
    assert!(matches!(error, CubeError::OverMemory { .. }), "{error}");
}

#[test]
fn numbers_between_others_and_copies() {
    let builder = forest()
        .measure("bucketed", Dispatchor::linear("pnl", "lots", "bucket", &[0.0, 4.0, 5.0]))
        .measure("scenarios", Dispatchor::duplicating("pnl", "scenario", ["base", "up"]));
    let (_stages, cube) = cube(builder);
    // Lots 1 to 6 with 1, 2, 4, 8, 16 and no pnl.
    assert_eq!(answer(&cube, Query::new(["bucketed"]).by(["bucket"])), "0,2.75|4,12.25|5,16.0");
    assert_eq!(answer(&cube, Query::new(["bucketed"])), "31.0");
    assert_eq!(answer(&cube, Query::new(["bucketed"]).filter(Filter::equals("bucket", 4))), "12.25");
    let query = Query::new(["scenarios"]).by(["desk", "scenario"]);
    assert_eq!(answer(&cube, query), "FX,base,13.0|FX,up,13.0|Rates,base,18.0|Rates,up,18.0");
    assert_eq!(answer(&cube, Query::new(["scenarios"])), "31.0");
    // Wanted twice, counted once.
    let two = Query::new(["scenarios"]).filter(Filter::is_in("scenario", ["base", "up"]));
    assert_eq!(answer(&cube, two), "31.0");
    assert_eq!(answer(&cube, Query::new(["scenarios"]).filter(Filter::equals("scenario", "down"))), "");
    let (_stages, cube) =
        trades::cube(forest().measure("no", Dispatchor::linear("pnl", "ccy", "n", &[0.0, 1.0])));
    let error = cube.query(Query::new(["no"]).by(["n"])).unwrap().wait().unwrap_err().to_string();
    assert!(error.contains("only numbers lie between others"), "{error}");
}

#[test]
fn they_are_text() {
    let text = LOTS.to_owned()
        + r#"
        [[measure]]
        name = "so far"
        kind = "dispatchor"
        underlying = "lots"
        from = "day"
        to = "day"
        decomposition = "cumulating"

        [[measure]]
        name = "copies"
        kind = "dispatchor"
        underlying = "so far"
        to = "scenario"
        decomposition = { duplicating = ["base", "up"] }

        [[measure]]
        name = "buckets"
        kind = "dispatchor"
        underlying = "lots"
        from = "lots"
        to = "bucket"
        decomposition = { linear = [0, 2.5, 5] }
    "#;
    let (_stages, cube) = cube(read(&text));
    let query = Query::new(["copies"]).by(["day", "scenario"]);
    assert_eq!(answer(&cube, query), "1970-01-01,base,4|1970-01-01,up,4|1970-01-02,base,21|1970-01-02,up,21");
    assert_eq!(
        answer(&cube, Query::new(["buckets"]).by(["bucket"]).filter("lots = 1".parse().unwrap())),
        "0.0,0.6|2.5,0.4"
    );
}

#[test]
fn what_is_wrong_is_told() {
    let cumulating = Dispatchor::cumulating("a", "day");
    let cases = [
        (Dispatchor { to: "until".into(), ..cumulating.clone() }, "the same name as `from`"),
        (Dispatchor { from: String::new(), to: "x".into(), ..cumulating.clone() }, "a column in `from`"),
        (Dispatchor { to: String::new(), ..cumulating }, "a column in `to`"),
        (Dispatchor::linear("a", "x", "y", &[1.0]), "two or more numbers"),
        (Dispatchor::linear("a", "x", "y", &[1.0, 1.0]), "greater than the one before"),
        (Dispatchor::linear("a", "x", "y", &[1.0, f64::NAN]), "greater than the one before"),
        (Dispatchor::linear("a", "x", "x", &[1.0, 2.0]), "a name of its own"),
        (Dispatchor { from: "x".into(), ..Dispatchor::duplicating("a", "y", ["b"]) }, "leave `from` out"),
        (Dispatchor::duplicating("a", "y", ["b", "c", "b"]), "b is twice in its list"),
        (
            Dispatchor::duplicating("a", "y", [Coordinate::from(1), Coordinate::from("1")]),
            "1 is twice in its list",
        ),
    ];
    for (measure, expected) in cases {
        let builder = Forest::builder().measure("a", Aggregator::count()).measure("m", measure);
        let told = builder.build().unwrap_err().to_string();
        assert!(told.contains(expected), "{told}");
    }
}

/// Gives nothing.
struct Nothing;

impl CustomMeasure for Nothing {
    fn produce(&self, _position: &Position, inputs: &[RecordBatch]) -> Result<RecordBatch, String> {
        Ok(inputs[0].slice(0, 0))
    }
}

#[test]
fn nothing_adds_up_to_nothing() {
    let builder = forest()
        .custom("nothing", Nothing)
        .measure("nothing", Custom::new(&["lots"], "nothing"))
        .measure("so far", Dispatchor::cumulating("nothing", "day"))
        .measure(
            "second so far",
            Dispatchor::cumulating("nothing", "day").aggregation(Aggregation::Largest(2)),
        );
    let (_stages, cube) = cube(builder);
    assert_eq!(answer(&cube, Query::new(["so far", "second so far"]).by(["day"])), "");
    assert_eq!(answer(&cube, Query::new(["so far", "second so far"]).by(["day", "ccy"])), "");
}

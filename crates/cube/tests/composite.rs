//! One cube over several.

use arrow::array::{Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::SchemaRef;
use filbert_cube::{
    Aggregation, Aggregator, BatchStream, Combination, Combinator, Composite, Coordinate, Cube, CubeError,
    Custom, CustomMeasure, Decomposition, Dispatchor, DrillThrough, Filter, Filtrator, Forest, ForestBuilder,
    MemoryTable, Partitionor, Position, Query, Table, TableQuery, Unfiltrator,
};
use filbert_pool::{Shutdown, Stages};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn texts(values: &[&str]) -> Arc<StringArray> {
    Arc::new(StringArray::from(values.to_vec()))
}

/// Options: by desk and tenor.
fn options() -> MemoryTable {
    let batch = RecordBatch::try_from_iter([
        ("desk", texts(&["FX", "FX", "Rates"]) as _),
        ("tenor", texts(&["1M", "1Y", "1M"]) as _),
        ("vega", Arc::new(Float64Array::from(vec![1.0, 2.0, 4.0])) as _),
    ]);
    let batch = batch.unwrap();
    MemoryTable::new("options", batch.schema(), vec![batch]).unwrap()
}

/// Cash: by desk and currency.
fn cash() -> MemoryTable {
    let batch = RecordBatch::try_from_iter([
        ("desk", texts(&["FX", "Equity", "Equity"]) as _),
        ("ccy", texts(&["EUR", "EUR", "USD"]) as _),
        ("pnl", Arc::new(Float64Array::from(vec![10.0, 20.0, 40.0])) as _),
        ("lots", Arc::new(Int64Array::from(vec![1, 2, 3])) as _),
    ]);
    let batch = batch.unwrap();
    MemoryTable::new("cash", batch.schema(), vec![batch]).unwrap()
}

fn vega(stages: &Stages) -> Cube {
    let forest = Forest::builder()
        .measure("vega", Aggregator::sum("vega"))
        .measure("count", Aggregator::count())
        .measure("largest", Partitionor::new(&["vega"], &["tenor"], Combination::Sum, Aggregation::Max));
    Cube::builder(stages, forest.build().unwrap(), options()).build().unwrap()
}

fn pnl(stages: &Stages) -> Cube {
    let forest = Forest::builder()
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("count", Aggregator::count())
        .measure("all desks", Unfiltrator::suppress("pnl", &["desk"]))
        .measure(
            "by region",
            Dispatchor::new(
                "pnl",
                "ccy",
                "region",
                Decomposition::Pairs(vec![("EUR".into(), "Europe".into()), ("USD".into(), "America".into())]),
            ),
        );
    Cube::builder(stages, forest.build().unwrap(), cash()).build().unwrap()
}

fn composite(stages: &Stages) -> Composite {
    let builder =
        Composite::builder("books").cube("options", &vega(stages)).prefixed_cube("cash", &pnl(stages));
    builder.missing("ccy", "none").missing_in("cash", "tenor", "spot").build().unwrap()
}

fn books() -> (Stages, Cube) {
    let stages = Stages::start().unwrap();
    let composite = composite(&stages);
    let forest = composite.forest(
        Forest::builder()
            .measure("both", Combinator::sum(&["vega", "cash.pnl"]))
            .measure("euro", Filtrator::new("cash.pnl", Filter::equals("ccy", "EUR"))),
    );
    let cube = Cube::builder(&stages, forest.unwrap(), composite).build().unwrap();
    (stages, cube)
}

/// The answer as CSV without its head, rows by `|`.
fn answer(cube: &Cube, query: Query) -> String {
    let result = cube.query(query).unwrap().wait().unwrap_or_else(|error| panic!("{error}"));
    result.to_csv().unwrap().lines().skip(1).collect::<Vec<_>>().join("|")
}

#[test]
fn measures_of_different_cubes_stand_side_by_side_and_are_combined() {
    let (_stages, cube) = books();
    assert_eq!(answer(&cube, Query::new(["vega", "cash.pnl", "both"])), "7.0,70.0,77.0");
    assert_eq!(
        answer(&cube, Query::new(["vega", "cash.pnl", "both"]).by(["desk"])),
        "Equity,,60.0,60.0|FX,3.0,10.0,13.0|Rates,4.0,,4.0"
    );
    assert_eq!(answer(&cube, Query::new(["count", "cash.count"]).by(["desk"])), "Equity,,2|FX,2,1|Rates,1,");
    // Not rolled up: the largest of a desk's tenors, not of those of all desks.
    assert_eq!(answer(&cube, Query::new(["largest"]).by(["desk"])), "FX,2.0|Rates,4.0");
    assert_eq!(answer(&cube, Query::new(["largest"])), "5.0");
    let totals = Query::new(["largest", "euro"]).by(["desk"]).totals(["desk"]);
    assert_eq!(answer(&cube, totals), "Equity,,20.0|FX,2.0,10.0|Rates,4.0,|*,5.0,30.0");
}

#[test]
fn a_column_that_a_cube_does_not_have_is_constant_there() {
    let (_stages, cube) = books();
    assert_eq!(answer(&cube, Query::new(["vega", "cash.pnl"]).by(["ccy"])), "EUR,,30.0|USD,,40.0|none,7.0,");
    assert_eq!(answer(&cube, Query::new(["vega", "cash.pnl"]).by(["tenor"])), "1M,5.0,|1Y,2.0,|spot,,70.0");
    let filtered = |filter: Filter| answer(&cube, Query::new(["vega", "cash.pnl"]).filter(filter));
    assert_eq!(filtered(Filter::equals("ccy", "EUR")), ",30.0");
    assert_eq!(filtered(Filter::equals("ccy", "EUR").negated()), "7.0,40.0");
    assert_eq!(filtered(Filter::is_in("ccy", ["EUR", "none"])), "7.0,30.0");
    assert_eq!(filtered(Filter::equals("tenor", "spot").or(Filter::equals("desk", "Rates"))), "4.0,70.0");
    // Nothing was said of this one.
    assert_eq!(answer(&cube, Query::new(["vega"]).by(["lots"])), ",7.0");
    assert_eq!(filtered(Filter::is_null("lots")), "7.0,");
    // A column that a Dispatchor of one of them makes.
    assert_eq!(
        answer(&cube, Query::new(["cash.by region", "vega"]).by(["region"])),
        ",,7.0|America,40.0,|Europe,30.0,"
    );
}

#[test]
fn the_cube_is_a_column() {
    let (_stages, cube) = books();
    assert!(cube.columns().contains(&Composite::CUBE.to_owned()));
    assert_eq!(answer(&cube, Query::new(["both"]).by(["~cube"])), "cash,70.0|options,7.0");
    assert_eq!(answer(&cube, Query::new(["both"]).filter(Filter::equals("~cube", "cash"))), "70.0");
    assert_eq!(
        answer(&cube, Query::new(["both"]).by(["~cube", "desk"]).filter(Filter::equals("desk", "FX"))),
        "cash,FX,10.0|options,FX,3.0"
    );
}

#[test]
fn composites_are_cubes_of_composites() {
    let (stages, inner) = books();
    let outer = Composite::builder("outer").prefixed_cube("inner", &inner).build().unwrap();
    let forest = outer.forest(Forest::builder()).unwrap();
    let cube = Cube::builder(&stages, forest, outer).build().unwrap();
    assert_eq!(answer(&cube, Query::new(["inner.both"]).by(["desk"])), "Equity,60.0|FX,13.0|Rates,4.0");
    assert_eq!(answer(&cube, Query::new(["inner.both"]).by(["~cube"])), "inner,77.0");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let stages = Stages::start().unwrap();
    let (vega, pnl) = (vega(&stages), pnl(&stages));
    let refused = |builder: filbert_cube::CompositeBuilder| builder.build().unwrap_err().to_string();
    let two = || Composite::builder("books").cube("options", &vega).prefixed_cube("cash", &pnl);
    let clash = refused(Composite::builder("books").cube("options", &vega).cube("cash", &pnl));
    assert!(
        clash.contains("\"options\" and \"cash\" both have a measure \"count\"")
            && clash.contains("prefixed_cube"),
        "{clash}"
    );
    assert!(refused(two().prefixed_cube("cash", &pnl)).contains("two of its cubes are named \"cash\""));
    assert!(refused(two().missing("tenr", "1M")).contains("none of its cubes has a column \"tenr\""));
    assert!(refused(two().missing("lots", "few")).contains("column \"lots\" is Int64, which few is not"));
    assert!(refused(two().missing_in("credit", "lots", 1)).contains("it has no cube"));
    let batch = RecordBatch::try_from_iter([("desk", Arc::new(Int64Array::from(vec![1])) as _)]).unwrap();
    let other = MemoryTable::new("other", batch.schema(), vec![batch]).unwrap();
    let forest = Forest::builder().measure("desks", Aggregator::count()).build().unwrap();
    let other = Cube::builder(&stages, forest, other).build().unwrap();
    assert!(
        refused(two().cube("other", &other))
            .contains("column \"desk\" is Utf8 in cube \"options\" and Int64 in \"other\"")
    );
    // There are no rows to aggregate, or to calculate.
    let composite = two().build().unwrap();
    let rows = composite.forest(Forest::builder().measure("rows", Aggregator::count())).unwrap();
    let error = Cube::builder(&stages, rows, composite.clone()).build().unwrap_err();
    assert!(error.to_string().contains("no rows to aggregate"), "{error}");
    let column = composite.forest(Forest::builder().column("twice", "pnl * 2".parse().unwrap())).unwrap();
    let error = Cube::builder(&stages, column, composite.clone()).build().unwrap_err();
    assert!(error.to_string().contains("no rows to calculate"), "{error}");
    assert!(matches!(
        composite.forest(Forest::builder().measure("vega", Combinator::sum(&["cash.pnl"]))),
        Err(CubeError::DuplicateMeasure { .. })
    ));
}

#[test]
fn rights_of_the_composite_and_of_its_cubes_hold() {
    let stages = Stages::start().unwrap();
    let forest = Forest::builder()
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("all desks", Unfiltrator::suppress("pnl", &["desk"]))
        .build()
        .unwrap();
    let own = |user: Option<&str>| match user {
        Some("head") => Filter::All,
        _ => Filter::equals("ccy", "EUR"),
    };
    let cash = Cube::builder(&stages, forest, cash()).rights(own).build().unwrap();
    let composite =
        Composite::builder("books").cube("cash", &cash).cube("options", &vega(&stages)).build().unwrap();
    let forest = composite.forest(Forest::builder()).unwrap();
    let rights = |_: Option<&str>| Filter::is_in("desk", ["FX", "Equity"]);
    let cube = Cube::builder(&stages, forest, composite).rights(rights).build().unwrap();
    assert_eq!(answer(&cube, Query::new(["pnl", "vega"])), "30.0,3.0");
    assert_eq!(answer(&cube, Query::new(["pnl", "vega"]).user("head")), "70.0,3.0");
    // A measure of a cube that drops filters does not drop rights.
    assert_eq!(answer(&cube, Query::new(["all desks"]).user("head")), "70.0");
    assert_eq!(answer(&cube, Query::new(["all desks"]).filter(Filter::equals("desk", "FX"))), "30.0");
    for measure in ["pnl", "all desks"] {
        let through = DrillThrough::new(Query::new([measure])).columns(["pnl"]);
        let drilled = cube.drill_through(through).unwrap();
        assert_eq!(drilled.wait().unwrap().to_csv().unwrap(), "pnl\n10.0\n20.0\n");
    }
}

#[test]
fn rows_behind_cells_are_those_of_the_cubes() {
    let (_stages, cube) = books();
    let csv = |through: DrillThrough| cube.drill_through(through).unwrap().wait().unwrap().to_csv().unwrap();
    let query = Query::new(["both"]).by(["desk"]);
    assert_eq!(
        csv(DrillThrough::new(query.clone()).cell("desk", "FX")),
        "~cube,desk,tenor,vega,ccy,pnl,lots\noptions,FX,1M,1.0,none,,\noptions,FX,1Y,2.0,none,,\ncash,FX,spot,,EUR,10.0,1\n"
    );
    let some = DrillThrough::new(query).columns(["ccy", "~cube", "desk"]);
    assert_eq!(
        csv(some.clone().limit(4)),
        "ccy,~cube,desk\nnone,options,FX\nnone,options,FX\nnone,options,Rates\nEUR,cash,FX\n"
    );
    assert!(cube.drill_through(some.limit(4)).unwrap().wait().unwrap().has_more());
    let by_ccy = DrillThrough::new(Query::new(["both"]).by(["ccy"])).columns(["desk"]);
    assert_eq!(csv(by_ccy.clone().cell("ccy", "none")), "desk\nFX\nFX\nRates\n");
    assert_eq!(csv(by_ccy.clone().cell("ccy", "USD")), "desk\nEquity\n");
    assert_eq!(csv(by_ccy.cell("ccy", Coordinate::Null)), "desk\n");
    // Within a cube a cell is still no filter; and a row comes once.
    let slice = DrillThrough::new(Query::new(["cash.all desks", "euro"]).by(["desk"])).columns(["pnl"]);
    assert_eq!(
        csv(slice.cell("desk", "Equity")),
        "pnl,feeds Sum(pnl),feeds Sum(pnl) where ccy = 'EUR'\n20.0,true,true\n40.0,true,false\n"
    );
}

/// Trades by day: a measure that drops filters on the day, and a running total over it.
fn running(stages: &Stages) -> (Cube, Cube) {
    let batch = RecordBatch::try_from_iter([
        ("day", Arc::new(Int64Array::from(vec![1, 2, 3, 4])) as _),
        ("pnl", Arc::new(Float64Array::from(vec![1.0, 2.0, 4.0, 8.0])) as _),
    ]);
    let batch = batch.unwrap();
    let trades = MemoryTable::new("trades", batch.schema(), vec![batch]).unwrap();
    let forest = || {
        Forest::builder()
            .measure("pnl", Aggregator::sum("pnl"))
            .measure("any day", Unfiltrator::suppress("pnl", &["day"]))
    };
    let so_far = |forest: ForestBuilder| forest.measure("so far", Dispatchor::cumulating("any day", "day"));
    let alone = Cube::builder(stages, so_far(forest()).build().unwrap(), trades.clone()).build().unwrap();
    let below = Cube::builder(stages, forest().build().unwrap(), trades).build().unwrap();
    let composite = Composite::builder("books").cube("trades", &below).cube("options", &vega(stages));
    let composite = composite.build().unwrap();
    let forest = composite.forest(so_far(Forest::builder())).unwrap();
    (alone, Cube::builder(stages, forest, composite).build().unwrap())
}

/// Its bound went to the cubes as a filter, which the measure below dropped: all days were added up, and all rows shown.
#[test]
fn a_running_total_ends_where_it_should_over_a_measure_that_drops_filters() {
    let stages = Stages::start().unwrap();
    let (alone, composite) = running(&stages);
    for cube in [&alone, &composite] {
        let second = || Query::new(["so far"]).filter(Filter::equals("day", 2));
        assert_eq!(answer(cube, second().by(["day"])), "2,3.0");
        assert_eq!(answer(cube, second()), "3.0");
        let rows = |through: DrillThrough| {
            let rows = cube.drill_through(through.columns(["pnl"])).unwrap().wait().unwrap();
            rows.to_csv().unwrap()
        };
        let by_day = DrillThrough::new(Query::new(["so far"]).by(["day"]));
        assert_eq!(rows(by_day.cell("day", 3)), "pnl\n1.0\n2.0\n4.0\n");
        assert_eq!(rows(DrillThrough::new(second())), "pnl\n1.0\n2.0\n");
    }
}

/// Codes of texts, which are given as these come, decided the order in which slices were added up.
#[test]
fn sums_of_floats_do_not_depend_on_what_was_asked_before() {
    let stages = Stages::start().unwrap();
    let books: Vec<String> = (0..700).map(|book| format!("book {book}")).collect();
    let cube = |measure: &str, seed: f64| {
        let values = (0..books.len()).map(|book| 1.0 / (seed + (book * book % 991) as f64));
        let batch = RecordBatch::try_from_iter([
            ("book", Arc::new(StringArray::from_iter_values(&books)) as _),
            ("pnl", Arc::new(Float64Array::from_iter_values(values)) as _),
        ]);
        let batch = batch.unwrap();
        let table = MemoryTable::new(measure, batch.schema(), vec![batch]).unwrap();
        let each = Partitionor::new(&["pnl"], &["book"], Combination::Sum, Aggregation::Sum);
        let forest = Forest::builder().measure("pnl", Aggregator::sum("pnl")).measure("each", each);
        Cube::builder(&stages, forest.build().unwrap(), table).build().unwrap()
    };
    let asked = |before: &[&str], parallelism: usize| {
        let composite = Composite::builder("books")
            .prefixed_cube("fx", &cube("fx", 3.0))
            .prefixed_cube("rates", &cube("rates", 7.0))
            .build()
            .unwrap();
        let forest = Forest::builder().measure(
            "all",
            Partitionor::new(&["fx.pnl", "rates.pnl"], &["book"], Combination::Sum, Aggregation::Sum),
        );
        let cube = Cube::builder(&stages, composite.forest(forest).unwrap(), composite).build().unwrap();
        for book in before {
            let query = Query::new(["fx.pnl", "rates.pnl"]).by(["book"]).filter(Filter::like("book", book));
            cube.query(query).unwrap().wait().unwrap();
        }
        let query = Query::new(["all", "fx.each", "rates.each"]).no_cache().parallelism(parallelism);
        answer(&cube, query)
    };
    let first = asked(&[], 1);
    for before in [&["%9%"][..], &["%77%", "%1%", "%5%"], &["%8", "%6"]] {
        for parallelism in [1, 2] {
            assert_eq!(asked(before, parallelism), first, "{before:?}");
        }
    }
}

#[test]
fn explanations_show_the_queries_of_the_cubes() {
    let (_stages, cube) = books();
    let query = Query::new(["both", "euro"]).by(["desk"]).explain();
    let result = cube.query(query).unwrap().wait().unwrap();
    let text = result.explanation().unwrap().to_string();
    assert!(text.contains("cube options, for #") && text.contains("  vega by desk\n"), "{text}");
    assert!(text.contains("  pnl by desk where ccy = 'EUR'"), "{text}");
    let chart = result.explanation().unwrap().mermaid();
    assert!(chart.contains("c0[\"cube options<br/>") && chart.contains("c0 --> s"), "{chart}");
}

#[test]
fn one_account_counts_for_all_cubes() {
    let (_stages, cube) = books();
    let error = cube.query(Query::new(["both"]).by(["desk"]).memory_limit(100)).unwrap().wait().unwrap_err();
    assert!(matches!(error, CubeError::OverMemory { limit: 100, .. }), "{error:?}");
}

/// A table that never answers, or says at once that it cannot.
#[derive(Clone)]
struct Silent {
    fails: bool,
    opened: Arc<AtomicUsize>,
    closed: Arc<AtomicUsize>,
}

impl Silent {
    fn new(fails: bool) -> Self {
        Self { fails, opened: Arc::default(), closed: Arc::default() }
    }

    fn cube(&self, stages: &Stages, measure: &str) -> Cube {
        let forest = Forest::builder().measure(measure, Aggregator::sum("pnl")).build().unwrap();
        Cube::builder(stages, forest, self.clone()).build().unwrap()
    }
}

impl Table for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    fn schema(&self) -> SchemaRef {
        cash().schema()
    }

    fn open(&self, _: &Stages, _: TableQuery) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        self.opened.fetch_add(1, Ordering::Relaxed);
        let closed = Arc::clone(&self.closed);
        let opened = match self.fails {
            true => Err(CubeError::TableFailed { table: "silent".into(), message: "no disk".into() }),
            false => {
                let closing = move || {
                    closed.fetch_add(1, Ordering::Relaxed);
                };
                Ok(BatchStream::new(stream::pending()).on_close(closing))
            }
        };
        futures::future::ready(opened).boxed()
    }
}

/// Two silent cubes, or one that fails, as one.
fn over(stages: &Stages, first: &Silent, second: &Silent) -> Cube {
    let builder = Composite::builder("both").cube("first", &first.cube(stages, "one"));
    let composite = builder.cube("second", &second.cube(stages, "two")).build().unwrap();
    let forest =
        composite.forest(Forest::builder().measure("sum", Combinator::sum(&["one", "two"]))).unwrap();
    Cube::builder(stages, forest, composite).build().unwrap()
}

fn nothing_is_left(stages: &Stages) {
    let report = stages.shutdown(Shutdown::Drain).unwrap();
    assert!(report.left_behind.is_empty() && report.cut_short.is_empty(), "{report:?}");
}

#[test]
fn cubes_are_asked_at_the_same_time_and_all_end_with_the_query() {
    let stages = Stages::start().unwrap();
    let (first, second) = (Silent::new(false), Silent::new(false));
    let cube = over(&stages, &first, &second);
    let query = cube.query(Query::new(["sum"])).unwrap();
    while first.opened.load(Ordering::Relaxed) + second.opened.load(Ordering::Relaxed) < 2 {
        std::thread::yield_now();
    }
    query.cancel();
    assert_eq!(query.wait().unwrap_err(), CubeError::Cancelled);
    // All were waited for.
    assert_eq!((first.closed.load(Ordering::Relaxed), second.closed.load(Ordering::Relaxed)), (1, 1));
    let limit = Duration::from_millis(20);
    let late = cube.query(Query::new(["sum"]).timeout(limit)).unwrap();
    assert_eq!(late.wait().unwrap_err(), CubeError::TimedOut { limit });
    nothing_is_left(&stages);
}

#[test]
fn one_cube_that_fails_ends_the_others() {
    let stages = Stages::start().unwrap();
    let (silent, failing) = (Silent::new(false), Silent::new(true));
    let cube = over(&stages, &silent, &failing);
    let error = cube.query(Query::new(["sum"])).unwrap().wait().unwrap_err();
    assert_eq!(error, CubeError::TableFailed { table: "silent".into(), message: "no disk".into() });
    assert_eq!(silent.opened.load(Ordering::Relaxed), silent.closed.load(Ordering::Relaxed));
    nothing_is_left(&stages);
}

struct Fails;

impl CustomMeasure for Fails {
    fn produce(&self, _: &Position, _: &[RecordBatch]) -> Result<RecordBatch, String> {
        Err("not today".to_owned())
    }
}

#[test]
fn errors_of_cubes_are_values_where_that_is_wanted() {
    let stages = Stages::start().unwrap();
    let forest = Forest::builder()
        .custom("fails", Fails)
        .measure("pnl", Aggregator::sum("pnl"))
        .measure("bad", Custom::new(&["pnl"], "fails"));
    let cash = Cube::builder(&stages, forest.build().unwrap(), cash()).build().unwrap();
    let composite = Composite::builder("books").cube("cash", &cash).build().unwrap();
    let forest = composite.forest(Forest::builder()).unwrap();
    let cube = Cube::builder(&stages, forest, composite).build().unwrap();
    assert!(cube.query(Query::new(["pnl", "bad"])).unwrap().wait().is_err());
    let result = cube.query(Query::new(["pnl", "bad"]).errors_are_values()).unwrap().wait().unwrap();
    assert_eq!(result.failures().len(), 1);
    assert!(
        result.to_csv().unwrap().contains("70.0,\"error: ")
            || result.to_csv().unwrap().contains("70.0,error: ")
    );
}

//! Numbers that are hard to represent: each is compared, grouped by and aggregated as what it is, or refused with the name of its column.

use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch,
    StringArray, Time32SecondArray, TimestampMicrosecondArray, TimestampMillisecondArray,
    TimestampNanosecondArray, TimestampSecondArray, UInt64Array,
};
use arrow::datatypes::{Decimal128Type, Float64Type, Int64Type};
use filbert_cube::{
    Aggregation, Aggregator, Cube, CubeBuilder, CubeError, Filter, Filtrator, Forest, ForestBuilder,
    MemoryTable, Query,
};
use filbert_pool::Stages;
use std::sync::Arc;

fn cube(columns: Vec<(&str, ArrayRef)>, forest: ForestBuilder) -> (Stages, Cube) {
    cube_by(columns, forest, |builder| builder)
}

fn cube_by(
    columns: Vec<(&str, ArrayRef)>,
    forest: ForestBuilder,
    settings: impl FnOnce(CubeBuilder) -> CubeBuilder,
) -> (Stages, Cube) {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let table = MemoryTable::new("t", batch.schema(), vec![batch]).unwrap();
    let stages = Stages::start().unwrap();
    let cube = settings(Cube::builder(&stages, forest.build().unwrap(), table)).build().unwrap();
    (stages, cube)
}

fn answer(cube: &Cube, query: Query) -> Result<RecordBatch, CubeError> {
    cube.query(query).unwrap().wait().map(|answer| answer.batch().clone())
}

fn csv(cube: &Cube, query: Query) -> String {
    let csv = cube.query(query).unwrap().wait().unwrap_or_else(|error| panic!("{error}")).to_csv().unwrap();
    csv.lines().skip(1).collect::<Vec<_>>().join("|")
}

fn count() -> ForestBuilder {
    Forest::builder().measure("rows", Aggregator::count())
}

fn decimals(values: Vec<i128>, scale: i8) -> ArrayRef {
    Arc::new(Decimal128Array::from(values).with_precision_and_scale(38, scale).unwrap())
}

#[test]
fn unsigned_numbers_above_all_signed_ones_are_not_lost() {
    let values: ArrayRef = Arc::new(UInt64Array::from(vec![1, 7, u64::MAX]));
    let forest = count()
        .measure("largest", Aggregator::new("u", Aggregation::Largest(1)))
        .measure("smallest", Aggregator::new("u", Aggregation::Smallest(1)))
        .measure("mean", Aggregator::new("u", Aggregation::Avg));
    let (_stages, cube) = cube(vec![("u", values)], forest);
    let filtered = |measure: &str, filter: &str| Query::new([measure]).filter(filter.parse().unwrap());
    assert_eq!(csv(&cube, filtered("rows", "u > 0")), "3");
    assert_eq!(csv(&cube, filtered("rows", "u > 9223372036854775807")), "1");
    assert_eq!(csv(&cube, filtered("rows", "not u > 7")), "2");
    assert_eq!(csv(&cube, filtered("largest", "u < 1e19")), "7");
    assert_eq!(csv(&cube, filtered("mean", "u > 0")), "6.148914691236517e18");
    for query in [Query::new(["largest"]), Query::new(["smallest"]), Query::new(["rows"]).by(["u"])] {
        let error = answer(&cube, query).unwrap_err();
        assert!(matches!(&error, CubeError::Computation { .. }), "{error:?}");
        assert!(error.to_string().contains("column \"u\""), "{error}");
        assert!(error.to_string().contains("18446744073709551615"), "{error}");
    }
}

#[test]
fn a_filter_sees_one_zero_whoever_applies_it() {
    let values: ArrayRef = Arc::new(Float64Array::from(vec![0.0, -0.0, f64::NAN, -f64::NAN, 1.0]));
    let forest = count()
        .measure("zeros", Filtrator::new("rows", "x = 0".parse().unwrap()))
        .measure("below", Filtrator::new("rows", "x < 0".parse().unwrap()))
        .measure("no numbers", Filtrator::new("rows", Filter::equals("x", f64::NAN)));
    let (_stages, cube) = cube(vec![("x", values)], forest);
    // Read from the table alone, and rolled up from slices by the column.
    assert_eq!(csv(&cube, Query::new(["zeros"])), "2");
    assert_eq!(csv(&cube, Query::new(["no numbers"])), "2");
    assert_eq!(csv(&cube, Query::new(["below"])), "");
    let induced = Query::new(["rows", "zeros", "no numbers", "below"]).by(["x"]).totals(["x"]);
    assert_eq!(csv(&cube, induced), "0.0,2,2,,|1.0,1,,,|NaN,2,,2,|*,5,2,2,");
}

#[test]
fn decimals_are_never_merged() {
    let ids = decimals(vec![9_007_199_254_740_992, 9_007_199_254_740_993, 9_007_199_254_740_993], 0);
    let prices = decimals(vec![1_010, 1_011, 1_010], 2);
    let (_stages, cube) = cube(vec![("id", ids), ("price", prices)], count());
    assert_eq!(csv(&cube, Query::new(["rows"]).by(["id"])), "9007199254740992,1|9007199254740993,2");
    assert_eq!(csv(&cube, Query::new(["rows"]).filter(Filter::equals("id", 9_007_199_254_740_993_i64))), "2");
    assert_eq!(csv(&cube, Query::new(["rows"]).by(["price"])), "10.1,2|10.11,1");
    assert_eq!(csv(&cube, Query::new(["rows"]).filter("price > 10.1".parse().unwrap())), "1");
}

#[test]
fn decimals_that_no_coordinate_has_are_refused_as_keys_and_filtered_exactly() {
    let long = decimals(vec![10_i128.pow(30), 10_i128.pow(30) + 1, 5, 5], 0);
    let fine = decimals(vec![90_071_992_547_409_931, 90_071_992_547_409_932, 5, 90_071_992_547_409_929], 1);
    let forest = count().measure("largest", Aggregator::new("fine", Aggregation::Largest(1)));
    let (_stages, cube) = cube(vec![("long", long), ("fine", fine)], forest);
    for column in ["long", "fine"] {
        let error = answer(&cube, Query::new(["rows"]).by([column])).unwrap_err();
        assert!(error.to_string().contains(&format!("column {column:?}")), "{error}");
    }
    // Where all that is left has a coordinate, it is grouped by.
    let small = |column: &str| {
        Query::new(["rows"]).by([column]).filter(Filter::compare(column, filbert_cube::Comparison::Less, 100))
    };
    assert_eq!(csv(&cube, small("long")), "5,2");
    assert_eq!(csv(&cube, small("fine")), "0.5,1");
    let filtered = |filter: &str| csv(&cube, Query::new(["rows"]).filter(filter.parse().unwrap()));
    assert_eq!(filtered("long >= 1e30"), "2");
    assert_eq!(filtered("long = 1e30"), "1");
    // As a double it would be ...992, and one more row above it.
    assert_eq!(filtered("fine > 9007199254740993"), "2");
    let batch = answer(&cube, Query::new(["largest"])).unwrap();
    assert_eq!(batch.column(0).as_primitive::<Decimal128Type>().value(0), 90_071_992_547_409_932);
}

/// Times of today in nanoseconds since 1970: six of them are more than 64 bits hold.
#[test]
fn the_mean_of_large_numbers_is_no_overflow() {
    let first = 1_774_915_200_000_000_000_i64;
    let numbers: Vec<i64> = (0..6_000).map(|row| first + row).collect();
    let group: StringArray = (0..6_000).map(|row| Some(if row % 2 == 0 { "even" } else { "odd" })).collect();
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("g", Arc::new(group.clone())),
            ("n", Arc::new(Int64Array::from(numbers.clone()))),
            ("at", Arc::new(TimestampNanosecondArray::from(numbers.clone()))),
        ]
    };
    let forest = || {
        Forest::builder()
            .measure("mean", Aggregator::new("n", Aggregation::Avg))
            .measure("even", Filtrator::new("mean", Filter::equals("g", "even")))
            .measure("mean time", Aggregator::new("at", Aggregation::Avg))
            .measure("total", Aggregator::sum("n"))
            .measure("most", Aggregator::new("n", Aggregation::Max))
    };
    let (_stages, cube) = cube_by(columns(), forest(), |builder| builder.parallel_from_rows(0));
    let expected = [2_999.5, 2_999.0, 3_000.0].map(|mean| first as f64 + mean);
    for parallelism in 1..=3 {
        let query =
            Query::new(["mean", "even", "mean time"]).by(["g"]).totals(["g"]).parallelism(parallelism);
        let result = cube.query(query.explain()).unwrap().wait().unwrap();
        let batch = result.batch();
        let means = |column: usize| batch.column(column).as_primitive::<Float64Type>().clone();
        for mean in [means(1), means(3)] {
            let mut found: Vec<f64> = mean.iter().flatten().collect();
            found.sort_by(f64::total_cmp);
            let mut wanted = expected.to_vec();
            wanted.sort_by(f64::total_cmp);
            assert_eq!(found, wanted);
        }
        assert_eq!(means(2).iter().flatten().collect::<Vec<f64>>(), vec![expected[1]; 2]);
        let text = result.explanation().unwrap().to_string();
        assert!(text.contains("roll up"), "coarser means come from finer ones: {text}");
    }
    // A total that is told must fit, beside a mean that does.
    let error = answer(&cube, Query::new(["mean", "total"])).unwrap_err();
    assert!(error.to_string().contains("does not fit into 64 bits"), "{error}");
    let both = answer(&cube, Query::new(["mean", "most"])).unwrap();
    assert_eq!(both.column(1).as_primitive::<Int64Type>().value(0), first + 5_999);
    assert!(!both.column(0).is_null(0));
}

/// Such times are texts in filters, and `.` comes before `Z`: half a second was less than none.
#[test]
fn times_with_a_zone_are_ordered_as_times() {
    let second = 1_000_000;
    let at = TimestampMicrosecondArray::from(vec![0, second / 4, second / 2, second]).with_timezone("+00:00");
    let forest = Forest::builder().measure("rows", Aggregator::count());
    let (_stages, cube) = cube(vec![("at", Arc::new(at))], forest);
    let filtered = |filter: &str| csv(&cube, Query::new(["rows"]).filter(filter.parse().unwrap()));
    assert_eq!(filtered("at >= '1970-01-01T00:00:00Z' and at < '1970-01-01T00:00:00.5Z'"), "2");
    assert_eq!(filtered("at < '1970-01-01T00:00:00.5Z' or at >= '1970-01-01T00:00:01Z'"), "3");
    assert_eq!(filtered("at > '1970-01-01T00:00:00.25Z' and at > '1970-01-01T00:00:00Z'"), "2");
    assert_eq!(filtered("at = '1970-01-01T01:00:00.5+01:00'"), "1");
}

/// Half a second was cut off: `>=` had the row before it, `<` did not, and `=` found it.
#[test]
fn a_time_that_is_finer_than_its_column_lies_between_two_of_it() {
    let half_past_nine = 1_774_949_400;
    let seconds = TimestampSecondArray::from(vec![Some(half_past_nine), Some(half_past_nine + 1), None]);
    let before = TimestampSecondArray::from(vec![Some(-2), Some(-1), None]);
    let millis = TimestampMillisecondArray::from(vec![Some(1), Some(2), None]).with_timezone("+00:00");
    let opens = Time32SecondArray::from(vec![Some(34_200), Some(34_201), None]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("at", Arc::new(seconds)),
        ("before", Arc::new(before)),
        ("millis", Arc::new(millis)),
        ("opens", Arc::new(opens)),
    ];
    let (_stages, cube) = cube(columns, count());
    let filtered = |filter: &str| csv(&cube, Query::new(["rows"]).filter(filter.parse().unwrap()));
    for (column, between) in [
        ("at", "2026-03-31T09:30:00.5"),
        ("before", "1969-12-31T23:59:58.5"),
        ("millis", "1970-01-01T00:00:00.001500Z"),
        ("opens", "09:30:00.5"),
    ] {
        for (condition, rows) in [
            ("=", ""),
            ("<", "1"),
            ("<=", "1"),
            (">", "1"),
            (">=", "1"),
            ("<>", "3"),
            ("is not null and at <>", "2"),
        ] {
            let condition = condition.replace("at", column);
            assert_eq!(filtered(&format!("{column} {condition} '{between}'")), rows, "{column} {condition}");
        }
        assert_eq!(
            filtered(&format!("{column} in ('{between}') or {column} > '{between}'")),
            "1",
            "{column}"
        );
    }
    assert_eq!(filtered("at = '2026-03-31T09:30:00.000'"), "1");
    let error = answer(&cube, Query::new(["rows"]).filter("opens = '34200'".parse().unwrap())).unwrap_err();
    assert!(error.to_string().contains("'34200' is no time of a day"), "{error}");
}

/// Each became the nearest double, and the rows of another number were the answer.
#[test]
fn a_number_of_too_many_digits_is_refused_wherever_it_is_written() {
    let unsigned: ArrayRef = Arc::new(UInt64Array::from(vec![1, 1 << 63, u64::MAX]));
    let fine =
        decimals(vec![1_234_567_890_123_456_712, 1_234_567_890_123_456_750, -922_337_203_685_477_580_800], 2);
    let long = decimals(vec![99_999_999_999_999_999_999, 5, 7], 0);
    let float: ArrayRef = Arc::new(Float64Array::from(vec![0.1, f64::NAN, 2.0]));
    let (_stages, cube) = cube(vec![("u", unsigned), ("fine", fine), ("long", long), ("x", float)], count());
    for filter in [
        "u > '18446744073709551614'",
        "u = '18446744073709551615'",
        "u in (1, '18446744073709551615')",
        "fine > '12345678901234567.12'",
        "fine = '12345678901234567.12'",
        "fine <> '12345678901234567.12'",
        "long = '99999999999999999999'",
        "x < '0.1000000000000000000001'",
        "u < 'nan'",
        "long > 'inf'",
    ] {
        let error = answer(&cube, Query::new(["rows"]).filter(filter.parse().unwrap())).unwrap_err();
        assert!(matches!(error, CubeError::InvalidValue { .. }), "{filter}: {error:?}");
    }
    for filter in ["fine > 12345678901234567.12", "fine = 12345678901234567.12", "u < 18446744073709551614.0"]
    {
        let error = filter.parse::<Filter>().unwrap_err().to_string();
        assert!(error.contains("write a double, such as 1."), "{error}");
    }
    let filtered = |filter: &str| csv(&cube, Query::new(["rows"]).filter(filter.parse().unwrap()));
    for (filter, rows) in [
        ("u > '1e19'", "1"),
        ("u in ('1.0', '9223372036854775808')", "2"),
        ("u = 9223372036854775808", "1"),
        ("fine > '1e16'", "2"),
        ("fine = -9223372036854775808", "1"),
        ("fine = '-9223372036854775808'", "1"),
        ("long >= 1e19", "1"),
        ("x = 0.1", "1"),
        ("x = '0.10'", "1"),
        ("x < 'nan'", "2"),
    ] {
        assert_eq!(filtered(filter), rows, "{filter}");
    }
}

/// As texts, `+10000-01-01` comes before `2026-01-01`: nothing seemed to lie between.
#[test]
fn dates_of_far_years_are_ordered_as_dates() {
    let days: ArrayRef = Arc::new(Date32Array::from(vec![-800_000, 0, 20_500, 3_000_000]));
    let (_stages, cube) = cube(vec![("day", days)], count());
    let filtered = |filter: &str| csv(&cube, Query::new(["rows"]).filter(filter.parse().unwrap()));
    assert_eq!(filtered("day > '2026-01-01' and day < '+10000-01-01'"), "1");
    assert_eq!(filtered("day > '-0044-03-15' and day < '2026-01-01'"), "1");
    assert_eq!(filtered("day < '-0044-03-15' or day > '+10000-01-01'"), "2");
    assert_eq!(filtered("day < '+10000-01-01' and (day > '2026-01-01' or day < '-0044-03-15')"), "2");
}

/// Patterns look at the text that a column has, which is another one than that of a filter's value.
#[test]
fn a_pattern_beside_a_time_with_a_zone_looks_at_the_column() {
    let at =
        TimestampMillisecondArray::from(vec![1_774_949_400_000, 1_774_949_401_000]).with_timezone("+00:00");
    let (_stages, cube) = cube(vec![("at", Arc::new(at))], count());
    let filtered = |filter: &str| csv(&cube, Query::new(["rows"]).filter(filter.parse().unwrap()));
    assert_eq!(filtered("at = '2026-03-31T09:30:00Z'"), "1");
    assert_eq!(filtered("at like '%:00Z'"), "1");
    assert_eq!(filtered("at = '2026-03-31T09:30:00Z' and at like '%:00Z'"), "1");
    assert_eq!(filtered("at = '2026-03-31T09:30:00Z' and at ~ ':00Z$'"), "1");
    assert_eq!(filtered("at = '2026-03-31T09:30:00Z' and not at like '%:00Z'"), "");
}

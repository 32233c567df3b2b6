//! Random forests over random tables give what a naive evaluator gives, for any parallelism and any number of partitions.

mod naive;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use filbert_cube::{
    Aggregation, Aggregator, Columnator, Combination, Combinator, Comparison, Composite, Coordinate, Cube,
    CubeError, Custom, Decomposition, Dispatchor, DrillThrough, Filter, Filtrator, Forest, ForestBuilder,
    Measure, MemoryTable, Partitionor, Query, Route, Routing, Shift, Shiftor, Unfiltrator,
};
use filbert_pool::{StageKind, Stages};
use naive::{Cells, Naive, Row, code};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

fn stages() -> &'static Stages {
    static STAGES: OnceLock<Stages> = OnceLock::new();
    STAGES.get_or_init(|| Stages::builder().threads(StageKind::Cpu, 4).start().unwrap())
}

const TEXTS: [&str; 3] = ["p", "q", "r"];

/// A row: a text, two whole numbers to group by, a whole number and a float to aggregate; most may be missing.
type Values = (Option<usize>, Option<i64>, i64, Option<i64>, Option<i64>);

fn any_rows() -> impl Strategy<Value = Vec<Values>> {
    let row = (
        prop::option::weighted(0.9, 0..3_usize),
        prop::option::weighted(0.9, 0..3_i64),
        0..4_i64,
        prop::option::weighted(0.9, -2..3_i64),
        prop::option::weighted(0.9, -3..4_i64),
    );
    prop::collection::vec(row, 0..40)
}

fn table(rows: &[Values]) -> MemoryTable {
    let texts: StringArray = rows.iter().map(|row| row.0.map(|text| TEXTS[text])).collect();
    let columns: [(&str, ArrayRef); 5] = [
        ("a", Arc::new(texts)),
        ("b", Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>())),
        ("d", Arc::new(rows.iter().map(|row| Some(row.2)).collect::<Int64Array>())),
        ("x", Arc::new(rows.iter().map(|row| row.3).collect::<Int64Array>())),
        (
            "y",
            Arc::new(rows.iter().map(|row| row.4.map(|value| value as f64 / 2.0)).collect::<Float64Array>()),
        ),
    ];
    let batch =
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
    let half = batch.num_rows() / 2;
    let batches = vec![batch.slice(0, half), batch.slice(half, batch.num_rows() - half)];
    MemoryTable::new("t", batch.schema(), batches).unwrap()
}

fn naive_rows(rows: &[Values]) -> Vec<Row> {
    let row = |row: &Values| {
        // The calculated columns are computed here once more.
        let z = row.3.unwrap_or(0) + row.2;
        Row::from([
            ("z", z.into()),
            ("w", (if z > 2 { "many" } else { "few" }).into()),
            ("h", row.4.map(|value| value as f64 / 4.0).into()),
            ("a", row.0.map(|text| TEXTS[text]).into()),
            ("b", row.1.into()),
            ("d", row.2.into()),
            ("x", row.3.into()),
            ("y", row.4.map(|value| value as f64 / 2.0).into()),
        ])
    };
    rows.iter().map(row).collect()
}

fn any_filter() -> impl Strategy<Value = Filter> {
    let comparison = prop_oneof![
        Just(Comparison::Less),
        Just(Comparison::AtMost),
        Just(Comparison::Greater),
        Just(Comparison::AtLeast)
    ];
    let text = prop_oneof![Just(Coordinate::Null), (0..3_usize).prop_map(|text| TEXTS[text].into())];
    let leaf = prop_oneof![
        4 => Just(Filter::All),
        3 => prop::collection::vec(text, 1..3).prop_map(|values| Filter::is_in("a", values)),
        3 => (0..3_i64).prop_map(|value| Filter::equals("b", value)),
        2 => prop::collection::vec(0..4_i64, 1..3).prop_map(|values| Filter::is_in("d", values)),
        1 => (comparison, 0..4_i64).prop_map(|(comparison, bound)| Filter::compare("d", comparison, bound)),
        1 => prop_oneof![Just("p%"), Just("_")].prop_map(|pattern| Filter::like("a", pattern)),
        1 => prop_oneof![Just("^p"), Just("[qr]")].prop_map(|pattern| Filter::regex("a", pattern)),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.and(b)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.or(b)),
            inner.prop_map(Filter::negated),
        ]
    })
}

/// Conditions on calculated columns, or none.
fn any_calculated_filter() -> impl Strategy<Value = Filter> {
    prop_oneof![
        6 => Just(Filter::All),
        1 => (-1..5_i64).prop_map(|value| Filter::compare("z", Comparison::AtMost, value)),
        1 => Just(Filter::equals("w", "many")),
        1 => Just(Filter::compare("h", Comparison::Less, 0.5)),
    ]
}

fn any_columns() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(vec!["a", "b", "d"], 0..=3)
}

/// Makes a measure that refers to some of so many others.
#[derive(Clone)]
struct Recipe(Arc<dyn Fn(usize) -> Measure>);

impl std::fmt::Debug for Recipe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", (self.0)(10))
    }
}

/// A measure over measures whose numbers are taken modulo those that stand before it.
fn any_measure() -> impl Strategy<Value = Recipe> {
    let roll_up = || {
        prop_oneof![
            Just(Aggregation::Sum),
            Just(Aggregation::Min),
            Just(Aggregation::Max),
            Just(Aggregation::Avg),
            Just(Aggregation::Count),
            Just(Aggregation::Median),
            Just(Aggregation::quantile(0.9)),
            Just(Aggregation::Smallest(2)),
            Just(Aggregation::Custom("spread".to_owned()))
        ]
    };
    let name = |number: usize, before: usize| format!("m{}", number % before);
    let combination = any_combination;
    let shift = prop_oneof![
        (0..4_i64).prop_map(|to| ("d", Shift::To(to.into()))),
        (-1..2_i64).prop_map(|offset| ("d", Shift::Offset(offset))),
        (0..3_usize).prop_map(|to| ("a", Shift::To(TEXTS[to].into()))),
        Just(("a", Shift::Map(vec![("p".into(), "q".into()), ("q".into(), "p".into())]))),
        Just(("a", Shift::Function("turn".to_owned()))),
    ];
    let pairs = prop::collection::vec((0..3_usize, 0..3_usize), 0..5);
    prop_oneof![
        (0..20_usize, 0..20_usize, combination()).prop_map(move |(a, b, combination)| {
            Recipe(Arc::new(move |before| {
                Combinator::new(&[&name(a, before), &name(b, before)], combination.clone()).into()
            }))
        }),
        (0..20_usize).prop_map(move |a| {
            Recipe(Arc::new(move |before| {
                Combinator::expression(&format!("coalesce({}, 0) * 2 + 1", name(a, before))).unwrap().into()
            }))
        }),
        (0..20_usize, any_filter()).prop_map(move |(a, filter)| {
            Recipe(Arc::new(move |before| Filtrator::new(&name(a, before), filter.clone()).into()))
        }),
        (0..20_usize, any_columns(), any::<bool>()).prop_map(move |(a, columns, retain)| {
            Recipe(Arc::new(move |before| {
                let (name, columns) =
                    (name(a, before), if columns.is_empty() { &["a"][..] } else { columns.as_slice() });
                if retain {
                    Unfiltrator::retain(&name, columns)
                } else {
                    Unfiltrator::suppress(&name, columns)
                }
                .into()
            }))
        }),
        (0..20_usize, shift).prop_map(move |(a, (column, shift))| {
            Recipe(Arc::new(move |before| Shiftor::new(&name(a, before), column, shift.clone()).into()))
        }),
        (0..20_usize, 0..20_usize, any_columns(), combination(), roll_up()).prop_map(
            move |(a, b, columns, combination, aggregation)| {
                Recipe(Arc::new(move |before| {
                    let by = if columns.is_empty() { &["b"][..] } else { columns.as_slice() };
                    let names = [name(a, before), name(b, before)];
                    Partitionor::new(&[&names[0], &names[1]], by, combination.clone(), aggregation.clone())
                        .into()
                }))
            }
        ),
        (0..20_usize, pairs, any::<bool>(), roll_up()).prop_map(move |(a, pairs, weighted, aggregation)| {
            Recipe(Arc::new(move |before| {
                let text = |index: usize, prefix: &str| Coordinate::from(format!("{prefix}{index}"));
                let from = |index: usize| Coordinate::from(TEXTS[index]);
                let decomposition = if weighted {
                    let weight = |(index, &(a, to)): (usize, &(usize, usize))| {
                        (from(a), text(to, "g"), (index + 1) as f64 / 4.0)
                    };
                    Decomposition::Weights(pairs.iter().enumerate().map(weight).collect())
                } else {
                    Decomposition::Pairs(pairs.iter().map(|(a, to)| (from(*a), text(*to, "g"))).collect())
                };
                Dispatchor::new(&name(a, before), "a", "g", decomposition)
                    .aggregation(aggregation.clone())
                    .into()
            }))
        }),
        (0..20_usize, 0..3_usize, roll_up()).prop_map(move |(a, kind, aggregation)| {
            Recipe(Arc::new(move |before| {
                let name = name(a, before);
                let dispatchor = match kind {
                    0 => Dispatchor::linear(&name, "d", "n", &[0.0, 2.0, 3.0]),
                    1 => Dispatchor::duplicating(&name, "g", ["g0", "g2"]),
                    _ => Dispatchor::cumulating(&name, "d"),
                };
                dispatchor.aggregation(aggregation.clone()).into()
            }))
        }),
        (0..20_usize, roll_up()).prop_map(move |(a, aggregation)| {
            Recipe(Arc::new(move |before| {
                Dispatchor::cumulating(&name(a, before), "d").aggregation(aggregation.clone()).into()
            }))
        }),
        (0..20_usize, 0..20_usize, any_columns(), any::<bool>(), any_combination()).prop_map(
            move |(a, b, columns, reject, combination)| {
                Recipe(Arc::new(move |before| {
                    let (one, other) = (name(a, before), name(b, before));
                    let columns = if columns.is_empty() { &["d"][..] } else { columns.as_slice() };
                    let of = if reject { Columnator::reject } else { Columnator::require };
                    match a % 2 {
                        0 => of(&[&one], columns).into(),
                        _ => of(&[&one, &other], columns).combination(combination.clone()).into(),
                    }
                }))
            }
        ),
        any_routing(),
        (0..20_usize).prop_map(move |a| {
            Recipe(Arc::new(move |before| Custom::new(&[&name(a, before)], "doubled").into()))
        }),
        (0..20_usize, roll_up()).prop_map(move |(a, aggregation)| {
            Recipe(Arc::new(move |before| {
                Dispatchor::new(&name(a, before), "a", "g", Decomposition::Function("letters".to_owned()))
                    .aggregation(aggregation.clone())
                    .into()
            }))
        }),
    ]
}

fn any_combination() -> impl Strategy<Value = Combination> {
    prop_oneof![
        Just(Combination::Sum),
        Just(Combination::Subtraction),
        Just(Combination::Product),
        Just(Combination::Divide),
        Just(Combination::Coalesce),
        Just(Combination::Function("blend".to_owned()))
    ]
}

fn any_routing() -> impl Strategy<Value = Recipe> {
    let rule = (
        0..20_usize,
        any_columns(),
        any_columns(),
        prop::option::weighted(0.5, any_filter()),
        prop::option::weighted(0.3, prop_oneof![Just("one"), Just("two")]),
    );
    let rules = prop::collection::vec(rule, 1..4);
    (rules, any::<bool>(), prop::option::of(0..20_usize)).prop_map(|(rules, function, default)| {
        Recipe(Arc::new(move |before| {
            let name = |number: usize| format!("m{}", number % before);
            let mut routing = Routing::new();
            for (to, by, not_by, filter, marker) in &rules {
                let mut route = Route::to(&name(*to)).by(by);
                if by.is_empty() {
                    route = route.not_by(if not_by.is_empty() { &["a"] } else { not_by });
                }
                if let Some(filter) = filter {
                    route = route.filter(filter.clone());
                }
                if let Some(marker) = marker {
                    route = route.marker(marker);
                }
                routing = routing.rule(route);
            }
            if function {
                routing = routing.function("route", &["m0", "m1", "m2"]);
            }
            if let Some(default) = default {
                routing = routing.default_to(&name(default));
            }
            routing.into()
        }))
    })
}

fn aggregators() -> Vec<Measure> {
    vec![
        Aggregator::sum("x").into(),
        Aggregator::sum("y").into(),
        Aggregator::count().into(),
        Aggregator::new("y", Aggregation::Avg).into(),
        Aggregator::new("x", Aggregation::Max).into(),
        Aggregator::new("y", Aggregation::Min).into(),
        Aggregator::new("a", Aggregation::CountDistinct).into(),
        Aggregator::new("x", Aggregation::Largest(2)).into(),
        Aggregator::new("y", Aggregation::Product).into(),
        Aggregator::new("b", Aggregation::Count).into(),
        Aggregator::new("y", Aggregation::Median).into(),
        Aggregator::new("x", Aggregation::quantile(0.8)).into(),
        Aggregator::new("y", Aggregation::Smallest(2)).into(),
        Aggregator::new("x", Aggregation::Custom("spread".to_owned())).into(),
    ]
}

/// Of calculated columns.
fn calculated_aggregators() -> Vec<Measure> {
    vec![
        Aggregator::sum("z").into(),
        Aggregator::new("h", Aggregation::Avg).into(),
        Aggregator::new("w", Aggregation::CountDistinct).into(),
        Aggregator::new("x", Aggregation::Avg).into(),
    ]
}

/// The values of each measure of a result.
fn found(batch: &RecordBatch, columns: usize) -> Vec<Cells> {
    let at = |column: &ArrayRef, row: usize| -> Coordinate {
        if column.is_null(row) {
            Coordinate::Null
        } else if let Some(numbers) = column.as_primitive_opt::<arrow::datatypes::Int64Type>() {
            numbers.value(row).into()
        } else {
            column.as_string::<i32>().value(row).into()
        }
    };
    let measure = |column: &ArrayRef| {
        let values = cast(column, &DataType::Float64).unwrap();
        let values = values.as_primitive::<Float64Type>();
        let key = |row: usize| batch.columns()[..columns].iter().map(|column| at(column, row)).collect();
        (0..batch.num_rows())
            .filter(|row| values.is_valid(*row))
            .map(|row| (key(row), values.value(row)))
            .collect()
    };
    batch.columns()[columns..].iter().map(measure).collect()
}

fn is_close(a: f64, b: f64) -> bool {
    (!a.is_finite() && !b.is_finite()) || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_cube_gives_what_the_definitions_say(
        rows in any_rows(),
        measures in prop::collection::vec(any_measure(), 0..7),
        by in any_columns(),
        by_group in prop::bool::weighted(0.2),
        by_number in prop::bool::weighted(0.1),
        filter in any_filter(),
        group in prop::option::weighted(0.2, 0..3_usize),
        number in prop::option::weighted(0.1, 0..4_i64),
        marker in prop::option::of(prop_oneof![Just("one"), Just("two")]),
        asked in prop::collection::vec(0..20_usize, 1..4),
        (partitions, shard) in (1..9_usize, any_columns()),
        (calculated, by_calculated) in (any_calculated_filter(), prop::option::weighted(0.2, prop_oneof![Just("z"), Just("w")])),
        rights in prop_oneof![3 => Just(Filter::All), 1 => any_filter()],
        totals in prop::option::weighted(0.3, any_columns()),
    ) {
        let mut all = aggregators();
        all.extend(calculated_aggregators());
        for Recipe(recipe) in &measures {
            all.push(recipe(all.len()));
        }
        let (mut builder, count) = (code::register_columns(builder()), all.len());
        for (number, measure) in all.into_iter().enumerate() {
            builder = builder.measure(&format!("m{number}"), measure);
        }
        let forest = builder.build().unwrap();
        // The last ones refer to others.
        let names: BTreeSet<String> = asked.iter().map(|number| format!("m{}", count - 1 - number % count)).collect();
        let mut by: Vec<&str> = by;
        if by_group {
            by.push("g");
        }
        if by_number {
            by.push("n");
        }
        by.extend(by_calculated);
        let filter = filter.and(calculated);
        let filter = match group {
            Some(group) => filter.and(Filter::equals("g", format!("g{group}"))),
            None => filter,
        };
        let filter = match number {
            Some(number) => filter.and(Filter::equals("n", number)),
            None => filter,
        };
        let rows_of_naive = naive_rows(&rows);
        let naive = Naive { rights: rights.clone(), ..Naive::new(&forest, &rows_of_naive, marker) };
        let level: BTreeSet<String> = by.iter().map(ToString::to_string).collect();
        let totals: Option<Vec<&str>> = totals.map(|totals| totals.into_iter().filter(|column| level.contains(*column)).collect());
        let totals = totals.filter(|totals| !totals.is_empty());
        let expected: Result<Vec<Cells>, _> = names.iter().map(|name| match &totals {
            None => naive.cells(name, &level, &filter),
            Some(totals) => with_totals(&naive, name, &level, &filter, totals),
        }).collect();
        let cube = Cube::builder(stages(), forest.clone(), table(&rows)).rights(move |_| rights.clone()).parallel_from_rows(0).build().unwrap();
        let columns: Vec<String> = level.iter().cloned().collect();
        let mut query = Query::new(names.iter().cloned()).by(columns.clone()).filter(filter).partitions(partitions);
        query = query.shard_by(shard);
        if let Some(totals) = totals {
            query = query.totals(totals);
        }
        if let Some(marker) = marker {
            query = query.marker(marker);
        }
        let mut answers = Vec::new();
        for parallelism in 1..=4 {
            answers.push(cube.query(query.clone().parallelism(parallelism)).unwrap().wait());
        }
        for answer in &answers[1..] {
            match (answer, &answers[0]) {
                (Ok(one), Ok(other)) => prop_assert_eq!(one.batch(), other.batch(), "depends on the parallelism"),
                (one, other) => prop_assert_eq!(one.is_err(), other.is_err()),
            }
        }
        match (&answers[0], expected) {
            (Ok(answer), Ok(expected)) => {
                let found = found(answer.batch(), columns.len());
                for ((name, found), expected) in names.iter().zip(found).zip(expected) {
                    let keys = |cells: &Cells| cells.keys().cloned().collect::<Vec<_>>();
                    prop_assert_eq!(keys(&found), keys(&expected), "slices of {} in {:?}", name, forest.measure(name));
                    for (key, value) in &found {
                        prop_assert!(is_close(*value, expected[key]), "{} at {:?}: {} instead of {}", name, key, value, expected[key]);
                    }
                }
            }
            // A whole number that became too large is refused by the cube, and a float to the naive evaluator.
            (Err(CubeError::Computation { .. }), Ok(_)) if naive.may_overflow() => {}
            // Without rows, and where measures are hidden, nobody looks at columns that are not there.
            (Err(CubeError::UnknownColumn { .. }), Ok(cells)) if rows.is_empty() || cells.iter().all(Cells::is_empty) => {}
            (Err(_), Err(_)) => {}
            (answer, expected) => prop_assert!(false, "{:?} instead of {:?}", answer.as_ref().map(|answer| answer.to_text()), expected.is_ok()),
        }
    }
}

/// The cells of all levels of totals, keys as texts and `*` for what is added up over.
fn with_totals(
    naive: &Naive<'_>,
    measure: &str,
    level: &BTreeSet<String>,
    filter: &Filter,
    totals: &[&str],
) -> Result<Cells, naive::Refused> {
    let mut all = Cells::new();
    for set in 0..1_usize << totals.len() {
        let is_over = |column: &String| {
            totals.iter().position(|total| total == column).is_some_and(|bit| set >> bit & 1 == 1)
        };
        let finer: BTreeSet<String> = level.iter().filter(|column| !is_over(column)).cloned().collect();
        for (key, value) in naive.cells(measure, &finer, filter)? {
            let mut coordinates = key.into_iter();
            let written = level.iter().map(|column| match is_over(column) {
                true => Coordinate::from("*"),
                false => match coordinates.next() {
                    None | Some(Coordinate::Null) => Coordinate::Null,
                    Some(coordinate) => coordinate.to_string().into(),
                },
            });
            all.insert(written.collect(), value);
        }
    }
    Ok(all)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// More rows than the first range of a grouping has: parts are merged. (Quantiles of so many values are those of sketches.)
    #[test]
    fn a_table_of_several_ranges_gives_what_the_definitions_say(
        some in prop::collection::vec(any_rows(), 3),
        seed in any::<u64>(),
        by in any_columns(),
        filter in any_filter(),
        measures in prop::collection::vec(any_measure(), 0..3),
    ) {
        let some: Vec<Values> = some.into_iter().flatten().collect();
        if some.is_empty() {
            return Ok(());
        }
        let mut number = seed;
        let rows: Vec<Values> = (0..20_000).map(|_| {
            number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            some[(number >> 33) as usize % some.len()]
        }).collect();
        let (forest, count) = forest_of(&measures, |_| true);
        let names: Vec<String> = (0..count).filter(|number| ![8, 10, 11].contains(number)).map(|number| format!("m{number}")).collect();
        let rows_of_naive = naive_rows(&rows);
        let naive = Naive::new(&forest, &rows_of_naive, None);
        let level: BTreeSet<String> = by.iter().map(ToString::to_string).collect();
        let cube = Cube::builder(stages(), forest.clone(), table(&rows)).build().unwrap();
        for name in names {
            // Those that are made of a quantile or a product of all rows have other values to begin with.
            let reads_inexact = reads(&forest, &name, &["m8", "m10", "m11"]);
            let query = Query::new([name.clone()]).by(by.clone()).filter(filter.clone());
            let [one, two] = [1, 3].map(|parallelism| cube.query(query.clone().parallelism(parallelism)).unwrap().wait());
            match (&one, &two) {
                (Ok(one), Ok(two)) => prop_assert_eq!(one.batch(), two.batch(), "depends on the parallelism"),
                (one, two) => prop_assert_eq!(one.is_err(), two.is_err()),
            }
            if reads_inexact {
                continue;
            }
            match (one, naive.cells(&name, &level, &filter)) {
                (Ok(answer), Ok(expected)) => {
                    let found = found(answer.batch(), by.len()).remove(0);
                    prop_assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "slices of {}", name);
                    for (key, value) in &found {
                        prop_assert!(is_close(*value, expected[key]), "{} at {:?}: {} instead of {}", name, key, value, expected[key]);
                    }
                }
                (Err(CubeError::Computation { .. }), Ok(_)) if naive.may_overflow() => {}
                (Err(CubeError::UnknownColumn { .. }), Ok(cells)) if cells.is_empty() => {}
                (Err(_), Err(_)) => {}
                (answer, expected) => prop_assert!(false, "{}: {:?} instead of {:?}", name, answer.map(|answer| answer.to_text()), expected.is_ok()),
            }
        }
    }
}

/// True when a measure is one of these or is made of one.
fn reads(forest: &Forest, measure: &str, of: &[&str]) -> bool {
    let underlyings = forest.measure(measure).unwrap().underlyings();
    of.contains(&measure) || underlyings.iter().any(|underlying| reads(forest, underlying, of))
}

/// A forest without measures, with the code that random ones use.
fn builder() -> ForestBuilder {
    code::register(Forest::builder())
}

/// A forest of the aggregators and of what stands on them, and how many measures it has.
fn forest_of(measures: &[Recipe], is_wanted: impl Fn(&Measure) -> bool) -> (Forest, usize) {
    let mut all = aggregators();
    for Recipe(recipe) in measures {
        all.extend(Some(recipe(all.len())).filter(&is_wanted));
    }
    let count = all.len();
    let named = all.into_iter().enumerate();
    let builder =
        named.fold(builder(), |builder, (number, measure)| builder.measure(&format!("m{number}"), measure));
    (builder.build().unwrap(), count)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// All rows that a cell needs are behind it: over these alone it has the same value. (One that is shifted, or a total that goes on, also
    /// needs to be there.)
    #[test]
    fn the_rows_behind_a_cell_give_the_cell(
        rows in any_rows(),
        measures in prop::collection::vec(any_measure(), 0..7),
        by in any_columns(),
        by_group in prop::bool::weighted(0.2),
        filter in any_filter(),
        asked in 0..20_usize,
        chosen in any::<prop::sample::Index>(),
    ) {
        let (forest, count) = forest_of(&measures, |measure| match measure {
            Measure::Shiftor(_) => false,
            Measure::Dispatchor(dispatchor) => dispatchor.decomposition != Decomposition::Cumulating,
            _ => true,
        });
        let name = format!("m{}", count - 1 - asked % count);
        let mut by = by;
        if by_group {
            by.push("g");
        }
        let over = |table| Cube::builder(stages(), forest.clone(), table).build().unwrap();
        let cube = over(table(&rows));
        let query = Query::new([name]).by(by.clone()).filter(filter);
        let cells = |cube: &Cube| {
            let answer = cube.query(query.clone()).unwrap().wait();
            answer.map(|answer| found(answer.batch(), by.len()).remove(0))
        };
        let Ok(all) = cells(&cube) else { return Ok(()) };
        if all.is_empty() {
            return Ok(());
        }
        let (key, value) = all.iter().nth(chosen.index(all.len())).unwrap();
        let mut through = DrillThrough::new(query.clone());
        for (column, coordinate) in by.iter().zip(key) {
            through = through.cell(column, coordinate.clone());
        }
        let behind = cube.drill_through(through).unwrap().wait().unwrap();
        let batch = behind.batch().project(&[0, 1, 2, 3, 4]).unwrap();
        let drilled = cells(&over(MemoryTable::new("t", batch.schema(), vec![batch]).unwrap())).unwrap();
        let found = drilled.get(key).copied();
        prop_assert!(found.is_some_and(|found| is_close(found, *value)), "{found:?} instead of {value} at {key:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Two cubes over parts of a table, added up in a composite, are the cube over the whole.
    #[test]
    fn a_composite_of_parts_is_the_whole(
        rows in any_rows(),
        measures in prop::collection::vec(any_measure(), 0..7),
        by in any_columns(),
        by_group in prop::bool::weighted(0.2),
        filter in any_filter(),
        asked in prop::collection::vec(0..20_usize, 1..4),
        parallelism in 1..4_usize,
    ) {
        // Those whose parts can be added up.
        let base = || [aggregators().remove(0), aggregators().remove(1), aggregators().remove(2), aggregators().remove(9)];
        let named = |of: &dyn Fn(usize) -> Measure| {
            let mut all: Vec<Measure> = (0..base().len()).map(of).collect();
            for Recipe(recipe) in &measures {
                all.push(recipe(all.len()));
            }
            let count = all.len();
            let all = all.into_iter().enumerate();
            (count, all.fold(builder(), |builder, (number, measure)| builder.measure(&format!("m{number}"), measure)))
        };
        let (count, whole) = named(&|number| base()[number].clone());
        let whole = Cube::builder(stages(), whole.build().unwrap(), table(&rows)).build().unwrap();
        let part = |keep: usize| {
            let (of_part, forest) = (rows.iter().enumerate().filter(|(row, _)| row % 2 == keep), Forest::builder());
            let of_part: Vec<Values> = of_part.map(|(_, row)| *row).collect();
            let forest = base().into_iter().enumerate().fold(forest, |forest, (number, measure)| forest.measure(&format!("m{number}"), measure));
            Cube::builder(stages(), forest.build().unwrap(), table(&of_part)).build().unwrap()
        };
        let composite = Composite::builder("both").prefixed_cube("even", &part(0)).prefixed_cube("odd", &part(1)).build().unwrap();
        let (_, on_top) = named(&|number| {
            Combinator::new(&[&format!("even.m{number}"), &format!("odd.m{number}")], Combination::Sum).into()
        });
        let forest = composite.forest(on_top).unwrap();
        let parts = Cube::builder(stages(), forest, composite).parallel_from_rows(0).build().unwrap();
        let names: BTreeSet<String> = asked.iter().map(|number| format!("m{}", count - 1 - number % count)).collect();
        let mut by = by;
        if by_group {
            by.push("g");
        }
        let query = Query::new(names.iter().cloned()).by(by.clone()).filter(filter).parallelism(parallelism);
        let answers = [&whole, &parts].map(|cube| cube.query(query.clone()).unwrap().wait());
        match &answers {
            [Ok(whole), Ok(parts)] => {
                for (whole, parts) in found(whole.batch(), by.len()).into_iter().zip(found(parts.batch(), by.len())) {
                    let keys = |cells: &Cells| cells.keys().cloned().collect::<Vec<_>>();
                    prop_assert_eq!(keys(&parts), keys(&whole));
                    for (key, value) in &whole {
                        prop_assert!(is_close(*value, parts[key]), "{} instead of {} at {:?}", parts[key], value, key);
                    }
                }
            }
            [whole, parts] => prop_assert_eq!(whole.is_err(), parts.is_err(), "{:?} {:?}", whole.as_ref().err(), parts.as_ref().err()),
        }
    }
}

#[test]
fn the_naive_evaluator_is_right_where_it_is_easy_to_see() {
    let rows = naive_rows(&[(Some(0), Some(1), 0, Some(2), None), (Some(0), None, 1, Some(-1), Some(3))]);
    let forest = Forest::builder().measure("m", Aggregator::sum("x")).build().unwrap();
    let naive = Naive::new(&forest, &rows, None);
    let level = BTreeSet::from(["a".to_owned()]);
    assert_eq!(naive.cells("m", &level, &Filter::All), Ok(BTreeMap::from([(vec!["p".into()], 1.0)])));
}

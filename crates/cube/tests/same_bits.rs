//! An answer has the same bits for any partitions, any shard columns, any parallelism, in a cold or a warm cache, and asked alone or beside
//! others: though its numbers are such that every order of additions gives another sum.

use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray};
use filbert_cube::{
    Aggregation, Aggregator, Combination, Combinator, Coordinate, Cube, Decomposition, Dispatchor, Filtrator,
    Forest, ForestBuilder, MemoryTable, Partitionor, Query,
};
use filbert_pool::{StageKind, Stages};
use proptest::prelude::*;
use std::sync::{Arc, OnceLock};

const ROWS: usize = 3_000;

/// All that add up, multiply or choose among floats.
const MEASURES: [&str; 12] = [
    "sum",
    "mean",
    "product",
    "least",
    "greatest",
    "median",
    "squares",
    "variance",
    "weighted",
    "of books",
    "mean of books",
    "so far",
];

fn stages() -> &'static Stages {
    static STAGES: OnceLock<Stages> = OnceLock::new();
    STAGES.get_or_init(|| Stages::builder().threads(StageKind::Cpu, 4).start().unwrap())
}

/// A generator that is the same everywhere (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Mostly tenths, and some that are far above or below these.
    fn value(&mut self) -> f64 {
        match self.below(40) {
            0 => 1e16,
            1 => -1e16,
            2 => 1e-300,
            3 => -1e-12,
            4 => -0.0,
            5 => 1e22 / 3.0,
            _ => self.below(2_000) as f64 * 0.1 - 100.0,
        }
    }
}

fn batches(seed: u64) -> Vec<RecordBatch> {
    let mut numbers = Numbers(seed);
    let mut rows = |begin: &str, count: u64| -> Arc<StringArray> {
        Arc::new(StringArray::from_iter_values((0..ROWS).map(|_| format!("{begin}{}", numbers.below(count)))))
    };
    let (desk, book, ccy) = (rows("d", 7), rows("b", 11), rows("c", 5));
    let day = Int64Array::from_iter_values((0..ROWS).map(|_| numbers.below(6) as i64));
    let x: Float64Array = (0..ROWS).map(|_| (numbers.below(20) > 0).then(|| numbers.value())).collect();
    let factor = Float64Array::from_iter_values((0..ROWS).map(|_| 0.9 + numbers.below(200) as f64 * 0.001));
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("desk", desk as _, true),
        ("book", book as _, true),
        ("ccy", ccy as _, true),
        ("day", Arc::new(day) as _, true),
        ("x", Arc::new(x) as _, true),
        ("factor", Arc::new(factor) as _, true),
    ]);
    let batch = batch.unwrap();
    let mut batches = Vec::new();
    let mut begin = 0;
    while begin < ROWS {
        let rows = (1 + numbers.below(900) as usize).min(ROWS - begin);
        batches.push(batch.slice(begin, rows));
        begin += rows;
    }
    batches
}

fn forest() -> ForestBuilder {
    let formula = |text: &str| Combinator::expression(text).unwrap();
    Forest::builder()
        .column("x2", "x * x".parse().unwrap())
        .column("wx", "x * factor".parse().unwrap())
        .measure("sum", Aggregator::sum("x"))
        .measure("mean", Aggregator::new("x", Aggregation::Avg))
        .measure("product", Aggregator::new("factor", Aggregation::Product))
        .measure("least", Aggregator::new("x", Aggregation::Min))
        .measure("greatest", Aggregator::new("x", Aggregation::Max))
        .measure("median", Aggregator::new("x", Aggregation::Median))
        .measure("squares", Aggregator::sum("x2"))
        .measure("count", Aggregator::new("x", Aggregation::Count))
        .measure("variance", formula("squares / count - mean * mean"))
        .measure("wx", Aggregator::sum("wx"))
        .measure("factors", Aggregator::sum("factor"))
        .measure("weighted", Combinator::divide("wx", "factors"))
        .measure("of books", Partitionor::new(&["sum"], &["book"], Combination::Sum, Aggregation::Sum))
        .measure("mean of books", Partitionor::new(&["mean"], &["book"], Combination::Sum, Aggregation::Avg))
        .measure("spread", Dispatchor::new("sum", "book", "bucket", Decomposition::Weights(weights())))
        .measure("so far", Dispatchor::cumulating("sum", "day"))
        .measure("some", Filtrator::new("sum", "ccy <> 'c1'".parse().unwrap()))
}

/// Which part of each book goes to which bucket.
fn weights() -> Vec<(Coordinate, Coordinate, f64)> {
    let weights = [("b1", "low", 0.3), ("b1", "high", 0.7), ("b2", "low", 0.1), ("b3", "low", 1.1)];
    weights.map(|(book, bucket, weight)| (book.into(), bucket.into(), weight)).into()
}

fn cube(seed: u64) -> Cube {
    let batches = batches(seed);
    let table = MemoryTable::new("trades", batches[0].schema(), batches).unwrap();
    let forest = forest().build().unwrap();
    Cube::builder(stages(), forest, table).parallel_from_rows(16).build().unwrap()
}

fn answer(cube: &Cube, query: Query) -> String {
    cube.query(query).unwrap().wait().unwrap().to_csv().unwrap()
}

fn by(columns: &[&str]) -> Query {
    Query::new(MEASURES).by(columns.to_vec())
}

/// The rows of totals of an answer, without the columns that are totals.
fn totals(answer: &str, columns: usize) -> Vec<String> {
    let is_total = |line: &&str| line.starts_with(&"*,".repeat(columns));
    answer.lines().filter(is_total).map(|line| line[2 * columns..].to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    #[test]
    fn partitions_shard_columns_parallelism_and_cache_change_no_bit(
        seed: u64,
        ways in prop::collection::vec(
            (1..=64_usize, 1..=4_usize, prop::sample::subsequence(vec!["desk", "ccy", "day", "book"], 0..=4), any::<bool>()),
            4,
        ),
    ) {
        let level = ["desk", "ccy", "day"];
        let query = || by(&level).totals(["desk", "ccy"]);
        let spread = || Query::new(["spread"]).by(["bucket", "ccy"]);
        let warm = cube(seed);
        let first = answer(&warm, query().partitions(1).parallelism(1).no_cache());
        prop_assert!(first.lines().count() > 7 * 5 * 6);
        let first_spread = answer(&warm, spread().partitions(1).no_cache());
        for (partitions, parallelism, shard, is_cached) in ways {
            let shard: Vec<&str> = shard.into_iter().filter(|column| level.contains(column)).collect();
            let how = |query: Query| {
                let query = query.partitions(partitions).parallelism(parallelism).shard_by(shard.clone());
                if is_cached { query } else { query.no_cache() }
            };
            let told = format!("{partitions} partitions by {shard:?}, parallelism {parallelism}, cache {is_cached}");
            // Others ask before, so that what they left is there.
            answer(&warm, Query::new(["sum", "some"]).by(["ccy"]).partitions(partitions));
            prop_assert_eq!(&answer(&warm, how(query())), &first, "{}", told);
            prop_assert_eq!(&answer(&warm, spread().partitions(partitions).parallelism(parallelism)), &first_spread, "{}", told);
            prop_assert_eq!(&answer(&cube(seed), how(query())), &first, "{}, cold", told);
        }
    }

    #[test]
    fn a_total_is_the_same_alone_and_beside_its_details(seed: u64) {
        let details = answer(&cube(seed), by(&["desk", "ccy"]).totals(["desk", "ccy"]));
        let alone = answer(&cube(seed), by(&[]));
        let alone: Vec<String> = alone.lines().skip(1).map(str::to_owned).collect();
        prop_assert_eq!(totals(&details, 2), alone);
    }
}

/// Three of these have no room in 128 bits, though what they come to does.
#[test]
fn decimals_are_added_up_in_any_order() {
    let large = 9 * 10_i128.pow(37);
    let orders = [
        [large, large, large, -large, -large],
        [large, -large, large, -large, large],
        [-large, -large, large, large, large],
    ];
    for values in orders {
        let decimals = Decimal128Array::from_iter_values(values).with_precision_and_scale(38, 0).unwrap();
        let batch = RecordBatch::try_from_iter([("x", Arc::new(decimals) as ArrayRef)]).unwrap();
        let forest = Forest::builder().measure("sum", Aggregator::sum("x")).build().unwrap();
        let table = MemoryTable::new("large", batch.schema(), vec![batch]).unwrap();
        let cube = Cube::builder(stages(), forest, table).build().unwrap();
        assert_eq!(answer(&cube, Query::new(["sum"])), format!("sum\n{large}\n"));
    }
}

//! The kernel against a map of rows, and against itself on other numbers of threads.

use super::options::Sizes;
use super::plan::Plan;
use super::range::Part;
use super::spill::SpillFile;
use super::{
    Aggregate, Block, Carriers, CustomAggregate, Function, Grouped, Grouping, GroupingOptions, SpillSpace,
    Strategy, Values,
};
use crate::error::CubeError;
use crate::memory::MemoryAccount;
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array,
    Int8Array, Int32Array, Int64Array, StringArray, StringViewArray, TimestampMillisecondArray, UInt64Array,
};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Float64Type, Int32Type, Int64Type, TimeUnit};
use arrow::util::display::array_value_to_string;
use filbert_pool::WorkStealing;
use proptest::prelude::*;
use proptest::strategy::Strategy as _;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Sizes at which a thousand rows take every way.
const SMALL: Sizes =
    Sizes { first_range: 64, last_range: 256, unit: 100, many: 40, few: 50, worth_saving: 0 };

/// Numbers from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % end
    }

    /// A number, or none one time in eight when there are NULLs.
    fn maybe(&mut self, end: u64, nulls: bool) -> Option<u64> {
        let number = self.below(end);
        (!nulls || self.below(8) > 0).then_some(number)
    }
}

/// Key columns of kinds that differ in how they are encoded.
const KINDS: u8 = 12;

fn key_column(kind: u8, rows: usize, keys: u64, nulls: bool, draw: &mut Draw) -> ArrayRef {
    let drawn: Vec<Option<u64>> = (0..rows).map(|_| draw.maybe(keys, nulls)).collect();
    let spread = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let text =
        |number: u64| if number == 0 { String::new() } else { format!("key {}", spread(number) % 1_000_003) };
    let ints = drawn.iter().map(|number| number.map(|number| number as i32));
    match kind {
        0 => Arc::new(
            drawn.iter().map(|number| number.map(|number| spread(number) as i64)).collect::<Int64Array>(),
        ),
        1 => Arc::new(
            drawn.iter().map(|number| number.map(|number| number as i64 - 3)).collect::<Int64Array>(),
        ),
        2 => Arc::new(drawn.iter().map(|number| number.map(spread)).collect::<UInt64Array>()),
        3 => Arc::new(ints.collect::<Int32Array>()),
        4 => Arc::new(drawn.iter().map(|number| number.map(|number| number as i8)).collect::<Int8Array>()),
        5 => Arc::new(
            drawn.iter().map(|number| number.map(|number| number % 2 == 0)).collect::<BooleanArray>(),
        ),
        6 => Arc::new(ints.collect::<Date32Array>()),
        7 => Arc::new(
            drawn
                .iter()
                .map(|number| {
                    number.map(|number| match number {
                        0 => 0.0,
                        1 => -0.0,
                        2 => f64::NAN,
                        3 => -f64::NAN,
                        other => other as f64 / 4.0,
                    })
                })
                .collect::<Float64Array>(),
        ),
        8 => Arc::new(drawn.iter().map(|number| number.map(text)).collect::<StringArray>()),
        9 => Arc::new(drawn.iter().map(|number| number.map(text)).collect::<StringViewArray>()),
        10 => {
            let texts: Vec<Option<String>> = drawn.iter().map(|number| number.map(text)).collect();
            let texts: Vec<Option<&str>> = texts.iter().map(Option::as_deref).collect();
            Arc::new(texts.into_iter().collect::<DictionaryArray<Int32Type>>())
        }
        _ => Arc::new(
            drawn
                .iter()
                .map(|number| number.map(|number| i128::from(spread(number)) << 20))
                .collect::<Decimal128Array>()
                .with_precision_and_scale(38, 2)
                .unwrap(),
        ),
    }
}

/// A table, and how it is grouped.
#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    kinds: Vec<u8>,
    rows: usize,
    keys: u64,
    nulls: bool,
    block_rows: usize,
    partitions: usize,
    parallelism: usize,
    strategy: Option<Strategy>,
}

fn cases() -> impl proptest::strategy::Strategy<Value = Case> {
    let strategy = prop_oneof![Just(None), Just(Some(Strategy::Local)), Just(Some(Strategy::Radix))];
    let shape =
        (any::<u64>(), proptest::collection::vec(0..KINDS, 0..4), 0_usize..1500, 1_u64..400, any::<bool>());
    let run = (1_usize..700, 1_usize..40, 1_usize..5, strategy);
    (shape, run).prop_map(
        |((seed, kinds, rows, keys, nulls), (block_rows, partitions, parallelism, strategy))| Case {
            seed: seed | 1,
            kinds,
            rows,
            keys,
            nulls,
            block_rows,
            partitions,
            parallelism,
            strategy,
        },
    )
}

struct Table {
    keys: Vec<ArrayRef>,
    inputs: Vec<ArrayRef>,
    filter: BooleanArray,
    rows: usize,
}

impl Table {
    fn of(case: &Case) -> Self {
        let mut draw = Draw(case.seed);
        let (rows, nulls) = (case.rows, case.nulls);
        let keys =
            case.kinds.iter().map(|kind| key_column(*kind, rows, case.keys, nulls, &mut draw)).collect();
        // Whole numbers and powers of two: their sums and products are exact in any order.
        let ints: Int64Array =
            (0..rows).map(|_| draw.maybe(1_000, nulls).map(|number| number as i64 - 500)).collect();
        let floats: Float64Array =
            (0..rows).map(|_| draw.maybe(64, nulls).map(|number| number as f64 / 2.0)).collect();
        let factors: Float64Array =
            (0..rows).map(|_| draw.maybe(3, nulls).map(|number| [0.5, 2.0, -1.0][number as usize])).collect();
        let texts: StringArray =
            (0..rows).map(|_| draw.maybe(5, nulls).map(|number| format!("text {number}"))).collect();
        let decimals: Decimal128Array = (0..rows).map(|_| draw.maybe(1_000, nulls).map(i128::from)).collect();
        let dates: Date32Array =
            (0..rows).map(|_| draw.maybe(1_000, nulls).map(|number| number as i32)).collect();
        let filter = (0..rows).map(|_| draw.maybe(3, nulls).map(|number| number > 0)).collect();
        let inputs: Vec<ArrayRef> = vec![
            Arc::new(ints),
            Arc::new(floats),
            Arc::new(factors),
            Arc::new(texts),
            Arc::new(decimals.with_precision_and_scale(20, 2).unwrap()),
            Arc::new(dates),
        ];
        Self { keys, inputs, filter, rows }
    }

    fn types(&self) -> Vec<DataType> {
        self.keys.iter().map(|column| column.data_type().clone()).collect()
    }

    fn aggregates(&self) -> Vec<Aggregate> {
        let of =
            |function, input: usize| Aggregate::new(function, input, self.inputs[input].data_type().clone());
        vec![
            of(Function::Sum, 0),
            of(Function::Sum, 1),
            of(Function::Sum, 1).filtered(0),
            of(Function::Sum, 4),
            Aggregate::count_rows(),
            Aggregate::count_rows().filtered(0),
            of(Function::Count, 3),
            of(Function::Min, 0),
            of(Function::Max, 1),
            of(Function::Min, 5),
            of(Function::Max, 4).filtered(0),
            of(Function::Avg, 1),
            of(Function::Avg, 0).filtered(0),
            of(Function::Product, 2),
            of(Function::CountDistinct, 3),
            of(Function::CountDistinct, 0).filtered(0),
        ]
    }

    fn group(&self, case: &Case, cpu: &WorkStealing) -> Result<Grouped, CubeError> {
        self.group_with(case, self.aggregates(), GroupingOptions::new(cpu.clone()))
    }

    fn group_with(
        &self,
        case: &Case,
        aggregates: Vec<Aggregate>,
        mut options: GroupingOptions,
    ) -> Result<Grouped, CubeError> {
        options.parallelism = case.parallelism;
        options.partitions = case.partitions;
        options.strategy = case.strategy;
        options.sizes = SMALL;
        let mut grouping = Grouping::new(self.types(), aggregates, options)?;
        for start in (0..self.rows).step_by(case.block_rows) {
            let rows = case.block_rows.min(self.rows - start);
            let slice = |column: &ArrayRef| column.slice(start, rows);
            grouping.push(Block {
                rows,
                keys: self.keys.iter().map(slice).collect(),
                inputs: self.inputs.iter().map(slice).collect(),
                filters: vec![Some(self.filter.slice(start, rows))],
            })?;
        }
        grouping.finish()
    }

    /// The same by a map of rows.
    fn naive(&self) -> BTreeMap<Vec<String>, Vec<String>> {
        let mut rows_of: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
        for row in 0..self.rows {
            rows_of.entry(key(&self.keys, row)).or_default().push(row);
        }
        rows_of.into_iter().map(|(key, rows)| (key, self.naive_values(&rows))).collect()
    }

    fn naive_values(&self, rows: &[usize]) -> Vec<String> {
        let kept: Vec<usize> = rows
            .iter()
            .copied()
            .filter(|row| self.filter.is_valid(*row) && self.filter.value(*row))
            .collect();
        let ints = |rows: &[usize]| -> Vec<i64> {
            let column = self.inputs[0].as_primitive::<Int64Type>();
            rows.iter().filter(|row| column.is_valid(**row)).map(|row| column.value(*row)).collect()
        };
        let floats = |input: usize, rows: &[usize]| -> Vec<f64> {
            let column = self.inputs[input].as_primitive::<Float64Type>();
            rows.iter().filter(|row| column.is_valid(**row)).map(|row| column.value(*row)).collect()
        };
        let texts = |input: usize, rows: &[usize]| -> Vec<String> {
            let column = &self.inputs[input];
            let valid = rows.iter().filter(|row| column.is_valid(**row));
            valid.map(|row| array_value_to_string(column, *row).unwrap()).collect()
        };
        let decimals = |rows: &[usize]| -> Vec<i128> {
            let column = self.inputs[4].as_primitive::<arrow::datatypes::Decimal128Type>();
            rows.iter().filter(|row| column.is_valid(**row)).map(|row| column.value(*row)).collect()
        };
        let shown = |column: ArrayRef| cell(&column, 0);
        let float = |value: Option<f64>| shown(Arc::new(Float64Array::from(vec![value])));
        let int = |value: Option<i64>| shown(Arc::new(Int64Array::from(vec![value])));
        let decimal = |value: Option<i128>, precision| {
            let column = Decimal128Array::from(vec![value]).with_precision_and_scale(precision, 2).unwrap();
            shown(Arc::new(column))
        };
        let sum = |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>());
        let mean =
            |values: Vec<f64>| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        let distinct = |mut values: Vec<String>| {
            values.sort();
            values.dedup();
            int(Some(values.len() as i64))
        };
        let kept_ints: Vec<f64> = ints(&kept).iter().map(|value| *value as f64).collect();
        let products = floats(2, rows);
        vec![
            int((!ints(rows).is_empty()).then(|| ints(rows).iter().sum())),
            float(sum(floats(1, rows))),
            float(sum(floats(1, &kept))),
            decimal((!decimals(rows).is_empty()).then(|| decimals(rows).iter().sum()), 38),
            int(Some(rows.len() as i64)),
            int(Some(kept.len() as i64)),
            int(Some(texts(3, rows).len() as i64)),
            int(ints(rows).into_iter().min()),
            float(floats(1, rows).into_iter().reduce(f64::max)),
            texts(5, rows).into_iter().min().map_or("NULL".to_owned(), |date| format!("={date}")),
            decimal(decimals(&kept).into_iter().max(), 20),
            float(mean(floats(1, rows))),
            float(mean(kept_ints)),
            float((!products.is_empty()).then(|| products.iter().product())),
            distinct(texts(3, rows)),
            distinct(texts(0, &kept)),
        ]
    }
}

fn cell(column: &ArrayRef, row: usize) -> String {
    let is_null = column.logical_nulls().is_some_and(|nulls| nulls.is_null(row));
    if is_null { "NULL".to_owned() } else { format!("={}", array_value_to_string(column, row).unwrap()) }
}

fn key(columns: &[ArrayRef], row: usize) -> Vec<String> {
    columns.iter().map(|column| cell(column, row).replace("=-0.0", "=0.0")).collect()
}

fn shown(grouped: &Grouped) -> BTreeMap<Vec<String>, Vec<String>> {
    let mut all = BTreeMap::new();
    for partition in &grouped.partitions {
        for group in 0..partition.groups {
            let values = partition.values.iter().map(|column| cell(column, group)).collect();
            let before = all.insert(key(&partition.keys, group), values);
            assert!(before.is_none(), "a key is in one group only");
        }
    }
    all
}

/// A count whose carriers cannot be written to disk.
#[derive(Debug)]
struct Own;

struct OwnCounts(Vec<i64>);

impl CustomAggregate for Own {
    fn carriers(&self, _: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
        Ok(Box::new(OwnCounts(Vec::new())))
    }
}

impl Carriers for OwnCounts {
    fn grow(&mut self, groups: usize) {
        self.0.resize(groups, 0);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        values.for_each_selected(|row| self.0[groups[row] as usize] += 1);
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = (from as &dyn Any).downcast_ref::<Self>().unwrap();
        groups.iter().zip(rows).for_each(|(group, row)| self.0[*group as usize] += from.0[*row as usize]);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        Ok(Arc::new(Int64Array::from(self.0)))
    }

    fn bytes(&self) -> usize {
        self.0.capacity() * 8
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn groups_are_those_of_a_map(case in cases()) {
        let cpu = WorkStealing::standalone(4);
        let table = Table::of(&case);
        let grouped = table.group(&case, &cpu).unwrap();
        prop_assert_eq!(grouped.partitions.len(), case.partitions);
        let (ours, naive) = (shown(&grouped), table.naive());
        prop_assert_eq!(ours, naive);
    }

    /// To the last bit and in the same order: with groups on disk where their carriers can be written, and with rows alone where not.
    #[test]
    fn what_was_on_disk_gives_the_same(case in cases(), with_own in any::<bool>()) {
        let cpu = WorkStealing::standalone(4);
        let mut table = Table::of(&case);
        // Sums of these depend on the order.
        let floats = table.inputs[1].as_primitive::<Float64Type>().unary::<_, Float64Type>(|value| value * 0.1);
        table.inputs[1] = Arc::new(floats);
        let texts = |function| Aggregate::new(function, 3, DataType::Utf8);
        let aggregates = || {
            let mut all = table.aggregates();
            all.extend(with_own.then(|| Aggregate::new(Function::Custom(Arc::new(Own)), 0, DataType::Int64)));
            all.extend([texts(Function::Min), texts(Function::Max).filtered(0)]);
            all
        };
        let expected = table.group_with(&case, aggregates(), GroupingOptions::new(cpu.clone())).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let space = Arc::new(SpillSpace::new(folder.path(), u64::MAX));
        let memory = MemoryAccount::new(usize::MAX);
        // Always tight, so that every part goes to disk that may.
        let _others = memory.try_reserve(usize::MAX / 2 + 1).unwrap();
        let spilling = GroupingOptions {
            memory,
            spill: Some(Arc::clone(&space)),
            ..GroupingOptions::new(cpu)
        };
        let spilled = table.group_with(&case, aggregates(), spilling).unwrap();
        for (one, other) in spilled.partitions.iter().zip(&expected.partitions) {
            prop_assert_eq!(&one.keys, &other.keys);
            prop_assert_eq!(&one.values, &other.values);
        }
        prop_assert_eq!(space.held(), 0);
        prop_assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_partition_of_a_key_depends_on_nothing_else(mut case in cases()) {
        let cpu = WorkStealing::standalone(4);
        let table = Table::of(&case);
        let places = |case: &Case| -> BTreeMap<Vec<String>, usize> {
            let grouped = table.group(case, &cpu).unwrap();
            let partitions = grouped.partitions.iter().enumerate();
            partitions.flat_map(|(at, it)| (0..it.groups).map(move |group| (key(&it.keys, group), at))).collect()
        };
        let first = places(&case);
        (case.parallelism, case.block_rows) = (5 - case.parallelism, 64);
        case.strategy = match case.strategy {
            Some(Strategy::Local) => Some(Strategy::Radix),
            _ => Some(Strategy::Local),
        };
        prop_assert_eq!(first, places(&case));
    }
}

/// Floats whose sum depends on the order of the additions.
fn rough(rows: usize) -> ArrayRef {
    let mut draw = Draw(77);
    Arc::new((0..rows).map(|_| Some(1.0 / (1.0 + draw.below(1 << 40) as f64))).collect::<Float64Array>())
}

fn sums(
    keys: &ArrayRef,
    values: &ArrayRef,
    block_rows: usize,
    options: GroupingOptions,
) -> BTreeMap<Vec<String>, u64> {
    let sum = Aggregate::new(Function::Sum, 0, DataType::Float64);
    let mut grouping = Grouping::new(vec![keys.data_type().clone()], vec![sum], options).unwrap();
    for start in (0..keys.len()).step_by(block_rows) {
        let rows = block_rows.min(keys.len() - start);
        let (keys, inputs) = (vec![keys.slice(start, rows)], vec![values.slice(start, rows)]);
        grouping.push(Block { rows, keys, inputs, filters: vec![] }).unwrap();
    }
    let grouped = grouping.finish().unwrap();
    let mut all = BTreeMap::new();
    for partition in &grouped.partitions {
        let sums = partition.values[0].as_primitive::<Float64Type>();
        for group in 0..partition.groups {
            all.insert(key(&partition.keys, group), sums.value(group).to_bits());
        }
    }
    all
}

#[test]
fn groups_and_rows_both_go_to_disk() {
    let cpu = WorkStealing::standalone(2);
    for strategy in [Strategy::Local, Strategy::Radix] {
        let case = Case {
            seed: 7,
            kinds: vec![0],
            rows: 1_500,
            keys: 300,
            nulls: true,
            block_rows: 200,
            partitions: 4,
            parallelism: 2,
            strategy: Some(strategy),
        };
        let (table, folder) = (Table::of(&case), tempfile::tempdir().unwrap());
        let sum = || vec![Aggregate::new(Function::Sum, 1, DataType::Float64)];
        let space = |limit| Arc::new(SpillSpace::new(folder.path(), limit));
        let tight = |space: &Arc<SpillSpace>, limit: usize| GroupingOptions {
            memory: MemoryAccount::new(limit),
            spill: Some(Arc::clone(space)),
            ..GroupingOptions::new(cpu.clone())
        };
        let expected = table.group_with(&case, sum(), GroupingOptions::new(cpu.clone())).unwrap();
        let (roomy, small) = (space(1 << 20), space(1_000));
        // sleeps because ranges that wait in line are the subject: their rows must leave room for the parts
        #[expect(clippy::disallowed_methods, reason = "a worker is to be busy for a while")]
        let busy = || cpu.submit("busy", || std::thread::sleep(Duration::from_millis(20))).unwrap();
        let _busy = [busy(), busy()];
        let spilled = table.group_with(&case, sum(), tight(&roomy, 40_000)).unwrap();
        assert_eq!(shown(&spilled), shown(&expected));
        assert!(roomy.written() > 0 && roomy.held() == 0);
        // What does not fit on the disk either is as if there was none.
        let limit = 12_000;
        let error = table.group_with(&case, sum(), tight(&small, limit)).unwrap_err();
        assert!(matches!(error, CubeError::OverMemory { .. }), "{error:?}");
        assert_eq!(small.held(), 0);
    }
}

/// A few groups with large sets had to be in memory all at once, for they go through one table.
#[test]
fn few_groups_with_large_sets_go_to_disk() {
    let (ranges, range) = (12, 4_096);
    let rows = ranges * range;
    let desks: ArrayRef = Arc::new((0..rows).map(|row| Some((row % 3) as i64)).collect::<Int64Array>());
    let trades: ArrayRef = Arc::new((0..rows).map(|row| Some((row % range) as i64)).collect::<Int64Array>());
    let folder = tempfile::tempdir().unwrap();
    let space = Arc::new(SpillSpace::new(folder.path(), 1 << 30));
    for (partitions, parallelism) in [(1, 1), (1, 2), (40, 1)] {
        let counted = |limit: usize, spill: Option<Arc<SpillSpace>>| {
            let options = GroupingOptions {
                parallelism,
                partitions,
                memory: MemoryAccount::new(limit),
                spill,
                sizes: Sizes { first_range: range, last_range: range, ..Sizes::default() },
                ..GroupingOptions::new(WorkStealing::standalone(2))
            };
            let distinct = Aggregate::new(Function::CountDistinct, 0, DataType::Int64);
            let mut grouping = Grouping::new(vec![DataType::Int64], vec![distinct], options)?;
            for start in (0..rows).step_by(range) {
                let slice = |column: &ArrayRef| vec![column.slice(start, range)];
                grouping.push(Block {
                    rows: range,
                    keys: slice(&desks),
                    inputs: slice(&trades),
                    filters: vec![],
                })?;
            }
            grouping.finish()
        };
        let expected = counted(usize::MAX, None).unwrap();
        assert_eq!(expected.groups(), 3);
        // The sets of half of the ranges.
        let limit = ranges / 2 * range * 12;
        let refused = counted(limit, None).unwrap_err();
        assert!(matches!(refused, CubeError::OverMemory { .. }), "{refused:?}");
        let written = space.written();
        let spilled = counted(limit, Some(Arc::clone(&space))).unwrap();
        assert!(space.written() > written && space.held() == 0);
        for (one, other) in spilled.partitions.iter().zip(&expected.partitions) {
            assert_eq!((&one.keys, &one.values), (&other.keys, &other.values));
        }
        // What they come to has no room: the error says so.
        let refused = counted(range * 12, Some(Arc::clone(&space))).unwrap_err();
        assert!(matches!(refused, CubeError::OverMemory { .. }), "{refused:?}");
    }
}

#[test]
fn what_the_disk_changed_is_an_error() {
    let case = Case {
        seed: 3,
        kinds: vec![0],
        rows: 40,
        keys: 9,
        nulls: true,
        block_rows: 40,
        partitions: 1,
        parallelism: 1,
        strategy: Some(Strategy::Local),
    };
    let (table, folder) = (Table::of(&case), tempfile::tempdir().unwrap());
    let sum = vec![Aggregate::new(Function::Sum, 1, DataType::Float64)];
    let plan = Plan::new(&table.types(), sum, &GroupingOptions::new(WorkStealing::standalone(1))).unwrap();
    let rows =
        [Block { rows: 40, keys: table.keys.clone(), inputs: table.inputs.clone(), filters: vec![None] }];
    let space = Arc::new(SpillSpace::new(folder.path(), 1 << 20));
    let mut part = Part::of(&plan, &rows).unwrap();
    let mut file = SpillFile::new(Arc::clone(&space));
    assert!(part.save(&plan, &mut file).unwrap());
    let (saved, whole) = (part.saved.unwrap(), file.read(0..file.end()).unwrap());
    let is_read = |bytes: &[u8]| {
        let mut file = SpillFile::new(Arc::clone(&space));
        assert!(file.append(bytes).unwrap());
        (0..plan.pieces()).all(|piece| saved.load(&plan, &mut file, piece).is_ok())
    };
    assert!(is_read(&whole));
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(!is_read(&changed), "byte {at} of {}", whole.len());
    }
}

#[test]
fn sums_are_the_same_to_the_last_bit_for_any_parallelism_and_partitions() {
    let cpu = WorkStealing::standalone(4);
    let rows = 20_000;
    let values = rough(rows);
    for keys in [3, 300, 15_000] {
        let mut draw = Draw(5);
        let keys = key_column(0, rows, keys, true, &mut draw);
        for strategy in [None, Some(Strategy::Local), Some(Strategy::Radix)] {
            let mut results = Vec::new();
            for (parallelism, partitions) in [(1, 1), (2, 7), (3, 32), (4, 64)] {
                let mut options = GroupingOptions::new(cpu.clone());
                (options.parallelism, options.partitions, options.strategy) =
                    (parallelism, partitions, strategy);
                options.sizes = Sizes { first_range: 512, last_range: 4096, many: 1_000, ..SMALL };
                results.push(sums(&keys, &values, 333, options));
            }
            assert!(results.windows(2).all(|two| two[0] == two[1]), "strategy {strategy:?}");
        }
    }
}

#[test]
fn a_key_that_most_rows_have_is_split_and_summed_the_same() {
    let cpu = WorkStealing::standalone(2);
    let rows = 10_000;
    let mut draw = Draw(9);
    let drawn: Int64Array = (0..rows)
        .map(|_| if draw.below(10) < 8 { Some(7) } else { Some(draw.below(1 << 40) as i64) })
        .collect();
    let (keys, values): (ArrayRef, ArrayRef) = (Arc::new(drawn), rough(rows));
    let with = |parallelism, strategy| {
        let mut options = GroupingOptions::new(cpu.clone());
        (options.parallelism, options.strategy, options.sizes) = (parallelism, Some(strategy), SMALL);
        sums(&keys, &values, 500, options)
    };
    assert_eq!(with(1, Strategy::Radix), with(2, Strategy::Radix));
    assert_eq!(with(1, Strategy::Radix).len(), with(1, Strategy::Local).len());
}

#[test]
fn groupings_with_a_column_in_common_agree_on_its_partition() {
    let cpu = WorkStealing::standalone(2);
    let mut draw = Draw(3);
    let rows = 2_000;
    let (fine, coarse) =
        (key_column(8, rows, 300, true, &mut draw), key_column(10, rows, 40, true, &mut draw));
    let places = |keys: Vec<ArrayRef>, shard: Option<Vec<usize>>, strategy: Strategy| {
        let mut options = GroupingOptions::new(cpu.clone());
        (options.partitions, options.strategy, options.sizes) = (11, Some(strategy), SMALL);
        let shared = shard.clone().unwrap_or_else(|| vec![0]);
        options.shard = shard;
        let types = keys.iter().map(|key| key.data_type().clone()).collect();
        let mut grouping = Grouping::new(types, vec![Aggregate::count_rows()], options).unwrap();
        grouping.push(Block { rows, keys, ..Block::default() }).unwrap();
        let mut places = BTreeMap::new();
        for (place, partition) in grouping.finish().unwrap().partitions.iter().enumerate() {
            for group in 0..partition.groups {
                let at = places.entry(key(&partition.keys[shared[0]..=shared[0]], group)).or_insert(place);
                assert_eq!(*at, place, "all groups of a shard are together");
            }
        }
        places
    };
    let alone = places(vec![Arc::clone(&coarse)], None, Strategy::Local);
    for strategy in [Strategy::Local, Strategy::Radix] {
        let with_more = places(vec![Arc::clone(&fine), Arc::clone(&coarse)], Some(vec![1]), strategy);
        assert_eq!(alone, with_more);
    }
}

fn numbers(rows: usize) -> (ArrayRef, ArrayRef) {
    let keys: Int64Array =
        (0..rows).map(|row| Some((row as i64).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64))).collect();
    (Arc::new(keys), rough(rows))
}

#[test]
fn more_than_the_limit_is_an_error_and_everything_is_given_back() {
    let cpu = WorkStealing::standalone(2);
    let (keys, values) = numbers(200_000);
    for strategy in [None, Some(Strategy::Local), Some(Strategy::Radix)] {
        let mut options = GroupingOptions::new(cpu.clone());
        let memory = MemoryAccount::new(1_000_000);
        (options.memory, options.strategy) = (memory.clone(), strategy);
        let sum = Aggregate::new(Function::Sum, 0, DataType::Float64);
        let mut grouping = Grouping::new(vec![DataType::Int64], vec![sum], options).unwrap();
        let block = Block {
            rows: 200_000,
            keys: vec![Arc::clone(&keys)],
            inputs: vec![Arc::clone(&values)],
            filters: vec![],
        };
        let ended = grouping.push(block).and_then(|()| grouping.finish().map(drop));
        assert!(
            matches!(ended, Err(CubeError::OverMemory { limit: 1_000_000, .. })),
            "{strategy:?}: {ended:?}"
        );
        assert!(memory.peak() <= 1_000_000);
        // Tasks that still ran give back what they hold as they end.
        cpu.submit("after", || ()).unwrap().wait().unwrap();
        let mut turns = 0;
        while memory.held() > 0 {
            turns += 1;
            assert!(turns < 100_000_000, "{} bytes are still held", memory.held());
            std::thread::yield_now();
        }
    }
}

#[test]
fn partitions_of_a_few_rows_hold_next_to_nothing() {
    let cpu = WorkStealing::standalone(2);
    let (keys, values) = numbers(100);
    for strategy in [None, Some(Strategy::Local), Some(Strategy::Radix)] {
        let mut options = GroupingOptions::new(cpu.clone());
        let memory = MemoryAccount::unlimited();
        (options.memory, options.strategy, options.partitions) = (memory.clone(), strategy, 32);
        let sum = Aggregate::new(Function::Sum, 0, DataType::Float64);
        let mut grouping = Grouping::new(vec![DataType::Int64], vec![sum], options).unwrap();
        let (keys, inputs) = (vec![Arc::clone(&keys)], vec![Arc::clone(&values)]);
        grouping.push(Block { rows: 100, keys, inputs, filters: vec![] }).unwrap();
        assert_eq!(grouping.finish().unwrap().groups(), 100);
        assert!(memory.peak() > 0 && memory.peak() < 100_000, "{strategy:?}: {}", memory.peak());
    }
}

#[test]
fn a_cancelled_grouping_ends() {
    let cpu = WorkStealing::standalone(2);
    let (keys, values) = numbers(1_000);
    let options = GroupingOptions::new(cpu);
    let cancelled = Arc::clone(&options.cancelled);
    let sum = Aggregate::new(Function::Sum, 0, DataType::Float64);
    let mut grouping = Grouping::new(vec![DataType::Int64], vec![sum], options).unwrap();
    let block = Block { rows: 1_000, keys: vec![keys], inputs: vec![values], filters: vec![] };
    grouping.push(block.clone()).unwrap();
    cancelled.store(true, Ordering::Relaxed);
    assert_eq!(grouping.push(block), Err(CubeError::Cancelled));
    assert_eq!(grouping.finish().unwrap_err(), CubeError::Cancelled);
}

#[test]
fn a_total_that_does_not_fit_is_an_error_and_one_on_the_way_is_not() {
    let cpu = WorkStealing::standalone(1);
    let total = |values: Vec<i64>| {
        let options = GroupingOptions::new(cpu.clone());
        let sum = Aggregate::new(Function::Sum, 0, DataType::Int64);
        let mut grouping = Grouping::new(vec![], vec![sum], options).unwrap();
        let rows = values.len();
        let values: ArrayRef = Arc::new(Int64Array::from(values));
        grouping.push(Block { rows, keys: vec![], inputs: vec![values], filters: vec![] }).unwrap();
        let grouped = grouping.finish()?;
        let column = concat(&[&*grouped.partitions[0].values[0]]).unwrap();
        Ok::<i64, CubeError>(column.as_primitive::<Int64Type>().value(0))
    };
    assert_eq!(total(vec![i64::MAX, i64::MAX, -i64::MAX]), Ok(i64::MAX));
    assert!(matches!(total(vec![i64::MAX, 1]), Err(CubeError::Computation { .. })));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let cpu = WorkStealing::standalone(1);
    let options = GroupingOptions::new(cpu);
    let sum = |data_type| vec![Aggregate::new(Function::Sum, 0, data_type)];
    assert!(matches!(
        Grouping::new(vec![], sum(DataType::Utf8), options.clone()),
        Err(CubeError::UnsupportedType { .. })
    ));
    let mut none = options.clone();
    none.partitions = 0;
    assert!(matches!(Grouping::new(vec![], vec![], none), Err(CubeError::InvalidQuery { .. })));
    let mut grouping = Grouping::new(vec![DataType::Int64], sum(DataType::Float64), options).unwrap();
    let (keys, values) = numbers(5);
    let uneven = Block { rows: 5, keys: vec![keys.slice(0, 4)], inputs: vec![values], filters: vec![] };
    assert!(matches!(grouping.push(uneven), Err(CubeError::InvalidQuery { .. })));
    let no_input = Block { rows: 5, keys: vec![keys], inputs: vec![], filters: vec![] };
    let ended = grouping.push(no_input).and_then(|()| grouping.finish().map(drop));
    assert!(matches!(ended, Err(CubeError::InvalidQuery { .. })));
}

#[test]
fn times_come_out_as_what_they_went_in() {
    let cpu = WorkStealing::standalone(1);
    let zoned = DataType::Timestamp(TimeUnit::Millisecond, Some("Europe/Paris".into()));
    let keys: ArrayRef =
        Arc::new(TimestampMillisecondArray::from(vec![1, 2, 1]).with_timezone("Europe/Paris"));
    let latest = Aggregate::new(Function::Max, 0, zoned.clone());
    let mut grouping = Grouping::new(vec![zoned.clone()], vec![latest], GroupingOptions::new(cpu)).unwrap();
    let inputs = vec![Arc::clone(&keys)];
    grouping.push(Block { rows: 3, keys: vec![keys], inputs, filters: vec![] }).unwrap();
    let grouped = grouping.finish().unwrap();
    assert_eq!(grouped.partitions[0].keys[0].data_type(), &zoned);
    assert_eq!(grouped.partitions[0].values[0].data_type(), &zoned);
}

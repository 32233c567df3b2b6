//! The workloads that Adhoc, the cube engine on the JVM, is tested with: whole queries of a cube.
//!
//! Question: how long do they take, what do they hold, and how much faster are two workers than one? Expected bottleneck: grouping the rows
//! of the table by fine slices, then one pass over the slices per fused chain. Ceiling for the speed-up: about what two threads that share
//! nothing gain, measured in the same rounds; 2 where processors are whole cores. Bar: 1.6 where there is enough
//! to share; a chain over six thousand slices is not. Against Adhoc, where its jars are given: bar 10; what it does not answer within ten
//! minutes is given up, without a ratio. It has no totals, so induction, where they are asked for, is ours alone.

use super::adhoc::{Adhoc, Outcome, Theirs};
use super::ceiling::Ceiling;
use super::{SUITE, THREADS};
use crate::harness::{Effort, Times, resident};
use crate::report::Report;
use arrow::array::{
    Array, ArrayRef, AsArray, Date32Array, DictionaryArray, Float64Array, Int32Array, Int64Array,
    RecordBatch, StringArray,
};
use arrow::datatypes::Float64Type;
use filbert_cube::{
    Aggregation, Aggregator, Combination, Combinator, Coordinate, Cube, Decomposition, Dispatchor, Forest,
    ForestBuilder, MemoryTable, Partitionor, Query, Shiftor,
};
use filbert_pool::Stages;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

const BAR: f64 = 1.6;
const ADHOC_BAR: f64 = 10.0;
const BATCH_ROWS: usize = 65_536;

/// A workload is asked for so long at least, but not more often than this.
const SHORT: Duration = Duration::from_secs(4);
const MOST_ROUNDS: usize = 200;

/// A query of a cube, and what must come out.
struct Workload {
    name: String,
    forest: ForestBuilder,
    table: RecordBatch,
    query: Query,
    /// How many rows, and the sum of the last column.
    expected: (usize, f64),
    /// Enough work for two.
    is_parallel: bool,
    /// The same for Adhoc.
    theirs: Option<Theirs>,
}

fn table<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    RecordBatch::try_from_iter(columns).expect("the columns fit")
}

fn floats(values: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
}

/// A column of texts that repeat.
fn texts(count: usize, of_row: impl Iterator<Item = usize>) -> ArrayRef {
    let values: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..count).map(|number| format!("text {number}"))));
    let codes = Int32Array::from_iter_values(of_row.map(|number| number as i32));
    Arc::new(DictionaryArray::new(codes, values))
}

/// Per row a product, then the sum of the products by letter.
fn product_then_sum(rows: usize) -> Workload {
    Workload {
        name: format!("product per row, then sum, {rows} rows"),
        forest: Forest::builder()
            .measure("price", Aggregator::sum("price"))
            .measure("lots", Aggregator::sum("lots"))
            .measure(
                "value",
                Partitionor::new(&["price", "lots"], &["trade"], Combination::Product, Aggregation::Sum),
            ),
        table: table([
            ("letter", texts(26, (0..rows).map(|row| row % 26))),
            ("trade", Arc::new(Int64Array::from_iter_values(0..rows as i64)) as ArrayRef),
            ("price", floats((0..rows).map(|row| (row % 100) as f64))),
            ("lots", floats((0..rows).map(|row| (row % 7) as f64))),
        ]),
        query: Query::new(["value"]).by(["letter"]),
        expected: (26.min(rows), (0..rows).map(|row| ((row % 100) * (row % 7)) as f64).sum()),
        is_parallel: true,
        theirs: Some(Theirs { name: "product", sizes: (rows, 0) }),
    }
}

/// Every measure of the tower is twice the one below.
fn tower(rows: usize, height: usize) -> Workload {
    let mut forest = Forest::builder().measure("m0", Aggregator::sum("v"));
    for level in 1..=height {
        let below = format!("m{}", level - 1);
        forest = forest.measure(&format!("m{level}"), Combinator::sum(&[below.as_str(), below.as_str()]));
    }
    Workload {
        name: format!("tower of {height} combinators, {rows} rows"),
        forest,
        table: table([
            ("id", Arc::new(Int64Array::from_iter_values(0..rows as i64)) as ArrayRef),
            ("v", floats((0..rows).map(|row| row as f64))),
        ]),
        query: Query::new([format!("m{height}")]).by(["id"]),
        expected: (rows, (0..rows).map(|row| row as f64).sum::<f64>() * (1_u64 << height) as f64),
        is_parallel: true,
        theirs: Some(Theirs { name: "tower", sizes: (rows, height) }),
    }
}

/// Every measure of the chain is one more than the one before.
fn chain(rows: usize, length: usize) -> Workload {
    let mut forest = Forest::builder().measure("m0", Aggregator::sum("v"));
    for link in 1..=length {
        let next = Combinator::expression(&format!("m{} + 1", link - 1)).expect("the formula is right");
        forest = forest.measure(&format!("m{link}"), next);
    }
    Workload {
        name: format!("chain of {length} combinators, {rows} rows"),
        forest,
        table: table([
            ("id", Arc::new(Int64Array::from_iter_values(0..rows as i64)) as ArrayRef),
            ("v", floats((0..rows).map(|row| row as f64))),
        ]),
        query: Query::new([format!("m{length}")]).by(["id"]),
        expected: (rows, (0..rows).map(|row| (row + length) as f64).sum()),
        is_parallel: false,
        theirs: Some(Theirs { name: "chain", sizes: (rows, length) }),
    }
}

/// The value of the day before, for every product and day.
fn day_before(products: usize, days: usize) -> Workload {
    let rows = products * days;
    let value = |row: usize| ((row / products) * 3 + row % products) as f64;
    Workload {
        name: format!("the day before, {products} x {days} days"),
        forest: Forest::builder()
            .measure("v", Aggregator::sum("v"))
            .measure("before", Shiftor::offset("v", "day", -1)),
        table: table([
            ("product", texts(products, (0..rows).map(|row| row % products))),
            (
                "day",
                Arc::new(Date32Array::from_iter_values((0..rows).map(|row| (row / products) as i32)))
                    as ArrayRef,
            ),
            ("v", floats((0..rows).map(value))),
        ]),
        query: Query::new(["before"]).by(["product", "day"]).memory_limit(8 << 30),
        expected: (rows - products, (0..rows - products).map(value).sum()),
        is_parallel: true,
        theirs: Some(Theirs { name: "shift", sizes: (products, days) }),
    }
}

/// Every set of elements is a group: an element goes to all sets that it is in.
fn many_to_many(elements: u32) -> Workload {
    let sets = 1_i64 << elements;
    let pairs = (0..i64::from(elements)).flat_map(|element| {
        let is_in = move |set: &i64| set >> element & 1 == 1;
        (0..sets).filter(is_in).map(move |set| (Coordinate::from(element), Coordinate::from(set)))
    });
    let spread = Dispatchor::new("v", "element", "set", Decomposition::Pairs(pairs.collect()));
    Workload {
        name: format!("many to many, {elements} elements in {sets} sets"),
        forest: Forest::builder().measure("v", Aggregator::sum("v")).measure("spread", spread),
        table: table([
            ("element", Arc::new(Int64Array::from_iter_values(0..i64::from(elements))) as ArrayRef),
            ("v", floats((0..elements).map(f64::from))),
        ]),
        query: Query::new(["spread"]).by(["set"]),
        expected: (sets as usize - 1, (0..elements).map(f64::from).sum::<f64>() * (sets / 2) as f64),
        is_parallel: true,
        theirs: Some(Theirs { name: "dispatch", sizes: (elements as usize, 0) }),
    }
}

/// Fine slices, and the totals of coarse ones from them.
fn induction(rows: usize, coarse: usize) -> Workload {
    let total: f64 = (0..rows).map(|row| row as f64).sum();
    Workload {
        name: format!("induction, {rows} slices to {coarse}"),
        forest: Forest::builder().measure("v", Aggregator::sum("v")),
        table: table([
            ("id", Arc::new(Int64Array::from_iter_values(0..rows as i64)) as ArrayRef),
            ("group", texts(coarse, (0..rows).map(|row| row % coarse))),
            ("v", floats((0..rows).map(|row| row as f64))),
        ]),
        query: Query::new(["v"]).by(["group", "id"]).totals(["id"]),
        expected: (rows + coarse, 2.0 * total),
        is_parallel: true,
        theirs: None,
    }
}

/// The most that was resident since the last call, in bytes; resets the mark.
fn peak() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mark = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = mark.and_then(|mark| mark.trim().trim_end_matches(" kB").parse::<f64>().ok());
    // Where the kernel does not let it be reset, later marks are those of the largest workload so far.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    kilobytes.unwrap_or(0.0) * 1024.0
}

/// A workload by its name, made when it is run.
type Named = (&'static str, Box<dyn Fn() -> Workload>);

/// All workloads, at a size.
fn workloads(effort: Effort) -> Vec<Named> {
    let million = effort.pick(2_000, 200_000, 1_000_000);
    vec![
        ("product", Box::new(move || product_then_sum(million))),
        ("tower", Box::new(move || tower(million / 10, 16))),
        ("chain", Box::new(move || chain(effort.pick(50, 6_000, 6_000), effort.pick(50, 6_000, 6_000)))),
        ("shift", Box::new(move || day_before(effort.pick(10, 100, 1_000), effort.pick(20, 10_000, 10_000)))),
        ("dispatch", Box::new(move || many_to_many(effort.pick(6, 14, 18)))),
        ("induction", Box::new(move || induction(million, effort.pick(20, 1_000, 1_000)))),
    ]
}

/// What the process grew by at most, in bytes, while it answered one query of a workload: rows were there before, nothing else was.
pub(super) fn memory_of(name: &str, effort: Effort) -> f64 {
    let workloads = workloads(effort);
    let (_, workload) =
        workloads.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no workload {name:?}"));
    let workload = workload();
    let stages = Stages::builder().set("cpu.threads", THREADS as u64).start().expect("the settings fit");
    let cube = cube_of(&stages, workload.forest, &workload.table);
    peak();
    let before = resident();
    let query = workload.query.no_cache().parallelism(THREADS);
    let result = cube.query(query).and_then(filbert_cube::QueryHandle::wait);
    let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
    let held = peak() - before;
    drop(result);
    held
}

/// The same in a process of its own: what an earlier query freed does not go back, and would hide what this one takes.
fn memory_elsewhere(name: &str, effort: Effort) -> f64 {
    if effort == Effort::Tiny {
        return memory_of(name, effort);
    }
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.args(["cube-memory", "--workload", name]);
    if effort == Effort::Quick {
        command.arg("--quick");
    }
    let output = command.output().expect("this program starts once more");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("the measurement of {name} printed {text:?}"))
}

/// A cube over rows in memory.
fn cube_of(stages: &Stages, forest: ForestBuilder, table: &RecordBatch) -> Cube {
    let starts = (0..table.num_rows()).step_by(BATCH_ROWS);
    let batches = starts.map(|start| table.slice(start, BATCH_ROWS.min(table.num_rows() - start))).collect();
    let rows = MemoryTable::new("rows", table.schema(), batches).expect("the batches fit");
    let cube = Cube::builder(stages, forest.build().expect("the forest is right"), rows);
    cube.build().expect("the forest fits the table")
}

/// Runs all workloads, or those with `only` in their names.
pub(super) fn run(effort: Effort, only: &str, adhoc_classpath: Option<&str>, report: &mut Report) {
    let rounds = effort.pick(1, 3, 7);
    let mut workloads = workloads(effort);
    workloads.retain(|(name, _)| "workloads".contains(only) || name.contains(only));
    if workloads.is_empty() {
        return;
    }
    let stages = Stages::builder().set("cpu.threads", THREADS as u64).start().expect("the settings fit");
    let mut adhoc = adhoc_classpath.map(|classpath| {
        Adhoc::new(classpath).unwrap_or_else(|error| panic!("Adhoc does not start: {error}"))
    });
    for (short, workload) in workloads {
        let workload = workload();
        let (name, theirs, expected) = (workload.name.clone(), workload.theirs, workload.expected);
        let ours = measure(&stages, workload, rounds, report);
        report.alone(SUITE, &format!("{name}: memory"), "MB", memory_elsewhere(short, effort) / 1e6);
        if let (Some(adhoc), Some(theirs)) = (&mut adhoc, theirs) {
            compare(adhoc, &name, theirs, (&ours, expected), rounds, report);
        }
    }
}

/// The times of two workers.
fn measure(stages: &Stages, workload: Workload, rounds: usize, report: &mut Report) -> Times {
    let Workload { name, forest, table, query, expected, is_parallel, .. } = workload;
    let cube = cube_of(stages, forest, &table);
    let (mut nanos, mut ceiling) = ([Vec::new(), Vec::new()], Ceiling::default());
    let begun = Instant::now();
    for round in 0.. {
        // What takes milliseconds is asked more often, until its median stands still.
        let is_short = begun.elapsed() < SHORT && round <= MOST_ROUNDS;
        if round > rounds && !(is_short && rounds > 1) {
            break;
        }
        let turn_begun = Instant::now();
        for turn in 0..2 {
            let workers = 1 + (round + turn) % 2;
            let asked = query.clone().no_cache().parallelism(workers);
            let begin = Instant::now();
            let result = cube.query(asked).and_then(filbert_cube::QueryHandle::wait);
            let took = begin.elapsed().as_nanos() as f64;
            let result = result.unwrap_or_else(|error| panic!("{name}: {error}"));
            let batch = result.batch();
            let values = batch.column(batch.num_columns() - 1).as_primitive::<Float64Type>();
            let sum = values.iter().flatten().sum::<f64>();
            assert_eq!((values.len() - values.null_count(), sum), expected, "{name} with {workers} workers");
            // Round 0 warms up.
            if round > 0 {
                nanos[workers - 1].push(took);
            }
        }
        if is_parallel {
            ceiling.measure(turn_begun.elapsed() / 4);
        }
    }
    let [one, two] = nanos;
    let (one, two) = (Times::from_nanos("1 worker", one), Times::from_nanos("2 workers", two));
    let spread = one.spread() + two.spread();
    report.row(SUITE, &name, "ms", two.median() / 1e6, Some((one.name, one.median() / 1e6)), true, spread);
    if is_parallel {
        report.bar(SUITE, &format!("{name}: 2 workers"), one.median() / two.median(), BAR, spread);
        let [one, two] = ceiling.times();
        let (spread, peer) = (one.spread() + two.spread(), Some((one.name, one.median() / 1e6)));
        let case = format!("{name}: threads that share nothing");
        report.row(SUITE, &case, "ms", two.median() / 1e6, peer, true, spread);
    }
    two
}

/// Adhoc's time for the same, if it comes to the same.
fn compare(
    adhoc: &mut Adhoc,
    name: &str,
    theirs: Theirs,
    (ours, expected): (&Times, (usize, f64)),
    rounds: usize,
    report: &mut Report,
) {
    let case = format!("{name}: against Adhoc");
    match adhoc.run(theirs, rounds) {
        Outcome::Ended((times, found)) => {
            assert_eq!(found, expected, "{case}");
            let spread = ours.spread() + times.spread();
            let peer = Some((times.name, times.median() / 1e6));
            report.row(SUITE, &case, "ms", ours.median() / 1e6, peer, true, spread);
            report.bar(SUITE, &case, times.median() / ours.median(), ADHOC_BAR, spread);
        }
        // No ratio: the time is that of its rows and its warm-up too.
        Outcome::GivenUp(after) => eprintln!("{case}: no answer after {} s, given up", after.as_secs()),
        Outcome::Failed(error) => eprintln!("{case}: {error}"),
    }
}

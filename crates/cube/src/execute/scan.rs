//! One pass over the table for all leaves of a plan: a grouping for every level, a filter for every leaf.
//!
//! ```text
//!   batches ──► pieces, side by side on cpu: calculated columns, filters, texts to local dictionaries
//!           ──► in order: codes of texts ──► one grouping per level
//! ```
//!
//! Groupings take pieces in the order of the input, so nothing depends on timing.

use super::Run;
use super::group::{grouping_function, present};
use super::group_scan::merging;
use super::read::{RowReader, pieces};
use super::tasks::Results;
use super::trace::{StepTrace, Trace};
use crate::aggregate::{Aggregate, Block, Failure, Grouping};
use crate::cuboid::{Cuboid, Distinct, Part, Slices};
use crate::error::CubeError;
use crate::filter::Filter;
use crate::forest::Aggregation;
use crate::plan::{CubeColumns, Level, Operation, StepId};
use crate::table::{GroupQuery, TableQuery};
use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::take;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A shard key with more than this part of the rows of a batch leaves the other partitions idle.
const SKEWED: f64 = 0.5;

/// Fewer rows than this do not tell whether a key is skewed.
const TELLING: usize = 4_096;

/// About so many of them are asked: half of all rows cannot hide from a thousand.
const ASKED: usize = 1_024;

/// What is read from the table for a plan.
pub(crate) struct Scan {
    pub(super) reader: RowReader,
    /// Rows that no leaf wants are dropped first.
    pub(super) filter: Filter,
    /// The different filters of leaves.
    filters: Vec<Arc<Filter>>,
    pub(super) levels: Vec<LevelScan>,
    has_begun: bool,
    /// What the table was asked for, when it makes groups itself.
    pub(super) groups: Option<GroupQuery>,
    /// False when leaves from the cache say already how slices are spread.
    may_split: bool,
}

/// The leaves of one level.
pub(super) struct LevelScan {
    pub(super) level: Level,
    pub(super) leaves: Vec<StepId>,
    /// The columns that they aggregate.
    inputs: Vec<Arc<str>>,
    pub(super) grouping: Option<Grouping>,
    /// Which of the leaves failed, if that does not end the query.
    failures: Vec<Failure>,
}

/// Rows of a batch, filtered, with masks and columns of all levels.
struct Piece {
    rows: usize,
    columns: BTreeMap<String, ArrayRef>,
    masks: Vec<Option<BooleanArray>>,
}

impl Scan {
    /// The pass for those leaves that are not there yet; nothing when all are.
    pub(crate) fn new(run: &Run, columns: &CubeColumns, results: &Results) -> Option<Self> {
        let steps = &run.plan.steps;
        let leaves: Vec<StepId> =
            run.plan.leaves.iter().copied().filter(|leaf| !results.has(*leaf)).collect();
        if leaves.is_empty() {
            return None;
        }
        let filters: BTreeSet<Arc<Filter>> =
            leaves.iter().map(|leaf| Arc::clone(&steps[leaf.0].filter)).collect();
        let any = Filter::Or(filters.iter().map(|filter| (**filter).clone()).collect()).canonical();
        let mut levels: BTreeMap<Level, LevelScan> = BTreeMap::new();
        let mut named: BTreeSet<Arc<str>> = any.columns();
        for leaf in leaves {
            let step = &steps[leaf.0];
            let Operation::Leaf(of) = &step.operation else { continue };
            named.extend(step.level.iter().cloned());
            named.extend(of.column.clone());
            named.extend(step.filter.columns());
            let scan = levels.entry(Arc::clone(&step.level)).or_insert_with(|| LevelScan {
                level: Arc::clone(&step.level),
                leaves: Vec::new(),
                inputs: Vec::new(),
                grouping: None,
                failures: Vec::new(),
            });
            scan.leaves.push(leaf);
            if let Some(column) = &of.column
                && !scan.inputs.contains(column)
            {
                scan.inputs.push(Arc::clone(column));
            }
        }
        Some(Self {
            reader: RowReader::new(columns, named.iter().map(AsRef::as_ref)),
            filter: any,
            filters: filters.into_iter().collect(),
            levels: levels.into_values().collect(),
            has_begun: false,
            groups: None,
            may_split: !run.plan.leaves.iter().any(|leaf| results.has(*leaf)),
        })
    }

    /// What the table is asked for.
    pub(crate) fn request(&self) -> TableQuery {
        TableQuery { columns: self.reader.read.clone(), filter: self.filter.clone() }
    }

    /// Groups the rows of batches. Waits for `cpu`.
    pub(crate) fn take(&mut self, run: &mut Run, batches: &[RecordBatch]) -> Result<(), CubeError> {
        if self.groups.is_some() {
            return self.take_groups(run, batches);
        }
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let pieces: Vec<RecordBatch> = batches.iter().flat_map(pieces).collect();
        let made =
            run.each_partition("table", pieces.len(), rows, |number| self.piece(run, &pieces[number]))?;
        for piece in made {
            run.cancel.check()?;
            if piece.rows == 0 {
                continue;
            }
            let mut encoded: BTreeMap<Arc<str>, ArrayRef> = BTreeMap::new();
            for column in self.levels.iter().flat_map(|scan| scan.level.iter()) {
                if !encoded.contains_key(column) {
                    encoded.insert(Arc::clone(column), run.keys.encode(column, &piece.columns[&**column])?);
                }
            }
            if !self.has_begun && self.may_split {
                split_skewed(run, &encoded, piece.rows);
            }
            self.begin(run)?;
            for scan in &mut self.levels {
                let keys = scan.level.iter().map(|column| Arc::clone(&encoded[column])).collect();
                let inputs = scan.inputs.iter().map(|column| Arc::clone(&piece.columns[&**column])).collect();
                let block = Block { rows: piece.rows, keys, inputs, filters: piece.masks.clone() };
                if let Some(grouping) = &mut scan.grouping {
                    grouping.push(block)?;
                }
            }
        }
        Ok(())
    }

    /// Makes the cuboids of all leaves, and says which. Waits for `cpu`.
    pub(crate) fn finish(
        mut self,
        run: &Run,
        results: &mut Results,
        trace: &mut Trace,
    ) -> Result<Vec<StepId>, CubeError> {
        self.begin(run)?;
        let mut made = Vec::new();
        for scan in self.levels {
            let Some(grouping) = scan.grouping else { continue };
            let begin = run.clock.now();
            let grouped = grouping.finish()?;
            let slices: Result<Vec<Arc<Slices>>, CubeError> = grouped
                .partitions
                .iter()
                .map(|partition| Slices::new(partition.keys.clone(), partition.groups, &run.memory))
                .collect();
            let slices = slices?;
            for (position, leaf) in scan.leaves.iter().enumerate() {
                let step = &run.plan.steps[leaf.0];
                let Operation::Leaf(of) = &step.operation else { continue };
                if let Some(error) = scan.failures.get(position).and_then(Failure::error) {
                    results.put(*leaf, Err(error.clone().of_measure(&step.measure)));
                    continue;
                }
                let parts: Result<Vec<Part>, CubeError> = grouped
                    .partitions
                    .iter()
                    .zip(&slices)
                    .map(|(partition, slices)| {
                        let values = present(&of.aggregation, &partition.values[position])?;
                        Ok(Part { slices: Arc::clone(slices), values })
                    })
                    .collect();
                let cuboid = Cuboid::new(&scan.level, parts?, &run.memory)?;
                let time = run.clock.now().saturating_sub(begin);
                trace.steps.push(StepTrace::of(run, *leaf, &cuboid, time, scan.leaves.len()));
                made.push(*leaf);
                results.put(*leaf, Ok(cuboid));
            }
        }
        Ok(made)
    }

    /// Makes the groupings, once: they want to know how slices are spread.
    pub(super) fn begin(&mut self, run: &Run) -> Result<(), CubeError> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        for scan in &mut self.levels {
            let mut aggregates = Vec::with_capacity(scan.leaves.len());
            for leaf in &scan.leaves {
                let step = &run.plan.steps[leaf.0];
                let Operation::Leaf(of) = &step.operation else { continue };
                if let Some(groups) = &self.groups {
                    aggregates.push(merging(&self.reader.columns, groups, of, &step.filter)?);
                    continue;
                }
                let aggregate = match &of.column {
                    None if of.aggregation == Aggregation::Count => Aggregate::count_rows(),
                    None => continue,
                    Some(column) => {
                        let input = scan.inputs.iter().position(|input| input == column).unwrap_or(0);
                        let function = grouping_function(&of.aggregation, &run.forest)?;
                        Aggregate::new(function, input, self.reader.columns.value_type(column)?)
                    }
                };
                // All rows that are left are wanted when there is one filter only.
                let filter = self.filters.iter().position(|filter| *filter == step.filter).unwrap_or(0);
                aggregates.push(if *step.filter == self.filter {
                    aggregate
                } else {
                    aggregate.filtered(filter)
                });
            }
            if run.errors_are_values {
                scan.failures = aggregates.iter().map(|_| Failure::default()).collect();
                let each = aggregates.into_iter().zip(&scan.failures);
                aggregates = each.map(|(aggregate, failure)| aggregate.guarded(failure.clone())).collect();
            }
            let options = run.grouping_options(&scan.level, run.partitions);
            scan.grouping = Some(Grouping::new(run.key_types(&scan.level), aggregates, options)?);
        }
        Ok(())
    }

    fn piece(&self, run: &Run, batch: &RecordBatch) -> Result<Piece, CubeError> {
        let mut piece = self.reader.piece(batch, &self.filter)?;
        let mask = |filter: &Arc<Filter>| {
            if **filter == self.filter { Ok(None) } else { filter.mask(&piece).map(Some) }
        };
        let masks: Result<Vec<Option<BooleanArray>>, CubeError> = self.filters.iter().map(mask).collect();
        let masks = masks?;
        let levels: BTreeSet<&Arc<str>> = self.levels.iter().flat_map(|scan| scan.level.iter()).collect();
        let inputs: BTreeSet<&Arc<str>> = self.levels.iter().flat_map(|scan| scan.inputs.iter()).collect();
        for name in levels {
            if let Some(column) = piece.columns.get_mut(&**name)
                && !inputs.contains(name)
            {
                *column = run.keys.prepare(name, column)?;
            }
        }
        Ok(Piece { rows: piece.rows, columns: piece.columns, masks })
    }
}

/// Spreads slices by all of their columns, when the first rows show one shard key far ahead of all others.
fn split_skewed(run: &mut Run, encoded: &BTreeMap<Arc<str>, ArrayRef>, rows: usize) {
    if rows < TELLING || run.shard.is_empty() {
        return;
    }
    // Some of them tell as much as all, and nobody else works meanwhile.
    let some = some_of(rows);
    let keys = run.shard.iter().filter_map(|column| take(encoded.get(column)?, &some, None).ok());
    let keys: Vec<ArrayRef> = keys.collect();
    if keys.len() < run.shard.len() {
        return;
    }
    let Distinct { of_row, first_rows } = Distinct::of(&keys, some.len());
    let mut counts = vec![0_usize; first_rows.len()];
    of_row.iter().for_each(|number| counts[*number as usize] += 1);
    if counts.into_iter().max().unwrap_or(0) as f64 > SKEWED * some.len() as f64 {
        run.shard.clear();
    }
}

/// About a thousand of so many rows. Not at equal distances: keys may come in turns.
fn some_of(rows: usize) -> UInt32Array {
    let distance = (rows / ASKED).max(1) as u32;
    let within = |number: u32| (number.wrapping_mul(0x9e37_79b9) >> 8) % distance;
    UInt32Array::from_iter_values((0..ASKED as u32).map(|number| number * distance + within(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_come_in_turns_are_all_asked() {
        for (rows, turns) in [(65_536, 64), (65_536, 8), (8_192, 2), (100_000, 97)] {
            let mut counts = vec![0_usize; turns];
            let asked = some_of(rows);
            asked.values().iter().for_each(|row| counts[*row as usize % turns] += 1);
            assert!(asked.values().iter().all(|row| (*row as usize) < rows));
            let most = counts.iter().max().copied().unwrap_or(0);
            assert!(
                most < 3 * asked.len() / turns,
                "{most} of {} rows with one of {turns} keys",
                asked.len()
            );
        }
    }
}

//! One pass over the table for all leaves of a plan: a grouping for every level, a filter for every leaf.
//!
//! ```text
//!   batches ──► pieces, side by side on cpu: calculated columns, filters, codes of texts
//!           ──► in order ──► one grouping per level
//! ```
//!
//! Groupings take pieces in the order of the input, which aggregations of the user's may look at. They begin when it is known how slices are
//! spread, which all rows of the first batches tell: one after the other they would tell of a table that is sorted by its shard key that it
//! has but one.

use super::Run;
use super::group::{leaf_aggregate, present};
use super::group_scan::{is_exact, merging};
use super::read::{RowReader, pieces};
use super::skew::is_skewed;
use super::tasks::Results;
use super::trace::{StepTrace, Trace};
use crate::aggregate::{Aggregate, Block, Failure, Grouping};
use crate::cuboid::{Cuboid, Part, Slices};
use crate::error::CubeError;
use crate::filter::Filter;
use crate::forest::Aggregation;
use crate::plan::{CubeColumns, Level, Operation, StepId};
use crate::table::{GroupQuery, TableQuery};
use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Fewer rows than this do not tell whether a key is skewed. So many are held back at most.
const TELLING: usize = 4_096;

/// What is read from the table for a plan.
pub(crate) struct Scan {
    pub(super) reader: RowReader,
    /// Rows that no leaf wants are dropped first.
    pub(super) filter: Filter,
    /// The different filters of leaves.
    filters: Vec<Arc<Filter>>,
    pub(super) levels: Vec<LevelScan>,
    has_begun: bool,
    /// Pieces that wait for groupings to begin.
    first: Vec<Piece>,
    /// What the table was asked for, when it makes groups itself.
    pub(super) groups: Option<GroupQuery>,
    /// False when leaves from the cache say already how slices are spread.
    may_split: bool,
    /// True when no aggregation looks at the order of rows.
    is_any_order: bool,
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
    /// The columns of levels as keys.
    keys: BTreeMap<Arc<str>, ArrayRef>,
}

/// True for aggregations that take texts as they come: plain, or as entries of a dictionary.
fn takes_entries(aggregation: &Aggregation) -> bool {
    matches!(
        aggregation,
        Aggregation::Count | Aggregation::CountDistinct | Aggregation::Min | Aggregation::Max
    )
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
        let mut is_any_order = true;
        // Aggregated columns by whether their texts may be entries of a dictionary.
        let mut inputs: BTreeMap<bool, BTreeSet<Arc<str>>> = BTreeMap::new();
        let mut levels: BTreeMap<Level, LevelScan> = BTreeMap::new();
        let mut named: BTreeSet<Arc<str>> = any.columns();
        for leaf in leaves {
            let step = &steps[leaf.0];
            let Operation::Leaf(of) = &step.operation else { continue };
            is_any_order &= is_exact(&of.aggregation);
            named.extend(step.level.iter().cloned());
            named.extend(of.column.clone());
            inputs.entry(takes_entries(&of.aggregation)).or_default().extend(of.column.clone());
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
        let inputs = |takes_entries| inputs.get(&takes_entries).into_iter().flatten().map(AsRef::as_ref);
        Some(Self {
            reader: RowReader::new(columns, named.iter().map(AsRef::as_ref))
                .leaving_codes(inputs(false), inputs(true)),
            filter: any,
            filters: filters.into_iter().collect(),
            levels: levels.into_values().collect(),
            has_begun: false,
            first: Vec::new(),
            groups: None,
            may_split: !run.plan.leaves.iter().any(|leaf| results.has(*leaf)),
            is_any_order,
        })
    }

    /// What the table is asked for.
    pub(crate) fn request(&self) -> TableQuery {
        let columns = self.reader.read.clone();
        TableQuery { columns, filter: self.filter.clone(), is_any_order: self.is_any_order }
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
        for piece in made.into_iter().filter(|piece| piece.rows > 0) {
            run.cancel.check()?;
            if self.has_begun { self.push(piece)? } else { self.first.push(piece) }
        }
        let rows: usize = self.first.iter().map(|piece| piece.rows).sum();
        let may_split = self.may_split && !run.shard.is_empty();
        if self.has_begun || rows == 0 || may_split && rows < TELLING {
            return Ok(());
        }
        if may_split {
            let keys: Vec<_> = self.first.iter().map(|piece| (piece.rows, &piece.keys)).collect();
            if is_skewed(&run.shard, &keys, &run.memory)? {
                run.shard.clear();
            }
        }
        self.begin(run)
    }

    /// Gives the rows of a piece to all groupings.
    fn push(&mut self, piece: Piece) -> Result<(), CubeError> {
        for scan in &mut self.levels {
            let keys = scan.level.iter().map(|column| Arc::clone(&piece.keys[column])).collect();
            let inputs = scan.inputs.iter().map(|column| Arc::clone(&piece.columns[&**column])).collect();
            let block = Block { rows: piece.rows, keys, inputs, filters: piece.masks.clone() };
            if let Some(grouping) = &mut scan.grouping {
                grouping.push(block)?;
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
            let seen = (run.observed.take().0, false);
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
                    let error = error.clone().of_measure(step.name(), step.what());
                    trace.failed(*leaf, &error);
                    results.put(*leaf, Err(error));
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
                trace.steps.push(StepTrace::of(run, *leaf, &cuboid, time, scan.leaves.len(), &seen));
                made.push(*leaf);
                results.put(*leaf, Ok(cuboid));
            }
        }
        Ok(made)
    }

    /// Makes the groupings, once: they want to know how slices are spread. The pieces that waited for it go in.
    pub(super) fn begin(&mut self, run: &Run) -> Result<(), CubeError> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        self.make_groupings(run)?;
        std::mem::take(&mut self.first).into_iter().try_for_each(|piece| self.push(piece))
    }

    fn make_groupings(&mut self, run: &Run) -> Result<(), CubeError> {
        for scan in &mut self.levels {
            let mut aggregates = Vec::with_capacity(scan.leaves.len());
            for leaf in &scan.leaves {
                let step = &run.plan.steps[leaf.0];
                let Operation::Leaf(of) = &step.operation else { continue };
                if let Some(groups) = &self.groups {
                    let merging = merging(&self.reader.columns, groups, of, &step.filter)?;
                    aggregates.push(merging.told_as(step.name(), step.what()));
                    continue;
                }
                let aggregate = match &of.column {
                    None if of.aggregation == Aggregation::Count => Aggregate::count_rows(),
                    None => continue,
                    Some(column) => {
                        let input = scan.inputs.iter().position(|input| input == column).unwrap_or(0);
                        leaf_aggregate(&self.reader.columns, (&of.aggregation, column), input, &run.forest)?
                    }
                };
                let aggregate = aggregate.told_as(step.name(), step.what());
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
        let piece = self.reader.piece(batch, &self.filter)?;
        let mask = |filter: &Arc<Filter>| {
            if **filter == self.filter { Ok(None) } else { filter.mask(&piece).map(Some) }
        };
        let masks: Result<Vec<Option<BooleanArray>>, CubeError> = self.filters.iter().map(mask).collect();
        let masks = masks?;
        let inputs: BTreeSet<&str> =
            self.levels.iter().flat_map(|scan| &scan.inputs).map(AsRef::as_ref).collect();
        let mut keys: BTreeMap<Arc<str>, ArrayRef> = BTreeMap::new();
        if piece.rows > 0 {
            for column in self.levels.iter().flat_map(|scan| scan.level.iter()) {
                if !keys.contains_key(column) {
                    keys.insert(Arc::clone(column), run.keys.encode(column, &piece.columns[&**column])?);
                }
            }
        }
        let mut columns = piece.columns;
        columns.retain(|name, _| inputs.contains(name.as_str()));
        Ok(Piece { rows: piece.rows, columns, masks, keys })
    }
}

//! One aggregation: blocks go in, partitions of groups come out.
//!
//! Rows are cut into *ranges* of a fixed number of rows, small ones first, so that a short input is shared too. A range is in line for `cpu` as
//! soon as its last row is there; at most as many are made at a time as the parallelism says, one of them by [`Grouping::push`] itself.
//! Where ranges begin depends on the number of rows alone, and parts are merged in the order of the ranges: so sums of floats are the same
//! for any parallelism, any timing and any number of partitions.

use super::accumulation::Groups;
use super::block::Block;
use super::function::Aggregate;
use super::line::{Line, Rows};
use super::merge::{GroupedPartition, are_few, few, partitions};
use super::one_by_one::one_by_one;
use super::options::GroupingOptions;
use super::plan::Plan;
use super::range::Part;
use super::spill::SpillFile;
use crate::error::CubeError;
use crate::memory::Reservation;
use arrow::datatypes::DataType;
use filbert_pool::{Level, WorkStealing, current};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// One aggregation under way.
///
/// ```
/// use arrow::array::{ArrayRef, AsArray, Float64Array, StringArray};
/// use arrow::datatypes::{DataType, Float64Type};
/// use filbert_cube::aggregate::{Aggregate, Block, Function, Grouping, GroupingOptions};
/// use filbert_pool::WorkStealing;
/// use std::sync::Arc;
///
/// let options = GroupingOptions::new(WorkStealing::standalone(2));
/// let sum = Aggregate::new(Function::Sum, 0, DataType::Float64);
/// let mut grouping = Grouping::new(vec![DataType::Utf8], vec![sum], options)?;
/// let desks: ArrayRef = Arc::new(StringArray::from(vec!["fx", "rates", "fx"]));
/// let pnl: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.0, 4.0]));
/// grouping.push(Block { rows: 3, keys: vec![desks], inputs: vec![pnl], filters: vec![] })?;
/// let grouped = grouping.finish()?;
/// let sums = grouped.partitions[0].values[0].as_primitive::<Float64Type>();
/// assert_eq!(sums.values(), &[5.0, 2.0]);
/// # Ok::<(), filbert_cube::CubeError>(())
/// ```
pub struct Grouping {
    plan: Arc<Plan>,
    cpu: WorkStealing,
    lanes: usize,
    /// Blocks of the range that is not full yet.
    blocks: Vec<Block>,
    /// How many rows it has.
    rows: usize,
    /// What they hold.
    held: Reservation,
    /// How many ranges there were before.
    ranges: usize,
    line: Line,
    /// The rows of the ranges in line, oldest first, where there is a disk: a range is made again when there was no room for its part.
    in_line: VecDeque<Rows>,
    parts: Vec<Part>,
    /// Where parts go when there is no room for them.
    file: Option<SpillFile>,
}

/// What comes out: the groups of all rows.
#[derive(Debug, Clone)]
pub struct Grouped {
    /// As many as were asked for; in each, groups in an order that depends on the rows alone.
    pub partitions: Vec<GroupedPartition>,
}

impl Grouped {
    /// How many groups there are in all.
    pub fn groups(&self) -> usize {
        self.partitions.iter().map(|partition| partition.groups).sum()
    }
}

impl Grouping {
    /// Begins to group by columns of these types.
    pub fn new(
        keys: Vec<DataType>,
        aggregates: Vec<Aggregate>,
        options: GroupingOptions,
    ) -> Result<Self, CubeError> {
        let plan = Arc::new(Plan::new(&keys, aggregates, &options)?);
        let cpu = options.cpu;
        // A thread that must not wait for the stage computes all by itself.
        let may_wait = current().kind.permission(cpu.stage().kind).wait;
        // Only threads of this level may wait for a disk.
        let may_block = current().kind.level() == Level::A;
        let lanes = if may_wait { options.parallelism.clamp(1, cpu.threads()) } else { 1 };
        let line = Line::new(&plan, &cpu, lanes);
        Ok(Self {
            plan,
            cpu,
            lanes,
            blocks: Vec::new(),
            rows: 0,
            held: options.memory.try_reserve(0)?,
            ranges: 0,
            line,
            in_line: VecDeque::new(),
            parts: Vec::new(),
            file: options.spill.filter(|_| may_block).map(SpillFile::new),
        })
    }

    /// The types of the key columns that come out.
    pub fn key_types(&self) -> &[DataType] {
        self.plan.codec.types()
    }

    /// Adds a block of rows. Makes the part of a range when as many are in line as may be.
    pub fn push(&mut self, block: Block) -> Result<(), CubeError> {
        block.check()?;
        let mut start = 0;
        while start < block.rows {
            self.plan.check()?;
            let room = self.range_rows() - self.rows;
            // What is looked at, moved and cancelled as one is never larger than a unit, however large the blocks are.
            let rows = room.min(block.rows - start).min(self.plan.sizes.unit);
            let part = if rows == block.rows { block.clone() } else { block.slice(start, rows) };
            if let Err(short) = self.held.try_grow(part.bytes()) {
                self.make_room(short)?;
                self.held.try_grow(part.bytes())?;
            }
            self.blocks.push(part);
            (self.rows, start) = (self.rows + rows, start + rows);
            // Rows cannot be put on disk, so those that wait never take the room that parts are made in.
            while !self.line.is_empty() && self.is_tight() && self.has_many_rows() {
                self.wait_for_oldest()?;
            }
            if rows == room {
                self.end_range()?;
            }
        }
        Ok(())
    }

    /// Waits for the rest, and brings all together.
    pub fn finish(mut self) -> Result<Grouped, CubeError> {
        if self.rows > 0 {
            self.end_range()?;
        }
        self.wait_for_all()?;
        let is_few = are_few(&self.plan, self.parts.iter());
        let is_saved = self.parts.iter().any(|part| part.saved.is_some());
        // One part alone is the result, which no disk makes smaller.
        let may_retry = self.file.is_some() && (self.parts.len() > 1 || is_saved || !is_few);
        let merged = match &mut self.file {
            Some(file) if is_few && is_saved => one_by_one(&self.plan, &self.parts, file, is_few),
            _ if is_few => few(&self.plan, &mut self.parts, may_retry),
            file => partitions(&self.plan, &self.cpu, self.lanes, &self.parts, file.as_mut()),
        };
        let short = match merged {
            Err(short @ CubeError::OverMemory { .. }) if may_retry => short,
            merged => return Ok(Grouped { partitions: merged? }),
        };
        self.make_room(short.clone())?;
        let file = self.file.as_mut().ok_or(short)?;
        Ok(Grouped { partitions: one_by_one(&self.plan, &self.parts, file, is_few)? })
    }

    /// How many rows the range has that is not full yet.
    fn range_rows(&self) -> usize {
        let sizes = &self.plan.sizes;
        let doublings = (sizes.last_range / sizes.first_range).ilog2() as usize;
        sizes.first_range << (self.ranges / 2).min(doublings)
    }

    fn end_range(&mut self) -> Result<(), CubeError> {
        let blocks = std::mem::take(&mut self.blocks);
        let held = std::mem::replace(&mut self.held, self.plan.memory.try_reserve(0)?);
        (self.rows, self.ranges) = (0, self.ranges + 1);
        let rows: Rows = Arc::new((blocks, held));
        if self.file.is_some() {
            self.in_line.push_back(Arc::clone(&rows));
        }
        self.line.add(rows)?;
        while let Some(part) = self.line.try_take() {
            self.take_oldest(part)?;
        }
        Ok(())
    }

    fn wait_for_all(&mut self) -> Result<(), CubeError> {
        while !self.line.is_empty() {
            self.wait_for_oldest()?;
        }
        Ok(())
    }

    fn wait_for_oldest(&mut self) -> Result<(), CubeError> {
        match self.line.take()? {
            Some(part) => self.take_oldest(part),
            None => Ok(()),
        }
    }

    fn take_oldest(&mut self, part: Result<Part, CubeError>) -> Result<(), CubeError> {
        let rows = self.in_line.pop_front();
        self.take(part, rows)
    }

    /// Takes the part of the oldest range, which is made again if there was no room for it.
    fn take(&mut self, part: Result<Part, CubeError>, rows: Option<Rows>) -> Result<(), CubeError> {
        let (short, rows) = match (part, rows) {
            (Err(short @ CubeError::OverMemory { .. }), Some(rows)) if self.file.is_some() => (short, rows),
            (part, rows) => {
                drop(rows);
                self.parts.push(part?);
                return self.save_when_tight();
            }
        };
        // Those behind it end first, or do not begin, so that it has all the room there is. Their parts come after this one.
        let not_begun = self.line.hold()?;
        let mut later = Vec::new();
        while let Some(mut part) = self.line.take()? {
            let rows = self.in_line.pop_front();
            if let (Ok(part), Some(file)) = (&mut part, &mut self.file) {
                part.save(&self.plan, file)?;
            }
            let rows = rows.filter(|_| part.is_err());
            later.push((part, rows));
        }
        self.in_line.clear();
        self.make_room(short)?;
        let made = self.line.make(&rows);
        drop(rows);
        self.parts.push(made?);
        self.save_when_tight()?;
        later.into_iter().try_for_each(|(part, rows)| self.take(part, rows))?;
        for rows in not_begun {
            let part = self.line.make(&rows);
            self.take(part, Some(rows))?;
        }
        Ok(())
    }

    /// Waits for what is under way, and puts parts on disk; what could not be had before can then be tried again.
    fn make_room(&mut self, short: CubeError) -> Result<(), CubeError> {
        if self.file.is_none() {
            return Err(short);
        }
        self.wait_for_all()?;
        self.save_parts()
    }

    /// True when rows that wait or are under way take more than a quarter of the memory.
    fn has_many_rows(&self) -> bool {
        let in_line: usize = self.in_line.iter().map(|rows| rows.1.bytes()).sum();
        self.held.bytes() + in_line > self.plan.memory.limit() / 4
    }

    /// True when there is a disk and more than half of the memory is in use: others of this query need some too.
    fn is_tight(&self) -> bool {
        let memory = &self.plan.memory;
        self.file.is_some() && memory.held() > memory.limit() / 2
    }

    fn save_when_tight(&mut self) -> Result<(), CubeError> {
        let is_worth_it = || {
            let held = self.parts.iter().flat_map(|part| &part.groups).map(Groups::bytes).sum::<usize>();
            held >= self.plan.sizes.worth_saving || !are_few(&self.plan, self.parts.iter())
        };
        if self.is_tight() && is_worth_it() { self.save_parts() } else { Ok(()) }
    }

    /// Puts all parts on disk that can be.
    fn save_parts(&mut self) -> Result<(), CubeError> {
        if let Some(file) = &mut self.file {
            for part in &mut self.parts {
                part.save(&self.plan, file)?;
            }
        }
        Ok(())
    }
}

impl Drop for Grouping {
    fn drop(&mut self) {
        self.plan.abandoned.store(true, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Grouping {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grouping")
            .field("ranges", &self.ranges)
            .field("rows", &self.rows)
            .field("in line", &self.line.len())
            .finish_non_exhaustive()
    }
}

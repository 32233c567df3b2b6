//! Groups under construction: a table and the carriers of every aggregate.

use super::carriers::Carriers;
use super::keys::{BlockKeys, Keys};
use super::merge::{Counted, GroupedPartition};
use super::plan::Plan;
use super::table::GroupTable;
use super::values::Column;
use crate::error::CubeError;
use crate::memory::Reservation;
use std::ops::Range;

/// How many rows are looked up before they are added to their groups: their numbers stay in the first-level cache.
const CHUNK: usize = 2048;

/// Some groups with their carriers.
pub(super) struct Groups {
    pub(super) keys: Keys,
    pub(super) carriers: Vec<Box<dyn Carriers>>,
    /// What they hold is counted as long as they are there.
    held: Reservation,
}

impl Groups {
    pub(super) fn new(keys: Keys, carriers: Vec<Box<dyn Carriers>>, held: Reservation) -> Self {
        Self { keys, carriers, held }
    }

    /// What they hold.
    pub(super) fn bytes(&self) -> usize {
        self.held.bytes()
    }

    /// Key columns and values, and what they hold.
    pub(super) fn finish(self, plan: &Plan) -> Result<Counted, CubeError> {
        plan.observed.note_stage();
        let Self { keys, carriers, mut held } = self;
        let groups = keys.len();
        let keys = plan.codec.decode(&keys)?;
        let finished = carriers.into_iter().zip(&plan.aggregates);
        let values = finished
            .map(|(carriers, aggregate)| aggregate.telling(|| carriers.finish()))
            .collect::<Result<_, _>>()?;
        let partition = GroupedPartition { keys, values, groups };
        held.try_resize(partition.bytes())?;
        Ok((partition, held))
    }
}

pub(super) struct Accumulation<'a> {
    plan: &'a Plan,
    table: GroupTable,
    carriers: Vec<Box<dyn Carriers>>,
    /// The group of each row of a chunk.
    groups: Vec<u32>,
    held: Reservation,
}

impl<'a> Accumulation<'a> {
    pub(super) fn new(plan: &'a Plan) -> Result<Self, CubeError> {
        Ok(Self {
            plan,
            table: plan.table(),
            carriers: plan.carriers()?,
            groups: Vec::new(),
            held: plan.memory.try_reserve(0)?,
        })
    }

    /// For so many groups at most, as far as is known.
    pub(super) fn expecting(plan: &'a Plan, groups: usize) -> Result<Self, CubeError> {
        let mut accumulation = Self::new(plan)?;
        accumulation.table.expect(groups);
        Ok(accumulation)
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Adds all rows of a block.
    pub(super) fn add_block(
        &mut self,
        keys: &BlockKeys,
        columns: &[Column],
        rows: usize,
    ) -> Result<(), CubeError> {
        let Some(codes) = &keys.codes else { return self.add(&keys.keys, columns, 0..rows) };
        let mut group_of = vec![0; keys.keys.len()];
        self.table.assign(&keys.keys, 0..keys.keys.len(), &mut group_of);
        let mut groups = std::mem::take(&mut self.groups);
        for (chunk, codes) in codes.chunks(CHUNK).enumerate() {
            groups.clear();
            groups.extend(codes.iter().map(|code| group_of[*code as usize]));
            let start = chunk * CHUNK;
            self.add_to(&groups, columns, start..start + codes.len())?;
        }
        self.groups = groups;
        self.count()
    }

    /// Adds some rows.
    pub(super) fn add(
        &mut self,
        keys: &Keys,
        columns: &[Column],
        rows: Range<usize>,
    ) -> Result<(), CubeError> {
        let mut groups = std::mem::take(&mut self.groups);
        for start in rows.clone().step_by(CHUNK) {
            let chunk = start..rows.end.min(start + CHUNK);
            groups.resize(chunk.len(), 0);
            self.table.assign(keys, chunk.clone(), &mut groups);
            self.add_to(&groups, columns, chunk)?;
        }
        self.groups = groups;
        self.count()
    }

    fn add_to(&mut self, groups: &[u32], columns: &[Column], rows: Range<usize>) -> Result<(), CubeError> {
        let count = self.table.len();
        let each = self.carriers.iter_mut().zip(&self.plan.reads).zip(&self.plan.aggregates);
        for ((carriers, column), aggregate) in each {
            aggregate.telling(|| {
                carriers.grow(count);
                carriers.add(groups, &columns[*column].values(rows.clone()))
            })?;
        }
        Ok(())
    }

    /// Merges chosen groups of another, which saw later rows, and gives the group that each went to.
    pub(super) fn merge(&mut self, from: &Groups, rows: &[u32]) -> Result<Vec<u32>, CubeError> {
        let mut groups = vec![0; rows.len()];
        self.table.assign_chosen(&from.keys, rows, &mut groups);
        let count = self.table.len();
        let each = self.carriers.iter_mut().zip(&from.carriers).zip(&self.plan.aggregates);
        for ((carriers, from), aggregate) in each {
            aggregate.telling(|| {
                carriers.grow(count);
                carriers.merge(&groups, &**from, rows)
            })?;
        }
        self.count()?;
        Ok(groups)
    }

    /// Merges all groups of another.
    pub(super) fn merge_all(&mut self, from: &Groups) -> Result<Vec<u32>, CubeError> {
        let every: Vec<u32> = (0..from.keys.len() as u32).collect();
        self.merge(from, &every)
    }

    /// Counts what is held now; refuses when that is too much.
    fn count(&mut self) -> Result<(), CubeError> {
        let carriers: usize = self.carriers.iter().map(|carriers| carriers.bytes()).sum();
        self.held.try_resize(self.table.bytes() + carriers)
    }

    pub(super) fn into_groups(self) -> Groups {
        Groups::new(self.table.into_keys(), self.carriers, self.held)
    }
}

//! What becomes of a range of rows: a table of its own, or rows moved to their pieces, or both.
//!
//! The choice depends on the rows of the range alone, never on another range or on time: so the additions of every group are made in the
//! same order whatever runs beside it.

use super::accumulation::{Accumulation, Groups};
use super::block::Block;
use super::options::Strategy;
use super::plan::Plan;
use super::sample::Sample;
use super::saved::SavedPart;
use super::scatter::Scattered;
use super::table::GroupTable;
use crate::error::CubeError;
use arrow::array::BooleanArray;
use arrow::buffer::BooleanBuffer;

/// The rows of a range, in a form to be merged: groups first, then rows. No key is in both unless the rows came later than the group.
pub(super) struct Part {
    pub(super) groups: Option<Groups>,
    pub(super) moved: Vec<Scattered>,
    /// What of it is on disk: groups, and then rows, or rows alone.
    pub(super) saved: Option<SavedPart>,
}

impl Part {
    /// How many groups it has, those on disk included.
    pub(super) fn groups(&self) -> usize {
        let saved = self.saved.as_ref().map_or(0, |saved| saved.groups);
        saved + self.groups.as_ref().map_or(0, |groups| groups.keys.len())
    }

    /// True when it has rows that are in no group yet.
    pub(super) fn has_rows(&self) -> bool {
        !self.moved.is_empty() || self.saved.as_ref().is_some_and(|saved| saved.has_rows)
    }

    /// Of the blocks of a range.
    pub(super) fn of(plan: &Plan, blocks: &[Block]) -> Result<Self, CubeError> {
        let sample = match plan.strategy {
            Some(Strategy::Local) => Sample { has_many_keys: false, heavy: None },
            _ => Sample::of(plan, blocks)?,
        };
        if !sample.has_many_keys && plan.strategy != Some(Strategy::Radix) {
            return Self::local(plan, blocks);
        }
        match &sample.heavy {
            None => Ok(Self { groups: None, moved: moved(plan, blocks)?, saved: None }),
            Some(heavy) => Self::without_heavy(plan, blocks, heavy),
        }
    }

    /// A table of its own. When there are far more groups after all, the rest of the rows is moved.
    fn local(plan: &Plan, mut rest: &[Block]) -> Result<Self, CubeError> {
        let most = if plan.strategy.is_some() { usize::MAX } else { 2 * plan.sizes.many };
        let mut local = Accumulation::new(plan)?;
        while let Some((block, later)) = rest.split_first() {
            if local.len() > most {
                break;
            }
            plan.check()?;
            add(plan, &mut local, block)?;
            rest = later;
        }
        Ok(Self { groups: Some(local.into_groups()), moved: moved(plan, rest)?, saved: None })
    }

    /// Heavy keys in a table of their own, all other rows moved.
    fn without_heavy(plan: &Plan, blocks: &[Block], heavy: &GroupTable) -> Result<Self, CubeError> {
        let mut local = Accumulation::new(plan)?;
        let mut rest = Vec::with_capacity(blocks.len());
        for block in blocks {
            plan.check()?;
            let keys = plan.codec.encode(&block.keys, block.rows)?;
            let are_heavy = BooleanBuffer::collect_bool(block.rows, |row| heavy.has(&keys, row));
            let others = BooleanArray::new(!&are_heavy, None);
            add(plan, &mut local, &block.filtered(&BooleanArray::new(are_heavy, None))?)?;
            rest.push(block.filtered(&others)?);
        }
        Ok(Self { groups: Some(local.into_groups()), moved: moved(plan, &rest)?, saved: None })
    }
}

fn add(plan: &Plan, local: &mut Accumulation<'_>, block: &Block) -> Result<(), CubeError> {
    let keys = plan.codec.encode_block(&block.keys, block.rows)?;
    local.add_block(&keys, &plan.columns(block)?, block.rows)
}

/// The rows of blocks, moved to their pieces some blocks at a time.
fn moved(plan: &Plan, mut rest: &[Block]) -> Result<Vec<Scattered>, CubeError> {
    let mut moved = Vec::new();
    while !rest.is_empty() {
        plan.check()?;
        let mut rows = 0;
        let blocks = rest.iter().take_while(|block| {
            let fits = rows == 0 || rows + block.rows <= plan.sizes.unit;
            rows += block.rows;
            fits
        });
        let (unit, later) = rest.split_at(blocks.count());
        moved.push(Scattered::of(plan, unit)?);
        rest = later;
    }
    Ok(moved)
}

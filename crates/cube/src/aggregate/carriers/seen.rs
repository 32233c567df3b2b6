//! Which groups have a value at all.
//!
//! A group exists because a row has its key; whether one of its rows counts is another question, but only where some rows do not. So
//! nothing is kept until the first block with a mask.

use super::super::values::Values;
use arrow::array::{ArrayRef, AsArray, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use std::sync::Arc;

/// Which groups have seen a row that counts.
#[derive(Debug, Default)]
pub(super) struct Seen {
    groups: usize,
    /// None: all of them.
    flags: Option<Vec<bool>>,
    /// How many groups there were when all had seen a row.
    complete: usize,
}

impl Seen {
    pub(super) fn grow(&mut self, groups: usize) {
        self.groups = groups;
        if let Some(flags) = &mut self.flags {
            flags.resize(groups, false);
        }
    }

    /// Rows were added to these groups.
    pub(super) fn add(&mut self, groups: &[u32], values: &Values<'_>) {
        match values.mask() {
            None => self.all(groups),
            Some(mask) => {
                let flags = self.flags();
                mask.set_indices().for_each(|row| flags[groups[row] as usize] = true);
            }
        }
    }

    /// Groups `rows` of another were merged into `groups`.
    pub(super) fn merge(&mut self, groups: &[u32], from: &Seen, rows: &[u32]) {
        match &from.flags {
            None => self.all(groups),
            Some(seen) => {
                let flags = self.flags();
                for (group, row) in groups.iter().zip(rows) {
                    flags[*group as usize] |= seen[*row as usize];
                }
            }
        }
    }

    /// All rows of these groups count.
    fn all(&mut self, groups: &[u32]) {
        match &mut self.flags {
            // Every new group has a row among these.
            None => self.complete = self.groups,
            Some(flags) => groups.iter().for_each(|group| flags[*group as usize] = true),
        }
    }

    fn flags(&mut self) -> &mut [bool] {
        let (complete, groups) = (self.complete, self.groups);
        self.flags.get_or_insert_with(|| {
            let mut flags = vec![true; complete];
            flags.resize(groups, false);
            flags
        })
    }

    pub(super) fn finish(self) -> Option<NullBuffer> {
        let valid = NullBuffer::new(BooleanBuffer::from(self.flags?));
        (valid.null_count() > 0).then_some(valid)
    }

    /// Which of some groups have.
    pub(super) fn save(&self, groups: &[u32]) -> ArrayRef {
        let seen = |group: &u32| match &self.flags {
            None => (*group as usize) < self.complete,
            Some(flags) => flags[*group as usize],
        };
        Arc::new(BooleanArray::from(groups.iter().map(seen).collect::<Vec<bool>>()))
    }

    /// What was saved.
    pub(super) fn load(column: &ArrayRef) -> Self {
        let flags: Vec<bool> = column.as_boolean().values().iter().collect();
        let groups = flags.len();
        match flags.iter().all(|seen| *seen) {
            true => Self { groups, flags: None, complete: groups },
            false => Self { groups, flags: Some(flags), complete: 0 },
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.flags.as_ref().map_or(0, Vec::capacity)
    }
}

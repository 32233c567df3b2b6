//! COUNT: how many rows count.

use super::super::values::Values;
use super::{Carriers, same, saved};
use crate::error::CubeError;
use arrow::array::{ArrayRef, Int64Array};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Counts {
    counts: Vec<i64>,
}

impl Carriers for Counts {
    fn grow(&mut self, groups: usize) {
        self.counts.resize(groups, 0);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let counts = self.counts.as_mut_slice();
        match values.mask() {
            None => groups.iter().for_each(|group| counts[*group as usize] += 1),
            Some(mask) => mask.set_indices().for_each(|row| counts[groups[row] as usize] += 1),
        }
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = same::<Self>(from)?;
        for (group, row) in groups.iter().zip(rows) {
            self.counts[*group as usize] += from.counts[*row as usize];
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        Ok(Arc::new(Int64Array::from(self.counts)))
    }

    fn bytes(&self) -> usize {
        self.counts.capacity() * 8
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        Ok(Some(vec![saved::chosen(&self.counts, groups)]))
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let [counts] = saved::columns(columns)?;
        self.counts = saved::Saved::loaded(counts);
        Ok(())
    }
}

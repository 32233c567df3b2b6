//! SUM and AVG of floats: exact until they are told, so that the order of rows, ranges and merges does not matter.

use super::super::values::Values;
use super::lane::for_each;
use super::seen::Seen;
use super::{Carriers, same, saved};
use crate::error::CubeError;
use crate::exact_sum::ExactSums;
use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::datatypes::Int64Type;
use std::sync::Arc;

/// What comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The nearest doubles.
    Rounded,
    /// Sums that can be added up further.
    Exact,
}

/// Sums of floats, or of exact sums.
pub(super) fn sums(told: Told) -> Box<dyn Carriers> {
    Box::new(FloatSums { sums: ExactSums::default(), seen: Seen::default(), told })
}

/// Means of floats.
pub(super) fn averages() -> Box<dyn Carriers> {
    Box::new(FloatAverages { sums: ExactSums::default(), counts: Vec::new() })
}

struct FloatSums {
    sums: ExactSums,
    seen: Seen,
    told: Told,
}

impl Carriers for FloatSums {
    fn grow(&mut self, groups: usize) {
        self.sums.grow(groups);
        self.seen.grow(groups);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let sums = &mut self.sums;
        match values.array() {
            Some(states) => {
                sums.add_states(&states, |body| values.for_each_selected(body), |row| groups[row] as usize)?
            }
            None => for_each::<f64>(groups, values, |group, number| sums.add(group, number)),
        }
        self.seen.add(groups, values);
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = same::<Self>(from)?;
        for (group, row) in groups.iter().zip(rows) {
            self.sums.merge(*group as usize, &from.sums, *row as usize);
        }
        self.seen.merge(groups, &from.seen, rows);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        let Self { sums, seen, told } = *self;
        Ok(match told {
            Told::Exact => sums.into_states(seen.finish()),
            Told::Rounded => {
                let rounded: Vec<f64> = (0..sums.len()).map(|group| sums.rounded(group)).collect();
                Arc::new(Float64Array::new(rounded.into(), seen.finish()))
            }
        })
    }

    fn bytes(&self) -> usize {
        self.sums.bytes() + self.seen.bytes()
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        Ok(Some(vec![self.sums.states_of(groups), self.seen.save(groups)]))
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let [sums, seen] = saved::columns(columns)?;
        (self.sums, self.seen) = (ExactSums::of_states(sums)?, Seen::load(seen));
        Ok(())
    }
}

struct FloatAverages {
    sums: ExactSums,
    counts: Vec<i64>,
}

impl Carriers for FloatAverages {
    fn grow(&mut self, groups: usize) {
        self.sums.grow(groups);
        self.counts.resize(groups, 0);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let (sums, counts) = (&mut self.sums, self.counts.as_mut_slice());
        for_each::<f64>(groups, values, |group, number| {
            sums.add(group, number);
            counts[group] += 1;
        });
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = same::<Self>(from)?;
        for (group, row) in groups.iter().zip(rows) {
            self.sums.merge(*group as usize, &from.sums, *row as usize);
            self.counts[*group as usize] += from.counts[*row as usize];
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        let each = self.counts.iter().enumerate();
        let averages =
            each.map(|(group, count)| (*count > 0).then(|| self.sums.rounded(group) / *count as f64));
        Ok(Arc::new(averages.collect::<Float64Array>()))
    }

    fn bytes(&self) -> usize {
        self.sums.bytes() + self.counts.capacity() * size_of::<i64>()
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        Ok(Some(vec![self.sums.states_of(groups), saved::chosen(&self.counts, groups)]))
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let [sums, counts] = saved::columns(columns)?;
        self.sums = ExactSums::of_states(sums)?;
        self.counts = counts.as_primitive::<Int64Type>().values().to_vec();
        Ok(())
    }
}

//! AVG: a sum and a count, divided at the end. Comes out as a float.

use super::super::values::{Kind, Values};
use super::float_sum;
use super::lane::{Number, for_each};
use super::sum::Total;
use super::{Carriers, same, saved};
use crate::error::CubeError;
use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::{DataType, i256};
use std::marker::PhantomData;
use std::sync::Arc;

pub(super) fn of(kind: Kind, input: &DataType) -> Box<dyn Carriers> {
    let scale = match input {
        DataType::Decimal128(_, scale) => 10_f64.powi(i32::from(*scale)),
        _ => 1.0,
    };
    match kind {
        Kind::Float => float_sum::averages(),
        Kind::Int => Box::new(Averages::<i64, i128>::new(scale)),
        Kind::Wide => Box::new(Averages::<i128, i256>::new(scale)),
    }
}

/// A total that can be divided.
trait Divided {
    fn float(self) -> f64;
}

impl Divided for i128 {
    fn float(self) -> f64 {
        self as f64
    }
}

impl Divided for i256 {
    fn float(self) -> f64 {
        match self.to_i128() {
            Some(total) => total as f64,
            None => {
                let (low, high) = self.to_parts();
                high as f64 * 2_f64.powi(128) + low as f64
            }
        }
    }
}

struct Averages<N, T> {
    /// Side by side, because both are touched for every row.
    carriers: Vec<(T, i64)>,
    scale: f64,
    number: PhantomData<fn(N)>,
}

impl<N, T> Averages<N, T> {
    fn new(scale: f64) -> Self {
        Self { carriers: Vec::new(), scale, number: PhantomData }
    }
}

impl<N: Number, T: Total<N> + Divided> Carriers for Averages<N, T> {
    fn grow(&mut self, groups: usize) {
        self.carriers.resize(groups, (T::default(), 0));
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let carriers = self.carriers.as_mut_slice();
        for_each::<N>(groups, values, |group, number| {
            let (total, count) = &mut carriers[group];
            (*total, *count) = (total.plus(number), *count + 1);
        });
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = same::<Self>(from)?;
        for (group, row) in groups.iter().zip(rows) {
            let (total, count) = &mut self.carriers[*group as usize];
            let (more, many) = from.carriers[*row as usize];
            (*total, *count) = (total.and(more), *count + many);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        let average =
            |(total, count): &(T, i64)| (*count > 0).then(|| total.float() / *count as f64 / self.scale);
        Ok(Arc::new(self.carriers.iter().map(average).collect::<Float64Array>()))
    }

    fn bytes(&self) -> usize {
        self.carriers.capacity() * size_of::<(T, i64)>()
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        let chosen = || groups.iter().map(|group| self.carriers[*group as usize]);
        let totals = T::saved(chosen().map(|(total, _)| total).collect());
        let counts = saved::Saved::saved(chosen().map(|(_, count)| count).collect::<Vec<i64>>());
        Ok(Some(vec![totals, counts]))
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let [totals, counts] = saved::columns(columns)?;
        let counts: Vec<i64> = saved::Saved::loaded(counts);
        self.carriers = T::loaded(totals).into_iter().zip(counts).collect();
        Ok(())
    }
}

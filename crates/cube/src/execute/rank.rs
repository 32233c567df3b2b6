//! The n-th largest or smallest value: a carrier keeps the n outermost values of its group, in order.

use crate::aggregate::{Carriers, CustomAggregate, Values};
use crate::error::CubeError;
use arrow::array::{ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;

/// The n-th value from one end, counted from 1.
#[derive(Debug)]
pub(super) struct Rank {
    pub(super) nth: usize,
    pub(super) is_largest: bool,
}

impl CustomAggregate for Rank {
    fn carriers(&self, input: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
        match crate::coordinate::logical_type(input) {
            DataType::Int64 => Ok(Box::new(Ranked::<Int64Type>::new(self, |a, b| a.cmp(&b)))),
            DataType::Float64 => Ok(Box::new(Ranked::<Float64Type>::new(self, |a, b| a.total_cmp(&b)))),
            other => Err(CubeError::UnsupportedType {
                place: "rank".to_owned(),
                problem: format!("{other} is no number; rank numbers"),
            }),
        }
    }
}

struct Ranked<T: ArrowPrimitiveType> {
    nth: usize,
    is_largest: bool,
    compare: fn(T::Native, T::Native) -> Ordering,
    /// For each group its outermost values, the outermost first.
    groups: Vec<Vec<T::Native>>,
    held: usize,
}

impl<T: ArrowPrimitiveType> Ranked<T> {
    fn new(rank: &Rank, compare: fn(T::Native, T::Native) -> Ordering) -> Self {
        Self { nth: rank.nth, is_largest: rank.is_largest, compare, groups: Vec::new(), held: 0 }
    }

    fn insert(&mut self, group: u32, value: T::Native) {
        let values = &mut self.groups[group as usize];
        let (compare, is_largest) = (self.compare, self.is_largest);
        let place = values.partition_point(|known| {
            let ordering = compare(*known, value);
            if is_largest { ordering.is_ge() } else { ordering.is_le() }
        });
        if place < self.nth {
            values.insert(place, value);
            self.held += 1;
            if values.len() > self.nth {
                values.pop();
                self.held -= 1;
            }
        }
    }
}

impl<T: ArrowPrimitiveType> Carriers for Ranked<T> {
    fn grow(&mut self, groups: usize) {
        self.groups.resize_with(groups, Vec::new);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let Some(array) = values.array() else { return Ok(()) };
        let array = cast(&array, &T::DATA_TYPE).map_err(|error| CubeError::arrow("rank", &error))?;
        let array = array.as_primitive::<T>();
        values.for_each_selected(|row| self.insert(groups[row], array.value(row)));
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = (from as &dyn Any).downcast_ref::<Self>().ok_or_else(|| CubeError::Computation {
            place: "rank".to_owned(),
            message: "carriers of different aggregations cannot be merged".to_owned(),
        })?;
        for (group, row) in groups.iter().zip(rows) {
            from.groups[*row as usize].iter().for_each(|value| self.insert(*group, *value));
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        let nth = self.nth - 1;
        let values: PrimitiveArray<T> = self.groups.iter().map(|values| values.get(nth).copied()).collect();
        Ok(Arc::new(values))
    }

    fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Vec<T::Native>>() + self.held * size_of::<T::Native>() * 2
    }
}

//! The n-th largest or smallest value: a carrier keeps the n outermost values of its group, in order.

use crate::aggregate::{Carriers, CustomAggregate, Values};
use crate::error::CubeError;
use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use arrow::util::display::array_value_to_string;
use std::any::Any;
use std::cmp::Ordering;
use std::sync::Arc;

/// The n-th value from one end, counted from 1.
#[derive(Debug)]
pub(super) struct Rank {
    /// Whose values, for errors.
    pub(super) of: String,
    pub(super) nth: usize,
    pub(super) is_largest: bool,
}

impl CustomAggregate for Rank {
    fn carriers(&self, input: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
        let decimal = match input {
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => Some(DataType::Decimal128(38, *scale)),
            _ => None,
        };
        if let Some(decimal) = decimal {
            return Ok(Box::new(Ranked::<Decimal128Type>::new(self, decimal, |a, b| a.cmp(&b))));
        }
        match crate::coordinate::logical_type(input) {
            whole @ DataType::Int64 => Ok(Box::new(Ranked::<Int64Type>::new(self, whole, |a, b| a.cmp(&b)))),
            float @ DataType::Float64 => {
                // Zeros are told apart in the end, so that whichever comes first does not matter.
                let order = |a: f64, b: f64| crate::exact::compare_floats(a, b).then(a.total_cmp(&b));
                Ok(Box::new(Ranked::<Float64Type>::new(self, float, order)))
            }
            other => Err(CubeError::UnsupportedType {
                place: "rank".to_owned(),
                problem: format!("{other} is no number; rank numbers"),
            }),
        }
    }
}

struct Ranked<T: ArrowPrimitiveType> {
    of: String,
    nth: usize,
    is_largest: bool,
    /// The type that values are ranked in.
    data_type: DataType,
    compare: fn(T::Native, T::Native) -> Ordering,
    /// For each group its outermost values, the outermost first.
    groups: Vec<Vec<T::Native>>,
    held: usize,
}

impl<T: ArrowPrimitiveType> Ranked<T> {
    fn new(rank: &Rank, data_type: DataType, compare: fn(T::Native, T::Native) -> Ordering) -> Self {
        let (of, nth, is_largest) = (rank.of.clone(), rank.nth, rank.is_largest);
        Self { of, nth, is_largest, data_type, compare, groups: Vec::new(), held: 0 }
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
        let ranked = cast(&array, &self.data_type).map_err(|error| CubeError::arrow("rank", &error))?;
        let ranked = ranked.as_primitive::<T>();
        let mut lost = None;
        // A value that counts and is none after the cast is one that the type does not have.
        values.for_each_selected(|row| match ranked.is_valid(row) {
            true => self.insert(groups[row], ranked.value(row)),
            false => lost = Some(row),
        });
        match lost {
            None => Ok(()),
            Some(row) => {
                let value = array_value_to_string(&array, row).unwrap_or_default();
                let message =
                    format!("{value} does not fit into {}; rank a column of floats", self.data_type);
                Err(CubeError::Computation { place: format!("column {:?}", self.of), message })
            }
        }
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
        Ok(Arc::new(values.with_data_type(self.data_type)))
    }

    fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Vec<T::Native>>() + self.held * size_of::<T::Native>() * 2
    }
}

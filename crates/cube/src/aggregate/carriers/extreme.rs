//! MIN and MAX. NaN is above all other floats, as in PostgreSQL; there is one NaN and one zero. Dates and times come out as what they went in.

use super::super::values::{Kind, Values};
use super::lane::{Number, for_each};
use super::seen::Seen;
use super::{Carriers, same, saved};
use crate::error::CubeError;
use crate::exact::one_zero;
use arrow::array::{ArrayRef, Decimal128Array, Float64Array, Int64Array};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use std::sync::Arc;

pub(super) fn of<const MAX: bool>(kind: Kind, input: &DataType) -> Box<dyn Carriers> {
    match kind {
        Kind::Float => Box::new(Extremes::<f64, MAX>::new(input)),
        Kind::Int => Box::new(Extremes::<i64, MAX>::new(input)),
        Kind::Wide => Box::new(Extremes::<i128, MAX>::new(input)),
    }
}

trait Ordered: Number + saved::Saved {
    const LEAST: Self;
    const MOST: Self;
    fn is_below(self, other: Self) -> bool;
    fn column(values: Vec<Self>, seen: Seen, input: &DataType) -> Result<ArrayRef, CubeError>;
}

impl Ordered for f64 {
    const LEAST: Self = f64::NEG_INFINITY;
    const MOST: Self = f64::NAN;

    #[inline(always)]
    fn is_below(self, other: Self) -> bool {
        self < other || (other.is_nan() && !self.is_nan())
    }

    fn column(values: Vec<Self>, seen: Seen, _: &DataType) -> Result<ArrayRef, CubeError> {
        // Zeros and NaN are equal here, so which of them came first must not show.
        let values: Vec<f64> = values.into_iter().map(one_zero).collect();
        Ok(Arc::new(Float64Array::new(values.into(), seen.finish())))
    }
}

impl Ordered for i64 {
    const LEAST: Self = i64::MIN;
    const MOST: Self = i64::MAX;

    #[inline(always)]
    fn is_below(self, other: Self) -> bool {
        self < other
    }

    fn column(values: Vec<Self>, seen: Seen, input: &DataType) -> Result<ArrayRef, CubeError> {
        let array = Int64Array::new(values.into(), seen.finish());
        if !input.is_temporal() {
            return Ok(Arc::new(array));
        }
        let place = |error| CubeError::arrow("min or max", &error);
        let array: ArrayRef = match input {
            DataType::Date32 | DataType::Time32(_) => cast(&array, &DataType::Int32).map_err(place)?,
            _ => Arc::new(array),
        };
        cast(&array, input).map_err(place)
    }
}

impl Ordered for i128 {
    const LEAST: Self = i128::MIN;
    const MOST: Self = i128::MAX;

    #[inline(always)]
    fn is_below(self, other: Self) -> bool {
        self < other
    }

    fn column(mut values: Vec<Self>, seen: Seen, input: &DataType) -> Result<ArrayRef, CubeError> {
        let seen = seen.finish();
        if let Some(seen) = &seen {
            // What stands at a NULL must be a decimal too.
            values
                .iter_mut()
                .enumerate()
                .filter(|(group, _)| seen.is_null(*group))
                .for_each(|(_, value)| *value = 0);
        }
        let array = Decimal128Array::new(values.into(), seen).with_data_type(input.clone());
        Ok(Arc::new(array))
    }
}

struct Extremes<N, const MAX: bool> {
    best: Vec<N>,
    seen: Seen,
    input: DataType,
}

impl<N: Ordered, const MAX: bool> Extremes<N, MAX> {
    fn new(input: &DataType) -> Self {
        Self { best: Vec::new(), seen: Seen::default(), input: input.clone() }
    }

    /// The better of two; the first when neither is.
    #[inline(always)]
    fn better(first: N, second: N) -> N {
        let is_second = if MAX { first.is_below(second) } else { second.is_below(first) };
        if is_second { second } else { first }
    }
}

impl<N: Ordered, const MAX: bool> Carriers for Extremes<N, MAX> {
    fn grow(&mut self, groups: usize) {
        self.best.resize(groups, if MAX { N::LEAST } else { N::MOST });
        self.seen.grow(groups);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let best = self.best.as_mut_slice();
        for_each::<N>(groups, values, |group, number| best[group] = Self::better(best[group], number));
        self.seen.add(groups, values);
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = same::<Self>(from)?;
        for (group, row) in groups.iter().zip(rows) {
            let best = &mut self.best[*group as usize];
            *best = Self::better(*best, from.best[*row as usize]);
        }
        self.seen.merge(groups, &from.seen, rows);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        N::column(self.best, self.seen, &self.input)
    }

    fn bytes(&self) -> usize {
        self.best.capacity() * size_of::<N>() + self.seen.bytes()
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        Ok(Some(vec![saved::chosen(&self.best, groups), self.seen.save(groups)]))
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let [best, seen] = saved::columns(columns)?;
        (self.best, self.seen) = (N::loaded(best), Seen::load(seen));
        Ok(())
    }
}

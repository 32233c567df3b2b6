//! SUM. Integers are added in 128 bits and decimals in 256, so that only a total that does not fit is an error, and not a sum on the way to it. Floats are
//! in `float_sum.rs`.

use super::super::values::{Kind, Values};
use super::float_sum::{self, Told};
use super::lane::{Number, for_each};
use super::seen::Seen;
use super::{Carriers, same, saved};
use crate::error::CubeError;
use arrow::array::{ArrayRef, Decimal128Array, Int64Array};
use arrow::datatypes::{DataType, i256};
use std::marker::PhantomData;
use std::sync::Arc;

pub(super) fn of(kind: Kind, input: &DataType) -> Box<dyn Carriers> {
    match kind {
        Kind::Float => float_sum::sums(Told::Rounded),
        Kind::Int => Box::new(Sums::<i64, i128>::new(input)),
        Kind::Wide => Box::new(Sums::<i128, i256>::new(input)),
    }
}

/// What is added up, and the type that it is added up in.
pub(super) trait Total<N>: saved::Saved + Default + Send + Sync + 'static {
    fn plus(self, number: N) -> Self;
    fn and(self, other: Self) -> Self;
    fn column(totals: Vec<Self>, seen: Seen, input: &DataType) -> Result<ArrayRef, CubeError>;
}

impl Total<i64> for i128 {
    #[inline(always)]
    fn plus(self, number: i64) -> Self {
        self + i128::from(number)
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self + other
    }

    fn column(totals: Vec<Self>, seen: Seen, _: &DataType) -> Result<ArrayRef, CubeError> {
        let narrow: Result<Vec<i64>, _> = totals.into_iter().map(i64::try_from).collect();
        let totals = narrow.map_err(|_| too_large("64 bits"))?;
        Ok(Arc::new(Int64Array::new(totals.into(), seen.finish())))
    }
}

impl Total<i128> for i256 {
    #[inline(always)]
    fn plus(self, number: i128) -> Self {
        self.wrapping_add(Self::from_i128(number))
    }

    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self.wrapping_add(other)
    }

    fn column(totals: Vec<Self>, seen: Seen, input: &DataType) -> Result<ArrayRef, CubeError> {
        let scale = match input {
            DataType::Decimal128(_, scale) => *scale,
            _ => 0,
        };
        const MOST: u128 = 10_u128.pow(38) - 1;
        let narrow = |total: i256| total.to_i128().filter(|total| total.unsigned_abs() <= MOST);
        let totals: Option<Vec<i128>> = totals.into_iter().map(narrow).collect();
        let totals = totals.ok_or_else(|| too_large("38 digits"))?;
        let array = Decimal128Array::new(totals.into(), seen.finish()).with_precision_and_scale(38, scale);
        array.map(|array| Arc::new(array) as ArrayRef).map_err(|error| CubeError::arrow("sum", &error))
    }
}

fn too_large(room: &str) -> CubeError {
    CubeError::Computation {
        place: "sum".to_owned(),
        message: format!("a total does not fit into {room}; sum a column of floats instead"),
    }
}

struct Sums<N, T> {
    totals: Vec<T>,
    seen: Seen,
    input: DataType,
    number: PhantomData<fn(N)>,
}

impl<N, T> Sums<N, T> {
    fn new(input: &DataType) -> Self {
        Self { totals: Vec::new(), seen: Seen::default(), input: input.clone(), number: PhantomData }
    }
}

impl<N: Number, T: Total<N>> Carriers for Sums<N, T> {
    fn grow(&mut self, groups: usize) {
        self.totals.resize(groups, T::default());
        self.seen.grow(groups);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let totals = self.totals.as_mut_slice();
        for_each::<N>(groups, values, |group, number| totals[group] = totals[group].plus(number));
        self.seen.add(groups, values);
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = same::<Self>(from)?;
        for (group, row) in groups.iter().zip(rows) {
            let total = &mut self.totals[*group as usize];
            *total = total.and(from.totals[*row as usize]);
        }
        self.seen.merge(groups, &from.seen, rows);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        T::column(self.totals, self.seen, &self.input)
    }

    fn bytes(&self) -> usize {
        self.totals.capacity() * size_of::<T>() + self.seen.bytes()
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        Ok(Some(vec![saved::chosen(&self.totals, groups), self.seen.save(groups)]))
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let [totals, seen] = saved::columns(columns)?;
        (self.totals, self.seen) = (T::loaded(totals), Seen::load(seen));
        Ok(())
    }
}

//! PRODUCT, of floats and, since products outgrow integers within a few rows, of everything else as a float too.

use super::super::values::{Kind, Values};
use super::lane::{Number, for_each};
use super::seen::Seen;
use super::{Carriers, same, saved};
use crate::error::CubeError;
use arrow::array::{ArrayRef, Float64Array};
use arrow::datatypes::DataType;
use std::marker::PhantomData;
use std::sync::Arc;

pub(super) fn of(kind: Kind, input: &DataType) -> Box<dyn Carriers> {
    let scale = match input {
        DataType::Decimal128(_, scale) => 10_f64.powi(i32::from(*scale)),
        _ => 1.0,
    };
    match kind {
        Kind::Float => Box::new(Products::<f64>::new(scale)),
        Kind::Int => Box::new(Products::<i64>::new(scale)),
        Kind::Wide => Box::new(Products::<i128>::new(scale)),
    }
}

trait Factor: Number {
    fn float(self) -> f64;
}

impl Factor for f64 {
    fn float(self) -> f64 {
        self
    }
}

impl Factor for i64 {
    fn float(self) -> f64 {
        self as f64
    }
}

impl Factor for i128 {
    fn float(self) -> f64 {
        self as f64
    }
}

struct Products<N> {
    products: Vec<f64>,
    seen: Seen,
    scale: f64,
    number: PhantomData<fn(N)>,
}

impl<N> Products<N> {
    fn new(scale: f64) -> Self {
        Self { products: Vec::new(), seen: Seen::default(), scale, number: PhantomData }
    }
}

impl<N: Factor> Carriers for Products<N> {
    fn grow(&mut self, groups: usize) {
        self.products.resize(groups, 1.0);
        self.seen.grow(groups);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let products = self.products.as_mut_slice();
        let scale = self.scale;
        for_each::<N>(groups, values, |group, number| products[group] *= number.float() / scale);
        self.seen.add(groups, values);
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = same::<Self>(from)?;
        for (group, row) in groups.iter().zip(rows) {
            self.products[*group as usize] *= from.products[*row as usize];
        }
        self.seen.merge(groups, &from.seen, rows);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        Ok(Arc::new(Float64Array::new(self.products.into(), self.seen.finish())))
    }

    fn bytes(&self) -> usize {
        self.products.capacity() * 8 + self.seen.bytes()
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        Ok(Some(vec![saved::chosen(&self.products, groups), self.seen.save(groups)]))
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let [products, seen] = saved::columns(columns)?;
        (self.products, self.seen) = (saved::Saved::loaded(products), Seen::load(seen));
        Ok(())
    }
}

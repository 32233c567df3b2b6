//! A sketch for every group.

use super::check_type;
use super::sketch::Sketch;
use crate::aggregate::{Carriers, CustomAggregate, Values};
use crate::error::CubeError;
use crate::forest::Quantile;
use arrow::array::{ArrayRef, AsArray, Float64Array, LargeBinaryArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use std::any::Any;
use std::sync::Arc;

/// Sketches of numbers, told as the value of a part of them; without a part as bytes, which can be aggregated again.
#[derive(Debug)]
pub(crate) struct SketchOf(pub(crate) Option<Quantile>);

impl CustomAggregate for SketchOf {
    fn carriers(&self, input: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
        if self.0.is_some() || *input != DataType::LargeBinary {
            check_type(input)?;
        }
        Ok(Box::new(Sketches { part: self.0, groups: Vec::new(), held: 0 }))
    }
}

struct Sketches {
    part: Option<Quantile>,
    groups: Vec<Sketch>,
    /// What sketches have allocated, in bytes.
    held: usize,
}

impl Sketches {
    fn change(&mut self, group: u32, change: impl FnOnce(&mut Sketch)) {
        let sketch = &mut self.groups[group as usize];
        let before = sketch.bytes();
        change(sketch);
        self.held = self.held + sketch.bytes() - before;
    }
}

impl Carriers for Sketches {
    fn grow(&mut self, groups: usize) {
        self.groups.resize_with(groups, Sketch::default);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let Some(array) = values.array() else { return Ok(()) };
        if let Some(sketches) = array.as_binary_opt::<i64>() {
            let mut outcome = Ok(());
            values.for_each_selected(|row| match Sketch::decode(sketches.value(row)) {
                Ok(sketch) => self.change(groups[row], |known| known.merge(&sketch)),
                Err(error) => outcome = Err(error),
            });
            return outcome;
        }
        let numbers =
            cast(&array, &DataType::Float64).map_err(|error| CubeError::arrow("quantile", &error))?;
        let numbers = numbers.as_primitive::<Float64Type>();
        values.for_each_selected(|row| self.change(groups[row], |sketch| sketch.add(numbers.value(row))));
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = (from as &dyn Any).downcast_ref::<Self>().ok_or_else(|| CubeError::Computation {
            place: "quantile".to_owned(),
            message: "carriers of different aggregations cannot be merged".to_owned(),
        })?;
        for (group, row) in groups.iter().zip(rows) {
            self.change(*group, |sketch| sketch.merge(&from.groups[*row as usize]));
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        let sketches = self.groups.into_iter();
        Ok(match self.part {
            Some(part) => Arc::new(sketches.map(|sketch| sketch.value(part.0)).collect::<Float64Array>()),
            None => Arc::new(sketches.map(Sketch::encode).collect::<LargeBinaryArray>()),
        })
    }

    fn bytes(&self) -> usize {
        self.groups.capacity() * size_of::<Sketch>() + self.held
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        // A sketch is the same whatever the order of its numbers, so nothing is lost when these are put in order.
        let sketches = groups.iter().map(|group| self.groups[*group as usize].clone().encode());
        Ok(Some(vec![Arc::new(sketches.collect::<LargeBinaryArray>())]))
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let sketches = columns.first().and_then(|column| column.as_binary_opt::<i64>());
        let sketches = sketches.ok_or_else(|| CubeError::Computation {
            place: "quantile".to_owned(),
            message: "what was saved is no column of sketches".to_owned(),
        })?;
        let loaded = |bytes: Option<&[u8]>| bytes.map_or(Ok(Sketch::default()), Sketch::decode);
        self.groups = sketches.iter().map(loaded).collect::<Result<_, _>>()?;
        self.held = self.groups.iter().map(Sketch::bytes).sum();
        Ok(())
    }
}

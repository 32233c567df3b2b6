//! An aggregate that is told on the way: after some rows, and again after some more.
//!
//! Carriers are merged into new ones before they are finished, so every aggregate can run. What that costs is what is told.
//!
//! Threads: belongs to one task at a time, on `cpu`.

use super::carriers::Carriers;
use super::function::{Aggregate, Function};
use super::values::Column;
use crate::error::CubeError;
use crate::memory::{MemoryAccount, Reservation};
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

/// Groups that go on after they were told.
pub(crate) struct Running {
    aggregate: Aggregate,
    carriers: Box<dyn Carriers>,
    groups: usize,
    held: Reservation,
}

impl Running {
    /// No groups yet.
    pub(crate) fn new(
        function: Function,
        input: DataType,
        memory: &MemoryAccount,
    ) -> Result<Self, CubeError> {
        let aggregate = Aggregate::new(function, 0, input);
        let carriers = aggregate.carriers()?;
        Ok(Self { aggregate, carriers, groups: 0, held: memory.try_reserve(0)? })
    }

    /// How many groups there are.
    pub(crate) fn groups(&self) -> usize {
        self.groups
    }

    /// Adds a value to each of these groups. New ones are numbered without gaps.
    pub(crate) fn add(&mut self, groups: &[u32], values: &ArrayRef) -> Result<(), CubeError> {
        let column = Column::of(&self.aggregate.need(), std::slice::from_ref(values), &[])?;
        self.groups = groups.iter().fold(self.groups, |known, group| known.max(*group as usize + 1));
        self.carriers.grow(self.groups);
        self.carriers.add(groups, &column.values(0..groups.len()))?;
        self.held.try_resize(self.carriers.bytes())
    }

    /// The values of all groups so far.
    pub(crate) fn values(&mut self) -> Result<ArrayRef, CubeError> {
        let all: Vec<u32> = (0..self.groups as u32).collect();
        let mut next = self.aggregate.carriers()?;
        next.grow(self.groups);
        next.merge(&all, &*self.carriers, &all)?;
        // Both are there until the first ones are finished.
        self.held.try_resize(self.carriers.bytes() + next.bytes())?;
        let told = std::mem::replace(&mut self.carriers, next).finish()?;
        self.held.try_resize(self.carriers.bytes())?;
        Ok(told)
    }
}

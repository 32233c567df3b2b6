//! Aggregates whose failure is a value: the grouping goes on with the others, and says in the end which one failed.
//!
//! Only queries whose errors are values have them; all others end with the first failure. Threads: carriers belong to one task at a time; the
//! failure is shared by all tasks of a grouping, and the first one is kept.

use super::carriers::{Carriers, carriers_of, same};
use super::function::Function;
use super::values::Values;
use crate::error::CubeError;
use arrow::array::{Array, ArrayRef, new_null_array};
use arrow::datatypes::DataType;
use filbert_pool::caught;
use std::sync::{Arc, OnceLock};

/// Why an aggregate failed, once it did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure {
    error: Arc<OnceLock<CubeError>>,
}

impl Failure {
    /// What went wrong first.
    pub(crate) fn error(&self) -> Option<&CubeError> {
        self.error.get()
    }

    /// Carriers that keep to themselves what goes wrong with them, or with making them.
    pub(super) fn guard(
        &self,
        carriers: impl FnOnce() -> Result<Box<dyn Carriers>, CubeError>,
    ) -> Result<Box<dyn Carriers>, CubeError> {
        let inner = match self.keep(carriers)? {
            Some(inner) => inner,
            None => carriers_of(&Function::Count, &DataType::Null)?,
        };
        Ok(Box::new(Guarded { inner, groups: 0, failure: self.clone() }))
    }

    /// Does something unless it failed before; nothing when it failed.
    fn keep<T>(&self, body: impl FnOnce() -> Result<T, CubeError>) -> Result<Option<T>, CubeError> {
        if self.error().is_some() {
            return Ok(None);
        }
        let panicked = |message| Err(CubeError::aggregation_panicked(message));
        match caught(body).unwrap_or_else(panicked) {
            Ok(made) => Ok(Some(made)),
            Err(error) if error.ends_query() => Err(error),
            Err(error) => {
                self.error.get_or_init(|| error);
                Ok(None)
            }
        }
    }
}

struct Guarded {
    inner: Box<dyn Carriers>,
    groups: usize,
    failure: Failure,
}

impl Carriers for Guarded {
    fn grow(&mut self, groups: usize) {
        self.groups = groups;
        let inner = &mut self.inner;
        // It grows on after a failure of another task, so that it can still be saved.
        if let Err(message) = caught(|| inner.grow(groups)) {
            self.failure.error.get_or_init(|| CubeError::aggregation_panicked(message));
        }
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        self.failure.keep(|| self.inner.add(groups, values)).map(|_| ())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = same::<Self>(from)?;
        self.failure.keep(|| self.inner.merge(groups, &*from.inner, rows)).map(|_| ())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        let Self { inner, groups, failure } = *self;
        let made = failure.keep(|| inner.finish())?;
        Ok(made.unwrap_or_else(|| new_null_array(&DataType::Null, groups)))
    }

    fn bytes(&self) -> usize {
        self.inner.bytes()
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        self.inner.save(groups)
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let groups = columns.first().map_or(0, |column| column.len());
        self.groups = groups;
        let inner = &mut self.inner;
        if self.failure.keep(|| inner.load(columns))?.is_none() {
            // What it carried is lost; there are as many groups all the same.
            self.grow(groups);
        }
        Ok(())
    }
}

//! Quantiles: how they are aggregated, rolled up, and told.
//!
//! ```text
//!   numbers ──► a sketch per group ──► bytes in a cuboid ──► merged into coarser slices ──► a value of each
//! ```
//!
//! Leaves of plans are sketches and not values: so all quantiles of a column are told from one of them, coarser slices from finer ones, and
//! sketches are kept in the cache like sums. A Partitionor or Dispatchor tells the value at once.

mod carriers;
mod sketch;

pub(crate) use carriers::SketchOf;

use crate::error::CubeError;
use crate::forest::Quantile;
use arrow::array::{Array, ArrayRef, AsArray, Float64Array, new_null_array};
use arrow::datatypes::DataType;
use sketch::Sketch;
use std::sync::Arc;

/// Refuses what has no quantiles.
pub(crate) fn check_type(data_type: &DataType) -> Result<(), CubeError> {
    match data_type {
        DataType::Dictionary(_, values) => check_type(values),
        DataType::Null => Ok(()),
        number if number.is_numeric() => Ok(()),
        other => Err(CubeError::UnsupportedType {
            place: "quantile".to_owned(),
            problem: format!("{other} is no number; take a quantile of numbers"),
        }),
    }
}

/// A value of each sketch.
pub(crate) fn values_of(sketches: &ArrayRef, part: Quantile) -> Result<ArrayRef, CubeError> {
    let Some(sketches) = sketches.as_binary_opt::<i64>() else {
        // A step without slices does not know the type of its values.
        return Ok(new_null_array(&DataType::Float64, sketches.len()));
    };
    let value = |bytes: Option<&[u8]>| match bytes {
        Some(bytes) => Ok(Sketch::decode(bytes)?.value(part.0)),
        None => Ok(None),
    };
    let values: Result<Float64Array, CubeError> = sketches.iter().map(value).collect();
    Ok(Arc::new(values?))
}

//! Code of the user's, registered by name, so that a forest can be a text.
//!
//! Everything here runs on `cpu`: it computes and never blocks. A panic becomes [`CubeError::Panicked`](crate::CubeError::Panicked) of the
//! measure that called it.

use crate::aggregate::CustomAggregate;
use crate::coordinate::Coordinate;
use crate::query::Position;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Computes a column from columns of the same length: cells of measures, or rows of the table.
pub type CellFunction = Arc<dyn Fn(&[ArrayRef]) -> Result<ArrayRef, String> + Send + Sync>;

/// Says which coordinate is read instead of another one.
pub type ShiftFunction = Arc<dyn Fn(&Coordinate) -> Coordinate + Send + Sync>;

/// Says which coordinates a cell goes to, and with which weights.
pub type TargetsFunction = Arc<dyn Fn(&Coordinate) -> Vec<(Coordinate, f64)> + Send + Sync>;

/// Says which measure is read at a position; none leaves it to the default.
pub type RouteFunction = Arc<dyn Fn(&Position) -> Option<String> + Send + Sync>;

/// Says where a cell goes, and which part of its value.
#[derive(Clone)]
pub struct DecompositionFunction {
    /// The type of the column that cells go to.
    pub output: DataType,
    /// From a coordinate to the targets with their weights.
    pub targets: TargetsFunction,
}

/// A measure that is code: it says where it reads its underlyings, and computes its cells from theirs.
pub trait CustomMeasure: Send + Sync {
    /// Where it reads an underlying when it is asked for at `position`; the same position unless it says otherwise.
    fn reads(&self, underlying: &str, position: &Position) -> Position {
        let _ = underlying;
        position.clone()
    }

    /// Its cells: a batch of the columns of the position, in their order, and a last column with the values. Each slice at most once.
    /// Every input has the columns of the position that it was read at, and its values last.
    fn produce(&self, position: &Position, inputs: &[RecordBatch]) -> Result<RecordBatch, String>;

    /// Says whether the value of a slice comes from the inputs of that slice alone. [`produce`](Self::produce) is then called several times
    /// at once, each time with a part of the slices, in which all inputs have the same slices as elsewhere.
    fn is_slice_by_slice(&self) -> bool {
        false
    }
}

/// What is registered.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    pub(crate) cells: BTreeMap<String, CellFunction>,
    pub(crate) shifts: BTreeMap<String, ShiftFunction>,
    pub(crate) decompositions: BTreeMap<String, DecompositionFunction>,
    pub(crate) routes: BTreeMap<String, RouteFunction>,
    pub(crate) measures: BTreeMap<String, Arc<dyn CustomMeasure>>,
    pub(crate) aggregates: BTreeMap<String, Arc<dyn CustomAggregate>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("cells", &self.cells.keys())
            .field("shifts", &self.shifts.keys())
            .field("decompositions", &self.decompositions.keys())
            .field("routes", &self.routes.keys())
            .field("measures", &self.measures.keys())
            .field("aggregates", &self.aggregates.keys())
            .finish()
    }
}

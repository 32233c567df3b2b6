//! One node of a plan: a measure at a level under a filter, and how it is computed from others.

use super::targets::Targets;
use crate::coordinate::Coordinate;
use crate::expression::Expression;
use crate::filter::Filter;
use crate::forest::{Aggregation, CellFunction, CustomMeasure, Quantile, ShiftFunction};
use crate::query::Position;
use arrow::datatypes::DataType;
use std::sync::Arc;

/// A step of a plan, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct StepId(pub(crate) usize);

/// The columns of a cuboid, each once, in order.
pub(crate) type Level = Arc<[Arc<str>]>;

/// A measure at a level under a filter.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// The measure, or the aggregation that it needs.
    pub(crate) measure: Arc<str>,
    /// Of an aggregation the first measure that needs it.
    pub(crate) whose: Option<Arc<str>>,
    pub(crate) level: Level,
    pub(crate) filter: Arc<Filter>,
    pub(crate) operation: Operation,
}

/// How a step is computed.
#[derive(Debug, Clone)]
pub(crate) enum Operation {
    /// No value anywhere.
    Empty,
    /// An aggregation of the table.
    Leaf(Leaf),
    /// Slices of a finer or equal level, those that `keep` wants, aggregated.
    RollUp { from: StepId, keep: Filter, aggregation: Aggregation },
    /// Cells of the same slices, combined.
    Combine { cells: Cells, inputs: Vec<StepId> },
    /// Values of `read` at other coordinates of a column, where `write` has values.
    Shift { read: StepId, write: StepId, column: Arc<str>, shift: ShiftBy },
    /// Cells spread over the coordinates of a new column, or counted by them.
    Dispatch { from: StepId, spread: Arc<Spread> },
    /// Cells that go to all later coordinates of their column.
    Cumulate { from: StepId, along: Arc<Along> },
    /// Code of the user's.
    Custom { code: CustomCode, inputs: Vec<StepId>, position: Position },
}

/// An aggregation of a column of the table; a count may do without a column.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Leaf {
    pub(crate) aggregation: Aggregation,
    pub(crate) column: Option<Arc<str>>,
}

impl Leaf {
    /// True for a measure of one of the cubes of a composite.
    pub(crate) fn is_of_cube(&self) -> bool {
        self.aggregation.is_of_cube()
    }

    /// How values of finer slices become those of coarser ones; nothing when only rows can tell.
    pub(crate) fn roll_up(&self) -> Option<Aggregation> {
        match self.aggregation {
            Aggregation::Sum
            | Aggregation::WideSum
            | Aggregation::ExactSum
            | Aggregation::Min
            | Aggregation::Max
            | Aggregation::Sketch => Some(self.aggregation.clone()),
            Aggregation::Count => Some(Aggregation::Sum),
            // A product of products is rounded twice.
            Aggregation::Avg
            | Aggregation::Product
            | Aggregation::CountDistinct
            | Aggregation::Largest(_)
            | Aggregation::Smallest(_)
            | Aggregation::Quantile(_)
            | Aggregation::Median
            | Aggregation::Custom(_) => None,
        }
    }
}

/// How cells are combined.
#[derive(Clone)]
pub(crate) enum Cells {
    Sum,
    Subtraction,
    Product,
    Divide,
    Coalesce,
    /// A formula, with the names of its inputs.
    Expression(Expression, Arc<[String]>),
    Function(CellFunction),
    /// A value of each sketch.
    Quantile(Quantile),
    /// The double that is nearest to each exact sum.
    Round,
}

impl std::fmt::Debug for Cells {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sum => f.write_str("sum"),
            Self::Subtraction => f.write_str("subtraction"),
            Self::Product => f.write_str("product"),
            Self::Divide => f.write_str("divide"),
            Self::Coalesce => f.write_str("coalesce"),
            Self::Expression(expression, _) => write!(f, "{expression}"),
            Self::Function(_) => f.write_str("function"),
            Self::Quantile(part) => write!(f, "quantile {part:?}"),
            Self::Round => f.write_str("round"),
        }
    }
}

/// Which coordinate is read instead of another one.
#[derive(Clone)]
pub(crate) enum ShiftBy {
    /// So many further, of whole numbers or days.
    Offset(i64),
    Function(ShiftFunction),
}

impl ShiftBy {
    /// The coordinate that is read instead of this one; none of it when there is none.
    pub(crate) fn of(&self, from: &Coordinate) -> Coordinate {
        match self {
            Self::Function(function) => function(from),
            Self::Offset(offset) => match from {
                Coordinate::Int(value) => value.checked_add(*offset).into(),
                // Of no column, but of a bound on one.
                Coordinate::Float(value) => Coordinate::Float(value + *offset as f64),
                other => {
                    let days = other.days().and_then(|days| i64::from(days).checked_add(*offset));
                    days.and_then(|days| i32::try_from(days).ok())
                        .map_or(Coordinate::Null, Coordinate::of_days)
                }
            },
        }
    }
}

impl std::fmt::Debug for ShiftBy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Offset(offset) => write!(f, "by {offset}"),
            Self::Function(_) => f.write_str("by code"),
        }
    }
}

/// Where cells go: how many cells become of one, and of which value.
pub(crate) struct Spread {
    /// None when all cells go to the same targets, those of [`Coordinate::Null`].
    pub(crate) from: Option<Arc<str>>,
    pub(crate) to: Arc<str>,
    /// The type of the new column.
    pub(crate) output: DataType,
    /// False when the new column is only filtered by, and not part of the level.
    pub(crate) is_grouped: bool,
    /// Which coordinates of the new column count.
    pub(crate) wanted: Filter,
    /// True when a part of the value goes to each target; otherwise all of it.
    pub(crate) is_weighted: bool,
    pub(crate) targets: Targets,
    pub(crate) aggregation: Aggregation,
}

impl std::fmt::Debug for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} -> {}", self.from.as_deref().unwrap_or("every cell"), self.to)
    }
}

/// The column along which cells are added up.
#[derive(Debug)]
pub(crate) struct Along {
    pub(crate) column: Arc<str>,
    /// Which of its coordinates are asked for.
    pub(crate) wanted: Filter,
    pub(crate) aggregation: Aggregation,
}

/// Code of a custom measure.
#[derive(Clone)]
pub(crate) struct CustomCode(pub(crate) Arc<dyn CustomMeasure>);

impl std::fmt::Debug for CustomCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CustomCode")
    }
}

impl Step {
    /// The measure that an error of it is told of.
    pub(crate) fn name(&self) -> &Arc<str> {
        self.whose.as_ref().unwrap_or(&self.measure)
    }

    /// Which aggregation of that measure it is.
    pub(crate) fn what(&self) -> Option<&Arc<str>> {
        self.whose.as_ref().map(|_| &self.measure)
    }

    /// The steps that it is computed from.
    pub(crate) fn inputs(&self) -> Vec<StepId> {
        match &self.operation {
            Operation::Empty | Operation::Leaf(_) => Vec::new(),
            Operation::RollUp { from, .. }
            | Operation::Dispatch { from, .. }
            | Operation::Cumulate { from, .. } => vec![*from],
            Operation::Combine { inputs, .. } | Operation::Custom { inputs, .. } => inputs.clone(),
            Operation::Shift { read, write, .. } => vec![*read, *write],
        }
    }

    /// The word for what it does.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.operation {
            Operation::Empty => "empty",
            Operation::Leaf(_) => "aggregate",
            Operation::RollUp { .. } => "roll up",
            Operation::Combine { .. } => "combine",
            Operation::Shift { .. } => "shift",
            Operation::Dispatch { .. } => "dispatch",
            Operation::Cumulate { .. } => "cumulate",
            Operation::Custom { .. } => "custom",
        }
    }
}

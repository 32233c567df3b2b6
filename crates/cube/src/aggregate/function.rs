//! Aggregates: a function, the input that it reads and the filter that it applies.

use super::carriers::{Carriers, CustomAggregate, carriers_of};
use super::guard::Failure;
use super::values::{ColumnNeed, Need};
use crate::error::CubeError;
use crate::exact_sum::is_state;
use crate::value_type::{is_text, plain};
use arrow::datatypes::DataType;
use filbert_pool::caught;
use std::fmt;
use std::sync::Arc;

/// What is computed of the values of a group.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Function {
    /// Integers as `Int64`, floats as `Float64`, decimals with 38 digits. A total that does not fit is an error. Nothing is rounded on the
    /// way, so the sum of floats is the double that is nearest to their exact sum, whatever their order.
    Sum,
    /// Sums of floats, or of such sums, before they are rounded. Sums of other numbers are what they are.
    #[doc(hidden)]
    ExactSum,
    /// How many values, or rows when there is no input.
    Count,
    /// The least value; NaN is above all other numbers. Texts are compared byte by byte.
    Min,
    /// The greatest value.
    Max,
    /// The mean, as `Float64`.
    Avg,
    /// The product, as `Float64` whatever the input.
    Product,
    /// How many different values.
    CountDistinct,
    /// One's own.
    Custom(Arc<dyn CustomAggregate>),
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sum | Self::ExactSum => f.write_str("SUM"),
            Self::Count => f.write_str("COUNT"),
            Self::Min => f.write_str("MIN"),
            Self::Max => f.write_str("MAX"),
            Self::Avg => f.write_str("AVG"),
            Self::Product => f.write_str("PRODUCT"),
            Self::CountDistinct => f.write_str("COUNT DISTINCT"),
            Self::Custom(custom) => write!(f, "{custom:?}"),
        }
    }
}

/// One value per group: a function of an input of every block.
///
/// ```
/// use arrow::datatypes::DataType;
/// use filbert_cube::aggregate::{Aggregate, Function};
///
/// let sum = Aggregate::new(Function::Sum, 0, DataType::Float64);
/// let count = Aggregate::count_rows().filtered(0);
/// # let _ = (sum, count);
/// ```
#[derive(Debug, Clone)]
pub struct Aggregate {
    function: Function,
    input: Option<(usize, DataType)>,
    filter: Option<usize>,
    /// Where its failure is kept, if it does not end the grouping.
    failure: Option<Failure>,
    /// The measure that it is of, and which of its aggregations.
    whose: Option<(Arc<str>, Option<Arc<str>>)>,
}

impl Aggregate {
    /// `function` of the input number `input` of every block, which is of type `data_type`.
    pub fn new(function: Function, input: usize, data_type: DataType) -> Self {
        Self { function, input: Some((input, data_type)), filter: None, failure: None, whose: None }
    }

    /// How many rows.
    pub fn count_rows() -> Self {
        Self { function: Function::Count, input: None, filter: None, failure: None, whose: None }
    }

    /// Only of the rows that the filter number `filter` of their block keeps. A group without any such row is there all the same, without a
    /// value.
    #[must_use]
    pub fn filtered(mut self, filter: usize) -> Self {
        self.filter = Some(filter);
        self
    }

    /// Its failure does not end the grouping: it is kept, and what it came to is of no worth.
    #[must_use]
    pub(crate) fn guarded(mut self, failure: Failure) -> Self {
        self.failure = Some(failure);
        self
    }

    /// What goes wrong with it is told of this measure, and of which of its aggregations.
    #[must_use]
    pub(crate) fn told_as(mut self, measure: &Arc<str>, what: Option<&Arc<str>>) -> Self {
        self.whose = Some((Arc::clone(measure), what.cloned()));
        self
    }

    /// Does something with its carriers; an error or a panic is told as one of its measure.
    #[inline]
    pub(super) fn telling<T>(&self, body: impl FnOnce() -> Result<T, CubeError>) -> Result<T, CubeError> {
        caught(body).unwrap_or_else(|message| Err(CubeError::aggregation_panicked(message))).map_err(
            |error| match &self.whose {
                Some((measure, what)) => error.of_measure(measure, what.as_ref()),
                None => error,
            },
        )
    }

    /// Carriers of no group yet.
    pub(super) fn carriers(&self) -> Result<Box<dyn Carriers>, CubeError> {
        let data_type = self.input.as_ref().map_or(&DataType::Null, |(_, data_type)| data_type);
        match &self.failure {
            None => self.telling(|| carriers_of(&self.function, data_type)),
            Some(failure) => failure.guard(|| carriers_of(&self.function, data_type)),
        }
    }

    /// The column that it reads.
    pub(super) fn need(&self) -> ColumnNeed {
        let is_text = self.input.as_ref().is_some_and(|(_, data_type)| is_text(plain(data_type)));
        let is_exact = self.input.as_ref().is_some_and(|(_, data_type)| is_state(data_type));
        let is_lost = self.failure.as_ref().is_some_and(|failure| failure.error().is_some());
        let need = match self.function {
            // Its column may be of a type that cannot be aggregated.
            _ if is_lost => Need::Mask,
            Function::Count => Need::Mask,
            Function::Min | Function::Max if is_text => Need::Text,
            Function::CountDistinct if is_text => Need::Entry,
            Function::CountDistinct | Function::Custom(_) => Need::Array,
            Function::ExactSum if is_exact => Need::Array,
            Function::Sum
            | Function::ExactSum
            | Function::Min
            | Function::Max
            | Function::Avg
            | Function::Product => Need::Number,
        };
        ColumnNeed {
            input: self.input.as_ref().map(|(input, _)| *input),
            data_type: self.input.as_ref().map_or(DataType::Null, |(_, data_type)| data_type.clone()),
            filter: self.filter,
            need,
        }
    }
}

//! A filter over Arrow columns: one bit per row.
//!
//! A condition on dictionary-encoded text is looked at once per entry of the dictionary. Numbers are compared as what they are
//! ([`Threshold`]), so that values which no coordinate has, such as unsigned ones above `i64::MAX`, are less and greater than others as well;
//! floats have one zero and one NaN, as in keys. Threads: `cpu`.

use super::{Comparison, Filter, Matcher};
use crate::coordinate::{Coordinate, logical_type};
use crate::error::CubeError;
use crate::exact::{Threshold, WholeColumn, does_not_fit, with_one_zero};
use crate::literal::Number;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Scalar, StringArray, UInt32Array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::cmp;
use arrow::compute::{and, cast, not, or, take};
use arrow::datatypes::DataType;
use foldhash::HashSet;

/// Columns by name, all of one length.
pub(crate) trait ColumnSource {
    /// How many rows the columns have.
    fn rows(&self) -> usize;
    /// A column.
    fn column(&self, name: &str) -> Result<ArrayRef, CubeError>;
    /// Which rows have a value in a column that matches.
    fn matching(&self, name: &str, matcher: &Matcher) -> Result<BooleanArray, CubeError> {
        matcher.mask(&self.column(name)?)
    }
}

/// One column under whatever name it is asked for.
struct OneColumn<'a>(&'a ArrayRef);

impl ColumnSource for OneColumn<'_> {
    fn rows(&self) -> usize {
        self.0.len()
    }

    fn column(&self, _name: &str) -> Result<ArrayRef, CubeError> {
        Ok(ArrayRef::clone(self.0))
    }
}

impl Filter {
    /// Which of these values it wants, as a filter on a single column.
    pub(crate) fn mask_of(&self, values: &ArrayRef) -> Result<BooleanArray, CubeError> {
        self.mask(&OneColumn(values))
    }

    /// Which rows it wants. No bit is null.
    pub(crate) fn mask(&self, columns: &dyn ColumnSource) -> Result<BooleanArray, CubeError> {
        let constant = |value| {
            let rows = columns.rows();
            BooleanArray::new(
                if value { BooleanBuffer::new_set(rows) } else { BooleanBuffer::new_unset(rows) },
                None,
            )
        };
        let arrow = |error| CubeError::arrow("filter", &error);
        match self {
            Self::All => Ok(constant(true)),
            Self::None => Ok(constant(false)),
            Self::Column(name, matcher) => {
                columns.matching(name, matcher).map_err(|error| does_not_fit(name, error))
            }
            Self::Not(inner) => not(&inner.mask(columns)?).map_err(arrow),
            Self::And(all) => {
                let mut mask = constant(true);
                for filter in all {
                    mask = and(&mask, &filter.mask(columns)?).map_err(arrow)?;
                    if !mask.has_true() {
                        break;
                    }
                }
                Ok(mask)
            }
            Self::Or(any) => {
                let mut mask = constant(false);
                for filter in any {
                    mask = or(&mask, &filter.mask(columns)?).map_err(arrow)?;
                }
                Ok(mask)
            }
        }
    }
}

impl Matcher {
    /// Which values of a column match. No bit is null.
    pub(crate) fn mask(&self, column: &ArrayRef) -> Result<BooleanArray, CubeError> {
        let arrow = |error| CubeError::arrow("filter", &error);
        if let DataType::Dictionary(..) = column.data_type() {
            let dictionary = column.as_any_dictionary();
            let of_values = self.mask(dictionary.values())?;
            let keys = cast(dictionary.keys(), &DataType::UInt32).map_err(arrow)?;
            return take_or(&of_values, keys.as_primitive(), *self == Self::Null);
        }
        let mask = match self {
            Self::Null => return arrow::compute::is_null(column).map_err(arrow),
            Self::In(values) => is_in(column, values.iter())?,
            Self::Compare(comparison, bound) => compared(column, *comparison, bound)?,
            Self::Like(pattern) => of_texts(column, pattern.as_like().as_deref())?,
            Self::Regex(pattern) => of_texts(column, pattern.as_regex().as_deref())?,
        };
        Ok(match mask.nulls() {
            None => mask,
            Some(nulls) => BooleanArray::new(mask.values() & nulls.inner(), None),
        })
    }
}

/// The bit of each key; `missing` where there is no key.
pub(crate) fn take_or(
    bits: &BooleanArray,
    keys: &UInt32Array,
    missing: bool,
) -> Result<BooleanArray, CubeError> {
    let taken = take(bits, keys, None).map_err(|error| CubeError::arrow("filter", &error))?;
    let taken = taken.as_boolean();
    let Some(nulls) = taken.nulls() else { return Ok(taken.clone()) };
    let bits = if missing { taken.values() | &!nulls.inner() } else { taken.values() & nulls.inner() };
    Ok(BooleanArray::new(bits, None))
}

fn is_in<'a>(
    column: &ArrayRef,
    values: impl ExactSizeIterator<Item = &'a Coordinate>,
) -> Result<BooleanArray, CubeError> {
    let arrow = |error| CubeError::arrow("filter", &error);
    if let Some(column) = WholeColumn::of(column)? {
        let among = |value: &Coordinate| Threshold::of(&as_number(value), column.scale())?.whole();
        let values: HashSet<i128> = values.filter_map(among).collect();
        return Ok(match values.len() {
            1 => {
                let only = values.into_iter().next().unwrap_or_default();
                column.mask(|value| value == only)
            }
            _ => column.mask(|value| values.contains(&value)),
        });
    }
    match logical_type(column.data_type()) {
        DataType::Utf8 => {
            let texts: Vec<String> = values.map(Coordinate::to_string).collect();
            let texts: HashSet<&str> = texts.iter().map(String::as_str).collect();
            let column = cast(column, &DataType::Utf8).map_err(arrow)?;
            Ok(BooleanArray::from_unary(column.as_string::<i32>(), |value| texts.contains(value)))
        }
        logical => {
            let column = with_one_zero(&cast(column, &logical).map_err(arrow)?);
            let mut mask = BooleanArray::new(BooleanBuffer::new_unset(column.len()), None);
            for value in values {
                let Some(value) = value.typed(&logical) else { continue };
                let value = with_one_zero(&cast(&value.array(1), &logical).map_err(arrow)?);
                let same = cmp::not_distinct(&column, &Scalar::new(value)).map_err(arrow)?;
                mask = or(&mask, &same).map_err(arrow)?;
            }
            Ok(mask)
        }
    }
}

/// A number that is written as a text, as a number.
fn as_number(value: &Coordinate) -> Coordinate {
    match value {
        Coordinate::Text(text) => match Number::of(text) {
            Number::Is(number) => number,
            Number::Near(_) | Number::No => Coordinate::Null,
        },
        Coordinate::Bool(_) => value.typed(&DataType::Int64).unwrap_or(Coordinate::Null),
        other => other.clone(),
    }
}

fn compared(
    column: &ArrayRef,
    comparison: Comparison,
    bound: &Coordinate,
) -> Result<BooleanArray, CubeError> {
    let arrow = |error| CubeError::arrow("filter", &error);
    let wrong = |logical: &DataType| {
        let problem =
            format!("{bound} cannot be compared with values of type {logical}; use a value of that type");
        CubeError::InvalidFilter { at: 0, problem }
    };
    if let Some(column) = WholeColumn::of(column)? {
        let bound =
            Threshold::of(&as_number(bound), column.scale()).ok_or_else(|| wrong(&DataType::Float64))?;
        return Ok(column.mask(|value| comparison.holds(bound.compare(value))));
    }
    let logical = logical_type(column.data_type());
    let (comparison, bound) = bound.bound(comparison, &logical).ok_or_else(|| wrong(&logical))?;
    let column = with_one_zero(&cast(column, &logical).map_err(arrow)?);
    let bound = Scalar::new(with_one_zero(&cast(&bound.array(1), &logical).map_err(arrow)?));
    let compare = match comparison {
        Comparison::Less => cmp::lt,
        Comparison::AtMost => cmp::lt_eq,
        Comparison::Greater => cmp::gt,
        Comparison::AtLeast => cmp::gt_eq,
    };
    compare(&column, &bound).map_err(arrow)
}

fn of_texts(column: &ArrayRef, pattern: Option<&regex::Regex>) -> Result<BooleanArray, CubeError> {
    let Some(pattern) = pattern else {
        let problem = "a pattern is not a regular expression, or too large a one".to_owned();
        return Err(CubeError::InvalidFilter { at: 0, problem });
    };
    let texts = cast(column, &DataType::Utf8).map_err(|error| CubeError::arrow("filter", &error))?;
    let texts: &StringArray = texts.as_string();
    Ok(texts.iter().map(|text| text.map(|text| pattern.is_match(text))).collect())
}

//! The column of a measure that may have failed: texts, as soon as one of its levels has no values.
//!
//! A measure may fail at one level of a result only: sums of desks that fit, and a total over them that does not. Its values are
//! texts then, as CSV has them, beside what it said where it failed.
//!
//! What they hold counts for the query: a row of a number has 8 bytes, and one of an error a hundred or a thousand. So the text of an error is
//! there once for each piece, until the rows of the answer are gathered, which counts them.
//!
//! Rejected: a column of the values' type with no value where it failed. It would look like a slice without rows.

use crate::error::CubeError;
use crate::memory::{Reservation, bytes_of};
use arrow::array::{Array, ArrayRef, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::sync::Arc;

/// What a measure is in all rows of a level where it failed: one row that stands for them.
pub(super) fn failed_value(error: &CubeError) -> ArrayRef {
    Arc::new(StringArray::from(vec![format!("error: {error}")]))
}

/// The values of a measure in all pieces, all of one type: texts if it failed somewhere, which `held` counts; floats if levels differ.
pub(super) fn of_one_type(
    pieces: Vec<ArrayRef>,
    has_failed: bool,
    held: &mut Reservation,
) -> Result<Vec<ArrayRef>, CubeError> {
    let arrow = |error| CubeError::arrow("result", &error);
    if has_failed {
        let written = |values: ArrayRef| {
            if *values.data_type() == DataType::Utf8 {
                return Ok(values);
            }
            let texts = texts(&values).map_err(arrow)?;
            // How long they are is known when they are there; a piece is a small part of a result.
            held.try_grow(bytes_of(&texts))?;
            Ok(texts)
        };
        return pieces.into_iter().map(written).collect();
    }
    let mut types = pieces.iter().map(|values| values.data_type()).filter(|of| **of != DataType::Null);
    let Some(first) = types.next().cloned() else { return Ok(pieces) };
    let data_type = if types.all(|other| *other == first) { first } else { DataType::Float64 };
    let cast = |values: ArrayRef| match *values.data_type() == data_type {
        true => Ok(values),
        false => cast(&values, &data_type).map_err(arrow),
    };
    pieces.into_iter().map(cast).collect()
}

/// Values of any type as they are written.
fn texts(values: &ArrayRef) -> Result<ArrayRef, arrow::error::ArrowError> {
    let options = FormatOptions::new().with_display_error(false);
    let formatter = ArrayFormatter::try_new(values.as_ref(), &options)?;
    // An array of nothing but nulls keeps no list of them.
    let nulls = values.logical_nulls();
    let is_missing = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let text = |row: usize| (!is_missing(row)).then(|| formatter.value(row).try_to_string()).transpose();
    Ok(Arc::new((0..values.len()).map(text).collect::<Result<StringArray, _>>()?))
}

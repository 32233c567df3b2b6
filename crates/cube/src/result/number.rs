//! The numbers of measures as people read them.
//!
//! A float without a format is rounded by its own size alone. So a value looks the same whether it is asked for alone, with totals or beside
//! other measures, and the last digits of a computation, which depend on its order, are not seen.
//!
//! Rejected: decimals chosen by all values of a column, which would change a value when another one joins it.

use super::layout::TableLayout;
use crate::cell::{apart_from, on_terminal};
use crate::error::CubeError;
use crate::forest::{NumberFormat, rounded_digits};
use arrow::array::{Array, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};

/// Stands for a missing coordinate.
pub(super) const MISSING: &str = "(none)";

/// Stands for a measure without a value: its cell is not there.
pub(super) const NO_VALUE: &str = "";

/// From here on, floats are written with two decimals; below, with four.
const LARGE: f64 = 100.0;

/// From here on, and below the other, floats are written with an exponent.
const HUGE: f64 = 1e15;
const TINY: f64 = 1e-6;

/// Writes a float for people: two decimals from 100 on, four from 1 on, else four digits; without zeros at the end.
pub(super) fn rounded(number: f64) -> String {
    let size = number.abs();
    if !number.is_finite() {
        return number.to_string();
    }
    if size >= HUGE || (size < TINY && size > 0.0) {
        return format!("{number:.3e}");
    }
    let decimals = match size {
        LARGE.. => 2,
        1.0.. => 4,
        0.0 => 1,
        // Four digits behind the zeros.
        _ => (3.0 - size.log10().floor()) as usize,
    };
    let sign = if number < 0.0 { "-" } else { "" };
    let text = format!("{sign}{}", rounded_digits(size, decimals));
    let short = text.trim_end_matches('0');
    if short.ends_with('.') { format!("{short}0") } else { short.to_owned() }
}

/// The values of a measure as people see them; nothing where there is none.
pub(super) fn measure(
    column: &dyn Array,
    format: Option<NumberFormat>,
    layout: &TableLayout,
) -> Result<Vec<String>, CubeError> {
    let arrow = |error| CubeError::arrow("text", &error);
    let format = match (format, layout.digits) {
        (Some(format), Some(digits)) => Some(format.with_decimals(digits)),
        (format, _) => format,
    };
    match column.data_type() {
        DataType::Float64 | DataType::Float32 | DataType::Float16 => {}
        of if of.is_numeric() && format.is_some() => {}
        _ => return cells(column, NO_VALUE),
    }
    if let (true, Some(format)) = (column.data_type().is_signed_integer(), format) {
        let whole = cast(column, &DataType::Int64).map_err(arrow)?;
        let written =
            |number: Option<i64>| number.map_or_else(String::new, |number| format.write_whole(number));
        return Ok(whole.as_primitive::<Int64Type>().iter().map(written).collect());
    }
    let floats = cast(column, &DataType::Float64).map_err(arrow)?;
    let format = format.or(layout.digits.map(NumberFormat::decimals));
    let written = |number: Option<f64>| match (number, format) {
        (None, _) => NO_VALUE.to_owned(),
        (Some(number), Some(format)) => format.write(number),
        (Some(number), None) => rounded(number),
    };
    Ok(floats.as_primitive::<Float64Type>().iter().map(written).collect())
}

/// The values of a column as people see them; `missing` where there is none. A text that looks like nothing, or like `missing`, is quoted.
pub(super) fn cells(column: &dyn Array, missing: &str) -> Result<Vec<String>, CubeError> {
    let options = FormatOptions::default();
    let formatter =
        ArrayFormatter::try_new(column, &options).map_err(|error| CubeError::arrow("text", &error))?;
    let nulls = column.logical_nulls();
    let cell = |row: usize| match nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
        true => missing.to_owned(),
        false => on_terminal(&apart_from(&formatter.value(row).to_string(), &["", missing])).into_owned(),
    };
    Ok((0..column.len()).map(cell).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One cell had other last digits when it was asked for with totals than alone.
    #[test]
    fn a_float_is_rounded_by_its_own_size() {
        for (number, text) in [
            (-56_721_927.260_000_005, "-56721927.26"),
            (-56_721_927.260_000_16, "-56721927.26"),
            (86_156.773_500_000_01, "86156.77"),
            (2.833_333_333_333_333_5, "2.8333"),
            (1.0834, "1.0834"),
            (99.999_99, "100.0"),
            (5.5, "5.5"),
            (3.0, "3.0"),
            (0.0, "0.0"),
            (-0.0, "0.0"),
            (0.012_346, "0.01235"),
            (0.000_123_46, "0.0001235"),
            (0.999_99, "1.0"),
            (1.5e-7, "1.500e-7"),
            (1.234_567e18, "1.235e18"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(rounded(number), text);
        }
    }
}

//! Results with fewer digits, for programs.

use super::CubeResult;
use crate::forest::rounded_digits;
use arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch};
use arrow::datatypes::{DataType, Float64Type};
use std::sync::Arc;

impl CubeResult {
    /// Rounds the floats of all measures to so many decimals; each becomes the double nearest to the rounded number.
    #[must_use]
    pub fn rounded(mut self, digits: u8) -> Self {
        let keys = self.keys.len();
        let columns = self.batch.columns().iter().enumerate().map(|(position, column)| {
            match position >= keys && *column.data_type() == DataType::Float64 {
                true => rounded(column, digits),
                false => Arc::clone(column),
            }
        });
        // The columns have the types and lengths that they had.
        if let Ok(batch) = RecordBatch::try_new_with_options(
            self.batch.schema(),
            columns.collect(),
            &arrow::array::RecordBatchOptions::new().with_row_count(Some(self.batch.num_rows())),
        ) {
            self.batch = batch;
        }
        self
    }
}

fn rounded(column: &ArrayRef, digits: u8) -> ArrayRef {
    // By its text: a product by a power of ten has digits of its own.
    let of_one = |number: f64| match number.is_finite() {
        true => {
            let size: f64 = rounded_digits(number.abs(), digits.into()).parse().unwrap_or(number.abs());
            if size == 0.0 { 0.0 } else { size.copysign(number) }
        }
        false => number,
    };
    let numbers = column.as_primitive::<Float64Type>();
    Arc::new(numbers.iter().map(|number| number.map(of_one)).collect::<Float64Array>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_rounded_to_the_nearest_double() {
        let numbers: ArrayRef = Arc::new(Float64Array::from(vec![
            Some(1.005),
            Some(-0.001),
            None,
            Some(f64::INFINITY),
            Some(1e300),
        ]));
        let all = rounded(&numbers, 2);
        let all: Vec<String> =
            all.as_primitive::<Float64Type>().iter().map(|number| format!("{number:?}")).collect();
        assert_eq!(all, ["Some(1.01)", "Some(0.0)", "None", "Some(inf)", "Some(1e300)"]);
        let total: f64 = 0.1 + 0.2;
        let one: ArrayRef = Arc::new(Float64Array::from(vec![total]));
        assert_eq!(rounded(&one, 10).as_primitive::<Float64Type>().value(0), 0.3);
    }
}

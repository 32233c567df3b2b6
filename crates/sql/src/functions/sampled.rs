//! The number by which `TABLESAMPLE ... REPEATABLE (seed)` chooses rows: the same for the same row and seed, and otherwise as if by chance.

use super::plain::PlainFunction;
use arrow::array::{ArrayRef, AsArray, Float64Array};
use arrow::compute::kernels::arity::binary;
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, UInt64Type};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, ScalarUDF, Signature, Volatility};
use std::sync::{Arc, LazyLock};

static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::exact(vec![DataType::UInt64, DataType::Int64], Volatility::Immutable);
    PlainFunction::function("__sampled", signature, Field::new("number", DataType::Float64, true), numbers)
});

/// A number from 0 to 1, of the number of a row and a seed.
pub(crate) fn sampled(row: Expr, seed: Expr) -> Expr {
    FUNCTION.call(vec![row, seed])
}

fn numbers(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (rows, seeds) = (args[0].as_primitive::<UInt64Type>(), args[1].as_primitive::<Int64Type>());
    let numbers: Float64Array =
        binary::<_, _, _, Float64Type>(rows, seeds, |row, seed| number(row, seed as u64))?;
    Ok(Arc::new(numbers))
}

/// The finalizer of SplitMix64, over both.
fn number(row: u64, seed: u64) -> f64 {
    let mixed = |mut value: u64| {
        value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        value ^ (value >> 31)
    };
    let seed = mixed(seed.wrapping_add(0x9e37_79b9_7f4a_7c15));
    let bits = mixed(row.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed);
    (bits >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_numbers_is_below_a_tenth() {
        for seed in [0, 1, 42, u64::MAX] {
            let below = (0..100_000).filter(|row| number(*row, seed) < 0.1).count();
            assert!((9_000..11_000).contains(&below), "seed {seed}: {below}");
        }
    }
}

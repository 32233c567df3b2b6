//! Sums of floating-point numbers whose bits depend neither on timing nor on the number of workers.
//!
//! Floating-point addition is not associative, so the shape of the sum must be fixed: blocks of [`BLOCK`] indices, each summed
//! in order, and the blocks' sums added in order. Only who sums which block is left to the pool.

use super::{Shaped, Source};

/// How many indices are summed in one go.
const BLOCK: usize = 1024;

impl<S: Source<Item = f64>> Shaped<'_, S> {
    /// The sum of the items: the same bits for the same items, for any timing and any number of workers.
    pub fn sum_f64(self) -> f64 {
        let Shaped { pool, source, min_leaf, adaptive } = self;
        let length = source.len();
        let blocks = length.div_ceil(BLOCK);
        let block_sum = |block: usize| {
            let first = block * BLOCK;
            source.fold_range(first..(first + BLOCK).min(length), 0.0, |sum: f64, item| sum + item)
        };
        if !adaptive && length / 2 < min_leaf {
            return (0..blocks).map(block_sum).fold(0.0, |sum, block| sum + block);
        }
        let blocks_range = pool.range(0..blocks).min_leaf(min_leaf.div_ceil(BLOCK));
        let sums = Shaped { adaptive, ..blocks_range }.map(block_sum).collect();
        sums.iter().fold(0.0, |sum, block| sum + block)
    }
}

impl<S: Source<Item = f32>> Shaped<'_, S> {
    /// The sum of the items in double precision, fixed like [`Shaped::sum_f64`].
    pub fn sum_f32(self) -> f64 {
        self.map(f64::from).sum_f64()
    }
}

//! Sums: integers by the tree of the range, floating-point numbers in fixed blocks.
//!
//! Integers wrap around, like `wrapping_add`: modulo a power of two the order of additions does not matter, so a sum that fits is
//! right although some part of it did not. Rejected: overflow checks as in `a + b`. Whether they strike depends on where the
//! range was cut, and so on the number of workers.
//!
//! Floating-point addition is not associative, so the shape of such a sum must be fixed for its bits to depend neither on
//! timing nor on the number of workers: blocks of [`BLOCK`] indices, each summed in order, and the blocks' sums added in
//! order. Only who sums which block is left to the pool.

use super::{Shaped, Source};

/// How many indices are summed in one go.
const BLOCK: usize = 1024;

/// Numbers that [`Shaped::sum`] adds up: the same bits for the same items, for any timing and any number of workers.
///
/// Integers wrap around at the bounds of their type, like `wrapping_add`. References to numbers are summed like the numbers.
pub trait Summed: Sized {
    /// What the sum is.
    type Total;

    /// The sum of all items.
    fn sum_of<S: Source<Item = Self>>(items: Shaped<'_, S>) -> Self::Total;
}

impl<'d, T: Summed + Copy + Sync> Summed for &'d T {
    type Total = T::Total;

    #[inline]
    fn sum_of<S: Source<Item = &'d T>>(items: Shaped<'_, S>) -> T::Total {
        items.map(|number| *number).sum()
    }
}

macro_rules! exact {
    ($($integer:ty),*) => {$(
        impl Summed for $integer {
            type Total = Self;

            #[inline]
            fn sum_of<S: Source<Item = Self>>(items: Shaped<'_, S>) -> Self {
                items.reduce(|| 0, |a, b| a.wrapping_add(b))
            }
        }
    )*};
}

exact!(u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);

impl Summed for f64 {
    type Total = f64;

    fn sum_of<S: Source<Item = f64>>(items: Shaped<'_, S>) -> f64 {
        let Shaped { pool, source, min_leaf, adaptive } = items;
        let length = source.len();
        let blocks = length.div_ceil(BLOCK);
        let block_sum = |block: usize| {
            let first = block * BLOCK;
            source.fold_range(first..(first + BLOCK).min(length), 0.0, |sum: f64, item| sum + item)
        };
        if !adaptive && length / 2 < min_leaf {
            let _stage = pool.count_as_worker();
            return (0..blocks).map(block_sum).fold(0.0, |sum, block| sum + block);
        }
        let blocks_range = pool.range(0..blocks).min_leaf(min_leaf.div_ceil(BLOCK));
        let sums = Shaped { adaptive, ..blocks_range }.map(block_sum).collect();
        sums.iter().fold(0.0, |sum, block| sum + block)
    }
}

impl Summed for f32 {
    type Total = f32;

    /// Added up in double precision, rounded once.
    fn sum_of<S: Source<Item = f32>>(items: Shaped<'_, S>) -> f32 {
        items.map(f64::from).sum() as f32
    }
}

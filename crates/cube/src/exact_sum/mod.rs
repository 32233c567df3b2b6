//! Sums of doubles without rounding: the same bits in any order, however they are shared among threads, partitions and queries.
//!
//! ```text
//!   doubles ──► high + low + far, for each group: their exact sum ──► merged, rolled up, kept ──► rounded once, when it is told
//! ```
//!
//! An addition of doubles rounds, so the last bits of a plain sum tell in which order its numbers came. Here nothing is lost on the way. The
//! sum of a group is two doubles, `high` and `low`: what an addition to `high` rounds off is found by [`two_sum`] and goes to `low`; what
//! that loses goes to a [`Superaccumulator`], which has room for every bit of every double. Only groups whose values differ by a factor of more
//! than about 2^50 need one. How the sum is split between the three depends on the order; what they are together does not, and so does
//! not the double that is nearest to it.
//!
//! Leaves of plans are such sums and not yet doubles, as those of quantiles are sketches. So a total is the same whether it was read from rows or
//! rolled up from finer slices, by this query or by one before it.
//!
//! Rejected: to fix the order of additions. It would have to be that of the rows in the table through every roll-up, so neither a cached leaf
//! nor a table that filters by itself could be used, and a file could only be decoded by one thread. Binned sums (Demmel and Nguyen) are as independent,
//! but round off what is far below the largest value.

mod states;
mod superaccumulator;

#[cfg(test)]
mod tests;

pub(crate) use states::{is_state, rounded_of};

use foldhash::HashMap;
use superaccumulator::Superaccumulator;

/// From this absolute value on doubles go to the superaccumulator: so `high` cannot overflow before 2^63 values.
const LARGE: f64 = f64::from_bits((1_023 + 960) << 52);

/// The exact sum of each group.
#[derive(Debug, Default)]
pub(crate) struct ExactSums {
    near: Vec<Near>,
    /// What two doubles have no room for, of the few groups that have such.
    far: HashMap<u32, Box<Superaccumulator>>,
}

/// The part of a sum that two doubles have room for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Near {
    high: f64,
    low: f64,
}

/// The sum of two doubles, rounded, and what the rounding lost. Exact unless it overflows (Knuth, The Art of Computer Programming 2, 4.2.2).
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

impl ExactSums {
    /// There are now so many groups; the sum of new ones is 0.
    pub(crate) fn grow(&mut self, groups: usize) {
        self.near.resize(groups, Near::default());
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.near.len()
    }

    /// Adds a value to a group.
    #[inline(always)]
    pub(crate) fn add(&mut self, group: usize, value: f64) {
        let near = &mut self.near[group];
        let (high, lost) = two_sum(near.high, value);
        let (low, far) = two_sum(near.low, lost);
        // False for NaN too.
        if value.abs() < LARGE {
            *near = Near { high, low };
            if far != 0.0 {
                self.add_far(group, far);
            }
        } else {
            self.add_far(group, value);
        }
    }

    #[cold]
    #[inline(never)]
    fn add_far(&mut self, group: usize, value: f64) {
        self.far.entry(group as u32).or_default().add(value);
    }

    /// Adds the sum of a group of another.
    pub(crate) fn merge(&mut self, group: usize, from: &Self, of: usize) {
        let Near { high, low } = from.near[of];
        self.add(group, high);
        self.add(group, low);
        if !from.far.is_empty()
            && let Some(far) = from.far.get(&(of as u32))
        {
            self.far.entry(group as u32).or_default().merge(far);
        }
    }

    /// The double that is nearest to the sum of a group.
    #[inline]
    pub(crate) fn rounded(&self, group: usize) -> f64 {
        let Near { high, low } = self.near[group];
        match self.far.get(&(group as u32)) {
            // One addition rounds once, to the nearest.
            None => high + low,
            Some(far) => {
                let mut all = far.clone();
                all.add(high);
                all.add(low);
                all.rounded()
            }
        }
    }

    /// What they have allocated, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let each_far = size_of::<(u32, Box<Superaccumulator>)>() + size_of::<Superaccumulator>();
        self.near.capacity() * size_of::<Near>() + self.far.len() * each_far
    }
}

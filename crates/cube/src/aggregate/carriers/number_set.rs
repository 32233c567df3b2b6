//! A set of small numbers: a hash table while it has few of them, a bit for each number when it has many.
//!
//! Numbers are given from 0 without gaps. When a set has one in some dozens of all, a bit each takes less room than a table of those that it
//! has, and an insertion is one load and one store, in a place that mostly is in the cache.

use foldhash::fast::FixedState;
use hashbrown::HashSet;

/// A member of a table costs so many bytes: its number and a byte of the table, at three quarters full.
const MEMBER_COST: usize = 7;

/// A table of this many members is never turned into bits.
const FEWEST: usize = 32;

/// Numbers, each once.
#[derive(Debug)]
pub(super) enum NumberSet {
    Table(HashSet<u32, FixedState>),
    /// The bits, and how many are set.
    Bits(Vec<u64>, usize),
}

impl Default for NumberSet {
    fn default() -> Self {
        Self::Table(HashSet::default())
    }
}

impl NumberSet {
    /// Returns the count of its numbers.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Table(table) => table.len(),
            Self::Bits(_, count) => *count,
        }
    }

    /// Adds a number below `end`.
    #[inline]
    pub(super) fn insert(&mut self, number: u32, end: usize) {
        match self {
            Self::Bits(bits, count) => {
                let word = number as usize / 64;
                if word >= bits.len() {
                    if end.div_ceil(8) > 2 * *count * MEMBER_COST {
                        return self.become_table(number);
                    }
                    bits.resize(end.div_ceil(64).max(word + 1), 0);
                }
                let bit = 1 << (number % 64);
                *count += usize::from(bits[word] & bit == 0);
                bits[word] |= bit;
            }
            Self::Table(table) => {
                table.insert(number);
                if table.len() > FEWEST && table.len() * MEMBER_COST > end.div_ceil(8) {
                    self.become_bits(end);
                }
            }
        }
    }

    #[cold]
    fn become_bits(&mut self, end: usize) {
        let mut bits = Self::Bits(vec![0; end.div_ceil(64)], 0);
        self.for_each(|number| bits.insert(number, end));
        *self = bits;
    }

    /// Numbers became so many that those that it has are few again.
    #[cold]
    fn become_table(&mut self, another: u32) {
        let mut table = HashSet::default();
        self.for_each(|number| _ = table.insert(number));
        table.insert(another);
        *self = Self::Table(table);
    }

    /// Calls `body` with each number, in any order.
    pub(super) fn for_each(&self, mut body: impl FnMut(u32)) {
        match self {
            Self::Table(table) => table.iter().for_each(|number| body(*number)),
            Self::Bits(bits, _) => {
                for (word, bits) in (0_u32..).zip(bits) {
                    let mut left = *bits;
                    while left != 0 {
                        body(word * 64 + left.trailing_zeros());
                        left &= left - 1;
                    }
                }
            }
        }
    }

    /// Returns the bytes that its numbers hold.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Table(table) => table.len() * MEMBER_COST,
            Self::Bits(bits, _) => bits.len() * 8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_numbers_are_each_there_once() {
        for (count, step) in [(20_u32, 1_u32), (20, 5_000), (3_000, 1), (3_000, 7)] {
            let mut set = NumberSet::default();
            let end = (count * step) as usize;
            for turn in [0, 1] {
                (0..count)
                    .for_each(|number| set.insert(number * step, if turn == 0 { end / 2 + 1 } else { end }));
            }
            let mut found = Vec::new();
            set.for_each(|number| found.push(number));
            found.sort_unstable();
            assert_eq!(found, (0..count).map(|number| number * step).collect::<Vec<_>>());
            assert_eq!(set.len(), count as usize);
            assert_eq!(matches!(set, NumberSet::Bits(..)), count == 3_000, "{count} of {end}");
            assert!(set.bytes() > 0);
        }
    }

    #[test]
    fn a_set_stays_small_when_numbers_become_many() {
        let mut set = NumberSet::default();
        (0..1_000).for_each(|number| set.insert(number, 1_000));
        assert!(matches!(set, NumberSet::Bits(..)));
        set.insert(50_000_000, 50_000_001);
        assert!(matches!(set, NumberSet::Table(_)));
        assert_eq!((set.len(), set.bytes()), (1_001, 1_001 * MEMBER_COST));
    }
}

//! `Window`: which of a few slots beside each other are in a set, a bit for each.

use roaring::RoaringBitmap;

/// Bits of a word.
const WORD: u32 = u64::BITS;

/// Some slots beside each other, each of which is in or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    from: u32,
    words: Vec<u64>,
}

impl Window {
    /// `width` slots from `from` on, none of them in; the width is rounded up to whole words.
    pub(super) fn empty(from: u32, width: u32) -> Self {
        Self { from, words: vec![0; width.div_ceil(WORD).max(1) as usize] }
    }

    /// The last slot.
    fn last(&self) -> u32 {
        self.from.saturating_add(self.words.len() as u32 * WORD - 1)
    }

    /// The slots of `set`, which has most of them beside each other, are in, too.
    pub(super) fn add_runs(&mut self, set: &RoaringBitmap) {
        let last = self.last();
        let mut runs = set.range(self.from..=last);
        while let Some(run) = runs.next_range().filter(|run| *run.start() <= last) {
            let (first, end) = (run.start() - self.from, last.min(*run.end()) - self.from);
            for (number, word) in self.words.iter_mut().enumerate().skip((first / WORD) as usize) {
                let begin = number as u32 * WORD;
                if begin > end {
                    break;
                }
                let above = u64::MAX << first.saturating_sub(begin);
                let below = u64::MAX >> (WORD - 1 - (end - begin).min(WORD - 1));
                *word |= above & below;
            }
        }
    }

    /// The slots of `set` are in, too.
    pub(super) fn add_set(&mut self, set: &RoaringBitmap) {
        for slot in set.range(self.from..=self.last()) {
            let place = slot - self.from;
            self.words[(place / WORD) as usize] |= 1 << (place % WORD);
        }
    }

    /// The slots of another window of the same slots are in, too.
    pub(super) fn add(&mut self, other: &Self) {
        self.change(other, |word, other| word | other);
    }

    /// Only those stay in that are in the other window, too.
    pub(super) fn keep(&mut self, other: &Self) {
        self.change(other, |word, other| word & other);
    }

    /// Those that are in the other window are out.
    pub(super) fn take_away(&mut self, other: &Self) {
        self.change(other, |word, other| word & !other);
    }

    fn change(&mut self, other: &Self, change: impl Fn(u64, u64) -> u64) {
        debug_assert_eq!((self.from, self.words.len()), (other.from, other.words.len()));
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word = change(*word, *other);
        }
    }

    /// The slots that are in, in their order.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        let from = self.from;
        self.words.iter().enumerate().flat_map(move |(number, word)| {
            let (mut left, first) = (*word, from + number as u32 * WORD);
            std::iter::from_fn(move || {
                let place = left.trailing_zeros();
                left &= left.wrapping_sub(1);
                (place < WORD).then_some(first + place)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn a_window_is_a_part_of_a_set(
            left in prop::collection::btree_set(0_u32..600, 0..200),
            right in prop::collection::btree_set(0_u32..600, 0..200),
            from in 0_u32..500,
            words in 1_u32..4,
        ) {
            let window = |set: &BTreeSet<u32>| {
                let mut window = Window::empty(from, words * WORD);
                window.add_set(&set.iter().copied().collect());
                window
            };
            let there = |set: &BTreeSet<u32>| set.range(from..from + words * WORD).copied().collect::<Vec<_>>();
            let slots = |window: &Window| window.slots().collect::<Vec<_>>();
            prop_assert_eq!(slots(&window(&left)), there(&left));
            // Most of the slots: all but a few.
            let most: BTreeSet<u32> = (0..700).filter(|slot| !left.contains(slot)).collect();
            let mut runs = Window::empty(from, words * WORD);
            runs.add_runs(&most.iter().copied().collect());
            prop_assert_eq!(slots(&runs), there(&most));
            let (mut any, mut both, mut only) = (window(&left), window(&left), window(&left));
            any.add(&window(&right));
            both.keep(&window(&right));
            only.take_away(&window(&right));
            prop_assert_eq!(slots(&any), there(&(&left | &right)));
            prop_assert_eq!(slots(&both), there(&(&left & &right)));
            prop_assert_eq!(slots(&only), there(&(&left - &right)));
        }
    }
}

//! A row of items on their way to a large table: one comes in at the end, and the one that has waited longest goes on.
//!
//! ```text
//!   item ──► its place is asked for ──► half way: what the key there holds ──► its group
//! ```
//!
//! Why they wait is said in [`ahead`](super::ahead). A row and not a heap that goes on as a whole: with every item that comes one is done
//! with, so an allocator gets back a word for every word that it gives. The system's keeps seven at hand for each thread; thirty words that came
//! and went together were locks and atomic operations. For the same key the order of items stays.

use super::Ahead;

/// How many wait: as many as requests to memory can be under way, and some more.
const MOST: usize = 32;

/// Items with the hashes of their keys, in the order in which they came.
pub(super) struct Passage<T> {
    waiting: Vec<(u64, T)>,
    /// Who has waited longest, once all places are taken.
    oldest: usize,
}

impl<T> Passage<T> {
    /// False for items that had better go straight to their place.
    pub(super) const IS_WORTHWHILE: bool = Ahead::<T>::IS_WORTHWHILE;

    pub(super) fn new() -> Self {
        Self { waiting: Vec::new(), oldest: 0 }
    }

    /// An item comes in; if the row is full, another goes on.
    #[inline(always)]
    pub(super) fn pass(&mut self, hash: u64, item: T) -> Option<(u64, T)> {
        match self.waiting.get_mut(self.oldest) {
            Some(oldest) => {
                self.oldest = (self.oldest + 1) % MOST;
                Some(std::mem::replace(oldest, (hash, item)))
            }
            None => {
                self.begin(hash, item);
                None
            }
        }
    }

    /// There are places left.
    #[cold]
    fn begin(&mut self, hash: u64, item: T) {
        if self.waiting.capacity() == 0 {
            self.waiting.reserve_exact(MOST);
        }
        self.waiting.push((hash, item));
        // Past the end until the last place is taken.
        self.oldest = self.waiting.len() % MOST;
    }

    /// The hash of an item that has waited for half of its time.
    #[inline(always)]
    pub(super) fn half_way(&self) -> Option<u64> {
        self.waiting.get((self.oldest + MOST / 2) % MOST).map(|waiting| waiting.0)
    }

    /// Lets all of them go on, in their order.
    pub(super) fn clear(&mut self, mut each: impl FnMut(u64, T)) {
        if self.waiting.len() == MOST {
            self.waiting.rotate_left(self.oldest);
        }
        self.oldest = 0;
        for (hash, item) in self.waiting.drain(..) {
            each(hash, item);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_go_on_in_the_order_in_which_they_came() {
        for count in [0, 1, MOST - 1, MOST, MOST + 1, 2 * MOST, 5 * MOST + 7] {
            let mut passage = Passage::new();
            // Twice: one that was emptied is as good as new.
            for _ in 0..2 {
                let mut gone = Vec::new();
                for number in 0..count {
                    gone.extend(passage.pass(number as u64, number));
                    assert_eq!(gone.len(), (number + 1).saturating_sub(MOST));
                }
                passage.clear(|hash, number| gone.push((hash, number)));
                assert_eq!(gone, (0..count).map(|number| (number as u64, number)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn half_way_there_are_as_many_behind_as_before() {
        let mut passage = Passage::new();
        for number in 0..5 * MOST as u64 {
            passage.pass(number, ());
            if number + 1 >= MOST as u64 {
                assert_eq!(passage.half_way(), Some(number + 1 - MOST as u64 / 2));
            }
        }
    }
}

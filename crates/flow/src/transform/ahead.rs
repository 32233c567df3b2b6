//! Items on their way to a large table: a few wait until their places in the table have come from memory.
//!
//! A table that has outgrown the cache costs a miss per item, and the processor waits for it, one after the other, because the next probe comes
//! too many instructions later. So each item leaves its hash here and asks for its place ([`Groups::expect`](super::Groups::expect)); when a
//! few have come, all of them go to places that are at hand. So does a join; an aggregation has a [`Passage`](super::passage::Passage) for the
//! same. Measured: half a million counts by number, 34 ns an item before and 20 after; words of a zipfian text, 182 and 111.
//!
//! Only for keys that are cheap to make or to find twice, once for the hash and once at the place (they own nothing, or are a part of the item),
//! and for items that are cheap to move twice ([`Ahead::IS_WORTHWHILE`]). So a key function is asked twice for an item. To keep the key
//! beside the hash would make what waits larger, for the sake of functions that are mostly the load of a field. Small tables are visited at
//! once: there a detour of two nanoseconds is a loss. Rejected: looking every item up twice, the first time for the cache only (twice the
//! instructions, and no faster than once); a table with keys in one array with their states (a third faster alone, but with requests ahead no
//! faster than `hashbrown`, which packs more tightly). Huge pages made no difference.

/// How many wait at most. More gain nothing, fewer leave requests unanswered.
const MOST: usize = 32;

/// The largest item that is worth the detour, in bytes.
const LARGEST: usize = 64;

/// Items with the hashes of their keys.
pub(crate) struct Ahead<T> {
    waiting: Vec<(u64, T)>,
}

impl<T> Ahead<T> {
    /// False for items that had better go straight to their place.
    pub(crate) const IS_WORTHWHILE: bool = size_of::<T>() <= LARGEST;

    pub(crate) fn new() -> Self {
        Self { waiting: Vec::new() }
    }

    /// True when enough wait: let all of them go on.
    #[inline(always)]
    pub(crate) fn wait(&mut self, hash: u64, item: T) -> bool {
        if self.waiting.capacity() == 0 {
            self.waiting.reserve_exact(MOST);
        }
        self.waiting.push((hash, item));
        self.waiting.len() >= MOST
    }

    /// True when nobody waits.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// From now on [`Ahead::next`] gives the first of those that wait, until there are none; no other may come meanwhile.
    #[inline(always)]
    pub(crate) fn turn_round(&mut self) {
        self.waiting.reverse();
    }

    /// The next one, after [`Ahead::turn_round`].
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<(u64, T)> {
        self.waiting.pop()
    }
}

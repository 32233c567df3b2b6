//! Items that are added to their groups: at once where these are at hand, on their way through a [`Passage`] where they are not.
//!
//! ```text
//!   item ──► few groups
//!       │ ─► many, in a table that is in the cache
//!       └──► passage ──► many, in a table that is not
//! ```
//!
//! For the same key the order of items stays: from the time on that some wait, all do.
//!
//! Rejected: keeping the first groups as the few when there are many, for what comes often comes early (two thousand words are two thirds of a
//! text). To ask there first is a branch that no processor foresees, at the end of three loads that wait for each other: 25 ns a word,
//! more than what it saved.

use super::keying::Keying;
use super::passage::Passage;
use super::{Drained, Growing};
use crate::aggregate::Fold;

/// The items of type `T` that came so far, by key.
pub(super) struct Gathering<T, K: Keying<T>, F: Fold<K::Value>> {
    keying: K,
    fold: F,
    groups: Growing<K::Key, F::Accumulator>,
    passage: Passage<T>,
    /// What accumulators have grown by since there were none.
    grown: usize,
}

impl<T, K: Keying<T>, F: Fold<K::Value>> Gathering<T, K, F> {
    pub(super) fn new(keying: K, fold: F, seed: u64) -> Self {
        Self { keying, fold, groups: Growing::new(seed), passage: Passage::new(), grown: 0 }
    }

    pub(super) fn fold(&self) -> &F {
        &self.fold
    }

    /// How many groups there are, without those that are on their way.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns what the groups take, in bytes, about.
    pub(super) fn bytes(&self) -> usize {
        self.groups.bytes() + self.grown
    }

    /// True while there are few groups, from the first on.
    #[inline(always)]
    pub(super) fn is_few(&self) -> bool {
        self.groups.is_few()
    }

    /// A group of this item alone.
    #[inline(always)]
    pub(super) fn alone(&self, item: T) -> (K::Key, F::Accumulator) {
        self.keying.alone(&self.fold, item)
    }

    /// Adds an item at once; only where none waits, so while there are few groups. True when a new one was made of it.
    #[inline(always)]
    pub(super) fn add_now(&mut self, item: T) -> bool {
        self.keying.fold(&mut self.groups, &self.fold, None, item, &mut self.grown)
    }

    /// Adds an item; true when a new group was made of it or of another that waited.
    #[inline(always)]
    pub(super) fn add(&mut self, item: T) -> bool {
        if !Passage::<T>::IS_WORTHWHILE || !K::HASHES_FREELY || !self.groups.many().is_large() {
            return self.add_now(item);
        }
        let groups = self.groups.many();
        let hash = self.keying.hash(groups.hasher(), &item);
        groups.expect(hash);
        let Some((hash, item)) = self.passage.pass(hash, item) else { return false };
        groups.expect_contents(self.passage.half_way());
        self.keying.fold(groups, &self.fold, Some(hash), item, &mut self.grown)
    }

    /// Takes all groups, with all that came before, in no particular order.
    pub(super) fn drain(&mut self) -> Drained<K::Key, F::Accumulator> {
        let Self { keying, fold, groups, passage, grown } = self;
        passage.clear(|hash, item| {
            keying.fold(groups.many(), fold, Some(hash), item, grown);
        });
        *grown = 0;
        groups.drain()
    }
}

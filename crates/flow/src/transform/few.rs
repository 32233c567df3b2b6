//! A table of a few groups, for the time before there are many.
//!
//! ```text
//!   hash ──► places: 8,192 numbers ──► groups: one after the other, in the order in which they came
//! ```
//!
//! The place of a hash says at which number its group is; if another one is there, the next place is asked. At most a quarter of the places
//! is taken, so that is rare, and it is the unforeseen branch that costs. A search is a load from an array whose length is known, one
//! comparison that finds a group or the absence of any, and the comparison of the keys: a dozen instructions less than `hashbrown`'s.
//!
//! Measured: counts of 1,024 keys, 2.8 ns an item with `hashbrown`, 2.1 with this. Rejected: the same places before a `hashbrown` table, as
//! hints that may be wrong (2.5, for what is looked at is no longer together); keys and states in the places themselves (2.3, and in
//! safe code each needs a word to say that it is taken); more groups (they are not in the first cache, and there `hashbrown` is as good).

use super::groups::CACHED_BYTES;
use std::hash::Hash;

/// How many places there are: a power of two.
const PLACES: usize = 1 << 13;

/// Groups by key, each with a state: no more than [`Few::MOST`].
pub(super) struct Few<K, S> {
    /// Numbers of groups; a number that no group has stands for a free place.
    places: [u16; PLACES],
    groups: Vec<(K, S)>,
}

impl<K: Hash + Eq, S> Few<K, S> {
    /// How many groups there may be: a quarter of the places, and as many as are small together.
    pub(super) const MOST: usize = {
        let size = size_of::<(K, S)>();
        let small = match CACHED_BYTES.checked_div(size) {
            Some(small) => small,
            None => PLACES,
        };
        if small == 0 {
            1
        } else if small < PLACES / 4 {
            small
        } else {
            PLACES / 4
        }
    };

    pub(super) fn new() -> Box<Self> {
        Box::new(Self { places: [u16::MAX; PLACES], groups: Vec::new() })
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// Returns its bytes.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.groups.capacity() * size_of::<(K, S)>()
    }

    /// True when no group may be added.
    pub(super) fn is_full(&self) -> bool {
        self.groups.len() >= Self::MOST
    }

    /// At which number a key with this hash is, or else in which place its number belongs.
    #[inline(always)]
    pub(super) fn find(&self, hash: u64, is_same: impl Fn(&K) -> bool) -> Result<usize, usize> {
        let mut place = hash as usize % PLACES;
        loop {
            let number = usize::from(self.places[place]);
            let Some(group) = self.groups.get(number) else { return Err(place) };
            if is_same(&group.0) {
                return Ok(number);
            }
            place = (place + 1) % PLACES;
        }
    }

    /// The group with a number that [`Few::find`] found.
    #[inline(always)]
    pub(super) fn group(&mut self, number: usize) -> &mut (K, S) {
        &mut self.groups[number]
    }

    /// A new group, with its number in a place that [`Few::find`] found free.
    pub(super) fn add(&mut self, place: usize, group: (K, S)) -> &mut (K, S) {
        debug_assert!(!self.is_full(), "some places are always free");
        self.places[place] = self.groups.len() as u16;
        self.groups.push_mut(group)
    }

    pub(super) fn into_groups(self) -> Vec<(K, S)> {
        self.groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_whose_hashes_are_the_same_are_told_apart_by_their_keys() {
        // The last place of all: the search goes on at the first.
        for hash in [0, 7, PLACES as u64 - 1, u64::MAX] {
            let mut few = Few::<u64, u64>::new();
            for key in 0..Few::<u64, u64>::MOST as u64 {
                assert!(!few.is_full());
                let place = few.find(hash, |other| *other == key).expect_err("not yet there");
                assert_eq!(*few.add(place, (key, key * 3)), (key, key * 3));
            }
            assert!(few.is_full());
            for key in 0..few.len() as u64 {
                let number = few.find(hash, |other| *other == key).expect("added above");
                assert_eq!(*few.group(number), (key, key * 3));
            }
            assert!(few.find(hash, |other| *other == u64::MAX).is_err());
        }
    }

    #[test]
    fn large_states_are_few_earlier() {
        const { assert!(Few::<u64, u64>::MOST <= PLACES / 4) };
        assert!(Few::<u64, [u64; 7]>::MOST < Few::<u64, u64>::MOST.max(2));
        assert_eq!(Few::<u64, [u8; CACHED_BYTES]>::MOST, 1);
        assert_eq!(Few::<(), ()>::MOST, PLACES / 4);
    }
}

//! Groups that are [few](Few) at first and may become many.
//!
//! Few groups are by far the most frequent case of an aggregation, and the one in which a table's own instructions are what an item costs. When
//! they are too many for that they move to a table for many, once, and stay there until all of them are taken.

use super::few::Few;
use super::{Drained, Groups, Table, owned_bytes};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

/// Groups by key, each with a state.
pub(super) struct Growing<K, S> {
    /// All groups, while they are few; made by the first, for a job may have thousands of these and no items.
    few: Option<Box<Few<K, S>>>,
    /// What the keys of the few own.
    owned: usize,
    /// All groups otherwise.
    many: Groups<K, S>,
}

impl<K: Hash + Eq + 'static, S> Growing<K, S> {
    /// An empty table; `seed` differs from that of the tables which are emptied into it.
    pub(crate) fn new(seed: u64) -> Self {
        Self { few: None, owned: 0, many: Groups::new(seed) }
    }

    pub(crate) fn len(&self) -> usize {
        self.few.as_ref().map_or(self.many.len(), |few| few.len())
    }

    /// Returns what the groups take with their keys, in bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.few.as_ref().map_or(0, |few| few.bytes()) + self.owned + self.many.bytes()
    }

    /// True while there are few groups, from the first on.
    #[inline(always)]
    pub(crate) fn is_few(&self) -> bool {
        self.few.is_some()
    }

    /// The table for many groups.
    #[inline(always)]
    pub(crate) fn many(&mut self) -> &mut Groups<K, S> {
        &mut self.many
    }

    /// Takes all groups, in no particular order; the table is empty then.
    pub(crate) fn drain(&mut self) -> Drained<K, S> {
        self.pour();
        self.many.drain()
    }

    #[inline(always)]
    fn find(&self, hash: u64, is_same: impl Fn(&K) -> bool) -> Result<usize, usize> {
        match &self.few {
            Some(few) => few.find(hash, is_same),
            None => Err(0),
        }
    }

    #[inline(always)]
    fn found(&mut self, number: usize) -> &mut (K, S) {
        match &mut self.few {
            Some(few) => few.group(number),
            None => unreachable!("only few groups are found by number"),
        }
    }

    /// A group for a key that none of the few has.
    #[cold]
    #[inline(never)]
    fn add(&mut self, place: usize, hash: u64, key: K, state: S) -> &mut (K, S) {
        if self.few.as_ref().is_some_and(|few| few.is_full()) {
            self.pour();
        }
        match &mut self.few {
            Some(few) => {
                self.owned += owned_bytes(&key);
                few.add(place, (key, state))
            }
            None => self.many.group_hashed(key, Some(hash), || state),
        }
    }

    /// The first group of all.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, hash: u64, key: K, state: S) -> &mut (K, S) {
        self.owned = owned_bytes(&key);
        let few = self.few.insert(Few::new());
        let place = few.find(hash, |_| false).unwrap_or_else(|place| place);
        few.add(place, (key, state))
    }

    /// If there are few groups, they move to the table for many.
    #[cold]
    fn pour(&mut self) {
        let Some(few) = self.few.take() else { return };
        self.owned = 0;
        self.many.reserve(few.len());
        for (key, state) in few.into_groups() {
            self.many.put(key, None, state, |state| state, |_, _| {});
        }
    }
}

impl<K: Hash + Eq + 'static, S> Table<K, S> for Growing<K, S> {
    #[inline(always)]
    fn group_hashed(&mut self, key: K, hash: Option<u64>, new: impl FnOnce() -> S) -> &mut (K, S) {
        let hash = hash.unwrap_or_else(|| self.many.hasher().hash_one(&key));
        match self.find(hash, |other| *other == key) {
            Ok(number) => self.found(number),
            Err(place) if self.is_few() => self.add(place, hash, key, new()),
            Err(_) if self.many.len() == 0 => self.begin(hash, key, new()),
            Err(_) => self.many.group_hashed(key, Some(hash), new),
        }
    }

    #[inline(always)]
    fn group_of<Q>(&mut self, part: &Q, hash: Option<u64>, new: impl FnOnce() -> S) -> &mut (K, S)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = hash.unwrap_or_else(|| self.many.hasher().hash_one(part));
        match self.find(hash, |other| other.borrow() == part) {
            Ok(number) => self.found(number),
            Err(place) if self.is_few() => self.add(place, hash, part.to_owned(), new()),
            Err(_) if self.many.len() == 0 => self.begin(hash, part.to_owned(), new()),
            Err(_) => self.many.group_of(part, Some(hash), new),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// What is done to a table.
    #[derive(Debug, Clone)]
    enum Act {
        Count(u16),
        CountBorrowed(u16),
        Drain,
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        // So many keys that the table is few, then many, in most cases and in both orders.
        let key = prop_oneof![0..4_u16, 0..24_u16, 0..400_u16];
        let act = prop_oneof![
            40 => key.clone().prop_map(Act::Count),
            40 => key.prop_map(Act::CountBorrowed),
            1 => Just(Act::Drain),
        ];
        prop::collection::vec(act, 0..600)
    }

    proptest! {
        #[test]
        fn counts_as_an_ordered_map_does(acts in acts()) {
            let mut counts = Growing::<String, u64>::new(1);
            let mut oracle = BTreeMap::<String, u64>::new();
            for act in acts {
                match act {
                    Act::Count(key) => {
                        let key = key.to_string();
                        let group = counts.group_hashed(key.clone(), None, || 0);
                        prop_assert_eq!(&group.0, &key);
                        group.1 += 1;
                        *oracle.entry(key).or_default() += 1;
                    }
                    Act::CountBorrowed(key) => {
                        let key = key.to_string();
                        let hash = counts.many().hasher().hash_one(key.as_str());
                        let group = counts.group_of(key.as_str(), Some(hash), || 0);
                        prop_assert_eq!(&group.0, &key);
                        group.1 += 1;
                        *oracle.entry(key).or_default() += 1;
                    }
                    Act::Drain => {
                        let drained: BTreeMap<_, _> = counts.drain().collect();
                        prop_assert_eq!(drained, std::mem::take(&mut oracle));
                        prop_assert!(!counts.is_few());
                    }
                }
                prop_assert_eq!(counts.len(), oracle.len());
                prop_assert!(!counts.is_few() || counts.len() <= Few::<String, u64>::MOST);
            }
            let drained: Vec<_> = counts.drain().collect();
            prop_assert_eq!(drained.len(), oracle.len(), "no key twice");
            prop_assert_eq!(drained.into_iter().collect::<BTreeMap<_, _>>(), oracle);
        }
    }

    #[test]
    fn is_few_from_the_first_group_until_one_too_many() {
        let mut groups = Growing::<u64, ()>::new(1);
        assert!(!groups.is_few());
        let most = Few::<u64, ()>::MOST as u64;
        for key in 0..most {
            groups.group_hashed(key, None, || ());
            groups.group_hashed(key / 2, None, || panic!("it is there"));
            assert!(groups.is_few());
        }
        groups.group_hashed(most, None, || ());
        assert!(!groups.is_few());
        assert_eq!(groups.len(), most as usize + 1);
    }
}

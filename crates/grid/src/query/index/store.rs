//! Where an index keeps its keys: in a tree or in a hash table, each with the entries that have it, or as bitmaps.

use super::bitmap::Bitmaps;
use super::tuple::IndexTuple;
use super::{EntryId, IndexKind};
use std::collections::{BTreeMap, BTreeSet, HashMap, btree_map, hash_map};
use std::ops::Bound;

#[derive(Debug)]
pub(super) enum Store<E> {
    Sorted(BTreeMap<IndexTuple, Posting<E>>),
    Hash(HashMap<IndexTuple, Posting<E>>),
    Bitmap(Bitmaps),
}

/// The entries that have a key, in order: most keys have one.
#[derive(Debug)]
pub(super) enum Posting<E> {
    One(E),
    Many(BTreeSet<E>),
}

impl<E: EntryId> Posting<E> {
    fn insert(&mut self, id: E) {
        match self {
            Posting::One(known) if *known == id => {}
            Posting::One(known) => *self = Posting::Many([known.clone(), id].into()),
            Posting::Many(all) => {
                all.insert(id);
            }
        }
    }

    /// Takes an entry out; true when none is left.
    fn remove(&mut self, id: &E) -> bool {
        match self {
            Posting::One(known) => known == id,
            Posting::Many(all) => {
                all.remove(id);
                all.is_empty()
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Posting::One(_) => 1,
            Posting::Many(all) => all.len(),
        }
    }

    fn copy_to(&self, found: &mut Vec<E>) {
        match self {
            Posting::One(id) => found.push(id.clone()),
            Posting::Many(all) => found.extend(all.iter().cloned()),
        }
    }
}

impl<E: EntryId> Store<E> {
    pub(super) fn new(kind: IndexKind) -> Self {
        match kind {
            IndexKind::Sorted => Store::Sorted(BTreeMap::new()),
            IndexKind::Hash => Store::Hash(HashMap::new()),
            IndexKind::Bitmap => Store::Bitmap(Bitmaps::default()),
        }
    }

    pub(super) fn insert(&mut self, key: IndexTuple, id: E) {
        match self {
            Store::Sorted(keys) => match keys.entry(key) {
                btree_map::Entry::Occupied(mut known) => known.get_mut().insert(id),
                btree_map::Entry::Vacant(free) => drop(free.insert(Posting::One(id))),
            },
            Store::Hash(keys) => match keys.entry(key) {
                hash_map::Entry::Occupied(mut known) => known.get_mut().insert(id),
                hash_map::Entry::Vacant(free) => drop(free.insert(Posting::One(id))),
            },
            Store::Bitmap(bitmaps) => bitmaps.insert(key, id.number()),
        }
    }

    /// An entry is there, whatever its keys are.
    pub(super) fn came(&mut self, id: &E) {
        if let Store::Bitmap(bitmaps) = self {
            bitmaps.came(id.number());
        }
    }

    /// An entry is not there any more.
    pub(super) fn gone(&mut self, id: &E) {
        if let Store::Bitmap(bitmaps) = self {
            bitmaps.gone(id.number());
        }
    }

    pub(super) fn bitmaps(&self) -> Option<&Bitmaps> {
        if let Store::Bitmap(bitmaps) = self { Some(bitmaps) } else { None }
    }

    pub(super) fn remove(&mut self, key: &IndexTuple, id: &E) {
        match self {
            Store::Sorted(keys) => {
                if keys.get_mut(key).is_some_and(|posting| posting.remove(id)) {
                    keys.remove(key);
                }
            }
            Store::Hash(keys) => {
                if keys.get_mut(key).is_some_and(|posting| posting.remove(id)) {
                    keys.remove(key);
                }
            }
            Store::Bitmap(bitmaps) => bitmaps.remove(key, id.number()),
        }
    }

    pub(super) fn point(&self, key: &IndexTuple) -> Option<&Posting<E>> {
        match self {
            Store::Sorted(keys) => keys.get(key),
            Store::Hash(keys) => keys.get(key),
            Store::Bitmap(_) => None,
        }
    }

    /// The postings between two keys, of which the first must not be greater; none of an index without order.
    fn range(&self, from: &Bound<IndexTuple>, to: &Bound<IndexTuple>) -> impl Iterator<Item = &Posting<E>> {
        let found = match self {
            Store::Sorted(keys) => Some(keys.range::<IndexTuple, _>((from.as_ref(), to.as_ref()))),
            Store::Hash(_) | Store::Bitmap(_) => None,
        };
        found.into_iter().flatten().map(|(_, posting)| posting)
    }

    /// How many entries a span has; counting stops beyond `limit`.
    pub(super) fn estimate(&self, span: &KeySpan, limit: usize) -> usize {
        match span {
            KeySpan::Point(key) => self.point(key).map_or(0, Posting::len),
            KeySpan::Range(from, to) => {
                let mut count = 0;
                for posting in self.range(from, to) {
                    count += posting.len();
                    if count > limit {
                        break;
                    }
                }
                count
            }
        }
    }

    /// The entries of a span.
    pub(super) fn copy_to(&self, span: &KeySpan, found: &mut Vec<E>) {
        match span {
            KeySpan::Point(key) => {
                if let Some(posting) = self.point(key) {
                    posting.copy_to(found);
                }
            }
            KeySpan::Range(from, to) => self.range(from, to).for_each(|posting| posting.copy_to(found)),
        }
    }
}

/// A key, or all from one to another.
#[derive(Debug, Clone)]
pub(super) enum KeySpan {
    Point(IndexTuple),
    /// The first is less than the second.
    Range(Bound<IndexTuple>, Bound<IndexTuple>),
}

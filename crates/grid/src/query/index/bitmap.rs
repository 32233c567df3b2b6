//! Bitmap indexes: for each value of an attribute the set of entries that have it, compressed. For attributes with few values, where a
//! query combines what several sets say.
//!
//! Sets are of the numbers that the store hands out, so those of all bitmap indexes of a partition can be put together ([`super::search`]).
//! Hazelcast numbers entries by a unique key of theirs, or by a table of its own when that is no number; here a slot is a small number
//! already, so the unique key is kept as a setting and not read.

use super::tuple::IndexTuple;
use filbert_wire::Value;
use roaring::RoaringBitmap;
use std::collections::HashMap;

/// The sets of one bitmap index.
#[derive(Debug, Default)]
pub(super) struct Bitmaps {
    of_value: HashMap<IndexTuple, RoaringBitmap>,
    /// All entries: what NOT takes away from.
    all: RoaringBitmap,
}

impl Bitmaps {
    pub(super) fn insert(&mut self, key: IndexTuple, number: u32) {
        self.of_value.entry(key).or_default().insert(number);
    }

    pub(super) fn remove(&mut self, key: &IndexTuple, number: u32) {
        if let Some(set) = self.of_value.get_mut(key) {
            set.remove(number);
            if set.is_empty() {
                self.of_value.remove(key);
            }
        }
    }

    /// An entry is there, whatever its values are.
    pub(super) fn came(&mut self, number: u32) {
        self.all.insert(number);
    }

    pub(super) fn gone(&mut self, number: u32) {
        self.all.remove(number);
    }

    /// All entries.
    pub(super) fn all(&self) -> &RoaringBitmap {
        &self.all
    }

    /// The entries that have that value, if there are any.
    pub(super) fn of_value(&self, value: &Value) -> Option<&RoaringBitmap> {
        self.of_value.get(&IndexTuple::one(value.clone()))
    }
}

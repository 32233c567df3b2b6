//! The entries of one partition of a map, in little memory.
//!
//! ```text
//! table: u32 slots by hash of the key      records, in chunks of 256          one allocation per entry
//! | 7 | . | 0 | . |  ------------------>   | pointer 16 | key length 4 | note 4 |  -->  | key ... | value ... |
//! ```
//!
//! 24 bytes a record, 5 a table place (5.7 to 11.4 an entry), 8 and rounding for the allocation: about 50 bytes an entry beside key and
//! value. What only some entries have (an end of life, statistics) is in [side tables](Side).
//!
//! A slot stays the same while its entry lives, whatever is added, removed or grown meanwhile. So a scan is a number ([`Store::next`]):
//! an entry that is there during the whole scan is seen exactly once; one that comes or goes meanwhile may be seen or not.
//!
//! The table hashes type id and payload with foldhash, seeded per map, and not the partition hash: that one is known to whoever sends
//! keys, and all keys of a partition agree in it modulo the number of partitions. For short keys it costs about 2 ns.
//!
//! Run on the partition's strand, by one thread at a time: nothing here is locked.

mod side;
mod slab;
#[cfg(test)]
mod tests;

pub(crate) use side::Side;
pub use slab::Slot;

use filbert_wire::Data;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use slab::{CHUNK, Record, Slab};
use std::hash::BuildHasher;

/// The bytes of a key or value before what makes two of them equal: the partition hash.
const HASH_BYTES: usize = 4;

/// What an entry takes beside its bytes: the record, the allocation's header, its place in the table.
pub(crate) const ENTRY_OVERHEAD: usize = std::mem::size_of::<Record>() + 16 + 8;

/// Keys and values as their bytes. A slot stays the same while its entry lives, so a scan is a number ([`Store::next`]): an entry that is
/// there during the whole scan is seen exactly once.
#[derive(Debug)]
pub struct Store {
    table: HashTable<u32>,
    records: Slab,
    hasher: FixedState,
    bytes: usize,
}

/// Type id and payload of a serialized value.
pub(crate) fn identity(bytes: &[u8]) -> &[u8] {
    &bytes[HASH_BYTES..]
}

/// A value in bytes of its own.
pub(crate) fn copied(bytes: &[u8]) -> Data {
    Data::from_bytes(bytes.to_vec()).expect("what is stored was a value when it came")
}

impl Store {
    /// An empty one; keys that fall together under one seed do not under another.
    pub fn new(seed: u64) -> Self {
        Self { table: HashTable::new(), records: Slab::new(), hasher: FixedState::with_seed(seed), bytes: 0 }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// What the entries take, allocation and table included (side tables not).
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(HashedAsIs(identity(key)))
    }

    /// Where the entry of `key` is.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<Slot> {
        let is_key = |slot: &u32| identity(self.key(Slot(*slot))) == identity(key);
        self.table.find(self.hash(key), is_key).map(|slot| Slot(*slot))
    }

    /// The key of an entry: all its bytes, as it came.
    #[inline]
    pub fn key(&self, slot: Slot) -> &[u8] {
        let record = self.records.get(slot);
        &record.bytes[..record.key_length as usize]
    }

    /// The value of an entry.
    #[inline]
    pub fn value(&self, slot: Slot) -> &[u8] {
        let record = self.records.get(slot);
        &record.bytes[record.key_length as usize..]
    }

    /// What an entry takes, in bytes.
    pub fn cost(&self, slot: Slot) -> usize {
        self.records.get(slot).bytes.len() + ENTRY_OVERHEAD
    }

    pub(crate) fn note(&self, slot: Slot) -> u32 {
        self.records.get(slot).note
    }

    pub(crate) fn note_mut(&mut self, slot: Slot) -> &mut u32 {
        &mut self.records.get_mut(slot).note
    }

    /// Adds an entry whose key is not there.
    pub fn insert(&mut self, key: &[u8], value: &[u8]) -> Slot {
        debug_assert!(self.find(key).is_none(), "the key is there already");
        let key_length = u32::try_from(key.len()).expect("a key that fits a message");
        let bytes = [key, value].concat().into_boxed_slice();
        self.bytes += bytes.len() + ENTRY_OVERHEAD;
        let hash = self.hash(key);
        let slot = self.records.insert(Record { bytes, key_length, note: 0 });
        let (records, hasher) = (&self.records, &self.hasher);
        self.table.insert_unique(hash, slot.0, |slot| {
            let record = records.get(Slot(*slot));
            hasher.hash_one(HashedAsIs(identity(&record.bytes[..record.key_length as usize])))
        });
        slot
    }

    /// Gives an entry another value; where it has as many bytes, nothing is allocated.
    pub fn replace(&mut self, slot: Slot, value: &[u8]) {
        let record = self.records.get_mut(slot);
        let (key, old) = record.bytes.split_at_mut(record.key_length as usize);
        if old.len() == value.len() {
            old.copy_from_slice(value);
            return;
        }
        self.bytes = self.bytes - old.len() + value.len();
        record.bytes = [&*key, value].concat().into_boxed_slice();
    }

    /// Takes an entry away.
    pub fn remove(&mut self, slot: Slot) {
        let hash = self.hash(self.key(slot));
        if let Ok(entry) = self.table.find_entry(hash, |known| *known == slot.0) {
            entry.remove();
        }
        let record = self.records.remove(slot);
        self.bytes -= record.bytes.len() + ENTRY_OVERHEAD;
        if self.table.is_empty() && self.records.end() as usize > CHUNK {
            // No entry lives, so no slot has to stay: a map that was large once gives its memory back.
            self.records = Slab::new();
            self.table = HashTable::new();
        }
    }

    /// The first entry from slot `from` on: a scan's next step.
    pub fn next(&self, from: u32) -> Option<Slot> {
        (from..self.records.end()).map(Slot).find(|slot| !self.records.get(*slot).is_free())
    }

    /// One more than the largest slot that was ever used.
    pub(crate) fn end(&self) -> u32 {
        self.records.end()
    }

    /// The entry in slot `number`, if one is there.
    pub(crate) fn at(&self, number: u32) -> Option<Slot> {
        let slot = Slot(number);
        (number < self.records.end() && !self.records.get(slot).is_free()).then_some(slot)
    }
}

/// Bytes that go to the hasher without their length: they are the whole key.
struct HashedAsIs<'a>(&'a [u8]);

impl std::hash::Hash for HashedAsIs<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        state.write(self.0);
    }
}

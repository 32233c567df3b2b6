//! The hash table from keys to groups: open addressing over `u32`, with the keys themselves in one array by group.
//!
//! ```text
//!   hash ──► slots [ 0 | 3 | 0 | 1 | 2 | ... ]      0: empty, else group + 1
//!                        └──► words [ - | k1 | k2 | k3 | ... ]
//! ```
//!
//! A batch of rows goes through in two passes. The first has no branch that depends on the data: it looks at the first slot of each row and
//! notes the rows whose key was not there. Only those take the loop that searches on and inserts. So the processor always has many lookups
//! in flight, which hides the misses of the cache, and pays no wrong guess for a key that is where it should be.
//!
//! Groups are numbered as they are first seen. So the order of what comes out depends on the rows alone.
//!
//! Rejected: key and group side by side in the slots (16 bytes a slot instead of 4: 10,000 groups no longer fit the second-level cache);
//! tags per slot as in hashbrown (they pay off when a comparison is dear, and one of words is not).

use super::keys::{Keys, NULL_HASH, Words, hash_bytes, hash_word};
use arrow::buffer::{BooleanBuffer, ScalarBuffer};
use arrow::row::Rows;
use std::ops::Range;

/// How many rows go through the two passes together.
const BATCH: usize = 1024;

const FEWEST_SLOTS: usize = 64;

/// Which group each key is.
pub(super) enum GroupTable {
    Words(WordTable),
    Rows(RowTable),
}

impl GroupTable {
    /// An empty table for keys of this form: `rows` when they are bytes.
    pub(super) fn new(rows: Option<Rows>) -> Self {
        match rows {
            None => Self::Words(WordTable::new()),
            Some(rows) => Self::Rows(RowTable { slots: vec![0; FEWEST_SLOTS], hashes: Vec::new(), rows }),
        }
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Words(table) => table.len(),
            Self::Rows(table) => table.hashes.len(),
        }
    }

    /// What it has allocated, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Words(table) => table.slots.capacity() * 4 + table.words.capacity() * 8,
            Self::Rows(table) => table.slots.capacity() * 4 + table.hashes.capacity() * 8 + table.rows.size(),
        }
    }

    /// The groups of some rows, in `groups`.
    pub(super) fn assign(&mut self, keys: &Keys, rows: Range<usize>, groups: &mut [u32]) {
        match (self, keys) {
            (Self::Words(table), Keys::Words(Words { values, nulls: None })) => {
                table.assign(&values[rows], groups);
            }
            (Self::Words(table), Keys::Words(Words { values, nulls: Some(nulls) })) => {
                for (row, group) in rows.zip(groups) {
                    *group = if nulls.value(row) { table.null() } else { table.find_or_add(values[row]) };
                }
            }
            (Self::Rows(table), Keys::Rows(encoded)) => {
                for (row, group) in rows.zip(groups) {
                    *group = table.find_or_add(encoded, row);
                }
            }
            _ => unreachable!("a table is made for the form of its keys"),
        }
    }

    /// The groups of chosen rows, in `groups`.
    pub(super) fn assign_chosen(&mut self, keys: &Keys, rows: &[u32], groups: &mut [u32]) {
        match (self, keys) {
            (Self::Words(table), Keys::Words(Words { values, nulls: None })) => {
                let mut words = [0; BATCH];
                for (rows, groups) in rows.chunks(BATCH).zip(groups.chunks_mut(BATCH)) {
                    for (word, row) in words.iter_mut().zip(rows) {
                        *word = values[*row as usize];
                    }
                    table.assign(&words[..rows.len()], groups);
                }
            }
            (table, keys) => {
                for (row, group) in rows.iter().zip(groups) {
                    let row = *row as usize;
                    table.assign(keys, row..row + 1, std::slice::from_mut(group));
                }
            }
        }
    }

    /// True when the key of this row has a group.
    pub(super) fn has(&self, keys: &Keys, row: usize) -> bool {
        match (self, keys) {
            (Self::Words(table), Keys::Words(Words { nulls: Some(nulls), .. })) if nulls.value(row) => {
                table.null.is_some()
            }
            (Self::Words(table), Keys::Words(words)) => table.find(words.values[row]).is_ok(),
            (Self::Rows(table), Keys::Rows(rows)) => {
                let key = rows.row(row).data();
                table.find(key, hash_bytes(key)).is_ok()
            }
            _ => unreachable!("a table is made for the form of its keys"),
        }
    }

    /// The keys, by group.
    pub(super) fn into_keys(self) -> Keys {
        match self {
            Self::Words(table) => Keys::Words(table.into_words()),
            Self::Rows(table) => Keys::Rows(table.rows),
        }
    }
}

/// A table of words.
pub(super) struct WordTable {
    /// A power of two of them, never none.
    slots: Vec<u32>,
    /// By group + 1; the first is no group, so that the word of an empty slot can be looked at like any other.
    words: Vec<u64>,
    /// The group of NULL.
    null: Option<u32>,
}

impl WordTable {
    fn new() -> Self {
        Self { slots: vec![0; FEWEST_SLOTS], words: vec![0], null: None }
    }

    fn len(&self) -> usize {
        self.words.len() - 1
    }

    fn assign(&mut self, words: &[u64], groups: &mut [u32]) {
        for (words, groups) in words.chunks(BATCH).zip(groups.chunks_mut(BATCH)) {
            let mut missed = [0_u16; BATCH];
            let mut misses = 0;
            let (slots, known) = (self.slots.as_slice(), self.words.as_slice());
            let mask = slots.len() - 1;
            for (row, (word, group)) in words.iter().zip(groups.iter_mut()).enumerate() {
                let slot = slots[hash_word(*word) as usize & mask];
                let is_missed = slot == 0 || known[slot as usize] != *word;
                *group = slot.wrapping_sub(1);
                missed[misses & (BATCH - 1)] = row as u16;
                misses += usize::from(is_missed);
            }
            for row in &missed[..misses] {
                let row = usize::from(*row);
                groups[row] = self.find_or_add(words[row]);
            }
        }
    }

    /// The group of a word, or the slot that it would have.
    #[inline]
    fn find(&self, word: u64) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash_word(word) as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            if self.words[slot as usize] == word {
                return Ok(slot - 1);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn find_or_add(&mut self, word: u64) -> u32 {
        match self.find(word) {
            Ok(group) => group,
            Err(at) => self.add(word, at),
        }
    }

    fn add(&mut self, word: u64, at: usize) -> u32 {
        let group = self.words.len() as u32;
        self.words.push(word);
        self.slots[at] = group;
        // At most half full: a search then ends after one and a half slots on average.
        if self.words.len() * 2 > self.slots.len() {
            self.grow();
        }
        group - 1
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let mut slots = vec![0; mask + 1];
        let null = self.null.map(|group| group as usize + 1);
        for (group, word) in self.words.iter().enumerate().skip(1) {
            if Some(group) != null {
                insert(&mut slots, hash_word(*word), group as u32);
            }
        }
        self.slots = slots;
    }

    fn null(&mut self) -> u32 {
        *self.null.get_or_insert_with(|| {
            self.words.push(NULL_HASH);
            self.words.len() as u32 - 2
        })
    }

    fn into_words(self) -> Words {
        let groups = self.len();
        let nulls = self.null.map(|null| BooleanBuffer::collect_bool(groups, |group| group == null as usize));
        Words { values: ScalarBuffer::from(self.words).slice(1, groups), nulls }
    }
}

/// Puts a group that is in no slot into the first that is free.
fn insert(slots: &mut [u32], hash: u64, group_and_one: u32) {
    let mask = slots.len() - 1;
    let mut at = hash as usize & mask;
    while slots[at] != 0 {
        at = (at + 1) & mask;
    }
    slots[at] = group_and_one;
}

/// A table of rows of bytes.
pub(super) struct RowTable {
    slots: Vec<u32>,
    /// By group: most rows that differ are told apart without a look at their bytes.
    hashes: Vec<u64>,
    rows: Rows,
}

impl RowTable {
    /// The group of a row, or the slot that it would have.
    fn find(&self, key: &[u8], hash: u64) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            let group = slot as usize - 1;
            if self.hashes[group] == hash && self.rows.row(group).data() == key {
                return Ok(slot - 1);
            }
            at = (at + 1) & mask;
        }
    }

    fn find_or_add(&mut self, keys: &Rows, row: usize) -> u32 {
        let key = keys.row(row);
        let hash = hash_bytes(key.data());
        let at = match self.find(key.data(), hash) {
            Ok(group) => return group,
            Err(at) => at,
        };
        self.rows.push(key);
        self.hashes.push(hash);
        let group = self.hashes.len() as u32;
        self.slots[at] = group;
        if self.hashes.len() * 2 > self.slots.len() {
            let mut slots = vec![0; self.slots.len() * 2];
            for (group, hash) in self.hashes.iter().enumerate() {
                insert(&mut slots, *hash, group as u32 + 1);
            }
            self.slots = slots;
        }
        group - 1
    }
}

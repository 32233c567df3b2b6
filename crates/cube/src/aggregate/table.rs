//! The hash table from keys to groups: open addressing over `u32`, with the keys themselves in one array by group.
//!
//! ```text
//!   hash ──► slots [ 0 | 3 | 0 | 1 | 2 | ... ]      groups
//!                        └──► words [ k0 | k1 | k2 | k3 | ... ]
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

use super::keys::{Keys, Word, Words, hash_bytes};
use arrow::buffer::{BooleanBuffer, ScalarBuffer};
use arrow::row::Rows;
use filbert_pool::ChunkedList;
use std::ops::Range;

/// How many rows go through the two passes together.
const BATCH: usize = 1024;

const FEWEST_SLOTS: usize = 64;

/// Room is made for so many groups at most before there are any: with more, their slots would not stay in the first-level cache, and perhaps
/// for nothing.
const MOST_EXPECTED: usize = 2048;

/// At most half full: a search then ends after one and a half slots on average.
fn slots_for(groups: usize) -> usize {
    (2 * groups).next_power_of_two().max(FEWEST_SLOTS)
}

/// Which group each key is.
pub(super) enum GroupTable {
    Words(WordTable<u64>),
    Wide(WordTable<i128>),
    Rows(RowTable),
}

impl GroupTable {
    /// An empty table for keys of the form of `empty`.
    pub(super) fn new(empty: Keys) -> Self {
        match empty {
            Keys::Words(_) => Self::Words(WordTable::new()),
            Keys::Wide(_) => Self::Wide(WordTable::new()),
            Keys::Rows(rows) => {
                Self::Rows(RowTable { slots: vec![0; FEWEST_SLOTS], hashes: ChunkedList::new(), rows })
            }
        }
    }

    /// Makes room for so many groups, or for some of them, in a table that has none: it then grows later, if at all.
    pub(super) fn expect(&mut self, groups: usize) {
        let groups = groups.min(MOST_EXPECTED);
        match self {
            Self::Words(table) => table.expect(groups),
            Self::Wide(table) => table.expect(groups),
            Self::Rows(table) => table.slots = vec![0; slots_for(groups)],
        }
    }

    /// How many groups there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Words(table) => table.words.len(),
            Self::Wide(table) => table.words.len(),
            Self::Rows(table) => table.hashes.len(),
        }
    }

    /// What it has allocated, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Words(table) => table.bytes(),
            Self::Wide(table) => table.bytes(),
            Self::Rows(table) => {
                table.slots.capacity() * 4 + table.hashes.allocated_bytes() + table.rows.size()
            }
        }
    }

    /// The groups of some rows, in `groups`.
    pub(super) fn assign(&mut self, keys: &Keys, rows: Range<usize>, groups: &mut [u32]) {
        match (self, keys) {
            (Self::Words(table), Keys::Words(words)) => table.assign(words, rows, groups),
            (Self::Wide(table), Keys::Wide(words)) => table.assign(words, rows, groups),
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
            (Self::Words(table), Keys::Words(words)) => table.assign_chosen(words, rows, groups),
            (Self::Wide(table), Keys::Wide(words)) => table.assign_chosen(words, rows, groups),
            (Self::Rows(table), Keys::Rows(encoded)) => {
                for (row, group) in rows.iter().zip(groups) {
                    *group = table.find_or_add(encoded, *row as usize);
                }
            }
            _ => unreachable!("a table is made for the form of its keys"),
        }
    }

    /// True when the key of this row has a group.
    pub(super) fn has(&self, keys: &Keys, row: usize) -> bool {
        match (self, keys) {
            (Self::Words(table), Keys::Words(words)) => table.has(words, row),
            (Self::Wide(table), Keys::Wide(words)) => table.has(words, row),
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
            Self::Wide(table) => Keys::Wide(table.into_words()),
            Self::Rows(table) => Keys::Rows(table.rows),
        }
    }
}

/// A table of words.
///
/// The first group is in no slot: an empty slot holds 0, which is its number. Whoever finds an empty slot compares with its word like with any
/// other, and is right either way. So the loop over rows has no case for emptiness.
pub(super) struct WordTable<W> {
    /// The groups, by hash; a power of two of them, never none.
    slots: Vec<u32>,
    /// How far a hash is shifted to the right to be a slot.
    shift: u32,
    /// By group.
    words: Vec<W>,
    /// The group of NULL, which is in no slot either.
    null: Option<u32>,
}

impl<W: Word> WordTable<W> {
    fn new() -> Self {
        let shift = u64::BITS - FEWEST_SLOTS.trailing_zeros();
        Self { slots: vec![0; FEWEST_SLOTS], shift, words: Vec::new(), null: None }
    }

    fn expect(&mut self, groups: usize) {
        self.slots = vec![0; slots_for(groups)];
        self.shift = u64::BITS - self.slots.len().trailing_zeros();
        self.words.reserve(groups);
    }

    fn bytes(&self) -> usize {
        self.slots.capacity() * 4 + self.words.capacity() * size_of::<W>()
    }

    fn assign(&mut self, words: &Words<W>, rows: Range<usize>, groups: &mut [u32]) {
        match &words.nulls {
            None => self.assign_words(&words.values[rows], groups),
            Some(nulls) => {
                for (row, group) in rows.zip(groups) {
                    *group = if nulls.value(row) { self.null() } else { self.find_or_add(words.values[row]) };
                }
            }
        }
    }

    fn assign_chosen(&mut self, words: &Words<W>, rows: &[u32], groups: &mut [u32]) {
        let mut chosen = [W::default(); BATCH];
        for (rows, groups) in rows.chunks(BATCH).zip(groups.chunks_mut(BATCH)) {
            if words.nulls.is_some() {
                for (row, group) in rows.iter().zip(groups) {
                    let row = *row as usize;
                    self.assign(words, row..row + 1, std::slice::from_mut(group));
                }
                continue;
            }
            for (word, row) in chosen.iter_mut().zip(rows) {
                *word = words.values[*row as usize];
            }
            self.assign_words(&chosen[..rows.len()], groups);
        }
    }

    fn has(&self, words: &Words<W>, row: usize) -> bool {
        match &words.nulls {
            Some(nulls) if nulls.value(row) => self.null.is_some(),
            _ => self.find(words.values[row]).is_ok(),
        }
    }

    fn assign_words(&mut self, words: &[W], groups: &mut [u32]) {
        let Some(first) = words.first() else { return };
        if self.words.is_empty() {
            self.words.push(*first);
        }
        if self.null == Some(0) {
            // The word of an empty slot means nothing here.
            for (word, group) in words.iter().zip(groups) {
                *group = self.find_or_add(*word);
            }
            return;
        }
        for (words, groups) in words.chunks(BATCH).zip(groups.chunks_mut(BATCH)) {
            let mut missed = [0_u16; BATCH];
            let mut misses = 0;
            let (slots, known, shift) = (self.slots.as_slice(), self.words.as_slice(), self.shift);
            for (row, (word, group)) in words.iter().zip(groups.iter_mut()).enumerate() {
                let slot = slots[word.slot(shift)];
                *group = slot;
                missed[misses & (BATCH - 1)] = row as u16;
                misses += usize::from(known[slot as usize] != *word);
            }
            for row in &missed[..misses] {
                let row = usize::from(*row);
                groups[row] = self.find_or_add(words[row]);
            }
        }
    }

    /// The group of a word, or the slot that it would have.
    #[inline]
    fn find(&self, word: W) -> Result<u32, usize> {
        let mask = self.slots.len() - 1;
        let mut at = word.slot(self.shift);
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                let is_first = self.null != Some(0) && self.words.first() == Some(&word);
                return if is_first { Ok(0) } else { Err(at) };
            }
            if self.words[slot as usize] == word {
                return Ok(slot);
            }
            at = (at + 1) & mask;
        }
    }

    #[inline]
    fn find_or_add(&mut self, word: W) -> u32 {
        match self.find(word) {
            Ok(group) => group,
            Err(at) => self.add(word, at),
        }
    }

    fn add(&mut self, word: W, at: usize) -> u32 {
        let group = self.words.len() as u32;
        self.words.push(word);
        self.slots[at] = group;
        if self.words.len() * 2 > self.slots.len() {
            self.grow();
        }
        group
    }

    #[cold]
    fn grow(&mut self) {
        let mask = self.slots.len() * 2 - 1;
        let shift = self.shift - 1;
        let mut slots = vec![0; mask + 1];
        for (group, word) in self.words.iter().enumerate().skip(1) {
            if self.null != Some(group as u32) {
                insert(&mut slots, word.slot(shift), group as u32);
            }
        }
        (self.slots, self.shift) = (slots, shift);
    }

    fn null(&mut self) -> u32 {
        *self.null.get_or_insert_with(|| {
            self.words.push(W::default());
            self.words.len() as u32 - 1
        })
    }

    fn into_words(self) -> Words<W> {
        let is_null =
            |null: u32| BooleanBuffer::collect_bool(self.words.len(), |group| group == null as usize);
        let nulls = self.null.map(is_null);
        Words { values: ScalarBuffer::from(self.words), nulls }
    }
}

/// Puts a group that is in no slot into the first that is free.
fn insert(slots: &mut [u32], first: usize, content: u32) {
    let mask = slots.len() - 1;
    let mut at = first & mask;
    while slots[at] != 0 {
        at = (at + 1) & mask;
    }
    slots[at] = content;
}

/// A table of rows of bytes.
pub(super) struct RowTable {
    slots: Vec<u32>,
    /// By group: most rows that differ are told apart without a look at their bytes.
    hashes: ChunkedList<u64>,
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
                insert(&mut slots, *hash as usize, group as u32 + 1);
            }
            self.slots = slots;
        }
        group - 1
    }
}

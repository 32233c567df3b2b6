//! Finding slices by their keys: rows of key columns as words, and a hash table over them. What they hold counts as long as they are there.

use crate::error::CubeError;
use crate::memory::{MemoryAccount, Reservation};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Int64Type, UInt32Type};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher};

/// Keys of rows as words: for each row one word that says which columns are null, then one per column.
#[derive(Debug)]
pub(crate) struct Words {
    width: usize,
    words: Vec<u64>,
    held: Reservation,
}

impl Words {
    pub(crate) fn of(keys: &[ArrayRef], rows: usize, memory: &MemoryAccount) -> Result<Self, CubeError> {
        let width = keys.len() + 1;
        let held = memory.try_reserve(width * rows * size_of::<u64>())?;
        let mut words = vec![0; width * rows];
        for (position, key) in keys.iter().enumerate() {
            match key.data_type() {
                DataType::UInt32 => {
                    let values = key.as_primitive::<UInt32Type>().values();
                    values
                        .iter()
                        .enumerate()
                        .for_each(|(row, value)| words[row * width + position + 1] = u64::from(*value));
                }
                _ => {
                    let values = key.as_primitive::<Int64Type>().values();
                    values
                        .iter()
                        .enumerate()
                        .for_each(|(row, value)| words[row * width + position + 1] = *value as u64);
                }
            }
            if let Some(nulls) = key.nulls() {
                for row in 0..rows {
                    if nulls.is_null(row) {
                        words[row * width] |= 1 << position;
                        words[row * width + position + 1] = 0;
                    }
                }
            }
        }
        Ok(Self { width, words, held })
    }

    /// Room for rows of this width, of which none is there yet.
    fn none(width: usize, memory: &MemoryAccount) -> Result<Self, CubeError> {
        Ok(Self { width, words: Vec::new(), held: memory.try_reserve(0)? })
    }

    pub(crate) fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.width..(row + 1) * self.width]
    }

    pub(crate) fn rows(&self) -> usize {
        self.words.len().checked_div(self.width).unwrap_or(0)
    }

    fn push(&mut self, row: &[u64]) {
        self.words.extend_from_slice(row);
    }
}

fn hash(row: &[u64]) -> u64 {
    let mut hasher = FixedState::with_seed(7).build_hasher();
    row.iter().for_each(|word| hasher.write_u64(*word));
    hasher.finish()
}

/// What an entry of a table takes, in bytes: itself and a byte of the table, at half to seven eighths full.
const ENTRY_BYTES: usize = 10;

/// The number of each slice.
pub(crate) struct SliceIndex {
    words: Words,
    table: HashTable<u32>,
}

impl SliceIndex {
    /// Indexes slices that all differ.
    pub(crate) fn of(keys: &[ArrayRef], rows: usize, memory: &MemoryAccount) -> Result<Self, CubeError> {
        let mut words = Words::of(keys, rows, memory)?;
        words.held.try_grow(rows * ENTRY_BYTES)?;
        let mut table = HashTable::with_capacity(rows);
        for row in 0..rows {
            table.insert_unique(hash(words.row(row)), row as u32, |known| hash(words.row(*known as usize)));
        }
        Ok(Self { words, table })
    }

    /// Counts what it holds now; whoever added slices calls it some thousand of them later at most.
    pub(crate) fn count(&mut self) -> Result<(), CubeError> {
        let Self { words, table } = self;
        words.held.try_resize(words.words.capacity() * size_of::<u64>() + table.capacity() * ENTRY_BYTES)
    }

    /// The number of a slice.
    pub(crate) fn find(&self, row: &[u64]) -> Option<u32> {
        self.table.find(hash(row), |known| self.words.row(*known as usize) == row).copied()
    }

    /// The number of a slice; the next free one when it is new, and true.
    pub(crate) fn find_or_add(&mut self, row: &[u64]) -> (u32, bool) {
        if let Some(known) = self.find(row) {
            return (known, false);
        }
        let number = self.words.rows() as u32;
        self.words.push(row);
        let words = &self.words;
        self.table.insert_unique(hash(row), number, |known| hash(words.row(*known as usize)));
        (number, true)
    }
}

/// Rows by their distinct keys.
pub(crate) struct Distinct {
    /// Which distinct key each row has.
    pub(crate) of_row: Vec<u32>,
    /// The first row of each distinct key.
    pub(crate) first_rows: Vec<u32>,
    /// Counts both.
    pub(crate) held: Reservation,
}

impl Distinct {
    /// New keys are counted when there are so many more.
    const COUNTED: usize = 4_096;

    pub(crate) fn of(keys: &[ArrayRef], rows: usize, memory: &MemoryAccount) -> Result<Self, CubeError> {
        let words = Words::of(keys, rows, memory)?;
        let mut held = memory.try_reserve(rows * size_of::<u32>())?;
        let mut index = SliceIndex { words: Words::none(words.width, memory)?, table: HashTable::new() };
        let (mut of_row, mut first_rows) = (Vec::with_capacity(rows), Vec::new());
        for row in 0..rows {
            let (number, is_new) = index.find_or_add(words.row(row));
            of_row.push(number);
            if is_new {
                first_rows.push(row as u32);
                if first_rows.len() % Self::COUNTED == 0 {
                    index.count()?;
                }
            }
        }
        held.try_grow(first_rows.capacity() * size_of::<u32>())?;
        Ok(Self { of_row, first_rows, held })
    }
}

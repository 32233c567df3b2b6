//! COUNT DISTINCT: a set of the values of each group.

use super::super::keys::{KeyCodec, Keys};
use super::super::values::Values;
use super::{Carriers, same, saved};
use crate::error::CubeError;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, LargeBinaryArray};
use arrow::datatypes::DataType;
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use std::hash::Hash;
use std::sync::Arc;

type Set<T> = HashSet<T, FixedState>;

pub(super) fn of(input: &DataType) -> Result<Box<dyn Carriers>, CubeError> {
    let codec = KeyCodec::new(std::slice::from_ref(input))?;
    Ok(match codec.empty() {
        Keys::Words(_) => Box::new(Distinct::<u64> { codec, sets: Vec::new(), held: 0 }),
        _ => Box::new(Distinct::<Box<[u8]>> { codec, sets: Vec::new(), held: 0 }),
    })
}

/// A value in a set.
trait Value: Hash + Eq + Clone + Send + Sync + 'static {
    fn of(keys: &Keys, row: usize) -> Self;
    /// What one more costs, in bytes: itself and a byte of the table, at three quarters full.
    fn bytes(&self) -> usize;
    /// Adds what it is written as.
    fn write(&self, bytes: &mut Vec<u8>);
    /// The next of those that were written, which is taken away.
    fn read(bytes: &mut &[u8]) -> Option<Self>;
}

impl Value for u64 {
    fn of(keys: &Keys, row: usize) -> Self {
        match keys {
            Keys::Words(words) => words.values[row],
            _ => unreachable!("the codec makes words"),
        }
    }

    fn bytes(&self) -> usize {
        12
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (word, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(u64::from_le_bytes(*word))
    }
}

impl Value for Box<[u8]> {
    fn of(keys: &Keys, row: usize) -> Self {
        match keys {
            Keys::Rows(rows) => rows.row(row).data().into(),
            _ => unreachable!("one column is a word or a row"),
        }
    }

    fn bytes(&self) -> usize {
        24 + self.len() + 16
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        (self.len() as u64).write(bytes);
        bytes.extend_from_slice(self);
    }

    fn read(bytes: &mut &[u8]) -> Option<Self> {
        let length = u64::read(bytes)?;
        let (value, rest) = bytes.split_at_checked(length as usize)?;
        *bytes = rest;
        Some(value.into())
    }
}

struct Distinct<T> {
    codec: KeyCodec,
    sets: Vec<Set<T>>,
    /// What is in the sets, in bytes.
    held: usize,
}

impl<T: Value> Distinct<T> {
    fn insert(&mut self, group: u32, value: T) {
        let bytes = value.bytes();
        if self.sets[group as usize].insert(value) {
            self.held += bytes;
        }
    }
}

impl<T: Value> Carriers for Distinct<T> {
    fn grow(&mut self, groups: usize) {
        self.sets.resize_with(groups, Set::default);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let Some(array) = values.array() else { return Ok(()) };
        let keys = self.codec.encode(&[array], values.len())?;
        values.for_each_selected(|row| self.insert(groups[row], T::of(&keys, row)));
        Ok(())
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = same::<Self>(from)?;
        for (group, row) in groups.iter().zip(rows) {
            for value in &from.sets[*row as usize] {
                self.insert(*group, value.clone());
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        let counts: Vec<i64> = self.sets.iter().map(|set| set.len() as i64).collect();
        Ok(Arc::new(Int64Array::from(counts)))
    }

    fn bytes(&self) -> usize {
        self.sets.capacity() * size_of::<Set<T>>() + self.held
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        let sets = groups.iter().map(|group| {
            let mut bytes = Vec::new();
            self.sets[*group as usize].iter().for_each(|value| value.write(&mut bytes));
            bytes
        });
        Ok(Some(vec![Arc::new(LargeBinaryArray::from_iter_values(sets))]))
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let [sets] = saved::columns(columns)?;
        self.grow(sets.len());
        for (group, mut bytes) in sets.as_binary::<i64>().iter().flatten().enumerate() {
            while let Some(value) = T::read(&mut bytes) {
                self.insert(group as u32, value);
            }
        }
        Ok(())
    }
}

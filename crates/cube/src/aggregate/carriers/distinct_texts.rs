//! COUNT DISTINCT of texts: each text is kept once for all groups, under a number, and a group has a set of numbers.
//!
//! Groups mostly have texts in common: the counterparties of a hundred desks, say. A set of texts per group would hash and keep each of them
//! a hundred times. Texts that come as entries of a dictionary are looked up once for all rows that have them: a column of a Parquet file
//! brings the same dictionary with many blocks.

use super::super::values::Values;
use super::number_set::NumberSet;
use super::{Carriers, same, saved};
use crate::error::CubeError;
use arrow::array::{AnyDictionaryArray, Array, ArrayRef, AsArray, Int64Array, LargeBinaryArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use std::sync::Arc;

/// The number of no text.
const NONE: u32 = u32::MAX;

/// The number of dictionaries known at a time: those of the row groups that are read side by side.
const MOST_DICTIONARIES: usize = 4;

pub(super) fn of() -> Box<dyn Carriers> {
    Box::new(DistinctTexts::default())
}

#[derive(Default)]
struct DistinctTexts {
    texts: NumberedTexts,
    sets: Vec<NumberSet>,
    /// The bytes that the numbers of all sets hold.
    held: usize,
    /// The dictionaries that came last, the newest at the end.
    dictionaries: Vec<Entries>,
}

/// A dictionary with the numbers of its entries.
struct Entries {
    /// The dictionary that it belongs to.
    of: ArrayRef,
    texts: StringArray,
    /// By entry; none for those that no row had.
    numbers: Vec<u32>,
}

/// Texts with the numbers that they were given, from 0.
#[derive(Default)]
struct NumberedTexts {
    numbers: HashTable<u32>,
    bytes: Vec<u8>,
    /// The end of each text.
    ends: Vec<usize>,
}

impl NumberedTexts {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn get(&self, number: u32) -> &[u8] {
        text_of(&self.bytes, &self.ends, number)
    }

    /// The number of a text, which is a new one where it was not there.
    fn number(&mut self, text: &[u8]) -> Result<u32, CubeError> {
        let hash = hash(text);
        let Self { numbers, bytes, ends } = self;
        if let Some(known) = numbers.find(hash, |known| text_of(bytes, ends, *known) == text) {
            return Ok(*known);
        }
        let number = u32::try_from(ends.len()).ok().filter(|number| *number != NONE);
        let number = number.ok_or_else(|| CubeError::Computation {
            place: "COUNT DISTINCT".to_owned(),
            message: "there are more than four billion different texts; filter more".to_owned(),
        })?;
        bytes.extend_from_slice(text);
        ends.push(bytes.len());
        numbers.insert_unique(hash, number, |known| self::hash(text_of(bytes, ends, *known)));
        Ok(number)
    }

    /// Returns the bytes that they have allocated: a number in the table takes four, and a byte of its own.
    fn allocated(&self) -> usize {
        self.bytes.capacity() + self.ends.capacity() * size_of::<usize>() + self.numbers.capacity() * 6
    }
}

fn text_of<'a>(bytes: &'a [u8], ends: &[usize], number: u32) -> &'a [u8] {
    let number = number as usize;
    let begin = if number == 0 { 0 } else { ends[number - 1] };
    &bytes[begin..ends[number]]
}

fn hash(text: &[u8]) -> u64 {
    FixedState::with_seed(0).hash_one(text)
}

/// Texts of any kind as those that are read here.
fn plain(texts: &ArrayRef) -> Result<StringArray, CubeError> {
    let texts = match texts.data_type() {
        DataType::Utf8 => Arc::clone(texts),
        _ => cast(texts, &DataType::Utf8).map_err(|error| CubeError::arrow("COUNT DISTINCT", &error))?,
    };
    Ok(texts.as_string().clone())
}

impl DistinctTexts {
    #[inline]
    fn insert(&mut self, group: u32, number: u32) {
        let set = &mut self.sets[group as usize];
        let before = set.bytes();
        set.insert(number, self.texts.ends.len());
        self.held = self.held + set.bytes() - before;
    }

    /// Adds rows whose texts are entries of a dictionary.
    fn add_entries(
        &mut self,
        groups: &[u32],
        values: &Values<'_>,
        rows: &dyn AnyDictionaryArray,
    ) -> Result<(), CubeError> {
        if rows.values().is_empty() {
            return Ok(());
        }
        let known = self.dictionaries.iter().position(|entries| Arc::ptr_eq(&entries.of, rows.values()));
        let mut entries = match known {
            Some(position) => self.dictionaries.remove(position),
            None => Entries::of(rows.values())?,
        };
        let keys = rows.normalized_keys();
        let mut outcome = Ok(());
        values.for_each_selected(|row| match entries.number(keys[row], &mut self.texts) {
            Ok(number) => self.insert(groups[row], number),
            Err(error) => outcome = Err(error),
        });
        if self.dictionaries.len() == MOST_DICTIONARIES {
            self.dictionaries.remove(0);
        }
        self.dictionaries.push(entries);
        outcome
    }
}

impl Entries {
    fn of(entries: &ArrayRef) -> Result<Self, CubeError> {
        Ok(Self { of: Arc::clone(entries), texts: plain(entries)?, numbers: vec![NONE; entries.len()] })
    }

    /// The number of an entry.
    #[inline]
    fn number(&mut self, entry: usize, texts: &mut NumberedTexts) -> Result<u32, CubeError> {
        if self.numbers[entry] == NONE {
            self.numbers[entry] = texts.number(self.texts.value(entry).as_bytes())?;
        }
        Ok(self.numbers[entry])
    }

    fn bytes(&self) -> usize {
        self.texts.value_data().len() + self.numbers.len() * 8
    }
}

impl Carriers for DistinctTexts {
    fn grow(&mut self, groups: usize) {
        self.sets.resize_with(groups, NumberSet::default);
    }

    fn add(&mut self, groups: &[u32], values: &Values<'_>) -> Result<(), CubeError> {
        let Some(array) = values.array() else { return Ok(()) };
        if let Some(rows) = array.as_any_dictionary_opt() {
            return self.add_entries(groups, values, rows);
        }
        let texts = plain(&array)?;
        let mut outcome = Ok(());
        values.for_each_selected(|row| match self.texts.number(texts.value(row).as_bytes()) {
            Ok(number) => self.insert(groups[row], number),
            Err(error) => outcome = Err(error),
        });
        outcome
    }

    fn merge(&mut self, groups: &[u32], from: &dyn Carriers, rows: &[u32]) -> Result<(), CubeError> {
        let from = same::<Self>(from)?;
        let members: usize = rows.iter().map(|row| from.sets[*row as usize].len()).sum();
        // Each text is looked up once, unless there are far more texts than members.
        let mut known = vec![NONE; if members < from.texts.len() / 4 { 0 } else { from.texts.len() }];
        let mut outcome = Ok(());
        for (group, row) in groups.iter().zip(rows) {
            from.sets[*row as usize].for_each(|theirs| {
                let number = match known.get(theirs as usize) {
                    Some(number) if *number != NONE => Ok(*number),
                    _ => self.texts.number(from.texts.get(theirs)),
                };
                match number {
                    Ok(number) => {
                        if let Some(known) = known.get_mut(theirs as usize) {
                            *known = number;
                        }
                        self.insert(*group, number);
                    }
                    Err(error) => outcome = Err(error),
                }
            });
        }
        outcome
    }

    fn finish(self: Box<Self>) -> Result<ArrayRef, CubeError> {
        Ok(Arc::new(Int64Array::from_iter_values(self.sets.iter().map(|set| set.len() as i64))))
    }

    fn bytes(&self) -> usize {
        let dictionaries: usize = self.dictionaries.iter().map(Entries::bytes).sum();
        self.sets.capacity() * size_of::<NumberSet>() + self.held + self.texts.allocated() + dictionaries
    }

    fn save(&self, groups: &[u32]) -> Result<Option<Vec<ArrayRef>>, CubeError> {
        let sets = groups.iter().map(|group| {
            let mut bytes = Vec::new();
            self.sets[*group as usize].for_each(|number| {
                let text = self.texts.get(number);
                bytes.extend((text.len() as u64).to_le_bytes());
                bytes.extend_from_slice(text);
            });
            bytes
        });
        Ok(Some(vec![Arc::new(LargeBinaryArray::from_iter_values(sets))]))
    }

    fn load(&mut self, columns: &[ArrayRef]) -> Result<(), CubeError> {
        let [sets] = saved::columns(columns)?;
        self.grow(sets.len());
        for (group, mut bytes) in (0_u32..).zip(sets.as_binary::<i64>().iter().flatten()) {
            while let Some((length, rest)) = bytes.split_first_chunk() {
                let text = rest.split_at_checked(u64::from_le_bytes(*length) as usize);
                let (text, rest) = text.ok_or_else(|| CubeError::Computation {
                    place: "spilled groups".to_owned(),
                    message: "a text of COUNT DISTINCT was cut off".to_owned(),
                })?;
                let number = self.texts.number(text)?;
                self.insert(group, number);
                bytes = rest;
            }
        }
        Ok(())
    }
}

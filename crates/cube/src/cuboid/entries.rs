//! Codes of the entries of dictionaries that a query's batches bring: each dictionary is looked up once, though many batches share it.
//!
//! A file has a dictionary for each column of a row group, and the batches of that row group share its buffers. The buffers tell one
//! dictionary from another; they are held as long as their codes are known, so that no other dictionary can be at their place. Threads: any.

use crate::error::CubeError;
use crate::memory::{MemoryAccount, Reservation, bytes_of};
use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// How many dictionaries are known at a time: some for each key column and reader.
const MOST: usize = 64;

/// Dictionaries with fewer entries are looked up as fast as they are found.
const FEWEST_ENTRIES: usize = 16;

/// The dictionaries that a query's batches had last, with the codes of their entries.
#[derive(Debug)]
pub(crate) struct KnownEntries(Mutex<Known>);

#[derive(Debug)]
struct Known {
    /// The newest last.
    dictionaries: VecDeque<Entries>,
    held: Reservation,
}

#[derive(Debug)]
struct Entries {
    column: Arc<str>,
    texts: ArrayRef,
    codes: UInt32Array,
}

impl Entries {
    fn bytes(&self) -> usize {
        bytes_of(&self.texts) + self.codes.len() * size_of::<u32>()
    }

    /// True for the same texts of the same column, by their place in memory.
    fn are(&self, column: &str, texts: &ArrayRef) -> bool {
        let place = |texts: &ArrayRef| {
            let texts = texts.as_string::<i32>();
            (texts.value_offsets().as_ptr(), texts.value_data().as_ptr(), texts.len())
        };
        *self.column == *column && place(&self.texts) == place(texts)
    }
}

impl KnownEntries {
    /// Knows none; what is held counts in a query's account.
    pub(crate) fn new(memory: &MemoryAccount) -> Result<Self, CubeError> {
        Ok(Self(Mutex::new(Known { dictionaries: VecDeque::new(), held: memory.try_reserve(0)? })))
    }

    /// The codes of the entries of a dictionary, made by `make` unless they are known.
    pub(crate) fn codes(
        &self,
        column: &Arc<str>,
        texts: &ArrayRef,
        make: impl FnOnce() -> Result<UInt32Array, CubeError>,
    ) -> Result<UInt32Array, CubeError> {
        let is_told_by_place = texts.as_string_opt::<i32>().is_some_and(|texts| texts.null_count() == 0);
        if !is_told_by_place || texts.len() < FEWEST_ENTRIES {
            return make();
        }
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entries) = known().dictionaries.iter().rev().find(|entries| entries.are(column, texts)) {
            return Ok(entries.codes.clone());
        }
        let codes = make()?;
        known().add(Entries { column: Arc::clone(column), texts: Arc::clone(texts), codes: codes.clone() });
        Ok(codes)
    }
}

impl Known {
    /// Knows one more, in place of the oldest; where there is no memory for it, it is looked up again.
    fn add(&mut self, entries: Entries) {
        while self.dictionaries.len() >= MOST {
            self.dictionaries.pop_front();
        }
        let before: usize = self.dictionaries.iter().map(Entries::bytes).sum();
        if self.held.try_resize(before + entries.bytes()).is_ok() {
            self.dictionaries.push_back(entries);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::StringArray;
    use std::cell::Cell;

    #[test]
    fn a_dictionary_is_looked_up_once() {
        let memory = MemoryAccount::new(100_000);
        let known = KnownEntries::new(&memory).unwrap();
        let texts = |end: &str| -> ArrayRef {
            Arc::new(StringArray::from_iter_values((0..100).map(|number| format!("{number}{end}"))))
        };
        let (desks, books) = (Arc::from("desk"), Arc::from("book"));
        let made = Cell::new(0);
        let codes = |column: &Arc<str>, texts: &ArrayRef| {
            let make = || {
                made.set(made.get() + 1);
                Ok(UInt32Array::from_iter_values(0..texts.len() as u32))
            };
            known.codes(column, texts, make).unwrap().len()
        };
        let (one, other) = (texts("a"), texts("b"));
        // Another array over the same buffers is the same dictionary.
        let again: ArrayRef = Arc::new(one.as_string::<i32>().clone());
        assert_eq!((codes(&desks, &one), codes(&desks, &again), made.get()), (100, 100, 1));
        assert_eq!((codes(&desks, &other), made.get()), (100, 2));
        assert_eq!((codes(&books, &one), made.get()), (100, 3));
        assert_eq!((codes(&desks, &one.slice(0, 50)), made.get()), (50, 4));
        assert!(memory.held() > 0);
        // The oldest goes when there are many.
        let many: Vec<ArrayRef> = (0..MOST).map(|number| texts(&format!("c{number}"))).collect();
        many.iter().for_each(|texts| assert_eq!(codes(&books, texts), 100));
        let before = made.get();
        assert_eq!((codes(&desks, &one), made.get()), (100, before + 1));
        drop(known);
        assert_eq!(memory.held(), 0);
    }

    #[test]
    fn without_memory_nothing_is_known_and_codes_are_right() {
        let memory = MemoryAccount::new(10);
        let known = KnownEntries::new(&memory).unwrap();
        let texts: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..100).map(|number| number.to_string())));
        let column = Arc::from("desk");
        let codes = |first: u32| {
            known.codes(&column, &texts, || Ok(UInt32Array::from_iter_values(first..first + 100))).unwrap()
        };
        assert_eq!((codes(0).value(0), codes(7).value(0), memory.held()), (0, 7, 0));
    }
}

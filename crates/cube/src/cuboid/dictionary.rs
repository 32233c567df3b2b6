//! One code per text and column, for all cuboids of a cube: slices then compare and hash as numbers.
//!
//! Codes are given in the order in which texts are first seen, by whichever query or task sees them first. So nothing may depend on which
//! code a text has: where a slice goes is decided by a hash of the text. A dictionary only grows; a cube begins new ones when the table changed
//! or they became too large, and what was computed with old ones goes with them.
//!
//! ```text
//!   hash ──► codes ──► [ frozen: one array | fresh: a builder ]      the text of a code
//! ```
//!
//! A text is held once: those that came since somebody last wanted all as an array are in a builder, which becomes that array, or its end.
//! A query that brings new texts pays for them while it runs; then they are the cube's, and its limit holds. Threads: any.

use crate::aggregate::CodeHashes;
use crate::error::CubeError;
use crate::memory::Reservation;
use arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, StringArray, StringBuilder, UInt32Array};
use arrow::compute::{cast, concat, take};
use arrow::datatypes::{DataType, UInt32Type};
use hashbrown::HashTable;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// What a text costs beside itself, in bytes: its code in the table, its hash, where it ends, and the room that these grow into.
const TEXT_COST: usize = 48;

/// An array of texts ends here.
const MOST_BYTES: usize = i32::MAX as usize;

/// What a query holds of texts that it brought itself. Its tasks share it.
pub(crate) type AddedTexts = Mutex<Reservation>;

/// The dictionaries of all text columns.
#[derive(Debug)]
pub(crate) struct Dictionaries {
    id: u64,
    columns: RwLock<BTreeMap<Arc<str>, Arc<Dictionary>>>,
}

/// The texts of one column.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    inner: Mutex<Inner>,
    /// Of the texts, by their codes: these decide where slices go.
    hashes: Arc<CodeHashes>,
}

#[derive(Debug)]
struct Inner {
    /// Codes, by the hashes of their texts.
    codes: HashTable<u32>,
    /// The texts of the first codes.
    frozen: Arc<StringArray>,
    /// The texts of all others.
    fresh: StringBuilder,
    /// About what they hold in all.
    bytes: usize,
    /// The texts alone.
    text_bytes: usize,
}

impl Default for Inner {
    fn default() -> Self {
        let frozen = Arc::new(StringArray::from(Vec::<&str>::new()));
        Self { codes: HashTable::new(), frozen, fresh: StringBuilder::new(), bytes: 0, text_bytes: 0 }
    }
}

impl Default for Dictionaries {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), columns: RwLock::default() }
    }
}

impl Dictionaries {
    /// Tells them from all others of this process.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The dictionary of a column.
    pub(crate) fn of(&self, column: &Arc<str>) -> Arc<Dictionary> {
        let known = self.columns.read().unwrap_or_else(|broken| broken.into_inner()).get(column).cloned();
        known.unwrap_or_else(|| {
            let mut columns = self.columns.write().unwrap_or_else(|broken| broken.into_inner());
            Arc::clone(columns.entry(Arc::clone(column)).or_default())
        })
    }

    /// About how much they hold, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let columns = self.columns.read().unwrap_or_else(|broken| broken.into_inner());
        columns.values().map(|dictionary| dictionary.lock().bytes).sum()
    }
}

impl Dictionary {
    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// The codes of a column of texts. Cheapest when it is dictionary-encoded already: each entry is looked up once.
    pub(crate) fn encode(&self, column: &ArrayRef, added: &AddedTexts) -> Result<UInt32Array, CubeError> {
        let arrow = |error| CubeError::arrow("key column", &error);
        if let DataType::Dictionary(..) = column.data_type() {
            let dictionary = column.as_any_dictionary();
            let codes = self.encode(dictionary.values(), added)?;
            let keys = cast(dictionary.keys(), &DataType::UInt32).map_err(arrow)?;
            let codes = take(&codes, keys.as_primitive::<UInt32Type>(), None).map_err(arrow)?;
            return Ok(codes.as_primitive::<UInt32Type>().clone());
        }
        let texts = cast(column, &DataType::Utf8).map_err(arrow)?;
        let texts = texts.as_string::<i32>();
        let (mut inner, mut added) = (self.lock(), added.lock().unwrap_or_else(PoisonError::into_inner));
        let mut code = |text: &str| inner.code(text, &self.hashes, &mut added);
        texts.iter().map(|text| text.map(&mut code).transpose()).collect()
    }

    /// The code of one text.
    pub(crate) fn code(&self, text: &str, added: &AddedTexts) -> Result<u32, CubeError> {
        let (mut inner, mut added) = (self.lock(), added.lock().unwrap_or_else(PoisonError::into_inner));
        inner.code(text, &self.hashes, &mut added)
    }

    /// How many texts there are.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Hashes of all texts, by their codes.
    pub(crate) fn hashes(&self) -> Arc<CodeHashes> {
        Arc::clone(&self.hashes)
    }

    /// All texts, by their codes.
    pub(crate) fn texts(&self) -> Arc<StringArray> {
        let mut inner = self.lock();
        inner.freeze();
        Arc::clone(&inner.frozen)
    }

    /// Codes with the texts that they stand for.
    pub(crate) fn decode(&self, codes: &UInt32Array) -> Result<ArrayRef, CubeError> {
        let decoded = DictionaryArray::<UInt32Type>::try_new(codes.clone(), self.texts());
        Ok(Arc::new(decoded.map_err(|error| CubeError::arrow("key column", &error))?))
    }
}

impl Inner {
    fn len(&self) -> usize {
        self.frozen.len() + self.fresh.offsets_slice().len() - 1
    }

    /// The text of a code.
    fn text(&self, code: u32) -> &[u8] {
        let code = code as usize;
        match code.checked_sub(self.frozen.len()) {
            None => self.frozen.value(code).as_bytes(),
            Some(number) => {
                let ends = self.fresh.offsets_slice();
                &self.fresh.values_slice()[ends[number] as usize..ends[number + 1] as usize]
            }
        }
    }

    fn code(&mut self, text: &str, hashes: &CodeHashes, added: &mut Reservation) -> Result<u32, CubeError> {
        let hash = CodeHashes::hash(text);
        if let Some(code) = self.codes.find(hash, |code| self.text(*code) == text.as_bytes()) {
            return Ok(*code);
        }
        if self.text_bytes + text.len() > MOST_BYTES {
            return Err(CubeError::Computation {
                place: "key column".to_owned(),
                message: "its different texts are more than 2 GB; group by numbers instead, or filter more"
                    .to_owned(),
            });
        }
        // The text twice: once as it grows, once as it is copied to the array of all.
        let cost = 2 * text.len() + TEXT_COST;
        added.try_grow(cost)?;
        let code = self.len() as u32;
        hashes.push(hash);
        self.fresh.append_value(text);
        self.codes.insert_unique(hash, code, |known| hashes.of(*known));
        (self.bytes, self.text_bytes) = (self.bytes + cost, self.text_bytes + text.len());
        Ok(code)
    }

    /// Moves all texts into one array.
    fn freeze(&mut self) {
        if self.fresh.offsets_slice().len() == 1 {
            return;
        }
        let fresh = self.fresh.finish();
        self.frozen = match self.frozen.is_empty() {
            true => Arc::new(fresh),
            // Both are texts, and together short enough for an array.
            false => match concat(&[&*self.frozen, &fresh]) {
                Ok(both) => Arc::new(both.as_string::<i32>().clone()),
                Err(error) => unreachable!("two arrays of texts are one: {error}"),
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryAccount;
    use arrow::datatypes::Int32Type;

    #[test]
    fn codes_are_given_once_and_read_back() {
        let dictionary = Dictionary::default();
        let memory = MemoryAccount::new(1_000);
        let added = Mutex::new(memory.try_reserve(0).unwrap());
        let plain: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), None, Some("a"), Some("b")]));
        let coded: ArrayRef = Arc::new(["c", "a"].into_iter().collect::<DictionaryArray<Int32Type>>());
        assert_eq!(
            dictionary.encode(&plain, &added).unwrap(),
            UInt32Array::from(vec![Some(0), None, Some(1), Some(0)])
        );
        let codes = dictionary.encode(&coded, &added).unwrap();
        assert_eq!(codes, UInt32Array::from(vec![2, 1]));
        let texts = cast(&dictionary.decode(&codes).unwrap(), &DataType::Utf8).unwrap();
        assert_eq!(texts.as_string::<i32>(), &StringArray::from(vec!["c", "a"]));
        // Frozen texts are found as well, and those that came since go behind them.
        assert_eq!((dictionary.code("a", &added).unwrap(), dictionary.code("d", &added).unwrap()), (1, 3));
        assert_eq!(*dictionary.texts(), StringArray::from(vec!["b", "a", "c", "d"]));
        assert_eq!((dictionary.code("d", &added).unwrap(), dictionary.len()), (3, 4));
        assert_eq!(memory.held(), 4 * (TEXT_COST + 2));
        let long = "e".repeat(1_000);
        assert!(matches!(dictionary.code(&long, &added), Err(CubeError::OverMemory { .. })));
        assert_eq!(dictionary.len(), 4);
        drop(added);
        assert_eq!(memory.held(), 0);
    }
}

//! One code per text and column, for all cuboids of a cube: slices then compare and hash as numbers.
//!
//! Codes are given in the order in which texts are first seen, by whichever query or task sees them first. So nothing may depend on which
//! code a text has: where a slice goes is decided by a hash of the text. A dictionary only grows; a cube begins new ones when the table changed
//! or they became too large, and what was computed with old ones goes with them.

use crate::aggregate::CodeHashes;
use crate::error::CubeError;
use arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, StringArray, UInt32Array};
use arrow::compute::{cast, take};
use arrow::datatypes::{DataType, UInt32Type};
use foldhash::HashMap;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

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

#[derive(Debug, Default)]
struct Inner {
    codes: HashMap<Arc<str>, u32>,
    texts: Vec<Arc<str>>,
    bytes: usize,
    /// All texts as an array, until there are more.
    array: Option<Arc<StringArray>>,
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
    pub(crate) fn encode(&self, column: &ArrayRef) -> Result<UInt32Array, CubeError> {
        let arrow = |error| CubeError::arrow("key column", &error);
        if let DataType::Dictionary(..) = column.data_type() {
            let dictionary = column.as_any_dictionary();
            let codes = self.encode(dictionary.values())?;
            let keys = cast(dictionary.keys(), &DataType::UInt32).map_err(arrow)?;
            let codes = take(&codes, keys.as_primitive::<UInt32Type>(), None).map_err(arrow)?;
            return Ok(codes.as_primitive::<UInt32Type>().clone());
        }
        let texts = cast(column, &DataType::Utf8).map_err(arrow)?;
        let texts = texts.as_string::<i32>();
        let mut inner = self.lock();
        Ok(texts.iter().map(|text| text.map(|text| inner.code(text, &self.hashes))).collect())
    }

    /// The code of one text.
    pub(crate) fn code(&self, text: &str) -> u32 {
        self.lock().code(text, &self.hashes)
    }

    /// Hashes of all texts, by their codes.
    pub(crate) fn hashes(&self) -> Arc<CodeHashes> {
        Arc::clone(&self.hashes)
    }

    /// All texts, by their codes.
    pub(crate) fn texts(&self) -> Arc<StringArray> {
        let mut inner = self.lock();
        if let Some(array) = &inner.array {
            return Arc::clone(array);
        }
        let array = Arc::new(StringArray::from_iter_values(&inner.texts));
        inner.array = Some(Arc::clone(&array));
        array
    }

    /// Codes with the texts that they stand for.
    pub(crate) fn decode(&self, codes: &UInt32Array) -> Result<ArrayRef, CubeError> {
        let decoded = DictionaryArray::<UInt32Type>::try_new(codes.clone(), self.texts());
        Ok(Arc::new(decoded.map_err(|error| CubeError::arrow("key column", &error))?))
    }
}

impl Inner {
    fn code(&mut self, text: &str, hashes: &CodeHashes) -> u32 {
        if let Some(code) = self.codes.get(text) {
            return *code;
        }
        let text: Arc<str> = text.into();
        let code = self.texts.len() as u32;
        hashes.push(&text);
        self.bytes += text.len() + 72;
        self.texts.push(Arc::clone(&text));
        self.codes.insert(text, code);
        self.array = None;
        code
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::Int32Type;

    #[test]
    fn codes_are_given_once_and_read_back() {
        let dictionary = Dictionary::default();
        let plain: ArrayRef = Arc::new(StringArray::from(vec![Some("b"), None, Some("a"), Some("b")]));
        let coded: ArrayRef = Arc::new(["c", "a"].into_iter().collect::<DictionaryArray<Int32Type>>());
        assert_eq!(
            dictionary.encode(&plain).unwrap(),
            UInt32Array::from(vec![Some(0), None, Some(1), Some(0)])
        );
        let codes = dictionary.encode(&coded).unwrap();
        assert_eq!(codes, UInt32Array::from(vec![2, 1]));
        let texts = cast(&dictionary.decode(&codes).unwrap(), &DataType::Utf8).unwrap();
        assert_eq!(texts.as_string::<i32>(), &StringArray::from(vec!["c", "a"]));
    }
}

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
use arrow::array::{
    AnyDictionaryArray, Array, ArrayRef, AsArray, DictionaryArray, StringArray, StringBuilder,
    StringViewArray, UInt32Array,
};
use arrow::buffer::ScalarBuffer;
use arrow::compute::{cast, concat, take};
use arrow::datatypes::{DataType, Int32Type, UInt32Type};
use foldhash::{HashMap, HashMapExt};
use hashbrown::HashTable;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

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
    inner: RwLock<Inner>,
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
        columns.values().map(|dictionary| dictionary.read().bytes).sum()
    }
}

impl Dictionary {
    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The codes of a column of texts, out of order and side by side. Cheapest when the same text often stands for itself: entries of a
    /// dictionary, and views of one place, are looked up once.
    pub(crate) fn encode(&self, column: &ArrayRef, added: &AddedTexts) -> Result<UInt32Array, CubeError> {
        let arrow = |error| CubeError::arrow("key column", &error);
        if let Some(dictionary) = column.as_any_dictionary_opt() {
            return of_rows(dictionary, &self.encode(dictionary.values(), added)?);
        }
        if let Some(views) = column.as_string_view_opt() {
            return self.encode_views(views, added);
        }
        let texts = cast(column, &DataType::Utf8).map_err(arrow)?;
        let texts: Vec<Option<&str>> = texts.as_string::<i32>().iter().collect();
        let mut codes =
            self.codes_of(&texts.iter().flatten().copied().collect::<Vec<_>>(), added)?.into_iter();
        Ok(texts.into_iter().map(|text| text.and_then(|_| codes.next())).collect())
    }

    /// A view of a short text is that text, one of a long text says where it lies: equal views are equal texts. Those of a column that a
    /// file has as a dictionary lie where its entry does.
    fn encode_views(&self, views: &StringViewArray, added: &AddedTexts) -> Result<UInt32Array, CubeError> {
        let mut known: HashMap<u128, u32> = HashMap::new();
        // The number of each row's view, and a row of each.
        let (mut numbers, mut firsts): (Vec<u32>, Vec<usize>) = (Vec::with_capacity(views.len()), Vec::new());
        for (row, view) in views.views().iter().enumerate() {
            // What stands at a missing value is no view.
            if views.is_null(row) {
                numbers.push(0);
                continue;
            }
            numbers.push(*known.entry(*view).or_insert_with(|| {
                firsts.push(row);
                firsts.len() as u32 - 1
            }));
        }
        let codes = self.codes_of(&firsts.iter().map(|row| views.value(*row)).collect::<Vec<_>>(), added)?;
        let codes: Vec<u32> =
            numbers.iter().map(|number| codes.get(*number as usize).copied().unwrap_or(0)).collect();
        Ok(UInt32Array::new(codes.into(), views.nulls().cloned()))
    }

    /// The codes of some texts. Those that are known already only read.
    fn codes_of(&self, texts: &[&str], added: &AddedTexts) -> Result<Vec<u32>, CubeError> {
        let hashes: Vec<u64> = texts.iter().map(|text| CodeHashes::hash(text)).collect();
        let mut codes = Vec::with_capacity(texts.len());
        let mut unknown = Vec::new();
        let inner = self.read();
        for (number, (text, hash)) in texts.iter().zip(&hashes).enumerate() {
            codes.push(inner.find(text, *hash).unwrap_or_else(|| {
                unknown.push(number);
                0
            }));
        }
        drop(inner);
        if !unknown.is_empty() {
            let mut added = added.lock().unwrap_or_else(PoisonError::into_inner);
            let mut inner = self.write();
            for number in unknown {
                codes[number] = inner.code(texts[number], hashes[number], &self.hashes, &mut added)?;
            }
        }
        Ok(codes)
    }

    /// The code of one text.
    pub(crate) fn code(&self, text: &str, added: &AddedTexts) -> Result<u32, CubeError> {
        let mut added = added.lock().unwrap_or_else(PoisonError::into_inner);
        self.write().code(text, CodeHashes::hash(text), &self.hashes, &mut added)
    }

    /// How many texts there are.
    pub(crate) fn len(&self) -> usize {
        self.read().len()
    }

    /// Hashes of all texts, by their codes.
    pub(crate) fn hashes(&self) -> Arc<CodeHashes> {
        Arc::clone(&self.hashes)
    }

    /// All texts, by their codes.
    pub(crate) fn texts(&self) -> Arc<StringArray> {
        let mut inner = self.write();
        inner.freeze();
        Arc::clone(&inner.frozen)
    }

    /// Codes with the texts that they stand for.
    pub(crate) fn decode(&self, codes: &UInt32Array) -> Result<ArrayRef, CubeError> {
        let decoded = DictionaryArray::<UInt32Type>::try_new(codes.clone(), self.texts());
        Ok(Arc::new(decoded.map_err(|error| CubeError::arrow("key column", &error))?))
    }
}

/// The codes of the rows of a dictionary, by those of its entries.
pub(crate) fn of_rows(
    rows: &dyn AnyDictionaryArray,
    entries: &UInt32Array,
) -> Result<UInt32Array, CubeError> {
    if let Some(keys) = rows.keys().as_primitive_opt::<Int32Type>()
        && entries.null_count() == 0
    {
        // What stands at a missing value may be anything.
        let code = |key: &i32| entries.values().get(*key as usize).copied().unwrap_or(0);
        let codes: ScalarBuffer<u32> = keys.values().iter().map(code).collect();
        return Ok(UInt32Array::new(codes, keys.nulls().cloned()));
    }
    let arrow = |error| CubeError::arrow("key column", &error);
    let keys = cast(rows.keys(), &DataType::UInt32).map_err(arrow)?;
    let codes = take(entries, keys.as_primitive::<UInt32Type>(), None).map_err(arrow)?;
    Ok(codes.as_primitive::<UInt32Type>().clone())
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

    /// The code of a text that is known.
    fn find(&self, text: &str, hash: u64) -> Option<u32> {
        self.codes.find(hash, |code| self.text(*code) == text.as_bytes()).copied()
    }

    fn code(
        &mut self,
        text: &str,
        hash: u64,
        hashes: &CodeHashes,
        added: &mut Reservation,
    ) -> Result<u32, CubeError> {
        if let Some(code) = self.find(text, hash) {
            return Ok(code);
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
        let views: ArrayRef = Arc::new(StringViewArray::from(vec![Some("c"), None, Some("a"), Some("c")]));
        assert_eq!(
            dictionary.encode(&views, &added).unwrap(),
            UInt32Array::from(vec![Some(2), None, Some(1), Some(2)])
        );
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

    /// Long texts, whose views only say where they lie, of which some lie in two places.
    #[test]
    fn views_have_the_codes_of_their_texts() {
        let long = |number: usize| format!("a text that has no room in a view, {number}");
        let texts: Vec<Option<String>> = (0..500).map(|row| (row % 7 != 0).then(|| long(row % 90))).collect();
        let plain: ArrayRef = Arc::new(texts.iter().cloned().collect::<StringArray>());
        let views: ArrayRef = Arc::new(texts.into_iter().collect::<StringViewArray>());
        let dictionary = Dictionary::default();
        let added = Mutex::new(MemoryAccount::unlimited().try_reserve(0).unwrap());
        let codes = dictionary.encode(&views.slice(3, 400), &added).unwrap();
        assert_eq!(codes, dictionary.encode(&plain.slice(3, 400), &added).unwrap());
        let told = cast(&dictionary.decode(&codes).unwrap(), &DataType::Utf8).unwrap();
        assert_eq!(*told, *plain.slice(3, 400));
    }

    /// Texts that several bring at a time have one code each.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "the threads of several queries are what is tested")]
    fn codes_are_given_side_by_side() {
        let dictionary = Dictionary::default();
        let added = Mutex::new(MemoryAccount::unlimited().try_reserve(0).unwrap());
        let column: ArrayRef =
            Arc::new(StringArray::from_iter_values((0..2_000).map(|row| format!("{row}"))));
        let codes: Vec<UInt32Array> = std::thread::scope(|scope| {
            let encode = || scope.spawn(|| dictionary.encode(&column, &added).unwrap());
            let all: Vec<_> = (0..4).map(|_| encode()).collect();
            all.into_iter().map(|each| each.join().unwrap()).collect()
        });
        assert!(codes.iter().all(|each| *each == codes[0]));
        assert_eq!(dictionary.len(), 2_000);
    }
}

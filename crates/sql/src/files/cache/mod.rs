//! Columns of Parquet files that were decoded before, for the next query that asks for them.
//!
//! Of the time of a query over Parquet files, most goes into decompressing and decoding, and the next query over the same files does
//! it again. So a column of a row group that is asked for a second time is kept as the arrays it was decoded into, within a bound of bytes
//! (`cache_bytes`). The first time nothing is kept: a file that is read once must not drive out what is read every minute, and a first
//! read may skip what its conditions exclude, while what is kept is whole.
//!
//! A file that changed is another file: its length and time of change are part of the key. What was rejected: to keep compressed pages
//! (the page cache of the system does that, and decoding is what costs), and whole batches (two queries seldom ask for the same set of columns).
//!
//! Which threads: fragments look, once per row group; one lock, held for a few look-ups.

mod morselizer;
mod side_by_side;

pub(super) use morselizer::caching;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion::object_store::ObjectMeta;
use datafusion::object_store::path::Path;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Columns that are remembered as asked for once; beyond that all are forgotten and begin anew.
const MOST_ASKED: usize = 1 << 16;

/// The part of all room that the columns of one row group may take.
const SHARE: usize = 4;

/// A file as it was at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct FileVersion {
    path: Path,
    bytes: u64,
    modified_ns: i64,
}

impl FileVersion {
    /// None for a time that nobody can have changed a file at.
    fn of(file: &ObjectMeta) -> Option<Self> {
        let modified_ns = file.last_modified.timestamp_nanos_opt()?;
        Some(Self { path: file.location.clone(), bytes: file.size, modified_ns })
    }
}

/// A column of a row group, as a type.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct ChunkKey {
    file: Arc<FileVersion>,
    group: usize,
    column: Arc<str>,
    data_type: DataType,
}

/// The arrays of a column of a row group, in order.
type Pieces = Arc<[ArrayRef]>;

#[derive(Debug)]
struct Chunk {
    pieces: Pieces,
    bytes: usize,
    /// Since the hand of the clock was here.
    is_used: bool,
}

/// The decoded columns of one engine.
#[derive(Debug)]
pub(crate) struct ColumnCache {
    most_bytes: usize,
    held: Mutex<Held>,
    hits: AtomicU64,
    loads: AtomicU64,
}

#[derive(Debug, Default)]
struct Held {
    chunks: HashMap<ChunkKey, Chunk>,
    /// The clock: the first is looked at next.
    order: VecDeque<ChunkKey>,
    asked: HashSet<ChunkKey>,
    bytes: usize,
}

/// What the cache of columns holds and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheSnapshot {
    /// Bytes that it holds.
    pub bytes: usize,
    /// Columns of row groups that were taken from it.
    pub hits: u64,
    /// Columns of row groups that were put into it.
    pub loads: u64,
}

impl ColumnCache {
    /// None when there is no room.
    pub(crate) fn new(most_bytes: usize) -> Option<Arc<Self>> {
        let empty = || {
            Arc::new(Self {
                most_bytes,
                held: Mutex::default(),
                hits: AtomicU64::new(0),
                loads: AtomicU64::new(0),
            })
        };
        (most_bytes > 0).then(empty)
    }

    pub(crate) fn snapshot(&self) -> CacheSnapshot {
        CacheSnapshot {
            bytes: self.lock().bytes,
            hits: self.hits.load(Ordering::Relaxed),
            loads: self.loads.load(Ordering::Relaxed),
        }
    }

    /// The columns that are here.
    fn find(&self, keys: &[ChunkKey]) -> Vec<Option<Pieces>> {
        let mut held = self.lock();
        let found: Vec<Option<Pieces>> = keys
            .iter()
            .map(|key| {
                let chunk = held.chunks.get_mut(key)?;
                chunk.is_used = true;
                Some(Arc::clone(&chunk.pieces))
            })
            .collect();
        drop(held);
        self.hits.fetch_add(found.iter().flatten().count() as u64, Ordering::Relaxed);
        found
    }

    /// True when columns of about so many bytes should be kept, if they are read: all were asked for before. Remembers that they were.
    fn is_worth_keeping<'a>(&self, keys: impl Iterator<Item = &'a ChunkKey>, bytes: u64) -> bool {
        if bytes > (self.most_bytes / SHARE) as u64 {
            return false;
        }
        let mut held = self.lock();
        let mut is_known = true;
        for key in keys {
            if held.asked.len() >= MOST_ASKED {
                held.asked.clear();
            }
            is_known &= !held.asked.insert(key.clone());
        }
        is_known
    }

    /// Keeps a column, in place of some that were not used for long.
    fn keep(&self, key: ChunkKey, pieces: Vec<ArrayRef>) {
        let bytes = bytes_of(&pieces);
        if bytes > self.most_bytes / SHARE {
            return;
        }
        let mut held = self.lock();
        if held.chunks.contains_key(&key) {
            return;
        }
        while held.bytes + bytes > self.most_bytes {
            if !held.turn() {
                return;
            }
        }
        held.bytes += bytes;
        held.order.push_back(key.clone());
        held.chunks.insert(key, Chunk { pieces: pieces.into(), bytes, is_used: false });
        drop(held);
        self.loads.fetch_add(1, Ordering::Relaxed);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Held> {
        // What is inside is whole between calls, whoever panicked.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Moves the hand of the clock by one: what was used gets another round, what was not goes. False when there is nothing.
    fn turn(&mut self) -> bool {
        let Some(key) = self.order.pop_front() else { return false };
        match self.chunks.get_mut(&key) {
            Some(chunk) if chunk.is_used => {
                chunk.is_used = false;
                self.order.push_back(key);
            }
            _ => {
                if let Some(chunk) = self.chunks.remove(&key) {
                    self.bytes -= chunk.bytes;
                }
            }
        }
        true
    }
}

/// What arrays hold. Arrays of texts share the pages they were decoded from, which count once.
fn bytes_of(pieces: &[ArrayRef]) -> usize {
    let mut seen = HashSet::new();
    let mut bytes = 0;
    for piece in pieces {
        let data = piece.to_data();
        let mut nodes = vec![&data];
        while let Some(node) = nodes.pop() {
            let buffers = node.buffers().iter().chain(node.nulls().map(|nulls| nulls.buffer()));
            bytes += size_of_val(node);
            bytes += buffers
                .filter(|buffer| seen.insert(buffer.data_ptr()))
                .map(|buffer| buffer.capacity())
                .sum::<usize>();
            nodes.extend(node.child_data());
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Int64Array;

    fn key(column: &str) -> ChunkKey {
        let file = FileVersion { path: Path::from("a.parquet"), bytes: 1, modified_ns: 1 };
        ChunkKey { file: Arc::new(file), group: 0, column: column.into(), data_type: DataType::Int64 }
    }

    fn pieces(rows: i64) -> Vec<ArrayRef> {
        vec![Arc::new(Int64Array::from_iter_values(0..rows))]
    }

    #[test]
    fn what_is_asked_for_twice_is_worth_keeping() {
        let cache = ColumnCache::new(1 << 20).unwrap();
        let keys = [key("a"), key("b")];
        assert!(!cache.is_worth_keeping(keys[..1].iter(), 100));
        assert!(!cache.is_worth_keeping(keys.iter(), 100), "one of them is new");
        assert!(cache.is_worth_keeping(keys.iter(), 100));
        assert!(!cache.is_worth_keeping(keys.iter(), 1 << 20), "too large");
        assert!(ColumnCache::new(0).is_none());
    }

    #[test]
    fn what_is_not_used_makes_room() {
        let cache = ColumnCache::new(12_000).unwrap();
        for name in ["a", "b", "c"] {
            cache.keep(key(name), pieces(300));
        }
        assert_eq!(cache.snapshot().loads, 3);
        assert!(cache.find(&[key("a")])[0].is_some());
        for name in ["d", "e"] {
            cache.keep(key(name), pieces(300));
        }
        let found = cache.find(&["a", "b", "c", "d", "e"].map(key));
        let is_there: Vec<bool> = found.iter().map(Option::is_some).collect();
        assert!(is_there[0], "it was used");
        assert!(!is_there[1], "the first that was not used went");
        assert!(is_there[4], "{is_there:?}");
        let bytes = cache.snapshot().bytes;
        assert!(bytes <= 12_000 && bytes > 5_000, "{bytes}");
        cache.keep(key("large"), pieces(1_000));
        assert!(cache.find(&[key("large")])[0].is_none(), "it would take too much of all room");
    }

    #[test]
    fn shared_buffers_count_once() {
        let whole: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1_000));
        let halves = [whole.slice(0, 500), whole.slice(500, 500)];
        assert!(bytes_of(&halves) < 8_000 + 1_000);
        assert!(bytes_of(&halves) >= 8_000);
    }
}

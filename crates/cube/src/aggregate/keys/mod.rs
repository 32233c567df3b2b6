//! Keys of rows in a form that can be hashed, compared, moved and turned back into columns.
//!
//! Two forms. *Words*: one number per row, for a single column of at most 64 bits (NULL is told beside) and for several that fit into 64 or
//! 128 bits with a bit for NULL each. *Rows*: bytes made by Arrow's row format, for all else. Either way two rows have the same key exactly when
//! the words or the bytes are the same: floats are normalised before (one zero, one NaN).
//!
//! Rejected: comparing column by column against builders per column. It saves the copy into the row format, and costs a dispatch per
//! column and row in the one loop that has to be short.
//!
//! Threads: a codec is shared by all tasks of a grouping and has no state.

mod codec;
mod coded;
mod codes;
mod words;

pub(super) use codec::{BlockKeys, KeyCodec};
pub(crate) use codes::CodeHashes;
pub(super) use codes::hashes_of_texts;
pub(super) use words::{Word, Words};

use arrow::row::Rows;
use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hasher};

/// Encoded keys of some rows.
pub(super) enum Keys {
    /// A word of 64 bits each.
    Words(Words<u64>),
    /// A word of 128 bits each, signed because Arrow's buffers are.
    Wide(Words<i128>),
    /// Some bytes each.
    Rows(Rows),
}

/// The hash of a row of bytes.
#[inline]
pub(super) fn hash_bytes(bytes: &[u8]) -> u64 {
    let mut hasher = FixedState::with_seed(0).build_hasher();
    hasher.write(bytes);
    hasher.finish()
}

impl Keys {
    /// How many rows.
    pub(super) fn len(&self) -> usize {
        match self {
            Keys::Words(words) => words.values.len(),
            Keys::Wide(words) => words.values.len(),
            Keys::Rows(rows) => rows.num_rows(),
        }
    }

    /// What they hold, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Keys::Words(words) => words.bytes(),
            Keys::Wide(words) => words.bytes(),
            Keys::Rows(rows) => rows.size(),
        }
    }

    /// The hashes of all rows.
    pub(super) fn hashes(&self) -> Vec<u64> {
        self.by_hash(|hash| hash)
    }

    /// What `of` makes of the hash of each row: the high half is good for pieces, since tables use others.
    pub(super) fn by_hash<T>(&self, of: impl Fn(u64) -> T) -> Vec<T> {
        match self {
            Keys::Words(words) => words.by_hash(of),
            Keys::Wide(words) => words.by_hash(of),
            Keys::Rows(rows) => rows.iter().map(|row| of(hash_bytes(row.data()))).collect(),
        }
    }
}

//! Keys of rows in a form that can be hashed, compared, moved and turned back into columns.
//!
//! Two forms. *Words*: one `u64` per row, for a single column of at most 64 bits (NULL is told beside) and for several that fit into 64
//! bits with a bit for NULL each. *Rows*: bytes made by Arrow's row format, for all else. Either way two rows have the same key exactly when
//! the words or the bytes are the same: floats are normalised before (one zero, one NaN).
//!
//! Rejected: comparing column by column against builders per column. It saves the copy into the row format, and costs a dispatch per
//! column and row in the one loop that has to be short.
//!
//! Threads: a codec is shared by all tasks of a grouping and has no state.

mod codec;
mod coded;
mod words;

pub(super) use codec::{BlockKeys, KeyCodec};
pub(super) use words::Words;

use arrow::row::Rows;
use foldhash::fast::FixedState;
use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

/// Encoded keys of some rows.
pub(super) enum Keys {
    /// One word each.
    Words(Words),
    /// Some bytes each.
    Rows(Rows),
}

/// The hash of a word: a full product, folded, so that high and low bits are both good. Partitions take the high half, tables the low bits.
#[inline(always)]
pub(super) fn hash_word(word: u64) -> u64 {
    let product = u128::from(word ^ 0x243f_6a88_85a3_08d3) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
    (product as u64) ^ ((product >> 64) as u64)
}

/// The hash of a NULL that is told beside its word.
pub(super) const NULL_HASH: u64 = 0x1319_8a2e_0370_7344;

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
            Keys::Rows(rows) => rows.num_rows(),
        }
    }

    /// What they hold, in bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Keys::Words(words) => words.bytes(),
            Keys::Rows(rows) => rows.size(),
        }
    }

    /// Appends the hashes of some rows.
    pub(super) fn hashes(&self, rows: Range<usize>, hashes: &mut Vec<u64>) {
        match self {
            Keys::Words(words) => {
                hashes.extend(words.values[rows.clone()].iter().map(|word| hash_word(*word)));
                if let Some(nulls) = &words.nulls {
                    let first = hashes.len() - rows.len();
                    for (offset, row) in rows.enumerate() {
                        if nulls.value(row) {
                            hashes[first + offset] = NULL_HASH;
                        }
                    }
                }
            }
            Keys::Rows(encoded) => hashes.extend(rows.map(|row| hash_bytes(encoded.row(row).data()))),
        }
    }
}

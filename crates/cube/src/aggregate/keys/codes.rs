//! Where slices go whose keys are codes: by the texts that these stand for, and not by the codes.
//!
//! Codes are given as texts come. Queries that run at the same time, or the tasks of one, may bring them in any order, and a cube keeps
//! its codes from query to query. If the code of a text decided its partition, so would chance decide the order in which slices are added up, and
//! the last bits of a sum of floats. So every dictionary keeps a hash of each of its texts beside the codes.

use super::KeyCodec;
use super::words::{NULL_HASH, folded};
use crate::error::CubeError;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::UInt32Type;
use filbert_pool::ChunkedList;
use foldhash::fast::FixedState;
use std::hash::BuildHasher;
use std::sync::{Arc, PoisonError, RwLock};

/// Hashes of the texts of a column, by their codes. Whoever gives codes adds to them, everybody else reads: many at a time.
#[derive(Debug, Default)]
pub(crate) struct CodeHashes {
    /// In chunks, so that nobody who reads waits for a copy of them all.
    hashes: RwLock<ChunkedList<u64>>,
}

impl CodeHashes {
    /// The hash of a text.
    pub(crate) fn hash(text: &str) -> u64 {
        FixedState::with_seed(11).hash_one(text)
    }

    /// The hash of the text of the next code.
    pub(crate) fn push(&self, hash: u64) {
        self.hashes.write().unwrap_or_else(PoisonError::into_inner).push(hash);
    }

    /// The hash of the text of a code.
    pub(crate) fn of(&self, code: u32) -> u64 {
        self.hashes.read().unwrap_or_else(PoisonError::into_inner)[code as usize]
    }

    fn mix(&self, codes: &ArrayRef, hashes: &mut [u64]) {
        let codes = codes.as_primitive::<UInt32Type>();
        let known = self.hashes.read().unwrap_or_else(PoisonError::into_inner);
        let of = |code: u32| known.get(code as usize).copied().unwrap_or(NULL_HASH);
        match codes.nulls() {
            None => {
                hashes
                    .iter_mut()
                    .zip(codes.values())
                    .for_each(|(hash, code)| *hash = mixed(*hash, of(*code)));
            }
            Some(_) => {
                let each = hashes.iter_mut().zip(codes.iter());
                each.for_each(|(hash, code)| *hash = mixed(*hash, code.map_or(NULL_HASH, of)));
            }
        }
    }
}

#[inline(always)]
fn mixed(hash: u64, other: u64) -> u64 {
    folded(hash ^ other, 0x9e37_79b9_7f4a_7c15)
}

/// The hash of each row, by what it stands for: of texts where there are hashes of them, else of the values.
pub(in super::super) fn hashes_of_texts(
    columns: &[ArrayRef],
    codes: &[Option<Arc<CodeHashes>>],
    rows: usize,
) -> Result<Vec<u64>, CubeError> {
    let mut hashes = vec![0x243f_6a88_85a3_08d3; rows];
    for (column, codes) in columns.iter().zip(codes) {
        match codes {
            Some(codes) => codes.mix(column, &mut hashes),
            None => {
                let keys = KeyCodec::new(&[column.data_type().clone()])?
                    .encode(std::slice::from_ref(column), rows)?;
                hashes.iter_mut().zip(keys.hashes()).for_each(|(hash, other)| *hash = mixed(*hash, other));
            }
        }
    }
    Ok(hashes)
}

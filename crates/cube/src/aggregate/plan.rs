//! What all tasks of one grouping share: how keys are encoded, which columns are read, which piece a key belongs to.
//!
//! A *piece* is what one task aggregates: a partition, or one of the equal parts of it when there are few partitions. Pieces are found
//! by multiply-and-shift from the high half of the hash, tables use the low bits, so the two are independent; and since a partition is a
//! whole number of pieces, its number does not depend on how many pieces there are.

use super::block::Block;
use super::carriers::Carriers;
use super::function::Aggregate;
use super::keys::{BlockKeys, CodeHashes, KeyCodec, Keys, hashes_of_texts};
use super::options::{GroupingOptions, Sizes, Strategy};
use super::table::GroupTable;
use super::values::{Column, ColumnNeed};
use crate::error::CubeError;
use crate::memory::MemoryAccount;
use crate::observed::Observed;
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// At least so many pieces: with less, a piece of some millions of keys has no room in the cache.
const FEWEST_PIECES: usize = 64;

/// More partitions than this make no sense on any machine, and pieces are numbered in 16 bits.
const MOST_PARTITIONS: usize = 4096;

pub(super) struct Plan {
    pub(super) codec: KeyCodec,
    shard: Option<(Vec<usize>, KeyCodec)>,
    /// Hashes of the texts of key columns that have codes; none at all when no column has.
    codes: Vec<Option<Arc<CodeHashes>>>,
    pub(super) aggregates: Vec<Aggregate>,
    pub(super) needs: Vec<ColumnNeed>,
    /// Which column each aggregate reads.
    pub(super) reads: Vec<usize>,
    /// True when the carriers of all aggregates can be written to disk.
    pub(super) saves_groups: bool,
    pub(super) partitions: usize,
    pub(super) pieces_each: usize,
    pub(super) memory: MemoryAccount,
    pub(super) strategy: Option<Strategy>,
    pub(super) sizes: Sizes,
    cancelled: Arc<AtomicBool>,
    /// Where parts and groups are made.
    pub(super) observed: Observed,
    /// Nobody wants the result any more.
    pub(super) abandoned: AtomicBool,
}

impl Plan {
    pub(super) fn new(
        keys: &[DataType],
        aggregates: Vec<Aggregate>,
        options: &GroupingOptions,
    ) -> Result<Self, CubeError> {
        let partitions = options.partitions;
        if !(1..=MOST_PARTITIONS).contains(&partitions) {
            return Err(CubeError::InvalidQuery {
                problem: format!(
                    "{partitions} partitions were asked for; 1 to {MOST_PARTITIONS} can be made"
                ),
            });
        }
        let shard = match &options.shard {
            Some(columns) if columns.iter().copied().ne(0..keys.len()) => {
                let types: Option<Vec<DataType>> =
                    columns.iter().map(|column| keys.get(*column).cloned()).collect();
                let types = types.ok_or_else(|| CubeError::InvalidQuery {
                    problem: format!("shard columns {columns:?} of a grouping by {} columns", keys.len()),
                })?;
                Some((columns.clone(), KeyCodec::new(&types)?))
            }
            _ => None,
        };
        // A shard column may have few values, and all rows then one partition: several tasks share it.
        let fewest_each = if shard.is_some() { 8 } else { 1 };
        let pieces_each = FEWEST_PIECES.div_ceil(partitions).max(fewest_each);
        let mut needs: Vec<ColumnNeed> = Vec::new();
        let mut reads = Vec::with_capacity(aggregates.len());
        let mut saves_groups = true;
        for aggregate in &aggregates {
            // Refused here and not when the first row comes.
            let carriers = aggregate.carriers()?;
            saves_groups &= aggregate.telling(|| carriers.save(&[]))?.is_some();
            let need = aggregate.need();
            reads.push(needs.iter().position(|known| *known == need).unwrap_or_else(|| {
                needs.push(need);
                needs.len() - 1
            }));
        }
        Ok(Self {
            codec: KeyCodec::new(keys)?,
            shard,
            codes: options.codes.clone(),
            aggregates,
            needs,
            reads,
            saves_groups,
            partitions,
            pieces_each,
            memory: options.memory.clone(),
            strategy: options.strategy,
            sizes: options.sizes,
            cancelled: Arc::clone(&options.cancelled),
            observed: options.observed.clone(),
            abandoned: AtomicBool::new(false),
        })
    }

    pub(super) fn pieces(&self) -> usize {
        self.partitions * self.pieces_each
    }

    pub(super) fn table(&self) -> GroupTable {
        GroupTable::new(self.codec.empty())
    }

    pub(super) fn carriers(&self) -> Result<Vec<Box<dyn Carriers>>, CubeError> {
        self.aggregates.iter().map(Aggregate::carriers).collect()
    }

    /// The columns of a block that aggregates read.
    pub(super) fn columns(&self, block: &Block) -> Result<Vec<Column>, CubeError> {
        self.needs.iter().map(|need| Column::of(need, &block.inputs, &block.filters)).collect()
    }

    /// Returns the columns without dictionaries: blocks that are moved together have different ones.
    pub(super) fn columns_to_move(&self, block: &Block) -> Result<Vec<Column>, CubeError> {
        let column = |need: &ColumnNeed| Column::of(&need.without_entries(), &block.inputs, &block.filters);
        self.needs.iter().map(column).collect()
    }

    /// Refuses to go on when the query was cancelled.
    pub(super) fn check(&self) -> Result<(), CubeError> {
        if self.cancelled.load(Ordering::Relaxed) || self.abandoned.load(Ordering::Relaxed) {
            return Err(CubeError::Cancelled);
        }
        Ok(())
    }

    /// The piece of each row of a block.
    pub(super) fn pieces_of_block(&self, block: &Block, keys: &BlockKeys) -> Result<Vec<u16>, CubeError> {
        match &keys.codes {
            None => self.pieces_of(&keys.keys, Some(&block.keys)),
            Some(codes) => {
                let of_keys = self.pieces_of(&keys.keys, None)?;
                Ok(codes.iter().map(|code| of_keys[*code as usize]).collect())
            }
        }
    }

    /// The piece of each key; `columns` when the keys are at hand as columns too.
    pub(super) fn pieces_of(&self, keys: &Keys, columns: Option<&[ArrayRef]>) -> Result<Vec<u16>, CubeError> {
        let pieces = self.pieces() as u64;
        let has_codes = self.codes.iter().any(Option::is_some);
        if self.shard.is_none() && !has_codes {
            return Ok(keys.by_hash(|hash| part(hash, pieces)));
        }
        let decoded;
        let columns = match columns {
            Some(columns) => columns,
            None => {
                decoded = self.codec.decode(keys)?;
                &decoded
            }
        };
        let hashes = match has_codes {
            true => hashes_of_texts(columns, &self.codes, keys.len())?,
            false => keys.hashes(),
        };
        let Some((shard, codec)) = &self.shard else {
            return Ok(hashes.into_iter().map(|hash| part(hash, pieces)).collect());
        };
        let columns: Vec<ArrayRef> = shard.iter().map(|column| Arc::clone(&columns[*column])).collect();
        let codes = shard.iter().map(|column| self.codes.get(*column).cloned().flatten());
        let codes: Vec<Option<Arc<CodeHashes>>> = codes.collect();
        // Groupings that have these columns in common, and no other, go the same way.
        let of_shards = match codes.iter().any(Option::is_some) {
            true => hashes_of_texts(&columns, &codes, keys.len())?,
            false => codec.encode(&columns, keys.len())?.hashes(),
        };
        let (partitions, each) = (self.partitions as u64, self.pieces_each as u64);
        let piece = |(shard, hash): (&u64, &u64)| {
            part(*shard, partitions) * self.pieces_each as u16 + part(*hash, each)
        };
        Ok(of_shards.iter().zip(&hashes).map(piece).collect())
    }
}

/// Which of `parts` equal parts of all hashes this one lies in, by its high half.
#[inline(always)]
fn part(hash: u64, parts: u64) -> u16 {
    (((hash >> 32) * parts) >> 32) as u16
}

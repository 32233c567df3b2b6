//! The order of a result's rows: by their columns, missing values first, totals last.
//!
//! Every key becomes a number of as few bits as its column needs, texts their rank, and the numbers of a row one word. Words are dealt
//! into ranges by a sample, each range is sorted by one task. So sorting shares like everything else, and compares numbers instead of texts.
//!
//! Rejected: Arrow's sort by several columns, which is one task and compares by a call per column.

use crate::cuboid::KeySpace;
use crate::error::CubeError;
use crate::execute::Run;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Int64Type, UInt32Type};
use std::sync::Arc;

/// Ranges that rows are dealt into.
const RANGES: usize = 16;

/// So many rows of each piece tell where ranges begin.
const SAMPLE: usize = 256;

/// Where a row is: in which piece, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) piece: u32,
    pub(super) row: u32,
}

/// The key columns of a piece, as the query has them; none where the piece has totals over a column.
pub(super) type PieceKeys = Vec<Option<ArrayRef>>;

/// How a column becomes numbers: 0 is a missing value, then come the others, then the total.
struct Column {
    /// Ranks by code, of texts.
    ranks: Option<Vec<u32>>,
    is_float: bool,
    least: u64,
    /// The number of a total.
    last: u128,
    bits: u32,
}

/// The rows of all pieces in order, in ranges that follow each other: what `of_range` makes of each, by the task that sorted it.
pub(super) fn ordered<T: Send>(
    run: &Run,
    names: &[String],
    pieces: &[PieceKeys],
    rows: &[usize],
    of_range: impl Fn(&[Place]) -> Result<T, CubeError> + Sync,
) -> Result<Vec<T>, CubeError> {
    let total = rows.iter().sum();
    if names.is_empty() {
        let places = rows.iter().enumerate().flat_map(|(piece, rows)| places(piece, *rows));
        return Ok(vec![of_range(&places.collect::<Vec<_>>())?]);
    }
    let mut columns = Vec::with_capacity(names.len());
    for (position, name) in names.iter().enumerate() {
        let keys: Vec<&ArrayRef> = pieces.iter().filter_map(|piece| piece[position].as_ref()).collect();
        columns.push(Column::of(&run.keys, &Arc::from(name.as_str()), &keys));
    }
    let bits: u32 = columns.iter().map(|column| column.bits).sum();
    let of_piece = |piece: usize| -> Result<Vec<u128>, CubeError> {
        let mut words = vec![0_u128; rows[piece]];
        for (column, keys) in columns.iter().zip(&pieces[piece]) {
            column.each(keys.as_ref(), rows[piece], |row, number| {
                words[row] = (words[row] << column.bits) | number
            });
        }
        Ok(words)
    };
    let most_rows = rows.iter().max().copied().unwrap_or(0);
    let low = (bits_of(pieces.len() as u128), bits_of(most_rows as u128));
    if bits + low.0 + low.1 <= u64::BITS {
        // The place in the same word: half as much is moved, and one comparison is one instruction.
        let packed = |piece: usize| {
            let words = of_piece(piece)?.into_iter().enumerate();
            let place = |row: usize| (piece as u64) << low.1 | row as u64;
            Ok(words.map(|(row, word)| (word as u64) << (low.0 + low.1) | place(row)).collect::<Vec<u64>>())
        };
        let packed = run.each_partition("result", pieces.len(), total, packed)?;
        let place = |word: u64| Place {
            piece: (word >> low.1 & ((1 << low.0) - 1)) as u32,
            row: (word & ((1 << low.1) - 1)) as u32,
        };
        return dealt(run, total, &packed, |word, _| word, place, of_range);
    }
    if bits <= u128::BITS {
        let words = run.each_partition("result", pieces.len(), total, of_piece)?;
        return dealt(run, total, &words, |word, place| (word, place), |(_, place)| place, of_range);
    }
    // Columns of any values side by side: a word for each.
    let width = columns.len();
    let wide = run.each_partition("result", pieces.len(), total, |piece| {
        let mut words = vec![0_u128; rows[piece] * width];
        for (position, (column, keys)) in columns.iter().zip(&pieces[piece]).enumerate() {
            column.each(keys.as_ref(), rows[piece], |row, number| words[row * width + position] = number);
        }
        Ok(words)
    })?;
    let words: Vec<Vec<&[u128]>> = wide.iter().map(|words| words.chunks_exact(width).collect()).collect();
    dealt(run, total, &words, |word, place| (word, place), |(_, place)| place, of_range)
}

fn places(piece: usize, rows: usize) -> impl Iterator<Item = Place> {
    (0..rows as u32).map(move |row| Place { piece: piece as u32, row })
}

/// Deals rows into ranges of words, and sorts each: what `entry` makes of a word and its place, out of which `place` finds it.
fn dealt<W: Ord + Copy + Send + Sync, E: Ord + Copy + Send + Sync, T: Send>(
    run: &Run,
    total: usize,
    words: &[Vec<W>],
    entry: impl Fn(W, Place) -> E + Sync,
    place: impl Fn(E) -> Place + Sync,
    of_range: impl Fn(&[Place]) -> Result<T, CubeError> + Sync,
) -> Result<Vec<T>, CubeError> {
    let _held = run.memory.try_reserve(2 * total * size_of::<E>())?;
    let mut sample: Vec<W> = words
        .iter()
        .flat_map(|words| words.iter().step_by(words.len().div_ceil(SAMPLE).max(1)).copied())
        .collect();
    sample.sort_unstable();
    let ranges = if total < run.parallel_from_rows { 1 } else { RANGES };
    let begins: Vec<W> =
        (1..ranges).filter_map(|range| sample.get(range * sample.len() / ranges).copied()).collect();
    let of_pieces = run.each_partition("result", words.len(), total, |piece| {
        let words = &words[piece];
        let mut dealt: Vec<Vec<E>> = vec![Vec::new(); begins.len() + 1];
        for (word, place) in words.iter().zip(places(piece, words.len())) {
            dealt[begins.partition_point(|begin| begin <= word)].push(entry(*word, place));
        }
        Ok(dealt)
    })?;
    run.each_partition("result", begins.len() + 1, total, |range| {
        let pieces = of_pieces.iter().map(|dealt| &dealt[range]);
        let mut rows: Vec<E> = Vec::with_capacity(pieces.clone().map(Vec::len).sum());
        pieces.for_each(|dealt| rows.extend_from_slice(dealt));
        rows.sort_unstable();
        of_range(&rows.into_iter().map(&place).collect::<Vec<_>>())
    })
}

/// How many bits the numbers up to this one need.
fn bits_of(most: u128) -> u32 {
    u128::BITS - most.leading_zeros()
}

impl Column {
    fn of(space: &KeySpace, name: &Arc<str>, keys: &[&ArrayRef]) -> Self {
        let logical = space.logical(name);
        let mut column =
            Self { ranks: None, is_float: logical == DataType::Float64, least: 0, last: 1, bits: 1 };
        if logical == DataType::Utf8 {
            let (ranks, count) = ranks(space, name, keys);
            (column.ranks, column.last) = (Some(ranks), u128::from(count) + 1);
        } else {
            let mut ends: Option<(u64, u64)> = None;
            for keys in keys {
                let numbers = keys.as_primitive::<Int64Type>();
                for number in numbers.iter().flatten().map(|number| column.word(number)) {
                    let (least, most) = ends.get_or_insert((number, number));
                    (*least, *most) = (number.min(*least), number.max(*most));
                }
            }
            if let Some((least, most)) = ends {
                (column.least, column.last) = (least, u128::from(most - least) + 2);
            }
        }
        column.bits = bits_of(column.last);
        column
    }

    /// A number whose order is that of the values.
    fn word(&self, number: i64) -> u64 {
        const SIGN: u64 = 1 << 63;
        let bits = number as u64;
        if self.is_float && number < 0 { !bits } else { bits ^ SIGN }
    }

    /// Calls `body` with every row and its number.
    fn each(&self, keys: Option<&ArrayRef>, rows: usize, mut body: impl FnMut(usize, u128)) {
        match (keys, &self.ranks) {
            (None, _) => (0..rows).for_each(|row| body(row, self.last)),
            (Some(keys), Some(ranks)) => {
                for (row, code) in keys.as_primitive::<UInt32Type>().iter().enumerate() {
                    body(row, code.map_or(0, |code| u128::from(ranks[code as usize]) + 1));
                }
            }
            (Some(keys), None) => {
                for (row, number) in keys.as_primitive::<Int64Type>().iter().enumerate() {
                    body(row, number.map_or(0, |number| u128::from(self.word(number) - self.least) + 1));
                }
            }
        }
    }
}

/// The rank of each text that is among the keys, by its code, and how many there are. A dictionary may have many others.
fn ranks(space: &KeySpace, name: &Arc<str>, keys: &[&ArrayRef]) -> (Vec<u32>, u32) {
    let texts = space.dictionaries.of(name).texts();
    let mut ranks = vec![0_u32; texts.len()];
    for keys in keys {
        keys.as_primitive::<UInt32Type>().iter().flatten().for_each(|code| ranks[code as usize] = 1);
    }
    let mut used: Vec<u32> = (0..ranks.len() as u32).filter(|code| ranks[*code as usize] == 1).collect();
    used.sort_unstable_by(|a, b| texts.value(*a as usize).cmp(texts.value(*b as usize)));
    (0..).zip(&used).for_each(|(rank, code)| ranks[*code as usize] = rank);
    (ranks, used.len() as u32)
}

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

/// The rows of all pieces in order, in ranges that follow each other.
pub(super) fn ordered(
    run: &Run,
    names: &[String],
    pieces: &[PieceKeys],
    rows: &[usize],
) -> Result<Vec<Vec<Place>>, CubeError> {
    let total = rows.iter().sum();
    if names.is_empty() {
        let places = rows.iter().enumerate().flat_map(|(piece, rows)| places(piece, *rows));
        return Ok(vec![places.collect()]);
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
    if bits <= u64::BITS {
        let short = |piece| Ok(of_piece(piece)?.into_iter().map(|word| word as u64).collect::<Vec<u64>>());
        return dealt(run, rows, total, &run.each_partition("result", pieces.len(), total, short)?);
    }
    if bits <= u128::BITS {
        return dealt(run, rows, total, &run.each_partition("result", pieces.len(), total, of_piece)?);
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
    dealt(run, rows, total, &words)
}

fn places(piece: usize, rows: usize) -> impl Iterator<Item = Place> {
    (0..rows as u32).map(move |row| Place { piece: piece as u32, row })
}

/// Deals rows into ranges of words, and sorts each.
fn dealt<W: Ord + Copy + Send + Sync>(
    run: &Run,
    rows: &[usize],
    total: usize,
    words: &[Vec<W>],
) -> Result<Vec<Vec<Place>>, CubeError> {
    let _held = run.memory.try_reserve(2 * total * size_of::<(W, Place)>())?;
    let mut sample: Vec<W> = words
        .iter()
        .flat_map(|words| words.iter().step_by(words.len().div_ceil(SAMPLE).max(1)).copied())
        .collect();
    sample.sort_unstable();
    let ranges = if total < run.parallel_from_rows { 1 } else { RANGES };
    let begins: Vec<W> =
        (1..ranges).filter_map(|range| sample.get(range * sample.len() / ranges).copied()).collect();
    let of_pieces = run.each_partition("result", words.len(), total, |piece| {
        let mut dealt: Vec<Vec<(W, Place)>> = vec![Vec::new(); begins.len() + 1];
        for (word, place) in words[piece].iter().zip(places(piece, rows[piece])) {
            dealt[begins.partition_point(|begin| begin <= word)].push((*word, place));
        }
        Ok(dealt)
    })?;
    run.each_partition("result", begins.len() + 1, total, |range| {
        let mut rows: Vec<(W, Place)> =
            of_pieces.iter().flat_map(|dealt| dealt[range].iter().copied()).collect();
        rows.sort_unstable();
        Ok(rows.into_iter().map(|(_, place)| place).collect())
    })
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
        column.bits = u128::BITS - column.last.leading_zeros();
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

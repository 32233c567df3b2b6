//! The order of a result's rows: by their columns, missing values first, totals last.
//!
//! ```text
//!   pieces ──► survey: which values each column has ──► a word per row ──► dealt into ranges by a sample ──► each range sorted
//! ```
//!
//! Every key becomes a number of as few bits as its column needs, texts their rank, and the numbers of a row one word. Pieces are surveyed
//! when they are made, dealt by one task each, and each range is sorted by one. So ordering shares like everything else, waits for all
//! workers only twice, and compares numbers instead of texts.
//!
//! Rejected: Arrow's sort by several columns, which is one task and compares by a call per column.

use crate::cuboid::KeySpace;
use crate::error::CubeError;
use crate::execute::Run;
use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use arrow::datatypes::{DataType, Int64Type, UInt32Type};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Ranges that rows are dealt into.
const RANGES: usize = 16;

/// About so many rows tell where ranges begin: a hundred for each range, or one of each piece.
const SAMPLE: usize = 100 * RANGES;

/// Where a row is: in which piece, and its number there. What Arrow gathers rows by.
pub(super) type Place = (usize, usize);

/// The key columns of a piece, as the query has them; none where the piece has totals over a column.
pub(super) type PieceKeys = Vec<Option<ArrayRef>>;

/// What is known of the values of all columns while pieces are made, by any thread.
pub(super) struct Survey {
    columns: Vec<Surveyed>,
}

enum Surveyed {
    /// The least and the greatest number, as words; the other way round when there is none.
    Numbers { is_float: bool, least: AtomicU64, greatest: AtomicU64 },
    /// The texts of a dictionary, and which of them are there.
    Texts(Arc<StringArray>, Vec<AtomicBool>),
}

impl Survey {
    /// Of these columns. Their dictionaries have all texts of the result by now.
    pub(super) fn new(space: &KeySpace, names: &[String]) -> Self {
        let column = |name: &String| {
            let name: Arc<str> = name.as_str().into();
            match space.logical(&name) {
                DataType::Utf8 => {
                    let texts = space.dictionaries.of(&name).texts();
                    let is_there = texts.iter().map(|_| AtomicBool::new(false)).collect();
                    Surveyed::Texts(texts, is_there)
                }
                logical => Surveyed::Numbers {
                    is_float: logical == DataType::Float64,
                    least: AtomicU64::new(u64::MAX),
                    greatest: AtomicU64::new(0),
                },
            }
        };
        Self { columns: names.iter().map(column).collect() }
    }

    /// Takes note of the keys of a piece.
    pub(super) fn add(&self, keys: &PieceKeys) {
        for (column, keys) in self.columns.iter().zip(keys) {
            let Some(keys) = keys else { continue };
            match column {
                Surveyed::Numbers { is_float, least, greatest } => {
                    let ends = keys.as_primitive::<Int64Type>().iter().flatten().fold(
                        (u64::MAX, 0),
                        |(least, greatest), number| {
                            let word = word_of(number, *is_float);
                            (word.min(least), word.max(greatest))
                        },
                    );
                    least.fetch_min(ends.0, Ordering::Relaxed);
                    greatest.fetch_max(ends.1, Ordering::Relaxed);
                }
                Surveyed::Texts(_, is_there) => {
                    for code in keys.as_primitive::<UInt32Type>().iter().flatten() {
                        // Most are marked already, and a line that is only read is shared by all caches.
                        let mark = &is_there[code as usize];
                        if !mark.load(Ordering::Relaxed) {
                            mark.store(true, Ordering::Relaxed);
                        }
                    }
                }
            }
        }
    }

    fn columns(self) -> Vec<Column> {
        self.columns.into_iter().map(Column::of).collect()
    }
}

/// A number whose order is that of the values.
#[inline(always)]
fn word_of(number: i64, is_float: bool) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = number as u64;
    if is_float && number < 0 { !bits } else { bits ^ SIGN }
}

/// How a column becomes numbers: 0 is a missing value, then come the others, then the total.
struct Column {
    kind: Kind,
    /// The number of a total.
    last: u128,
    bits: u32,
}

enum Kind {
    Numbers {
        is_float: bool,
        least: u64,
    },
    /// Ranks by code.
    Texts(Vec<u32>),
}

impl Column {
    fn of(surveyed: Surveyed) -> Self {
        let (kind, values) = match surveyed {
            Surveyed::Numbers { is_float, least, greatest } => {
                let (least, greatest) = (least.into_inner(), greatest.into_inner());
                let values = greatest.checked_sub(least).map_or(0, |distance| u128::from(distance) + 1);
                (Kind::Numbers { is_float, least }, values)
            }
            Surveyed::Texts(texts, is_there) => {
                let mut used: Vec<u32> = (0..).zip(is_there).filter_map(used).collect();
                used.sort_unstable_by_key(|code| texts.value(*code as usize));
                let mut ranks = vec![0; texts.len()];
                (0..).zip(&used).for_each(|(rank, code)| ranks[*code as usize] = rank);
                (Kind::Texts(ranks), used.len() as u128)
            }
        };
        let last = values + 1;
        Self { kind, last, bits: bits_of(last) }
    }

    /// Calls `body` with the number of every `step`-th row of a piece.
    fn each(&self, keys: Option<&ArrayRef>, rows: usize, step: usize, mut body: impl FnMut(usize, u128)) {
        match (keys, &self.kind) {
            (None, _) => (0..rows.div_ceil(step)).for_each(|row| body(row, self.last)),
            (Some(keys), Kind::Texts(ranks)) => {
                for (row, code) in keys.as_primitive::<UInt32Type>().iter().step_by(step).enumerate() {
                    body(row, code.map_or(0, |code| u128::from(ranks[code as usize]) + 1));
                }
            }
            (Some(keys), Kind::Numbers { is_float, least }) => {
                for (row, number) in keys.as_primitive::<Int64Type>().iter().step_by(step).enumerate() {
                    let number = number.map(|number| u128::from(word_of(number, *is_float) - least) + 1);
                    body(row, number.unwrap_or(0));
                }
            }
        }
    }
}

fn used((code, is_there): (u32, AtomicBool)) -> Option<u32> {
    is_there.into_inner().then_some(code)
}

/// How many bits the numbers up to this one need.
fn bits_of(most: u128) -> u32 {
    u128::BITS - most.leading_zeros()
}

/// The rows of all pieces in order, in ranges that follow each other: what `of_range` makes of each, by the task that sorted it.
pub(super) fn ordered<T: Send>(
    run: &Run,
    survey: Survey,
    pieces: &[PieceKeys],
    rows: &[usize],
    of_range: impl Fn(&[Place]) -> Result<T, CubeError> + Sync,
) -> Result<Vec<T>, CubeError> {
    let columns = survey.columns();
    if columns.is_empty() {
        let places = rows.iter().enumerate().flat_map(|(piece, rows)| places(piece, *rows, 1));
        return Ok(vec![of_range(&places.collect::<Vec<_>>())?]);
    }
    let bits: u32 = columns.iter().map(|column| column.bits).sum();
    let most_rows = rows.iter().max().copied().unwrap_or(0);
    let low = (bits_of(pieces.len() as u128), bits_of(most_rows as u128));
    if bits + low.0 + low.1 <= u64::BITS {
        // The place in the same word: half as much is moved, and one comparison is one instruction.
        let packed = |piece: usize, step: usize| {
            let mut words = vec![0_u64; rows[piece].div_ceil(step)];
            for (column, keys) in columns.iter().zip(&pieces[piece]) {
                let add = |row: usize, number| words[row] = (words[row] << column.bits) | number as u64;
                column.each(keys.as_ref(), rows[piece], step, add);
            }
            for (word, (piece, row)) in words.iter_mut().zip(places(piece, rows[piece], step)) {
                *word = *word << (low.0 + low.1) | (piece as u64) << low.1 | row as u64;
            }
            words
        };
        let place =
            |word: u64| ((word >> low.1 & ((1 << low.0) - 1)) as usize, (word & ((1 << low.1) - 1)) as usize);
        return dealt(run, rows, packed, |word, _| word, place, of_range);
    }
    if bits <= u128::BITS {
        let words = |piece: usize, step: usize| {
            let mut words = vec![0_u128; rows[piece].div_ceil(step)];
            for (column, keys) in columns.iter().zip(&pieces[piece]) {
                let add = |row: usize, number| words[row] = (words[row] << column.bits) | number;
                column.each(keys.as_ref(), rows[piece], step, add);
            }
            words
        };
        return dealt(run, rows, words, |word, place| (word, place), |(_, place)| place, of_range);
    }
    // Columns of any values side by side: a word for each.
    let width = columns.len();
    let total: usize = rows.iter().sum();
    let _held = run.memory.try_reserve(total * width * size_of::<u128>())?;
    let wide = run.each_partition("result", pieces.len(), total, |piece| {
        let mut words = vec![0_u128; rows[piece] * width];
        for (position, (column, keys)) in columns.iter().zip(&pieces[piece]).enumerate() {
            column.each(keys.as_ref(), rows[piece], 1, |row, number| words[row * width + position] = number);
        }
        Ok(words)
    })?;
    let words = |piece: usize, step: usize| -> Vec<&[u128]> {
        wide[piece].chunks_exact(width).step_by(step).collect()
    };
    dealt(run, rows, words, |word, place| (word, place), |(_, place)| place, of_range)
}

fn places(piece: usize, rows: usize, step: usize) -> impl Iterator<Item = Place> {
    (0..rows).step_by(step).map(move |row| (piece, row))
}

/// Deals rows into ranges of words, and sorts each. `words` are those of every so-manieth row of a piece; `entry` makes something of a word
/// and its place, out of which `place` finds it.
fn dealt<W: Ord + Copy + Send + Sync, E: Ord + Copy + Send + Sync, T: Send>(
    run: &Run,
    rows: &[usize],
    words: impl Fn(usize, usize) -> Vec<W> + Sync,
    entry: impl Fn(W, Place) -> E + Sync,
    place: impl Fn(E) -> Place + Sync,
    of_range: impl Fn(&[Place]) -> Result<T, CubeError> + Sync,
) -> Result<Vec<T>, CubeError> {
    let total: usize = rows.iter().sum();
    let _held = run.memory.try_reserve(2 * total * size_of::<E>())?;
    let mut begins = Vec::new();
    if total >= run.parallel_from_rows {
        let step = (total / SAMPLE).max(1);
        let mut sample: Vec<W> = (0..rows.len()).flat_map(|piece| words(piece, step)).collect();
        sample.sort_unstable();
        begins.extend((1..RANGES).map(|range| sample[range * sample.len() / RANGES]));
    }
    let of_pieces = run.each_partition("result", rows.len(), total, |piece| {
        let words = words(piece, 1);
        let range_of = |word: &W| begins.partition_point(|begin| begin <= word) as u8;
        let ranges: Vec<u8> = words.iter().map(range_of).collect();
        let places = places(piece, words.len(), 1);
        let entries: Vec<E> = words.iter().zip(places).map(|(word, place)| entry(*word, place)).collect();
        Ok(Dealt::of(&entries, &ranges, begins.len() + 1))
    })?;
    run.each_partition("result", begins.len() + 1, total, |range| {
        let pieces = of_pieces.iter().map(|dealt| dealt.range(range));
        let mut rows: Vec<E> = Vec::with_capacity(pieces.clone().map(<[E]>::len).sum());
        pieces.for_each(|dealt| rows.extend_from_slice(dealt));
        rows.sort_unstable();
        of_range(&rows.into_iter().map(&place).collect::<Vec<_>>())
    })
}

/// The rows of a piece, range by range.
struct Dealt<E> {
    entries: Vec<E>,
    /// Where each range begins; one more for the end.
    starts: Vec<usize>,
}

impl<E: Copy> Dealt<E> {
    /// Of rows with the range of each, below `count`.
    fn of(entries: &[E], ranges: &[u8], count: usize) -> Self {
        let mut starts = vec![0; count + 1];
        ranges.iter().for_each(|range| starts[usize::from(*range) + 1] += 1);
        for range in 0..count {
            starts[range + 1] += starts[range];
        }
        let mut next = starts.clone();
        let mut dealt = entries.to_vec();
        for (entry, range) in entries.iter().zip(ranges) {
            let place = &mut next[usize::from(*range)];
            dealt[*place] = *entry;
            *place += 1;
        }
        Self { entries: dealt, starts }
    }

    fn range(&self, range: usize) -> &[E] {
        &self.entries[self.starts[range]..self.starts[range + 1]]
    }
}

//! Rows moved to their pieces: a counting sort of some ten thousand rows at a time.
//!
//! ```text
//!   rows of a unit     k3 k1 k9 k1 k4 ...            one array per column
//!   piece of each       2  0  1  0  2                by the hash of its key
//!   after              |k1 k1|k9|k3 k4| ...          the same arrays, piece by piece, rows of a piece in their order
//! ```
//!
//! A unit is small enough for its output to stay in the second-level cache while it is written, so no buffers are needed to combine
//! writes, and one pass per column is a plain loop of stores. What is read later is a run of some hundred rows per unit and piece.
//!
//! Rejected: a buffer per piece and column, flushed when full (as many branches as rows, and memory for pieces that stay empty).

use super::block::Block;
use super::keys::{BlockKeys, Keys, Word, Words};
use super::plan::Plan;
use super::values::{Column, Lane};
use crate::error::CubeError;
use crate::memory::Reservation;
use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::buffer::{BooleanBuffer, ScalarBuffer};
use arrow::compute::{concat, take};
use std::ops::Range;

/// Rows of a unit, piece by piece.
pub(super) struct Scattered {
    pub(super) keys: Keys,
    pub(super) columns: Vec<Column>,
    /// Where each piece begins; one more for the end.
    starts: Vec<u32>,
    _held: Reservation,
}

/// A block on its way: where each of its rows goes.
struct Moving {
    keys: BlockKeys,
    columns: Vec<Column>,
    /// The piece of each row, and then its place.
    to: Vec<u32>,
}

impl Scattered {
    /// Moves the rows of some blocks.
    pub(super) fn of(plan: &Plan, blocks: &[Block]) -> Result<Self, CubeError> {
        let mut starts = vec![0_u32; plan.pieces() + 1];
        let mut moving = Vec::with_capacity(blocks.len());
        for block in blocks {
            let keys = plan.codec.encode_block(&block.keys, block.rows)?;
            let pieces = plan.pieces_of_block(block, &keys)?;
            for piece in &pieces {
                starts[usize::from(*piece) + 1] += 1;
            }
            let to = pieces.into_iter().map(u32::from).collect();
            moving.push(Moving { keys, columns: plan.columns_to_move(block)?, to });
        }
        for piece in 1..starts.len() {
            starts[piece] += starts[piece - 1];
        }
        let mut next = starts.clone();
        for moving in &mut moving {
            for to in &mut moving.to {
                let place = &mut next[*to as usize];
                *to = *place;
                *place += 1;
            }
        }
        let rows = blocks.iter().map(|block| block.rows).sum();
        let mut held = plan.memory.try_reserve(rows * 8)?;
        let keys = move_keys(plan, &moving, rows);
        let columns: Vec<Column> = (0..moving.first().map_or(0, |moving| moving.columns.len()))
            .map(|column| move_column(&moving, column, rows))
            .collect::<Result<_, _>>()?;
        let bytes = keys.bytes() + columns.iter().map(Column::bytes).sum::<usize>() + starts.len() * 4;
        held.try_resize(bytes)?;
        Ok(Self { keys, columns, starts, _held: held })
    }

    /// The rows of a piece.
    pub(super) fn rows(&self, piece: usize) -> Range<usize> {
        self.starts[piece] as usize..self.starts[piece + 1] as usize
    }
}

/// Values to their places.
fn place<T: Copy>(out: &mut [T], values: impl Iterator<Item = T>, to: &[u32]) {
    for (value, to) in values.zip(to) {
        out[*to as usize] = value;
    }
}

fn move_keys(plan: &Plan, moving: &[Moving], rows: usize) -> Keys {
    match plan.codec.empty() {
        Keys::Words(_) => Keys::Words(move_words(moving, rows, |keys| match keys {
            Keys::Words(words) => words,
            _ => unreachable!("a codec has one form"),
        })),
        Keys::Wide(_) => Keys::Wide(move_words(moving, rows, |keys| match keys {
            Keys::Wide(words) => words,
            _ => unreachable!("a codec has one form"),
        })),
        Keys::Rows(mut out) => {
            // Bytes differ in length, so they are read in their new order instead.
            let mut from = vec![(0_u32, 0_u32); rows];
            for (block, moving) in moving.iter().enumerate() {
                for (row, to) in moving.to.iter().enumerate() {
                    let row = moving.keys.codes.as_ref().map_or(row as u32, |codes| codes[row]);
                    from[*to as usize] = (block as u32, row);
                }
            }
            for (block, row) in from {
                if let Keys::Rows(keys) = &moving[block as usize].keys.keys {
                    out.push(keys.row(row as usize));
                }
            }
            Keys::Rows(out)
        }
    }
}

fn move_words<W: Word>(moving: &[Moving], rows: usize, words: impl Fn(&Keys) -> &Words<W>) -> Words<W> {
    let mut values = vec![W::default(); rows];
    let mut nulls: Option<Vec<bool>> = None;
    for moving in moving {
        let words = words(&moving.keys.keys);
        match &moving.keys.codes {
            None => place(&mut values, words.values.iter().copied(), &moving.to),
            Some(codes) => {
                place(&mut values, codes.iter().map(|code| words.values[*code as usize]), &moving.to);
            }
        }
        if let Some(are_null) = &words.nulls {
            let out = nulls.get_or_insert_with(|| vec![false; rows]);
            match &moving.keys.codes {
                None => place(out, are_null.iter(), &moving.to),
                Some(codes) => {
                    place(out, codes.iter().map(|code| are_null.value(*code as usize)), &moving.to)
                }
            }
        }
    }
    Words { values: values.into(), nulls: nulls.map(BooleanBuffer::from) }
}

fn move_column(moving: &[Moving], column: usize, rows: usize) -> Result<Column, CubeError> {
    let columns = || moving.iter().map(|moving| (&moving.columns[column], moving.to.as_slice()));
    let lane = match columns().next().map(|(column, _)| &column.lane) {
        None | Some(Lane::None) => Lane::None,
        Some(Lane::Int(_)) => Lane::Int(move_lane(columns(), rows, |lane| match lane {
            Lane::Int(values) => values,
            _ => unreachable!("a column has one kind of lane"),
        })),
        Some(Lane::Float(_)) => Lane::Float(move_lane(columns(), rows, |lane| match lane {
            Lane::Float(values) => values,
            _ => unreachable!("a column has one kind of lane"),
        })),
        Some(Lane::Wide(_)) => Lane::Wide(move_lane(columns(), rows, |lane| match lane {
            Lane::Wide(values) => values,
            _ => unreachable!("a column has one kind of lane"),
        })),
        Some(Lane::Array(_)) => Lane::Array(move_arrays(columns(), rows)?),
    };
    let mut mask: Option<Vec<bool>> = None;
    for (column, to) in columns() {
        if let Some(selected) = &column.mask {
            place(mask.get_or_insert_with(|| vec![true; rows]), selected.iter(), to);
        }
    }
    Ok(Column { lane, mask: mask.map(BooleanBuffer::from) })
}

fn move_lane<'a, T: arrow::datatypes::ArrowNativeType>(
    columns: impl Iterator<Item = (&'a Column, &'a [u32])>,
    rows: usize,
    values: impl Fn(&'a Lane) -> &'a ScalarBuffer<T>,
) -> ScalarBuffer<T> {
    let mut out = vec![T::default(); rows];
    for (column, to) in columns {
        place(&mut out, values(&column.lane).iter().copied(), to);
    }
    out.into()
}

fn move_arrays<'a>(
    columns: impl Iterator<Item = (&'a Column, &'a [u32])>,
    rows: usize,
) -> Result<ArrayRef, CubeError> {
    let mut from = vec![0_u32; rows];
    let mut arrays: Vec<&dyn Array> = Vec::new();
    let mut first = 0;
    for (column, to) in columns {
        if let Lane::Array(array) = &column.lane {
            arrays.push(&**array);
        }
        place(&mut from, first..first + to.len() as u32, to);
        first += to.len() as u32;
    }
    let all = concat(&arrays).and_then(|all| take(&all, &UInt32Array::from(from), None));
    all.map_err(|error| CubeError::arrow("input", &error))
}

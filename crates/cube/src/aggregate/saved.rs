//! Parts on disk: for every piece the groups and then the rows of a part, as Arrow streams.
//!
//! What is read back is what was written, bit by bit, in the same order. So a piece that comes from disk is merged by the same additions as
//! one that never left memory. Each stream has a checksum: what the disk changed is an error, and never a figure.

use super::accumulation::Groups;
use super::keys::{Keys, Word, Words};
use super::merge::Dealt;
use super::plan::Plan;
use super::range::Part;
use super::spill::SpillFile;
use super::values::{Column, Lane};
use crate::error::CubeError;
use crate::memory::Reservation;
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, FixedSizeBinaryArray, Float64Array, Int64Array,
    RecordBatch, UInt32Array, UInt64Array,
};
use arrow::buffer::{BooleanBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow::error::ArrowError;
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use foldhash::fast::FixedState;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::Arc;

/// Where the pieces of a part lie.
pub(super) struct SavedPart {
    /// Where each piece begins; one more for the end.
    starts: Vec<u64>,
    /// How many groups are among them.
    pub(super) groups: usize,
    /// True when there are rows too.
    pub(super) has_rows: bool,
}

/// What a piece of a part is when it is read back.
pub(super) enum Loaded {
    /// With the numbers that they had in their part.
    Groups(Groups, Vec<u32>),
    Rows(LoadedRows),
}

/// Rows of a unit that belong to one piece.
pub(super) struct LoadedRows {
    pub(super) keys: Keys,
    pub(super) columns: Vec<Column>,
    pub(super) rows: usize,
    _held: Reservation,
}

/// What a stream holds: said by the byte before it.
const GROUPS: u8 = 0;
const ROWS: u8 = 1;

impl Part {
    /// Moves to disk what can be; false when that is nothing, or there is no room.
    pub(super) fn save(&mut self, plan: &Plan, file: &mut SpillFile) -> Result<bool, CubeError> {
        let groups = self.groups.as_ref().filter(|_| plan.saves_groups);
        if self.saved.is_some() || groups.is_none() && self.moved.is_empty() {
            return Ok(false);
        }
        let dealt = match groups {
            Some(groups) => Some(Dealt::of(&plan.pieces_of(&groups.keys, None)?, plan.pieces())),
            None => None,
        };
        let begin = file.end();
        let mut starts = Vec::with_capacity(plan.pieces() + 1);
        for piece in 0..plan.pieces() {
            plan.check()?;
            starts.push(file.end());
            let mut bytes = Vec::new();
            if let (Some(groups), Some(dealt)) = (groups, &dealt) {
                let chosen = dealt.groups(piece);
                if !chosen.is_empty() {
                    write(&mut bytes, GROUPS, &saved_groups(plan, groups, chosen)?)?;
                }
            }
            for moved in &self.moved {
                let rows = moved.rows(piece);
                if !rows.is_empty() {
                    write(&mut bytes, ROWS, &saved_rows(&moved.keys, &moved.columns, rows)?)?;
                }
            }
            if !file.append(&bytes)? {
                file.cut(begin);
                return Ok(false);
            }
        }
        starts.push(file.end());
        let count = groups.map_or(0, |groups| groups.keys.len());
        if groups.is_some() {
            self.groups = None;
        }
        let moved = std::mem::take(&mut self.moved);
        self.saved = Some(SavedPart { starts, groups: count, has_rows: !moved.is_empty() });
        Ok(true)
    }
}

impl SavedPart {
    /// A piece, in the order that it was written in.
    pub(super) fn load(
        &self,
        plan: &Plan,
        file: &mut SpillFile,
        piece: usize,
    ) -> Result<Vec<Loaded>, CubeError> {
        let bytes = file.read(self.starts[piece]..self.starts[piece + 1])?;
        let mut held = plan.memory.try_reserve(bytes.len())?;
        let (mut loaded, mut rest) = (Vec::new(), bytes.as_slice());
        while let Some((kind, after)) = rest.split_first() {
            let (length, after) = number(after)?;
            let (checksum, after) = number(after)?;
            let (stream, after) = after.split_at_checked(length as usize).ok_or_else(damaged)?;
            if checksum != checksum_of(*kind, stream) {
                return Err(damaged());
            }
            rest = after;
            let batch = StreamReader::try_new(stream, None).map_err(arrow)?.next();
            let batch = batch.ok_or_else(damaged)?.map_err(arrow)?;
            loaded.push(match *kind {
                GROUPS => {
                    let numbers = batch.column_by_name("n").ok_or_else(damaged)?;
                    let numbers = numbers.as_primitive::<UInt32Type>().values().to_vec();
                    Loaded::Groups(loaded_groups(plan, &batch)?, numbers)
                }
                _ => Loaded::Rows(loaded_rows(plan, &batch)?),
            });
        }
        held.try_resize(0)?;
        Ok(loaded)
    }
}

/// The next eight bytes as a number, and what comes after them.
fn number(bytes: &[u8]) -> Result<(u64, &[u8]), CubeError> {
    let (number, after) = bytes.split_first_chunk().ok_or_else(damaged)?;
    Ok((u64::from_le_bytes(*number), after))
}

fn checksum_of(kind: u8, stream: &[u8]) -> u64 {
    FixedState::with_seed(u64::from(kind)).hash_one(stream)
}

fn arrow(error: ArrowError) -> CubeError {
    CubeError::arrow("spilled groups", &error)
}

fn damaged() -> CubeError {
    CubeError::Computation {
        place: "spilled groups".to_owned(),
        message: "a file has other bytes than were written to it".to_owned(),
    }
}

fn write(bytes: &mut Vec<u8>, kind: u8, columns: &[(String, ArrayRef)]) -> Result<(), CubeError> {
    let nullable = columns.iter().map(|(name, column)| (name.as_str(), Arc::clone(column), true));
    let batch = RecordBatch::try_from_iter_with_nullable(nullable).map_err(arrow)?;
    let mut writer = StreamWriter::try_new(Vec::new(), batch.schema_ref()).map_err(arrow)?;
    writer.write(&batch).map_err(arrow)?;
    let stream = writer.into_inner().map_err(arrow)?;
    bytes.push(kind);
    bytes.extend((stream.len() as u64).to_le_bytes());
    bytes.extend(checksum_of(kind, &stream).to_le_bytes());
    bytes.extend(stream);
    Ok(())
}

fn saved_groups(plan: &Plan, groups: &Groups, chosen: &[u32]) -> Result<Vec<(String, ArrayRef)>, CubeError> {
    let mut columns = Vec::new();
    save_keys(&groups.keys, chosen.iter().map(|group| *group as usize), &mut columns);
    columns.push(("n".to_owned(), Arc::new(UInt32Array::from(chosen.to_vec()))));
    for (number, (carriers, aggregate)) in groups.carriers.iter().zip(&plan.aggregates).enumerate() {
        let saved = aggregate.telling(|| carriers.save(chosen))?.ok_or_else(damaged)?;
        let named = saved.into_iter().enumerate();
        columns.extend(named.map(|(part, column)| (format!("c{number}.{part}"), column)));
    }
    Ok(columns)
}

fn loaded_groups(plan: &Plan, batch: &RecordBatch) -> Result<Groups, CubeError> {
    let keys = load_keys(plan, batch)?;
    let mut carriers = plan.carriers()?;
    for (number, (carriers, aggregate)) in carriers.iter_mut().zip(&plan.aggregates).enumerate() {
        let parts = (0..).map_while(|part| batch.column_by_name(&format!("c{number}.{part}")).cloned());
        let parts: Vec<ArrayRef> = parts.collect();
        aggregate.telling(|| carriers.load(&parts))?;
    }
    let bytes = keys.bytes() + carriers.iter().map(|carriers| carriers.bytes()).sum::<usize>();
    Ok(Groups::new(keys, carriers, plan.memory.try_reserve(bytes)?))
}

fn saved_rows(
    keys: &Keys,
    values: &[Column],
    rows: Range<usize>,
) -> Result<Vec<(String, ArrayRef)>, CubeError> {
    let mut columns = Vec::new();
    save_keys(keys, rows.clone(), &mut columns);
    let (start, length) = (rows.start, rows.len());
    for (number, column) in values.iter().enumerate() {
        let lane: Option<(&str, ArrayRef)> = match &column.lane {
            Lane::None => None,
            Lane::Int(values) => Some(("i", Arc::new(Int64Array::new(values.slice(start, length), None)))),
            Lane::Float(values) => {
                Some(("f", Arc::new(Float64Array::new(values.slice(start, length), None))))
            }
            Lane::Wide(values) => Some(("w", wide_column(values.slice(start, length)))),
            Lane::Array(array) => {
                let array = array.slice(start, length);
                // Each stream would have the whole dictionary.
                let plain = match array.data_type() {
                    DataType::Dictionary(_, values) => cast(&array, values).map_err(arrow)?,
                    _ => array,
                };
                Some(("a", plain))
            }
        };
        columns.extend(lane.map(|(kind, column)| (format!("{kind}{number}"), column)));
        if let Some(mask) = &column.mask {
            let mask = BooleanArray::new(mask.slice(start, length), None);
            columns.push((format!("m{number}"), Arc::new(mask)));
        }
    }
    Ok(columns)
}

fn loaded_rows(plan: &Plan, batch: &RecordBatch) -> Result<LoadedRows, CubeError> {
    let keys = load_keys(plan, batch)?;
    let mut columns = Vec::with_capacity(plan.needs.len());
    for (number, need) in plan.needs.iter().enumerate() {
        let named = |kind: &str| batch.column_by_name(&format!("{kind}{number}"));
        let lane = if let Some(ints) = named("i") {
            Lane::Int(ints.as_primitive::<Int64Type>().values().clone())
        } else if let Some(floats) = named("f") {
            Lane::Float(floats.as_primitive::<Float64Type>().values().clone())
        } else if let Some(wides) = named("w") {
            Lane::Wide(wides_of(wides))
        } else if let Some(array) = named("a") {
            Lane::Array(match &need.data_type {
                coded @ DataType::Dictionary(..) if need.is_as_declared() => {
                    cast(array, coded).map_err(arrow)?
                }
                _ => Arc::clone(array),
            })
        } else {
            Lane::None
        };
        columns.push(Column { lane, mask: named("m").map(|mask| mask.as_boolean().values().clone()) });
    }
    let bytes = keys.bytes() + columns.iter().map(Column::bytes).sum::<usize>();
    let held = plan.memory.try_reserve(bytes)?;
    Ok(LoadedRows { keys, columns, rows: batch.num_rows(), _held: held })
}

/// 128 bits each, as bytes: a decimal could not be any of them.
pub(super) fn wide_column(values: ScalarBuffer<i128>) -> ArrayRef {
    Arc::new(FixedSizeBinaryArray::new(16, values.into_inner(), None))
}

pub(super) fn wides_of(column: &ArrayRef) -> ScalarBuffer<i128> {
    let bytes = column.as_fixed_size_binary();
    let wide = |bytes: &[u8]| bytes.try_into().map_or(0, i128::from_ne_bytes);
    (0..bytes.len()).map(|row| wide(bytes.value(row))).collect::<Vec<i128>>().into()
}

fn save_keys(keys: &Keys, rows: impl Iterator<Item = usize> + Clone, columns: &mut Vec<(String, ArrayRef)>) {
    fn nulls<W: Word>(words: &Words<W>, rows: impl Iterator<Item = usize>) -> Option<(String, ArrayRef)> {
        let nulls = words.nulls.as_ref()?;
        let nulls: BooleanBuffer = rows.map(|row| nulls.value(row)).collect();
        Some(("kn".to_owned(), Arc::new(BooleanArray::new(nulls, None))))
    }
    let name = "k".to_owned();
    match keys {
        Keys::Words(words) => {
            let values: Vec<u64> = rows.clone().map(|row| words.values[row]).collect();
            columns.push((name, Arc::new(UInt64Array::from(values))));
            columns.extend(nulls(words, rows));
        }
        Keys::Wide(words) => {
            let values: Vec<i128> = rows.clone().map(|row| words.values[row]).collect();
            columns.push((name, wide_column(values.into())));
            columns.extend(nulls(words, rows));
        }
        Keys::Rows(encoded) => {
            let bytes: Vec<&[u8]> = rows.map(|row| encoded.row(row).data()).collect();
            columns.push((name, Arc::new(BinaryArray::from_vec(bytes))));
        }
    }
}

fn load_keys(plan: &Plan, batch: &RecordBatch) -> Result<Keys, CubeError> {
    let column = batch.column_by_name("k").ok_or_else(damaged)?;
    let nulls = batch.column_by_name("kn").map(|nulls| nulls.as_boolean().values().clone());
    Ok(match column.data_type() {
        DataType::UInt64 => {
            Keys::Words(Words { values: column.as_primitive::<UInt64Type>().values().clone(), nulls })
        }
        DataType::FixedSizeBinary(_) => Keys::Wide(Words { values: wides_of(column), nulls }),
        _ => plan.codec.rows_of(column.as_binary::<i32>()).ok_or_else(damaged)?,
    })
}

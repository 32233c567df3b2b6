//! The end of a grouping: parts become partitions.
//!
//! A few groups in all go through one table, and are then dealt out. Otherwise every partition is a task, or every piece of one where partitions
//! differ much: a piece takes its own groups and rows out of each part, in the order of the parts.

use super::accumulation::Accumulation;
use super::lanes::in_lanes;
use super::plan::Plan;
use super::range::Part;
use super::saved::Loaded;
use super::spill::SpillFile;
use crate::error::CubeError;
use crate::memory::{Reservation, bytes_of};
use arrow::array::{Array, ArrayRef, UInt32Array, new_null_array};
use arrow::compute::{concat, take};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use filbert_pool::WorkStealing;
use std::sync::{Mutex, PoisonError};

/// A partition is one task where none is larger than a fourth of what a lane has to do; pieces are shared where one is.
const LARGEST: usize = 4;

/// The groups of one partition: key columns, and one column for each aggregate.
#[derive(Debug, Clone)]
pub struct GroupedPartition {
    /// The key columns, dictionaries as plain values.
    pub keys: Vec<ArrayRef>,
    /// The values, in the order of the aggregates.
    pub values: Vec<ArrayRef>,
    /// How many groups.
    pub groups: usize,
}

/// A partition or a piece of one, and what it holds.
pub(super) type Counted = (GroupedPartition, Reservation);

impl GroupedPartition {
    pub(super) fn bytes(&self) -> usize {
        self.keys.iter().chain(&self.values).map(bytes_of).sum()
    }
}

/// The groups of a part by their piece: their numbers, and where each piece begins.
pub(super) struct Dealt {
    groups: Vec<u32>,
    starts: Vec<u32>,
}

impl Dealt {
    pub(super) fn of(pieces: &[u16], count: usize) -> Self {
        let mut starts = vec![0_u32; count + 1];
        for piece in pieces {
            starts[usize::from(*piece) + 1] += 1;
        }
        for piece in 1..starts.len() {
            starts[piece] += starts[piece - 1];
        }
        let mut next = starts.clone();
        let mut groups = vec![0; pieces.len()];
        for (group, piece) in pieces.iter().enumerate() {
            let place = &mut next[usize::from(*piece)];
            groups[*place as usize] = group as u32;
            *place += 1;
        }
        Self { groups, starts }
    }

    pub(super) fn groups(&self, piece: usize) -> &[u32] {
        &self.groups[self.starts[piece] as usize..self.starts[piece + 1] as usize]
    }
}

/// True when all parts go through one table. More parts never make it true again.
pub(super) fn are_few<'a>(plan: &Plan, parts: impl Iterator<Item = &'a Part>) -> bool {
    let (mut count, mut groups) = (0, 0);
    for part in parts {
        if part.has_rows() {
            return false;
        }
        (count, groups) = (count + 1, groups + part.groups());
    }
    // The groups of one part alone are whole already.
    groups <= plan.sizes.few || count == 1
}

/// The partitions of many groups. What is on disk is read on this thread, for as many pieces at a time as are merged at a time.
pub(super) fn partitions(
    plan: &Plan,
    cpu: &WorkStealing,
    lanes: usize,
    parts: &[Part],
    mut file: Option<&mut SpillFile>,
) -> Result<Vec<GroupedPartition>, CubeError> {
    let dealt = in_lanes(cpu, lanes, parts.len(), |part| {
        plan.check()?;
        let Some(groups) = &parts[part].groups else { return Ok(None) };
        Ok(Some(Dealt::of(&plan.pieces_of(&groups.keys, None)?, plan.pieces())))
    })?;
    // What a piece is made of.
    let size = |piece: usize| {
        let groups = dealt.iter().flatten().map(|dealt| dealt.groups(piece).len()).sum::<usize>();
        let rows = parts.iter().flat_map(|part| &part.moved).map(|moved| moved.rows(piece).len());
        groups + rows.sum::<usize>()
    };
    // The groups of a piece; of every part what comes from disk last.
    let merged = |piece: usize, loaded: &[Vec<Loaded>]| -> Result<Counted, CubeError> {
        let mut all = Accumulation::expecting(plan, size(piece))?;
        for (index, (part, dealt)) in parts.iter().zip(&dealt).enumerate() {
            plan.check()?;
            if let (Some(groups), Some(dealt)) = (&part.groups, dealt) {
                all.merge(groups, dealt.groups(piece))?;
            }
            for moved in &part.moved {
                all.add(&moved.keys, &moved.columns, moved.rows(piece))?;
            }
            for loaded in loaded.get(index).into_iter().flatten() {
                match loaded {
                    Loaded::Groups(groups, _) => drop(all.merge_all(groups)?),
                    Loaded::Rows(rows) => all.add(&rows.keys, &rows.columns, 0..rows.rows)?,
                }
            }
        }
        all.into_groups().finish(plan)
    };
    let is_saved = parts.iter().any(|part| part.saved.is_some());
    let of_partition =
        |partition: usize| (0..plan.pieces_each).map(move |piece| partition * plan.pieces_each + piece);
    let sizes = (0..plan.partitions).map(|partition| of_partition(partition).map(size).sum::<usize>());
    let (total, most) = sizes.fold((0, 0), |(total, most), size| (total + size, size.max(most)));
    let made = if !is_saved && most * lanes * LARGEST <= total {
        // A partition is one task, its pieces one after the other: they are joined while they are in the caches.
        in_lanes(cpu, lanes, plan.partitions, |partition| {
            let pieces = of_partition(partition).map(|piece| merged(piece, &[]));
            joined(plan, pieces.collect::<Result<_, _>>()?)
        })?
    } else {
        let at_once = if is_saved { lanes.max(1) } else { plan.pieces() };
        let mut pieces = Vec::with_capacity(plan.pieces());
        for first in (0..plan.pieces()).step_by(at_once) {
            let next = first..plan.pieces().min(first + at_once);
            let mut load = |piece: usize| -> Result<Vec<Vec<Loaded>>, CubeError> {
                let of_part = |part: &Part| match (&part.saved, &mut file) {
                    (Some(saved), Some(file)) => saved.load(plan, file, piece),
                    _ => Ok(Vec::new()),
                };
                parts.iter().map(of_part).collect()
            };
            let loaded = next.clone().map(&mut load).collect::<Result<Vec<_>, _>>()?;
            let count = next.len();
            pieces.extend(in_lanes(cpu, lanes, count, |number| merged(first + number, &loaded[number]))?);
        }
        let mut rest = pieces.into_iter();
        let next = |_| Mutex::new(rest.by_ref().take(plan.pieces_each).collect());
        let pieces: Vec<Mutex<Vec<Counted>>> = (0..plan.partitions).map(next).collect();
        in_lanes(cpu, lanes, plan.partitions, |partition| {
            let mut pieces = pieces[partition].lock().unwrap_or_else(PoisonError::into_inner);
            joined(plan, std::mem::take(&mut *pieces))
        })?
    };
    // They are counted until all are made; whoever takes them counts them next.
    Ok(made.into_iter().map(|(partition, _)| partition).collect())
}

/// The pieces of a partition as one; they are gone then.
fn joined(plan: &Plan, mut pieces: Vec<Counted>) -> Result<Counted, CubeError> {
    if pieces.len() == 1
        && let Some(only) = pieces.pop()
    {
        return Ok(only);
    }
    let partition = together(&pieces, concat)?;
    let held = plan.memory.try_reserve(partition.bytes())?;
    Ok((partition, held))
}

/// The pieces of a partition as one, each column by `join`.
pub(super) fn together(
    pieces: &[Counted],
    join: impl Fn(&[&dyn Array]) -> Result<ArrayRef, ArrowError>,
) -> Result<GroupedPartition, CubeError> {
    let columns = |of: fn(&GroupedPartition) -> &Vec<ArrayRef>| -> Result<Vec<ArrayRef>, CubeError> {
        let width = pieces.first().map_or(0, |(piece, _)| of(piece).len());
        let joined = (0..width).map(|column| {
            let arrays: Vec<&dyn Array> = pieces.iter().map(|(piece, _)| &*of(piece)[column]).collect();
            // An aggregate that failed in one piece has values of no type there.
            let lost = |array: &&dyn Array| *array.data_type() == DataType::Null;
            if arrays.iter().any(lost) {
                let rows = arrays.iter().map(|array| array.len()).sum();
                return Ok(new_null_array(&DataType::Null, rows));
            }
            join(&arrays)
        });
        joined.collect::<Result<_, _>>().map_err(|error| CubeError::arrow("partition", &error))
    };
    let groups = pieces.iter().map(|(piece, _)| piece.groups).sum();
    Ok(GroupedPartition {
        keys: columns(|piece| &piece.keys)?,
        values: columns(|piece| &piece.values)?,
        groups,
    })
}

/// All parts through one table, dealt out at the end. Several of them stay as they are until all are merged, if `keeps`; one alone never
/// does, for it is the result.
pub(super) fn few(
    plan: &Plan,
    parts: &mut Vec<Part>,
    keeps: bool,
) -> Result<Vec<GroupedPartition>, CubeError> {
    let only = if parts.len() == 1 { parts.pop().and_then(|part| part.groups) } else { None };
    let groups = match only {
        Some(only) => only,
        None => {
            let mut all = Accumulation::new(plan)?;
            for part in parts.iter_mut() {
                if let Some(groups) = &part.groups {
                    all.merge_all(groups)?;
                }
                if !keeps {
                    part.groups = None;
                }
            }
            all.into_groups()
        }
    };
    if plan.partitions == 1 {
        return Ok(vec![groups.finish(plan)?.0]);
    }
    let pieces = plan.pieces_of(&groups.keys, None)?;
    let of_partition: Vec<u16> = pieces.iter().map(|piece| piece / plan.pieces_each as u16).collect();
    let dealt = Dealt::of(&of_partition, plan.partitions);
    let (GroupedPartition { keys, values, .. }, _held) = groups.finish(plan)?;
    let order = UInt32Array::from(dealt.groups);
    let ordered = |columns: Vec<ArrayRef>| -> Result<Vec<ArrayRef>, CubeError> {
        let columns = columns.iter().map(|column| take(column, &order, None));
        columns.collect::<Result<_, _>>().map_err(|error| CubeError::arrow("partition", &error))
    };
    let (keys, values) = (ordered(keys)?, ordered(values)?);
    let slices = dealt.starts.windows(2).map(|ends| {
        let (start, groups) = (ends[0] as usize, (ends[1] - ends[0]) as usize);
        let slice = |column: &ArrayRef| column.slice(start, groups);
        GroupedPartition {
            keys: keys.iter().map(slice).collect(),
            values: values.iter().map(slice).collect(),
            groups,
        }
    });
    Ok(slices.collect())
}

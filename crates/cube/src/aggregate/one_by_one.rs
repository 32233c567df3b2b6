//! The end of a grouping that is short of memory: piece after piece, and of each piece part after part, read back when it is its turn.
//!
//! A piece is never in memory twice: what one part has of it is merged and gone before the next part is read. So the values of a single
//! group, however large its carriers are, need the room of what they come to and of one part.
//!
//! Few groups go through one table where there is room, and come out as they were first seen. Here they come out piece by piece, so each
//! is noted with its first place, and put there in the end: whether a disk was needed changes neither a value nor an order.
//!
//! Threads: whoever ends the grouping, which may wait for a disk.

use super::accumulation::Accumulation;
use super::merge::{Counted, Dealt, GroupedPartition, together};
use super::plan::Plan;
use super::range::Part;
use super::saved::Loaded;
use super::spill::SpillFile;
use crate::error::CubeError;
use crate::memory::Reservation;
use arrow::compute::interleave;

/// A piece with the first places of its groups, if these are wanted.
type Noted = (Counted, Vec<u64>, Reservation);

/// The partitions of parts of which some are on disk; `is_few` when their groups come out as they were first seen.
pub(super) fn one_by_one(
    plan: &Plan,
    parts: &[Part],
    file: &mut SpillFile,
    is_few: bool,
) -> Result<Vec<GroupedPartition>, CubeError> {
    let dealt = |part: &Part| -> Result<Option<Dealt>, CubeError> {
        let Some(groups) = &part.groups else { return Ok(None) };
        Ok(Some(Dealt::of(&plan.pieces_of(&groups.keys, None)?, plan.pieces())))
    };
    let dealt: Vec<Option<Dealt>> = parts.iter().map(dealt).collect::<Result<_, _>>()?;
    let mut partitions = Vec::with_capacity(plan.partitions);
    for partition in 0..plan.partitions {
        let pieces = partition * plan.pieces_each..(partition + 1) * plan.pieces_each;
        let noted: Vec<Noted> = pieces
            .map(|piece| merged(plan, parts, &dealt, file, (piece, is_few)))
            .collect::<Result<_, CubeError>>()?;
        partitions.push(joined(plan, noted, is_few)?);
    }
    // They are counted until all are made; whoever takes them counts them next.
    Ok(partitions.into_iter().map(|(partition, _)| partition).collect())
}

/// One piece of all parts.
fn merged(
    plan: &Plan,
    parts: &[Part],
    dealt: &[Option<Dealt>],
    file: &mut SpillFile,
    (piece, is_few): (usize, bool),
) -> Result<Noted, CubeError> {
    let mut all = Accumulation::new(plan)?;
    let mut places: Vec<u64> = Vec::new();
    let mut held = plan.memory.try_reserve(0)?;
    let mut note = |part: usize, groups: &[u32], numbers: &[u32]| {
        // Groups are numbered as they come.
        for (group, number) in groups.iter().zip(numbers).filter(|_| is_few) {
            if *group as usize == places.len() {
                places.push((part as u64) << 32 | u64::from(*number));
            }
        }
        held.try_resize(places.capacity() * size_of::<u64>())
    };
    for (index, (part, dealt)) in parts.iter().zip(dealt).enumerate() {
        plan.check()?;
        if let (Some(groups), Some(dealt)) = (&part.groups, dealt) {
            let numbers = dealt.groups(piece);
            note(index, &all.merge(groups, numbers)?, numbers)?;
        }
        for moved in &part.moved {
            all.add(&moved.keys, &moved.columns, moved.rows(piece))?;
        }
        let Some(saved) = &part.saved else { continue };
        for loaded in saved.load(plan, file, piece)? {
            match loaded {
                Loaded::Groups(groups, numbers) => note(index, &all.merge_all(&groups)?, &numbers)?,
                Loaded::Rows(rows) => all.add(&rows.keys, &rows.columns, 0..rows.rows)?,
            }
        }
    }
    Ok((all.into_groups().finish(plan)?, places, held))
}

/// The pieces of a partition as one: one after the other, or each group in its first place.
fn joined(plan: &Plan, mut noted: Vec<Noted>, is_few: bool) -> Result<Counted, CubeError> {
    if noted.len() == 1
        && let Some((only, ..)) = noted.pop()
    {
        return Ok(only);
    }
    let (mut pieces, mut order, mut held) = (Vec::with_capacity(noted.len()), Vec::new(), Vec::new());
    for (number, (piece, places, of_places)) in noted.into_iter().enumerate() {
        order.extend(places.into_iter().enumerate().map(|(row, place)| (place, (number, row))));
        pieces.push(piece);
        held.push(of_places);
    }
    held.push(plan.memory.try_reserve(order.capacity() * size_of::<(u64, (usize, usize))>())?);
    order.sort_unstable();
    let order: Vec<(usize, usize)> = order.into_iter().map(|(_, place)| place).collect();
    let partition = match is_few {
        true => together(&pieces, |arrays| interleave(arrays, &order))?,
        false => together(&pieces, arrow::compute::concat)?,
    };
    let held = plan.memory.try_reserve(partition.bytes())?;
    Ok((partition, held))
}

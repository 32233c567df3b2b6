//! Partitions of one level brought to the same slices: those that any of them has.

use super::index::{SliceIndex, Words};
use super::{Part, Slices};
use crate::error::CubeError;
use crate::memory::{MemoryAccount, Reservation, bytes_of, bytes_of_rows};
use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::{concat, take};
use std::sync::Arc;

/// The values of parts at the slices of all.
pub(crate) struct Aligned {
    pub(crate) slices: Arc<Slices>,
    /// Of each part, in their order.
    pub(crate) values: Vec<ArrayRef>,
    /// Counts those that were made for this.
    pub(crate) held: Reservation,
}

/// The slices of all parts, and the values of each part there. Parts that share their slices cost nothing.
pub(crate) fn align(parts: &[&Part], memory: &MemoryAccount) -> Result<Aligned, CubeError> {
    let mut held = memory.try_reserve(0)?;
    let arrow = |error| CubeError::arrow("join of slices", &error);
    let largest = parts.iter().max_by_key(|part| part.slices.rows);
    let Some(base) = largest.map(|part| Arc::clone(&part.slices)) else {
        return Ok(Aligned { slices: Slices::none(&[]), values: Vec::new(), held });
    };
    if parts.iter().all(|part| Arc::ptr_eq(&part.slices, &base)) {
        let values = parts.iter().map(|part| Arc::clone(&part.values)).collect();
        return Ok(Aligned { slices: base, values, held });
    }
    let mut index = SliceIndex::of(&base.keys, base.rows, memory)?;
    // What only this function needs.
    let mut passing = memory.try_reserve(0)?;
    // For each set of slices that differs from the base: which slice each of its rows is.
    let mut others: Vec<(Arc<Slices>, Vec<u32>)> = Vec::new();
    let mut added: Vec<(Arc<Slices>, Vec<u32>)> = Vec::new();
    let mut rows = base.rows;
    for part in parts {
        let is_known = |slices: &Arc<Slices>| Arc::ptr_eq(slices, &part.slices);
        if is_known(&base) || others.iter().any(|(slices, _)| is_known(slices)) {
            continue;
        }
        let words = Words::of(&part.slices.keys, part.slices.rows, memory)?;
        passing.try_grow(2 * part.slices.rows * size_of::<u32>())?;
        let (mut numbers, mut new) = (Vec::with_capacity(part.slices.rows), Vec::new());
        for row in 0..part.slices.rows {
            let (number, is_new) = index.find_or_add(words.row(row));
            numbers.push(number);
            if is_new {
                new.push(row as u32);
            }
        }
        index.count()?;
        rows += new.len();
        if !new.is_empty() {
            added.push((Arc::clone(&part.slices), new));
        }
        others.push((Arc::clone(&part.slices), numbers));
    }
    let slices = if added.is_empty() {
        Arc::clone(&base)
    } else {
        let mut keys = Vec::with_capacity(base.keys.len());
        for column in 0..base.keys.len() {
            let mut pieces = vec![Arc::clone(&base.keys[column])];
            for (slices, new) in &added {
                pieces
                    .push(take(&slices.keys[column], &UInt32Array::from(new.clone()), None).map_err(arrow)?);
            }
            let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
            keys.push(concat(&pieces).map_err(arrow)?);
        }
        Slices::new(keys, rows, memory)?
    };
    drop(index);
    passing.try_grow(rows * (size_of::<Option<u32>>() + size_of::<u32>()))?;
    let mut values = Vec::with_capacity(parts.len());
    for part in parts {
        let mut places: Vec<Option<u32>> = vec![None; rows];
        match others.iter().find(|(known, _)| Arc::ptr_eq(known, &part.slices)) {
            Some((_, numbers)) => {
                numbers
                    .iter()
                    .enumerate()
                    .for_each(|(row, number)| places[*number as usize] = Some(row as u32));
            }
            None if rows == base.rows => {
                values.push(Arc::clone(&part.values));
                continue;
            }
            None => (0..base.rows).for_each(|row| places[row] = Some(row as u32)),
        }
        // Each value is taken once at most; only those of one width take room where there is none.
        held.try_grow(match part.values.data_type().primitive_width() {
            Some(_) => bytes_of_rows(&part.values, rows),
            None => bytes_of(&part.values) + rows * size_of::<u64>(),
        })?;
        values.push(take(&part.values, &UInt32Array::from(places), None).map_err(arrow)?);
    }
    Ok(Aligned { slices, values, held })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{AsArray, Float64Array, Int64Array};
    use arrow::datatypes::{Float64Type, Int64Type};

    fn part(keys: Vec<Option<i64>>, values: Vec<f64>) -> Part {
        let (rows, memory) = (keys.len(), MemoryAccount::unlimited());
        let slices = Slices::new(vec![Arc::new(Int64Array::from(keys))], rows, &memory).unwrap();
        Part { slices, values: Arc::new(Float64Array::from(values)) }
    }

    #[test]
    fn slices_of_any_part_are_there_once() {
        let memory = MemoryAccount::unlimited();
        let a = part(vec![Some(1), None, Some(3)], vec![1.0, 2.0, 3.0]);
        let b = part(vec![Some(3), Some(4)], vec![30.0, 40.0]);
        let shares =
            Part { slices: Arc::clone(&b.slices), values: Arc::new(Float64Array::from(vec![300.0, 400.0])) };
        let before = memory.held();
        let Aligned { slices, values, held } = align(&[&a, &b, &shares], &memory).unwrap();
        // Four slices of one key, and three columns of four values.
        assert!(memory.held() >= before + 4 * 8 + 3 * 4 * 8 && held.bytes() >= 3 * 4 * 8);
        assert_eq!(
            slices.keys[0].as_primitive::<Int64Type>(),
            &Int64Array::from(vec![Some(1), None, Some(3), Some(4)])
        );
        let expected = [
            vec![Some(1.0), Some(2.0), Some(3.0), None],
            vec![None, None, Some(30.0), Some(40.0)],
            vec![None, None, Some(300.0), Some(400.0)],
        ];
        for (values, expected) in values.iter().zip(expected) {
            assert_eq!(values.as_primitive::<Float64Type>(), &Float64Array::from(expected));
        }
        let same = align(&[&b, &shares], &memory).unwrap();
        assert!(Arc::ptr_eq(&same.slices, &b.slices) && same.held.bytes() == 0);
    }
}

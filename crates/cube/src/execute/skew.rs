//! Whether one shard key has most of the rows, so that most partitions would stay idle.
//!
//! Decided on the rows of the first batches, before anything is spread: later it could not be changed. What is asked is a sample of all of
//! them and not of the first piece, which may be small, or a part of a table that is sorted. Of rows that are sorted by the key a
//! key that ends among them tells nothing: it has been there once, however long, and is not coming back.

use crate::cuboid::Distinct;
use crate::error::CubeError;
use crate::memory::MemoryAccount;
use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::{concat, take};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A shard key with more than this part of the rows leaves the other partitions idle.
const SKEWED: f64 = 0.5;

/// About so many rows are asked: half of all rows cannot hide from a thousand.
const ASKED: usize = 1_024;

/// True when one key of these columns is far ahead of all others in these pieces, which are numbers of rows with their keys, in order.
pub(super) fn is_skewed(
    shard: &BTreeSet<Arc<str>>,
    pieces: &[(usize, &BTreeMap<Arc<str>, ArrayRef>)],
    memory: &MemoryAccount,
) -> Result<bool, CubeError> {
    let arrow = |error| CubeError::arrow("shard columns", &error);
    let asked = some_of(pieces.iter().map(|(rows, _)| *rows));
    let mut keys = Vec::with_capacity(shard.len());
    for column in shard {
        let mut of_pieces = Vec::with_capacity(pieces.len());
        for ((_, keys), rows) in pieces.iter().zip(&asked) {
            let Some(keys) = keys.get(column) else { return Ok(false) };
            of_pieces.push(take(keys, rows, None).map_err(arrow)?);
        }
        let of_pieces: Vec<&dyn Array> = of_pieces.iter().map(AsRef::as_ref).collect();
        keys.push(concat(&of_pieces).map_err(arrow)?);
    }
    let rows = asked.iter().map(|rows| rows.len()).sum();
    let Distinct { of_row, first_rows, .. } = Distinct::of(&keys, rows, memory)?;
    let mut counts = vec![0_usize; first_rows.len()];
    of_row.iter().for_each(|number| counts[*number as usize] += 1);
    let Some((heaviest, count)) = (0_u32..).zip(counts).max_by_key(|(_, count)| *count) else {
        return Ok(false);
    };
    let begins = of_row
        .iter()
        .enumerate()
        .filter(|(row, number)| **number == heaviest && (*row == 0 || of_row[row - 1] != heaviest));
    let is_sorted = begins.count() == 1 && of_row.last() != Some(&heaviest);
    Ok(count as f64 > SKEWED * rows as f64 && !is_sorted)
}

/// About a thousand rows of pieces of so many, as many of each as it has of all. Not at equal distances: keys may come in turns.
fn some_of(pieces: impl Iterator<Item = usize> + Clone) -> Vec<UInt32Array> {
    let distance = (pieces.clone().sum::<usize>() / ASKED).max(1);
    let mut begin = 0;
    let of_piece = |rows: usize| {
        let (first, end) = (begin, begin + rows);
        begin = end;
        let within = |number: usize| ((number as u32).wrapping_mul(0x9e37_79b9) >> 8) as usize % distance;
        let numbers = first / distance..end.div_ceil(distance);
        let asked = numbers.map(|number| number * distance + within(number));
        UInt32Array::from_iter_values(
            asked.filter(|row| (first..end).contains(row)).map(|row| (row - first) as u32),
        )
    };
    pieces.map(of_piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Int64Array;

    #[test]
    fn keys_that_come_in_turns_are_all_asked() {
        for (rows, turns) in [(65_536, 64), (65_536, 8), (8_192, 2), (100_000, 97)] {
            let mut counts = vec![0_usize; turns];
            let asked = some_of([rows].into_iter());
            let asked = asked[0].values();
            asked.iter().for_each(|row| counts[*row as usize % turns] += 1);
            assert!(asked.iter().all(|row| (*row as usize) < rows) && asked.len() >= ASKED);
            let most = counts.iter().max().copied().unwrap_or(0);
            assert!(
                most < 3 * asked.len() / turns,
                "{most} of {} rows with one of {turns} keys",
                asked.len()
            );
        }
    }

    fn skewed(pieces: &[Vec<i64>]) -> bool {
        let (column, memory): (Arc<str>, _) = ("desk".into(), MemoryAccount::unlimited());
        let of = |keys: &Vec<i64>| {
            BTreeMap::from([(Arc::clone(&column), Arc::new(Int64Array::from(keys.clone())) as ArrayRef)])
        };
        let columns: Vec<_> = pieces.iter().map(of).collect();
        let pieces: Vec<_> =
            pieces.iter().zip(&columns).map(|(keys, columns)| (keys.len(), columns)).collect();
        let found = is_skewed(&BTreeSet::from([Arc::clone(&column)]), &pieces, &memory).unwrap();
        assert_eq!(memory.held(), 0);
        found
    }

    #[test]
    fn pieces_of_any_size_tell_together() {
        let heavy = |row: i64| if row % 5 == 0 { row % 70 } else { 7 };
        let even = |row: i64| row % 70;
        for size in [1, 256, 4_096, 50_000] {
            let pieces = |key: fn(i64) -> i64| -> Vec<Vec<i64>> {
                (0..50_000_i64).map(key).collect::<Vec<_>>().chunks(size).map(<[i64]>::to_vec).collect()
            };
            assert!(skewed(&pieces(heavy)) && !skewed(&pieces(even)), "pieces of {size} rows");
        }
    }

    #[test]
    fn a_key_that_ends_among_sorted_rows_tells_nothing() {
        assert!(!skewed(&[(0..50_000).map(|row| row / 40_000).collect()]));
        assert!(!skewed(&[vec![1; 40_000], vec![2; 30_000]]));
        // It may be the only one that there is.
        assert!(skewed(&[vec![1; 40_000], vec![1; 10_000]]));
        assert!(skewed(&[vec![1; 20_000], vec![2; 5_000], vec![1; 20_000]]));
    }
}

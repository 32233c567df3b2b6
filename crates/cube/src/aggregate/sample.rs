//! What a sample of a range's rows says of its keys: few or many, and whether some have most of the rows.
//!
//! Of `n` rows drawn from `D` equally frequent keys about `D (1 - e^(-n/D))` are different. When the sample has more than that for the
//! number of keys at which moving the rows begins to pay, there are more keys. Keys that are not equally frequent look like fewer, and are
//! fewer for a table that keeps the frequent ones in the cache; should there be many after all, the range changes its mind on the way.
//!
//! A key that has a good part of all rows would make one piece as large as that part, and one task do it alone. Such *heavy* keys are not
//! moved: their rows are aggregated where they are, by the task of their range.

use super::block::Block;
use super::plan::Plan;
use super::table::GroupTable;
use crate::error::CubeError;

/// How many places are looked at, and how many rows at most at each.
const PLACES: usize = 8;
const ROWS_EACH: usize = 1024;

/// At most one in so many rows is looked at: they are looked at twice.
const SHARE: usize = 8;

/// A key is heavy that has more than one in so many rows.
const HEAVY: usize = 16;

/// What a sample says.
pub(super) struct Sample {
    /// So many keys that rows are better moved first.
    pub(super) has_many_keys: bool,
    /// The heavy keys, if there are any.
    pub(super) heavy: Option<GroupTable>,
}

impl Sample {
    pub(super) fn of(plan: &Plan, blocks: &[Block]) -> Result<Self, CubeError> {
        let rows: usize = blocks.iter().map(|block| block.rows).sum();
        // With fewer rows than this there is nothing to gain.
        if rows < plan.sizes.many / 4 {
            return Ok(Self { has_many_keys: false, heavy: None });
        }
        let rows_each = (rows / SHARE / PLACES).clamp(1, ROWS_EACH);
        let mut table = plan.table();
        let mut groups = [0; ROWS_EACH];
        let mut rows_of = Vec::new();
        let (mut seen, mut first) = (0, 0);
        let mut places = (0..PLACES).map(|place| place * rows / PLACES).peekable();
        for block in blocks {
            while let Some(place) = places.next_if(|place| *place < first + block.rows) {
                let start = place - first;
                let sample = block.slice(start, rows_each.min(block.rows - start));
                let keys = plan.codec.encode(&sample.keys, sample.rows)?;
                table.assign(&keys, 0..sample.rows, &mut groups[..sample.rows]);
                rows_of.resize(table.len(), 0_usize);
                groups[..sample.rows].iter().for_each(|group| rows_of[*group as usize] += 1);
                seen += sample.rows;
            }
            first += block.rows;
        }
        let many = plan.sizes.many as f64;
        let expected = many * (1.0 - (-(seen as f64) / many).exp());
        let has_many_keys = table.len() as f64 > expected;
        let is_heavy = |group: &u32| rows_of[*group as usize] * HEAVY > seen;
        let chosen: Vec<u32> = (0..rows_of.len() as u32).filter(is_heavy).collect();
        let heavy = (!chosen.is_empty()).then(|| {
            let mut heavy = plan.table();
            heavy.assign_chosen(&table.into_keys(), &chosen, &mut groups[..chosen.len()]);
            heavy
        });
        Ok(Self { has_many_keys, heavy })
    }
}

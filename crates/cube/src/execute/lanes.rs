//! Partitions side by side: at most as many at a time as the query's parallelism, each whole on one thread of `cpu`.
//!
//! A lane takes the next partition that nobody has: partitions differ in size, and a worker that wakes up late finds less to do instead of
//! keeping the others waiting.

use super::Run;
use crate::error::CubeError;
use filbert_pool::{caught, sharded_for_each};
use std::sync::atomic::{AtomicUsize, Ordering};

impl Run {
    /// Runs `body` for each of `count` partitions, which have `rows` rows in all; results in order. The error or panic that came
    /// first is told as one of `place`.
    pub(crate) fn each_partition<T: Send>(
        &self,
        place: &str,
        count: usize,
        rows: usize,
        body: impl Fn(usize) -> Result<T, CubeError> + Sync,
    ) -> Result<Vec<T>, CubeError> {
        let lanes = if rows < self.parallel_from_rows { 1 } else { self.parallelism };
        self.side_by_side(place, lanes, count, body)
    }

    /// Runs `body` for each number below `count`, at most `lanes` at a time; results in order. Errors and panics as above.
    pub(super) fn side_by_side<T: Send>(
        &self,
        place: &str,
        lanes: usize,
        count: usize,
        body: impl Fn(usize) -> Result<T, CubeError> + Sync,
    ) -> Result<Vec<T>, CubeError> {
        let guarded = |number: usize| {
            self.cancel.check()?;
            self.observed.note_stage();
            let panicked = |message| Err(CubeError::Panicked { measure: place.to_owned(), message });
            caught(|| body(number)).unwrap_or_else(panicked)
        };
        let lanes = lanes.min(count);
        if lanes <= 1 {
            return self.cpu.run(|| (0..count).map(guarded).collect());
        }
        let next = AtomicUsize::new(0);
        let inputs = (0..lanes).map(|_| {
            std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)).filter(|next| *next < count))
        });
        let each = |made: &mut Vec<(usize, T)>, number: usize| {
            made.push((number, guarded(number)?));
            Ok::<(), CubeError>(())
        };
        let mut made: Vec<(usize, T)> =
            sharded_for_each(&self.cpu, inputs, |_| Vec::new(), each)?.into_iter().flatten().collect();
        made.sort_unstable_by_key(|(number, _)| *number);
        Ok(made.into_iter().map(|(_, made)| made).collect())
    }
}

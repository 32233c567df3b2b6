//! What each step cost: for explanations.

use crate::cuboid::Cuboid;
use crate::plan::StepId;
use std::time::Duration;

/// What was seen while a plan ran.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace {
    /// Batches and rows that the table gave, and how long reading and grouping took.
    pub(crate) batches: usize,
    pub(crate) rows: usize,
    pub(crate) scan: Duration,
    pub(crate) steps: Vec<StepTrace>,
}

/// What one step cost.
#[derive(Debug, Clone)]
pub(crate) struct StepTrace {
    pub(crate) step: StepId,
    /// Of its whole task: combinations that are fused share it.
    pub(crate) time: Duration,
    pub(crate) rows: usize,
    pub(crate) bytes: usize,
    /// The largest partition as a multiple of the mean.
    pub(crate) skew: f64,
    /// How many steps went through the same task.
    pub(crate) fused: usize,
    pub(crate) from_cache: bool,
}

impl StepTrace {
    /// A step that came from the cache.
    pub(crate) fn cached(step: StepId, cuboid: &Cuboid) -> Self {
        Self { from_cache: true, ..Self::of(step, cuboid, Duration::ZERO, 1) }
    }

    /// A step that one of `fused` in a task, which took this long, made.
    pub(crate) fn of(step: StepId, cuboid: &Cuboid, time: Duration, fused: usize) -> Self {
        let (rows, bytes, skew) = (cuboid.rows(), cuboid.size(), cuboid.skew());
        Self { step, time, rows, bytes, skew, fused, from_cache: false }
    }
}

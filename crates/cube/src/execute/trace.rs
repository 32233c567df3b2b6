//! What each step cost: for explanations.

use super::Run;
use crate::cuboid::Cuboid;
use crate::error::CubeError;
use crate::exact_sum::{is_state, rounded_of};
use crate::explain::Explanation;
use crate::plan::StepId;
use arrow::array::{ArrayRef, AsArray, RecordBatch, StringArray};
use arrow::util::pretty::pretty_format_batches;
use std::sync::Arc;
use std::time::Duration;

/// What was seen while a plan ran.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace {
    /// Batches and rows that the table gave, and how long reading and grouping took.
    pub(crate) batches: usize,
    pub(crate) rows: usize,
    /// The rows are groups that the table made.
    pub(crate) are_groups: bool,
    pub(crate) scan: Duration,
    /// The stages that read, decoded and grouped.
    pub(crate) scan_stages: String,
    /// How the table said that it was read.
    pub(crate) how: Option<String>,
    pub(crate) steps: Vec<StepTrace>,
    /// Steps that failed, and why.
    pub(crate) failures: Vec<(StepId, String)>,
    /// What the cubes of a composite were asked for.
    pub(crate) cubes: Vec<SubTrace>,
}

impl Trace {
    /// Notes that a step failed.
    pub(crate) fn failed(&mut self, step: StepId, why: &CubeError) {
        self.failures.push((step, why.clone().shortened().to_string()));
    }
}

/// A query of one of the cubes of a composite.
#[derive(Debug, Clone)]
pub(crate) struct SubTrace {
    pub(crate) cube: String,
    /// The steps that it was for.
    pub(crate) leaves: Vec<StepId>,
    pub(crate) explanation: Explanation,
}

/// What one step cost.
#[derive(Debug, Clone)]
pub(crate) struct StepTrace {
    pub(crate) step: StepId,
    /// Of its whole task: combinations that are fused share it.
    pub(crate) time: Duration,
    /// Slices with a value. Those of its cuboid may be more: leaves of one pass share theirs.
    pub(crate) slices: usize,
    pub(crate) bytes: usize,
    /// The largest partition as a multiple of the mean.
    pub(crate) skew: f64,
    /// The stages that computed it.
    pub(crate) stages: String,
    /// Its slices came from other partitions.
    pub(crate) is_spread_anew: bool,
    /// How many steps went through the same task.
    pub(crate) fused: usize,
    pub(crate) from_cache: bool,
    /// How long ago it was read, when only that tells how good it is.
    pub(crate) age: Option<Duration>,
    /// Its first slices, when somebody wants to see them.
    pub(crate) sample: Option<String>,
}

/// So many slices of a step are shown.
const SAMPLE: usize = 5;

impl StepTrace {
    /// A step that came from the cache.
    pub(crate) fn cached(run: &Run, step: StepId, cuboid: &Cuboid, age: Option<Duration>) -> Self {
        Self { from_cache: true, age, ..Self::of(run, step, cuboid, Duration::ZERO, 1, &Default::default()) }
    }

    /// A step that one of `fused` in a task, which took this long on these stages, made.
    pub(crate) fn of(
        run: &Run,
        step: StepId,
        cuboid: &Cuboid,
        time: Duration,
        fused: usize,
        (stages, is_spread_anew): &(String, bool),
    ) -> Self {
        let (slices, bytes, skew) = (cuboid.cells(), cuboid.size(), cuboid.skew());
        let sample = run.debug.then(|| sample(run, cuboid));
        let (stages, is_spread_anew) = (stages.clone(), *is_spread_anew);
        let (from_cache, age) = (false, None);
        Self { step, time, slices, bytes, skew, stages, is_spread_anew, fused, from_cache, age, sample }
    }
}

fn sample(run: &Run, cuboid: &Cuboid) -> String {
    let first = run.cpu.run(|| {
        let batch = run.batch(cuboid, "value")?;
        legible(&batch.slice(0, batch.num_rows().min(SAMPLE)))
    });
    let text = first.map(|first| pretty_format_batches(&[first]).map(|text| text.to_string()));
    match text {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    }
}

/// Sketches as their size, for their bytes tell nobody anything; exact sums as the doubles that they are nearest to.
fn legible(batch: &RecordBatch) -> Result<RecordBatch, CubeError> {
    let Some(values) = batch.columns().last() else { return Ok(batch.clone()) };
    let legible: ArrayRef = if is_state(values.data_type()) {
        rounded_of(values)?
    } else if let Some(sketches) = values.as_binary_opt::<i64>() {
        let size = |bytes: &[u8]| format!("a sketch of {} bytes", bytes.len());
        Arc::new(sketches.iter().map(|bytes| bytes.map(size)).collect::<StringArray>())
    } else {
        return Ok(batch.clone());
    };
    let named = batch.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
    let last = batch.num_columns() - 1;
    let columns = batch.columns()[..last].iter().cloned().chain([legible]);
    RecordBatch::try_from_iter_with_nullable(
        named.into_iter().zip(columns).map(|(name, column)| (name, column, true)),
    )
    .map_err(|error| CubeError::arrow("slices", &error))
}

//! Task after task, in the order of the plan, and those beside each other that one thread does anyway; a cuboid goes when its last reader
//! is done.

use super::trace::StepTrace;
use super::{Run, Trace};
use crate::cuboid::Cuboid;
use crate::error::CubeError;
use crate::observed::Observed;
use crate::plan::{Operation, StepId, Task};
use std::time::Duration;

/// What a step came to: a failed one is only kept when errors are values.
pub(crate) type Made = Result<Cuboid, CubeError>;

/// The cuboids that are there, each until its last reader is done.
pub(crate) struct Results {
    made: Vec<Option<Made>>,
    readers: Vec<usize>,
}

impl Results {
    pub(crate) fn new(readers: Vec<usize>) -> Self {
        Self { made: readers.iter().map(|_| None).collect(), readers }
    }

    pub(crate) fn put(&mut self, step: StepId, made: Made) {
        if self.readers[step.0] > 0 {
            self.made[step.0] = Some(made.map_err(CubeError::shortened));
        }
    }

    /// The rows of the largest cuboid that is there.
    pub(crate) fn most_rows(&self) -> usize {
        self.made.iter().flatten().flatten().map(Cuboid::rows).max().unwrap_or(0)
    }

    /// The rows of a cuboid that is there.
    fn rows(&self, step: StepId) -> usize {
        self.made[step.0].iter().flatten().map(Cuboid::rows).sum()
    }

    pub(crate) fn has(&self, step: StepId) -> bool {
        self.made[step.0].is_some()
    }

    pub(crate) fn get(&self, step: StepId) -> Result<Made, CubeError> {
        self.made[step.0].clone().ok_or_else(|| CubeError::Computation {
            place: "plan".to_owned(),
            message: "a step was read before it was made, or after it was gone".to_owned(),
        })
    }

    /// One reader of a step is done.
    pub(crate) fn release(&mut self, step: StepId) {
        self.readers[step.0] -= 1;
        if self.readers[step.0] == 0 {
            self.made[step.0] = None;
        }
    }
}

/// How many tasks are looked through for those that may run beside the next one.
const LOOKED_THROUGH: usize = 64;

/// A task that has run.
struct Ran {
    /// One for each output.
    made: Vec<Made>,
    time: Duration,
    /// The stages, and whether slices were spread anew.
    seen: (String, bool),
}

/// Runs all tasks of a plan whose leaves are there. Waits for `cpu`: on a thread of `mixed` that may.
pub(crate) fn run_tasks(run: &Run, results: &mut Results, trace: &mut Trace) -> Result<(), CubeError> {
    let tasks = &run.plan.tasks;
    let mut is_done = vec![false; tasks.len()];
    for next in 0..tasks.len() {
        if is_done[next] {
            continue;
        }
        run.cancel.check()?;
        let chosen = run.beside(next, &is_done, results);
        for (number, ran) in chosen.iter().zip(run.all(&chosen, results)?) {
            let task = &tasks[*number];
            let fused = if let Task::Fused { steps, .. } = task { steps.len() } else { 1 };
            for (output, made) in task.outputs().iter().zip(ran.made) {
                match &made {
                    Ok(cuboid) => {
                        trace.steps.push(StepTrace::of(run, *output, cuboid, ran.time, fused, &ran.seen));
                    }
                    Err(error) => trace.failed(*output, error),
                }
                results.put(*output, run.kept(made)?);
            }
            is_done[*number] = true;
        }
        let read = chosen.into_iter().flat_map(|number| tasks[number].inputs(&run.plan.steps));
        read.for_each(|input| results.release(input));
    }
    Ok(())
}

impl Run {
    /// The tasks that run now: this one, and others beside it whose inputs are made, where each of them has work for one thread only.
    ///
    /// A task over many slices has work for all workers, and runs alone. What code of the user's costs is not known: it is worth a worker,
    /// however few slices it has. Groups that may go to disk need a thread that waits for it, which workers of `cpu` do not.
    fn beside(&self, next: usize, is_done: &[bool], results: &Results) -> Vec<usize> {
        let alone = vec![next];
        let cost = |number: usize| self.cost_on_one_thread(&self.plan.tasks[number], results);
        let Some(mut total) = cost(next).filter(|_| self.parallelism > 1 && self.spill.is_none()) else {
            return alone;
        };
        let mut chosen = alone.clone();
        for number in (next + 1..is_done.len()).take(LOOKED_THROUGH) {
            let inputs = self.plan.tasks[number].inputs(&self.plan.steps);
            let is_ready = !is_done[number] && inputs.iter().all(|input| results.has(*input));
            if let Some(cost) = cost(number).filter(|_| is_ready) {
                chosen.push(number);
                total = total.saturating_add(cost);
            }
        }
        if total < self.parallel_from_rows { alone } else { chosen }
    }

    /// The cost of a task in rows; none when it has work for more than one thread, or nothing to do.
    fn cost_on_one_thread(&self, task: &Task, results: &Results) -> Option<usize> {
        if task.outputs().iter().all(|output| results.has(*output)) {
            return None;
        }
        if let Task::One(step) = task
            && let Operation::Custom { .. } = self.plan.steps[step.0].operation
        {
            return Some(self.parallel_from_rows);
        }
        let rows = task.inputs(&self.plan.steps).iter().map(|input| results.rows(*input)).max().unwrap_or(0);
        (rows < self.parallel_from_rows).then_some(rows)
    }

    /// Runs tasks that do not read each other, side by side when there are several.
    fn all(&self, chosen: &[usize], results: &Results) -> Result<Vec<Ran>, CubeError> {
        let one = |number: usize| self.ran(&self.plan.tasks[number], results);
        if let [only] = chosen {
            return Ok(vec![one(*only)]);
        }
        let mut all = self.side_by_side("plan", self.parallelism, chosen.len(), |place| {
            let apart = Self { observed: Observed::default(), ..self.clone() };
            Ok(apart.ran(&self.plan.tasks[chosen[place]], results))
        })?;
        // Together they may need more memory than one after the other.
        let is_over =
            |ran: &Ran| ran.made.iter().any(|made| matches!(made, Err(CubeError::OverMemory { .. })));
        for (ran, number) in all.iter_mut().zip(chosen) {
            if is_over(ran) {
                *ran = one(*number);
            }
        }
        Ok(all)
    }

    /// Runs a task, if one of its outputs is not there.
    fn ran(&self, task: &Task, results: &Results) -> Ran {
        let begin = self.clock.now();
        let outputs = task.outputs();
        let made = match task {
            _ if outputs.iter().all(|output| results.has(*output)) => Vec::new(),
            Task::One(step) => {
                let of = &self.plan.steps[step.0];
                vec![self.step(*step, results).map_err(|error| error.of_measure(of.name(), of.what()))]
            }
            Task::Fused { steps, inputs, outputs } => match self.combine(steps, inputs, outputs, results) {
                Ok(made) => made,
                Err(error) => outputs.iter().map(|_| Err(error.clone())).collect(),
            },
        };
        Ran { made, time: self.clock.now().saturating_sub(begin), seen: self.observed.take() }
    }

    /// A failure is kept when errors are values; but not when the whole query is over.
    fn kept(&self, made: Made) -> Result<Made, CubeError> {
        match made {
            Err(error) => {
                if self.errors_are_values && !error.ends_query() {
                    Ok(Err(error))
                } else {
                    Err(self.cancel.explain(error))
                }
            }
            made => Ok(made),
        }
    }

    fn step(&self, id: StepId, results: &Results) -> Made {
        let step = &self.plan.steps[id.0];
        let place = &**step.name();
        match &step.operation {
            Operation::Empty => Cuboid::empty(&step.level, &self.keys, self.partitions, &self.memory),
            Operation::RollUp { from, keep, aggregation } => {
                self.roll_up(place, &results.get(*from)??, &step.level, keep, aggregation)
            }
            Operation::Shift { read, write, column, shift } => {
                self.shift(place, &results.get(*read)??, &results.get(*write)??, column, shift)
            }
            Operation::Dispatch { from, spread } => {
                self.dispatch(place, &results.get(*from)??, &step.level, spread)
            }
            Operation::Cumulate { from, along } => self.cumulate(place, &results.get(*from)??, along),
            Operation::Custom { code, inputs, position } => {
                let inputs: Result<Vec<Cuboid>, CubeError> =
                    inputs.iter().map(|input| results.get(*input)?).collect();
                self.custom(place, &step.level, position, code, &inputs?)
            }
            Operation::Leaf(_) | Operation::Combine { .. } => Err(CubeError::Computation {
                place: place.to_owned(),
                message: "leaves and combinations are made together with others".to_owned(),
            }),
        }
    }
}

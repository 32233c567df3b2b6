//! Task after task, in the order of the plan; a cuboid goes when its last reader is done.

use super::trace::StepTrace;
use super::{Run, Trace};
use crate::cuboid::Cuboid;
use crate::error::CubeError;
use crate::plan::{Operation, StepId, Task};

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

/// Runs all tasks of a plan whose leaves are there. Waits for `cpu`: on a thread of `mixed` that may.
pub(crate) fn run_tasks(run: &Run, results: &mut Results, trace: &mut Trace) -> Result<(), CubeError> {
    for task in &run.plan.tasks {
        run.cancel.check()?;
        let inputs = task.inputs(&run.plan.steps);
        let outputs = match task {
            Task::One(step) => std::slice::from_ref(step),
            Task::Fused { outputs, .. } => outputs.as_slice(),
        };
        let is_needed = outputs.iter().any(|output| !results.has(*output));
        if is_needed {
            let begin = run.clock.now();
            let made = match task {
                Task::One(step) => {
                    let of = &run.plan.steps[step.0];
                    vec![run.step(*step, results).map_err(|error| error.of_measure(of.name(), of.what()))]
                }
                Task::Fused { steps, inputs, outputs } => {
                    match run.combine(steps, inputs, outputs, results) {
                        Ok(made) => made,
                        Err(error) => outputs.iter().map(|_| Err(error.clone())).collect(),
                    }
                }
            };
            let seen = run.observed.take();
            let fused = if let Task::Fused { steps, .. } = task { steps.len() } else { 1 };
            for (output, made) in outputs.iter().zip(made) {
                match &made {
                    Ok(cuboid) => {
                        let time = run.clock.now().saturating_sub(begin);
                        trace.steps.push(StepTrace::of(run, *output, cuboid, time, fused, &seen));
                    }
                    Err(error) => trace.failed(*output, error),
                }
                results.put(*output, run.kept(made)?);
            }
        }
        inputs.into_iter().for_each(|input| results.release(input));
    }
    Ok(())
}

impl Run {
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

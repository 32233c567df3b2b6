//! Each input partition into its own output.

use super::failure::FirstFailure;
use super::parallel::Parallel;
use std::sync::Mutex;

/// Takes each input partition, in order, into an output of its own; partitions in parallel, outputs in partition order.
///
/// `make(p)` begins the output of partition `p`, `each` takes one element into it. The first error or panic stops all
/// partitions and reaches the caller.
///
/// ```
/// # use filbert_pool::{shard::Parallel, sharded_for_each};
/// # fn sums(on: &impl Parallel) -> Result<Vec<u64>, std::convert::Infallible> {
/// let inputs = vec![vec![1, 2], vec![], vec![3]];
/// sharded_for_each(on, inputs, |_| 0, |sum, element: u64| { *sum += element; Ok(()) }) // [3, 0, 3]
/// # }
/// ```
pub fn sharded_for_each<I, O, E>(
    on: &(impl Parallel + ?Sized),
    inputs: impl IntoIterator<Item = I>,
    make: impl Fn(usize) -> O + Sync,
    each: impl Fn(&mut O, I::Item) -> Result<(), E> + Sync,
) -> Result<Vec<O>, E>
where
    I: IntoIterator + Send,
    O: Send,
    E: Send,
{
    let inputs: Vec<I> = inputs.into_iter().collect();
    let failure = FirstFailure::new();
    let outputs: Vec<Mutex<Option<O>>> = inputs.iter().map(|_| Mutex::new(None)).collect();
    let run = |partition: usize, input: I| {
        let output = failure.guard(|| {
            let mut output = make(partition);
            for element in input {
                if failure.stopped() {
                    break;
                }
                each(&mut output, element)?;
            }
            Ok(output)
        });
        *outputs[partition].lock().unwrap_or_else(|broken| broken.into_inner()) = output;
    };
    let mut inputs = inputs.into_iter().enumerate();
    if inputs.len() == 1 {
        // Nothing to run beside it, and the caller waits anyway.
        inputs.for_each(|(partition, input)| {
            let mut input = Some(input);
            on.as_task(&mut || {
                if let Some(input) = input.take() {
                    run(partition, input);
                }
            });
        });
    } else {
        let run = &run;
        on.scope(&mut |spawn| {
            for (partition, input) in inputs.by_ref() {
                spawn.spawn(Box::new(move |_| run(partition, input)));
            }
        });
    }
    failure.outcome()?;
    let outputs = outputs
        .into_iter()
        .filter_map(|output| output.into_inner().unwrap_or_else(|broken| broken.into_inner()));
    Ok(outputs.collect())
}

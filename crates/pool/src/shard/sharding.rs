//! One source into many outputs, by shard key.

use super::Sharding;
use super::failure::FirstFailure;
use super::parallel::{Parallel, Spawn};
use super::router::{Progress, connect};
use super::station::{Shuffle, Station};
use filbert_sync::Parker;
use std::hash::Hash;
use std::sync::Arc;
use std::task::Waker;

/// Routes each element of `source` to one of P outputs by its shard key; returns the outputs in partition order.
///
/// `make(p)` begins output `p`, `each` takes one element into it; all elements with equal keys meet in one output, in the order
/// of the source. The source stays on the calling thread (reading it may block); the outputs are consumed on the stage, P
/// of them in parallel, and by the calling thread when a queue is full. The first error or panic stops everything and reaches the
/// caller.
///
/// ```
/// use filbert_pool::{Sharding, WorkStealing, shard_of, sharding_for_each};
///
/// let cpu = WorkStealing::standalone(2);
/// let words = ["hazel", "filbert", "hazel", "nut"];
/// let parts = sharding_for_each(
///     &cpu,
///     &Sharding::new(4),
///     words,
///     |word| *word,
///     |_| Vec::new(),
///     |part, word| { part.push(word); Ok::<_, std::convert::Infallible>(()) },
/// )?;
/// assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), 4);
/// assert_eq!(parts[shard_of("hazel", 4)].iter().filter(|word| **word == "hazel").count(), 2);
/// # Ok::<(), std::convert::Infallible>(())
/// ```
pub fn sharding_for_each<T, K, O, E>(
    on: &(impl Parallel + ?Sized),
    sharding: &Sharding,
    source: impl IntoIterator<Item = T>,
    key: impl Fn(&T) -> K,
    make: impl Fn(usize) -> O,
    each: impl Fn(&mut O, T) -> Result<(), E> + Sync,
) -> Result<Vec<O>, E>
where
    T: Send,
    K: Hash,
    O: Send,
    E: Send,
{
    let mut source = source.into_iter();
    if sharding.partitions == 1 {
        let mut output = make(0);
        // The source is the caller's own and may block; what is done with an element is a task, as with more partitions.
        source.try_for_each(|element| {
            let (mut element, mut done) = (Some(element), Ok(()));
            on.as_task(&mut || {
                if let Some(element) = element.take() {
                    done = each(&mut output, element);
                }
            });
            done
        })?;
        return Ok(vec![output]);
    }
    let (stations, mut routers) = connect(sharding, vec![source], make);
    let sharding = Consuming { on, stations, each, failure: FirstFailure::new() };
    let shuffle = &sharding;
    on.scope_from_here(&mut |spawn| {
        let parker = Arc::new(Parker::new());
        let waker = Waker::from(Arc::clone(&parker));
        for router in &mut routers {
            let forward = |element, outbox: &mut super::Outbox<'_, T, _>| {
                outbox.emit(element);
                Ok(())
            };
            while let Progress::Busy(output) = router.advance(shuffle, &key, forward, spawn) {
                shuffle.step_aside(output, waker.clone(), spawn);
                parker.park();
            }
        }
    });
    drop(routers);
    sharding.failure.outcome()?;
    Ok(sharding.stations.into_iter().map(Station::into_output).collect())
}

/// The part that the stage's threads share; the source is not in it.
struct Consuming<'s, P: ?Sized, T, O, E, F> {
    on: &'s P,
    stations: Vec<Station<T, O, Waker>>,
    each: F,
    failure: FirstFailure<E>,
}

impl<P, T, O, E, F> Shuffle for Consuming<'_, P, T, O, E, F>
where
    P: Parallel + ?Sized,
    T: Send,
    O: Send,
    E: Send,
    F: Fn(&mut O, T) -> Result<(), E> + Sync,
{
    type Element = T;
    type Output = O;
    type Error = E;
    /// The one producer sleeps on its own thread.
    type Aside = Waker;

    fn stations(&self) -> &[Station<T, O, Waker>] {
        &self.stations
    }

    fn failure(&self) -> &FirstFailure<E> {
        &self.failure
    }

    fn consume(&self, output: &mut O, element: T) -> Result<(), E> {
        (self.each)(output, element)
    }

    /// The producer is the caller, outside the stage.
    fn as_task(&self, body: &mut dyn FnMut()) {
        self.on.as_task(body);
    }

    fn resume<'env>(&'env self, aside: Waker, _spawn: &dyn Spawn<'env>) {
        aside.wake();
    }
}

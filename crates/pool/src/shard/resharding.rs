//! Many inputs into many outputs in one pass: each input is processed, and what comes out of it is routed by its new key.

use super::Sharding;
use super::failure::FirstFailure;
use super::parallel::{Parallel, Spawn};
pub use super::router::Outbox;
use super::router::{Progress, Router, connect};
use super::station::{Shuffle, Station};
use std::hash::Hash;
use std::marker::PhantomData;

/// Processes each input partition and routes what comes out of it to one of P outputs by its new shard key, in one pass.
///
/// `process(element, outbox)` turns an element of an input into any number of others; `key` says where each belongs;
/// `make(p)` begins output `p` and `each` takes one element into it. Returns the outputs in partition order. Inputs and outputs all
/// run on the stage; order holds for each pair of input and output. The first error or panic stops everything and
/// reaches the caller.
///
/// ```
/// # use filbert_pool::{Sharding, resharding_for_each, shard::Parallel};
/// # fn words(on: &impl Parallel, lines: Vec<Vec<String>>) -> Result<Vec<usize>, std::convert::Infallible> {
/// // Lines, partitioned by file, become words, partitioned by word.
/// resharding_for_each(
///     on,
///     &Sharding::new(16),
///     lines,
///     |line: String, outbox| { line.split(' ').for_each(|word| outbox.emit(word.to_owned())); Ok(()) },
///     |word: &String| word.len(),
///     |_| 0,
///     |count, _| { *count += 1; Ok(()) },
/// )
/// # }
/// ```
pub fn resharding_for_each<I, T, F, K, O, E>(
    on: &(impl Parallel + ?Sized),
    sharding: &Sharding,
    inputs: impl IntoIterator<Item = I>,
    process: impl Fn(I::Item, &mut Outbox<'_, T, F>) -> Result<(), E> + Sync,
    key: F,
    make: impl Fn(usize) -> O,
    each: impl Fn(&mut O, T) -> Result<(), E> + Sync,
) -> Result<Vec<O>, E>
where
    I: IntoIterator,
    I::IntoIter: Send,
    T: Send,
    F: Fn(&T) -> K + Sync,
    K: Hash,
    O: Send,
    E: Send,
{
    let inputs = inputs.into_iter().map(IntoIterator::into_iter).collect();
    let (stations, routers) = connect(sharding, inputs, make);
    let resharding =
        Resharding { stations, process, key, each, failure: FirstFailure::new(), input: PhantomData };
    let shuffle = &resharding;
    let mut routers = routers.into_iter();
    on.scope(&mut |spawn| {
        for router in routers.by_ref() {
            shuffle.resume(router, spawn);
        }
    });
    resharding.failure.outcome()?;
    Ok(resharding.stations.into_iter().map(Station::into_output).collect())
}

struct Resharding<I, T, O, E, P, F, C> {
    stations: Vec<Station<T, O, Router<I, T>>>,
    process: P,
    key: F,
    each: C,
    failure: FirstFailure<E>,
    input: PhantomData<fn() -> I>,
}

impl<I, T, K, O, E, P, F, C> Resharding<I, T, O, E, P, F, C>
where
    I: Iterator + Send,
    T: Send,
    K: Hash,
    O: Send,
    E: Send,
    P: Fn(I::Item, &mut Outbox<'_, T, F>) -> Result<(), E> + Sync,
    F: Fn(&T) -> K + Sync,
    C: Fn(&mut O, T) -> Result<(), E> + Sync,
{
    /// The task of one input; it may end early and be put again.
    fn route<'env>(&'env self, mut router: Router<I, T>, spawn: &dyn Spawn<'env>) {
        match router.advance(self, &self.key, &self.process, spawn) {
            Progress::Busy(output) => self.step_aside(output, router, spawn),
            Progress::Ended => {
                // Guarded: after a failure it still holds elements, and a drop may panic.
                self.failure.guard(|| {
                    drop(router);
                    Ok(())
                });
            }
        }
    }
}

impl<I, T, K, O, E, P, F, C> Shuffle for Resharding<I, T, O, E, P, F, C>
where
    I: Iterator + Send,
    T: Send,
    K: Hash,
    O: Send,
    E: Send,
    P: Fn(I::Item, &mut Outbox<'_, T, F>) -> Result<(), E> + Sync,
    F: Fn(&T) -> K + Sync,
    C: Fn(&mut O, T) -> Result<(), E> + Sync,
{
    type Element = T;
    type Output = O;
    type Error = E;
    type Aside = Router<I, T>;

    fn stations(&self) -> &[Station<T, O, Router<I, T>>] {
        &self.stations
    }

    fn failure(&self) -> &FirstFailure<E> {
        &self.failure
    }

    fn consume(&self, output: &mut O, element: T) -> Result<(), E> {
        (self.each)(output, element)
    }

    /// Every producer is a task already.
    fn as_task(&self, body: &mut dyn FnMut()) {
        body();
    }

    fn resume<'env>(&'env self, aside: Router<I, T>, spawn: &dyn Spawn<'env>) {
        spawn.spawn(Box::new(move |spawn| self.route(aside, spawn)));
    }
}

//! A producer: takes elements from its input and sends them, in batches, to the stations they belong to.
//!
//! A router is a plain value between two steps, so it can be put down when an output is busy, and gone on with by another thread.

use super::parallel::Spawn;
use super::station::{Shuffle, Station};
use super::{Sharding, shard_of};
use filbert_sync::conveyor::{SendError, Sender};
use std::hash::Hash;

/// One input and its lanes to every output.
pub(super) struct Router<I, T> {
    input: I,
    lanes: Vec<Sender<Vec<T>>>,
    portions: Portions<T>,
    ended: bool,
}

/// What was emitted and not sent yet, by output.
struct Portions<T> {
    buffers: Vec<Vec<T>>,
    /// The outputs whose buffer is to be sent.
    ready: Vec<usize>,
    batch: usize,
}

/// How far a router came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Everything is sent, or the operation has failed.
    Ended,
    /// The lane to this output is full, and somebody is consuming there.
    Busy(usize),
}

/// Where the elements made from an input element are put; each goes to the output of its shard key.
pub struct Outbox<'a, T, F> {
    portions: &'a mut Portions<T>,
    key: &'a F,
}

impl<T, F> Outbox<'_, T, F> {
    /// Sends `element` on its way.
    #[inline]
    pub fn emit<K: Hash>(&mut self, element: T)
    where
        F: Fn(&T) -> K,
    {
        let partitions = self.portions.buffers.len();
        let output = shard_of(&(self.key)(&element), partitions);
        let buffer = &mut self.portions.buffers[output];
        if buffer.capacity() == 0 {
            buffer.reserve_exact(self.portions.batch);
        }
        buffer.push(element);
        if buffer.len() == self.portions.batch {
            self.portions.ready.push(output);
        }
    }
}

impl<T, F> std::fmt::Debug for Outbox<'_, T, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Outbox").field("partitions", &self.portions.buffers.len()).finish_non_exhaustive()
    }
}

type Stations<T, O, A> = Vec<Station<T, O, A>>;

/// The stations of an operation and a router for each input.
pub(super) fn connect<I, T, O, A>(
    sharding: &Sharding,
    inputs: Vec<I>,
    make: impl Fn(usize) -> O,
) -> (Stations<T, O, A>, Vec<Router<I, T>>) {
    let mut routers: Vec<_> = inputs
        .into_iter()
        .map(|input| Router {
            input,
            lanes: Vec::with_capacity(sharding.partitions),
            portions: Portions {
                buffers: (0..sharding.partitions).map(|_| Vec::new()).collect(),
                ready: Vec::new(),
                batch: sharding.batch,
            },
            ended: false,
        })
        .collect();
    let stations = (0..sharding.partitions)
        .map(|partition| {
            let (station, senders) = Station::new(routers.len(), sharding.queue, make(partition));
            for (router, sender) in routers.iter_mut().zip(senders) {
                router.lanes.push(sender);
            }
            station
        })
        .collect();
    (stations, routers)
}

impl<I: Iterator, T> Router<I, T> {
    /// Takes elements, turns each into others by `process`, and sends these, until the end or until an output is busy.
    pub(super) fn advance<'env, S, F>(
        &mut self,
        shuffle: &'env S,
        key: &F,
        mut process: impl FnMut(I::Item, &mut Outbox<'_, T, F>) -> Result<(), S::Error>,
        spawn: &dyn Spawn<'env>,
    ) -> Progress
    where
        S: Shuffle<Element = T>,
    {
        loop {
            while let Some(&output) = self.portions.ready.last() {
                match self.deliver(output, shuffle, spawn) {
                    Delivery::Sent => self.portions.ready.pop(),
                    Delivery::Stopped => return Progress::Ended,
                    Delivery::Busy => return Progress::Busy(output),
                };
            }
            if self.ended || shuffle.failure().stopped() {
                return Progress::Ended;
            }
            let filled = shuffle.failure().guard(|| {
                while self.portions.ready.is_empty() && !shuffle.failure().stopped() {
                    let Some(element) = self.input.next() else {
                        self.ended = true;
                        let buffers = &self.portions.buffers;
                        self.portions.ready =
                            (0..buffers.len()).filter(|&at| !buffers[at].is_empty()).collect();
                        break;
                    };
                    process(element, &mut Outbox { portions: &mut self.portions, key })?;
                }
                Ok(())
            });
            if filled.is_none() {
                return Progress::Ended;
            }
        }
    }

    fn deliver<'env, S>(&mut self, output: usize, shuffle: &'env S, spawn: &dyn Spawn<'env>) -> Delivery
    where
        S: Shuffle<Element = T>,
    {
        let mut batch = std::mem::take(&mut self.portions.buffers[output]);
        loop {
            match self.lanes[output].try_send(batch) {
                Ok(()) => {
                    shuffle.summon(output, spawn);
                    return Delivery::Sent;
                }
                Err(SendError::Closed(unsent)) => {
                    // Dropped with the router, where a drop that panics is caught.
                    self.portions.buffers[output] = unsent;
                    return Delivery::Stopped;
                }
                Err(SendError::Full(unsent)) => batch = unsent,
            }
            if !shuffle.help(output, spawn) {
                self.portions.buffers[output] = batch;
                return Delivery::Busy;
            }
        }
    }
}

enum Delivery {
    Sent,
    Stopped,
    Busy,
}

//! An output that anyone may run: a consumer behind a lock, and the lanes in front of it.
//!
//! The argument why this ends whatever the pool does is in the header of [`super`]; the numbers below refer to it.

use super::failure::FirstFailure;
use super::parallel::Spawn;
use filbert_sync::Duty;
use filbert_sync::conveyor::{Conveyor, Sender};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// One output, its lanes, and who waits for it.
pub(super) struct Station<T, O, A> {
    duty: Duty,
    consumer: Mutex<Consumer<T, O>>,
    /// Routers that found the lane full and the lock taken.
    aside: Mutex<Vec<A>>,
}

pub(super) struct Consumer<T, O> {
    /// None once the operation has failed; that closes the lanes for their producers.
    lanes: Option<Conveyor<Vec<T>>>,
    output: O,
}

impl<T, O, A> Station<T, O, A> {
    /// A station with a lane of `queue` batches for each of `producers`.
    pub(super) fn new(producers: usize, queue: usize, output: O) -> (Self, Vec<Sender<Vec<T>>>) {
        let mut lanes = Conveyor::new();
        let senders = (0..producers).map(|_| lanes.add_lane(queue)).collect();
        let station = Self {
            duty: Duty::new(),
            consumer: Mutex::new(Consumer { lanes: Some(lanes), output }),
            aside: Mutex::new(Vec::new()),
        };
        (station, senders)
    }

    /// The output, when the operation is over.
    pub(super) fn into_output(self) -> O {
        self.consumer.into_inner().unwrap_or_else(|broken| broken.into_inner()).output
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Consumer<T, O>>> {
        match self.consumer.try_lock() {
            Ok(consumer) => Some(consumer),
            Err(TryLockError::Poisoned(broken)) => Some(broken.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

/// One operation that moves elements to stations.
pub(super) trait Shuffle: Sync + Sized {
    /// What travels.
    type Element: Send;
    /// What it becomes.
    type Output: Send;
    /// How it fails.
    type Error: Send;
    /// A producer that steps aside, as data.
    type Aside: Send;

    fn stations(&self) -> &[Station<Self::Element, Self::Output, Self::Aside>];

    fn failure(&self) -> &FirstFailure<Self::Error>;

    /// Takes one element into an output. User code.
    fn consume(&self, output: &mut Self::Output, element: Self::Element) -> Result<(), Self::Error>;

    /// Runs `body` on the thread of a producer as if a task of the stage did: there a producer may be a thread outside.
    fn as_task(&self, body: &mut dyn FnMut());

    /// Puts a task that goes on with a producer that stepped aside.
    fn resume<'env>(&'env self, aside: Self::Aside, spawn: &dyn Spawn<'env>);

    /// A batch was sent to `output`: sees to it that somebody takes it (2).
    fn summon<'env>(&'env self, output: usize, spawn: &dyn Spawn<'env>) {
        if self.stations()[output].duty.summon() {
            spawn.spawn(Box::new(move |spawn| self.drain(output, spawn)));
        }
    }

    /// Consumes what waits for `output`, if nobody else is doing that. False when somebody is.
    fn help<'env>(&'env self, output: usize, spawn: &dyn Spawn<'env>) -> bool {
        let station = &self.stations()[output];
        let Some(consumer) = station.try_lock() else { return false };
        let mut consumer = Some(consumer);
        self.as_task(&mut || {
            if let Some(consumer) = consumer.take() {
                self.consume_all(consumer);
            }
        });
        self.resume_aside(station, spawn);
        true
    }

    /// Puts a producer down at `output` until somebody has consumed there (3).
    fn step_aside<'env>(&'env self, output: usize, aside: Self::Aside, spawn: &dyn Spawn<'env>) {
        let station = &self.stations()[output];
        station.aside.lock().unwrap_or_else(|broken| broken.into_inner()).push(aside);
        if let Some(consumer) = station.try_lock() {
            drop(consumer);
            self.resume_aside(station, spawn);
        }
    }

    /// The drain task: consumes until nothing is left, leaves its duty, and looks once more.
    fn drain<'env>(&'env self, output: usize, spawn: &dyn Spawn<'env>) {
        let station = &self.stations()[output];
        let lock = || station.consumer.lock().unwrap_or_else(|broken| broken.into_inner());
        loop {
            self.consume_all(lock());
            self.resume_aside(station, spawn);
            station.duty.leave();
            let more = lock().lanes.as_mut().is_some_and(|lanes| lanes.available() > 0);
            self.resume_aside(station, spawn);
            if !more || !station.duty.summon() {
                return;
            }
        }
    }

    /// Consumes batch after batch until the lanes are empty; closes them when the operation has failed (5).
    fn consume_all(&self, mut consumer: MutexGuard<'_, Consumer<Self::Element, Self::Output>>) {
        let Consumer { lanes, output } = &mut *consumer;
        self.failure().guard(|| {
            let mut batches = Vec::with_capacity(1);
            while let Some(open) = lanes {
                if self.failure().stopped() {
                    *lanes = None;
                    break;
                }
                if open.receive_into(&mut batches, 1) != Ok(1) {
                    break;
                }
                for element in batches.drain(..).flatten() {
                    if self.failure().stopped() {
                        break;
                    }
                    self.consume(output, element)?;
                }
            }
            Ok(())
        });
        if self.failure().stopped() {
            // Guarded: what is queued is dropped here, and a drop may panic too.
            self.failure().guard(|| {
                drop(lanes.take());
                Ok(())
            });
        }
    }

    /// Starts the routers that stepped aside at a station. Everyone who has released its lock calls this (3).
    fn resume_aside<'env>(
        &'env self,
        station: &Station<Self::Element, Self::Output, Self::Aside>,
        spawn: &dyn Spawn<'env>,
    ) {
        let waiting = std::mem::take(&mut *station.aside.lock().unwrap_or_else(|broken| broken.into_inner()));
        for aside in waiting {
            self.resume(aside, spawn);
        }
    }
}

//! The tasks of one partition and their results: the last so many, each with a number that counts up.
//!
//! A task's place is its number modulo the capacity. A new task passes over places whose task still runs, and takes the next one, with the
//! result that was there: so whoever wants a result asks for it before so many newer tasks came.

use crate::error::{GridError, GridResult};
use crate::executor::Workshop;
use crate::keeper::{Home, State};
use crate::structures::Service;
use filbert_pool::Canceller;
use filbert_wire::{Data, PartitionId};
use std::collections::HashMap;
use std::sync::Arc;

/// What all partitions of a durable executor share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) workshop: Workshop,
    pub(super) capacity: usize,
}

/// The task with that number is over, or its place was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Over(pub(super) i32);

#[derive(Debug)]
enum Held {
    /// It was given to the threads; what cancels it there.
    Runs(Canceller),
    Result(GridResult<Option<Data>>),
    /// It was disposed of.
    Nothing,
}

impl Held {
    /// Nobody wants it any more; true when it was given to the threads, which leave it out if it has not begun.
    fn give_up(self) -> bool {
        match self {
            Self::Runs(canceller) => {
                canceller.cancel();
                true
            }
            Self::Result(_) | Self::Nothing => false,
        }
    }
}

#[derive(Debug)]
struct Place {
    sequence: i32,
    held: Held,
}

/// The tasks of one partition.
#[derive(Debug)]
pub(crate) struct TaskRing {
    pub(super) shared: Arc<Shared>,
    pub(super) home: Home<Self>,
    pub(super) partition: PartitionId,
    /// By the number modulo the capacity; those that were never used are not here.
    places: HashMap<usize, Place>,
    next: i32,
    running: usize,
}

impl State for TaskRing {
    const SERVICE: Service = Service::DurableExecutor;
    type Event = Over;

    fn end(&mut self) -> Vec<Over> {
        self.running = 0;
        std::mem::take(&mut self.places)
            .into_values()
            .map(|place| {
                place.held.give_up();
                Over(place.sequence)
            })
            .collect()
    }
}

impl TaskRing {
    pub(super) fn new(shared: &Arc<Shared>, home: &Home<Self>, partition: PartitionId) -> Self {
        let (shared, home) = (Arc::clone(shared), home.clone());
        Self { shared, home, partition, places: HashMap::new(), next: 0, running: 0 }
    }

    fn name(&self) -> String {
        self.shared.workshop.name().to_string()
    }

    fn place_of(&self, sequence: i32) -> usize {
        sequence.unsigned_abs() as usize % self.shared.capacity
    }

    /// The number of the next task, whose place no task that runs has. A result that is there stays until the task has [`Self::begun`].
    pub(super) fn next_free(&self) -> GridResult<i32> {
        self.shared.workshop.check_open()?;
        let capacity = self.shared.capacity;
        if self.running >= capacity {
            return Err(GridError::TooManyTasks {
                executor: self.name(),
                limit: capacity,
                advice: "wait until some of that partition are over, or raise the setting grid.durable_executor.<name>.capacity",
            });
        }
        let mut sequence = self.next;
        while matches!(self.places.get(&self.place_of(sequence)), Some(Place { held: Held::Runs(_), .. })) {
            sequence = after(sequence);
        }
        Ok(sequence)
    }

    /// A task runs; it has the place from now on.
    pub(super) fn begun(&mut self, sequence: i32, canceller: Canceller) {
        self.next = after(sequence);
        self.places.insert(self.place_of(sequence), Place { sequence, held: Held::Runs(canceller) });
        self.running += 1;
    }

    /// The place of a task that is not stale.
    fn find(&mut self, sequence: i32) -> GridResult<&mut Place> {
        let place = self.place_of(sequence);
        let stale = GridError::StaleTaskId { executor: self.name(), sequence };
        self.places.get_mut(&place).filter(|place| place.sequence == sequence).ok_or(stale)
    }

    /// A task is over; false when nobody wants its result: it was disposed of.
    pub(super) fn over(&mut self, sequence: i32, result: GridResult<Option<Data>>) -> bool {
        let Ok(place) = self.find(sequence) else { return false };
        if !matches!(place.held, Held::Runs(_)) {
            return false;
        }
        place.held = Held::Result(result);
        self.running -= 1;
        true
    }

    /// The result of a task; none when it still runs.
    pub(super) fn result(&mut self, sequence: i32) -> GridResult<Option<GridResult<Option<Data>>>> {
        Ok(match &self.find(sequence)?.held {
            Held::Runs(_) => None,
            Held::Result(result) => Some(result.clone()),
            // As Hazelcast has it: a result that was disposed of is null.
            Held::Nothing => Some(Ok(None)),
        })
    }

    /// Gives a result up. A task that has not begun never does; one that runs is told.
    pub(super) fn dispose(&mut self, sequence: i32) -> GridResult<()> {
        let place = self.find(sequence)?;
        if std::mem::replace(&mut place.held, Held::Nothing).give_up() {
            self.running -= 1;
        }
        Ok(())
    }
}

/// After two thousand million it begins anew.
fn after(sequence: i32) -> i32 {
    sequence.checked_add(1).unwrap_or(0)
}

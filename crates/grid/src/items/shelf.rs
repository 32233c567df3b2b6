//! What the handle of a list and that of a queue are made of: the strand with the items, and who listens.

use super::event::{ItemEvent, ItemListeners};
use super::{Close, Items, MOST, Sequence};
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::operation::Operation;
use crate::strands::{Answer, Invoked, Strands};
use crate::structures::Service;
use filbert_pool::{Clock, StageKind};
use filbert_wire::{Data, PartitionId, partition_of_name};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// The strand of a list or a queue, and its listeners.
#[derive(Debug)]
pub(crate) struct Shelf {
    strands: Arc<Strands<Items>>,
    partition: PartitionId,
    listeners: ItemListeners,
    clock: Clock,
}

/// How long a full mailbox is left alone before it is told again that the structure is gone.
const CLOSE_AGAIN: Duration = Duration::from_millis(10);

/// The bound that a setting of `max_size` means: zero is as many as clients can count.
pub(crate) fn bound(max_size: usize) -> usize {
    if max_size == 0 { MOST } else { max_size.min(MOST) }
}

impl Shelf {
    /// An empty one, on the partition of its name.
    pub(crate) fn new(grid: &Grid, service: Service, name: &Arc<str>, max_size: usize) -> Self {
        let stages = grid.stages();
        let listeners = ItemListeners::new(grid, service, name);
        let items = Items {
            sequence: Sequence::default(),
            version: 0,
            max_size: bound(max_size),
            closed: false,
            listeners: listeners.clone(),
            service,
            name: Arc::clone(name),
            lines: Default::default(),
        };
        let partition = partition_of_name(name);
        Self {
            strands: Strands::single(stages, grid.memory(), name, partition, items),
            partition,
            listeners,
            clock: stages.clock(),
        }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        self.strands.name()
    }

    pub(crate) fn partition(&self) -> PartitionId {
        self.partition
    }

    pub(crate) fn call<O: Operation<Target = Items>>(&self, operation: O) -> Invocation<O::Output> {
        self.strands.call(self.partition, operation)
    }

    pub(crate) fn invoke<O, A>(&self, operation: O, answer: impl FnOnce() -> A) -> Invoked<O::Output>
    where
        O: Operation<Target = Items>,
        A: Answer<O::Output>,
    {
        self.strands.invoke(self.partition, operation, answer)
    }

    pub(crate) fn add_listener(
        &self,
        include_value: bool,
        listener: impl Fn(&ItemEvent) + Send + Sync + 'static,
    ) -> Uuid {
        let id = crate::grid::new_id(&self.clock);
        self.listeners.add(id, include_value, listener);
        id
    }

    pub(crate) fn remove_listener(&self, id: Uuid) -> bool {
        self.listeners.remove(id)
    }

    /// Gives the items up and ends what is parked; again after a while when the mailbox is full.
    pub(crate) fn close(&self) {
        close(&self.strands, self.partition, &self.clock);
    }
}

fn close(strands: &Arc<Strands<Items>>, partition: PartitionId, clock: &Clock) {
    let (promise, closed) = strands.stages().promise(StageKind::Partition, Close::NAME);
    closed.detach();
    let refused = match strands.invoke(partition, Close::default(), || promise) {
        Invoked::Refused(refused) => refused,
        _ => return,
    };
    if refused.is_retryable() {
        let (strands, again) = (Arc::clone(strands), clock.clone());
        clock.after(CLOSE_AGAIN, move || close(&strands, partition, &again));
    }
}

/// Copies of `items` to keep: what came with a message would keep the whole message alive.
pub(crate) fn detached(items: Vec<Data>) -> Vec<Data> {
    items.into_iter().map(|item| item.detached()).collect()
}

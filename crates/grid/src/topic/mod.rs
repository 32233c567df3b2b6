//! A topic: messages to whoever listens, in the order in which they were published.
//!
//! ```text
//! publish -> strand of the topic -> place in the event stage's topic -> listeners
//!              (order, count)        \-> none in time: dropped and counted
//! ```
//!
//! Publishing is an operation on a strand, although there is nothing to keep there. So whoever publishes stands on level C while the
//! message is offered, and is never blocked, also not by a topic that is full: its answer is held back, for the offer time-out at most.
//! The messages of one `publish_all` wait together and not one after the other. What one publisher sends is mailed in its order, and
//! so heard in its order; a message that is dropped leaves a gap.
//!
//! Rejected: offering on the caller's own thread. One of level A would be blocked by every message that finds no room, a list of a
//! thousand for minutes; and the operation could not travel.
//!
//! The strand is the topic's own, and so is its place in the event stage: listeners that are slow hold up nobody else.

mod operations;

use crate::grid::{Grid, new_id};
use crate::invocation::Invocation;
use crate::items::detached;
use crate::listeners::Listeners;
use crate::memory::TakenMemory;
use crate::strands::Strands;
use crate::structures::{Service, Structure};
use filbert_pool::Stages;
use filbert_wire::{Data, PartitionId, partition_of_name};
use operations::{Publish, PublishAll, Publisher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use uuid::Uuid;

/// What a listener hears.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// What was published.
    pub data: Data,
    /// When, in milliseconds since 1970.
    pub publish_time_ms: u64,
    /// The member that published it.
    pub member: Uuid,
}

/// What a topic says of itself at one moment. A message that nobody listened to was published and neither delivered nor dropped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct TopicStats {
    /// Messages that were published.
    pub published: u64,
    /// Messages that were given to a listener, each once for each listener.
    pub delivered: u64,
    /// Messages that found no room in time, each once for each listener that did not hear it.
    pub dropped: u64,
    /// Messages that have room and were not given to the listener yet.
    pub queued: usize,
}

/// Messages to whoever listens.
///
/// ```
/// use filbert_grid::Grid;
/// use filbert_wire::Data;
/// use std::sync::mpsc;
///
/// let stages = filbert_pool::Stages::start()?;
/// let prices = Grid::new(&stages).topic("prices");
/// let (heard, hears) = mpsc::channel();
/// prices.add_listener(move |message| heard.send(message.data.clone()).unwrap());
/// let price = Data::new(-7, &42_i32.to_be_bytes());
/// prices.publish(&price).wait()?;
/// assert_eq!(hears.recv()?, price);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Topic {
    strands: Arc<Strands<Publisher>>,
    partition: PartitionId,
    shared: Arc<Shared>,
    stages: Stages,
}

/// A message on its way to the listeners; its bytes count until all have heard it.
#[derive(Debug)]
struct Published {
    message: Message,
    _memory: TakenMemory,
}

/// What the strand and the handles share.
#[derive(Debug)]
struct Shared {
    listeners: Listeners<Published>,
    published: AtomicU64,
    closed: AtomicBool,
}

impl Topic {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        let stages = grid.stages();
        let source = format!("{}/{name}", Service::Topic.as_str());
        let shared = Arc::new(Shared {
            listeners: Listeners::new(stages.event(), &source),
            published: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        });
        let partition = partition_of_name(name);
        let publisher = Publisher::new(Arc::clone(&shared), grid, name);
        let strands = Strands::single(stages, grid.memory(), name, partition, publisher);
        Self { strands, partition, shared, stages: stages.clone() }
    }

    /// The partition it lives on.
    pub fn partition(&self) -> PartitionId {
        self.partition
    }

    /// Publishes a message. The answer comes when there is room for it, or when it was dropped because there was none for the offer
    /// time-out of the event stage; [`Topic::stats`] tells how many were.
    pub fn publish(&self, message: &Data) -> Invocation<()> {
        self.strands.call(self.partition, Publish { message: message.detached() })
    }

    /// Publishes messages in their order, with none of another publisher in between.
    pub fn publish_all(&self, messages: Vec<Data>) -> Invocation<()> {
        self.strands.call(self.partition, PublishAll { messages: detached(messages) })
    }

    /// Calls `listener` on the `event` stage for each message that is published from now on.
    pub fn add_listener(&self, listener: impl Fn(&Message) + Send + Sync + 'static) -> Uuid {
        let id = new_id(&self.stages.clock());
        self.shared.listeners.add(id, move |published: &Published| listener(&published.message));
        id
    }

    /// Forgets a listener; false when there was none. A message that is under way may still reach it.
    pub fn remove_listener(&self, id: Uuid) -> bool {
        self.shared.listeners.remove(id)
    }

    /// What became of its messages.
    pub fn stats(&self) -> TopicStats {
        let mut stats =
            TopicStats { published: self.shared.published.load(Ordering::Relaxed), ..Default::default() };
        if let Some(known) = self.shared.listeners.deliveries() {
            (stats.delivered, stats.dropped, stats.queued) = (known.delivered, known.dropped, known.queued);
        }
        stats
    }
}

impl Structure for Topic {
    fn service(&self) -> Service {
        Service::Topic
    }

    fn name(&self) -> &Arc<str> {
        self.strands.name()
    }

    fn destroy(&self) {
        // Nobody is parked here: what is published from now on says so itself.
        self.shared.closed.store(true, Ordering::Release);
    }
}

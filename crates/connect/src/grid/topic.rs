//! Topics: what is published while the job runs, and publishing.

use super::batches::{TakesBatches, WriteBatches};
use super::{only_reader, read};
use crate::channel::{self, ReadChannel};
use filbert_flow::{Failure, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier};
use filbert_grid::{Grid, Invocation, Structure, Topic};
use filbert_wire::{Data, FromData, ToData};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use uuid::Uuid;

/// Messages that wait for the job at most.
const CAPACITY: usize = 64 << 10;

/// Emits what is published to a topic from the start of the job on, read as `T`, until the job is cancelled. One processor.
///
/// A job that does not keep up loses messages rather than holding up the topic's other listeners: beyond 65,536 that wait, a message
/// is dropped and counted ([`TopicSource::dropped`]).
pub fn topic<T: FromData + Send + 'static>(grid: &Grid, name: &str) -> TopicSource<T> {
    TopicSource { topic: grid.topic(name), dropped: Arc::default(), item: PhantomData }
}

/// Publishes every item to a topic. Items of one processor keep their order.
pub fn write_topic<T: ToData + Send + 'static>(
    grid: &Grid,
    name: &str,
) -> impl MetaSupplier<Processor = WriteTopic<T>> {
    let topic = grid.topic(name);
    move |_| WriteBatches::new(&topic)
}

/// The processor of [`write_topic`].
pub type WriteTopic<T> = WriteBatches<T, Topic>;

impl TakesBatches for Topic {
    type Answer = ();

    fn title(&self) -> String {
        format!("topic {:?}", self.name())
    }

    fn take(&self, items: Vec<Data>) -> Invocation<()> {
        self.publish_all(items)
    }

    fn has_taken((): &()) -> bool {
        true
    }
}

/// The vertex of [`topic`].
pub struct TopicSource<T> {
    topic: Arc<Topic>,
    dropped: Arc<AtomicU64>,
    item: PhantomData<fn() -> T>,
}

impl<T> TopicSource<T> {
    /// Counts the messages that were dropped because a job did not keep up.
    pub fn dropped(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.dropped)
    }
}

impl<T> Clone for TopicSource<T> {
    fn clone(&self) -> Self {
        Self { topic: Arc::clone(&self.topic), dropped: Arc::clone(&self.dropped), item: PhantomData }
    }
}

impl<T: FromData + Send + 'static> MetaSupplier for TopicSource<T> {
    type Processor = ReadTopic<T>;
    type Supplier = TopicSource<T>;

    fn supplier(&self, share: Share) -> Result<Self, Failure> {
        only_reader(share, || self.topic.title())?;
        Ok(self.clone())
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        Some(1)
    }
}

impl<T: FromData + Send + 'static> Supplier for TopicSource<T> {
    type Processor = ReadTopic<T>;

    fn processor(&mut self, share: Share) -> Result<ReadTopic<T>, Failure> {
        let (sender, mut source) = channel::source::<Data>(CAPACITY);
        let input = source.processor(share)?;
        let dropped = Arc::clone(&self.dropped);
        let name = self.topic.title();
        let listener = self.topic.add_listener({
            let name = name.clone();
            move |message| {
                let is_full = matches!(sender.try_send(message.data.clone()), Err(channel::NotSent::Full(_)));
                if is_full && dropped.fetch_add(1, Ordering::Relaxed) == 0 {
                    tracing::warn!(
                        topic = name,
                        "a job does not keep up with its topic; messages are dropped"
                    );
                }
            }
        });
        Ok(ReadTopic { topic: Arc::clone(&self.topic), name, listener, input, item: PhantomData })
    }
}

/// The processor of [`topic`].
pub struct ReadTopic<T> {
    topic: Arc<Topic>,
    name: String,
    listener: Uuid,
    input: ReadChannel<Data>,
    item: PhantomData<fn() -> T>,
}

impl<T: FromData + Send + 'static> Processor for ReadTopic<T> {
    type In = ();
    type Out = Many<T>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.input.init(context)
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<T>>) -> Result<Step, Failure> {
        let mut bad = None;
        let name = &self.name;
        let step = self.input.receive(outbox.room(), |message| match read(name, &message) {
            Ok(item) => outbox.emit(item),
            Err(failure) => bad = Some(failure),
        });
        bad.map_or(Ok(step), Err)
    }
}

impl<T> Drop for ReadTopic<T> {
    fn drop(&mut self) {
        self.topic.remove_listener(self.listener);
    }
}
